"""Themes: a colour for each role, and the `Look` that turns roles into styles. Widgets know roles, never colours.

Theme files are read by files.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rich.style import Style

from agent_core.records import dataclass
from nanoherm_tui.terminal.eight_bit import MIN_CONTRAST, choose, contrast

if TYPE_CHECKING:
    from textual.theme import Theme as TextualTheme

    from nanoherm_tui.terminal.colours import Depth

GROUNDS: Final = ("ground", "panel", "surface", "selection", "added_bg", "removed_bg", "added_word", "removed_word")
WORDS: Final = ("text", "seltext", "muted", "accent", "ok", "warn", "fail", "code", "string")
ROLES: Final = (*GROUNDS, *WORDS, "thumb", "rule")


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

ATTRIBUTES: Final = frozenset({"underline", "reverse", "bold"})


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
            if word not in ATTRIBUTES and word != "none":
                return word
        return "default"

    def attributes(self, role: str) -> frozenset[str]:
        """The attributes of a role's value: a subset of underline, reverse, bold."""
        return ATTRIBUTES.intersection(self.roles[role].split())

    @property
    def draws_rules(self) -> bool:
        """Panes have equal grounds and are told apart by a drawn rule."""
        return self.roles["rule"] != "none"

    @property
    def hides_caret(self) -> bool:
        """What is selected looks like the caret, which is words in reverse: beside it the caret is underlined."""
        alike = self.colour("selection") == self.colour("text")
        return "reverse" in self.attributes("selection") or alike


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

    def pixels(self, fg: str, bg: str) -> Style:
        """Of two colours "#rrggbb" of an image, whatever the theme. There are too many to keep them."""
        return Style(color=fg, bgcolor=bg)

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

    `$selection-style`, `$changed-style` and `$selecting-style`, the caret's beside a selection, carry the text styles
    that colours cannot ("reverse", "underline", "none").
    """
    from textual.theme import Theme as TextualTheme

    if no_colours():
        theme = without_colours(theme)
    variables = {role: _css(theme.colour(role)) for role in ROLES}
    if not theme.draws_rules:
        variables["rule"] = "transparent"
    variables["selection-style"] = "reverse" if "reverse" in theme.attributes("selection") else "none"
    variables["changed-style"] = "underline" if "underline" in theme.attributes("added_word") else "none"
    variables["selecting-style"] = "bold underline not reverse" if theme.hides_caret else "reverse"
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
