"""The agent: one user turn, run to its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from agent_core import limits
from agent_core.errors import AgentError, BudgetReached, Interrupted, crash
from agent_core.events import AgentsReturned, ErrorRaised, Notice, Outcome, StepStarted, UserMessage
from agent_core.messages import Message, user
from agent_core.mind import guard
from agent_core.mind.turn import Reply, Round, TurnTools, ask_model, run_tools
from agent_core.records import dataclass
from agent_core.text.image_refs import between

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended. Only a completed one may become a memory (LOOP-05)."""

    outcome: Outcome
    steps: int
    seconds: float
    text: str = ""
    """The final answer, or what was said before the turn was cut short."""
    error: AgentError | None = None


def run_turn(
    turn: TurnTools,
    prompt: Message,
    take_steers: Callable[[], list[Message]],
    max_steps: int,
    ask: Callable[[TurnTools], Reply] = ask_model,
    onward: Callable[[bool], str | Notice] = lambda worked: "",
) -> TurnEnd:
    """Run the turn that `prompt` begins. Never raises: every failure is an outcome, told to the listener.

    `take_steers` is called at each step boundary and gives the messages that arrived since the last one.
    `max_steps` 0 = no cap. `ask` is a step's round trip. `onward` is asked when the turn has come to an answer, and
    told whether it has run a tool since it was asked last. It gives what to tell the model so that the turn goes on, or
    "", or what to tell the person when it ends short of what was wanted.
    """
    started = time.monotonic()
    step, answer, course = 0, "", _Course()

    def end(outcome: Outcome, error: AgentError | None = None) -> TurnEnd:
        return TurnEnd(outcome, step, time.monotonic() - started, answer, error)

    try:
        _say(turn, prompt)
        while not max_steps or step < max_steps:
            # The flag is read and cleared only here, where every tool call has its result.
            if turn.cancel.take():
                return end("interrupted")
            _steer(turn, take_steers())
            step += 1
            turn.emit(StepStarted(step))
            try:
                reply = ask(turn)
                done = run_tools(turn, reply.message.tool_calls, course.history)
            except Interrupted:  # by a stop, or the request alone by a redirect
                continue
            answer = reply.message.text or answer
            course.go_on(reply, done)
            if reply.cut_calls:
                _tell_model(turn, CALL_CUT)
            if reply.is_unusable or reply.message.tool_calls:
                continue
            if reply.message.finish in _CUT:
                turn.emit(Notice(*_CUT[reply.message.finish], "warning"))
            # What arrived while the last answer was written starts another step rather than waiting for a next turn.
            late = take_steers()
            if late:
                _steer(turn, late)
                continue
            word = onward(course.take_worked())
            if not word:
                return end("completed")
            if isinstance(word, Notice):
                turn.emit(word)
                return end("cap")
            turn.conversation.add(user(word, origin="note"))
        if turn.cancel.take():
            return end("interrupted")
        turn.emit(Notice("cap_reached", f"Stopped after {step} steps, the cap of one turn. Send a message to go on.",
                         "warning", {"steps": step}))  # fmt: skip
        return end("cap")
    except BudgetReached as error:
        turn.emit(ErrorRaised(error.code, error.text, error.params))
        return end("cap", error)
    except AgentError as error:
        log.warning("turn failed: %s: %s", error.code, error.text)
        turn.emit(ErrorRaised(error.code, error.text, error.params))
        return end("interrupted" if turn.cancel.take() else "failed", error)
    except Exception as error:  # the one place where the unexpected becomes an outcome; the worker must survive
        log.exception("turn crashed")
        failure = crash(error)
        turn.emit(ErrorRaised(failure.code, failure.text, failure.params))
        return end("failed", failure)


class _Course:
    """What the steps of a turn came to, and when that is no use any more."""

    def __init__(self) -> None:
        self.history: guard.History = ()
        self._worked = False
        self._unusable = 0
        self._unknown = 0

    def take_worked(self) -> bool:
        """Whether a tool was called since this was asked last."""
        worked, self._worked = self._worked, False
        return worked

    def go_on(self, reply: Reply, done: Round) -> None:
        """Take a step in. Raises AgentError when another one would not help."""
        self.history = done.history or self.history
        self._worked |= bool(reply.message.tool_calls)
        self._unusable = self._unusable + 1 if reply.is_unusable else 0
        if self._unusable > limits.UNUSABLE_REPLIES:
            raise _useless(reply)
        self._unknown = self._unknown + 1 if done.unknown else 0
        if self._unknown >= limits.UNKNOWN_BATCHES:
            called = ", ".join(sorted({name[: limits.PROBLEM_CHARS] for name in done.unknown})[: limits.NEAR_NAMES])
            raise AgentError(
                "unknown_tools",
                f"The model keeps calling tools that do not exist ({called}). What it did until then is kept. "
                "Send a message to go on, or choose another model: /model.",
                names=called,
            )
        if done.halted is not None:
            raise AgentError(
                "loop_halted",
                f"Stopped: {done.halted.tool} failed {done.halted.count} times in a row. What was done until then is "
                "kept. Say how to do it another way, or raise tool_loop_guardrails.hard_stop_after.same_tool_failure.",
                tool=done.halted.tool,
                count=done.halted.count,
            )


_CUT = {
    "length": ("cut_by_length", "The answer reached the model's output limit and is cut."),
    "content_filter": ("cut_by_filter", "The content filter of the server ended the answer. Say it in other words."),
}
"""What a person is told of an answer that is not whole, by its reason to finish."""

CALL_CUT = (
    "[Your last reply reached the output limit in the middle of a tool call. That call was not run. "
    "Do the same in smaller pieces: several calls, each with less text.]"
)


def _tell_model(turn: TurnTools, words: str) -> None:
    """A remark of the program's own, for the model; the listener gets a notice in its place."""
    turn.conversation.add(user(words, origin="note"))
    turn.emit(Notice("call_cut", "A tool call was cut by the model's output limit and was not run.", "warning"))


def _useless(reply: Reply) -> AgentError:
    if reply.cut_calls:
        return AgentError(
            "call_cut_again",
            "The model's output limit keeps cutting its tool calls. Raise model.max_tokens, or /model.",
        )
    return AgentError("empty_reply", "The model sent an empty answer, twice. Send the message again, or /model.")


def _steer(turn: TurnTools, steers: list[Message]) -> None:
    for message in steers:
        _say(turn, message)


def _say(turn: TurnTools, message: Message) -> None:
    turn.conversation.add(message)
    shown = between(message.text, turn.toolbox.redact)
    if message.origin == "agents":
        turn.emit(AgentsReturned(message.id, shown, message.agents))
        return
    turn.emit(UserMessage(message.id, shown, message.origin, len(message.parts)))
