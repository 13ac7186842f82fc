"""Which tool a call means that uses a name of Hermes, which may stand for several of ours (TOOL-05). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agent_core import names
from agent_core.ports.tools import Args, Tool
from agent_core.text.coerce import OTHER_NAMES

_SAYS_WHICH: Final = ("action", "mode", "target")
"""Arguments of Hermes' tools that say which of their actions is meant."""
_MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    "list": (names.TASK_LIST, names.AGENT_LIST),
    "poll": (names.TASK_OUTPUT,),
    "log": (names.TASK_OUTPUT,),
    "wait": (names.TASK_OUTPUT,),
    "kill": (names.TASK_KILL,),
    "replace": (names.EDIT_FILE,),
    "patch": (names.APPLY_PATCH,),
    "content": (names.GREP,),
    "files": (names.GLOB,),
}


def meant(name: str, arguments: Args, tools: Mapping[str, Tool]) -> Tool | None:
    """The tool of `tools` that the alias `name` means with these arguments: the one they name, else the one they fit
    best, of equal ones the first. None when `name` is no alias of any of them."""
    targets = [target for target in names.TOOL_ALIASES.get(name, ()) if target in tools]
    said = (_MEANT.get(word, ()) for key in _SAYS_WHICH if isinstance(word := arguments.get(key), str))
    named = next((target for possible in said for target in targets if target in possible), None)
    if named is not None:
        return tools[named]
    return max((tools[target] for target in targets), key=lambda tool: _fit(tool, arguments), default=None)


def _fit(tool: Tool, arguments: Args) -> int:
    """How many of the arguments it takes, less those that it does not know and those that it misses."""
    properties = tool.parameters.get("properties", {})
    taken = [given if given in properties else OTHER_NAMES.get(given, "") for given in arguments]
    missing = set(tool.parameters.get("required", ())).difference(taken)
    return sum(1 if one in properties else -1 for one in taken) - len(missing)
