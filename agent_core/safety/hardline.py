"""The floor: commands that are never run, whatever mode, grant or person says (APPR-09).

It judges what a text would run (shell_walk), not the text: quoting, wrappers, strings and pipes change nothing, and
words that are data (an echo, a commit message, a search pattern) never count. A text that cannot be judged whole is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from agent_core import limits
from agent_core.records import dataclass

from .shell_args import (
    HOME,
    ONE,
    SHELLS,
    STAR,
    UNKNOWN,
    absolute,
    base_name,
    has_option,
    matches,
    names,
    operands,
    option_value,
)
from .shell_effects import inline_code, written
from .shell_walk import Run, variants, walk


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that applies: its name, and what the command would do, for a person to read."""

    rule: str
    text: str


WAY_OUT: Final = "It is never run from here. If it is really meant, run it in your own terminal."

_SYSTEM: Final = names("""bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var
    Applications Library System Users Volumes""")
_SYSTEM_DEEP: Final = tuple(
    path.split("/")
    for path in names(
        """usr/bin usr/sbin usr/lib usr/lib32 usr/lib64 usr/libexec usr/share usr/local var/lib lib/modules boot/efi
        boot/grub"""
    )
)
_DISK_NAME: Final = re.compile(
    r"(sd|hd|vd|xvd)[a-z]+\d*|nvme\d+(n\d+(p\d+)?)?|mmcblk\d+\w*|md\d+\w*|dm-\d+|loop\d+\w*|nbd\d+\w*|zd\d+|sr\d+|ram\d+|"
    r"r?disk\d+\w*|(ada|da|nvd)\d+\w*|dasd[a-z]+\d*|bcache\d+|drbd\d+|zram\d+|pmem\d+\w*|mtd(block)?\d+|cciss.*|sg\d+"
)
_DISK_EXAMPLES: Final = (
    "sda",
    "sdb",
    "sda1",
    "hda",
    "vda",
    "xvda",
    "nvme0n1",
    "mmcblk0",
    "md0",
    "dm-0",
    "loop0",
    "disk0",
)
_DISK_PREFIX: Final = re.compile(r"(sd|hd|vd|xvd|nvme|mmcblk|md|dm-|loop|r?disk)[\da-z]*")
_NO_DISK_FOLDER: Final = names("shm pts fd input snd dri net tcp udp bus char mqueue hugepages vfio cpu usb serial")
_MEMORY: Final = frozenset({"/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore", "/proc/sysrq-trigger"})

_REMOVERS: Final = frozenset({"rm", "grm", "srm", "rimraf"})
_DELETERS: Final = _REMOVERS | {"unlink", "shred", "rmdir", "wipe"}
_OWNERSHIP: Final = frozenset({"chmod", "chown", "chgrp", "setfacl", "chattr"})
_FIND_BOUND: Final = re.compile(
    r"-(i?(name|path|wholename|regex|lname)|[acm](time|min)|newer\w*|size|empty|user|group|[ug]id|nouser|nogroup|inum|"
    r"samefile|links|perm|used)"
)
_FORMATTERS: Final = names(
    """mke2fs mkswap mkdosfs mkntfs mkreiserfs mkexfatfs mkudffs newfs newfs_msdos blkdiscard cfdisk sg_format
    sg_sanitize pvcreate pvremove nwipe wipe scrub shred srm ntfsclone"""
)
# Program → what in its arguments only looks: without any other option or verb it lists.
_LISTING: Final[dict[str, re.Pattern[str]]] = {
    "fdisk": re.compile(r"-[lsxVh]+|--(list|getsz|list-details|version|help)"),
    "sfdisk": re.compile(r"-[ldJsxFgVhT]+|--(list|dump|json|show-\w+|list-\w+|verify|version|help)"),
    "gdisk": re.compile(r"-l"),
    "sgdisk": re.compile(
        r"-[piOvLEFfDP]\d*|--(print|info|print-mbr|verify|list-types|pretend|display-alignment)(=\d+)?"
    ),
}
_PARTED_CHANGES: Final = frozenset(
    {"mklabel", "mktable", "mkpart", "rm", "resizepart", "rescue", "set", "toggle", "name"}
)
# Program → its verbs that destroy what a device or volume holds.
_DESTROYING_VERBS: Final[dict[str, frozenset[str]]] = {
    "cryptsetup": frozenset({"luksformat", "erase", "lukserase", "format", "reencrypt"}),
    "zpool": frozenset({"destroy", "create", "labelclear"}),
    "zfs": frozenset({"destroy"}),
    "nvme": frozenset({"format", "sanitize", "write-zeroes", "write-uncor", "delete-ns"}),
    "dmsetup": frozenset({"remove_all", "wipe_table"}),
    "diskutil": names("erasedisk erasevolume partitiondisk zerodisk randomdisk secureerase reformat eraseoptical"),
}
_POWER_UNITS: Final = re.compile(
    r"(poweroff|reboot|halt|kexec|shutdown|ctrl-alt-del|runlevel[06]|soft-reboot)(\.target|\.service)?"
)
_POWER_VERBS: Final = frozenset({"poweroff", "reboot", "halt", "kexec", "soft-reboot"})

_CODE_REMOVES: Final = re.compile(
    r"""(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|rmdir_s|remove_tree|removeSync|rimraf|remove_dir_all|deltree)\s*\(?\s*"""
    r"""(?:os\.path\.expanduser\(\s*)?(['"])(.*?)\1"""
)
_CODE_OPENS: Final = re.compile(
    r"""open\s*\(\s*(['"])(/dev/[^'"]+|/proc/[^'"]+)\1\s*,\s*(?:mode\s*=\s*)?['"][rb]*[wa+]"""
)
_CODE_RUNS: Final = re.compile(
    r"""\b(?:system|popen|exec\w*|spawn\w*|run|call|check_call|check_output|getoutput|shell_exec|passthru|Popen|sh|qx)\s*"""
    r"""\(?\s*\[?\s*((?:(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*,?\s*\[?\s*)+)"""
)
_CODE_LITERAL: Final = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""")
_CODE_BACKTICKS: Final = re.compile(r"`([^`]+)`")
_CODE_FORKS: Final = re.compile(
    r"\bfork\b(\(\))?\s*while\s*\(?\s*(fork|1|true)|while\s*\(?\s*(1|True|true)\s*\)?\s*[:{;]?\s*(do\s+)?"
    r"\{?\s*(os\.|Process\.|pcntl_)?fork|loop\s*(do|\{)\s*fork"
)


def check(text: str) -> Hit | None:
    """Return the first rule of the floor that `text` breaks, or None. Never raises."""
    return _check(text, depth=0)


def _check(text: str, depth: int) -> Hit | None:
    for seen in variants(text):
        walked = walk(seen)
        if walked.fork_bomb:
            return Hit("fork-bomb", "defines a function that multiplies without end (a fork bomb)")
        for run in walked.runs:
            for rule in _RULES:
                if what := rule(run):
                    return Hit(rule.__name__.strip("_").replace("_", "-"), f"{what}: {shorten(run.shown)}")
            if (code := inline_code(run)) and (hit := _code(code, run.name, depth)):
                return hit
        if hit := _find_into_xargs(walked.runs):
            return hit
        if not walked.whole:
            return Hit("not-judged", "is too long or too deeply nested to be judged; put it into a script file")
    return None


def shorten(shown: str) -> str:
    """A command cut to what a person reads at a glance."""
    return shown if len(shown) <= limits.SUBJECT_CHARS else shown[: limits.SUBJECT_CHARS] + "…"


# -- what counts as vital ----------------------------------------------------------------------------------------


def vital(path: str) -> str:
    """What is lost with everything at `path` (absolute, marked): the root, a system tree, a home; "" otherwise."""
    while True:
        parent, slash, last = path.rpartition("/")
        if not slash or not (STAR in last or ONE in last) or last.translate(_ANYTHING):
            break
        path = parent or "/"
    if path == "/":
        return "the whole file system"
    if path == HOME:
        return "a whole home directory"
    if not path.startswith("/"):
        return ""
    parts = path[1:].split("/")
    if len(parts) == 1 and any(matches(parts[0], name) for name in _SYSTEM):
        return "a system directory"
    if any(len(parts) == len(deep) and all(map(matches, parts, deep)) for deep in _SYSTEM_DEEP):
        return "a system directory"
    return ""


_ANYTHING: Final = {ord(STAR): None, ord(ONE): None, ord("."): None}


def is_disk(path: str) -> bool:
    """Whether an absolute, marked path names a block device."""
    if not path.startswith("/dev/"):
        return False
    first, _, rest = path[5:].partition("/")
    if rest:
        return first not in _NO_DISK_FOLDER and UNKNOWN not in first and not (first == "mapper" and rest == "control")
    if UNKNOWN in first:
        return _DISK_PREFIX.fullmatch(first.partition(UNKNOWN)[0]) is not None
    if STAR in first or ONE in first:
        return any(matches(first, name) for name in _DISK_EXAMPLES)
    return _DISK_NAME.fullmatch(first) is not None


def only_lists(name: str, option: str) -> bool:
    """Whether an option of a partition tool only looks."""
    return name in _LISTING and _LISTING[name].fullmatch(option) is not None


def _asks_for_help(run: Run) -> bool:
    return len(run.args) == 1 and run.args[0] in ("--help", "--version")


def _is_local_script(run: Run) -> bool:
    """Whether a relative path names a file of the workspace that happens to be called like a system command."""
    return "/" in run.program and not run.path(run.program).startswith("/")


# -- the rules: each says what the command does, or "" -----------------------------------------------------------


def _recursive_removal(run: Run) -> str:
    if run.name not in _REMOVERS:
        return ""
    recursive = run.name == "rimraf" or has_option(run.args, "rR", "recursive", shortest=1) or UNKNOWN in run.args
    return next((f"removes {what}" for what in _vital_operands(run) if recursive), "")


def _vital_operands(run: Run, valued: str = "") -> Iterator[str]:
    for operand in operands(run.args, valued):
        if what := vital(run.path(operand)):
            yield what


def _removal_by_find(run: Run) -> str:
    if not (starts := _unbounded_find(run)):
        return ""
    args = run.args
    if "-delete" in args:
        return f"removes {starts[0]}"
    for at, arg in enumerate(args[:-1]):
        if arg in ("-exec", "-execdir", "-ok", "-okdir"):
            program, rest = base_name(args[at + 1]), args[at + 2 :]
            if program in _DELETERS or (program in SHELLS and re.search(r"\b(rm|unlink|shred)\b", " ".join(rest))):
                return f"removes {starts[0]}"
            if program in _OWNERSHIP and "the whole file system" in starts:
                return "changes owner or mode of the whole file system"
    return ""


def _unbounded_find(run: Run) -> list[str]:
    """The vital starting points of a find that has no test to bound what it selects."""
    if run.name not in ("find", "gfind"):
        return []
    args = [arg for arg in run.args if arg not in ("-H", "-L", "-P")]
    end = next((at for at, arg in enumerate(args) if arg[:1] in ("-", "(", "!") and arg != "-"), len(args))
    starts = [what for what in (vital(run.path(arg)) for arg in args[:end] or ["."]) if what]
    either = any(arg in ("-o", "-or", ",") for arg in args)
    bounded = any(
        _FIND_BOUND.fullmatch(arg)
        and args[at - 1] not in ("!", "-not")
        and (at + 1 >= len(args) or set(args[at + 1]) - {"*", "."} or arg == "-empty")
        for at, arg in enumerate(args)
    )
    return [] if bounded and not either else starts


def _find_into_xargs(runs: tuple[Run, ...]) -> Hit | None:
    starts = [what for run in runs for what in _unbounded_find(run)]
    for run in runs:
        if starts and run.name in _DELETERS and "xargs" in run.via and "find" in run.fed:
            return Hit("removal-by-find", f"removes {starts[0]}: {shorten(run.shown)}")
    return None


def _moving_away(run: Run) -> str:
    if run.name not in ("mv", "gmv"):
        return ""
    files = operands(run.args, "tS")
    sources = files if option_value(run.args, "t", "target-directory") is not None else files[:-1]
    return next((f"moves {what} away" for what in (vital(run.path(path)) for path in sources) if what), "")


def _mirror_onto(run: Run) -> str:
    if run.name != "rsync" or not any(arg.startswith("--delete") for arg in run.args):
        return ""
    what = vital(run.path(["", *operands(run.args, "efT")][-1]))
    return f"replaces {what}" if what else ""


def _owner_or_mode_of_root(run: Run) -> str:
    if run.name not in _OWNERSHIP or not has_option(run.args, "R", "recursive", shortest=1):
        return ""
    whole = "the whole file system" in _vital_operands(run)
    return "changes owner or mode of the whole file system" if whole else ""


def _formatting(run: Run) -> str:
    """Formatting, wiping, partitioning or erasing a device, by any of the programs made for it."""
    name, args = run.name, run.args
    if _asks_for_help(run):
        return ""
    disk = any(is_disk(run.path(arg)) for arg in args)
    verbs = {word.lower() for word in operands(args)}
    if disk and (name in _FORMATTERS or re.fullmatch(r"mkfs(\.\w+)?", name)):
        return "formats or wipes a device"
    if disk and name in _LISTING:
        options = [arg for arg in args if arg.startswith("-")]
        lists = bool(options) and all(only_lists(name, arg) for arg in options)
        return "" if lists else "changes a partition table"
    if disk and name == "parted" and verbs & _PARTED_CHANGES:
        return "changes a partition table"
    if disk and name == "wipefs" and has_option(args, "ao", "all", "offset") and not has_option(args, "n", "no-act"):
        return "wipes a device"
    if disk and name == "badblocks" and has_option(args, "w"):
        return "overwrites a device"
    if (
        disk
        and name == "hdparm"
        and any(
            re.match(
                r"--(security-(erase|set-pass)|trim-sector|write-sector|make-bad-sector|sanitize|dco-restore)", arg
            )
            for arg in args
        )
    ):
        return "erases a device"
    if name == "mdadm" and has_option(args, "C", "create", "zero-superblock"):
        return "overwrites devices"
    if name in ("lvremove", "vgremove") and operands(args):
        return "removes volumes"
    if name.startswith("partclone") and disk and option_value(args, "o", "output", "overwrite") is not None:
        return "overwrites a device"
    return "destroys what devices hold" if verbs & _DESTROYING_VERBS.get(name, frozenset()) else ""


def _raw_write(run: Run) -> str:
    for path in written(run):
        if is_disk(path):
            return "writes to a block device"
        if path in _MEMORY:
            return "writes to the kernel"
    return ""


def _power(run: Run) -> str:
    name, args = run.name.removesuffix(".exe"), run.args
    if _asks_for_help(run) or _is_local_script(run):
        return ""
    words = [word.lower() for word in operands(args, "HMtpnos")]
    if name in ("reboot", "halt", "poweroff", "kexec") or (
        name == "shutdown" and not has_option(args, "ck", "show", "help")
    ):
        return "stops or restarts the machine"
    if name in ("init", "telinit") and words[:1] in (["0"], ["6"]):
        return "stops or restarts the machine"
    if name in ("systemctl", "loginctl") and words:
        unit = words[0] in ("isolate", "start") and any(_POWER_UNITS.fullmatch(word) for word in words[1:])
        return "stops or restarts the machine" if words[0] in _POWER_VERBS or unit else ""
    if name in ("dbus-send", "busctl", "gdbus") and re.search(r"\b(PowerOff|Reboot|Halt|KExec)\b", " ".join(args)):
        return "stops or restarts the machine"
    return ""


def _kill_everything(run: Run) -> str:
    name, args = run.name, list(run.args)
    if name == "killall5" and not _asks_for_help(run):
        return "ends every process"
    if name == "pkill" and any(set(word) <= set(".*^$") for word in operands(args, "gGPsStuU")):
        return "ends every process"
    if name != "kill":
        return ""
    if args[:1] and args[0] in ("-s", "-n", "--signal"):
        args = args[2:]
    elif args[:1] and re.match(r"-[\w]|--signal=", args[0]):
        args = args[1:]
    return "ends every process" if "-1" in args else ""


_RULES: Final[tuple[Callable[[Run], str], ...]] = (
    _recursive_removal,
    _removal_by_find,
    _moving_away,
    _mirror_onto,
    _owner_or_mode_of_root,
    _formatting,
    _raw_write,
    _power,
    _kill_everything,
)


def _code(code: str, language: str, depth: int) -> Hit | None:
    """Judge code handed to an interpreter: what it removes or opens by name, and the shell commands in its strings."""
    if depth >= limits.SHELL_DEPTH:
        return Hit("not-judged", "is too deeply nested to be judged; put it into a script file")
    for match in _CODE_REMOVES.finditer(code):
        if what := vital(absolute(re.sub(r"^~(?=/|$)", HOME, match[2]))):
            return Hit("recursive-removal", f"removes {what}: {shorten(code)}")
    if any(is_disk(match[2]) or match[2] in _MEMORY for match in _CODE_OPENS.finditer(code)):
        return Hit("raw-write", f"writes to a device: {shorten(code)}")
    if _CODE_FORKS.search(code):
        return Hit("fork-bomb", f"multiplies without end (a fork bomb): {shorten(code)}")
    scripts = [" ".join(a or b for a, b in _CODE_LITERAL.findall(match[1])) for match in _CODE_RUNS.finditer(code)]
    if language.startswith(("perl", "ruby", "php")):
        scripts += _CODE_BACKTICKS.findall(code)
    for script in scripts:
        if len(script) < len(code) and (hit := _check(script, depth + 1)):
            return hit
    return None
