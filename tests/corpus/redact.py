"""Another product's redaction rows: no secret survives, and the rest is as readable as there.

Where that product shows a mask, we show ours: what it kept around the mask must be kept, what it masked must be gone.
"""

from __future__ import annotations

import re
from typing import Any

from agent_core.safety.redact import MARK, redact

MASK = re.compile(r"\*\*\*|«redacted:[^»]*»|[\w\-]{4,6}\.\.\.\w{4}")


def binds(row: dict[str, Any]) -> bool:
    return row["stable"] is True


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    text, expected = str(row["args"]["text"]), row["expect"]
    got = redact(text)
    wanted = text if expected == text else MASK.sub(lambda _: MARK, expected)
    return "" if got == wanted else repr(got)
