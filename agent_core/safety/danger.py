"""Commands a person is asked about by name: they lose work, change the system, leave the machine or run unseen code.

Like the floor (hardline), it judges what a text would run. It is a help to the person, not a boundary: what it does not
name still goes through mode, policy and sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final, Literal

from . import hardline, protected
from .hardline import Hit
from .shell_args import (
    HOME,
    ONE,
    SHELLS,
    STAR,
    STREAM,
    UNKNOWN,
    has_option,
    names,
    operands,
    option_value,
    shell_arguments,
)
from .shell_effects import inline_code, is_interpreter, reads_its_script, written
from .shell_walk import Run, variants, walk

Verdict = Literal["refuse", "ask", "pass"]


def classify(text: str) -> Verdict:
    """The floor's and the detector's verdict together: refuse, ask, or pass on to the ordinary policy."""
    if hardline.check(text) is not None:
        return "refuse"
    return "pass" if detect(text) is None else "ask"


def detect(text: str, but: Collection[str] = ()) -> Hit | None:
    """The first pattern `text` shows that a person should be asked about by name, or None. Never raises.

    `but`: names of patterns that do not matter, as something else holds them.
    """
    if _HIDDEN.search(text):
        return Hit("hidden-characters", "holds invisible or control characters that hide what it does")
    if "database" not in but and _sql_loses(text, bare=True):
        return Hit("database", "deletes data in a database")
    for seen in variants(text):
        walked = walk(seen)
        for run in walked.runs:
            if len(run.args) == 1 and run.args[0] in _ONLY_INFORMS:
                continue
            for rule in _RULES:
                name = rule.__name__.strip("_").replace("_", "-")
                if name not in but and (what := rule(run)):
                    return Hit(name, f"{what}: {hardline.shorten(run.shown)}")
        if "together" not in but and (what := _together(walked.runs)):
            return Hit("together", what)
        if "not-judged" not in but and not walked.whole:
            return Hit("not-judged", "is too long or too deeply nested to be judged")
    return None


_ONLY_INFORMS: Final = names("--help --version -V --usage")
# Bidirectional controls, tags, zero-width characters that join nothing, and controls that a terminal obeys.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)


# -- work that would be lost -------------------------------------------------------------------------------------


def _removal(run: Run) -> str:
    if run.name in ("rimraf", "shred", "gshred", "srm", "wipe", "nwipe", "truncate", "gtruncate"):
        return "destroys the content of files" if run.args else ""
    if run.name == UNKNOWN and has_option(run.args, "rR") and has_option(run.args, "f"):
        return "runs an unknown program in the manner of a recursive removal"
    if run.name not in ("rm", "grm", "unlink"):
        return ""
    if has_option(run.args, "rR", "recursive", shortest=1):
        return "removes recursively"
    if any(STAR in arg or ONE in arg for arg in run.args):
        return "removes by wildcard"
    return "removes whatever is found" if {"xargs", "find", "fd", "parallel"} & set(run.via) else ""


def _found_and_deleted(run: Run) -> str:
    return "deletes whatever it finds" if run.name in ("find", "gfind") and "-delete" in run.args else ""


def _overwriting(run: Run) -> str:
    if run.name in ("dd", "gdd", "dcfldd", "dc3dd") and run.args:
        targets = written(run)
        return "" if targets and all(_harmless_device(path) for path in targets) else "copies raw data"
    if _DISK_TOOL.fullmatch(run.name):
        return "" if _lists(run) else "formats, repairs or partitions"
    prints_nothing = run.name in ("", ":", "true") or (run.name == "cat" and run.args == ("/dev/null",))
    if prints_nothing and not run.program.startswith("{") and run.via == ():
        return "empties a file" if any(not _harmless_device(run.path(path)) for path in run.writes) else ""
    return ""


_DISK_TOOL: Final = re.compile(
    r"mkfs(\.\w+)?|mke2fs|mkswap|wipefs|[a-z]*fdisk|sgdisk|parted|tune2fs|resize2fs|fsck(\.\w+)?|e2fsck"
)


def _lists(run: Run) -> bool:
    """Whether a disk tool is only asked to look."""
    name, args = run.name, run.args
    if name == "parted":
        return has_option(args, "l", "list") or bool({"print", "p"} & set(operands(args)))
    if name == "wipefs":
        return not has_option(args, "aot", "all", "offset", "types") or has_option(args, "n", "no-act")
    if name in ("tune2fs", "mke2fs") or name.startswith(("mkfs", "fsck", "e2fsck")):
        return bool(args) and args[0] in (("-l",) if name == "tune2fs" else ("-n", "-N"))
    options = [arg for arg in args if arg.startswith("-")]
    return not args or (bool(options) and all(hardline.only_lists(name, arg) for arg in options))


_HARMLESS_DEVICE: Final = re.compile(r"/dev/(null|zero|full|tty\w*|stdout|stderr|stdin|fd/\d+|pts/\d+|shm/.*)")


def _harmless_device(path: str) -> bool:
    return _HARMLESS_DEVICE.fullmatch(path) is not None


def _git(run: Run) -> str:
    """Forms of git that lose uncommitted work, or rewrite history or a remote."""
    if run.name != "git":
        return ""
    args = list(run.args)
    while args and args[0].startswith("-"):
        del args[: 2 if args[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path") else 1]
    if not args or "--help" in args or "-h" in args:
        return ""
    sub, rest = args[0], args[1:]
    words = operands(rest)
    verb = words[0] if words else ""
    rule = _GIT.get(sub)
    return rule(rest, words, verb) if rule else ""


def _git_push(rest: list[str], words: list[str], verb: str) -> str:
    forced = has_option(rest, "fd", "force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune")
    return "rewrites or deletes on a remote" if forced or any(word[:1] in "+:" for word in words[1:]) else ""


def _git_checkout(rest: list[str], words: list[str], verb: str) -> str:
    paths = "--" in rest or any(word in (".", "./", ":/", "*", STAR) for word in words)
    return "throws uncommitted changes away" if paths or has_option(rest, "f", "force", "discard-changes") else ""


_GIT_RUNS: Final = re.compile(
    r"alias\.|filter\.|include|core\.(hookspath|fsmonitor|sshcommand|pager|editor|gitproxy|askpass)|credential\.\S*helper|"
    r"\S+\.(command|cmd|textconv|driver|program|external)$",
    re.IGNORECASE,
)
_GIT: Final[dict[str, Callable[[list[str], list[str], str], str]]] = {
    "reset": lambda rest, words, verb: (
        "throws uncommitted changes away" if has_option(rest, "", "hard", "merge", "keep", shortest=2) else ""
    ),
    "clean": lambda rest, words, verb: (
        "deletes untracked files"
        if has_option(rest, "f", "force", shortest=1) and not has_option(rest, "n", "dry-run")
        else ""
    ),
    "push": _git_push,
    "checkout": _git_checkout,
    "switch": lambda rest, words, verb: (
        "throws uncommitted changes away" if has_option(rest, "f", "force", "discard-changes") else ""
    ),
    "restore": lambda rest, words, verb: (
        ""
        if has_option(rest, "S", "staged") and not has_option(rest, "W", "worktree")
        else "throws uncommitted changes away"
    ),
    "branch": lambda rest, words, verb: (
        "deletes or overwrites a branch"
        if has_option(rest, "DMCf") or (has_option(rest, "dm", "delete", "move") and has_option(rest, "f", "force"))
        else ""
    ),
    "tag": lambda rest, words, verb: "deletes or moves a tag" if has_option(rest, "df", "delete", "force") else "",
    "stash": lambda rest, words, verb: "throws stashed work away" if verb in ("drop", "clear") else "",
    "rebase": lambda rest, words, verb: (
        "" if has_option(rest, "", "abort", "continue", "skip", "quit") else "rewrites history"
    ),
    "filter-branch": lambda rest, words, verb: "rewrites history",
    "filter-repo": lambda rest, words, verb: "rewrites history",
    "reflog": lambda rest, words, verb: "drops the way back" if verb in ("expire", "delete", "drop") else "",
    "gc": lambda rest, words, verb: "drops the way back" if any(arg.startswith("--prune") for arg in rest) else "",
    "prune": lambda rest, words, verb: "drops the way back" if not has_option(rest, "n", "dry-run") else "",
    "update-ref": lambda rest, words, verb: "moves or deletes a reference",
    "rm": lambda rest, words, verb: (
        "removes files" if has_option(rest, "rf", "force") and not has_option(rest, "", "cached") else ""
    ),
    "worktree": lambda rest, words, verb: (
        "removes a worktree" if verb == "remove" and has_option(rest, "f", "force") else ""
    ),
    "submodule": lambda rest, words, verb: "removes a submodule" if verb == "deinit" else "",
    "config": lambda rest, words, verb: (
        "names a program git will run" if len(words) > 1 and any(_GIT_RUNS.match(word) for word in words) else ""
    ),
    "remote": lambda rest, words, verb: "changes a remote" if verb in ("remove", "rm", "set-url", "prune") else "",
}


# -- code nobody has seen ----------------------------------------------------------------------------------------


def _unseen_code(run: Run) -> str:
    name, args = run.name, run.args
    if name in SHELLS and shell_arguments(args)[0]:
        return "runs a script given as text"
    if reads_its_script(run):
        return "runs what comes through a pipe or stream"
    if is_interpreter(name):
        code = inline_code(run)
        if code is not None and (not name.endswith("awk") or re.search(r"\bsystem\s*\(|\|\s*getline|\|\s*\"", code)):
            return "runs code given as text"
    if name == "eval" and any(UNKNOWN in arg for arg in args):
        return "runs text that cannot be seen"
    if name in ("source", ".") and (run.fed or any(arg == UNKNOWN or arg.startswith(STREAM) for arg in args[:1])):
        return "runs text that cannot be seen"
    if name in ("cmd", "cmd.exe") and any(arg.lower() in ("/c", "/k") for arg in args):
        return "runs a Windows command"
    if name.removesuffix(".exe") in ("powershell", "pwsh") and args:
        return "runs a Windows command"
    return ""


# -- packages ----------------------------------------------------------------------------------------------------

_INSTALL: Final = names("install uninstall add remove update upgrade i ci in rm un up reinstall autoremove")
_PACKAGE_VERBS: Final[dict[str, frozenset[str]]] = {
    "apt": names("install remove purge autoremove upgrade full-upgrade dist-upgrade reinstall"),
    "apt-get": names("install remove purge autoremove upgrade dist-upgrade reinstall"),
    "aptitude": names("install remove purge upgrade full-upgrade"),
    "dnf": _INSTALL | {"erase"},
    "yum": _INSTALL | {"erase"},
    "zypper": _INSTALL | {"dup", "patch"},
    "apk": names("add del upgrade fix"),
    "brew": _INSTALL | {"tap", "services"},
    "snap": _INSTALL | {"refresh"},
    "flatpak": _INSTALL,
    "pip": names("install uninstall"),
    "pipx": names("install uninstall run upgrade inject"),
    "uv": names("add remove sync tool"),
    "poetry": names("add remove install update publish"),
    "pdm": names("add remove install update"),
    "conda": names("install remove create update uninstall"),
    "mamba": names("install remove create update uninstall"),
    "npm": _INSTALL | names("link exec x publish unpublish init create"),
    "pnpm": _INSTALL | names("link exec dlx publish create"),
    "yarn": _INSTALL | names("dlx global publish create link"),
    "bun": _INSTALL | names("x link publish create"),
    "gem": names("install uninstall update push"),
    "bundle": names("install update add remove"),
    "cargo": names("install uninstall publish yank"),
    "go": names("install get"),
    "composer": names("require install update remove create-project global"),
    "luarocks": names("install remove"),
    "twine": names("upload"),
    "nix-env": names("-i -iA -e -u --install --uninstall --upgrade"),
}
_ALWAYS_INSTALL: Final = names("npx bunx pnpx uvx easy_install cpan cpanm emerge corepack")


def _packages(run: Run) -> str:
    name = re.sub(r"\d+(\.\d+)*$", "", run.name)
    args = run.args
    if name in ("python", "pypy") and option_value(args, "m") in ("pip", "ensurepip", "pipx"):
        name, args = "pip", args[args.index("-m") + 2 :] if "-m" in args else args
    if name in _ALWAYS_INSTALL:
        return "downloads and runs or installs packages" if args else ""
    if name == "yarn" and not args:
        return "installs packages"
    if name == "dpkg" and has_option(args, "irP", "install", "remove", "purge", "unpack"):
        return "installs or removes packages"
    if name == "rpm" and not has_option(args, "qV", "query", "verify") and has_option(args, "iUFe", "install", "erase"):
        return "installs or removes packages"
    if name == "pacman" and re.match(r"-[SRU](?!.*[sigl])", next(iter(args), "")):
        return "installs or removes packages"
    words = operands(args, "C", frozenset({"prefix", "workspace", "cwd", "dir", "directory", "project", "filter"}))
    if name == "uv" and words[:1] == ["pip"]:
        name, words = "pip", words[1:]
    verbs = _PACKAGE_VERBS.get(name, frozenset())
    return "installs, removes or publishes packages" if words[:1] and words[0] in verbs else ""


# -- the system --------------------------------------------------------------------------------------------------

_PRIVILEGE: Final = names("sudo doas su pkexec runuser sudoedit gosu su-exec")
# Always a change of the system, whatever the arguments.
_ADMINISTERS: Final = names(
    """useradd userdel usermod adduser deluser groupadd groupdel groupmod gpasswd chpasswd chsh chfn vipw vigr newusers
    umount swapoff modprobe insmod rmmod depmod setenforce setsebool aa-disable aa-complain update-grub grub-install
    grub-mkconfig update-initramfs dracut mkinitcpio ntpdate setcap chown chgrp chattr batch atrm update-rc.d
    pvcreate pvremove vgremove lvremove lvcreate vgcreate lvresize lvextend badblocks kexec debugfs diskpart format
    regedit taskkill bcdedit nvram tccutil"""
)
# A change of the system unless the first argument is one of these.
_LOOKS_FIRST: Final[dict[str, frozenset[str]]] = {
    "crontab": names("-l"),
    "nft": names("list -a monitor"),
    "ufw": names("status show version app"),
    "visudo": names("-c --check"),
    "passwd": names("-S --status"),
    "at": names("-l"),
    "dkms": names("status"),
    "hostnamectl": names("status"),
    "timedatectl": names("status show list-timezones timesync-status"),
    "localectl": names("status list-locales list-keymaps"),
    "hwclock": names("-r -v --show --get --verbose"),
    "semanage": names("export"),
    "update-alternatives": names("--list --display --query --get-selections"),
    "chkconfig": names("--list"),
    "bootctl": names("status list is-installed"),
    "cryptsetup": names("status luksDump isLuks luksUUID benchmark"),
    "mdadm": names("-D -E -Q --detail --examine --query"),
    "launchctl": names("list print blame dumpstate"),
    "reg": names("query QUERY"),
    "pmset": names("-g"),
    "dscl": names("-list -read -search"),
    "csrutil": names("status"),
    "spctl": names("--status --assess"),
    "schtasks": names("/query /QUERY"),
}
# A change of the system unless every argument is one of these.
_LOOKS_ALL: Final[dict[str, re.Pattern[str]]] = {
    "iptables": re.compile(r"-[nvxLS]+|--list.*|-t|nat|filter|mangle|[A-Z]+"),
    "ip6tables": re.compile(r"-[nvxLS]+|--list.*|-t|nat|filter|mangle|[A-Z]+"),
    "hostname": re.compile(r"-\w+|--\w+"),
    "firewall-cmd": re.compile(r"--(list|get|state|query|info|zone).*"),
    "mount": re.compile(r"-l|-t|\w+fs\w*|ext\d"),
    "losetup": re.compile(r"-[alJ]+|--(all|list|json)"),
    "swapon": re.compile(r"-s|--(show|summary|noheadings|raw|bytes).*"),
    "efibootmgr": re.compile(r"-v|--verbose"),
    "ldconfig": re.compile(r"-[pv]+|--print-cache"),
    "hdparm": re.compile(r"-[iIgtTCv]+|--(direct|dco-identify|fibmap|Istdout)|/dev/\w+"),
}
# Without any argument these open an editor, ask for a password or read commands.
_ACTS_ALONE: Final = names("crontab visudo vipw vigr passwd at batch")
_SERVICE_LOOKS: Final = names(
    """status show cat list list-units list-unit-files list-timers list-sockets list-dependencies list-jobs is-active
    is-enabled is-failed is-system-running help get-default show-environment start"""
)


def _privilege(run: Run) -> str:
    only_looks = len(run.args) == 1 and run.args[0] in ("-l", "-v", "-k", "-K", "--list", "--validate")
    return "runs with another user's rights" if run.name in _PRIVILEGE and not only_looks else ""


def _system_change(run: Run) -> str:
    name, args = run.name, run.args
    if name in ("init", "telinit", "shutdown") and args:
        return "changes the state of the machine"
    if name in _LOOKS_FIRST and args and args[0] in _LOOKS_FIRST[name]:
        return ""
    if name in _LOOKS_ALL and all(_LOOKS_ALL[name].fullmatch(arg) for arg in args):
        return ""
    tools = name in _ADMINISTERS or name in _LOOKS_FIRST or name in _LOOKS_ALL
    if (tools and args) or name in _ACTS_ALONE:
        return "changes the system"
    if name == "sysctl" and (has_option(args, "wpf", "write", "load", "system") or any("=" in arg for arg in args)):
        return "changes kernel settings"
    clock = [word for word in operands(args, "dr", frozenset({"date", "reference"})) if not word.startswith("+")]
    if name == "date" and (has_option(args, "s", "set") or clock):
        return "sets the clock"
    if name in ("ip", "route", "nmcli", "ifconfig", "tc", "networksetup") and set(operands(args)) & _NETWORK_CHANGES:
        return "changes the network"
    if name == "journalctl" and any(arg.startswith(("--vacuum", "--rotate")) for arg in args):
        return "deletes logs"
    if name == "systemctl":
        words = operands(args, "HMtpnos")
        return "changes a service" if words and words[0] not in _SERVICE_LOOKS else ""
    if name == "loginctl" and any(re.match(r"kill|terminate|lock|enable|disable", word) for word in operands(args)[:1]):
        return "ends sessions"
    if name in ("service", "rc-service", "initctl", "invoke-rc.d"):
        return "changes a service" if len(args) > 1 and args[1] not in ("status", "--status") else ""
    return ""


_NETWORK_CHANGES: Final = names(
    "add del delete set flush change replace append up down modify disconnect connect off on"
)


def _mode(run: Run) -> str:
    """World-writable and set-id modes, and any change of a whole system tree."""
    if run.name != "chmod":
        return ""
    if has_option(run.args, "R", "recursive") and any(hardline.vital(run.path(arg)) for arg in operands(run.args)):
        return "changes the mode of a whole system tree"
    for word in (arg for arg in run.args if not re.fullmatch(r"--\w.*|-[RvcfhHLP]+", arg)):
        if re.fullmatch(r"[0-7]{3,5}", word):
            bits = int(word, 8)
            return "lets everybody write, or sets an id bit" if bits & 0o6002 else ""
        if re.search(r"(^|,)[ugoa]*[oa][ugoa]*[+=][rxXst]*w|[+=][rwxXt]*s", word):
            return "lets everybody write, or sets an id bit"
        return ""
    return ""


def _ending_processes(run: Run) -> str:
    name, args = run.name, list(run.args)
    if name in ("pkill", "killall", "skill", "xkill", "killall5"):
        return "" if not args or args[0] in ("-l", "-L", "--list", "-0") else "ends processes by name"
    if name == "fuser" and has_option(args, "k", "kill"):
        return "ends processes that use a file"
    if name != "kill" or args[:1] in (["-l"], ["-L"], ["--list"]):
        return ""
    args = args[2:] if args[:1] in (["-s"], ["-n"], ["--signal"]) else args[1:] if args and args[0][:1] == "-" else args
    if "xargs" in run.via or any(re.fullmatch(r"-\d+|0|1", arg) for arg in args):
        return "ends a group of processes, or init"
    return ""


# -- files that matter -------------------------------------------------------------------------------------------


def _protected_file(run: Run) -> str:
    paths = written(run)
    if run.name in ("rm", "unlink", "mv", "rmdir"):
        paths += [run.path(arg) for arg in operands(run.args, "tS")]
    for path in paths:
        if what := protected_place(path):
            return f"changes {what}"
    return ""


def protected_place(path: str) -> str:
    """Why writing to an absolute, marked path asks: what lies there; "" if nothing in particular."""
    parts = protected.fold_parts(path.replace(STAR, "*").replace(ONE, "?"))
    if path.startswith(HOME):
        home: protected.Parts | None = parts[1:]
    else:
        count = protected.home_of(parts) if path.startswith("/") else 0
        home = parts[count:] if count else None
    if home is not None and home:
        if protected.credential_place(home) or protected.history_place(home):
            return "keys, passwords or histories"
        if protected.runs_later(home):
            return "a file that runs later by itself"
        if home[0] in (".nanohermes", ".hermes"):
            return "the agent's own settings"
    elif path.startswith("/") and protected.system_tree(parts):
        return "" if _harmless_device(path) else "a system file"
    if parts and protected.secret_file(parts[-1]):
        return "a file for secrets"
    return "a place that steers git, an editor or the agent" if protected.control_place(parts) else ""


def _unpacking(run: Run) -> str:
    if run.name not in ("tar", "bsdtar", "unzip", "cpio", "7z"):
        return ""
    target = option_value(run.args, "C", "directory") or option_value(run.args, "d") or ""
    return (
        "unpacks over system files"
        if target and (path := run.path(target)) and (path == "/" or protected_place(path))
        else ""
    )


# -- elsewhere ---------------------------------------------------------------------------------------------------

_CONTAINER_GROUPS: Final = names(
    "container image volume network system builder buildx compose pod machine stack service swarm context secret node"
)
_CONTAINER_LOSES: Final = names("rm rmi prune kill stop remove down restart reset leave")
_HOST_ACCESS: Final = re.compile(
    r"--privileged(=true)?|--(pid|ipc|uts|userns|net|network|cgroupns)=host|--(cap-add|device|security-opt)(=.*)?"
)


def _containers(run: Run) -> str:
    if run.name not in ("docker", "podman", "nerdctl", "docker-compose", "podman-compose", "buildah"):
        return ""
    args = list(run.args)
    words = operands(args, "Hc", frozenset({"host", "context", "config", "file", "project-name"}))
    verbs = words[:2] if words[:1] and words[0] in _CONTAINER_GROUPS else words[:1]
    if set(verbs) & _CONTAINER_LOSES:
        return "stops or removes containers, images or volumes"
    if not {"run", "create"} & set(verbs):
        return ""
    for at, arg in enumerate(args):
        following = args[at + 1] if at + 1 < len(args) else ""
        if _HOST_ACCESS.fullmatch(arg) or (arg in ("--pid", "--net", "--network", "--ipc") and following == "host"):
            return "gives a container rights on the host"
        mount = following if arg in ("-v", "--volume", "--mount") else ""
        mount = mount or (arg[2:] if re.match(r"-v[^-]", arg) else "")
        mount = mount or (arg.partition("=")[2] if arg.startswith(("--volume=", "--mount=")) else "")
        if re.match(rf"[/.~{HOME}{UNKNOWN}]", mount) or "type=bind" in mount or re.search(r"(src|source)=[/.]", mount):
            return "mounts a folder of the host into a container"
    return ""


_CLOUD_TOOLS: Final = names(
    """aws gcloud az doctl ibmcloud oci linode-cli hcloud scw openstack heroku fly flyctl vercel netlify wrangler
    firebase supabase railway gh glab kubectl oc helm eksctl terraform tofu terragrunt pulumi cdk gsutil s3cmd mc
    rclone k9s argocd flux nomad consul vault"""
)
_CLOUD_LOSES: Final = re.compile(
    r"(delete|destroy|terminate|remove|purge|deregister|uninstall|undeploy|drain|evict|rb|rm|del|unpublish|nuke)"
    r"(-[\w-]+)?|[\w-]+:(destroy|delete|remove|reset|purge)|force-unlock|taint|-+destroy|-+auto-approve"
)


def _cloud(run: Run) -> str:
    if run.name not in _CLOUD_TOOLS:
        return ""
    words = [arg for arg in run.args if not arg.startswith("-") or arg.lstrip("-") in ("destroy", "auto-approve")]
    loses = any(_CLOUD_LOSES.fullmatch(word) for word in words[:3])
    mirrored = "--delete" in run.args or (run.name == "gsutil" and has_option(run.args, "d"))
    by_api = option_value(run.args, "X", "method", "request") == "DELETE"
    return "deletes things in the cloud, a cluster or a repository" if loses or mirrored or by_api else ""


_SQL_CLIENTS: Final = names(
    """psql mysql mariadb sqlite3 sqlite sqlcmd mongo mongosh clickhouse-client cqlsh cockroach duckdb mysqladmin
    influx bq"""
)
_SQL_LOSES: Final = re.compile(
    r"\b(drop\s+(table|database|schema|index|view|user|role|keyspace|collection|column)|truncate\s+(table\s+)?\w+|"
    r"alter\s+table\s+\S+\s+drop)\b",
    re.IGNORECASE,
)
_SQL_DELETE: Final = re.compile(r"\b(delete\s+from|update\s+\S+\s+set)\b(?![^;]{0,2000}\bwhere\b)", re.IGNORECASE)
_DOCUMENTS_LOSE: Final = re.compile(
    r"\bdropDatabase\b|\.drop\s*\(|\.(deleteMany|remove)\s*\(\s*(\{\s*\})?\s*\)|^drop$", re.M
)


def _sql_loses(text: str, bare: bool = False) -> bool:
    """Whether SQL text deletes tables, or rows without a condition. `bare`: only if it begins with the statement."""
    if bare and not re.match(r"\s*(drop|truncate|delete|alter|update)\s", text, re.IGNORECASE):
        return False
    if bare and re.match(r"\s*truncate\s+(-|[^\s;]*[./])", text):
        return False  # the program of that name
    return bool(_SQL_LOSES.search(text) or _SQL_DELETE.search(text))


def _database(run: Run) -> str:
    if run.name in ("dropdb", "dropuser"):
        return "deletes a database"
    if run.name in ("redis-cli", "valkey-cli"):
        words = {arg.upper() for arg in run.args} | set((run.stdin or "").upper().split())
        return "deletes data" if words & {"FLUSHALL", "FLUSHDB", "SHUTDOWN"} else ""
    if run.name in _SQL_CLIENTS:
        text = "\n".join((*run.args, run.stdin or ""))
        return "deletes data" if _sql_loses(text) or _DOCUMENTS_LOSE.search(text) else ""
    resets = any(
        re.fullmatch(r"db:(drop|reset|purge|wipe)(:\w+)?|migrate:(fresh|reset)|reset_db|flush", arg) for arg in run.args
    )
    tools = names("rails rake bundle bin artisan php python python3 manage.py prisma npm yarn mix")
    return "deletes a database" if resets and run.name in tools else ""


def _remote(run: Run) -> str:
    name, args = run.name, run.args
    if name in (
        "ssh",
        "scp",
        "sftp",
        "mosh",
        "sshpass",
        "ssh-copy-id",
        "telnet",
        "rsh",
        "rlogin",
        "ngrok",
        "cloudflared",
    ):
        return "reaches another machine" if operands(args) else ""
    if name == "rsync":
        if any(arg.startswith("--delete") or arg == "--remove-source-files" for arg in args):
            return "deletes what the source does not have"
        return (
            "reaches another machine" if any(re.match(r"[\w.@-]+::?|rsync://", word) for word in operands(args)) else ""
        )
    if name in ("nc", "ncat", "netcat", "nc.openbsd", "nc.traditional"):
        return (
            "listens, or gives a connection a program" if has_option(args, "lec", "listen", "exec", "sh-exec") else ""
        )
    if name == "socat":
        return (
            "listens, or gives a connection a program" if re.search(r"LISTEN|EXEC|SYSTEM", " ".join(args), re.I) else ""
        )
    if is_interpreter(name) and option_value(args, "m") in ("http.server", "SimpleHTTPServer", "pyftpdlib", "smtpd"):
        return "listens for connections"
    if name == "php" and has_option(args, "S"):
        return "listens for connections"
    if any(re.match(r"/dev/(tcp|udp)/", run.path(path)) for path in run.writes):
        return "opens a connection"
    return ""


_FETCHES: Final = names("curl wget aria2c http base64 openssl xxd")


def _together(runs: tuple[Run, ...]) -> str:
    """Patterns only several commands of one text make."""
    made: set[str] = set()
    fetched: set[str] = set()
    fetching = False
    looked_up = {"pgrep", "pidof", "lsof", "ps"} & {run.name for run in runs}
    for run in runs:
        started = {run.program.rpartition("/")[2]} if "/" in run.program else set()
        if started & made:
            return f"makes a file executable and runs it: {hardline.shorten(run.shown)}"
        if run.name == "eval" and fetching:
            return f"runs what was just downloaded or decoded: {hardline.shorten(run.shown)}"
        if run.name in SHELLS or is_interpreter(run.name) or run.name in ("source", "."):
            started |= {arg.rpartition("/")[2] for arg in operands(run.args)[:1]}
        if started & fetched:
            return f"runs what was just downloaded or decoded: {hardline.shorten(run.shown)}"
        if run.name == "chmod" and any(re.search(r"\+\w*x|^[0-7]*[1357][0-7]{0,2}$", arg) for arg in run.args[:2]):
            made |= {arg.rpartition("/")[2] for arg in operands(run.args)[-1:]}
        if run.name in _FETCHES:
            fetching = True
            fetched |= {path.rpartition("/")[2] for path in written(run)}
            fetched |= {arg.rpartition("/")[2] for arg in operands(run.args) if "://" in arg or run.name == "wget"}
            fetched.discard("")
        if run.name == "kill" and UNKNOWN in run.args and looked_up:
            return f"ends processes by name: {hardline.shorten(run.shown)}"
    return ""


_RULES: Final[tuple[Callable[[Run], str], ...]] = (
    _removal,
    _found_and_deleted,
    _overwriting,
    _git,
    _unseen_code,
    _packages,
    _privilege,
    _system_change,
    _mode,
    _ending_processes,
    _protected_file,
    _unpacking,
    _containers,
    _cloud,
    _database,
    _remote,
)
