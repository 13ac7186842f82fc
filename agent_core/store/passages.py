"""What of a message can be found, and the passage of it that shows a hit. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from agent_core import limits
from agent_core.messages import FileDiff, Message
from agent_core.records import dataclass
from agent_core.text.tokenize import fold

_BEFORE: Final = 24  # characters of a passage before its first hit
_LOOKED_AT: Final = 400  # hits in one text among which the best passage is chosen
# What would not stand on one row: blanks of any kind, and characters that act rather than show.
_BLANKS: Final = re.compile("[\\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of a message and whose it is."""

    speaker: str
    """user, assistant, thought, summary, title, or the name of a tool."""
    text: str
    call_id: str = ""
    """The call whose card shows it."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage on one row. `marks` are the hits in it, as (first character, end)."""

    passage: Passage
    text: str
    marks: tuple[tuple[int, int], ...]
    found: str
    """The first hit as it is written there."""
    around: str = ""
    """The lines around that hit as they stand there."""
    around_marks: tuple[tuple[int, int], ...] = ()
    """The hits in those."""


def passages(message: Message) -> list[Passage]:
    """All that can be found in a message, at most limits.SEARCH_TEXT characters: what a person sees of it.

    Of a command that the model is not told of: nothing.
    """
    out: list[Passage] = []
    room = limits.SEARCH_TEXT
    for passage in _all(message):
        text = passage.text[:room]
        room -= len(text)
        if text.strip():
            out.append(Passage(passage.speaker, text, passage.call_id))
    return out


def _all(message: Message) -> Iterator[Passage]:
    run, result = message.shell, message.result
    if message.role == "system" or message.origin in ("note", "agents") or (run is not None and run.private):
        return
    if run is not None:
        yield Passage(run.result.name, f"{run.command}\n{run.result.text}", run.result.call_id)
    elif result is not None:
        yield Passage(result.name, result.text, result.call_id)
        yield from (Passage(result.name, _changed(diff), result.call_id) for diff in result.diffs)
    elif message.role == "user":
        yield Passage("summary" if message.origin == "summary" else "user", message.text)
    else:
        yield Passage("assistant", message.text)
        for call in message.tool_calls:
            yield Passage(call.name, "\n".join(_strings(call.arguments)), call.id)
        yield Passage("thought", message.reasoning)


def _changed(diff: FileDiff) -> str:
    lines = (line.text for hunk in diff.hunks for line in hunk.lines if line.kind != "same")
    return "\n".join((diff.path, *lines))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def snippet(found: Sequence[Passage], needles: Sequence[re.Pattern[str]], size: int = limits.SEARCH_SNIPPET) -> Snippet:
    """The part of a message's passages in which most of what was looked for stands close together, the first of them.

    The beginning when none of it is there. `found` has at least one; `size` is in characters.
    """
    best: tuple[int, Passage, int, list[tuple[int, int]]] | None = None
    for passage in found:
        hits = _hits(passage.text, needles)
        for first, (start, _, _) in enumerate(hits):
            here = [hit for hit in hits[first : first + 64] if hit[1] <= start + size - _BEFORE]
            kinds = len({number for _, _, number in here})
            if best is None or kinds > best[0]:
                best = (kinds, passage, start, [(start, end) for start, end, _ in hits])
        if best is not None and best[0] == len(needles):
            break
    if best is None:
        return _cut_out(found[0], 0, (), size)
    _, passage, start, spans = best
    return _cut_out(passage, start, spans, size)


def _hits(text: str, needles: Sequence[re.Pattern[str]]) -> list[tuple[int, int, int]]:
    """(start, end, number of the needle) of what stands in a text, in order."""
    folded = fold(text)
    hits: list[tuple[int, int, int]] = []
    for number, needle in enumerate(needles):
        for count, hit in enumerate(needle.finditer(folded)):
            if count == _LOOKED_AT:
                break
            hits.append((hit.start(), hit.end(), number))
    return sorted(hits)


def _cut_out(passage: Passage, at: int, spans: Sequence[tuple[int, int]], size: int) -> Snippet:
    """The passage around a hit on one row, cut at a word's edge, with ranges of all hits in it."""
    text = passage.text
    start = max(0, at - _BEFORE)
    if start:
        start += next((m.end() for m in [re.search(r"\s", text[start:at])] if m), 0)
    end = min(len(text), start + size)
    out = "\u22ef" if text[:start].strip() else ""
    marks: list[tuple[int, int]] = []
    done = start
    for first, last in _merged(spans):
        if last <= start or first >= end:
            continue
        first, last = max(first, start), min(last, end)
        out = _add(out, text[done:first])
        begun = len(out)
        out = _add(out, text[first:last])
        marks.append((begun, len(out)))
        done = last
    out = _add(out, text[done:end])
    if text[end:].strip():
        out = out.rstrip() + "\u22ef"
    found = next((text[first:last] for first, last in spans if first == at), "")
    return Snippet(passage, out, tuple(marks), found, *_around(text, at, spans))


def _around(text: str, at: int, spans: Sequence[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The lines around a hit, free of control characters, and the hits in them."""
    start, end = _line_start(text, at), _line_end(text, at)
    out, marks, done = "", [], start
    for first, last in _merged(spans):
        if last <= start or first >= end:
            continue
        out += _shown(text[done : max(first, start)])
        begun = len(out)
        out += _shown(text[max(first, start) : min(last, end)])
        marks.append((begun, len(out)))
        done = min(last, end)
    return out + _shown(text[done:end]), tuple(marks)


def _line_start(text: str, at: int) -> int:
    """Where the lines before the one at `at` begin, not further away than may be shown."""
    least, start = max(0, at - limits.SEARCH_AROUND), at
    for _ in range(limits.SEARCH_AROUND_LINES + 1):
        start = text.rfind("\n", least, start)
        if start < 0:
            return least
    return start + 1


def _line_end(text: str, at: int) -> int:
    most, end = min(len(text), at + limits.SEARCH_AROUND), at - 1
    for _ in range(limits.SEARCH_AROUND_LINES + 1):
        end = text.find("\n", end + 1, most)
        if end < 0:
            return most
    return end


def _shown(text: str) -> str:
    """Without what acts rather than shows; tabs become blanks, line ends stay."""
    return _BLANKS.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    kept = found[0].replace("\r\n", "\n").expandtabs(4)
    return "".join(c for c in kept if c in " \n\u3000")


def _add(row: str, text: str) -> str:
    more = _BLANKS.sub(" ", text)
    return row + (more.lstrip() if not row or row[-1] in " \u22ef" else more)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
