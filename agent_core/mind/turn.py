"""One step of a turn: request → reply → tool round → results in call order."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial

from agent_core import limits
from agent_core.cancel import CancelScope, Cut
from agent_core.errors import Interrupted, ProviderError, StoreError, TurnHalted
from agent_core.events import (
    AssistantMessage,
    Event,
    ModelChanged,
    Notice,
    PartialDropped,
    ReasoningDelta,
    TextDelta,
    ToolArriving,
    ToolEnded,
    ToolQueued,
    UsageReported,
    finished,
)
from agent_core.messages import STOPPED, Message, ToolCall, ToolResult, clean_surrogates, tool
from agent_core.mind import guard, prompt, schedule
from agent_core.mind.conversation import Conversation
from agent_core.mind.meter import Meter
from agent_core.ports.model import Delta, LlmClient, LlmReply, LlmRequest
from agent_core.records import dataclass
from agent_core.safety.key_guard import KeyGuard
from agent_core.tools.call import run_call
from agent_core.tools.stopwatch import Stopwatch
from agent_core.tools.toolbox import Toolbox

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Aside:
    """What the requests of one turn hold in front of the person's message, and no later ones (MEM-06)."""

    text: str = ""
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class TurnTools:
    """What a turn works with. The toolbox and the prompt are asked anew at every step: a mode acts on the next one."""

    llm: LlmClient
    conversation: Conversation
    toolbox: Toolbox
    emit: Emit
    cancel: CancelScope
    system_prompt: Callable[[], str]
    settings: Callable[[], LlmRequest]
    """The session's settings, asked anew at every step; messages and tools are filled in there."""
    meter: Meter
    context_window: int | None = None
    cut: Cut = field(default_factory=Cut)
    """Ends a request under way, not the turn, when the person redirects it (INT-08)."""
    guard: guard.GuardRules = guard.USUAL
    batch_timeout: float = limits.BATCH_TIMEOUT
    """Seconds that the calls of one round may take, unless one asked for longer."""
    aside: Aside = Aside()

    @property
    def request(self) -> LlmRequest:
        return self.settings()


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
    """One round trip; when the model's server refuses a tool of an extra, a few more, without it (mcp.md R26).

    The assistant's message is stored before it is returned. Raises as `_ask_once` does.
    """
    for _ in range(limits.REFUSED_TOOLS):
        try:
            return _ask_once(turn)
        except ProviderError as error:
            name = refused_tool(error, turn.toolbox)
            if not name:
                raise
            turn.toolbox.refuse(name)
            text = f"The model's server refuses the tool {name}; it is left out from now on."
            turn.emit(Notice("tool_refused", text, "warning", {"tool": name}))
    return _ask_once(turn)


def refused_tool(error: ProviderError, toolbox: Toolbox) -> str:
    """The tool of an extra that a refusal of a request is about, by its name or its place in the list; else ""."""
    if error.kind != "bad_request":
        return ""
    said = " ".join(filter(None, (error.text, *(str(value) for value in error.params.values()))))
    offered = [schema.name for schema in toolbox.schemas()]
    places = [int(found) for found in re.findall(r"\btools[.\[](\d{1,3})\b", said)]
    named = [name for name in offered if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said)]
    for name in (*named, *(offered[place] for place in places if place < len(offered))):
        if toolbox.tools[name].toolset:
            return name
    return ""


def _ask_once(turn: TurnTools) -> Reply:
    """One round trip. The assistant's message is stored before it is returned.

    Raises Interrupted, when the turn is stopped or this request is cut, or ProviderError; what the model had said until
    then is kept, marked as cut short. Raises StoreError when the reply could not be stored.
    """
    started = time.monotonic()
    partial = _Partial(turn.emit, turn.toolbox.redact, turn.conversation.reply_begun)
    system = turn.system_prompt()
    request = replace(
        turn.request,
        messages=(Message("system", system, id="system", created=0.0), *_asked(turn)),
        lasting=prompt.lasting(system),
        tools=turn.toolbox.schemas(),
        advised=True,
        aside=turn.aside.text,
    )

    def hear(delta: Delta) -> None:
        if delta.kind == "paid_beside":
            book(turn, delta.params["reply"], of_a_step=False, is_beside=True)
        else:
            partial.take(delta)

    try:
        with turn.cut.opened(turn.cancel) as scope:
            reply = turn.llm.complete(request, turn.meter.guard(request, hear), scope)
        partial.rest()
    except (Interrupted, ProviderError) as end:
        said = partial.said()
        if said is not None:
            _keep(turn, replace(said, finish=STOPPED) if isinstance(end, Interrupted) else said, started)
        if partial.has_begun:
            book(turn, LlmReply())  # it was paid for, but nobody says how much
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
    if message.is_empty:
        partial.is_void()
    kept = message if message.is_empty else _keep(turn, message, started)
    return Reply(kept, reply.dropped_tool_calls)


def _asked(turn: TurnTools) -> Sequence[Message]:
    """The conversation as a request holds it, the turn's aside in front of the message that it belongs to.

    Where that message is not held any more, it stands in front of the newest one of the person's.
    """
    held, aside = _to_answer(turn.conversation.for_model()), turn.aside
    if not aside.text:
        return held
    places = [at for at, message in enumerate(held) if message.role == "user" and message.origin != "shell"]
    if not places:
        return held
    at = next((at for at in reversed(places) if held[at].id == aside.message_id), places[-1])
    said = replace(held[at], text=f"{aside.text}\n\n{held[at].text}")  # advisory.view knows it by this
    return [*held[:at], said, *held[at + 1 :]]


def _to_answer(held: Sequence[Message]) -> Sequence[Message]:
    """What a request holds without a reply at its end that was cut: it is given anew, and servers refuse it there."""
    end = len(held)
    while end and held[end - 1].role == "assistant":
        end -= 1
    return held if end == len(held) else held[:end]


class _Partial:
    """What a reply has delivered so far, passed on to the listener as it comes, but for keys.

    Now and then it is given to `keep`, so that a killed program has lost no more than seconds of it.
    """

    def __init__(self, emit: Emit, redact: Callable[[str], str], keep: Callable[[Message | None], None]) -> None:
        self._emit = emit
        self._redact = redact
        self._keep = keep
        self._keep_at = time.monotonic() + limits.REPLY_KEPT
        self._is_kept = False
        self._text_guard, self._reasoning_guard = KeyGuard(redact), KeyGuard(redact)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._call, self._call_size, self._call_at = "", 0, 0.0  # name, characters, when it is told of next
        self._first_thought = self._last_thought = 0.0  # monotonic seconds
        self._of_an_earlier_try: Message | None = None

    @property
    def has_begun(self) -> bool:
        """The newest try has come to words, thoughts or a call."""
        return bool(self._text or self._reasoning or self._call)

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
            if time.monotonic() >= self._keep_at:
                self._keep_now()
        elif delta.kind == "reasoning":
            self._last_thought = time.monotonic()
            if not self._reasoning:
                self._first_thought = self._last_thought
            self._reasoning.append(delta.text)
            self._show_reasoning(self._reasoning_guard.feed(delta.text))
        elif delta.kind == "tool":
            self._call, self._call_size, self._call_at = delta.text, 0, time.monotonic() + limits.ARRIVING_TOLD
        elif delta.kind == "arguments":
            self._call_size += len(delta.text)
            if self._call and (now := time.monotonic()) >= self._call_at:
                self._call_at = now + limits.ARRIVING_TOLD
                self._emit(ToolArriving(self._call, self._call_size))
        elif delta.kind == "reset":
            self._of_an_earlier_try = self.said()
            self._text.clear()
            self._reasoning.clear()
            self._call = ""
            self._text_guard, self._reasoning_guard = KeyGuard(self._redact), KeyGuard(self._redact)
            self._first_thought = self._last_thought = 0.0
            self._emit(PartialDropped())
        else:
            tell_trouble(self._emit, delta)

    def _keep_now(self) -> None:
        said, began = self.said(), time.monotonic()
        wait = limits.REPLY_KEPT
        if said is not None:
            said = replace(said, text=self._redact(said.text), reasoning=self._redact(said.reasoning))
            try:
                self._keep(said)
                self._is_kept = True
            except StoreError:  # the message itself will say so, if it cannot be stored either
                wait = limits.REPLY_KEPT_LATER
        now = time.monotonic()
        self._keep_at = now + max(wait, limits.REPLY_KEPT_SHARE * (now - began))

    def is_void(self) -> None:
        """What was said does not count, in whatever becomes of the program."""
        if self._is_kept:
            with suppress(StoreError):
                self._keep(None)

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


def tell_trouble(emit: Emit, delta: Delta) -> None:
    """Tell the listener of a request that is tried again, of another model that answers it, of those that advised."""
    if delta.kind in ("retry", "switch", "advice"):
        code = delta.params.get("notice", "retry")
        emit(Notice(code, delta.text, "info" if code in ("advice", "advice_waits") else "warning", dict(delta.params)))
    if delta.kind == "switch":
        emit(ModelChanged(*(str(delta.params[name]) for name in ("model", "provider", "label"))))


def _keep(turn: TurnTools, message: Message, started: float) -> Message:
    """Store what the model said, without keys, and tell the listener; returns it as stored."""
    redact = turn.toolbox.redact
    message = replace(message, text=redact(message.text), reasoning=redact(message.reasoning))
    turn.conversation.add(message)
    seconds = time.monotonic() - started
    cut, stopped = message.interrupted, message.is_stopped
    turn.emit(AssistantMessage(message.id, message.text, message.reasoning, cut, seconds, stopped))
    return message


def book(turn: TurnTools, reply: LlmReply, *, of_a_step: bool = True, is_beside: bool = False) -> None:
    """Add a request's tokens to the session's. Those of a step also tell how full the window is. `is_beside` as in
    Meter.book."""
    bill = turn.meter.book(reply, is_beside=is_beside)
    if reply.usage is None:
        return
    sent, received = reply.usage.prompt_tokens, reply.usage.completion_tokens
    context = None if sent is None or not of_a_step else sent + (received or 0)
    window, paid = bill.window or turn.context_window, (bill.cost, bill.session_cost, bill.at_least)
    turn.emit(UsageReported(reply.usage, context, window, reply.model, *paid))


@dataclass(frozen=True, slots=True)
class Round:
    """What one reply's calls came to, all in all."""

    history: guard.History = ()
    """Of the turn, as the guard keeps it."""
    unknown: tuple[str, ...] = ()
    """The names that were called, when there is no tool of any of them."""
    halted: guard.Finding | None = None
    """The turn is to end: it goes round in circles and nobody watches."""


def run_tools(turn: TurnTools, calls: Sequence[ToolCall], history: guard.History = ()) -> Round:
    """Run one reply's calls and store their results in call order, whatever the order they finish in.

    Every call gets a result: a refusal, a failure, a crash, a stop and a lapse of time are results too. `history`:
    what the turn's calls came to so far. Raises StoreError, and TurnHalted once all results are stored.
    """
    for call in calls:
        turn.emit(ToolQueued(call.id, turn.toolbox.name(call), turn.toolbox.subject(call)))
    results: dict[int, ToolResult] = {}
    watched, stored = _Watched(turn, history), 0

    def finish(index: int, result: ToolResult) -> None:
        nonlocal stored
        results[index] = result
        while stored in results:
            done = watched.look_at(calls[stored], results[stored])
            turn.conversation.add(tool(done))
            turn.emit(finished(done))
            stored += 1
        if index >= stored:
            turn.emit(ToolEnded(result.call_id, result.ok, result.outcome, result.seconds))

    barred = {index: why for index, call in enumerate(calls) if (why := watched.bars(call))}
    for index, why in barred.items():
        finish(index, ToolResult(calls[index].id, calls[index].name, why, ok=False, outcome="blocked"))
    free = [index for index in range(len(calls)) if index not in barred]
    halt: TurnHalted | None = None
    for group in schedule.groups([turn.toolbox.effect(calls[index]) for index in free]):
        run = [free[at] for at in group]
        if halt is not None:
            for index in run:
                finish(index, not_started_after(calls[index], halt))
        elif turn.cancel.cancelled:
            for index in run:
                finish(index, never_started(calls[index]))
        else:
            halt = _side_by_side(turn, calls, run, finish)
    if halt is not None:
        raise halt
    known = any(turn.toolbox.find(call) is not None for call in calls)
    return Round(watched.history, () if known else tuple(call.name for call in calls), watched.halted)


class _Watched:
    """The guard beside one round of calls: what it says goes to the model with the newest result, and to the person."""

    def __init__(self, turn: TurnTools, history: guard.History) -> None:
        self._turn = turn
        self.history = history
        self.halted: guard.Finding | None = None

    def bars(self, call: ToolCall) -> str:
        """Why the call is not to be run; empty: it may."""
        return guard.blocked(self.history, self._turn.toolbox.name(call), call, self._turn.guard)

    def look_at(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Take a result into the history; returns it with the guard's remark, if there is one."""
        turn, rules = self._turn, self._turn.guard
        progress = turn.toolbox.effect(call).kind in ("write", "command")
        before, name = self.history, turn.toolbox.name(call)
        self.history = guard.observe(before, call, name, result, progress)
        if self.history is before:
            return result
        self.halted = self.halted or guard.halt(self.history, rules)
        found = guard.look(self.history, rules)
        if found is None:
            return result
        if found.new:
            turn.emit(Notice(found.rule, found.told, "warning", {"tool": found.tool, "count": found.count}))
        return guard.remark(result, found.text, turn.toolbox.room)


def _side_by_side(
    turn: TurnTools, calls: Sequence[ToolCall], run: Sequence[int], finish: Callable[[int, ToolResult], None]
) -> TurnHalted | None:
    """Run these calls, each on a thread of its own, so that one that does not end cannot hold the turn for ever.

    Gives what one of them says is to end the turn, if one does.

    Who does not end in time, or within a grace after a stop, is given up: told to stop, and its result, should it
    come, goes nowhere (CONC-05, CONC-08).
    """
    done: queue.SimpleQueue[tuple[int, ToolResult | BaseException] | None] = queue.SimpleQueue()
    watches = {index: Stopwatch() for index in run}
    scopes = {index: turn.cancel.child() for index in run}
    asked = turn.toolbox.longest([calls[index] for index in run])
    patience = max(turn.batch_timeout, asked + limits.BATCH_SLACK if asked else 0.0)

    def work(index: int) -> None:
        try:
            started = partial(turn.conversation.effect_started, lambda: scopes[index].cancelled)
            result = run_call(turn.toolbox, calls[index], scopes[index], started, watches[index])
            done.put((index, result))
        except BaseException as error:  # handed to the worker thread, which knows what to do with it
            done.put((index, error))

    def give_up(index: int, result: ToolResult) -> None:
        waiting.discard(index)
        scopes[index].cancel()
        finish(index, result)

    waiting = set(run)
    failure: BaseException | None = None
    halt: TurnHalted | None = None
    grace_ends: float | None = None
    with turn.cancel.closing(lambda: done.put(None)):
        for index in run:
            threading.Thread(target=work, args=(index,), name=f"tool-{calls[index].name[:40]}", daemon=True).start()
        while waiting:
            left = min(patience - watches[index].seconds for index in waiting)
            if grace_ends is not None:
                left = min(left, grace_ends - time.monotonic())
            with suppress(queue.Empty):
                # A watch may be stopped now and go on later, so this is looked at again before the time is over.
                came = done.get(timeout=min(max(left, 0.0), limits.BATCH_LOOK))
                if came is not None and came[0] in waiting:
                    index, result = came
                    waiting.discard(index)
                    if isinstance(result, TurnHalted):
                        halt = result
                        finish(index, not_started_after(calls[index], halt))
                    elif isinstance(result, BaseException):
                        failure = failure or result
                    else:
                        finish(index, result)
            if turn.cancel.cancelled and grace_ends is None:
                grace_ends = time.monotonic() + limits.INTERRUPT_GRACE
            for index in sorted(waiting):
                if grace_ends is not None and time.monotonic() >= grace_ends:
                    give_up(index, abandoned(calls[index]))
                elif watches[index].seconds >= patience:
                    give_up(index, out_of_time(calls[index], patience))
    for scope in scopes.values():
        scope.close()
    if failure is not None:
        raise failure
    return halt


def not_started_after(call: ToolCall, halt: TurnHalted) -> ToolResult:
    """The result of a call that something kept from running which also ends the turn."""
    return ToolResult(call.id, call.name, f"[not started] {halt.text}", ok=False, outcome="not started")


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


def out_of_time(call: ToolCall, seconds: float) -> ToolResult:
    """The result of a call that did not end in its time (CONC-05, TOOL-18)."""
    return ToolResult(
        call.id, call.name, f"[timed out] This call did not end within {seconds:.0f} s and was given up; what it did, "
        "and may still do, is not known. Check before you repeat it.", ok=False, effect="unknown",
        outcome="gave no answer",
    )  # fmt: skip
