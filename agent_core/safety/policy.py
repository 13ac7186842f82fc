"""Mode x approval policy x sandbox: whether an action runs, is asked about, or is refused, and in what box. Pure.

The order never changes, and a later step never reverses a refusal (A2): hard floor, the user's deny patterns, mode,
what was granted, named rules (path, dangerous pattern), the table, the policy, and last whether anybody is there to
ask. What stands behind that (a hook's veto, the reviewer, the person) can only make less of what is allowed here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from agent_core.names import EXIT_PLAN, MODES_READ_ONLY, ApprovalPolicy, Mode, SandboxMode
from agent_core.ports.actions import (
    Action,
    CommandAction,
    EditAction,
    KeepAction,
    NoAction,
    ReadAction,
    ServerAction,
    WebAction,
)
from agent_core.ports.asking import DecidedBy
from agent_core.records import dataclass
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

    @property
    def can_ask(self) -> bool:
        """A person is there and wants to be asked."""
        return not self.unattended and self.policy != "never"

    @property
    def is_bare(self) -> bool:
        """There is none: the machine has none, or the person wants none where work is done. Looking is always boxed."""
        return not self.kernel or (self.is_free and self.mode not in MODES_READ_ONLY)


@dataclass(frozen=True, slots=True)
class Verdict:
    verdict: Literal["allow", "ask", "refuse"]
    rule: str
    """Its name, for the person and the record."""
    text: str
    """On a refusal, for the model: why, and what to do instead. On a question: what a dangerous command would do."""
    box: Box = READ_ONLY
    """What a command runs in when it is allowed."""
    by: DecidedBy = "rules"
    """Who has decided, where it is no question."""


_Class = Literal["read", "edit", "trusted", "contained", "leaving", "bare", "web", "server", "ours", "keep", "note"]
"""A trusted command is read-only by its text. Of the others some are contained by the sandbox, some are said to need
more than it gives, and some have none to run in. An edit that the sandbox does not allow is leaving it too. What the
program itself asks of the web changes nothing here, so that a person may allow it in plan mode too. A tool of an MCP
server leaves the sandbox; one of a server that the user trusts, and that destroys nothing, is "ours" (R30). What later
sessions are told is "keep"; of that a "note" changes no file that anybody works with, so that a person may allow it in
plan mode too."""
_Answer = Literal["do", "ask", "refuse"]

TABLE: Final[dict[Mode, dict[_Class, _Answer]]] = {
    "ask": {
        "read": "do", "edit": "ask", "trusted": "do", "contained": "ask", "leaving": "ask", "bare": "ask", "web": "ask",
        "server": "ask", "ours": "ask", "keep": "ask",
        "note": "ask",
    },
    "plan": {
        "read": "do", "edit": "refuse", "trusted": "do", "contained": "refuse", "leaving": "refuse", "bare": "refuse",
        "web": "ask", "server": "refuse", "ours": "refuse", "keep": "refuse",
        "note": "ask",
    },
    "debug": {
        "read": "do", "edit": "ask", "trusted": "do", "contained": "do", "leaving": "ask", "bare": "ask", "web": "ask",
        "server": "ask", "ours": "ask", "keep": "ask",
        "note": "ask",
    },
    "auto": {
        "read": "do", "edit": "do", "trusted": "do", "contained": "do", "leaving": "ask", "bare": "ask", "web": "ask",
        "server": "ask", "ours": "do", "keep": "ask",
        "note": "ask",
    },
    "goal": {
        "read": "do", "edit": "do", "trusted": "do", "contained": "do", "leaving": "ask", "bare": "ask", "web": "ask",
        "server": "ask", "ours": "do", "keep": "ask",
        "note": "ask",
    },
}  # fmt: skip

DENY_RULE: Final = "approvals.deny"


def decide(
    action: Action,
    situation: Situation,
    *,
    trusted: bool,
    hard: Hit | None,
    danger: Hit | None,
    granted: bool,
    held: bool = False,
    listed: bool = False,
    deny: str = "",
    path_verdict: str = "allow",
    path_rule: str = "",
) -> Verdict:
    """The verdict on one action.

    `trusted`, `hard` and `danger` are what the command checks said; `held`: the command's box holds all its dangers
    (`held_by`), so that they are no reason of their own to ask and are only told where it is asked anyway;
    `listed`: the user's config lets the program ask this host (`web.allow_hosts`); `deny`: the user's pattern that
    never allows it; `granted`: a person has allowed what `settled` makes of the action, for the session or for good;
    `path_verdict` "ask": the path door wants a person's consent, `path_rule` names why.
    """
    if isinstance(action, NoAction) or (isinstance(action, KeepAction) and not action.asks):
        return Verdict("allow", "", "")
    if hard is not None:
        return Verdict("refuse", f"hard floor: {hard.rule}", f"Refused: this command {hard.text}. {WAY_OUT}")
    if deny:
        return Verdict("refuse", DENY_RULE, f"Refused: the user's config never allows {deny!r} ({DENY_RULE}).")
    box = READ_ONLY
    if isinstance(action, CommandAction):
        action = settled(action, situation)
        box = box_of(action, situation, trusted)
    kind = _class_of(action, situation, trusted)
    answer = TABLE[situation.mode][kind]
    if kind == "web" and (listed or situation.network or situation.is_free):
        answer = "do"
    if trusted and kind == "bare":
        answer = "ask"  # it would run if the kernel kept it to reading
    if answer == "refuse":
        return Verdict("refuse", f"mode {situation.mode}", _PLAN_TEXT, box)
    if granted:
        return Verdict("allow", "granted", "", box, "grant")
    telling = danger if answer == "ask" or not held else None
    rule = _rule_to_ask(kind, answer, situation, trusted, telling, path_rule if path_verdict == "ask" else "")
    if not rule:
        return Verdict("allow", _why_allowed(kind, situation), "", box)
    if situation.policy == "never":
        # Nobody is to be asked: what is contained runs, what is not is refused. A file of secrets is not contained.
        # With full access there is nothing to leave; a path that wants consent still wants somebody to be there.
        contained = path_verdict != "ask" and kind not in ("bare", "leaving", "web", "server", "keep", "note")
        if contained or (situation.is_free and not (path_verdict == "ask" and situation.unattended)):
            return Verdict("allow", "policy never", "", box)
        return Verdict("refuse", rule, _NEVER_TEXT.format(rule=rule), box)
    if situation.unattended:
        return Verdict("refuse", rule, _UNATTENDED_TEXT.format(rule=rule), box, "unattended")
    return Verdict("ask", rule, danger.text if danger is not None else "", box)


def settled(action: CommandAction, situation: Situation) -> CommandAction:
    """The command as it would run: what it is said to need, but its box gives anyway, is as if it were not said.

    Where there is no box, every command has everything: what is allowed inside one says nothing about that.
    """
    if situation.is_bare:
        return replace(action, needs="everything")
    if action.needs in ("", "everything") and situation.mode != "plan":
        return action
    plain = replace(action, needs="")
    # Plan mode has no wider box to ask for.
    is_needless = situation.mode == "plan" or _box(action, situation) == _box(plain, situation)
    return plain if is_needless else action


def box_of(action: CommandAction, situation: Situation, trusted: bool) -> Box:
    """What the command runs in, once it is allowed to.

    Trusted commands only read and are held to it; so are all commands of the modes that look and do not touch.
    """
    action = settled(action, situation)
    return READ_ONLY if trusted and not action.needs else _box(action, situation)


def held_by(box: Box) -> frozenset[str]:
    """Names of the dangers (danger.py) that a box holds: what such a command would do fails there.

    What is lost inside the workspace is for a person to judge, not for the kernel, unless nothing can be written.
    """
    if box.network:
        return frozenset()
    return _HELD | _LOSSES if box.mode == "read-only" else _HELD


_HELD: Final = frozenset({"unseen-code", "packages", "privilege", "system-change", "containers", "cloud", "remote"})
_LOSSES: Final = frozenset(
    {
        "removal",
        "found-and-deleted",
        "overwriting",
        "git",
        "database",
        "unpacking",
        "protected-file",
        "mode",
        "together",
    }
)


def _box(action: CommandAction, situation: Situation) -> Box:
    if action.needs == "everything":
        return UNCONFINED
    usual: SandboxMode = "read-only" if situation.mode in MODES_READ_ONLY else situation.sandbox
    return Box("workspace-write" if action.needs == "write" else usual, situation.network or action.needs == "network")


def _class_of(
    action: ReadAction | EditAction | CommandAction | WebAction | ServerAction | KeepAction,
    situation: Situation,
    trusted: bool,
) -> _Class:
    """Of an action that is settled."""
    if isinstance(action, ReadAction):
        return "read"
    if isinstance(action, WebAction):
        return "web"
    if isinstance(action, ServerAction):
        if not action.trusted:
            return "server"
        return "read" if action.reads and not action.destroys else "server" if action.destroys else "ours"
    if isinstance(action, KeepAction):
        return "note" if action.is_note else "keep"
    if isinstance(action, EditAction):
        return "leaving" if situation.sandbox == "read-only" else "edit"
    if situation.is_bare:
        return "trusted" if trusted and (situation.is_free or situation.accepted) else "bare"
    if action.needs:
        return "leaving"
    if trusted:
        return "trusted"
    return "bare" if situation.gap else "contained"


def _rule_to_ask(
    kind: _Class, answer: _Answer, situation: Situation, trusted: bool, danger: Hit | None, path_rule: str
) -> str:
    """The most telling rule that wants a person; empty when none does."""
    if path_rule:
        return path_rule
    if danger is not None:
        return f"dangerous: {danger.rule}"
    if answer == "ask":
        # In mode ask the mode itself is the reason, but not for what only reads: that, and elsewhere any command, would
        # run if it were contained.
        if kind == "leaving":
            return "leaves the sandbox"
        if kind == "bare" and (trusted or situation.mode != "ask"):
            return "no sandbox" if situation.is_bare else situation.gap
        return _ASKS.get(kind, f"mode {situation.mode}")
    if situation.policy == "always" and kind != "read":
        return "policy always"
    return ""


_ASKS: Final[dict[_Class, str]] = {
    "web": "the web", "server": "an MCP server", "keep": "kept for later sessions", "note": "kept for later sessions",
}  # fmt: skip


def _why_allowed(kind: _Class, situation: Situation) -> str:
    return kind if kind in ("read", "trusted", "web", "server", "keep", "note") else f"mode {situation.mode}"


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
