"""`.env` files: secrets as KEY=VALUE lines. Values go nowhere but into the mapping that is returned.

Source: CFG-01, CFG-22.
"""

from __future__ import annotations

import re
from pathlib import Path

from agent_core.errors import ConfigError
from agent_core.plain_files import atomic_write

_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)\Z", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


def parse_env(text: str) -> tuple[dict[str, tuple[str, int]], list[int]]:
    """Name → (value, line) of every assignment, the last one of a name winning; and the lines that are none.

    `export` in front, single and double quotes, and comments are understood; nothing is expanded.
    """
    values: dict[str, tuple[str, int]] = {}
    bad: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.match(stripped)
        value = _value(match[2]) if match else None
        if match is None or value is None:
            bad.append(number)
        else:
            values[match[1]] = (value, number)
    return values, bad


def _value(text: str) -> str | None:
    """The value that `text` spells; None when a quote is not closed or something follows it."""
    if text[:1] not in ("'", '"'):
        # A comment needs a blank before it: keys may hold a "#".
        return re.split(r"(?:^|[ \t]+)#", text, maxsplit=1)[0].rstrip()
    quote, body = text[0], text[1:]
    pattern = r"([^']*)'" if quote == "'" else r'((?:[^"\\]|\\.)*)"'
    match = re.match(pattern + r"[ \t]*(?:#.*)?\Z", body, re.DOTALL)
    if match is None:
        return None
    if quote == "'":
        return match[1]
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), match[1], flags=re.DOTALL)


def set_variable(file: Path, name: str, value: str) -> None:
    """Set one variable in a `.env` file, mode 0600; its other lines stay as they are.

    Raises ConfigError when the value cannot be written on one line or the file cannot be written.
    """
    if not re.fullmatch(r"[\x21-\x26\x28-\x7e]+", value):
        raise ConfigError("bad_key", f"{name} has characters that a key cannot have. Copy it anew, without blanks.")
    try:
        text = file.read_text("utf-8") if file.exists() else ""
        kept = [line for line in text.splitlines() if not ((m := _LINE.match(line.strip())) and m[1] == name)]
        atomic_write(file, "".join(f"{line}\n" for line in [*kept, f"{name}='{value}'"]).encode())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("env_unwritable", f"{file} cannot be written: {error}. Set {name} yourself.") from error
