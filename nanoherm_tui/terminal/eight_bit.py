"""Theme colours for terminals with 256 of them, which are most terminals behind SSH and a multiplexer.

Cutting each colour to its nearest alone makes two dark tints the same, or a green one black: here a theme's colours are
chosen together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from rich.color import Color, ColorSystem

Lab = tuple[float, float, float]

MIN_CONTRAST: Final = 4.5  # WCAG 2 AA for text
_GREY: Final = 0.02  # chroma under which a ground is a grey
_SAME_HUE: Final = math.radians(35)
_TINTS: Final = ("added_bg", "removed_bg", "added_word", "removed_word")
_GROUNDS: Final = ("ground", "panel", "surface", "selection", *_TINTS)


def contrast(a: str, b: str) -> float:
    """The WCAG 2 contrast ratio of two #rrggbb colours, 1.0 to 21.0."""
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@lru_cache(maxsize=512)  # each colour is compared with many: without this a start with 256 colours is felt
def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(colour: str) -> tuple[float, float, float]:
    def linear(part: str) -> float:
        c = int(part, 16) / 255
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4

    return linear(colour[1:3]), linear(colour[3:5]), linear(colour[5:7])


def shown(colour: str) -> str:
    """The #rrggbb that a terminal with 256 colours shows for `colour`."""
    return Color.parse(colour).downgrade(ColorSystem.EIGHT_BIT).get_truecolor().hex


@lru_cache(maxsize=1)
def _palette() -> dict[str, Lab]:
    """What the terminal can show, with its place in Oklab."""
    return {colour: _oklab(colour) for colour in _sent()}


@lru_cache(maxsize=1)
def _sent() -> dict[str, str]:
    """What to send for each colour the terminal can show: itself, but for some light greys."""
    levels = (0, 95, 135, 175, 215, 255)
    cube = [f"#{r:02x}{g:02x}{b:02x}" for r in levels for g in levels for b in levels]
    greys = [f"#{v:02x}{v:02x}{v:02x}" for v in range(256)]
    own = {colour: colour for colour in (*cube, *greys) if shown(colour) == colour}
    return {shown(grey): grey for grey in greys} | own


@lru_cache(maxsize=512)
def _oklab(colour: str) -> Lab:
    """Lightness, green to red, blue to yellow: equal distances look equally different."""
    r, g, b = _linear(colour)
    long = math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
    middle = math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
    short = math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def choose(roles: Mapping[str, str], used_on: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """A colour of the 256 for each of a theme's roles (#rrggbb, then attributes).

    Grounds that differ stay different, tints keep their hue, and words are readable on every ground but the tints,
    where `text` is. A changed word whose ground has no other shade is underlined.
    """
    given = {role: value.split()[0] for role, value in roles.items() if value.startswith("#")}
    chosen: dict[str, str] = {}
    for role in _GROUNDS:
        taken = {chosen[other]: given[other] for other in chosen}
        words = given["seltext"] if role == "selection" else given["text"]
        fits = (
            colour
            for colour in _by_distance(given[role])
            if taken.get(colour, given[role]) == given[role]
            and (_same_hue(colour, given[role]) if role in _TINTS else _is_grey(colour) or not _is_grey(given[role]))
            and contrast(colour, words) >= MIN_CONTRAST + 0.5  # the words are still to be chosen
        )
        chosen[role] = next(fits, chosen.get(role.replace("_word", "_bg"), shown(given[role])))
    for role in given.keys() - chosen.keys():
        grounds = [chosen[g] for g in _GROUNDS if role in used_on.get(g, ()) and (g not in _TINTS or role == "text")]
        fits = (c for c in _by_distance(given[role]) if all(contrast(c, ground) >= MIN_CONTRAST for ground in grounds))
        chosen[role] = next(fits, shown(given[role]))
    result = dict(roles)
    for role, colour in chosen.items():
        result[role] = " ".join([_sent()[colour], *roles[role].split()[1:]])
    for word, line in (("added_word", "added_bg"), ("removed_word", "removed_bg")):
        if chosen[word] == chosen[line] and "underline" not in result[word]:
            result[word] += " underline"
    return result


def _by_distance(colour: str) -> list[str]:
    place = _oklab(colour)
    return sorted(_palette(), key=lambda other: math.dist(place, _palette()[other]))


def _is_grey(colour: str) -> bool:
    return math.hypot(*_oklab(colour)[1:]) < _GREY


def _same_hue(a: str, b: str) -> bool:
    first, second = _oklab(a)[1:], _oklab(b)[1:]
    apart = abs(math.atan2(first[1], first[0]) - math.atan2(second[1], second[0]))
    return math.hypot(*first) > _GREY and min(apart, 2 * math.pi - apart) <= _SAME_HUE
