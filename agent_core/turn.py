"""One step of a turn: request → reply → tool round → results in call order."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_core import limits, schedule
from agent_core.cancel import CancelScope
from agent_core.conversation import Conversation
from agent_core.errors import Interrupted, ProviderError
from agent_core.events import (
    AssistantMessage,
    Event,
    Notice,
    PartialDropped,
    ReasoningDelta,
    TextDelta,
    ToolQueued,
    UsageReported,
    finished,
)
from agent_core.messages import Message, ToolCall, ToolResult, clean_surrogates, tool
from agent_core.ports import Delta, LlmClient, LlmReply, LlmRequest
from agent_core.safety.key_guard import KeyGuard
from agent_core.tools.registry import Toolbox

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class TurnTools:
    """What a turn works with. The toolbox and the prompt are asked anew at every step: a mode acts on the next one."""

    llm: LlmClient
    conversation: Conversation
    toolbox: Toolbox
    emit: Emit
    cancel: CancelScope
    system_prompt: Callable[[], str]
    request: LlmRequest
    """The session's settings; messages and tools are filled in at each step."""
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a round trip came to. An empty message was not stored."""

    message: Message
    cut_calls: int = 0
    """Calls that the output limit cut; they are neither in the message nor run."""

    @property
    def is_unusable(self) -> bool:
        """The turn can neither end with it nor go on from it."""
        return self.cut_calls > 0 or self.message.is_empty


def ask_model(turn: TurnTools) -> Reply:
    """One round trip. The assistant's message is stored before it is returned.

    Raises Interrupted or ProviderError; what the model had said until then is kept, marked as cut short. Raises
    StoreError when the reply could not be stored.
    """
    started = time.monotonic()
    partial = _Partial(turn.emit, turn.toolbox.redact)
    request = replace(
        turn.request,
        messages=(Message("system", turn.system_prompt(), id="system", created=0.0), *turn.conversation.for_model()),
        tools=turn.toolbox.schemas(),
    )
    try:
        reply = turn.llm.complete(request, partial.take, turn.cancel)
        partial.rest()
    except (Interrupted, ProviderError):
        said = partial.said()
        if said is not None:
            _keep(turn, said, started)
        raise
    message = Message(
        "assistant",
        clean_surrogates(reply.text),
        tool_calls=reply.tool_calls,
        reasoning=clean_surrogates(reply.reasoning),
        reasoning_seconds=partial.reasoning_seconds,
        finish=reply.finish,
        model=reply.model,
        usage=reply.usage,
        extra=reply.extra,
    )
    book(turn, reply)
    # An empty reply must not enter the history: servers refuse it.
    kept = message if message.is_empty else _keep(turn, message, started)
    return Reply(kept, reply.dropped_tool_calls)


class _Partial:
    """What a reply has delivered so far, passed on to the listener as it comes, but for keys."""

    def __init__(self, emit: Emit, redact: Callable[[str], str]) -> None:
        self._emit = emit
        self._redact = redact
        self._text_guard, self._reasoning_guard = KeyGuard(redact), KeyGuard(redact)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._first_thought = self._last_thought = 0.0  # monotonic seconds
        self._of_an_earlier_try: Message | None = None

    @property
    def reasoning_seconds(self) -> float:
        """From the first piece of reasoning to the last."""
        return self._last_thought - self._first_thought

    def said(self) -> Message | None:
        """What is worth keeping when there will be no reply: the newest try that had come to words."""
        text = clean_surrogates("".join(self._text))
        if not text.strip():
            return self._of_an_earlier_try
        reasoning = clean_surrogates("".join(self._reasoning))
        return Message(
            "assistant", text, reasoning=reasoning, reasoning_seconds=self.reasoning_seconds, interrupted=True
        )

    def take(self, delta: Delta) -> None:
        if delta.kind == "text":
            self._show_reasoning(self._reasoning_guard.flush())
            self._text.append(delta.text)
            self._show_text(self._text_guard.feed(delta.text))
        elif delta.kind == "reasoning":
            self._last_thought = time.monotonic()
            if not self._reasoning:
                self._first_thought = self._last_thought
            self._reasoning.append(delta.text)
            self._show_reasoning(self._reasoning_guard.feed(delta.text))
        elif delta.kind == "reset":
            self._of_an_earlier_try = self.said()
            self._text.clear()
            self._reasoning.clear()
            self._text_guard, self._reasoning_guard = KeyGuard(self._redact), KeyGuard(self._redact)
            self._first_thought = self._last_thought = 0.0
            self._emit(PartialDropped())
        elif delta.kind == "retry":
            self._emit(Notice("retry", delta.text, "warning", dict(delta.params)))

    def rest(self) -> None:
        """The reply is complete: show what was held back."""
        self._show_reasoning(self._reasoning_guard.flush())
        self._show_text(self._text_guard.flush())

    def _show_text(self, text: str) -> None:
        if text:
            self._emit(TextDelta(text))

    def _show_reasoning(self, text: str) -> None:
        if text:
            self._emit(ReasoningDelta(text))


def _keep(turn: TurnTools, message: Message, started: float) -> Message:
    """Store what the model said, without keys, and tell the listener; returns it as stored."""
    redact = turn.toolbox.redact
    message = replace(message, text=redact(message.text), reasoning=redact(message.reasoning))
    turn.conversation.add(message)
    seconds = time.monotonic() - started
    turn.emit(AssistantMessage(message.id, message.text, message.reasoning, message.interrupted, seconds))
    return message


def book(turn: TurnTools, reply: LlmReply, *, of_a_step: bool = True) -> None:
    """Add a request's tokens to the session's. Those of a step also tell how full the window is."""
    if reply.usage is None:
        return
    turn.conversation.add_usage(reply.model or turn.request.model, reply.usage)
    sent, received = reply.usage.prompt_tokens, reply.usage.completion_tokens
    context = None if sent is None or not of_a_step else sent + (received or 0)
    turn.emit(UsageReported(reply.usage, context, turn.context_window))


def run_tools(turn: TurnTools, calls: Sequence[ToolCall]) -> None:
    """Run one reply's calls and store their results in call order, whatever the order they finish in.

    Every call gets a result: a refusal, a failure, a crash and a stop are results too. Raises StoreError only.
    """
    for call in calls:
        turn.emit(ToolQueued(call.id, call.name, turn.toolbox.subject(call)))
    results: dict[int, ToolResult] = {}
    stored = 0

    def finish(index: int, result: ToolResult) -> None:
        nonlocal stored
        results[index] = result
        while stored in results:
            done = results[stored]
            turn.conversation.add(tool(done))
            turn.emit(finished(done))
            stored += 1

    for run in schedule.groups([turn.toolbox.effect(call) for call in calls]):
        if turn.cancel.cancelled:
            for index in run:
                finish(index, never_started(calls[index]))
        elif len(run) == 1:
            finish(run[0], turn.toolbox.run(calls[run[0]], turn.cancel, turn.conversation.effect_started))
        else:
            _side_by_side(turn, calls, run, finish)


def _side_by_side(
    turn: TurnTools, calls: Sequence[ToolCall], run: Sequence[int], finish: Callable[[int, ToolResult], None]
) -> None:
    done: queue.SimpleQueue[tuple[int, ToolResult | BaseException]] = queue.SimpleQueue()

    def work(index: int) -> None:
        try:
            done.put((index, turn.toolbox.run(calls[index], turn.cancel, turn.conversation.effect_started)))
        except BaseException as error:  # handed to the worker thread, which knows what to do with it
            done.put((index, error))

    waiting = set(run)
    for index in run:
        threading.Thread(target=work, args=(index,), name=f"tool-{calls[index].name}", daemon=True).start()
    give_up: float | None = None
    failure: BaseException | None = None
    while waiting:
        if turn.cancel.cancelled and give_up is None:
            give_up = time.monotonic() + limits.INTERRUPT_GRACE
        try:
            index, result = done.get(timeout=0.05 if give_up is None else max(0.0, give_up - time.monotonic()))
        except queue.Empty:
            if give_up is not None and time.monotonic() >= give_up:
                for index in sorted(waiting):
                    finish(index, abandoned(calls[index]))
                break
            continue
        waiting.discard(index)
        if isinstance(result, BaseException):
            failure = failure or result
        else:
            finish(index, result)
    if failure is not None:
        raise failure


def never_started(call: ToolCall) -> ToolResult:
    """The result of a call that a stop came before (CONC-09)."""
    return ToolResult(
        call.id, call.name, "[interrupted] Skipped: the user stopped the turn; this call was not started.", ok=False,
        outcome="not started",
    )  # fmt: skip


def abandoned(call: ToolCall) -> ToolResult:
    """The result of a call that did not end within the grace after a stop (CONC-08)."""
    return ToolResult(
        call.id, call.name, "[interrupted] The user stopped the turn while this call ran; what it did is not known. "
        "Check before you repeat it.", ok=False, effect="unknown", outcome="abandoned",
    )  # fmt: skip
