"""A session's rollbacks: files brought back to what they were before a turn, or again to what they were after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core import events, limits, messages
from agent_core.events import Event
from agent_core.intents import Rollback, RollbackRedo
from agent_core.messages import Message, new_id, user
from agent_core.mind.conversation import Conversation
from agent_core.ports.means import ChangeLog
from agent_core.session.record import SessionRecord
from agent_core.session.services import SessionServices
from agent_core.tools.seen_files import SeenFiles

if TYPE_CHECKING:
    from agent_core.checkpoints.keeper import RolledBack


class SessionRollback:
    """On the worker's thread, with the right to change the conversation. `files`: what the model has seen of them."""

    def __init__(self, services: SessionServices, record: SessionRecord, files: SeenFiles) -> None:
        self._services = services
        self._record = record
        self._files = files
        self._reply_began = False

    def keeping(self, message: Message) -> AbstractContextManager[ChangeLog | None]:
        """Keeps what the turn that a message begins changes in files, while it runs."""
        self._reply_began = False
        checkpoints = self._services.checkpoints()
        if checkpoints is None:
            return nullcontext()
        return checkpoints.turn(self._record.id, message.id, self._record.workspace, message.text)

    def keeping_apart(self, words: str) -> AbstractContextManager[ChangeLog | None]:
        """The same for work beside the turns, which `words` name; for a rollback it is a turn of its own."""
        checkpoints = self._services.checkpoints()
        if checkpoints is None:
            return nullcontext()
        return checkpoints.turn(self._record.id, new_id(), self._record.workspace, words)

    def reply_began(self) -> None:
        """A request has left, and commands may come: now the workspace can be looked at without anything waiting."""
        if not self._reply_began:
            self._reply_began = True
            self._services.confinement(self._record.id, self._record.workspace).warm()
            if (checkpoints := self._services.checkpoints()) is not None:
                checkpoints.warm(self._record.workspace)

    def run(self, intent: Rollback | RollbackRedo, conversation: Conversation, emit: Callable[[Event], None]) -> None:
        """Do it, tell the listener, and tell the model with its next request. Raises StoreError."""
        checkpoints = self._services.checkpoints()
        is_redo = isinstance(intent, RollbackRedo)
        done: RolledBack | None = None
        if checkpoints is not None:
            if isinstance(intent, Rollback):
                done = checkpoints.roll_back(self._record.id, intent.turn_id, intent.paths)
            else:
                done = checkpoints.redo(self._record.id)
        if done is None or not (done.shown or done.left):
            emit(nothing_to_redo() if is_redo else nothing_to_roll_back())
            return
        for path in done.paths:
            self._files.roll_back(path)
        left = tuple(f"{path}: {why}" for path, why in done.left)
        emit(events.FilesRolledBack(done.turn_id, done.shown, left, is_redo))
        if done.shown:
            note = user(_note(done.shown, is_redo), origin="note")
            conversation.add(replace(note, rollback=_kept(done.shown, left, is_redo)))


def nothing_to_roll_back() -> events.Notice:
    return events.Notice("nothing_to_roll_back", "No file would be changed by that.")


def nothing_to_redo() -> events.Notice:
    return events.Notice("no_rollback_to_redo", "No rollback was made here that could be taken back.")


def _kept(paths: tuple[str, ...], left: tuple[str, ...], is_redo: bool) -> messages.Rollback:
    """What the history shows a person of it."""
    most = limits.ROLLED_BACK_NAMED
    more = max(len(paths) - most, 0), max(len(left) - most, 0)
    return messages.Rollback(paths[:most], left[:most], is_redo, more)


def _note(paths: tuple[str, ...], is_redo: bool) -> str:
    """What the model is told."""
    what = (
        "The user took a rollback of files back: these are again as they were before it"
        if is_redo
        else "The user rolled files back to what they were before an earlier request of this conversation"
    )
    named = ", ".join(paths[: limits.ROLLED_BACK_NAMED])
    more = len(paths) - limits.ROLLED_BACK_NAMED
    return (
        f"[{what}: {named}{f' and {more} more' if more > 0 else ''}. What you know of them is out of date; read them \
again before you change them.]"
    )
