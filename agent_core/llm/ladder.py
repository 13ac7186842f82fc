"""What a failed request leads to: the same key again, another key, another model, or the end. Pure.

Source: LLM-11, LLM-15, LLM-19, LLM-21.
"""

from __future__ import annotations

from typing import Literal

from agent_core.errors import ProviderError
from agent_core.ports.model import Delta

Step = Literal["again", "reload", "rotate", "leave"]
"""The same key once more after a wait; the keys read anew; the next key at once; nothing more to do at this server."""

NEVER_ON = frozenset({"context_length", "content_filter", "bad_request"})
"""Failures that are about the request itself: another model would be asked something that is wrong, or hide it."""

TRIES_BEFORE_ROTATING = 2
"""Requests with one key that is told to slow down, while there is another (LLM-19: once more, then the next)."""


def after(
    error: ProviderError, tries: int, attempts: int, *, others: bool, reloaded: bool, longest_wait: float
) -> Step:
    """What comes after `tries` requests with one key, the last of which failed with `error`.

    `attempts`: requests in all with one key. `others`: there is another key that has not failed now. `reloaded`: the
    keys have been read anew for this request. `longest_wait`: seconds of waiting that a server may ask for.
    """
    if error.kind == "auth":
        return "rotate" if reloaded and others else "leave" if reloaded else "reload"
    if error.kind == "quota":
        return "rotate" if others else "leave"
    waits = error.retry_after is None or error.retry_after <= longest_wait
    # What the server behind an aggregator asks for is asked of all keys alike.
    if error.kind == "rate_limit" and others and not error.params.get("upstream"):
        return "again" if waits and tries < min(TRIES_BEFORE_ROTATING, attempts) else "rotate"
    return "again" if error.retryable and waits and tries < attempts else "leave"


def leads_on(error: ProviderError) -> bool:
    """Whether another model may be asked after this one has failed for good."""
    return error.kind not in NEVER_ON


_WHY = {
    "auth": "does not accept the key in",
    "quota": "says the account is used up behind the key in",
    "rate_limit": "asks to slow down with the key in",
}


def rotation(error: ProviderError, who: str, failed: str, following: str) -> Delta:
    """What to tell a person when another key is used. Keys are named by the variables that hold them."""
    why = _WHY.get(error.kind, "refuses the key in")
    text = f"{who} {why} {failed}. Going on with the one in {following}."
    params = {"notice": "key_rotated", "code": error.kind, "provider": who, "key": failed, "next": following}
    return Delta("retry", text, params)
