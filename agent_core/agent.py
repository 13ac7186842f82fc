"""The agent: one user turn, run to its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent_core import limits
from agent_core.errors import AgentError, Interrupted, crash
from agent_core.events import ErrorRaised, Notice, Outcome, StepStarted, UserMessage
from agent_core.messages import Message, user
from agent_core.turn import Reply, TurnTools, ask_model, run_tools

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


def run_turn(turn: TurnTools, prompt: Message, take_steers: Callable[[], list[Message]], max_steps: int) -> TurnEnd:
    """Run the turn that `prompt` begins. Never raises: every failure is an outcome, told to the listener.

    `take_steers` is called at each step boundary and gives the messages that arrived since the last one.
    `max_steps` 0 = no cap.
    """
    started = time.monotonic()
    step, answer, unusable = 0, "", 0

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
                reply = ask_model(turn)
                run_tools(turn, reply.message.tool_calls)
            except Interrupted:
                continue
            answer = reply.message.text or answer
            unusable = unusable + 1 if reply.is_unusable else 0
            if unusable > limits.UNUSABLE_REPLIES:
                raise _useless(reply)
            if reply.cut_calls:
                _tell_model(turn, CALL_CUT)
            if reply.is_unusable or reply.message.tool_calls:
                continue
            if reply.message.finish == "length":
                turn.emit(Notice("cut_by_length", "The answer reached the model's output limit and is cut.", "warning"))
            # What arrived while the last answer was written starts another step rather than waiting for a next turn.
            late = take_steers()
            if not late:
                return end("completed")
            _steer(turn, late)
        if turn.cancel.take():
            return end("interrupted")
        turn.emit(Notice("cap_reached", f"Stopped after {step} steps, the cap of one turn. Send a message to go on.",
                         "warning", {"steps": step}))  # fmt: skip
        return end("cap")
    except AgentError as error:
        log.warning("turn failed: %s: %s", error.code, error.text)
        turn.emit(ErrorRaised(error.code, error.text, error.params))
        return end("failed", error)
    except Exception as error:  # the one place where the unexpected becomes an outcome; the worker must survive
        log.exception("turn crashed")
        failure = crash(error)
        turn.emit(ErrorRaised(failure.code, failure.text, failure.params))
        return end("failed", failure)


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
    shown = turn.toolbox.redact(message.text)
    turn.emit(UserMessage(message.id, shown, message.origin, len(message.parts)))
