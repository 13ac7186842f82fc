"""Keys: where they come from, and a wrapper that keeps them out of logs, tracebacks and pickles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from agent_core import limits
from agent_core.errors import ConfigError


class Secret:
    """A key. Only `reveal()` shows it: repr, str, formatting and pickling do not."""

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str = "") -> None:
        self._value = value
        self.source = source
        """Where it came from, to be named to people: "OPENAI_API_KEY"."""

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.source or 'hidden'})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not written anywhere")


def find_key(
    names: Iterable[str], env: Mapping[str, str], dotenv: Mapping[str, str], stored: Mapping[str, str] | None = None
) -> Secret | None:
    """The first of the variables `names` that is set: in the process environment, else in .env, else stored.

    A place is asked for all names before the next one is. Raises ConfigError "bad_key" for a value that cannot be sent.
    """
    return next(iter(find_keys(names, env, dotenv, stored)), None)


def find_keys(
    names: Iterable[str], env: Mapping[str, str], dotenv: Mapping[str, str], stored: Mapping[str, str] | None = None
) -> tuple[Secret, ...]:
    """The keys in the variables `names`, and in NAME_2, NAME_3, … up to limits.KEYS of each; the first as `find_key`.

    A variable that is set in the environment hides the one of the same name in .env. Equal keys count once. Raises
    ConfigError "bad_key" for a value that cannot be sent.
    """
    wanted = numbered(names)
    found: dict[str, Secret] = {}
    taken: set[str] = set()
    for place in (env, dotenv, stored or {}):
        here = [(name, value) for name in wanted if name not in taken and (value := place.get(name, "").strip())]
        taken.update(name for name, _ in here)
        for name, value in here:
            found.setdefault(value, make_secret(value, name))
    return tuple(found.values())


def numbered(names: Iterable[str]) -> list[str]:
    """Each of the variables `names`, followed by those that may hold further keys: NAME_2, NAME_3, …"""
    return [f"{name}_{n}" if n > 1 else name for name in names if name for n in range(1, limits.KEYS + 1)]


def make_secret(value: str, source: str) -> Secret:
    """Wrap `value`. Raises ConfigError "bad_key" when it has characters that no HTTP header can carry."""
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(
            "bad_key",
            f"The key in {source} has characters that a key cannot have. Copy it anew, without blanks or line ends.",
            source=source,
        )
    return Secret(value, source)
