"""The agent: one user turn, run to its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent_core.errors import AgentError, Interrupted, crash
from agent_core.events import ErrorRaised, Notice, Outcome, StepStarted, UserMessage
from agent_core.messages import Message, user
from agent_core.turn import TurnTools, ask_model, run_tools

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


def run_turn(turn: TurnTools, prompt: Message, take_steers: Callable[[], list[str]], max_steps: int) -> TurnEnd:
    """Run the turn that `prompt` begins. Never raises: every failure is an outcome, told to the listener.

    `take_steers` gives the texts that arrived since the last step boundary; `max_steps` 0 = no cap.
    """
    started = time.monotonic()
    step, answer = 0, ""

    def end(outcome: Outcome, error: AgentError | None = None) -> TurnEnd:
        return TurnEnd(outcome, step, time.monotonic() - started, answer, error)

    try:
        _say(turn, prompt)
        while not max_steps or step < max_steps:
            # The flag is read and cleared only here, where every tool call has its result.
            if turn.cancel.take():
                return end("interrupted")
            for text in take_steers():
                _say(turn, user(text, origin="steer"))
            step += 1
            turn.emit(StepStarted(step))
            try:
                reply = ask_model(turn)
                answer = reply.text or answer
                if reply.tool_calls:
                    run_tools(turn, reply.tool_calls)
                    continue
            except Interrupted:
                continue
            if reply.is_empty:
                raise AgentError("empty_reply", "The model sent an empty answer. Send the message again, or /model.")
            if reply.finish == "length":
                turn.emit(Notice("cut_by_length", "The answer reached the model's output limit and is cut.", "warning"))
            # What arrived while the last answer was written starts another step rather than waiting for a next turn.
            late = take_steers()
            if not late:
                return end("completed")
            for text in late:
                _say(turn, user(text, origin="steer"))
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


def _say(turn: TurnTools, message: Message) -> None:
    turn.conversation.add(message)
    turn.emit(UserMessage(message.id, message.text, message.origin, len(message.parts)))
