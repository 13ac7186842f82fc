"""Who decides: the whole matrix of policy, sandbox, mode and what is to be done, and what a session's grants cover."""

from __future__ import annotations

from itertools import product

from agent_core.grants import Grants
from agent_core.messages import FileDiff
from agent_core.names import APPROVAL_POLICIES, MODES
from agent_core.ports.actions import (
    CommandAction,
    EditAction,
    KeepAction,
    NoAction,
    ReadAction,
    ServerAction,
    WebAction,
)
from agent_core.safety import danger
from agent_core.safety.hardline import WAY_OUT, Hit
from agent_core.safety.policy import Situation, box_of, decide, held_by, settled
from agent_core.sandbox.policy import READ_ONLY, UNCONFINED, Box
from tests.rows import each_row


def edit(*paths: str) -> EditAction:
    return EditAction(tuple(FileDiff(path, (), 1, 0) for path in paths))


def command(needs: str = "") -> CommandAction:
    return CommandAction("make test", "/ws", needs)


COMMAND = command()
READ = ReadAction("a.py")
ACTIONS = {
    "read": (READ, {}),
    "secret": (ReadAction(".env"), {"path_verdict": "ask", "path_rule": "protected: secrets"}),
    "edit": (edit("a.py"), {}),
    "guarded": (edit(".git/config"), {"path_verdict": "ask", "path_rule": "protected: runs later"}),
    "trusted": (COMMAND, {"trusted": True}),
    "command": (COMMAND, {}),
    "danger": (COMMAND, {"danger": Hit("removal", "removes recursively: rm -r build")}),
    "write": (command("write"), {}),
    "network": (command("network"), {}),
    "all": (command("everything"), {}),
    "web": (WebAction("https://a.example/", "a.example"), {}),
}
SANDBOXES = {
    "workspace": {"kernel": True, "sandbox": "workspace-write"},
    "read-only": {"kernel": True, "sandbox": "read-only"},
    "full": {"kernel": True, "sandbox": "danger-full-access"},
    "none": {},  # the machine has none
    "accepted": {"accepted": True},  # the machine has none, and the person has accepted that
    "gap": {"kernel": True, "gap": "files of secrets cannot be hidden"},
}
BOXES = {
    READ_ONLY: "r", Box("read-only", network=True): "N",
    Box("workspace-write"): "w", Box("workspace-write", network=True): "n",
    UNCONFINED: "x",
}  # fmt: skip

# "+" runs, "?" asks, "-" is refused; behind it, for commands, the box: r read-only, w workspace-write, N and n the same
# with network, x none. Written out, so that a change of the program's table must be made here as well. The columns:
# reading · a file of secrets · a change in the workspace · a change of what git or an editor runs · commands: trusted
# (they only read) · any other · one with a dangerous pattern · any that says it needs write, network, everything · a
# page of the web.
MATRIX = """
    policy    sandbox   mode  | re se ed gu tr co da wr ne al we

    untrusted workspace ask   | +  ?  ?  ?  +r ?w ?w ?w ?n ?x ?
    untrusted workspace plan  | +  ?  -  -  +r -  -  -  -  - ?
    untrusted workspace debug | +  ?  ?  ?  +r +r ?r ?w ?N ?x ?
    untrusted workspace auto  | +  ?  +  ?  +r +w ?w +w ?n ?x ?
    untrusted workspace goal  | +  ?  +  ?  +r +w ?w +w ?n ?x ?

    untrusted read-only ask   | +  ?  ?  ?  +r ?r ?r ?w ?N ?x ?
    untrusted read-only plan  | +  ?  -  -  +r -  -  -  -  - ?
    untrusted read-only debug | +  ?  ?  ?  +r +r ?r ?w ?N ?x ?
    untrusted read-only auto  | +  ?  ?  ?  +r +r ?r ?w ?N ?x ?
    untrusted read-only goal  | +  ?  ?  ?  +r +r ?r ?w ?N ?x ?

    untrusted full      ask   | +  ?  ?  ?  +x ?x ?x ?x ?x ?x +
    untrusted full      plan  | +  ?  -  -  +r -  -  -  -  - +
    untrusted full      debug | +  ?  ?  ?  +r +r ?r ?w ?N ?x +
    untrusted full      auto  | +  ?  +  ?  +x ?x ?x ?x ?x ?x +
    untrusted full      goal  | +  ?  +  ?  +x ?x ?x ?x ?x ?x +

    untrusted none      ask   | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    untrusted none      plan  | +  ?  -  -  ?x -  -  -  -  - ?
    untrusted none      debug | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    untrusted none      auto  | +  ?  +  ?  ?x ?x ?x ?x ?x ?x ?
    untrusted none      goal  | +  ?  +  ?  ?x ?x ?x ?x ?x ?x ?

    untrusted accepted  ask   | +  ?  ?  ?  +x ?x ?x ?x ?x ?x ?
    untrusted accepted  plan  | +  ?  -  -  +x -  -  -  -  - ?
    untrusted accepted  debug | +  ?  ?  ?  +x ?x ?x ?x ?x ?x ?
    untrusted accepted  auto  | +  ?  +  ?  +x ?x ?x ?x ?x ?x ?
    untrusted accepted  goal  | +  ?  +  ?  +x ?x ?x ?x ?x ?x ?

    untrusted gap       ask   | +  ?  ?  ?  +r ?w ?w ?w ?n ?x ?
    untrusted gap       plan  | +  ?  -  -  +r -  -  -  -  - ?
    untrusted gap       debug | +  ?  ?  ?  +r ?r ?r ?w ?N ?x ?
    untrusted gap       auto  | +  ?  +  ?  +r ?w ?w ?w ?n ?x ?
    untrusted gap       goal  | +  ?  +  ?  +r ?w ?w ?w ?n ?x ?

    always    workspace ask   | +  ?  ?  ?  ?r ?w ?w ?w ?n ?x ?
    always    workspace plan  | +  ?  -  -  ?r -  -  -  -  - ?
    always    workspace debug | +  ?  ?  ?  ?r ?r ?r ?w ?N ?x ?
    always    workspace auto  | +  ?  ?  ?  ?r ?w ?w ?w ?n ?x ?
    always    workspace goal  | +  ?  ?  ?  ?r ?w ?w ?w ?n ?x ?

    always    read-only ask   | +  ?  ?  ?  ?r ?r ?r ?w ?N ?x ?
    always    read-only plan  | +  ?  -  -  ?r -  -  -  -  - ?
    always    read-only debug | +  ?  ?  ?  ?r ?r ?r ?w ?N ?x ?
    always    read-only auto  | +  ?  ?  ?  ?r ?r ?r ?w ?N ?x ?
    always    read-only goal  | +  ?  ?  ?  ?r ?r ?r ?w ?N ?x ?

    always    full      ask   | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    full      plan  | +  ?  -  -  ?r -  -  -  -  - ?
    always    full      debug | +  ?  ?  ?  ?r ?r ?r ?w ?N ?x ?
    always    full      auto  | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    full      goal  | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?

    always    none      ask   | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    none      plan  | +  ?  -  -  ?x -  -  -  -  - ?
    always    none      debug | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    none      auto  | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    none      goal  | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?

    always    accepted  ask   | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    accepted  plan  | +  ?  -  -  ?x -  -  -  -  - ?
    always    accepted  debug | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    accepted  auto  | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?
    always    accepted  goal  | +  ?  ?  ?  ?x ?x ?x ?x ?x ?x ?

    always    gap       ask   | +  ?  ?  ?  ?r ?w ?w ?w ?n ?x ?
    always    gap       plan  | +  ?  -  -  ?r -  -  -  -  - ?
    always    gap       debug | +  ?  ?  ?  ?r ?r ?r ?w ?N ?x ?
    always    gap       auto  | +  ?  ?  ?  ?r ?w ?w ?w ?n ?x ?
    always    gap       goal  | +  ?  ?  ?  ?r ?w ?w ?w ?n ?x ?

    never     workspace ask   | +  -  +  -  +r +w +w +w -  - -
    never     workspace plan  | +  -  -  -  +r -  -  -  -  - -
    never     workspace debug | +  -  +  -  +r +r +r -  -  - -
    never     workspace auto  | +  -  +  -  +r +w +w +w -  - -
    never     workspace goal  | +  -  +  -  +r +w +w +w -  - -

    never     read-only ask   | +  -  -  -  +r +r +r -  -  - -
    never     read-only plan  | +  -  -  -  +r -  -  -  -  - -
    never     read-only debug | +  -  -  -  +r +r +r -  -  - -
    never     read-only auto  | +  -  -  -  +r +r +r -  -  - -
    never     read-only goal  | +  -  -  -  +r +r +r -  -  - -

    never     full      ask   | +  +  +  +  +x +x +x +x +x +x +
    never     full      plan  | +  +  -  -  +r -  -  -  -  - +
    never     full      debug | +  +  +  +  +r +r +r +w +N +x +
    never     full      auto  | +  +  +  +  +x +x +x +x +x +x +
    never     full      goal  | +  +  +  +  +x +x +x +x +x +x +

    never     none      ask   | +  -  +  -  -  -  -  -  -  - -
    never     none      plan  | +  -  -  -  -  -  -  -  -  - -
    never     none      debug | +  -  +  -  -  -  -  -  -  - -
    never     none      auto  | +  -  +  -  -  -  -  -  -  - -
    never     none      goal  | +  -  +  -  -  -  -  -  -  - -

    never     accepted  ask   | +  -  +  -  +x -  -  -  -  - -
    never     accepted  plan  | +  -  -  -  +x -  -  -  -  - -
    never     accepted  debug | +  -  +  -  +x -  -  -  -  - -
    never     accepted  auto  | +  -  +  -  +x -  -  -  -  - -
    never     accepted  goal  | +  -  +  -  +x -  -  -  -  - -

    never     gap       ask   | +  -  +  -  +r -  -  -  -  - -
    never     gap       plan  | +  -  -  -  +r -  -  -  -  - -
    never     gap       debug | +  -  +  -  +r -  -  -  -  - -
    never     gap       auto  | +  -  +  -  +r -  -  -  -  - -
    never     gap       goal  | +  -  +  -  +r -  -  -  -  - -
"""
ROWS = {tuple(line.split("|")[0].split()): line.split("|")[1].split() for line in MATRIX.splitlines() if "|" in line}
DECIDED = {key: dict(zip(ACTIONS, cells, strict=True)) for key, cells in ROWS.items() if key[0] != "policy"}


def verdict(name: str, mode: str, policy: str = "untrusted", sandbox: str = "workspace", unattended=False, **given):
    action, facts = ACTIONS[name]
    facts = {"trusted": False, "hard": None, "danger": None, "granted": False} | facts | given
    return decide(action, Situation(mode, policy, unattended, **SANDBOXES[sandbox]), **facts)


def cell(name: str, *place: str) -> str:
    got = verdict(name, *place)
    sign = {"allow": "+", "ask": "?", "refuse": "-"}[got.verdict]
    is_command = isinstance(ACTIONS[name][0], CommandAction)
    return sign + (BOXES[got.box] if is_command and sign != "-" else "")


def test_the_matrix_is_complete():
    assert set(DECIDED) == set(product(APPROVAL_POLICIES, SANDBOXES, MODES))


@each_row(("policy", "sandbox", "mode"), DECIDED)
def test_every_action_is_decided_by_policy_sandbox_and_mode(policy, sandbox, mode):
    got = {name: cell(name, mode, policy, sandbox) for name in ACTIONS}
    assert got == DECIDED[policy, sandbox, mode]


@each_row(("policy", "sandbox", "mode"), DECIDED)
def test_with_nobody_there_what_would_ask_is_refused_and_named(policy, sandbox, mode):
    for name in ACTIONS:
        attended = verdict(name, mode, policy, sandbox)
        alone = verdict(name, mode, policy, sandbox, unattended=True)
        if attended.verdict == "ask":
            assert (alone.verdict, alone.by, alone.rule) == ("refuse", "unattended", attended.rule)
            assert alone.rule in alone.text
        elif policy == "never" and sandbox == "full" and name in ("secret", "guarded"):
            # Full access and nobody asked: but what wants consent by its path wants somebody who could give it.
            assert alone.verdict == "refuse"
        else:
            assert (alone.verdict, alone.box) == (attended.verdict, attended.box)


@each_row(("policy", "sandbox", "mode"), DECIDED)
@each_row("granted", [True, False])
def test_the_hard_floor_and_the_deny_patterns_are_refused_whatever_else_holds(policy, sandbox, mode, granted):
    floor = Hit("power", "stops the machine: poweroff")
    got = verdict("command", mode, policy, sandbox, trusted=True, granted=granted, hard=floor, deny="make *")
    assert (got.verdict, got.rule) == ("refuse", "hard floor: power")
    assert floor.text in got.text
    assert WAY_OUT in got.text
    got = verdict("command", mode, policy, sandbox, trusted=True, granted=granted, deny="make *")
    assert (got.verdict, got.rule) == ("refuse", "approvals.deny")
    assert "'make *'" in got.text


@each_row(("policy", "sandbox", "mode"), DECIDED)
@each_row("unattended", [True, False])
def test_a_grant_covers_everything_but_what_the_mode_refuses(policy, sandbox, mode, unattended):
    for name in ACTIONS:
        refused = DECIDED["untrusted", sandbox, mode][name] == "-"
        got = verdict(name, mode, policy, sandbox, unattended, granted=True)
        assert got.verdict == ("refuse" if refused else "allow")


# -- dangers that the box holds --------------------------------------------------------------------------------------


@each_row(
    ("text", "box", "held"),
    [
        ("python3 -c 'print(1)'", Box("workspace-write"), True),
        ("sudo make install", Box("workspace-write"), True),
        ("npm install", Box("workspace-write"), True),
        ("npm install", Box("workspace-write", network=True), False),
        ("python3 -c 'print(1)'", UNCONFINED, False),
        ("rm -r build", Box("workspace-write"), False),  # what is lost inside is for a person to judge
        ("git reset --hard", Box("workspace-write"), False),
        ("sh -c 'rm -r build'", Box("workspace-write"), False),  # whatever it is wrapped in
        ("python3 -c 'print(1)'; rm -r build", Box("workspace-write"), False),
        ("rm -r build", READ_ONLY, True),
        ("git clean -fdx && make", READ_ONLY, True),
        ("pkill python", READ_ONLY, False),  # not on every kernel
        ("ls \u202etxt", READ_ONLY, False),  # nobody can read what it does
    ],
)
def test_a_danger_that_the_box_holds_is_none_to_ask_about(text, box, held):
    assert danger.detect(text) is not None
    assert (danger.detect(text, held_by(box)) is None) == held


@each_row(
    ("mode", "policy", "verdict_", "rule"),
    [
        ("auto", "untrusted", "allow", "mode auto"),
        ("debug", "untrusted", "allow", "mode debug"),
        ("ask", "untrusted", "ask", "dangerous: removal"),  # asked anyway: then it is told
        ("plan", "untrusted", "refuse", "mode plan"),
        ("auto", "always", "ask", "policy always"),
        ("auto", "never", "allow", "mode auto"),
    ],
)
def test_a_danger_that_is_held_is_told_where_it_is_asked_anyway(mode, policy, verdict_, rule):
    got = verdict("danger", mode, policy, held=True)
    assert (got.verdict, got.rule) == (verdict_, rule)


# -- words -------------------------------------------------------------------------------------------------------


@each_row(
    ("name", "mode", "policy", "sandbox", "rule"),
    [
        ("edit", "ask", "untrusted", "workspace", "mode ask"),
        ("command", "ask", "untrusted", "workspace", "mode ask"),
        ("command", "auto", "untrusted", "none", "no sandbox"),
        ("command", "ask", "untrusted", "none", "mode ask"),
        ("trusted", "ask", "untrusted", "none", "no sandbox"),
        ("command", "auto", "untrusted", "gap", "files of secrets cannot be hidden"),
        ("network", "auto", "untrusted", "workspace", "leaves the sandbox"),
        ("network", "ask", "untrusted", "workspace", "leaves the sandbox"),
        ("edit", "auto", "untrusted", "read-only", "leaves the sandbox"),
        ("danger", "auto", "untrusted", "workspace", "dangerous: removal"),
        ("secret", "auto", "untrusted", "workspace", "protected: secrets"),
        ("trusted", "ask", "always", "workspace", "policy always"),
    ],
)
def test_a_question_names_the_rule_that_asks(name, mode, policy, sandbox, rule):
    assert verdict(name, mode, policy, sandbox).rule == rule


def test_where_there_is_no_sandbox_a_gap_in_it_is_no_reason():
    situation = Situation("auto", "untrusted", unattended=False, gap="files of secrets cannot be hidden")
    found = decide(CommandAction("make", "/ws"), situation, trusted=False, hard=None, danger=None, granted=False)
    assert (found.verdict, found.rule) == ("ask", "no sandbox")


def test_a_question_about_a_dangerous_command_says_what_it_would_do():
    assert verdict("danger", "ask").text == "removes recursively: rm -r build"


def test_a_refusal_in_plan_mode_tells_the_model_the_way_out():
    assert "exit_plan" in verdict("edit", "plan").text


def test_what_no_rule_could_stop_is_allowed():
    for mode in MODES:
        situation = Situation(mode, "always", True)
        assert decide(NoAction(), situation, trusted=False, hard=None, danger=None, granted=False).verdict == "allow"


# -- what a command says it needs ---------------------------------------------------------------------------------


@each_row(
    ("mode", "given", "needs", "left"),
    [
        ("auto", {"kernel": True}, "write", ""),  # the workspace is writable anyway
        ("auto", {"kernel": True}, "network", "network"),
        ("auto", {"kernel": True, "network": True}, "network", ""),
        ("auto", {"kernel": True}, "everything", "everything"),
        ("auto", {"kernel": True, "sandbox": "read-only"}, "write", "write"),
        ("debug", {"kernel": True}, "write", "write"),
        ("debug", {"kernel": True, "network": True}, "network", ""),
        ("plan", {"kernel": True}, "write", ""),  # a plan has nothing wider to ask for
        ("plan", {"kernel": True}, "everything", ""),
        ("ask", {}, "", "everything"),  # where there is no box, every command has everything
        ("ask", {"kernel": True, "sandbox": "danger-full-access"}, "network", "everything"),
        ("debug", {"kernel": True, "sandbox": "danger-full-access"}, "", ""),
        ("plan", {}, "", "everything"),
    ],
)
def test_a_need_that_is_met_anyway_is_as_if_it_were_not_said(mode, given, needs, left):
    assert settled(command(needs), Situation(mode, "untrusted", False, **given)).needs == left


@each_row(
    ("mode", "given", "needs", "box"),
    [
        ("auto", {"kernel": True}, "", READ_ONLY),
        ("auto", {"kernel": True}, "write", READ_ONLY),
        ("auto", {"kernel": True, "network": True}, "", READ_ONLY),
        ("debug", {"kernel": True, "network": True}, "network", READ_ONLY),
        ("auto", {"kernel": True}, "network", Box("workspace-write", network=True)),
        ("plan", {"kernel": True}, "everything", READ_ONLY),
        ("auto", {}, "", UNCONFINED),
    ],
)
def test_a_trusted_command_is_held_to_reading_unless_it_says_otherwise(mode, given, needs, box):
    assert box_of(command(needs), Situation(mode, "untrusted", False, **given), trusted=True) == box


def test_commands_that_are_trusted_run_in_plan_mode_whatever_they_say_they_need():
    for needs in ("write", "network", "everything"):
        situation = Situation("plan", "never", True, kernel=True)
        got = decide(command(needs), situation, trusted=True, hard=None, danger=None, granted=False)
        assert (got.verdict, got.box) == ("allow", READ_ONLY)


# -- grants -------------------------------------------------------------------------------------------------------


def test_a_command_grant_covers_that_text_in_that_folder_only():
    grants = Grants()
    grants.grant(COMMAND)
    assert grants.covers(COMMAND)
    assert not grants.covers(CommandAction("make test ", "/ws"))
    assert not grants.covers(CommandAction("make test", "/ws/sub"))
    assert not grants.covers(edit("a.py"))
    assert not grants.covers(READ)


def test_a_grant_for_edits_never_covers_a_path_a_rule_asks_about():
    grants = Grants()
    grants.grant(edit("a.py"))
    assert grants.covers(edit("b.py", "c.py"))
    assert not grants.covers(edit(".git/config"), path_asked=True)
    assert not grants.covers(COMMAND)


def test_a_grant_for_a_protected_file_covers_that_file_only():
    grants = Grants()
    grants.grant(edit(".git/config"), path_asked=True)
    assert grants.covers(edit(".git/config"), path_asked=True)
    assert not grants.covers(edit(".git/config", ".envrc"), path_asked=True)
    assert not grants.covers(edit("a.py"))


def test_a_grant_to_read_a_file_does_not_allow_changing_it():
    grants = Grants()
    grants.grant(ReadAction(".env"), path_asked=True)
    assert grants.covers(ReadAction(".env"), path_asked=True)
    assert not grants.covers(ReadAction(".env.local"), path_asked=True)
    assert not grants.covers(edit(".env"), path_asked=True)


def test_nothing_is_granted_by_an_action_without_effect():
    grants = Grants()
    grants.grant(NoAction())
    assert not grants.covers(NoAction())
    assert not grants.covers(edit(), path_asked=True)


# -- tools of MCP servers, and what is kept for later sessions -----------------------------------------------------

OTHERS = {
    "stranger": ServerAction("s", "t", "i", reads=False),
    "boasts": ServerAction("s", "t", "i", trusted=False, reads=True),  # what it says of itself lowers nothing
    "reads": ServerAction("s", "t", "i", trusted=True, reads=True),
    "ours": ServerAction("s", "t", "i", trusted=True),
    "destroys": ServerAction("s", "t", "i", trusted=True, destroys=True),
    "both": ServerAction("s", "t", "i", trusted=True, reads=True, destroys=True),
    "keep": KeepAction("Write a skill"),
    "shown": KeepAction("Write a skill", asks=False),
    "note": KeepAction("Remember it", is_note=True),
}
# The columns are those of OTHERS; a sandbox does not hold what runs outside of it.
OTHER_ROWS = """
    untrusted workspace ask   | ?  ?  +  ?  ?  ?  ?  +  ?
    untrusted workspace plan  | -  -  +  -  -  -  -  +  ?
    untrusted workspace debug | ?  ?  +  ?  ?  ?  ?  +  ?
    untrusted workspace auto  | ?  ?  +  +  ?  ?  ?  +  ?
    untrusted workspace goal  | ?  ?  +  +  ?  ?  ?  +  ?
    untrusted none      auto  | ?  ?  +  +  ?  ?  ?  +  ?
    always    workspace ask   | ?  ?  +  ?  ?  ?  ?  +  ?
    always    workspace auto  | ?  ?  +  ?  ?  ?  ?  +  ?
    never     workspace ask   | -  -  +  +  -  -  -  +  -
    never     workspace plan  | -  -  +  -  -  -  -  +  -
    never     workspace auto  | -  -  +  +  -  -  -  +  -
    never     full      ask   | +  +  +  +  +  +  +  +  +
    never     full      plan  | -  -  +  -  -  -  -  +  +
"""


@each_row("line", [line for line in OTHER_ROWS.splitlines() if "|" in line])
def test_what_a_server_does_is_asked_about_unless_the_user_trusts_it_and_it_only_reads(line):
    key, cells = line.split("|")
    policy, sandbox, mode = key.split()
    situation = Situation(mode=mode, policy=policy, unattended=False, **SANDBOXES[sandbox])
    for (name, action), cell in zip(OTHERS.items(), cells.split(), strict=True):
        verdict = decide(action, situation, trusted=False, hard=None, danger=None, granted=False)
        assert {"allow": "+", "ask": "?", "refuse": "-"}[verdict.verdict] == cell, name
        granted = decide(action, situation, trusted=False, hard=None, danger=None, granted=True)
        assert granted.verdict == ("refuse" if verdict.rule == "mode plan" else "allow"), name
