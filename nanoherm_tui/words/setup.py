"""What came of trying a model server out, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t, tell

if TYPE_CHECKING:
    from agent_core.llm.discover import Health


def told(health: Health) -> str:
    """What came of a test, in the interface's language."""
    if health.code == "ok":
        return t("setup.answers", **health.params)
    if health.code == "model_not_listed":
        return t("setup.not_listed", **health.params)
    return tell(health.code, health.params, health.text)
