"""What stands inside settings that hold entries of their own: providers, stand-ins, personas, hooks.

What nothing understands there is told by its line, as elsewhere in the files: it may have been meant to be heeded.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from agent_core import limits
from agent_core.config import reading, schema

Odd = tuple[int, str, str, str]
"""The line, the dotted name, the code and the words of a warning."""

_PERSONA: Final = ("system_prompt", "tone", "style")
_PERSONA_MORE: Final = frozenset({"name", "description"})
"""Said beside it, and of no use here."""


def odd(setting: str, node: reading.Node, *, of_user: bool) -> Iterator[Odd]:
    """What is odd in the value of a setting; of `hooks` only in the user's own file, as a project's are shown whole."""
    check = _CHECKS.get(setting)
    if check is not None and (setting != "hooks" or of_user):
        yield from check(node)


def _unknown(entry: reading.Entry, above: str, known: frozenset[str]) -> Iterator[Odd]:
    if entry.key is None or entry.key in known:
        return
    name = f"{above}.{entry.key}"[: limits.SUBJECT_CHARS]
    near = difflib.get_close_matches(entry.key[: limits.SUBJECT_CHARS], sorted(known), n=1)
    hint = f"Did you mean {near[0]}?" if near else "Check its spelling and its indentation."
    yield entry.line, name, "unknown_key", f"there is no setting {name}. {hint}"


def _providers(node: reading.Node) -> Iterator[Odd]:
    from agent_core.llm.providers import API_MODES, ENTRY_KEYS

    for provider in reading.entries(node):
        above = f"providers.{provider.key}"
        for entry in reading.entries(provider.node):
            yield from _unknown(entry, above, ENTRY_KEYS)
            if entry.key == "api_mode" and reading.plain(entry.node) not in (None, "", *API_MODES):
                text = f"{above}.api_mode must be one of {', '.join(API_MODES)}. It is not used."
                yield entry.line, f"{above}.api_mode", "bad_value", text


def _stand_ins(node: reading.Node) -> Iterator[Odd]:
    from agent_core.llm.providers import STAND_IN_KEYS

    for number, one in enumerate(node.value if node.id == "sequence" else (), 1):
        for entry in reading.entries(one):
            yield from _unknown(entry, f"fallback_providers.{number}", STAND_IN_KEYS)


def _personalities(node: reading.Node) -> Iterator[Odd]:
    """An empty text is no manner of speaking either, and is meant so."""
    for entry in reading.entries(node):
        said = reading.plain(entry.node)
        texts = [said.get(part) for part in _PERSONA] if isinstance(said, dict) else [said]
        name = f"personalities.{entry.key}"[: limits.SUBJECT_CHARS]
        if not all(text is None or isinstance(text, str) for text in texts):
            text = f"{name} must be a text, or a mapping of system_prompt, tone and style. It is not used."
            yield entry.line, name, "bad_value", text
        for part in reading.entries(entry.node):
            yield from _unknown(part, name, _PERSONA_MORE.union(_PERSONA))


def _hooks(node: reading.Node) -> Iterator[Odd]:
    for event in reading.entries(node):
        for hook in event.node.value if event.node.id == "sequence" else ():
            for entry in reading.entries(hook):
                if entry.key is not None and entry.key not in schema.HOOK_KEYS:
                    name = f"hooks.{event.key}.{entry.key}"[: limits.SUBJECT_CHARS]
                    text = f"a hook has no {name}. What its command is given stands in command, on one line."
                    yield entry.line, name, "unknown_key", text


_CHECKS: Final[Mapping[str, Callable[[reading.Node], Iterator[Odd]]]] = {
    "providers": _providers,
    "fallback_providers": _stand_ins,
    "personalities": _personalities,
    "hooks": _hooks,
}
