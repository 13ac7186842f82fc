"""Prompts of MCP servers as a person types them behind "/": their names, and what is typed behind those."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from agent_core import limits
from agent_core.errors import AgentError
from agent_core.knowledge import Typed
from agent_core.mcp.managed import Managed
from agent_core.mcp.words import PromptInfo
from agent_core.records import dataclass
from agent_core.text.printable import printable

_NOT_TYPED: Final = re.compile(r"[^\w.-]+")
_GIVEN: Final = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)
_OF_PERSON: Final = "user:\n"


@dataclass(frozen=True, slots=True)
class Typable:
    """A prompt with the name that it is typed by."""

    server: Managed
    info: PromptInfo
    typed: Typed


def typable(servers: Sequence[Managed]) -> Iterator[Typable]:
    """The prompts that are known, "SERVER:PROMPT", each name once."""
    names: set[str] = set()
    for server in servers:
        of_server = _word(server.config.name)
        for info in server.known.prompts if server.known is not None else ():
            name = f"{of_server}:{_word(info.name)}"
            if name not in names and re.match(r"\w", name):
                names.add(name)
                about = printable(" ".join((info.description or info.title).split()))[: limits.SUBJECT_CHARS]
                yield Typable(server, info, Typed(name, about, _hint(info), "prompt", printable(server.config.name)))


def _word(name: str) -> str:
    return _NOT_TYPED.sub("_", name)[: limits.MCP_NAME]


def _hint(info: PromptInfo) -> str:
    return " ".join(f"[{printable(name)}{'' if needed else '?'}]" for name, _, needed in info.arguments)


def filled(info: PromptInfo, typed: str) -> Mapping[str, str]:
    """The arguments in what is typed behind a prompt's name: by name (`city=Bern`), the others in their order.

    The last one takes all the words that are left. Raises AgentError "prompt_arguments" when one is missing.
    """
    names = [name for name, _, _ in info.arguments]
    try:
        words = shlex.split(typed)
    except ValueError:  # a quote that is not closed
        words = typed.split()
    given: dict[str, str] = {}
    rest = []
    for word in words:
        named = _GIVEN.fullmatch(word)
        if named is not None and named[1] in names:
            given[named[1]] = named[2]
        else:
            rest.append(word)
    open_ = [name for name in names if name not in given]
    for place, name in enumerate(open_):
        if rest:
            last = place == len(open_) - 1
            given[name], rest = (" ".join(rest), []) if last else (rest[0], rest[1:])
    missing = [name for name, _, needed in info.arguments if needed and name not in given]
    if missing:
        wanted = printable(", ".join(missing))
        raise AgentError(
            "prompt_arguments", f"The prompt needs more: {wanted}. Type it behind the name, or as NAME=TEXT.",
            names=[printable(name) for name in missing],
        )  # fmt: skip
    return given


def said(text: str) -> str:
    """A prompt's messages as the message that the person sends: of a single one, its text alone."""
    return text.removeprefix(_OF_PERSON) if text.count(_OF_PERSON) == 1 else text
