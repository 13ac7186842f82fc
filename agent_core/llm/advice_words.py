"""What a person is told of advice: who gave it, who is waited for, who was left out and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_core import limits
from agent_core.errors import AgentError
from agent_core.llm.mixtures import Mixture
from agent_core.ports.model import Delta


def late(seconds: float) -> AgentError:
    """Of one that has not answered in time."""
    return AgentError("advice_late", f"There was no answer within {seconds:g} s.", seconds=seconds)


def waits(labels: Sequence[str]) -> Delta:
    """Who is waited for, when that takes long."""
    params = {"notice": "advice_waits", "models": list(labels)}
    return Delta("advice", f"Waiting for the advice of {', '.join(labels)}. Esc stops the turn.", params)


def told(
    mixture: Mixture,
    names: Sequence[str],
    failed: Sequence[tuple[str, AgentError]],
    seconds: float,
    redact: Callable[[str], str],
) -> Delta:
    """Who advised (`names`), how long that took, who was left out (`failed`), for what reason."""
    left_out = [
        {"who": who, "code": error.code, "params": _hidden(error.params, redact), "text": _short(error.text, redact)}
        for who, error in failed
    ]
    params = {"models": list(names), "left_out": left_out, "seconds": f"{seconds:.1f}", "preset": mixture.name}
    bad = "; ".join(f"{one['who']}: {one['text']}" for one in left_out)
    if not names:
        text = f"Nobody advised, so the acting model of {mixture.shown} goes on alone. Left out: {bad}."
        return Delta("advice", text, {**params, "notice": "advice_none"})
    text = f"Advised by {', '.join(names)} ({seconds:.1f} s)."
    if bad:
        return Delta("advice", f"{text} Left out: {bad}.", {**params, "notice": "advice_partly"})
    return Delta("advice", text, {**params, "notice": "advice"})


def _short(text: str, redact: Callable[[str], str]) -> str:
    return redact(" ".join(text.split()))[: limits.SUBJECT_CHARS].rstrip(".")


def _hidden(params: Mapping[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    return {name: redact(value) if isinstance(value, str) else value for name, value in params.items()}
