"""Theme files: the shipped ones in themes/*.yaml, a user's own in ~/.nanohermes/themes.

A file may name a `base` and change only some roles of it. A broken one is named with its line and the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.errors import ConfigError
from nanoherm_tui import limits
from nanoherm_tui.i18n import series, t
from nanoherm_tui.terminal.colours import Depth, depth
from nanoherm_tui.terminal.eight_bit import MIN_CONTRAST
from nanoherm_tui.theming import safe_diffs
from nanoherm_tui.theming.themes import ATTRIBUTES, ROLES, Theme, for_terminal, unreadable_pairs

if TYPE_CHECKING:
    import yaml

_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\Z")
_BASIC = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ANSI_NAMES = frozenset({"default", *_BASIC, *(f"bright_{c}" for c in _BASIC)})
_KEYS = ("name", "dark", "ansi", "base", "roles")


def find_themes_dir() -> Path:
    """The folder of the shipped themes: inside the package when installed, beside it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    packaged = here / "themes_data"
    return packaged if packaged.is_dir() else here.parent / "themes"


def load_themes(
    user_dir: Path | None = None, *, colours: Depth | None = None
) -> tuple[dict[str, Theme], list[ConfigError]]:
    """The shipped themes and the user's by name, and one error for each user file that was skipped.

    Their colours are those of a terminal with `colours` (by default: of the one we are in).

    A user's theme replaces a shipped one of the same name. Raises ConfigError only when a shipped theme is broken.
    """
    shipped = load_shipped()
    users: list[Theme] = []
    broken: list[ConfigError] = []
    for path in theme_files(user_dir):
        try:
            users.append(load_theme(path, shipped))
        except ConfigError as error:
            broken.append(error)
    return shown_themes(shipped, users, colours), broken


def load_shipped() -> dict[str, Theme]:
    """The shipped themes by name, as they are written. Raises ConfigError when one is broken."""
    themes = [load_theme(path, {}) for path in sorted(find_themes_dir().glob("*.yaml"))]
    return {theme.name: theme for theme in themes}


def shown_themes(
    shipped: Mapping[str, Theme], users: Iterable[Theme], colours: Depth | None = None
) -> dict[str, Theme]:
    """All themes by name, in the colours that the terminal can show."""
    known = depth() if colours is None else colours
    themes = {**shipped, **{theme.name: theme for theme in users}}
    return {name: for_terminal(safe_diffs.coloured(theme), shipped["ansi"], known) for name, theme in themes.items()}


def theme_files(folder: Path | None) -> list[Path]:
    """The theme files of a user's folder, in order; none when it cannot be read. Hidden files are an editor's own."""
    if folder is None:
        return []
    try:
        found = [p for p in folder.iterdir() if p.suffix in (".yaml", ".yml") and p.name[0] != "." and p.is_file()]
    except OSError:  # no such folder is the ordinary case
        return []
    return sorted(found)[: limits.THEME_FILES]


def load_theme(path: Path, bases: Mapping[str, Theme]) -> Theme:
    """Read one theme file.

    Raises ConfigError (code "theme_broken") whose text names the file, the line and the way out, in the interface's
    language.
    """
    try:
        return _theme(_parse(_read(path)), path.stem, bases)
    except _Fault as fault:
        reason = t(f"themes.{fault.key}", **fault.params)
        text = f"{path}:{fault.line}: {reason}"
        raise ConfigError("theme_broken", text, path=str(path), line=fault.line, reason=reason) from fault


class _Fault(Exception):
    """What is wrong with a file: a key of the section `themes` of the interface's words, and the line."""

    def __init__(self, key: str, line: int = 1, /, **params: object) -> None:
        super().__init__(key)
        self.key, self.line, self.params = key, line, params


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(limits.THEME_FILE + 1)
    except OSError as error:
        raise _Fault("unreadable", reason=error.strerror) from error
    if len(raw) > limits.THEME_FILE:
        raise _Fault("too_large", kb=limits.THEME_FILE // limits.KB)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Fault("not_text") from error


def _parse(text: str) -> yaml.Node | None:
    import yaml

    if hasattr(yaml, "CSafeLoader"):
        try:
            return yaml.compose(text, yaml.CSafeLoader)
        except yaml.YAMLError:
            pass  # the slow reader has better words for what is wrong
    try:
        return yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _Fault("not_yaml", line, reason=error.problem) from error
    except yaml.YAMLError as error:  # a control character, say
        raise _Fault("not_yaml", reason=error) from error
    except RecursionError as error:
        raise _Fault("too_deep") from error


def _theme(root: yaml.Node | None, name: str, bases: Mapping[str, Theme]) -> Theme:
    fields = _fields(root)
    for key, node in fields.items():
        if key not in _KEYS:
            raise _Fault("unknown_key", _line(node), key=_short(key), keys=series(_KEYS))
    if "name" in fields:
        name = _word(fields["name"])
        if not _NAME.match(name):
            raise _Fault("name", _line(fields["name"]))
    base = None
    if "base" in fields:
        base = bases.get(_word(fields["base"]))
        if base is None:
            raise _Fault("base", _line(fields["base"]), name=_short(_word(fields["base"])))
    ansi = _flag(fields, "ansi", base is not None and base.ansi)
    dark = _flag(fields, "dark", base is None or base.dark)
    given = _fields(fields["roles"]) if "roles" in fields else {}
    for role, node in given.items():
        if role not in ROLES:
            raise _Fault("unknown_role", _line(node), role=_short(role), roles=series(ROLES))
        if fault := _fault(role, _word(node), ansi):
            raise _Fault(fault, _line(node), role=role)
    roles = {**(base.roles if base is not None else {}), **{role: _word(node) for role, node in given.items()}}
    if missing := [role for role in ROLES if role not in roles]:
        raise _Fault("lacks", roles=series(missing))
    theme = Theme(name, dark, ansi, roles)
    _check_contrast(theme, {role: _line(node) for role, node in given.items()})
    return theme


def _check_contrast(theme: Theme, lines: Mapping[str, int]) -> None:
    """Raise the fault of the pair that is hardest to read, at the later of its lines."""
    pairs = unreadable_pairs(theme)
    if pairs:
        word, ground, ratio = min(pairs, key=lambda pair: pair[2])
        line = max(lines.get(word, 1), lines.get(ground, 1))
        shown = math.floor(ratio * 10) / 10  # never rounded up to what would do
        key = "contrast_more" if len(pairs) > 1 else "contrast"
        raise _Fault(key, line, word=word, ground=ground, ratio=shown, least=MIN_CONTRAST, n=len(pairs) - 1)


def _fault(role: str, value: str, ansi: bool) -> str:
    """What is wrong with a role's value, as a key of the words; "" when nothing is."""
    words = value.split()
    colours = [w for w in words if w not in ATTRIBUTES]
    if role == "rule" and words == ["none"]:
        return ""
    if not words or len(colours) > 1:
        return "one_colour"
    if ansi:
        return "ansi_colour" if colours and colours[0] not in _ANSI_NAMES else ""
    return "" if colours and _HEX.match(colours[0]) else "hex_colour"


def _flag(fields: Mapping[str, yaml.Node], key: str, default: bool) -> bool:
    if key not in fields:
        return default
    word = _word(fields[key])
    if word not in ("true", "false"):
        raise _Fault("flag", _line(fields[key]), key=key)
    return word == "true"


def _word(node: yaml.Node) -> str:
    return str(node.value).strip() if isinstance(node.value, str) else ""


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _short(word: str) -> str:
    return repr(word[:40])


def _fields(node: yaml.Node | None) -> dict[str, yaml.Node]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise _Fault("not_pairs", 1 if node is None else _line(node))
    return {_word(key): value for key, value in node.value}
