"""What a server has said of itself the last time, so that its tools are offered before it has been started.

One file a server under cache/mcp/, named by what the server is; it may be deleted at any time. A server is asked again
whenever it is started, and what it says then counts.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from agent_core import limits, plain_files
from agent_core.mcp.protocol import Era
from agent_core.mcp.words import PromptInfo, ServerConfig, ServerInfo, ToolInfo
from agent_core.records import dataclass

log = logging.getLogger(__name__)

_VERSION: Final = 2
ERAS: Final[tuple[Era, ...]] = ("legacy", "modern")


@dataclass(frozen=True, slots=True)
class Known:
    """A server as it was when it was last connected."""

    info: ServerInfo
    tools: tuple[ToolInfo, ...]
    era: Era = ""
    """Of the protocol, as it was found (R12)."""
    prompts: tuple[PromptInfo, ...] = ()


class ServerCache:
    """Safe to use from several threads and programs: a file is replaced in one step. Reads and writes files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, config: ServerConfig, folder: str) -> Known | None:
        """What is known of a server that would run in `folder`; None: nothing that can be used."""
        try:
            data = plain_files.read_regular(self._file(config, folder), limits.MCP_CACHE_FILE)
            if data is None or len(data) > limits.MCP_CACHE_FILE:
                return None
            kept = json.loads(data)
            if kept["version"] != _VERSION:
                return None
            tools = tuple(_tool(tool) for tool in kept["tools"])
            era: Era = next((one for one in ERAS if one == kept["era"]), "")
            prompts = tuple(_prompt(prompt) for prompt in kept["prompts"])
            return Known(ServerInfo(**_known(ServerInfo, kept["info"])), tools, era, prompts)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            log.debug("what is known of the MCP server %s cannot be used: %s", config.name, error)
            return None

    def write(self, config: ServerConfig, folder: str, known: Known) -> None:
        tools = [
            {**asdict(tool), "headers": [[list(path), name] for path, name in tool.headers.items()]}
            for tool in known.tools
        ]
        prompts = [asdict(prompt) for prompt in known.prompts]
        kept = {
            "version": _VERSION, "era": known.era, "info": asdict(known.info), "tools": tools, "prompts": prompts,
        }  # fmt: skip
        try:
            data = json.dumps(kept, ensure_ascii=True).encode()
            if len(data) <= limits.MCP_CACHE_FILE:
                plain_files.atomic_write(self._file(config, folder), data)
        except (OSError, ValueError, TypeError, RecursionError) as error:  # the next start asks the server
            log.warning("what the MCP server %s offers could not be kept: %s", config.name, error)

    def forget(self, config: ServerConfig, folder: str) -> None:
        try:
            self._file(config, folder).unlink(missing_ok=True)
        except OSError as error:
            log.warning("what is known of the MCP server %s could not be removed: %s", config.name, error)

    def _file(self, config: ServerConfig, folder: str) -> Path:
        return self._folder / f"{key_of(config, folder)}.json"


def key_of(config: ServerConfig, folder: str) -> str:
    """Stands for one connection: which server it is, how it is spoken to, and where it runs. Without any value of its
    environment or headers: those may be keys."""
    where = "" if config.url else config.cwd or folder
    what = [config.name, config.identity, config.type, config.protocol, config.framing, where, *sorted(config.headers)]
    return hashlib.sha256("\0".join(what).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _tool(kept: Mapping[str, Any]) -> ToolInfo:
    headers = {tuple(map(str, path)): str(name) for path, name in kept["headers"]}
    return ToolInfo(**{**_known(ToolInfo, kept), "headers": headers})


def _prompt(kept: Mapping[str, Any]) -> PromptInfo:
    arguments = tuple((str(name), str(about), needed is True) for name, about, needed in kept["arguments"])
    return PromptInfo(**{**_known(PromptInfo, kept), "arguments": arguments})


def _known(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a class has fields for, each of the type of the field's default."""
    names = {field.name for field in fields(kind)}
    out = {name: value for name, value in values.items() if name in names}
    if not isinstance(out.get("name", ""), str) or not isinstance(out.get("schema", {}), dict):
        raise TypeError("not what was written")
    return out
