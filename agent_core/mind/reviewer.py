"""Smart approvals: an auxiliary model looks at a command before a person is asked about it (APPR-11, A5).

It can only answer in the person's place where the kernel holds the command and no secret is named, and whatever is not
exactly one of its three words goes on to the person. The command is data: a text that could be meant for the reviewer
is not shown to it at all.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
from collections.abc import Callable
from typing import Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, BudgetReached, Interrupted, StoreError
from agent_core.events import Event, Notice, UsageReported
from agent_core.messages import Message
from agent_core.mind import prompt
from agent_core.mind.meter import Meter
from agent_core.ports.actions import CommandAction
from agent_core.ports.asking import Decided, Review
from agent_core.ports.model import Delta, Line, LlmReply, LlmRequest
from agent_core.safety import protected
from agent_core.safety.aimed import aimed
from agent_core.safety.inject import scan
from agent_core.safety.policy import Verdict
from agent_core.sandbox.policy import UNCONFINED

log = logging.getLogger(__name__)


class Reviewer:
    """Of one session; lives as long as it. Safe to use from several threads: it judges one command at a time."""

    def __init__(
        self,
        connect: Callable[[], Line],
        meter: Meter,
        redact: Callable[[str], str],
        emit: Callable[[Event], None],
        *,
        stream: bool = True,
    ) -> None:
        """`connect` gives a new client for each review, which is closed after it, and raises AgentError.

        `meter` is the reviewer's own.
        """
        self._connect = connect
        self._meter = meter
        self._redact = redact
        self._emit = emit
        self._stream = stream
        self._lock = threading.Lock()
        self._denied = 0
        """Denials since the last approval."""
        self._silent = False
        """The last command got no usable answer; the person knows."""

    def heard(self, decided: Decided) -> None:
        """Take notice of a decision: an approval, by whomever, ends a row of denials."""
        if decided.verdict == "allow" and decided.by in ("person", "reviewer"):
            self._denied = 0

    def review(self, action: CommandAction, verdict: Verdict, cancel: CancelScope) -> Review:
        """What it says about a command that a person would be asked about.

        Raises Interrupted, and AgentError "reviewer_breaker" at the third denial in a row: the turn is to end.
        """
        why = beyond(action, verdict) or aimed(action.command) or aimed(action.cwd)
        if not why and scan(action.command, "memory"):
            why = "it has words for a model"
        if not why and self._redact(action.command) != action.command:
            why = "it holds a key"
        if why:
            return Review("escalate", why)
        with self._lock:
            cancel.check()
            review = self._judged(action, verdict, cancel)
            self._tell_silence(review)
            self._denied += review.verdict == "deny"
            if self._denied < limits.REVIEW_DENIALS:
                return review
            self._denied = 0
        raise AgentError(
            "reviewer_breaker",
            f"Stopped: the reviewer has denied {limits.REVIEW_DENIALS} commands in a row. What was done until then is "
            "kept. Say how to do it another way, or have a person asked instead: approvals.mode manual.",
            count=limits.REVIEW_DENIALS,
        )

    def _tell_silence(self, review: Review) -> None:
        """A person who is asked all the time would wonder what became of the reviewer."""
        silent = review.verdict == "escalate" and bool(review.text)
        if silent and not self._silent:
            log.warning("a review came to nothing: %s", review.text)
            text = f"The reviewer gave no usable answer ({review.text}), so you are asked."
            self._emit(Notice("review_failed", text, "warning", {"reason": review.text}))
        self._silent = silent

    def _judged(self, action: CommandAction, verdict: Verdict, cancel: CancelScope) -> Review:
        """The model's answer. Whatever goes wrong with it escalates.

        Raises Interrupted when the person stops the turn, StoreError.
        """
        with CancelScope(cancel) as scope:
            clock = threading.Timer(limits.REVIEW_TIMEOUT, scope.cancel)
            clock.daemon = True
            clock.start()
            try:
                return read(self._ask(action, verdict, scope))
            except Interrupted:
                cancel.check()
                return Review("escalate", f"no answer within {limits.REVIEW_TIMEOUT:g} s")
            except BudgetReached:
                return Review("escalate", "the budget allows no review")
            except StoreError:
                raise
            except AgentError as error:
                log.warning("a review failed: %s: %s", error.code, error.text)
                return Review("escalate", "the reviewer could not be asked")
            except Exception:  # a person is there to answer in its place, whatever became of it
                log.exception("a review crashed")
                return Review("escalate", "the reviewer could not be asked")
            finally:
                clock.cancel()

    def _ask(self, action: CommandAction, verdict: Verdict, cancel: CancelScope) -> LlmReply:
        line = self._connect()
        try:
            wanted = LlmRequest(
                (
                    Message("system", prompt.text("review"), id="review", created=0.0),
                    Message("user", fenced(action, verdict), id="reviewed", created=0.0),
                ),
                model=line.model,
                stream=self._stream,
                max_tokens=limits.REVIEW_TOKENS,
                cache_ttl="",
            )
            reply = line.client.complete(
                wanted, self._meter.guard(wanted, _ignore, (line.provider, line.model)), cancel
            )
            self._book(reply, line)
        finally:
            line.client.close()
        return reply

    def _book(self, reply: LlmReply, line: Line) -> None:
        """It is paid for by the session."""
        named = LlmReply(usage=reply.usage, provider=reply.provider or line.provider, model=reply.model or line.model)
        bill = self._meter.book(named)
        if reply.usage is not None:
            paid = bill.cost, bill.session_cost, bill.at_least
            self._emit(UsageReported(reply.usage, None, None, named.model, *paid))


def _ignore(delta: Delta) -> None:
    """Nobody watches a review arrive."""


# -- what it is shown, and what its answer means. Pure ------------------------------------------------------------


def fenced(action: CommandAction, verdict: Verdict) -> str:
    """The command as data: JSON in plain ASCII between two lines with a mark that nobody could have known."""
    data = json.dumps({"command": action.command, "folder": action.cwd, "rule": verdict.rule, "box": verdict.box.words})
    mark = secrets.token_hex(12)
    return (
        f"{len(data)} characters of JSON between the two lines with the mark {mark}:\n"
        f"=== {mark} ===\n{data}\n=== {mark} ===\n"
        "Answer with exactly one word: APPROVE, DENY or ESCALATE."
    )


def read(reply: LlmReply) -> Review:
    """What a reply says: one of the three words and nothing else, from a reply that is whole."""
    if reply.finish != "stop" or reply.tool_calls or reply.dropped_tool_calls:
        return Review("escalate", "the answer was not whole")
    word = reply.text.strip()
    if word == "APPROVE":
        return Review("approve")
    if word == "DENY":
        return Review("deny")
    return Review("escalate", "" if word == "ESCALATE" else "the answer was none of the three words")


def beyond(action: CommandAction, verdict: Verdict) -> str:
    """Why a command is none that a model may clear: the reason, or ""."""
    if verdict.verdict != "ask":
        return "it is not up to anybody"
    if action.needs == "everything" or verdict.box == UNCONFINED:
        return "it would run without the sandbox"
    if verdict.rule == _PROTECTED_RULE or any(map(_names_secret, _PATH.findall(action.command))):
        return "it names a protected file"
    if _SECRET_VARIABLE.search(action.command):
        return "it names a variable that holds a key"
    return ""


_PROTECTED_RULE: Final = "dangerous: protected-file"
_SECRET_VARIABLE: Final = re.compile(
    r"\$\{?[!#]?\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)|\b(?:printenv|/environ)\b", re.IGNORECASE
)
_PATH: Final = re.compile(r"[^\s'\"`;|&<>()=,:]+")


def _names_secret(word: str) -> bool:
    parts = protected.fold_parts(word.replace("\\", ""))
    if not parts:
        return False
    if parts[0] == "dev":
        return False  # what is to be feared of a device, other rules say
    tails = (parts[at:] for at in range(len(parts)))
    return (
        protected.secret_file(parts[-1])
        or protected.system_secret(parts)
        or any(protected.credential_place(tail) or protected.history_place(tail) for tail in tails)
    )
