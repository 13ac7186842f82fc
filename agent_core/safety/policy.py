"""Mode x approval policy x sandbox: whether an action runs, is asked about, or is refused, and in what box. Pure.

The order never changes, and a later step never reverses a refusal (A2): hard floor, mode, what was granted, named
rules (path, dangerous pattern), the table, the policy, and last whether anybody is there to ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from agent_core.names import EXIT_PLAN, ApprovalPolicy, Mode, SandboxMode
from agent_core.ports import Action, CommandAction, EditAction, NoAction, ReadAction
from agent_core.safety.hardline import WAY_OUT, Hit
from agent_core.sandbox.policy import READ_ONLY, UNCONFINED, Box


@dataclass(frozen=True, slots=True)
class Situation:
    """What holds for a session right now."""

    mode: Mode
    policy: ApprovalPolicy
    unattended: bool
    """Nobody can be asked."""
    sandbox: SandboxMode = "workspace-write"
    """As the person set it."""
    kernel: bool = False
    """The kernel of this machine can confine commands."""
    network: bool = False
    """Commands may use the network without asking."""
    accepted: bool = False
    """The person has said for this machine that commands may run without a kernel that confines them."""
    gap: str = ""
    """What the kernel would have to keep from commands here and cannot; they are asked about then."""

    @property
    def is_free(self) -> bool:
        """The person wants no sandbox."""
        return self.sandbox == "danger-full-access"


@dataclass(frozen=True, slots=True)
class Verdict:
    verdict: Literal["allow", "ask", "refuse"]
    rule: str
    """Its name, for the person and the record."""
    text: str
    """On a refusal, for the model: why, and what to do instead. On a question: what a dangerous command would do."""
    box: Box = READ_ONLY
    """What a command runs in when it is allowed."""


_Class = Literal["read", "edit", "trusted", "contained", "leaving", "bare"]
"""A trusted command is read-only by its text. Of the others some are contained by the sandbox, some are said to need
more than it gives, and some have none to run in. An edit that the sandbox does not allow is leaving it too."""
_Answer = Literal["do", "ask", "refuse"]

TABLE: Final[dict[Mode, dict[_Class, _Answer]]] = {
    "ask": {"read": "do", "edit": "ask", "trusted": "do", "contained": "ask", "leaving": "ask", "bare": "ask"},
    "plan": {
        "read": "do", "edit": "refuse", "trusted": "do", "contained": "refuse", "leaving": "refuse", "bare": "refuse"
    },
    "debug": {"read": "do", "edit": "ask", "trusted": "do", "contained": "do", "leaving": "ask", "bare": "ask"},
    "auto": {"read": "do", "edit": "do", "trusted": "do", "contained": "do", "leaving": "ask", "bare": "ask"},
    "goal": {"read": "do", "edit": "do", "trusted": "do", "contained": "do", "leaving": "ask", "bare": "ask"},
}  # fmt: skip

_READ_ONLY_MODES: Final[frozenset[Mode]] = frozenset({"plan", "debug"})


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
    the session or for good; `path_verdict` "ask": the path door wants a person's consent, `path_rule` names why.
    """
    if isinstance(action, NoAction):
        return Verdict("allow", "", "")
    if hard is not None:
        return Verdict("refuse", f"hard floor: {hard.rule}", f"Refused: this command {hard.text}. {WAY_OUT}")
    box = box_of(action, situation, trusted) if isinstance(action, CommandAction) else READ_ONLY
    kind = _class_of(action, situation, trusted, box)
    answer = TABLE[situation.mode][kind]
    if trusted and kind == "bare" and answer == "refuse":
        answer = "ask"  # it would run if the kernel kept it to reading
    if answer == "refuse":
        return Verdict("refuse", f"mode {situation.mode}", _PLAN_TEXT)
    if granted:
        return Verdict("allow", "granted", "", box)
    rule = _rule_to_ask(kind, answer, situation, danger, path_rule if path_verdict == "ask" else "")
    if not rule:
        return Verdict("allow", _why_allowed(kind, situation), "", box)
    if situation.policy == "never":
        # Nobody is to be asked: what is contained runs, what is not is refused. A file of secrets is not contained.
        contained = path_verdict != "ask" and kind not in ("bare", "leaving")
        if contained or situation.is_free:
            return Verdict("allow", "policy never", "", box)
        return Verdict("refuse", rule, _NEVER_TEXT.format(rule=rule))
    if situation.unattended:
        return Verdict("refuse", rule, _UNATTENDED_TEXT.format(rule=rule))
    return Verdict("ask", rule, danger.text if danger is not None else "", box)


def box_of(action: CommandAction, situation: Situation, trusted: bool) -> Box:
    """What the command runs in, once it is allowed to.

    Trusted commands only read and are held to it; so are all commands of the modes that look and do not touch.
    """
    if not situation.kernel or action.needs == "everything":
        return UNCONFINED
    network = situation.network or action.needs == "network"
    if situation.mode in _READ_ONLY_MODES:
        return Box("workspace-write" if action.needs == "write" else "read-only", network and not trusted)
    if situation.is_free:
        return UNCONFINED
    if trusted and not action.needs:
        return READ_ONLY
    return Box("workspace-write" if action.needs == "write" else situation.sandbox, network)


def _class_of(action: ReadAction | EditAction | CommandAction, situation: Situation, trusted: bool, box: Box) -> _Class:
    if isinstance(action, ReadAction):
        return "read"
    if isinstance(action, EditAction):
        return "leaving" if situation.sandbox == "read-only" and situation.mode not in _READ_ONLY_MODES else "edit"
    if box == UNCONFINED and not (situation.kernel and action.needs):
        return "trusted" if trusted and (situation.is_free or situation.accepted) else "bare"
    if box != box_of(CommandAction(action.command, action.cwd), situation, trusted=False):
        return "trusted" if trusted and box == READ_ONLY else "leaving"
    if trusted:
        return "trusted"
    return "bare" if situation.gap else "contained"


def _rule_to_ask(kind: _Class, answer: _Answer, situation: Situation, danger: Hit | None, path_rule: str) -> str:
    """The most telling rule that wants a person; empty when none does."""
    if path_rule:
        return path_rule
    if danger is not None:
        return f"dangerous: {danger.rule}"
    if answer == "ask":
        # In mode ask the mode itself is the reason; elsewhere the command would run if it were contained.
        if kind == "leaving":
            return "leaves the sandbox"
        if kind == "bare" and situation.mode != "ask":
            return situation.gap or "no sandbox"
        return f"mode {situation.mode}"
    if situation.policy == "always" and kind != "read":
        return "policy always"
    return ""


def _why_allowed(kind: _Class, situation: Situation) -> str:
    return kind if kind in ("read", "trusted") else f"mode {situation.mode}"


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
