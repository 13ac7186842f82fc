"""What may run beside what in one round of tool calls (CONC-06, CONC-07). Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence

from agent_core import limits
from agent_core.ports.actions import Effect


def groups(effects: Sequence[Effect]) -> list[list[int]]:
    """Indices of `effects` cut into runs, in call order; the calls of one run may go side by side.

    Reads go together; a write joins only calls it shares no path with; commands and questions go alone. Order between
    runs is kept, so two calls on one path happen in the order the model asked for them. Paths are those of the disk.
    """
    runs: list[list[int]] = []
    for index, effect in enumerate(effects):
        run = runs[-1] if runs else None
        if run is not None and len(run) < limits.BATCH_WORKERS and all(_independent(effects[i], effect) for i in run):
            run.append(index)
        else:
            runs.append([index])
    return runs


def _independent(a: Effect, b: Effect) -> bool:
    if not {a.kind, b.kind} <= {"none", "read", "write"}:
        return False
    if "write" not in (a.kind, b.kind):
        return True
    return not any(_overlap(x, y) for x in a.paths for y in b.paths)


def _overlap(a: str, b: str) -> bool:
    """True when one path is the other or lies beneath it. Links have been followed; that letters may differ in case
    only is taken for one name, as on many disks it is."""
    a, b = os.path.normpath(a).casefold(), os.path.normpath(b).casefold()
    if "." in (a, b):
        return True
    return a == b or a.startswith(b + os.sep) or b.startswith(a + os.sep)
