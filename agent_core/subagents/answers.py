"""The answer of a sub-agent that is to be JSON of a shape (output_schema): asked for, looked at, asked for anew. Pure.

Source: SUB-06.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from agent_core import limits
from agent_core.text.json_schema import problems

_FENCED: Final = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL | re.IGNORECASE)
_NAMED: Final = 8  # things that are wrong, as many as a model can mend at once


def wanted(schema: Mapping[str, Any]) -> str:
    """What is said of it behind the task."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"# How to answer\nYour last message is JSON that fits this JSON Schema, and nothing beside it:\n{text}"


def looked_at(answer: str, schema: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The answer without the fence that may stand around it, and what is wrong with it."""
    fenced = _FENCED.fullmatch(answer)
    text = (fenced.group(1) if fenced is not None else answer).strip()
    try:
        value = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return answer, (f"it is not JSON ({str(error)[: limits.PROBLEM_CHARS]})",)
    return text, problems(value, schema)


def again(found: tuple[str, ...]) -> str:
    """What it is told when its answer does not fit."""
    return f"[Your last message does not fit the JSON Schema: {_said(found)}. Send the JSON again, whole and alone.]"


def remark(found: tuple[str, ...]) -> str:
    """What stands before an answer that does not fit the second time either."""
    return f"[This does not fit output_schema: {_said(found)}.]"


def _said(found: tuple[str, ...]) -> str:
    more = len(found) - _NAMED
    return "; ".join(found[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _refused(word: str) -> float:
    raise ValueError(f"{word} is no JSON")
