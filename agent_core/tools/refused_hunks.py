"""What the model is told of hunks that the person has left out of a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_core import limits
from agent_core.messages import FileDiff, Hunk
from agent_core.text.clamp import clamp


def place_of(diff: FileDiff, hunk: Hunk) -> str:
    """Where a hunk changes the file first, in words: the line of the file as it was."""
    context = next((number for number, line in enumerate(hunk.lines) if line.kind != "same"), 0)
    return f"{diff.path}, line {hunk.old_start + context}" if diff.change == "edit" else diff.path


def told_of(
    refused: Mapping[str, tuple[FileDiff, Hunk]], total: int, redact: Callable[[str], str], said: str = ""
) -> str:
    """What the model is told of hunks that the person has refused: where they are, the lines they would change, and
    what the person `said` of them."""
    lines: list[str] = []
    signs = {"add": "+", "remove": "-"}
    for diff, hunk in refused.values():
        if diff.change == "create" and diff.old_path:
            lines.append(f"not applied: {diff.old_path} was not moved to {diff.path}")
            continue
        lines.append(f"not applied, {place_of(diff, hunk)}:")
        lines += [f"{signs[line.kind]}{line.text}" for line in hunk.lines if line.kind != "same"]
    head = f"The user refused {len(refused)} of {total} hunks. The others were applied, these were not:"
    # Redacted before it is cut: half a key is none that would be found.
    quoted = clamp(redact("\n".join(lines)), limits.REFUSED_HUNKS)
    words = f"\nThe user says: {redact(said.strip())}" if said.strip() else ""
    return f"{head}\n{quoted}{words}\nDo not make the refused changes another way; ask if you do not see why."
