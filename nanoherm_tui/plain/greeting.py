"""What is said first: the model, the folder, the mode, the sandbox, and what is wrong with what was read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent_core import intents, names
from agent_core.errors import AgentError
from agent_core.records import dataclass
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.plain.words import mode_line
from nanoherm_tui.text import clean, one_line
from nanoherm_tui.words.sandbox import sandbox_words, why_none

if TYPE_CHECKING:
    from agent_core.desk.host import Host
    from agent_core.desk.model_choice import ModelState
    from nanoherm_tui.plain.face import Face


@dataclass(frozen=True, slots=True)
class Begin:
    """What a run begins with."""

    prompt: str = ""
    """The first message."""
    images: tuple[str, ...] = ()
    """Files with images for it."""
    choose: bool = False
    """Begin with the list of sessions."""
    mode: names.Mode | None = None
    """What the command line wants the first session to be in."""
    notes: tuple[str, ...] = ()
    """What is to be said first."""


def greet(face: Face, begin: Begin) -> None:
    """What the program is, and which model answers."""
    face.say(*begin.notes, t("plain.greeting"))
    face.say(*model_lines(face.host.model.state))


def model_lines(state: ModelState) -> tuple[str, ...]:
    """Which model answers, or why none does."""
    if state.problem is not None:
        problem = tell(state.problem.code, state.problem.params, state.problem.text)
        return (t("welcome.no_model"), clean(problem), t("plain.no_setup"))
    if state.demo:
        return (t("welcome.demo_title"), t("welcome.demo_text"))
    return (t("plain.model", model=one_line(state.label)),)


def begin_session(face: Face, begin: Begin) -> list[str]:
    """How the first session stands, and what it begins with. Gives the messages to send first."""
    face.held = held = face.host.walls.containment()
    face.say(t("plain.folder", folder=face.shown_path(face.session.workspace)))
    if begin.mode is not None and begin.mode != face.session.mode:
        face.session.send(intents.SetMode(begin.mode, confirmed=True))  # who writes it on a command line means it
    else:
        face.say(mode_line(face.session.mode))
    if held.has_none and not held.accepted:
        face.say(t("app.no_sandbox", why=why_none(held)))
    elif words := sandbox_words(face.session.mode, held):
        face.say(t("plain.sandbox", sandbox=words))
    face.say(*(t("plain.warning", text=clean(words)) for words in _problems(face.host)))
    if face.draft.line:
        face.say(t("plain.draft"))
    first = [begin.prompt] if begin.prompt.strip() else []
    references = " ".join(_pictures(face, begin.images))
    if references and first:
        first = [f"{first[0]}\n{references}"]
    elif references:
        face.draft.put(f"{references} ")
    if begin.choose:
        from nanoherm_tui.plain import commands

        face.do(lambda: commands.run(face, "/resume"))
    return first


def _pictures(face: Face, paths: Sequence[str]) -> Iterable[str]:
    """References to the images of these files; what is none is said."""
    for path in paths:
        try:
            yield face.host.images.take_file(path, os.path.basename(path))
        except AgentError as error:
            face.say_error(error)


def _problems(host: Host) -> Iterable[str]:
    for problem in host.hook_problems:
        yield tell(problem.code, problem.params, problem.text)
    for found in host.warnings:
        yield tell(found.code, {"file": found.file, "line": found.line, "key": found.key}, found.text)
    yield from host.store.warnings
