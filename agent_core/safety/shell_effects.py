"""Which files a command would write or remove, and the code it hands to an interpreter."""

from __future__ import annotations

import re
from typing import Final

from .shell_args import SHELLS, STREAM, has_option, operands, option_value, shell_arguments
from .shell_walk import Run

_LAST_OPERAND: Final = frozenset(
    {"cp", "mv", "install", "ln", "rsync", "ginstall", "gcp", "gmv", "qemu-img", "ddrescue"}
)
_ALL_OPERANDS: Final = frozenset(
    {
        "tee",
        "truncate",
        "shred",
        "sponge",
        "touch",
        "vi",
        "vim",
        "nvim",
        "nano",
        "emacs",
        "ed",
        "ex",
        "patch",
        "gtruncate",
    }
)
_VALUED: Final = {
    "install": "mogtS",
    "cp": "tS",
    "mv": "tS",
    "ln": "tS",
    "truncate": "sr",
    "shred": "ns",
    "rsync": "efT",
}
_OUTPUT_OPTION: Final[dict[str, tuple[str, str]]] = {
    "curl": ("o", "output"),
    "wget": ("O", "output-document"),
    "sort": ("o", "output"),
    "pv": ("o", "output"),
    "gcc": ("o", "output"),
    "partclone": ("o", "output"),
}
_INTERPRETERS: Final = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|osascript|[gmn]?awk|Rscript)(\d+(\.\d+)*)?(\.exe)?",
    re.IGNORECASE,
)
# Language → its options that take code, their long forms, its short options that take another value, and those that
# name the script.
_CODE_OPTIONS: Final[dict[str, tuple[str, tuple[str, ...], str, str]]] = {
    "python": ("c", (), "WX", "m"),
    "pypy": ("c", (), "WX", "m"),
    "perl": ("eE", (), "MmI", ""),
    "ruby": ("e", (), "rICE", ""),
    "node": ("ep", ("--eval", "--print"), "rC", ""),
    "nodejs": ("ep", ("--eval", "--print"), "rC", ""),
    "bun": ("ep", ("--eval", "--print"), "r", ""),
    "php": ("rBRE", ("--run",), "dcz", "f"),
    "lua": ("e", (), "l", ""),
    "luajit": ("e", (), "l", ""),
    "osascript": ("e", (), "l", ""),
    "rscript": ("e", (), "", ""),
}
_NO_OPTIONS: Final = ("", (), "", "")


def written(run: Run) -> list[str]:
    """The absolute paths `run` would write, by redirection or as the program's output operand."""
    paths = list(run.writes)
    name, args = run.name, run.args
    files = operands(args, _VALUED.get(name, ""))
    if name in ("dd", "dcfldd", "dc3dd", "gdd") or (name == "qemu-img" and "dd" in args[:1]):
        paths += [arg[3:] for arg in args if arg.startswith("of=")]
    elif name in _LAST_OPERAND:
        target = option_value(args, "t", "target-directory") if name != "rsync" else None
        paths += [target] if target is not None else files[-1:] if len(files) > 1 else []
    elif name in _ALL_OPERANDS:
        paths += files
    elif name in ("sed", "gsed", "perl") and edits_in_place(run):
        scripted = option_value(args, "e", "expression") is not None or option_value(args, "f", "file") is not None
        paths += files if scripted else files[1:]
    elif name in ("xxd", "uniq", "ntfsclone"):
        paths += files[1:]
    elif name in ("tar", "bsdtar") and re.match(r"-?\w*[cru]", args[0] if args else ""):
        paths += [option_value(args, "f", "file") or (files[1] if len(files) > 1 else "")]
    if name.split(".")[0] in _OUTPUT_OPTION:
        short, long = _OUTPUT_OPTION[name.split(".")[0]]
        value = option_value(args, short, long)
        paths += [value] if value else []
    return [run.path(path) for path in paths if path]


def edits_in_place(run: Run) -> bool:
    """Whether a sed or perl rewrites its files."""
    return any(re.match(r"--in-place|-(?!-)[A-Za-z0-9]*i", arg) for arg in run.args)


def is_interpreter(name: str) -> bool:
    """Whether `name` is a language other than a shell that runs code it is given."""
    return _INTERPRETERS.fullmatch(name) is not None


def inline_code(run: Run) -> str | None:
    """The code an interpreter is given on its command line or its input; None if it runs a file or nothing is known."""
    match = _INTERPRETERS.fullmatch(run.name)
    if not match:
        return None
    family = match[1].lower()
    if family.endswith("awk"):
        files = operands(run.args, "Fvf")
        return files[0] if files and not has_option(run.args, "f", "file") else None
    if family == "deno" and run.args[:1] == ("eval",):
        return " ".join(run.args[1:])
    code, script = _given_code(run.args, *_CODE_OPTIONS.get(family, _NO_OPTIONS))
    if code:
        return "\n".join(code)
    return run.stdin if script in ("", "-") else None


def _given_code(
    args: tuple[str, ...], shorts: str, longs: tuple[str, ...], valued: str, scripted: str
) -> tuple[list[str], str]:
    """The code among the options before an interpreter's script, and that script: "" if there is none."""
    code: list[str] = []
    left = list(args)
    while left:
        arg = left.pop(0)
        if not arg.startswith("-") or arg in ("-", "--"):
            return code, "".join(left[:1]) if arg == "--" else arg
        name, equals, value = arg.partition("=")
        if arg.startswith("--"):
            if name in longs:
                code.append(value if equals else "".join(left[:1]))
                del left[: not equals]
            continue
        for at, letter in enumerate(arg[1:], 2):
            if letter in shorts:
                code.append(arg[at:] or "".join(left[:1]))
                del left[: at == len(arg)]
            elif letter in valued:
                del left[: at == len(arg)]
            elif letter in scripted:
                return code, arg[at:] or "".join(left[:1])
            else:
                continue
            break
    return code, ""


def reads_its_script(run: Run) -> bool:
    """Whether a shell or interpreter would run what comes on its input, from a pipe, here-document or stream."""
    piped = bool(run.fed) or run.stdin is not None
    if run.name in SHELLS:
        command, rest = shell_arguments(run.args)
        options = run.args[: len(run.args) - len(rest)]
        if command:
            return False
        return (piped and (not rest or has_option(options, "s"))) or (bool(rest) and _is_stream(rest[0]))
    match = _INTERPRETERS.fullmatch(run.name)
    if not match or run.name.endswith("awk"):
        return False
    code, script = _given_code(run.args, *_CODE_OPTIONS.get(match[1].lower(), _NO_OPTIONS))
    return not code and (piped if script in ("", "-") else _is_stream(script))


def _is_stream(operand: str) -> bool:
    return operand == "-" or operand.startswith((STREAM, "/dev/stdin", "/dev/fd/", "/proc/self/fd/"))
