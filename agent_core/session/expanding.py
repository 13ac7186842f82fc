"""What the model is told behind a person's message: what a typed command stands for, and what its references hold.

A person is shown what they typed; this stands in `Message.added`. A reference is read by the tool that would read it
for the model: so the same rules, questions, bounds and records hold, and the file counts as seen. Texts of skills and
servers refer to nothing: only what a person wrote, or a command they trust, does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.events import Event, Notice
from agent_core.knowledge import Expansion
from agent_core.messages import Message, ToolCall, ToolResult, new_id
from agent_core.names import GIT_DIFF, LIST_DIR, READ_FILE, WEB_FETCH
from agent_core.ports.asking import Asker, Question, Reply
from agent_core.text.clamp import clamp
from agent_core.text.refs import Reference, references

if TYPE_CHECKING:
    from agent_core.tools.toolbox import Toolbox

STANDS_FOR: Final = "[/{name} is a command that the user has typed. It stands for this:]\n\n{text}"
HELD: Final = '<reference name="{name}">\n{text}\n</reference>'
NOT_HAD: Final = "[{name} could not be had: {why}]"

Expand = Callable[[str], Expansion | None]
"""What a text stands for that begins with "/"; None: it is a text like any other. Raises AgentError."""


class _Asks:
    """Asks, and remembers that the person said no (ports.Asker)."""

    def __init__(self, asker: Asker, waits: Callable[[bool], None]) -> None:
        self._asker = asker
        self._waits = waits
        self.refused = False

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        self._waits(True)
        try:
            reply = self._asker.ask(question, cancel)
        finally:
            self._waits(False)
        self.refused = reply.decision == "refuse" and reply.by == "person"
        return reply


def expanded(
    message: Message,
    expand: Expand,
    toolbox: Toolbox,
    cancel: CancelScope,
    emit: Callable[[Event], None],
    waits: Callable[[bool], None] = lambda waits: None,
) -> Message:
    """`message` with what the model is told behind it. Reads files, runs git, may ask the person.

    What cannot be had is told to both. `waits`: told when the person is asked, and when they have answered. Raises
    Interrupted, and AgentError for a command that cannot be expanded.
    """
    asks = _Asks(toolbox.context.asker, waits)
    toolbox = replace(toolbox, context=replace(toolbox.context, asker=asks))
    parts, refers, images = [], message.text, list(message.parts)
    if message.text.startswith("/") and (command := expand(message.text)) is not None:
        text = clamp(command.text, limits.EXPANSION)
        parts.append(STANDS_FOR.format(name=command.name, text=text))
        refers = text if command.refers else message.text
    room = limits.REFERENCES_BYTES
    for name, result in _looked_up(refers, toolbox, cancel):
        cancel.check()
        text = result.text
        refused, asks.refused = asks.refused, False
        if refused:
            parts.append(NOT_HAD.format(name=name, why="the user was asked and did not allow it."))
            continue
        if not result.ok:
            emit(Notice("reference", f"{name}: {text}", "warning", {"name": name, "why": text}))
            parts.append(NOT_HAD.format(name=name, why=text))
            continue
        images += [image for image in result.images if image not in images and len(images) < limits.IMAGES_A_TURN]
        text = clamp(_defused(text), max(room, limits.NOTE_BYTES))
        room -= len(text.encode("utf-8", "surrogatepass"))
        parts.append(HELD.format(name=name.replace('"', "&quot;"), text=text))
    return replace(message, added="\n\n".join(parts), parts=tuple(images)) if parts else message


def _looked_up(text: str, toolbox: Toolbox, cancel: CancelScope) -> Iterator[tuple[str, ToolResult]]:
    """Each reference of `text` and what it holds; one that stands twice is looked up once."""
    from agent_core.tools.call import run_call  # no start waits for it

    context = toolbox.context
    wanted = {one.raw: calls for one in references(text) if (calls := _calls(one, context.workspace, context.home))}
    # The person's own wish: what is switched off for the model, and hooks over its calls, do not concern it.
    own = replace(
        toolbox,
        off=frozenset,
        veto=lambda call, name, arguments: "",
        remark=lambda call, name, arguments, output: "",
        started=lambda call: None,
        progress=lambda call, text: None,
        results=None,
    )
    for raw, calls in list(wanted.items())[: limits.REFERENCES]:
        yield raw, _joined([run_call(own, call, cancel, lambda call, effect: None) for call in calls])
    if left := list(wanted)[limits.REFERENCES :]:
        why = f"A message has at most {limits.REFERENCES} references; this one was left out."
        for raw in left:
            yield raw, ToolResult("", "", why, ok=False)


def _calls(one: Reference, workspace: Path, home: Path) -> list[ToolCall]:
    """The calls that read what a reference means; none for a word that only looks like one."""

    def call(name: str, **arguments: Any) -> ToolCall:
        return ToolCall(f"reference-{new_id()}", name, arguments)

    if one.kind == "diff":
        return [call(GIT_DIFF, mode="diff")]
    if one.kind == "staged":
        return [call(GIT_DIFF, mode="staged")]
    if one.kind == "git":
        if not one.target.isdecimal():
            return [call(GIT_DIFF, mode="show", revision=one.target)]
        count = max(1, min(int(one.target[:4]), limits.REFERENCE_COMMITS))
        return [call(GIT_DIFF, mode="show", revision=f"HEAD~{back}" if back else "HEAD") for back in range(count)]
    if one.kind == "url":
        return [call(WEB_FETCH, url=one.target)]
    if one.kind == "folder":
        return [call(LIST_DIR, path=one.target)]
    path = os.path.join(home, one.target[2:]) if one.target.startswith("~/") else os.path.join(workspace, one.target)
    if one.kind == "path":
        if not _exists(path):
            return []  # somebody's name
        if os.path.isdir(path):
            return [call(LIST_DIR, path=one.target)]
    lines = {} if one.first is None else {"offset": max(1, one.first)}
    if one.first is not None and one.last is not None:
        lines["limit"] = max(1, one.last - one.first + 1)
    return [call(READ_FILE, path=one.target, **lines)]


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:  # a NUL
        return False


def _joined(results: Sequence[ToolResult]) -> ToolResult:
    """Several results as one: of commits asked for by number those there are."""
    good = [result for result in results if result.ok]
    if not good:
        return results[0]
    return replace(good[0], text="\n\n".join(result.text for result in good))


def _defused(text: str) -> str:
    """`text` that cannot close its fence or open another."""
    return re.sub(r"<(?=/?\s*reference\b)", "&lt;", text, flags=re.IGNORECASE)
