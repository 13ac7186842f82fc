"""Makes room in a conversation: has its older part summarised, and stores what stands for it.

`ask` is a step's round trip with that around it. The summary is data: it is asked for without tools, fenced, without
keys, booked like any request, and stopped like one. Source: COMP-01 to COMP-19.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, ConfigError, ProviderError, StoreError
from agent_core.events import CompactionFinished, CompactionStarted, Notice
from agent_core.messages import Covered, Message, Usage, clean_surrogates
from agent_core.mind import compaction, prompt, view
from agent_core.mind.compaction import Cut, Options, Record
from agent_core.mind.view import Load
from agent_core.ports.means import TodoItem
from agent_core.ports.model import Delta, LlmReply
from agent_core.records import dataclass
from agent_core.session.services import Connect, Connection
from agent_core.store.views import Views
from agent_core.text.clamp import clamp

if TYPE_CHECKING:
    from agent_core.mind.turn import Reply, TurnTools  # comes with the first turn: no start waits for it

log = logging.getLogger(__name__)

_UNREACHABLE = frozenset({"auth", "quota", "rate_limit", "network", "not_found"})
"""Kinds of errors after which no model can be had: the conversation stays as it is (COMP-15)."""


class _NoSummary(AgentError):
    """The model's reply is no summary."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a session lends its compactor."""

    views: Views
    connect: Connect
    todos: Callable[[], tuple[TodoItem, ...]]
    fixed: Callable[[], Mapping[str, int]]
    """Tokens of what every request holds beside the history, by part: "system", "context", "tools"."""
    compacted: Callable[[], None]
    """Called when the history has been compacted: the prompt may be made anew (COMP-18)."""
    compacting: Callable[[int, CancelScope], None] = lambda messages, cancel: None
    """Called before, with how many messages go out of requests. Raises Interrupted."""


class Compactor:
    """Of one session; lives as long as it. Used by the session's worker alone, but for `wish`."""

    def __init__(self, options: Options, means: Means, clock: Callable[[], float] = time.monotonic) -> None:
        self.options = options
        self._means = means
        self._record = Record(clock)
        self._window: int | None = None
        """What the server named as its window when it refused a request."""
        self._factor = 1.0
        """Tokens that the server counts for one of ours."""
        self._estimated = 0
        self._counted: int | None = None
        """Tokens of the last request, ours and the server's."""
        self._wish: str | None = None
        self._vain = 0
        """Up to so many tokens of history it is known that compacting would take out too little."""

    @property
    def factor(self) -> float:
        return self._factor

    def wish(self, focus: str) -> None:
        """Have the running turn compact before its next request. From any thread."""
        self._wish = focus

    def take_wish(self) -> str | None:
        """What `wish` asked for, if no request has come since."""
        wish, self._wish = self._wish, None
        return wish

    # -- a step -------------------------------------------------------------------------------------------------

    def ask(self, turn: TurnTools) -> Reply:
        """`turn.ask_model` with room made before it, and after a refusal because of the size (COMP-13).

        Raises what it raises, and AgentError "compression_exhausted" when nothing makes the request small enough.
        """
        from agent_core.mind.turn import ask_model

        self._make_room(turn)
        tries = 0
        while True:
            self._estimated = round(self._fixed() + self._load(turn).tokens)
            try:
                reply = ask_model(turn)
            except ProviderError as error:
                if error.kind != "context_length":
                    raise
                tries += 1
                self._after_overflow(turn, error, tries)
                continue
            self._count(reply.message.usage)
            return reply

    def _make_room(self, turn: TurnTools) -> None:
        wish = self.take_wish()
        if wish is not None:
            self.compact(turn, wish)
        elif self.options.enabled and self._record.open:
            room, load = self._room(turn), self._load(turn)
            if compaction.due(load, self.options, room) and load.tokens > self._vain:
                cut = self._cut(turn, room)
                if cut is not None:
                    self._compact(turn, cut)
                else:  # not worked out again for every step
                    self._vain = round(load.tokens * (1 + limits.COMPACTION_GAIN))

    def _after_overflow(self, turn: TurnTools, error: ProviderError, tries: int) -> None:
        """Make the history at most half as large, or raise: a request that cannot shrink is not sent again."""
        limit = error.params.get("limit")
        if isinstance(limit, int) and limit > 0:
            self._window = limit
        window, fixed = self._known_window(turn), round(self._fixed())
        hopeless = window is not None and fixed >= window
        cut = None
        if self.options.enabled and tries <= self.options.max_attempts and not hopeless:
            # The estimate was wrong, so no room that follows from it counts: what is there is halved.
            cut = self._cut(turn, None, most=self._load(turn).tokens // 2, beside=fixed)
        if cut is None or not self._compact(turn, cut, needed=True):
            raise self._exhausted(turn, window) from error

    def compact(self, turn: TurnTools, focus: str) -> bool:
        """Compact because the person asks for it (COMP-05). Raises Interrupted, StoreError."""
        cut = self._cut(turn, self._room(turn), forced=True)
        if cut is None:
            turn.emit(too_short())
            return False
        return self._compact(turn, cut, focus, asked=True)

    # -- how much there is --------------------------------------------------------------------------------------

    def _fixed(self) -> float:
        return sum(self._means.fixed().values()) * self._factor

    def _load(self, turn: TurnTools) -> Load:
        load = turn.conversation.load
        return replace(load, tokens=round(load.tokens * self._factor))

    def _known_window(self, turn: TurnTools) -> int | None:
        known = [window for window in (self._window, turn.context_window) if window]
        return min(known) if known else None

    def _room(self, turn: TurnTools) -> int | None:
        return compaction.room(self.options, self._known_window(turn), round(self._fixed()))

    def _cut(
        self, turn: TurnTools, room: int | None, *, forced: bool = False, most: int | None = None, beside: int = 0
    ) -> Cut | None:
        def ours(tokens: int | None) -> int | None:
            return None if tokens is None else round(tokens / self._factor)

        return compaction.find_cut(
            list(turn.conversation), self.options, ours(room), forced=forced, most=ours(most),
            beside=round(beside / self._factor),
        )  # fmt: skip

    def _count(self, usage: Usage | None) -> None:
        """The server has counted the tokens of a request: from now on we count as it does."""
        counted = usage.prompt_tokens if usage is not None else None
        if not counted:
            return
        self._counted = counted
        self._record.counted(counted)
        if self._estimated:
            low, high = limits.TOKEN_FACTOR
            self._factor = min(high, max(low, self._factor * counted / self._estimated))

    # -- compacting ---------------------------------------------------------------------------------------------

    def _compact(
        self, turn: TurnTools, cut: Cut, focus: str = "", *, asked: bool = False, needed: bool = False
    ) -> bool:
        """False when it could not be done and the history is as it was; the listener knows why.

        `needed`: without it the turn cannot go on, so what stands for the older part need not come from a model.
        """
        with self._lock(turn) as mine:
            if not mine:
                text = "Another window compacts this session now. Wait until it is done."
                turn.emit(Notice("compaction_elsewhere", text, "warning"))
                return False
            self._means.compacting(cut.taken, turn.cancel)
            turn.emit(CompactionStarted(cut.taken))
            told = CompactionFinished()
            try:
                text = self._text(turn, cut, focus, needed)
                if text:
                    text = compaction.with_plan(text, self._means.todos())
                    covers = Covered(cut.through, cut.taken, cut.kept)
                    summary = compaction.summary_of(turn.toolbox.redact(text), covers)
                    turn.conversation.add(summary)
                    told = CompactionFinished(summary.id, summary.text, cut.taken)
            finally:
                turn.emit(told)
        if text:
            self._vain = 0
            self._record.succeeded(self._counted)
            self._means.compacted()
        elif not asked:
            self._record.failed()
        return bool(text)

    @contextmanager
    def _lock(self, turn: TurnTools) -> Iterator[bool]:
        session_id = turn.conversation.session_id
        mine = self._means.views.lock(session_id)
        try:
            yield mine
        finally:
            if mine:
                try:
                    self._means.views.unlock(session_id)
                except StoreError as error:  # what was compacted is stored; the lock ends with its time
                    log.warning("the lock of a compaction stays for a while: %s", error.text)

    def _text(self, turn: TurnTools, cut: Cut, focus: str, needed: bool) -> str:
        """What is to stand for the older part; "" to leave the conversation as it is. Raises Interrupted."""
        earlier, _ = view.boundary(list(turn.conversation))
        before = compaction.without_plan(earlier.text) if earlier is not None and earlier.view != "dropped" else ""
        try:
            return self._summary(turn, cut, before, focus)
        except (ProviderError, _NoSummary) as error:
            nano = self.options.profile == "nano"
            stays = self.options.keep_on_failure or (not nano and isinstance(error, _NoSummary))
            if not needed and (stays or (isinstance(error, ProviderError) and error.kind in _UNREACHABLE)):
                text = f"The conversation was not compacted: {error.text}"
                turn.emit(Notice("not_compacted", text, "warning", {"error": error.text}))
                return ""
            text = f"No summary could be had; the older part is left out of requests without one. {error.text}"
            turn.emit(Notice("compacted_without", text, "warning", {"error": error.text}))
            return view.OMITTED if nano else compaction.fallback(cut, before)

    def _summary(self, turn: TurnTools, cut: Cut, before: str, focus: str) -> str:
        """A model's summary, from the model for summaries if there is one, else or after that from the session's."""
        if self.options.model:
            try:
                connection = self._means.connect(self.options.model, self.options.provider)
                try:
                    return self._ask(turn, connection, cut, before, focus)
                finally:
                    connection.client.close()
            except (ProviderError, ConfigError, _NoSummary) as error:
                params = {"model": self.options.model, "error": error.text}
                text = f"{self.options.model} gives no summary, so the session's model is asked. {error.text}"
                turn.emit(Notice("summary_model_failed", text, "warning", params))
        return self._ask(turn, None, cut, before, focus)

    def _ask(self, turn: TurnTools, other: Connection | None, cut: Cut, before: str, focus: str) -> str:
        from agent_core.mind.turn import book, tell_trouble

        client = turn.llm if other is None else other.client
        window = self._known_window(turn)
        chars = limits.SUMMARY_INPUT
        if window is not None:  # half of it, in characters of this text
            chars = min(chars, max(window * cut.gain.chars // max(2 * cut.gain.tokens, 1), limits.SUMMARY_LEAST))
        words = limits.SUMMARY_WORDS if window is None else max(100, min(limits.SUMMARY_WORDS, window // 20))
        instructions = prompt.text("compact").replace("{words}", f"{words:,}")

        def sink(delta: Delta) -> None:
            tell_trouble(turn.emit, delta)

        def once(chars: int) -> LlmReply:
            wanted = turn.toolbox.redact(compaction.to_summarise(cut, before, focus, chars))
            messages = (
                Message("system", instructions, id="compact", created=0.0),
                Message("user", wanted, id="compacted", created=0.0),
            )
            asked = (other.provider, other.model) if other else None
            request = replace(turn.request, messages=messages, model=other.model if other else "")
            return client.complete(request, turn.meter.guard(request, sink, asked), turn.cancel)

        try:
            reply = once(chars)
        except ProviderError as error:
            if error.kind != "context_length":
                raise
            reply = once(chars // 3)
        if other is not None:
            reply = replace(reply, provider=reply.provider or other.provider, model=reply.model or other.model)
        book(turn, reply, of_a_step=False)
        text = clean_surrogates(reply.text).strip()
        if not text:
            raise _NoSummary("summary_empty", "The model sent an empty summary. /compact tries again.")
        if reply.finish == "length":
            raise _NoSummary("summary_cut", "The model's output limit cut the summary. Raise model.max_tokens.")
        return clamp(text, limits.SUMMARY_TEXT)

    # -- when nothing helps -------------------------------------------------------------------------------------

    def _exhausted(self, turn: TurnTools, window: int | None) -> AgentError:
        """The turn's end, naming what fills the window (COMP-14)."""
        names = {"system": "the system prompt", "context": "context files", "tools": "the tools"}
        parts = {names[part]: round(n * self._factor) for part, n in self._means.fixed().items()}
        parts["the conversation"] = self._load(turn).tokens
        largest = sorted(((n, name) for name, n in parts.items() if n), reverse=True)[:3]
        named = ", ".join(f"{name} ~{n:,} tokens" for n, name in largest)
        size = f" of {window:,} tokens" if window else ""
        return AgentError(
            "compression_exhausted",
            f"The request does not fit the model's window{size}, and compacting does not help. Largest parts: {named}. "
            "/new starts afresh; /compact, or dropping parts in /context, makes this conversation smaller; "
            "/model may have a larger window.",
            window=window or 0,
            largest=named,
        )


def too_short() -> Notice:
    """What the person is told who asks for a compaction of a few messages."""
    return Notice("nothing_to_compact", "The conversation is too short to compact.")
