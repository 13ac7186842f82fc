"""New lines for a place whose indentation was quoted wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.text.look_alikes import common_prefix


def reindent(wanted: Sequence[str], there: Sequence[str], new: str) -> str:
    """`new` with the indentation the file has where `wanted` was quoted with another.

    A shift that is the same for every line is made for the new lines too. Tabs for blanks (or the other way) are
    exchanged by the width the quoted lines show. Any other difference is followed only when `new` keeps a line whose
    indentation differs, because the new lines must then agree with that one; else `new` is taken as written.
    """
    pairs = _pairs(wanted, there)
    if (shifted := _shifted(pairs, new)) is not None:
        return shifted
    table = dict(pairs)
    if any(("\t" in a) != ("\t" in b) for a, b in pairs) or _keeps_moved_line(wanted, there, new):
        return _each_line(new, lambda indent: table[indent] if indent in table else _carry_over(indent, table))
    return new


def reindent_added(wanted: Sequence[str], there: Sequence[str], kept: Sequence[bool], new: str) -> str:
    """As `reindent`, for lines that a patch adds beside lines that it keeps (`kept`, of each line of `wanted`).

    A kept line stays as the file has it, so what is added must agree with it. Where no kept line has another
    indentation than the patch gave it, and the shift is not the same for all, the patch's own indentation holds:
    changing it may be what the patch is for.
    """
    if all(_indent(a) == _indent(b) for a, b, stays in zip(wanted, there, kept, strict=True) if not stays):
        # Kept lines one blank short have lost their sign in the patch: nothing else has moved.
        wanted = [there[i] if stays and _indent(there[i]) == f" {_indent(wanted[i])}" else wanted[i]
                  for i, stays in enumerate(kept)]  # fmt: skip
    pairs = _pairs(wanted, there)
    if (shifted := _shifted(pairs, new)) is not None:
        return shifted
    lines = [(a, b) for a, b, stays in zip(wanted, there, kept, strict=True) if stays]
    if all(a == b for a, b in _pairs([a for a, _ in lines], [b for _, b in lines])):
        return new
    table = dict(pairs)
    return _each_line(new, lambda indent: table[indent] if indent in table else _carry_over(indent, table))


def _pairs(wanted: Sequence[str], there: Sequence[str]) -> list[tuple[str, str]]:
    """The indentation of each line that is not blank, as quoted and as it is."""
    return [(_indent(a), _indent(b)) for a, b in zip(wanted, there, strict=True) if a.strip() and b.strip()]


def _shifted(pairs: Sequence[tuple[str, str]], new: str) -> str | None:
    """`new` shifted as all lines are, if they all are in the same way (or not at all)."""
    if not pairs or all(a == b for a, b in pairs):
        return new
    added, removed = pairs[0][1], pairs[0][0]
    if removed and added.endswith(removed):
        added, removed = added[: -len(removed)], ""
    elif added and removed.endswith(added):
        added, removed = "", removed[: -len(added)]
    if not removed and all(b == added + a for a, b in pairs):
        return _each_line(new, lambda indent: added + indent)
    if not added and all(a == removed + b for a, b in pairs):
        return _each_line(new, lambda indent: indent[common_prefix(indent, removed) :])
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _each_line(text: str, change: Callable[[str], str]) -> str:
    """Change the indentation of every line that is not blank."""
    lines = text.split("\n")
    return "\n".join(change(_indent(line)) + line[len(_indent(line)) :] if line.strip() else line for line in lines)


def _keeps_moved_line(wanted: Sequence[str], there: Sequence[str], new: str) -> bool:
    kept = {line.strip() for line in new.split("\n")}
    return any(a.strip() and a.strip() in kept and _indent(a) != _indent(b) for a, b in zip(wanted, there, strict=True))


def _carry_over(indent: str, table: dict[str, str]) -> str:
    """An indentation that was not quoted: from the nearest shallower quoted one on, in the file's own units."""
    width = _width(indent)
    below = [(a, b) for a, b in table.items() if _width(a) <= width]
    base_old, base_new = max(below, key=lambda ab: _width(ab[0])) if below else ("", "")
    extra = width - _width(base_old)
    unit_old, unit_new = _unit(table)
    if not unit_old:
        return base_new + " " * extra
    return base_new + unit_new * (extra // unit_old) + " " * (extra % unit_old)


def _unit(table: dict[str, str]) -> tuple[int, str]:
    """One step of indentation: its width as quoted and its text in the file, as the quoted lines show them."""
    steps = sorted(table.items(), key=lambda ab: _width(ab[0]))
    for (a, b), (c, d) in zip([("", ""), *steps], steps, strict=False):
        gap, grown = _width(c) - _width(a), d[len(b) :]
        if gap > 0 and grown and d.startswith(b):
            if set(grown) == {"\t"} and gap % len(grown) == 0:
                return gap // len(grown), "\t"
            return gap, grown
    return 0, ""


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))
