"""What a server's program is started with: its environment, its folder, and where it is found (R8, R9)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.mcp.words import ServerConfig, ServerFailure

_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_STRICT: Final = frozenset({"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR"})


def environment(config: ServerConfig, environ: Mapping[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    """Ours (`environ`) without keys, and what the config sets, which wins. `keys`: values it is not to see.

    Servers write UTF-8 whatever the machine's language is, unless it is set otherwise.
    """
    secret = set(keys)
    env = {
        name: value
        for name, value in environ.items()
        if not _SECRET.search(name)
        if value not in secret
        if config.env_policy == "inherit" or name in _STRICT or name.startswith("XDG_")
    }
    env.setdefault("PYTHONUTF8", "1")
    env.update(config.env)
    env.setdefault("PATH", os.defpath)
    return env


def folder(config: ServerConfig, workspace: Path) -> Path:
    """The folder it is started in. Raises ServerFailure when there is none."""
    path = workspace / config.cwd
    if not path.is_dir():
        raise ServerFailure(
            "mcp_folder",
            f"The folder of the server {config.name} does not exist: {path}. Set its `cwd`.",
            server=config.name,
            path=str(path),
        )
    return path


def program(config: ServerConfig, env: Mapping[str, str], cwd: Path) -> tuple[str, ...]:
    """Its command line, the program by its path. Raises ServerFailure naming both when it is not found."""
    command = config.command
    found = shutil.which(str(cwd / command) if "/" in command else command, path=env["PATH"])
    if found is None:
        path = _path_shown(env["PATH"])
        raise ServerFailure(
            "mcp_command",
            f"The command of the server {config.name} is not installed: {command} is not in the PATH it is started"
            f" with ({path}). Install it, or give its whole path.",
            server=config.name,
            command=command,
            path=path,
        )
    return (found, *config.args)


def _path_shown(path: str) -> str:
    """The first folders of a PATH, each once, for a person."""
    folders = list(dict.fromkeys(filter(None, path.split(os.pathsep))))
    more = len(folders) > limits.MCP_PATH_SHOWN
    return os.pathsep.join(folders[: limits.MCP_PATH_SHOWN]) + (f"{os.pathsep}…" if more else "")
