"""What /init tells the model: how good guidance for a project is written, and what this one is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agent_core import context_files
from agent_core.mind import prompt
from agent_core.ports.tools import IsHidden
from agent_core.workspace import project_facts

NAME: Final = "AGENTS.md"


def text(workspace: Path, wish: str, hidden: IsHidden) -> str:
    """The text for a workspace; `wish`: what the person typed behind the command. Walks the workspace.

    Of a folder's guidance files the first of context_files.NAMES is read: that one is written where it is there, and
    one behind AGENTS.md is not read any more once there is AGENTS.md.
    """
    there = [name for name in context_files.NAMES if (workspace / name).is_file()]
    path = there[0] if there and context_files.NAMES.index(there[0]) < context_files.NAMES.index(NAME) else NAME
    if path in there:
        about = (
            "It is there already: read it first, keep what holds, correct what is wrong, add what is missing, and say "
            "before you write what you want to change and why. Do not write it anew from nothing."
        )
    elif there:
        about = (
            f"There is {there[0]}, which agents read so far and which {path} takes the place of here: read it first "
            "and carry over what holds."
        )
    else:
        about = "There is none yet."
    facts = project_facts.gather(workspace, hidden).replace("</facts", "&lt;/facts")
    return (
        prompt.text("init")
        .replace("{what_is_there}", about)
        .replace("{path}", path)
        .replace("{wish}", f"\nThe user adds: {wish}\n" if wish else "")
        .replace("{facts}", f"<facts>\n{facts}\n</facts>")
    )
