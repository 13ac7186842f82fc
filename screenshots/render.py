"""A captured terminal screen as a picture: cells to SVG to PNG.

Every character is placed at its own cell, so the picture is aligned exactly as a terminal's grid is, whatever the
fallback font for Chinese is.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import pyte
from pyte.screens import Char
from rich.cells import cell_len

CELL_W, CELL_H, FONT = 9.0, 19.0, 15
FONTS = "DejaVu Sans Mono, Noto Sans Mono CJK SC, Noto Sans CJK SC, monospace"
# The reference palette for a terminal's own colours; a theme may use them (ansi).
DEFAULT = {"fg": "#e5e5e5", "bg": "#000000"}
BASIC = {
    "black": "#000000", "red": "#cd3131", "green": "#0dbc79", "brown": "#e5e510", "yellow": "#e5e510",
    "blue": "#2472c8", "magenta": "#bc3fbc", "cyan": "#11a8cd", "white": "#e5e5e5", "brightblack": "#8c8c8c",
    "brightred": "#f14c4c", "brightgreen": "#23d18b", "brightbrown": "#f5f543", "brightyellow": "#f5f543",
    "brightblue": "#3b8eea", "brightmagenta": "#d670d6", "brightcyan": "#29b8db", "brightwhite": "#ffffff",
}  # fmt: skip


def parse(captured: str, columns: int, rows: int) -> pyte.Screen:
    """The screen that `tmux capture-pane -e -p` printed."""
    screen = pyte.Screen(columns, rows)
    pyte.Stream(screen).feed("\r\n".join(captured.split("\n")[:rows]))
    return screen


def svg(screen: pyte.Screen) -> str:
    width, height = screen.columns * CELL_W + 16, screen.lines * CELL_H + 16
    ground = _colour(screen.buffer[screen.lines - 1][0].bg, "bg")
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="{FONTS}" '
        f'font-size="{FONT}" xml:space="preserve"><rect width="100%" height="100%" fill="{ground}"/>'
    ]
    for y in range(screen.lines):
        row = screen.buffer[y]
        for x in range(screen.columns):
            _cell(out, row[x], 8 + x * CELL_W, 8 + y * CELL_H, ground)
    return "".join(out) + "</svg>"


def _cell(out: list[str], char: Char, left: float, top: float, ground: str) -> None:
    if char.data == "":  # the right half of a wide character
        return
    fg, bg = _colour(char.fg, "fg"), _colour(char.bg, "bg")
    if char.reverse:
        fg, bg = bg, fg
    cells = max(1, cell_len(char.data))
    if bg != ground:
        out.append(f'<rect x="{left}" y="{top}" width="{cells * CELL_W + 0.4}" height="{CELL_H + 0.4}" fill="{bg}"/>')
    if char.data == "▐":  # drawn, not set: a font's half block does not fill this line height
        out.append(
            f'<rect x="{left + CELL_W / 2}" y="{top}" width="{CELL_W / 2}" height="{CELL_H + 0.4}" fill="{fg}"/>'
        )
        return
    if char.data.strip():
        style = (' font-weight="bold"' if char.bold else "") + (' font-style="italic"' if char.italics else "")
        if cells == 2:  # a wide character fills its two cells
            style += f' font-size="{2 * CELL_W - 1:g}"'
        out.append(f'<text x="{left}" y="{top + 14.5}" fill="{fg}"{style}>{escape(char.data)}</text>')
    if char.underscore:
        out.append(f'<rect x="{left}" y="{top + 17}" width="{cells * CELL_W}" height="1" fill="{fg}"/>')


def _colour(name: str, role: str) -> str:
    if name == "default":
        return DEFAULT[role]
    return BASIC.get(name) or f"#{name}"


def save_png(captured: str, columns: int, rows: int, target: Path) -> None:
    import resvg_py

    picture = svg(parse(captured, columns, rows))
    target.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=picture, font_size=FONT)))
