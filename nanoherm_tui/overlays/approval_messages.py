"""What the panel that asks tells: each message is `ApprovalPanel.NAME`, its handler `on_approval_panel_NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from agent_core.intents import Decision
    from agent_core.ports.asking import Question


class Answered(Message, namespace="approval_panel"):
    """The person has decided; the question has left the panel.

    `text`: the words of a refusal, the reply to ask_user, or the edited command.
    """

    def __init__(
        self,
        question_id: str,
        decision: Decision,
        text: str = "",
        pattern: str = "",
        refused: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.question_id = question_id
        self.decision: Decision = decision
        self.text = text
        self.pattern = pattern
        """What is granted for good."""
        self.refused = refused
        """Hunks of an allowed change that are left out, as in `intents.Answer`."""


class QuestionShown(Message, namespace="approval_panel"):
    """Another question is in view (its diff belongs in the dock), or none any more."""

    def __init__(self, question: Question | None) -> None:
        super().__init__()
        self.question = question
