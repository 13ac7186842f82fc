"""Who decides: the whole matrix of mode, policy, sandbox and attendance, and what a session's grants cover."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from agent_core.grants import Grants
from agent_core.messages import FileDiff
from agent_core.names import APPROVAL_POLICIES, MODES, ApprovalPolicy, Mode
from agent_core.ports import CommandAction, EditAction, NoAction, ReadAction
from agent_core.safety.hardline import WAY_OUT, Hit
from agent_core.safety.policy import Situation, decide


def edit(*paths: str) -> EditAction:
    return EditAction(tuple(FileDiff(path, (), 1, 0) for path in paths))


COMMAND = CommandAction("make test", "/ws")
READ = ReadAction("a.py")
ACTIONS = {
    "none": (NoAction(), {}),
    "read": (READ, {}),
    "secret": (ReadAction(".env"), {"path_verdict": "ask", "path_rule": "protected: secrets"}),
    "edit": (edit("a.py"), {}),
    "git": (edit(".git/config"), {"path_verdict": "ask", "path_rule": "protected: runs later"}),
    "trusted": (COMMAND, {"trusted": True}),
    "command": (COMMAND, {}),
    "danger": (COMMAND, {"danger": Hit("removal", "removes recursively: rm -r build")}),
}


def verdict(name: str, mode: Mode, policy: ApprovalPolicy = "untrusted", sandboxed=False, unattended=False, **given):
    action, facts = ACTIONS[name]
    facts = {"trusted": False, "hard": None, "danger": None, "granted": False} | facts | given
    return decide(action, Situation(mode, policy, unattended, kernel=sandboxed, accepted=not sandboxed), **facts)


# One row a mode and sandbox, one column an action: "+" runs, "?" asks, "-" is refused. Written out, so that a change
# of the program's table must be made here as well. Columns: none read secret edit git trusted command danger
MATRIX = {
    ("untrusted", False): {
        "ask":   "+ + ? ? ? + ? ?",
        "plan":  "+ + ? - - + - -",
        "debug": "+ + ? ? ? + ? ?",
        "auto":  "+ + ? + ? + ? ?",
        "goal":  "+ + ? + ? + ? ?",
    },
    ("untrusted", True): {
        "ask":   "+ + ? ? ? + ? ?",
        "plan":  "+ + ? - - + - -",
        "debug": "+ + ? ? ? + + ?",
        "auto":  "+ + ? + ? + + ?",
        "goal":  "+ + ? + ? + + ?",
    },
    ("always", False): {
        "ask":   "+ + ? ? ? ? ? ?",
        "plan":  "+ + ? - - ? - -",
        "debug": "+ + ? ? ? ? ? ?",
        "auto":  "+ + ? ? ? ? ? ?",
        "goal":  "+ + ? ? ? ? ? ?",
    },
    ("always", True): {
        "ask":   "+ + ? ? ? ? ? ?",
        "plan":  "+ + ? - - ? - -",
        "debug": "+ + ? ? ? ? ? ?",
        "auto":  "+ + ? ? ? ? ? ?",
        "goal":  "+ + ? ? ? ? ? ?",
    },
    ("never", False): {
        "ask":   "+ + - + - + - -",
        "plan":  "+ + - - - + - -",
        "debug": "+ + - + - + - -",
        "auto":  "+ + - + - + - -",
        "goal":  "+ + - + - + - -",
    },
    ("never", True): {
        "ask":   "+ + - + - + + +",
        "plan":  "+ + - - - + - -",
        "debug": "+ + - + - + + +",
        "auto":  "+ + - + - + + +",
        "goal":  "+ + - + - + + +",
    },
}  # fmt: skip
SIGN = {"allow": "+", "ask": "?", "refuse": "-"}


def test_the_matrix_is_complete():
    assert set(MATRIX) == set(product(APPROVAL_POLICIES, (True, False)))
    assert all(set(rows) == set(MODES) == set(get_args(Mode)) for rows in MATRIX.values())


@pytest.mark.parametrize(("policy", "sandboxed"), MATRIX)
@pytest.mark.parametrize("mode", MODES)
def test_every_action_is_decided_by_mode_policy_and_sandbox(mode, policy, sandboxed):
    row = " ".join(SIGN[verdict(name, mode, policy, sandboxed).verdict] for name in ACTIONS)
    assert row == MATRIX[policy, sandboxed][mode]


@pytest.mark.parametrize(("policy", "sandboxed"), MATRIX)
@pytest.mark.parametrize("mode", MODES)
def test_with_nobody_there_what_would_ask_is_refused_and_named(mode, policy, sandboxed):
    for name in ACTIONS:
        attended = verdict(name, mode, policy, sandboxed)
        alone = verdict(name, mode, policy, sandboxed, unattended=True)
        assert alone.rule == attended.rule
        assert alone.verdict == ("refuse" if attended.verdict == "ask" else attended.verdict)
        if attended.verdict == "ask":
            assert alone.rule in alone.text


@pytest.mark.parametrize(("policy", "sandboxed"), MATRIX)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("granted", [True, False])
def test_the_hard_floor_is_refused_whatever_else_holds(mode, policy, sandboxed, granted):
    floor = Hit("power", "stops the machine: poweroff")
    got = verdict("command", mode, policy, sandboxed, trusted=True, granted=granted, hard=floor)
    assert (got.verdict, got.rule) == ("refuse", "hard floor: power")
    assert floor.text in got.text
    assert WAY_OUT in got.text


@pytest.mark.parametrize(("policy", "sandboxed"), MATRIX)
@pytest.mark.parametrize("unattended", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_a_grant_covers_everything_but_what_the_mode_refuses(mode, policy, sandboxed, unattended):
    for name in ACTIONS:
        refused = MATRIX["untrusted", sandboxed][mode].split()[list(ACTIONS).index(name)] == "-"
        got = verdict(name, mode, policy, sandboxed, unattended, granted=True)
        assert got.verdict == ("refuse" if refused else "allow")


@pytest.mark.parametrize(
    ("name", "mode", "policy", "rule"),
    [
        ("edit", "ask", "untrusted", "mode ask"),
        ("command", "ask", "untrusted", "mode ask"),
        ("command", "auto", "untrusted", "no sandbox"),
        ("danger", "auto", "untrusted", "dangerous: removal"),
        ("secret", "auto", "untrusted", "protected: secrets"),
        ("trusted", "ask", "always", "policy always"),
    ],
)
def test_a_question_names_the_rule_that_asks(name, mode, policy, rule):
    assert verdict(name, mode, policy).rule == rule


def test_a_question_about_a_dangerous_command_says_what_it_would_do():
    assert verdict("danger", "ask").text == "removes recursively: rm -r build"


def test_a_refusal_in_plan_mode_tells_the_model_the_way_out():
    assert "exit_plan" in verdict("edit", "plan").text


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
