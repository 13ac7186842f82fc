"""From a call to its start: who is asked in which order, what goes on record, and that only what was allowed runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import pytest

from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, Interrupted, SandboxError, StoreError, TurnHalted
from agent_core.grants import Grants
from agent_core.messages import DiffLine, FileDiff, Hunk, ToolCall
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.asking import Reply, Review
from agent_core.ports.commands import ExecResult
from agent_core.ports.tools import Prepared, Tool, ToolOutput
from agent_core.safety.policy import Situation
from agent_core.safety.shell_trust import TrustContext
from agent_core.tools.call import run_call
from agent_core.tools.stopwatch import Stopwatch
from agent_core.tools.toolbox import Toolbox

from .tool_support import TOOLS, Person, context

SOME = "make test"
LOOK = "ls"
FLOOR = "mkfs.ext4 /dev/sda1"


@dataclass
class Backend:
    """Starts nothing, and remembers what it was to start and in which box."""

    ran: list = field(default_factory=list)

    def execute(self, command, cwd, *, box, timeout, env, cancel, on_output=None):
        self.ran.append((command, box.words))
        return ExecResult(0, "done", "", 0.1)


class OneGrant(Grants):
    """Offers one pattern, and remembers what was granted for good."""

    def __init__(self):
        super().__init__()
        self.always = []

    def pattern_for(self, action, box=None):
        return "make *"

    def grant_always(self, action, pattern="", box=None):
        self.always.append((action.command, pattern, box.words))


class Desk:
    """A toolbox with everything that stands before a call, each part noting in `order` that it was asked."""

    def __init__(self, tmp_path, *replies, mode="ask", policy="untrusted", kernel=True, unattended=False, **parts):
        self.order: list[str] = []
        self.decided = []
        self.backend = Backend()
        self.person = Person(*replies)
        self.grants = OneGrant()
        self.why, self.says, self.remark, self.deny = "", None, "", ()
        for name, value in parts.items():
            setattr(self, name, value)
        self.context = context(tmp_path, asker=self, backend=self.backend, env={"PATH": "/usr/bin:/bin"})
        self.situation = Situation(mode, policy, unattended, kernel=kernel)

    def ask(self, question, cancel):
        self.order.append("person")
        return self.person.ask(question, cancel)

    def veto(self, call, name, arguments):
        self.order.append("hook")
        return self.why

    def review(self, action, verdict, cancel):
        self.order.append("reviewer")
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    @property
    def toolbox(self):
        return Toolbox(
            TOOLS, self.context, lambda: self.situation, self.grants,
            lambda folder: TrustContext(folder, "/usr/bin:/bin", self.context.home, git_is_plain=True),
            lambda text: text, deny=lambda: self.deny, veto=self.veto,
            remark=lambda call, name, arguments, output: self.remark,
            review=self.review if self.says is not None else None, record=self.decided.append,
        )  # fmt: skip

    def run(self, name="run_command", **arguments):
        call = ToolCall("c1", name, arguments)
        return run_call(self.toolbox, call, CancelScope(), lambda call, effect: self.order.append("start"))

    @property
    def said(self):
        return [(d.verdict, d.rule, d.by) for d in self.decided]


@pytest.mark.parametrize(
    ("command", "parts", "order", "ran", "said"),
    [
        # The rules refuse: nobody else is asked.
        (FLOOR, {}, [], False, ("refuse", "hard floor: formatting", "rules")),
        (SOME, {"deny": ("make*",)}, [], False, ("refuse", "approvals.deny", "rules")),
        (SOME, {"mode": "plan"}, [], False, ("refuse", "mode plan", "rules")),
        (SOME, {"unattended": True}, [], False, ("refuse", "mode ask", "unattended")),
        # The rules allow: a hook may still forbid it.
        (LOOK, {}, ["hook", "start"], True, ("allow", "trusted", "rules")),
        (LOOK, {"why": "not here"}, ["hook"], False, ("refuse", "hook", "hook")),
        (SOME, {"mode": "auto"}, ["hook", "start"], True, ("allow", "mode auto", "rules")),
        ("sh -c 'make test'", {"mode": "auto"}, ["hook", "start"], True, ("allow", "mode auto", "rules")),
        ("sh -c 'rm -r src'", {"mode": "auto", "unattended": True}, [], False,
         ("refuse", "dangerous: removal", "unattended")),
        # The rules ask: the hook, the reviewer, the person, and none after a no.
        (SOME, {"why": "not here"}, ["hook"], False, ("refuse", "hook", "hook")),
        (SOME, {"replies": [Reply("once")]}, ["hook", "person", "start"], True, ("allow", "mode ask", "person")),
        (SOME, {"replies": [Reply("refuse")]}, ["hook", "person"], False, ("refuse", "mode ask", "person")),
        (SOME, {"replies": [Reply("refuse", by="timeout")]}, ["hook", "person"], False,
         ("refuse", "mode ask", "timeout")),
        (SOME, {"says": Review("approve")}, ["hook", "reviewer", "start"], True, ("allow", "mode ask", "reviewer")),
        (SOME, {"says": Review("deny", "odd")}, ["hook", "reviewer"], False, ("refuse", "mode ask", "reviewer")),
        (SOME, {"says": Review("escalate"), "replies": [Reply("once")]}, ["hook", "reviewer", "person", "start"], True,
         ("allow", "mode ask", "person")),
        # What the rules refuse, the reviewer does not see.
        (FLOOR, {"says": Review("approve")}, [], False, ("refuse", "hard floor: formatting", "rules")),
    ],
)  # fmt: skip
def test_each_is_asked_in_turn_and_none_undoes_a_refusal(tmp_path, command, parts, order, ran, said):
    desk = Desk(tmp_path, *parts.get("replies", ()), **{k: v for k, v in parts.items() if k != "replies"})
    result = desk.run(command=command)
    assert (desk.order, bool(desk.backend.ran), result.ok) == (order, ran, ran)
    assert desk.said == [said]


def test_what_a_person_has_granted_runs_unasked_but_not_past_a_hook(tmp_path):
    desk = Desk(tmp_path, Reply("session"))
    desk.run(command=SOME)
    desk.order.clear()
    assert desk.run(command=SOME).ok
    assert desk.order == ["hook", "start"]
    assert desk.said[-1] == ("allow", "granted", "grant")
    desk.why = "no"
    assert not desk.run(command=SOME).ok
    assert desk.said[-1] == ("refuse", "hook", "hook")


def test_a_grant_inside_the_sandbox_says_nothing_about_leaving_it(tmp_path):
    desk = Desk(tmp_path, Reply("session"), Reply("refuse"), Reply("refuse"))
    desk.run(command=SOME)
    assert desk.backend.ran == [(SOME, "workspace-write")]
    desk.run(command=SOME, needs="network")
    desk.situation = replace(desk.situation, kernel=False)
    desk.run(command=SOME)
    assert [question.sandbox for question in desk.person.questions] == [
        "workspace-write", "workspace-write, network", "no sandbox",
    ]  # fmt: skip
    assert len(desk.backend.ran) == 1


@pytest.mark.parametrize(
    ("reply", "granted"),
    [
        (Reply("always"), [(SOME, "make *", "workspace-write")]),
        (Reply("always", pattern=SOME), [(SOME, SOME, "workspace-write")]),
        (Reply("once"), []),
    ],
)
def test_always_is_offered_with_what_it_would_grant_and_grants_what_the_person_left(tmp_path, reply, granted):
    desk = Desk(tmp_path, reply)
    assert desk.run(command=SOME).ok
    question = desk.person.questions[0]
    assert (question.pattern, question.decisions) == ("make *", ("once", "session", "always", "refuse"))
    assert desk.grants.always == granted


def test_a_record_says_what_was_decided_where_and_in_which_box(tmp_path):
    desk = Desk(tmp_path, Reply("once"), Reply("refuse"), mode="ask")
    desk.run(command=SOME, needs="network")
    desk.run("write_file", path="a.txt", content="a")
    desk.run("read_file", path="missing.txt")
    desk.run("exit_plan", plan="x")
    command, edit, *rest = desk.decided
    assert (command.kind, command.what, command.cwd, command.sandbox, command.call_id) == (
        "command", SOME, str(desk.context.workspace), "workspace-write, network", "c1",
    )  # fmt: skip
    assert (edit.kind, edit.what, edit.verdict, edit.by) == ("edit", "a.txt", "refuse", "person")
    assert [(d.kind, d.what, d.verdict, d.rule) for d in rest] == [
        ("read", "missing.txt", "allow", "read"),
        ("tool", "exit_plan", "refuse", "mode ask"),
    ]


def test_a_record_comes_before_the_call_starts_and_without_it_the_call_does_not(tmp_path):
    desk = Desk(tmp_path, mode="auto")

    def record(decided):
        raise StoreError("store_locked", "The store is locked.")

    toolbox = replace(desk.toolbox, record=record)
    with pytest.raises(StoreError):
        run_call(toolbox, ToolCall("c1", "run_command", {"command": SOME}), CancelScope(), lambda call, effect: None)
    assert desk.backend.ran == []


def test_a_stop_while_a_person_is_asked_is_on_record_as_such(tmp_path):
    desk = Desk(tmp_path)
    desk.ask = lambda question, cancel: (_ for _ in ()).throw(Interrupted())
    desk.context = replace(desk.context, asker=desk)
    assert desk.run(command=SOME).outcome == "stopped"
    assert desk.said == [("refuse", "mode ask", "interrupt")]


def test_a_hooks_words_are_the_result_and_its_remark_follows_the_output(tmp_path):
    assert "not on Fridays" in Desk(tmp_path, why="not on Fridays").run(command=LOOK).text
    text = Desk(tmp_path, remark="[hook] format it").run(command=LOOK).text
    assert text.endswith("done\n[hook] format it")


def test_the_person_reads_why_the_reviewer_left_it_to_them(tmp_path):
    desk = Desk(tmp_path, Reply("refuse"), Reply("refuse"), says=Review("escalate", "it has a comment"))
    desk.run(command=SOME)
    desk.run(command="rm -r src")
    plain, dangerous = (question.text.split("\n") for question in desk.person.questions)
    assert plain == ["not reviewed: it has a comment"]
    assert dangerous == ["removes recursively: rm -r src", "not reviewed: it has a comment"]


def test_what_hooks_take_is_not_the_time_of_the_call(tmp_path):
    desk, watch, took = Desk(tmp_path), Stopwatch(), []

    def slow(*what):
        before = watch.seconds
        time.sleep(0.02)
        took.append(watch.seconds - before)
        return ""

    box = replace(desk.toolbox, veto=slow, remark=slow)
    assert run_call(box, ToolCall("c1", "run_command", {"command": LOOK}), CancelScope(), lambda *_: None, watch).ok
    assert took == [0.0, 0.0]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"mode": "auto"}, 'If it must have more, call again with needs="network".'),
        ({"mode": "auto", "unattended": True}, "Nobody can be asked for more"),
        ({"mode": "auto", "policy": "never"}, "Nobody can be asked for more"),
        ({"mode": "debug", "unattended": True}, "Nobody can be asked for more"),
    ],
)
def test_more_than_the_box_gives_is_offered_only_where_somebody_can_be_asked(tmp_path, parts, words):
    desk = Desk(tmp_path, **parts)
    desk.backend.execute = lambda *_, **__: ExecResult(6, "", "curl: (6) Could not resolve host: example.com", 0.1)
    text = desk.run(command=SOME).text
    assert words in text
    assert ("needs=" in text) == ("needs=" in words)


@pytest.mark.parametrize("error", [ValueError("a fault"), AgentError("odd", "A fault.")])
def test_a_hook_that_fails_lets_nothing_run_and_the_refusal_is_on_record(tmp_path, error):
    desk = Desk(tmp_path, mode="auto")

    def broken(call, name, arguments):
        raise error

    desk.veto = broken
    assert "hooks" in desk.run(command=SOME).text
    assert (desk.backend.ran, desk.said) == ([], [("refuse", "hook", "hook")])


@pytest.mark.parametrize("error", [ValueError("a fault"), AgentError("odd", "A fault.")])
def test_a_reviewer_that_fails_leaves_the_command_to_the_person(tmp_path, error):
    desk = Desk(tmp_path, Reply("refuse"), says=error)
    assert not desk.run(command=SOME).ok
    assert desk.order == ["hook", "reviewer", "person"]
    assert desk.said == [("refuse", "mode ask", "person")]


def test_a_reviewer_that_breaks_off_ends_the_turn_and_the_refusal_is_on_record(tmp_path):
    desk = Desk(tmp_path, says=AgentError("reviewer_breaker", "Refused three times in a row."))
    with pytest.raises(TurnHalted, match="three times"):
        desk.run(command=SOME)
    assert desk.said == [("refuse", "mode ask", "reviewer")]
    assert desk.backend.ran == []


# -- an edited command --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edited", "ran", "said"),
    [
        ("make test -k", True, ("allow", "mode ask", "person")),
        (FLOOR, False, ("refuse", "hard floor: formatting", "rules")),
        ("make clean", False, ("refuse", "approvals.deny", "rules")),
        ("make \0", False, ("refuse", "mode ask", "rules")),
    ],
)
def test_a_command_that_the_person_changed_is_judged_anew(tmp_path, edited, ran, said):
    desk = Desk(tmp_path, Reply("once", edited), deny=("make clean",))
    result = desk.run(command=SOME)
    assert desk.said == [said]
    assert [command for command, _ in desk.backend.ran] == ([edited] if ran else [])
    assert (f"It ran as: {edited}" in result.text) == ran
    assert result.outcome.startswith("edited, ") == ran  # its card has the command that was asked for
    assert desk.order.count("hook") == (2 if ran else 1)


def test_what_was_agreed_to_for_longer_is_not_given_to_a_command_that_was_changed(tmp_path):
    for decision in ("session", "always"):
        desk = Desk(tmp_path, Reply(decision, "make test -k", pattern="make *"))
        desk.run(command=SOME)
        assert desk.backend.ran == [("make test -k", "workspace-write")]
        assert (desk.grants.session().commands, desk.grants.always) == ((), [])


def test_the_reviewer_is_asked_about_commands_alone(tmp_path):
    desk = Desk(tmp_path, Reply("refuse"), says=Review("approve"))
    desk.run("write_file", path="a.txt", content="x")
    assert desk.order == ["hook", "person"]


# -- what runs is what was allowed ----------------------------------------------------------------------------------


class Swaps(Person):
    """Says yes, after something has changed."""

    def __init__(self, swap):
        super().__init__(Reply("once"))
        self.swap = swap

    def ask(self, question, cancel):
        self.swap()
        return super().ask(question, cancel)


def _another_folder(desk):
    folder = desk.context.workspace / "sub"
    folder.rename(desk.context.workspace / "old")
    (desk.context.workspace / "sub").mkdir()


def _a_link(desk):
    folder = desk.context.workspace / "sub"
    folder.rmdir()
    folder.symlink_to("/tmp")


@pytest.mark.parametrize(
    "swap",
    [
        lambda desk: desk.context.env.update(PATH="/elsewhere"),
        lambda desk: desk.context.env.update(NEW="1"),
        _another_folder,
        _a_link,
        lambda desk: (desk.context.workspace / "sub").rmdir(),
    ],
    ids=["environment changed", "environment grown", "another folder", "a link", "gone"],
)
def test_a_folder_or_environment_that_was_swapped_while_the_person_thought_is_not_used(tmp_path, swap):
    desk = Desk(tmp_path)
    (desk.context.workspace / "sub").mkdir()
    desk.person = Swaps(lambda: swap(desk))
    result = desk.run(command=SOME, cwd="sub")
    assert (result.ok, result.outcome) == (False, "changed meanwhile")
    assert desk.backend.ran == []


def test_a_folder_that_was_swapped_while_a_hook_ran_is_not_used_either(tmp_path):
    desk = Desk(tmp_path, mode="auto")
    (desk.context.workspace / "sub").mkdir()
    desk.veto = lambda call, name, arguments: _another_folder(desk) or ""
    assert desk.run(command=SOME, cwd="sub").outcome == "changed meanwhile"
    assert desk.backend.ran == []


def test_the_question_shows_the_very_text_that_runs(tmp_path):
    odd = "echo 'a\u202eb\tc'  # \x1b[31m"
    desk = Desk(tmp_path, Reply("once"))
    desk.run(command=odd)
    assert [desk.person.questions[0].command] == [command for command, _ in desk.backend.ran] == [odd]


@pytest.mark.parametrize(
    ("mode", "needs", "box", "asked"),
    [
        ("auto", "", "workspace-write", False),
        ("auto", "write", "workspace-write", False),
        ("debug", "", "read-only", False),
        ("debug", "write", "workspace-write", True),
        ("auto", "network", "workspace-write, network", True),
        ("auto", "everything", "no sandbox", True),
    ],
)
def test_a_command_runs_in_the_box_that_was_decided(tmp_path, mode, needs, box, asked):
    desk = Desk(tmp_path, Reply("once"), mode=mode)
    desk.run(command=SOME, **({"needs": needs} if needs else {}))
    assert desk.backend.ran == [(SOME, box)]
    assert ("person" in desk.order) == asked


def test_a_command_whose_box_cannot_be_made_is_not_run_without_one(tmp_path):
    class NoBox(Backend):
        def execute(self, command, cwd, *, box, timeout, env, cancel, on_output=None):
            super().execute(command, cwd, box=box, timeout=timeout, env=env, cancel=cancel)
            raise SandboxError("no_sandbox", "Landlock is missing.")

    desk = Desk(tmp_path, mode="auto", backend=NoBox())
    result = desk.run(command=SOME)
    assert (result.ok, result.outcome) == (False, "no sandbox")
    assert "was not run: Landlock is missing." in result.text
    assert desk.backend.ran == [(SOME, "workspace-write")]
    assert desk.person.questions == []


# -- what leaves a call -------------------------------------------------------------------------------------------

KEY = "sk-very-\x1b[1msecret"
"""A key that shows as one only without what steers the terminal."""


def with_a_tool(desk, run, on_start=lambda call, effect: None, cancel=None):
    """The result of a call whose work is `run(context)`, and what it told while it ran."""
    told = []

    def prepare(arguments, ctx):
        return Prepared(NoAction(), lambda box: run(ctx))

    tool = Tool("talks", "for a test", {"type": "object"}, lambda args: Effect("none"), lambda args: "", prepare)
    box = replace(
        desk.toolbox,
        tools={"talks": tool},
        redact=lambda text: text.replace("sk-very-secret", "[REDACTED]"),
        progress=lambda call, text: told.append(text),
    )
    return run_call(box, ToolCall("c1", "talks", {}), cancel or CancelScope(), on_start), told


def test_no_part_of_a_result_has_keys_or_steers_the_terminal(tmp_path):
    line = DiffLine("add", "key = sk-very-secret", None, 1)
    diff = FileDiff("a.txt", (Hunk(0, 1, (line,)),), 1, 0, "create")

    def talks(ctx):
        ctx.progress(f"half {KEY}")
        return ToolOutput("the sk-very-secret", f"exit 0 {KEY}", preview=(f"first {KEY}",), diffs=(diff,))

    result, told = with_a_tool(Desk(tmp_path), talks)
    assert told == ["half [REDACTED]"]
    assert (result.text, result.outcome, result.preview) == (
        "the [REDACTED]", "exit 0 [REDACTED]", ("first [REDACTED]",),
    )  # fmt: skip
    assert [line.text for line in result.diffs[0].hunks[0].lines] == ["key = [REDACTED]"]


def test_a_stop_while_the_start_is_noted_lets_nothing_run(tmp_path):
    ran, scope = [], CancelScope()
    result, _ = with_a_tool(Desk(tmp_path), ran.append, lambda call, effect: scope.cancel(), scope)
    assert (result.outcome, result.effect, ran) == ("stopped", "none", [])
