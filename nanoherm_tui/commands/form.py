"""A form that an MCP server wants filled in: opened when the person agrees to look, sent or declined as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_core import intents

if TYPE_CHECKING:
    from agent_core.ports.asking import Question
    from nanoherm_tui.app import NanohermApp


def fill_in(app: NanohermApp, question: Question) -> None:
    """Open it; what comes of it is the answer to the question."""
    from nanoherm_tui.overlays.form import FormScreen

    def come(values: dict[str, Any] | None) -> None:
        decision: intents.Decision = "refuse" if values is None else "once"
        app.conversations.send(intents.Answer(question.id, decision, values=values or {}))

    app.open_overlay(FormScreen(question.server, question.text, question.form), come)
