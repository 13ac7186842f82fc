"""The face without a screen (`-p`): one turn, its text or its events on standard output.

stdout carries the result alone; what a person should know meanwhile goes to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TextIO

from agent_core import events, limits, names
from agent_core.desk.host import Host
from agent_core.errors import GIVEN_BACK, RETRYABLE
from agent_core.events import Envelope, TurnFinished
from agent_core.intents import Interrupt, Submit
from agent_core.messages import ImagePart, Usage, usage_to_json
from agent_core.session.live import LiveSession
from agent_core.text.ansi import clean

OutputFormat = Literal["text", "json", "stream-json"]

CONFIG_CODES = frozenset({"no_provider", "no_key", "unknown_provider", "auth", "not_found", "budget_unpriced"})
"""Error codes that say the set-up is wrong, not the work."""


def run(
    host: Host,
    session: LiveSession,
    prompt: str,
    form: OutputFormat,
    out: TextIO = sys.stdout,
    pictures: Sequence[ImagePart] = (),
) -> int:
    """Run one turn with `prompt` and `pictures`, and those that its sub-agents in the background begin with what they
    come to, and write what the last one says to `out`.

    Returns the exit code; raises OSError when `out` fails.
    """
    came = threading.Event()
    stopped_by: list[int] = []
    obeyed = 0

    def stop(number: int, frame: object) -> None:
        stopped_by.append(number)  # no more: a handler runs in the middle of anything, locks held

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        session.mailbox.listen(lambda urgent: came.set())
        session.send(Submit(prompt, tuple(pictures)))
        report = _Report(session.id, form, out)
        while report.end is None or (session.goes_on and not stopped_by):
            came.wait(limits.SIGNAL_CHECK)
            came.clear()
            while obeyed < len(stopped_by):
                obeyed += 1
                session.send(Interrupt(abandon=obeyed > 1))
            for envelope in session.mailbox.drain():
                report.take(envelope)
            if report.end is None and obeyed > 1 and not session.busy:  # given up: nothing tells of its end any more
                report.end = TurnFinished("", "interrupted", 0, 0.0)
        if left := report.at_work:
            _tell(f"{left} sub-agent{'' if left == 1 else 's'} in the background did not end, and will be stopped now.")
        if form == "text":  # a person may read it already
            report.finish()
        _learn(session, report, came, stopped_by)
        if form != "text":
            report.finish()
        return _exit_code(report, stopped_by)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # what is still buffered has nowhere to go
        return names.EXIT_FAILED
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _learn(session: LiveSession, report: _Report, came: threading.Event, stopped_by: Sequence[int]) -> None:
    """Wait for what is made of the turn for later ones, unless a signal comes: nobody begins another one here."""
    deadline = time.monotonic() + limits.DISTIL_ALONE
    while session.is_learning and not stopped_by and time.monotonic() < deadline:
        came.wait(limits.SIGNAL_CHECK)
        came.clear()
    for envelope in session.mailbox.drain():
        report.take(envelope)


class _Report:
    """What has come of the turn so far, written in one of the forms."""

    def __init__(self, session_id: str, form: OutputFormat, out: TextIO) -> None:
        self._session_id = session_id
        self._form = form
        self._out = out
        self._usage = Usage()
        self._costs: list[float | None] = []
        self._session_cost: tuple[float | None, bool] = (None, False)
        self._errors: list[events.ErrorRaised] = []
        self.end: TurnFinished | None = None
        """Of the last turn; its steps and seconds are those of all."""
        self.at_work = 0
        """How many sub-agents have not ended."""

    def take(self, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, events.HistoryChanged):
            return  # what was said before is not part of this turn
        if self._form == "stream-json":
            self._write(events.to_json(envelope))
        if isinstance(event, events.UsageReported):
            self._usage += event.usage
            self._costs.append(event.cost)
            self._session_cost = event.session_cost, event.at_least
        elif isinstance(event, events.Notice) and event.level == "warning":
            _tell(event.text)
        elif isinstance(event, events.Remembered):
            for memory in event.memories:
                _tell(f"{'waits for you to be remembered' if event.pending else 'remembered'}: {memory.text}")
            for memory in event.gone:
                _tell(f"{'waits for you to be forgotten' if event.pending else 'forgotten'}: {memory.text}")
        elif isinstance(event, events.ErrorRaised):
            self._errors.append(event)
            _tell(event.text)
        elif isinstance(event, events.AgentsChanged):
            self.at_work = sum(row.ended is None for row in event.agents)
        elif isinstance(event, TurnFinished):
            before = self.end
            if before is not None:
                event = replace(event, steps=before.steps + event.steps, seconds=before.seconds + event.seconds)
            self.end = event

    def finish(self) -> None:
        assert self.end is not None
        if self._form == "text":
            if self.end.text:
                text = clean(self.end.text) if self._out.isatty() else self.end.text
                self._out.write(text.rstrip("\n") + "\n")
                self._out.flush()
            return
        self._write(
            {
                "type": "result",
                "session_id": self._session_id,
                "outcome": self.end.outcome,
                "text": self.end.text,
                "steps": self.end.steps,
                "seconds": round(self.end.seconds, 3),
                "usage": usage_to_json(self._usage),
                "cost": self._cost(),
                "errors": [{"code": e.code, "text": e.text} for e in self._errors],
            }
        )

    def _cost(self) -> dict[str, Any]:
        """Of this turn and of the session, in US dollars; null: not known. `at_least`: some prices are not known."""
        known = [cost for cost in self._costs if cost is not None]
        turn = round(sum(known), 6) if known else None
        session, at_least = self._session_cost
        return {
            "turn_usd": turn,
            "session_usd": None if session is None else round(session, 6),
            "at_least": at_least or len(known) < len(self._costs),
        }

    def _write(self, data: dict[str, Any]) -> None:
        self._out.write(json.dumps(data, ensure_ascii=False) + "\n")
        self._out.flush()


def _tell(text: str) -> None:
    print(f"{names.APP}: {clean(text)}", file=sys.stderr)


def _exit_code(report: _Report, stopped_by: list[int]) -> int:
    assert report.end is not None
    if stopped_by:
        return names.EXIT_INTERRUPTED if stopped_by[0] == signal.SIGINT else names.EXIT_TERMINATED
    return outcome_code(report.end)


def outcome_code(end: TurnFinished) -> int:
    """The exit code of a run whose last turn ended so."""
    if end.outcome == "failed":
        return _failed_code(end.error_code)
    return {"completed": names.EXIT_OK, "interrupted": names.EXIT_INTERRUPTED, "cap": names.EXIT_CAP}[end.outcome]


def _failed_code(code: str) -> int:
    if code in CONFIG_CODES:
        return names.EXIT_CONFIG
    return names.EXIT_RETRY_LATER if code in RETRYABLE | GIVEN_BACK else names.EXIT_FAILED
