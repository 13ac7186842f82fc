"""Drafts, waiting texts, comments and what was seen, written down without keys and without anybody waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from agent_core import limits
from agent_core.errors import AgentError
from agent_core.messages import Comment
from agent_core.safety.redact import Redactor, redact
from agent_core.scribe import Scribe
from agent_core.store.notes import Commented, Draft, Note, Notes, Waiting, Wanted
from agent_core.text.image_refs import between


class Notebook:
    """The scribe of one program over the notes in its store.

    `keys` gives the secrets that must not reach the disk; `failed` is told, on the scribe's thread, when notes cannot
    be written.
    """

    def __init__(self, notes: Notes, keys: Callable[[], Iterable[str]], failed: Callable[[AgentError], None]) -> None:
        self._notes = notes
        self._keys = keys
        self._scribe: Scribe[Note] = Scribe(self._write, failed)
        self.flush = self._scribe.flush
        self.close = self._scribe.close

    def keep(self, note: Note) -> None:
        """Have `note` written down soon. Never blocks; a draft is kept up to limits.DRAFT_CHARS."""
        if isinstance(note, Draft) and len(note.text) > limits.DRAFT_CHARS:
            note = replace(note, text=note.text[: limits.DRAFT_CHARS])
        of = note.message_uid if isinstance(note, Wanted) else ""
        self._scribe.put((type(note), note.session_id, of), note)

    def _write(self, notes: Sequence[Note]) -> None:
        self._notes.keep([self._without_keys(note) for note in notes])

    def _without_keys(self, note: Note) -> Note:
        if isinstance(note, Draft):
            return replace(note, text=between(note.text, self._redact))
        if isinstance(note, Waiting):
            return replace(note, texts=tuple((uid, between(text, self._redact)) for uid, text in note.texts))
        if isinstance(note, Commented):
            return replace(note, comments=tuple(map(self._comment_without_keys, note.comments)))
        return note

    def _comment_without_keys(self, comment: Comment) -> Comment:
        """Its lines are made as those of the stored change are, so that it still is about the same hunk."""
        keys = tuple(self._keys())
        lines = tuple(replace(line, text=redact(line.text, keys)) for line in comment.hunk.lines)
        return replace(comment, hunk=replace(comment.hunk, lines=lines), text=self._redact(comment.text))

    def _redact(self, text: str) -> str:
        """`text` without keys, looked through piece by piece: all at once, megabytes would stop every other thread."""
        redactor = Redactor(self._keys())
        starts = range(0, len(text), limits.DRAFT_PIECE)
        pieces = [redactor.feed(text[start : start + limits.DRAFT_PIECE]) for start in starts]
        return "".join(pieces) + redactor.flush()
