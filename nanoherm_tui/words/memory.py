"""What is remembered and what was forgotten, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_core.knowledge import MEMORY_KINDS
from nanoherm_tui.i18n import t
from nanoherm_tui.text import cut, one_line, visible, width
from nanoherm_tui.words.kept_titles import in_row, kept_title

if TYPE_CHECKING:
    from agent_core.knowledge import Memory
    from agent_core.memory.desk import Forgotten
    from agent_core.messages import FileDiff

DETAIL: Final = 2_000  # characters of one memory that are shown: more than fits
_ID: Final = 8  # characters of an id: enough to name one by
PUT_ASIDE: Final = "memory"  # the path of a change that keeps a memory
_SHORT: Final = 48  # cells of what was forgotten, where more is to be said


def kind_cells() -> int:
    """The cells of a column of kinds, with the blanks behind it."""
    return max(width(t(f"memory.{kind}")) for kind in MEMORY_KINDS) + 2


def memory_facts(memory: Memory, others: Sequence[Memory], home: str) -> tuple[str, ...]:
    """All there is to know of a memory: its text, then who wrote it, where it holds, what it builds on."""
    scope = visible(memory.scope.replace(home, "~", 1) if home and memory.scope.startswith(home) else memory.scope)
    facts = [
        t(f"memory.{memory.kind}"),
        t(f"memory.by_{memory.origin}"),
        t("memory.confirmed") if memory.verified else "",
        t("memory.holds_in", folder=scope) if memory.scope else t("memory.everywhere"),
        t("memory.id", id=visible(memory.id[:_ID])),
    ]
    more = [visible(memory.text[:DETAIL]), in_row([fact for fact in facts if fact])]
    if memory.observed:
        more.append(t("memory.observed", words=one_line(visible(memory.observed))))
    on_it = sum(memory.id in other.derived for other in others)
    if memory.derived or on_it:
        more.append(t("memory.builds", on=len(memory.derived), by=on_it))
    return tuple(more)


def in_words(change: FileDiff) -> FileDiff:
    """A memory that waits, as it is put aside: its kind, its text, then where it holds. In the interface's language."""
    if change.path != PUT_ASIDE or change.change != "create" or not change.hunks:
        return change
    [*lines] = change.hunks[0].lines
    kind, colon, text = lines[0].text.partition(": ")
    if colon and kind in MEMORY_KINDS:
        lines[0] = replace(lines[0], text=t("text.pair", name=t(f"memory.{kind}"), value=text))
    name, colon, scope = lines[-1].text.partition(": ")
    if colon and name == "scope":
        holds = t("memory.everywhere") if scope == "everywhere" else t("memory.holds_in", folder=scope)
        lines[-1] = replace(lines[-1], text=holds)
    return replace(change, hunks=(replace(change.hunks[0], lines=tuple(lines)), *change.hunks[1:]))


def all_forgotten(done: Forgotten, gone: Sequence[Memory]) -> str:
    """What was forgotten, and that what was made from it is gone too."""
    said = one_line(visible(done.memory.text))
    return t("memory.forgotten_all", text=said, n=len(gone) + len(done.waiting)) if done.left else forgotten_words(done)


def forgotten_words(done: Forgotten) -> str:
    """What was forgotten, and what was made from it and is still there."""
    said = one_line(visible(done.memory.text))
    left = [*(visible(one.text) for one in done.built_on_it), *(kept_title(one.title) for one in done.waiting)]
    if not left:
        return t("memory.forgotten", text=said)
    return t("memory.forgotten_with", text=cut(said, _SHORT), n=len(left), left=one_line("; ".join(left)))
