"""What /init tells the model: how a good AGENTS.md is written, and what the project is made of."""

from __future__ import annotations

from pathlib import Path

from agent_core import project_facts, prompt
from agent_core.ports import IsHidden

NAME = "AGENTS.md"


def text(workspace: Path, wish: str, hidden: IsHidden) -> str:
    """The text for a workspace; `wish`: what the person typed behind the command. Walks the workspace."""
    there = (workspace / NAME).exists()
    about = (
        "There is one already: read it first, keep what holds, correct what is wrong, add what is missing, and say "
        "before you write what you want to change and why. Do not write it anew from nothing."
        if there
        else "There is none yet."
    )
    return (
        prompt.text("init")
        .replace("{what_is_there}", about)
        .replace("{path}", NAME)
        .replace("{wish}", f"\nThe user adds: {wish}\n" if wish else "")
        .replace(
            "{facts}", f"<facts>\n{project_facts.gather(workspace, hidden).replace('</facts', '&lt;/facts')}\n</facts>"
        )
    )
