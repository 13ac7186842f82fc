"""The arguments of a tool call, as models and servers really write them → one object, or the reason why not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any, NoReturn

from agent_core import limits
from agent_core.messages import clean_surrogates
from agent_core.records import dataclass
from agent_core.text.nesting import is_deeper

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """`error` is set when `value` could not be had. `whole` is False when the text looks cut off or broken."""

    value: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    whole: bool = True


def parse_json(text: str) -> Any:
    """Like json.loads, with raw control characters allowed in strings. Raises ValueError and nothing else."""
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def decode(fragments: Sequence[str]) -> Decoded:
    """Put the argument fragments of one call together. Linear in their length. Source: LLM wire rule 20.

    Tried in this order, each only if what came before is not JSON: the fragments joined; joined without a leading `{}`
    placeholder; the last fragment alone, when it repeats all the earlier ones (servers that send the whole again at
    the end, or with every delta).
    """
    joined = clean_surrogates("".join(fragments)).strip()
    if len(joined) > limits.ARGUMENTS_BYTES:
        return Decoded(error=f"The arguments are longer than {limits.ARGUMENTS_BYTES} bytes.", whole=False)
    if not joined:
        return Decoded()
    first = _object(joined)
    if first.whole:
        return first
    if joined.startswith("{}") and (other := _object(joined[2:])).whole:
        return other
    solid = [f for f in fragments if f.strip()]
    if len(solid) > 1 and _repeats(solid) and (other := _object(clean_surrogates(solid[-1]).strip())).whole:
        return other
    return first


def _repeats(fragments: list[str]) -> bool:
    """True when the last fragment says all that the earlier ones said; else it is only the end of the text."""
    last = fragments[-1].strip()
    head = "".join(fragments[:-1]).strip()
    if head == last:
        return True
    return all(last.startswith(f.strip()) for f in fragments[:-1]) or (len(head) > 1 and _object(head).whole)


def _object(text: str) -> Decoded:
    try:
        value = _strict_numbers(text)
        if isinstance(value, str):  # encoded twice
            value = _strict_numbers(value) if value.strip() else None
    except (ValueError, RecursionError) as error:
        reason = str(error) or "nested too deeply"
        return Decoded(
            error=f"The arguments are not valid JSON ({reason}). Call the tool again with one whole JSON object.",
            whole=False,
        )
    if value is None:
        return Decoded()
    if is_deeper(value, limits.ARGUMENTS_DEPTH):
        return Decoded(
            error=f"The arguments are nested more than {limits.ARGUMENTS_DEPTH} levels deep. Call the tool again with "
            "a flatter JSON object.",
            whole=False,
        )
    if not isinstance(value, dict):
        return Decoded(error=f"The arguments have to be one JSON object, not {_kind(value)}. Call the tool again.")
    return Decoded(encodable(value) if _SURROGATE.search(text) else value)


def encodable(value: Any) -> Any:
    """`value` as it can be written: no lone surrogates in its strings, None for numbers that JSON does not have."""
    if isinstance(value, str):
        return clean_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [encodable(v) for v in value]
    if isinstance(value, dict):
        return {encodable(k): encodable(v) for k, v in value.items()}
    return value


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "that")


def _strict_numbers(text: str) -> Any:
    return json.loads(text, strict=False, parse_constant=_refuse, parse_float=_finite)


def _finite(text: str) -> float:
    """1e999 would become infinity, which nobody could be sent back."""
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
