"""Which files a command would write or remove, and the code it hands to an interpreter."""

from __future__ import annotations

import re
from typing import Final

from .shell_walk import SHELLS, Run, has_option, operands, option_value

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
_CODE_OPTIONS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "python": ("c", ()),
    "pypy": ("c", ()),
    "perl": ("eE", ()),
    "ruby": ("e", ()),
    "node": ("ep", ("eval", "print")),
    "nodejs": ("ep", ("eval", "print")),
    "bun": ("e", ("eval",)),
    "php": ("r", ("run",)),
    "lua": ("e", ()),
    "luajit": ("e", ()),
    "osascript": ("e", ()),
    "rscript": ("e", ()),
}


def written(run: Run) -> list[str]:
    """The absolute paths `run` would write, by redirection or as the program's output operand."""
    paths = list(run.writes)
    name, args = run.name, run.args
    files = operands(args, _VALUED.get(name, ""))
    if name in _LAST_OPERAND:
        target = option_value(args, "t", "target-directory") if name != "rsync" else None
        paths += [target] if target is not None else files[-1:] if len(files) > 1 else []
    elif name in _ALL_OPERANDS:
        paths += files
    elif name in ("dd", "dcfldd", "dc3dd", "gdd"):
        paths += [arg[3:] for arg in args if arg.startswith("of=")]
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
    shorts, longs = _CODE_OPTIONS.get(family, ("", ()))
    for short in shorts:
        if (code := option_value(run.args, short, *longs)) is not None:
            return code
    if family == "deno" and run.args[:1] == ("eval",):
        return " ".join(run.args[1:])
    return run.stdin if operands(run.args, "WXmI") in ([], ["-"]) else None


def reads_its_script(run: Run) -> bool:
    """Whether a shell or interpreter would run what comes on its input, from a pipe, here-document or stream."""
    if run.name in SHELLS:
        files = operands(run.args, "oO")
        piped = bool(run.fed) or run.stdin is not None
        return (piped and (not files or has_option(run.args, "s"))) or (bool(files) and _is_stream(files[0]))
    if is_interpreter(run.name) and not run.name.endswith("awk"):
        files = operands(run.args, "WX")
        code = any(option_value(run.args, short) is not None for short in "cem")
        return not code and (bool(run.fed) or run.stdin is not None) and (not files or files[0] == "-")
    return False


def _is_stream(operand: str) -> bool:
    return operand == "-" or operand.startswith(("\ufdd8", "/dev/stdin", "/dev/fd/", "/proc/self/fd/"))
