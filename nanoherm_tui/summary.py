"""What the list of sessions and the status line say of the views. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanoherm_tui.panes.sessions import ItemState, SessionItem
from nanoherm_tui.panes.status import StatusInfo
from nanoherm_tui.session_view import count_beside
from nanoherm_tui.words.sandbox import sandbox_words

if TYPE_CHECKING:
    from agent_core.session.services import Containment
    from agent_core.store.rows import SessionRow
    from nanoherm_tui.session_view import SessionView


def session_items(rows: Iterable[SessionRow], views: Iterable[SessionView], in_view: str) -> list[SessionItem]:
    """Stored sessions and open ones; of a session that is both, what the open one knows. `in_view`: the shown one."""
    items = {
        row.id: SessionItem(row.id, row.title, row.workspace, "unread" if row.unread else "idle", row.updated)
        for row in rows
    }
    for view in views:
        if view.stored or view.id == in_view:
            updated = max(view.updated, items[view.id].updated) if view.id in items else view.updated or view.opened
            state = _state(view, in_view)
            items[view.id] = SessionItem(view.id, view.title, str(view.session.workspace), state, updated)
    return list(items.values())


def _state(view: SessionView, in_view: str) -> ItemState:
    if view.waiting or view.state == "asking":
        return "asking"
    if view.state in ("running", "stopping"):
        return "running"
    if view.state == "failed":
        return "failed"
    return "unread" if view.unread and view.id != in_view else "idle"


def status_info(
    view: SessionView | None,
    model: str,
    hint: str,
    waiting: int,
    held: Containment | None,
    *,
    yolo: bool = False,
    inbox: str = "",
) -> StatusInfo:
    """The status line for `view`.

    `model`: what new sessions use; `waiting`: questions of all sessions; `held`: how far commands are confined here;
    `yolo`: in this run nothing is asked and nothing confined; `inbox`: the key that leads to what waits.
    """
    if view is None:
        return StatusInfo(model=model, hint=hint)
    sandbox = sandbox_words(view.mode, held)
    confined = sandbox not in (None, "", "danger-full-access")
    return StatusInfo(
        mode=view.mode,
        sandbox=sandbox,
        network=held is not None and held.network and confined,
        missing=confined and held is not None and "mount view" in held.missing,
        yolo=yolo,
        goal=view.goal if view.mode == "goal" else "",
        model=view.model_label or model,
        running=view.state in ("running", "asking", "stopping"),
        stopping=view.state == "stopping",
        step=view.step,
        seconds=time.monotonic() - view.turn_started if view.turn_started else 0.0,
        waiting=waiting,
        elsewhere=waiting - len(view.waiting),
        inbox=inbox,
        tokens_in=view.usage.prompt_tokens,
        tokens_out=view.usage.completion_tokens,
        context_percent=view.context_percent,
        cost=view.cost,
        hint=hint,
        tasks=count_beside(view.tasks, view.agents),
    )
