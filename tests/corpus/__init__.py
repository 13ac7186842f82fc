"""Runs a corpus of rows (input, right outcome) through the part of the product it speaks of.

`python -m tests.corpus KIND PATH [--only GLOB...]`: PATH is a JSON Lines file, or a folder with one JSON object a file.
Every failure is named; the last line is `N passed, N failed, N skipped`. Exit 0: nothing failed, 1: something did,
2: usage.

A KIND is the module `tests/corpus/KIND.py`, imported only when asked for. It defines either

    def check(row: dict[str, Any]) -> str
        "" when the product does what the row expects (or accepts by `alt`), else a few words on what it did.

or, when rows share something that must be started and stopped (a server, a scratch directory),

    @contextmanager
    def opened(path: Path, *, as_root: bool) -> Iterator[Callable[[dict[str, Any]], str]]
        yields such a `check`.

and, if some rows do not bind,

    def binds(row: dict[str, Any]) -> bool

`check` raises `Skip(reason)` when this machine lacks what a binding row needs. An AgentError is a failure; any other
exception is a CRASH: the product promises to explain itself.
"""

from __future__ import annotations


class Skip(Exception):
    """A binding row cannot run on this machine; the text says what is missing."""
