"""Commands of the command line that need no screen, one file each: `nanoherm-tui sessions list`.

A room here is imported when its command is given, and loads neither Textual nor httpx. It has `parser()`, which
completion reads too, and `main(arguments)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

NAMES: Final = {
    "sessions": "list, show, search, export, import, delete and check what is stored",
    "audit": "what was decided about what the agent was to do",
    "insights": "what was used over days: tokens, dollars, tools, hours",
    "doctor": "what is in order on this machine, what is not, and what mends it",
    "config": "the settings: list, show, set, unset, check",
    "tools": "the built-in tools: list, show, switch off and on",
    "model": "the model: what there is, what is asked, choosing one",
    "skills": "list, show and check the instructions you keep for kinds of work",
    "trust": "see and accept what a folder brings that would act",
    "mcp": "the MCP servers: list, add, remove, test, log in",
    "serve": "the program in a browser on this machine: serve --web",
    "completion": "completion of this command line for bash, zsh or fish",
}
"""What may stand first on the command line, with a remark for --help."""


def run(name: str, arguments: Sequence[str]) -> int:
    """Do what `name` and its arguments say. Returns the exit code; argparse itself exits with 2 on a usage error."""
    code: int = import_module(f"{__name__}.{name}").main(arguments)
    return code
