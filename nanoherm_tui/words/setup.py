"""What came of trying a model server out, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nanoherm_tui.i18n import phrase, t, tell

if TYPE_CHECKING:
    from agent_core.llm.discover import Health


def told(health: Health) -> str:
    """What came of a test, in the interface's language."""
    if health.code == "ok":
        return t("setup.answers", **_named(health))
    if health.code == "model_not_listed":
        return t("setup.not_listed", **_named(health))
    return tell(health.code, health.params, health.text)


def _named(health: Health) -> dict[str, Any]:
    """Its parameters with the server named as in the list of providers."""
    return {**health.params, "label": phrase("providers", health.params["label"])}
