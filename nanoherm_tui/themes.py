"""Themes: a colour for each role, and the `Look` that turns roles into styles. Widgets know roles, never colours.

Shipped themes lie in themes/*.yaml; a user's own in ~/.nanohermes/themes. A file may name a `base` and change only some
roles of it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.style import Style

from agent_core.errors import ConfigError
from nanoherm_tui import limits
from nanoherm_tui.eight_bit import MIN_CONTRAST, choose, contrast
from nanoherm_tui.terminal_colours import Depth, depth

if TYPE_CHECKING:
    import yaml
    from textual.theme import Theme as TextualTheme

GROUNDS: Final = ("ground", "panel", "surface", "selection", "added_bg", "removed_bg", "added_word", "removed_word")
WORDS: Final = ("text", "seltext", "muted", "accent", "ok", "warn", "fail", "code", "string")
ROLES: Final = (*GROUNDS, *WORDS, "thumb", "rule")

DEFAULT_THEME: Final = "nanoherm-dark"

# Which words stand on which ground; the contrast of each of these pairs has to hold.
USED_ON: Final[Mapping[str, tuple[str, ...]]] = {
    "ground": ("text", "muted", "accent", "ok", "warn", "fail", "code", "string"),
    "panel": ("text", "muted", "accent", "ok", "warn", "fail", "code", "string"),
    "surface": ("text", "muted", "accent", "ok", "warn", "fail", "code", "string"),
    "selection": ("seltext", "accent", "ok", "warn", "fail"),
    "added_bg": ("text", "muted", "accent", "ok", "code", "string"),
    "removed_bg": ("text", "muted", "accent", "fail", "code", "string"),
    "added_word": ("text", "muted", "accent", "code", "string"),
    "removed_word": ("text", "muted", "accent", "code", "string"),
}

_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\Z")
_BASIC = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ANSI_NAMES = frozenset({"default", *_BASIC, *(f"bright_{c}" for c in _BASIC)})
_ATTRIBUTES = frozenset({"underline", "reverse", "bold"})

BrokenAt = Callable[[str, int], ConfigError]


@dataclass(frozen=True, slots=True)
class Theme:
    """A colour for every role.

    A role's value is a colour, then attributes: "#004214 underline", "reverse", "bright_red". Colours are #rrggbb, or,
    when `ansi`, the names of the terminal's own sixteen and "default". `rule` may be "none".
    """

    name: str
    dark: bool
    ansi: bool
    roles: Mapping[str, str]
    eight_bit: bool = False
    """Its colours are those of a terminal with 256 of them."""

    def colour(self, role: str) -> str:
        """The colour part of a role's value; "default" when it has only attributes or is "none"."""
        for word in self.roles[role].split():
            if word not in _ATTRIBUTES and word != "none":
                return word
        return "default"

    def attributes(self, role: str) -> frozenset[str]:
        """The attributes of a role's value: a subset of underline, reverse, bold."""
        return _ATTRIBUTES.intersection(self.roles[role].split())

    @property
    def draws_rules(self) -> bool:
        """Panes have equal grounds and are told apart by a drawn rule."""
        return self.roles["rule"] != "none"


# -- styles -------------------------------------------------------------------------------------------------------


class Look:
    """Roles to Rich styles, for one theme, remembering what it has made.

    With `no_color` (by default: NO_COLOR is set) every theme looks like ansi without its colours. `behind` is the look
    of everything behind an overlay: all words muted, no tints.
    """

    def __init__(self, theme: Theme, *, no_color: bool | None = None, behind: bool = False) -> None:
        self.no_color = no_colours() if no_color is None else no_color
        self.theme = without_colours(theme) if self.no_color else theme
        self.behind = behind
        self._made: dict[tuple[object, ...], Style] = {}

    def style(
        self,
        fg: str = "text",
        bg: str | None = "ground",
        *,
        bold: bool = False,
        italic: bool = False,
        underline: bool = False,
        reverse: bool = False,
    ) -> Style:
        """The style of words in role `fg` on role `bg`; `bg` None leaves the background alone.

        In an ansi theme words keep the terminal's default colour. The extra role "keyword" is accent, in an ansi theme
        bold. On a selection a role that cannot be read there becomes `seltext`.
        """
        return self._make(fg, bg, bold, italic, underline, reverse, mark=False)

    def mark(self, fg: str, bg: str | None = "ground", *, bold: bool = False) -> Style:
        """The style of a one-cell mark, bar or sign: coloured in an ansi theme too."""
        return self._make(fg, bg, bold, False, False, False, mark=True)

    def _make(
        self, fg: str, bg: str | None, bold: bool, italic: bool, underline: bool, reverse: bool, *, mark: bool
    ) -> Style:
        key = (fg, bg, bold, italic, underline, reverse, mark)
        made = self._made.get(key)
        if made is not None:
            return made
        theme = self.theme
        if self.behind:
            fg = "thumb" if fg == "thumb" else "muted"
            bold = italic = underline = reverse = False
            if bg in ("selection", "added_bg", "removed_bg", "added_word", "removed_word"):
                bg = "panel"
        attributes: frozenset[str] = frozenset() if bg is None else theme.attributes(bg)
        if fg == "keyword":
            bold, fg = bold or theme.ansi, "accent"
        if bg == "selection":
            fg = self._on_selection(fg)
        elif theme.eight_bit and bg is not None and fg in USED_ON.get(bg, ()):
            fg = fg if contrast(theme.colour(fg), theme.colour(bg)) >= MIN_CONTRAST else "text"
        words_are_default = theme.ansi and not mark
        colour = "default" if words_are_default else theme.colour(fg)
        made = self._made[key] = Style(
            color=colour,
            bgcolor=None if bg is None else theme.colour(bg),
            bold=bold or None,
            italic=italic or None,
            underline=underline or "underline" in attributes or None,
            reverse=reverse != ("reverse" in attributes) or None,
        )
        return made

    def _on_selection(self, fg: str) -> str:
        theme = self.theme
        if theme.ansi or fg not in USED_ON["selection"]:
            return "seltext"
        readable = contrast(theme.colour(fg), theme.colour("selection")) >= MIN_CONTRAST
        return fg if readable else "seltext"


def without_colours(theme: Theme) -> Theme:
    """`theme` as ansi, every colour the terminal's default: what NO_COLOR asks for."""
    roles = dict.fromkeys(ROLES, "default")
    roles |= {"selection": "reverse", "seltext": "reverse", "added_word": "underline", "removed_word": "underline"}
    return Theme(theme.name, theme.dark, True, roles)


def for_terminal(theme: Theme, ansi: Theme, colours: Depth) -> Theme:
    """`theme` in colours that the terminal can show.

    Sixteen colours cannot show a theme's grounds and tints: there every theme is drawn as `ansi`, the shipped one.
    """
    if theme.ansi or colours == "true":
        return theme
    if colours == "16":
        return replace(ansi, name=theme.name)
    return replace(theme, roles=choose(theme.roles, USED_ON), eight_bit=True)


def no_colours() -> bool:
    """NO_COLOR is set (and not empty, as its convention has it)."""
    return bool(os.environ.get("NO_COLOR"))


def to_textual(theme: Theme) -> TextualTheme:
    """`theme` for Textual: each role is the CSS variable of its name ($ground, $panel, $muted, ...).

    `$selection-style` and `$changed-style` carry the text styles that colours cannot ("reverse", "underline", "none").
    """
    from textual.theme import Theme as TextualTheme

    if no_colours():
        theme = without_colours(theme)
    variables = {role: _css(theme.colour(role)) for role in ROLES}
    if not theme.draws_rules:
        variables["rule"] = "transparent"
    variables["selection-style"] = "reverse" if "reverse" in theme.attributes("selection") else "none"
    variables["changed-style"] = "underline" if "underline" in theme.attributes("added_word") else "none"
    v = variables
    variables |= {
        "foreground": v["text"],
        "background": v["ground"],
        "text-muted": v["muted"],
        "text-disabled": v["muted"],
        "scrollbar": v["thumb"],
        "scrollbar-hover": v["thumb"],
        "scrollbar-active": v["muted"],
        "scrollbar-background": v["ground"],
        "scrollbar-background-hover": v["ground"],
        "scrollbar-background-active": v["ground"],
        "scrollbar-corner-color": v["ground"],
        "input-selection-background": v["selection"],
        "input-selection-foreground": v["seltext"],
        "screen-selection-background": v["selection"],
        "screen-selection-foreground": v["seltext"],
        "block-cursor-background": v["selection"],
        "block-cursor-foreground": v["seltext"],
        "block-cursor-text-style": variables["selection-style"],
    }
    if theme.ansi:
        # Textual's own style sheets ask for these two of every ansi theme.
        variables |= {"ansi-background": "ansi_default", "ansi-foreground": "ansi_default"}
    return TextualTheme(
        theme.name,
        primary=v["accent"],
        secondary=v["accent"],
        accent=v["accent"],
        success=v["ok"],
        warning=v["warn"],
        error=v["fail"],
        foreground=v["text"],
        background=v["ground"],
        surface=v["surface"],
        panel=v["panel"],
        dark=theme.dark,
        ansi=theme.ansi,
        variables=variables,
    )


def _css(colour: str) -> str:
    return colour if colour.startswith("#") else f"ansi_{colour}"


# -- files --------------------------------------------------------------------------------------------------------


def find_themes_dir() -> Path:
    """The folder of the shipped themes: inside the package when installed, beside it in a checkout."""
    here = Path(__file__).resolve().parent
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
    return {name: for_terminal(theme, shipped["ansi"], known) for name, theme in themes.items()}


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

    Raises ConfigError (code "theme_broken") whose text names the file, the line and the way out.
    """
    import yaml

    def broken(what: str, line: int = 1) -> ConfigError:
        return ConfigError("theme_broken", f"{path}:{line}: {what}", path=str(path), line=line, reason=what)

    try:
        with path.open("rb") as file:
            raw = file.read(limits.THEME_FILE + 1)
    except OSError as error:
        raise broken(f"cannot be read ({error.strerror})") from error
    if len(raw) > limits.THEME_FILE:
        raise broken(f"is larger than {limits.THEME_FILE // 1024} KB, which no theme needs")
    try:
        root = yaml.compose(raw.decode("utf-8"), yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise broken("is not UTF-8 text") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise broken(f"is not YAML ({error.problem})", line) from error
    except RecursionError as error:
        raise broken("is not a theme (too many brackets)") from error
    except yaml.YAMLError as error:  # a control character, say
        raise broken(f"is not YAML ({error})") from error

    fields = _fields(root, broken)
    name, ansi, dark, base = path.stem, False, True, None
    given: dict[str, str] = {}
    lines: dict[str, int] = {}
    for key, node in fields.items():
        line = node.start_mark.line + 1
        if key == "name":
            name = _word(node)
            if not _NAME.match(name):
                raise broken("name: use up to 40 small letters, digits, - and _", line)
        elif key in ("dark", "ansi"):
            if _word(node) not in ("true", "false"):
                raise broken(f"{key}: write true or false", line)
            dark, ansi = (_word(node) == "true", ansi) if key == "dark" else (dark, _word(node) == "true")
        elif key == "base":
            base = bases.get(_word(node))
            if base is None:
                raise broken(f"base: no shipped theme is called {_word(node)!r}", line)
        elif key != "roles":
            raise broken(f"{key!r} is not known; a theme has name, dark, ansi, base and roles", line)
    if base is not None:
        ansi = base.ansi if "ansi" not in fields else ansi
        dark = base.dark if "dark" not in fields else dark
        given.update(base.roles)
    if "roles" in fields:
        for role, node in _fields(fields["roles"], broken).items():
            line = node.start_mark.line + 1
            if role not in ROLES:
                raise broken(f"no role is called {role!r}; there are {', '.join(ROLES)}", line)
            fault = _fault(role, _word(node), ansi)
            if fault:
                raise broken(f"{role}: {fault}", line)
            given[role], lines[role] = _word(node), line
    missing = [role for role in ROLES if role not in given]
    if missing:
        raise broken(f"lacks {', '.join(missing)}; add them, or name a base to take them from")
    theme = Theme(name, dark, ansi, given)
    unreadable = unreadable_pairs(theme)
    if unreadable:
        word, ground, ratio = min(unreadable, key=lambda pair: pair[2])
        more = f", and {len(unreadable) - 1} more pairs are too close" if len(unreadable) > 1 else ""
        raise broken(
            f"{word} on {ground} has a contrast of {math.floor(ratio * 10) / 10}:1, words need {MIN_CONTRAST}:1{more}; "
            "move one of the two colours away from the other",
            max(lines.get(word, 1), lines.get(ground, 1)),
        )
    return theme


def unreadable_pairs(theme: Theme) -> list[tuple[str, str, float]]:
    """Word, ground and ratio of each pair in use whose contrast is too small.

    An ansi theme's colours are the terminal's own. On the selection a word that cannot be read becomes `seltext`.
    """
    if theme.ansi:
        return []
    pairs = [(word, ground) for ground, words in USED_ON.items() for word in words]
    ratios = [
        (word, ground, contrast(theme.colour(word), theme.colour(ground)))
        for word, ground in pairs
        if ground != "selection" or word == "seltext"
    ]
    return [pair for pair in ratios if pair[2] < MIN_CONTRAST]


def _fault(role: str, value: str, ansi: bool) -> str:
    """What is wrong with a role's value; "" when nothing is."""
    words = value.split()
    colours = [w for w in words if w not in _ATTRIBUTES]
    if role == "rule" and words == ["none"]:
        return ""
    if not words or len(colours) > 1:
        return 'write one colour, then attributes, in quotes: "#9fb3ff" or "#004214 underline"'
    if ansi:
        if colours and colours[0] not in _ANSI_NAMES:
            return "an ansi theme takes default or the names black to white, bright_black to bright_white"
    elif not colours or not _HEX.match(colours[0]):
        return 'write the colour as "#rrggbb", in quotes'
    return ""


def _word(node: yaml.Node) -> str:
    return str(node.value).strip() if isinstance(node.value, str) else ""


def _fields(node: yaml.Node | None, broken: BrokenAt) -> dict[str, yaml.Node]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise broken("expected `key: value` lines", 1 if node is None else node.start_mark.line + 1)
    return {_word(key): value for key, value in node.value}
