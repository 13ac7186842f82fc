"""Frames as pictures: every character at its own cell, as in a terminal's grid, whatever the font for Chinese is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from rich.cells import cell_len, split_graphemes

from screenshots.frame import BACKGROUND, Frame, Run

CELL_W: Final = 9.0
CELL_H: Final = 19.0
FONT: Final = 14.949
"""At this size a character of DejaVu Sans Mono is exactly a cell wide: a word needs one place, not one a letter."""
MARGIN: Final = 8.0
FONTS: Final = "DejaVu Sans Mono, monospace"
WIDE_FONTS: Final = "Noto Sans Mono CJK SC, Noto Sans CJK SC, sans-serif"
_BASELINE: Final = 14.5
_LABEL: Final = 26.0
_HALF_BLOCK: Final = "▐"


def svg(frame: Frame) -> str:
    """A frame with a margin in its ground's colour."""
    width, height = _size(frame)
    ground = _ground(frame)
    return _document(width, height, [f'<rect width="100%" height="100%" fill="{ground}"/>', *_body(frame, ground)])


def sheet(rows: Sequence[Sequence[tuple[str, Frame]]], scale: float) -> str:
    """Labelled frames in rows, all in one picture."""
    out = ['<rect width="100%" height="100%" fill="#7f7f7f"/>']
    top = widest = 0.0
    for row in rows:
        left = tallest = 0.0
        for label, frame in row:
            width, height = _size(frame)
            ground = _ground(frame)
            out.append(f'<text x="{left + 4}" y="{top + 18}" fill="#ffffff">{escape(label)}</text>')
            out.append(f'<g transform="translate({left} {top + _LABEL})">')
            out += [f'<rect width="{width}" height="{height}" fill="{ground}"/>', *_body(frame, ground), "</g>"]
            left += width + 12
            tallest = max(tallest, height)
        top += tallest + _LABEL + 12
        widest = max(widest, left)
    return _document(widest, top, out, scale)


def save_png(picture: str, target: Path) -> None:
    import resvg_py

    target.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=picture)))


def _document(width: float, height: float, parts: Sequence[str], scale: float = 1.0) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * scale:g}" height="{height * scale:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="{FONTS}" font-size="{FONT}" xml:space="preserve">'
    )
    return head + "".join(parts) + "</svg>"


def _size(frame: Frame) -> tuple[float, float]:
    return frame.columns * CELL_W + 2 * MARGIN, len(frame.rows) * CELL_H + 2 * MARGIN


def _ground(frame: Frame) -> str:
    """The colour of the last row's start: the margin goes on with it."""
    return frame.rows[-1][0].bg if frame.rows and frame.rows[-1] else BACKGROUND


def _body(frame: Frame, ground: str) -> list[str]:
    grounds: list[str] = []
    words: list[str] = []
    for y, row in enumerate(frame.rows):
        top, x = MARGIN + y * CELL_H, 0
        for bg, runs in groupby(row, key=lambda run: run.bg):
            left, begin = MARGIN + x * CELL_W, x
            for run in runs:
                _words(words, run, x, top)
                x += cell_len(run.text)
            if bg != ground:
                width = (x - begin) * CELL_W + 0.4
                grounds.append(
                    f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{CELL_H + 0.4}" fill="{bg}"/>'
                )
    return grounds + words


def _words(out: list[str], run: Run, x: int, top: float) -> None:
    """A run's text, in pieces that keep to the grid by themselves."""
    if run.underline:
        width = cell_len(run.text) * CELL_W
        left = MARGIN + x * CELL_W
        out.append(f'<rect x="{left:g}" y="{top + 17:g}" width="{width:g}" height="1" fill="{run.fg}"/>')
    style = (' font-weight="bold"' if run.bold else "") + (' font-style="italic"' if run.italic else "")
    for piece, cells, kind in _pieces(run.text):
        left = MARGIN + x * CELL_W
        x += cells
        if piece == _HALF_BLOCK:  # drawn, not set: a font's half block does not fill this line height
            half = CELL_W / 2
            out.append(
                f'<rect x="{left + half:g}" y="{top:g}" width="{half}" height="{CELL_H + 0.4}" fill="{run.fg}"/>'
            )
        elif piece.strip():
            wide = (
                f' font-family="{WIDE_FONTS}" font-size="{2 * CELL_W - 1:g}" letter-spacing="1"'
                if kind == "wide"
                else ""
            )
            out.append(
                f'<text x="{left:g}" y="{top + _BASELINE:g}" fill="{run.fg}"{style}{wide}>{escape(piece)}</text>'
            )


def _pieces(text: str) -> Iterator[tuple[str, int, str]]:
    """`text` as (piece, cells, kind): words of the font's own width, runs of wide characters, others one by one."""
    marks = [(text[begin:end], cells) for begin, end, cells in split_graphemes(text)[0]]
    for kind, group in groupby(marks, key=lambda mark: _kind(*mark)):
        if kind == "other":
            for character, cells in group:
                yield character, cells, kind
        else:
            piece = list(group)
            yield "".join(character for character, _ in piece), sum(cells for _, cells in piece), kind


def _kind(character: str, cells: int) -> str:
    if character == " ":
        return "blank"
    if cells == 2 and len(character) == 1:
        return "wide"
    return "plain" if cells == 1 and " " < character < "\u0250" else "other"
