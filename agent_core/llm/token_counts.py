"""Token counts as servers name them → Usage (LLM wire rule 14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core import limits
from agent_core.messages import Usage


def read_usage(data: Any) -> Usage | None:
    """Token counts under any of their names; None when there are none, or all are zero."""
    if not isinstance(data, dict):
        return None
    prompt_details = _mapping(data, "prompt_tokens_details", "input_tokens_details")
    reply_details = _mapping(data, "completion_tokens_details", "output_tokens_details")
    prompt = _first_count(data, "prompt_tokens", "input_tokens")
    reply = _first_count(data, "completion_tokens", "output_tokens")
    total = _first_count(data, "total_tokens")
    if not (prompt or reply or total):
        return None
    if prompt is None:
        prompt = max(0, total - (reply or 0)) if total is not None else 0
    if reply is None:
        reply = max(0, total - prompt) if total is not None else 0
    cached = _first_count(prompt_details, "cached_tokens")
    if cached is None:
        cached = _first_count(data, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
    written = _first_count(prompt_details, "cache_write_tokens", "cache_creation_tokens")
    if written is None:
        written = _first_count(data, "cache_creation_input_tokens")
    if "input_tokens" in data and "prompt_tokens" not in data and not prompt_details:
        # Anthropic counts apart what was read from a cache or written to one; here a prompt is all that was sent.
        prompt += (_first_count(data, "cache_read_input_tokens") or 0) + (written or 0)
    reasoning = _first_count(reply_details, "reasoning_tokens", "thinking_tokens")
    if reasoning is None:
        reasoning = _first_count(data, "reasoning_tokens")
    return Usage(prompt, reply, total or prompt + reply, cached, reasoning, written)


def _mapping(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((data[n] for n in names if isinstance(data.get(n), dict)), {})


def _first_count(data: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = data.get(name)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                continue
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= limits.TOKENS:
            return int(value)
    return None
