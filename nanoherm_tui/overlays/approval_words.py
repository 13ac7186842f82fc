"""Which answers a question takes, and what the keys for them are called. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show

if TYPE_CHECKING:
    from agent_core.intents import Decision
    from agent_core.ports.asking import Question
    from nanoherm_tui.keymap import Keymap

DECISIONS: Final[dict[str, Decision]] = {
    "allow_once": "once",
    "allow_session": "session",
    "allow_always": "always",
    "refuse": "refuse",
}
"""What an action of the panel decides, in the order in which they are offered."""

Stage = Literal["", "refuse", "edit", "answer", "always"]
"""What the panel is doing beside showing the question: words are written in its field, or what "always" would write is
shown."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """How many hunks of a change are left out, of how many."""

    refused: int = 0
    total: int = 0

    @property
    def nothing_left(self) -> bool:
        return bool(self.refused) and self.refused == self.total


def offered(question: Question, chosen: Chosen) -> list[str]:
    """The actions that may answer this question."""
    actions = [action for action, decision in DECISIONS.items() if decision in question.decisions]
    if chosen.nothing_left:
        return [action for action in actions if action in ("allow_once", "refuse")]
    if question.kind == "command" and question.command and "once" in question.decisions:
        actions.append("edit_command")
    return actions


def answer_words(action: str, question: Question, chosen: Chosen, *, narrow: bool) -> str:
    """What an answer is called on the panel; `narrow`: in a word or two."""
    plan, visit = question.kind == "plan", question.kind == "visit"
    if action == "allow_once" and chosen.nothing_left:
        action = "refuse"  # nothing is left that could be done
    if action == "allow_once" and chosen.refused:
        key = "approval.hunks_short" if narrow else "approval.hunks"
        return t(key, n=chosen.total - chosen.refused, total=chosen.total)
    if action == "allow_once" and question.kind == "form":
        return t("approval.fill_in")
    if action == "allow_once":
        return t("approval.approve") if plan else t("approval.open") if visit else t("approval.once")
    if action == "allow_session":
        return t("approval.session_short") if narrow else t("approval.session")
    if action == "allow_always":
        return t("approval.always")
    if action == "refuse" and not narrow and not visit:
        return t("approval.keep_planning") if plan else t("approval.refuse")
    if action == "refuse":
        return t("approval.send_refusal")
    return t("approval.edit_short") if narrow else t("approval.edit")


def dock_words(action: str, question: Question, chosen: Chosen, *, narrow: bool) -> str:
    """The same beside the changes, always in a word or two where it asks for words or an edit."""
    if chosen.nothing_left:
        return t("approval.send_refusal")
    words = {"refuse": t("approval.send_refusal"), "edit_command": t("approval.edit_short")}
    return words.get(action) or answer_words(action, question, chosen, narrow=narrow)


def stage_keys(use: Stage, question: Question, keymap: Keymap, patterns: tuple[str, ...]) -> list[tuple[str, str]]:
    """The keys and their words while something is written, or what "always" writes is shown (`patterns`)."""
    label = keymap.label
    if use == "refuse":
        return [(show("enter"), t("approval.send_refusal")), (show("escape"), t("approval.back"))]
    if use == "edit":
        return [(label("run_edited"), t("approval.run_edited")), (show("escape"), t("approval.back"))]
    if use == "always":
        keys = [(label("allow_always"), t("approval.write_always")), (show("escape"), t("approval.back"))]
        if len(patterns) > 1:
            other = t("approval.all_such" if patterns[0] == question.command else "approval.exactly")
            keys.insert(1, (show("tab"), other))
        return keys
    ends = t("approval.give_up" if question.kind == "visit" else "approval.later")
    keys = [(show("enter"), t("approval.send_answer")), (show("escape"), ends)]
    if question.choices:
        keys.insert(1, (f"{show('up')} {show('down')}", t("approval.choose")))
    return keys
