"""Mode x approval policy x sandbox: whether an action runs, is asked about, or is refused. Pure.

The order never changes, and a later step never reverses a refusal (A2): hard floor, mode, what was granted, named
rules (path, dangerous pattern), the table, the policy, and last whether anybody is there to ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from agent_core.names import EXIT_PLAN, ApprovalPolicy, Mode
from agent_core.ports import Action, CommandAction, EditAction, NoAction, ReadAction
from agent_core.safety.hardline import WAY_OUT, Hit


@dataclass(frozen=True, slots=True)
class Situation:
    """What holds for a session right now."""

    mode: Mode
    policy: ApprovalPolicy
    sandboxed: bool
    """Commands run in the kernel sandbox."""
    unattended: bool
    """Nobody can be asked."""


@dataclass(frozen=True, slots=True)
class Verdict:
    verdict: Literal["allow", "ask", "refuse"]
    rule: str
    """Its name, for the person and the record."""
    text: str
    """On a refusal, for the model: why, and what to do instead. On a question: what a dangerous command would do."""


_Class = Literal["read", "edit", "trusted", "contained", "bare"]
"""A trusted command is read-only by its text; of the others some are contained by the sandbox, some run bare."""
_Answer = Literal["do", "ask", "refuse"]

TABLE: Final[dict[Mode, dict[_Class, _Answer]]] = {
    "ask": {"read": "do", "edit": "ask", "trusted": "do", "contained": "ask", "bare": "ask"},
    "plan": {"read": "do", "edit": "refuse", "trusted": "do", "contained": "refuse", "bare": "refuse"},
    "debug": {"read": "do", "edit": "ask", "trusted": "do", "contained": "do", "bare": "ask"},
    "auto": {"read": "do", "edit": "do", "trusted": "do", "contained": "do", "bare": "ask"},
    "goal": {"read": "do", "edit": "do", "trusted": "do", "contained": "do", "bare": "ask"},
}

_ALLOW: Final = Verdict("allow", "", "")


def decide(
    action: Action,
    situation: Situation,
    *,
    trusted: bool,
    hard: Hit | None,
    danger: Hit | None,
    granted: bool,
    path_verdict: str = "allow",
    path_rule: str = "",
) -> Verdict:
    """The verdict on one action.

    `trusted`, `hard` and `danger` are what the command checks said; `granted`: a person has allowed exactly this for
    the session; `path_verdict` "ask": the path door wants a person's consent, `path_rule` names why.
    """
    if isinstance(action, NoAction):
        return _ALLOW
    if hard is not None:
        return Verdict("refuse", f"hard floor: {hard.rule}", f"Refused: this command {hard.text}. {WAY_OUT}")
    kind = _class_of(action, trusted, situation.sandboxed)
    answer = TABLE[situation.mode][kind]
    if answer == "refuse":
        return Verdict("refuse", f"mode {situation.mode}", _PLAN_TEXT)
    if granted:
        return Verdict("allow", "granted", "")
    rule = _rule_to_ask(kind, answer, situation, danger, path_rule if path_verdict == "ask" else "")
    if not rule:
        return _ALLOW
    if situation.policy == "never":
        # Nobody is to be asked: what is contained runs, what is not is refused. A file of secrets is not contained.
        contained = path_verdict != "ask" and kind != "bare"
        return _ALLOW if contained else Verdict("refuse", rule, _NEVER_TEXT.format(rule=rule))
    if situation.unattended:
        return Verdict("refuse", rule, _UNATTENDED_TEXT.format(rule=rule))
    return Verdict("ask", rule, danger.text if danger is not None else "")


def _class_of(action: ReadAction | EditAction | CommandAction, trusted: bool, sandboxed: bool) -> _Class:
    if isinstance(action, ReadAction):
        return "read"
    if isinstance(action, EditAction):
        return "edit"
    if trusted:
        return "trusted"
    return "contained" if sandboxed else "bare"


def _rule_to_ask(kind: _Class, answer: _Answer, situation: Situation, danger: Hit | None, path_rule: str) -> str:
    """The most telling rule that wants a person; empty when none does."""
    if path_rule:
        return path_rule
    if danger is not None:
        return f"dangerous: {danger.rule}"
    if answer == "ask":
        # In mode ask the mode itself is the reason; elsewhere the command would run if it were contained.
        bare = kind == "bare" and situation.mode != "ask"
        return "no sandbox" if bare else f"mode {situation.mode}"
    if situation.policy == "always" and kind != "read":
        return "policy always"
    return ""


_PLAN_TEXT: Final = (
    "Refused: in plan mode nothing is changed, and of commands only trusted read-only ones run. "
    f"Look with the reading tools, then finish the plan and call {EXIT_PLAN}."
)
_NEVER_TEXT: Final = (
    "Refused ({rule}): the approval policy is never, so nobody is asked, and this would not be contained. "
    "Do without it, or say what is needed."
)
_UNATTENDED_TEXT: Final = (
    "Refused ({rule}): this needs a person's consent and nobody is there to give it. "
    "Do what can be done without it and say what was left out."
)
