"""How long to wait before the next try, and what is said meanwhile. Pure."""

from __future__ import annotations

import email.utils
import math
import random
import re
import time
from collections.abc import Mapping
from typing import Any

from agent_core import limits
from agent_core.errors import ProviderError
from agent_core.llm.words import Asked, duration, failure, host

RETRY_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, *range(520, 525), 529})
"""409 is a lock at the server that another request has; the vendors' own clients try again too."""


def backoff(base: float, attempt: int) -> float:
    """Seconds before the request after try number `attempt`: base · 2^(attempt-1), at most RETRY_CAP (LLM-04)."""
    exponent = min(max(attempt, 1) - 1, 32)
    return min(limits.RETRY_CAP, base * 2.0**exponent)


def wait_before(base: float, attempt: int, retry_after: float | None) -> float:
    """Seconds to wait: what the server asked for when that is longer, else the back-off with up to 10 % of chance."""
    computed = backoff(base, attempt)
    if retry_after is not None:
        return max(computed, retry_after)
    return computed * (1 + random.random() * limits.RETRY_JITTER)


def retry_after(headers: Mapping[str, str], body: Any = None, now: float | None = None) -> float | None:
    """Seconds the server asks to wait: retry-after-ms, retry-after (seconds or a date), Gemini's retryDelay.

    None when it says nothing usable: garbage, a negative number, a date that has passed. `headers` in lower case.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (seconds := _seconds(headers.get(name, ""))) is not None:
            return seconds * scale
    if date := headers.get("retry-after", "").strip():
        try:
            at = email.utils.parsedate_to_datetime(date).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            at = 0.0
        if (left := at - (time.time() if now is None else now)) > 0:
            return left
    for detail in _details(body):
        if (seconds := _seconds(str(detail.get("retryDelay", "")).removesuffix("s"))) is not None:
            return seconds
    return None


def _seconds(text: str) -> float | None:
    text = text.strip()
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        return None
    return float(text)


def _details(body: Any) -> list[Mapping[str, Any]]:
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details") if isinstance(error, dict) else None
    return [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []


_RETRY_WORDS: Mapping[str, str] = {
    "retry_unreached": "The server cannot be reached.",
    "retry_rate_limit": "The server asks to slow down.",
    "retry_server": "The server failed.",
    "retry_network": "The connection broke.",
    "retry_timeout": "No answer in time.",
    "retry_truncated": "The reply broke off.",
    "retry_protocol": "The reply was not readable.",
    "retry_bad_tool_call": "The model wrote a call that the server could not read.",
}


def too_long(error: ProviderError, asked: Asked) -> ProviderError:
    """The error to give up with when the server asks for a longer wait than is sensible to sit out."""
    seconds = error.retry_after or 0.0
    return failure(
        error.kind,
        asked,
        "wait_too_long",
        status=error.status,
        retry_after=error.retry_after,
        wait=duration(seconds),
        minutes=math.ceil(seconds / 60),
        delivered=error.params.get("delivered", False),
    )


def not_opened(error: ProviderError, attempts: int, asked: Asked) -> ProviderError:
    """The error to give up with when none of several attempts came to an answer at all (LLM-25)."""
    text = f"The stream to {host(asked.url) or asked.who} could not be opened after {attempts} attempts. {error.text}"
    return ProviderError(error.kind, text, retryable=error.retryable, **{**error.params, "attempts": attempts})


def case(error: ProviderError) -> str:
    """Why is tried again, as one name: what the announcement is translated by."""
    return "retry_unreached" if error.params.get("unreached") else f"retry_{error.kind}"


def announcement(error: ProviderError, attempt: int, of: int, wait: float) -> str:
    """The words for a person while a retry waits: "The server failed. Trying again in 2 s, 2 of 3."."""
    why = _RETRY_WORDS.get(case(error), error.text)
    when = f" in {wait:.0f} s" if wait >= 1 else ""
    return f"{why} Trying again{when}, {attempt} of {of}."
