"""The project's own checks: which run on which files, what they can do to them, and what is said of them."""

from __future__ import annotations

import json
import shlex
import threading
import time
from dataclasses import replace

import pytest

from agent_core import events, intents, limits, trust
from agent_core.after_edit import Check, Checker, CheckSet, Terms, names, parse
from agent_core.cancel import CancelScope
from agent_core.confinement import Confinement, Options
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import StoreError
from agent_core.process.command import LocalBackend
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox import probe
from agent_core.sandbox.policy import UNCONFINED, Box
from agent_core.session.services import Containment, Walls
from agent_core.tools.command import changing
from tests.core.checkpoint_support import Desk
from tests.core.session_support import Table, call, say
from tests.rows import each_row

from . import tool_support

FORMAT = "sed -i s/\\'/\\\"/g {files}"
"""Stands for a formatter: it puts double quotes in the place of single ones."""
ONE = [{"match": "*.py", "run": "true"}]


def checks(*entries):
    found = parse(list(entries))
    assert not found.problems
    return found


class Place:
    """A workspace whose files are checked."""

    def __init__(self, tmp_path, *entries, **terms):
        self.told: list[events.Notice] = []
        self.ran: list[tuple[str, Box]] = []
        self.found = checks(*entries)
        self.checker = Checker(self.told.append)
        self.terms = Terms(LocalBackend(), UNCONFINED, changing=changing)
        self.terms = replace(self.terms, record=lambda *ran: self.ran.append(ran), **terms)
        self.ctx = tool_support.context(tmp_path, after_edit=self.check)
        self.ws = self.ctx.workspace

    def check(self, paths, ctx):
        return self.checker.run(self.found, paths, ctx, self.terms)

    def write(self, path, content, **context):
        return tool_support.call(replace(self.ctx, **context), "write_file", path=path, content=content)

    def edit(self, path, old, new):
        return tool_support.call(self.ctx, "edit_file", path=path, old_text=old, new_text=new)


# -- what is declared ---------------------------------------------------------------------------------------------


def test_checks_are_read_with_a_pattern_or_several_and_a_line_or_words():
    found = checks(
        {"match": "*.py", "run": " ruff format {files} ", "timeout": 5},
        {"match": ["src/**", "!src/gen/"], "run": ["my tool", "--fix", "{files}", "a'{files}"], "timeout": 10**400},
        {"run": "make -s lint"},
    )
    assert found.checks == (
        Check(("*.py",), "ruff format {files}", 5.0),
        Check(
            ("src/**", "!src/gen/"), shlex.join(["my tool", "--fix"]) + " {files} " + shlex.quote("a'{files}"), 120.0
        ),
        Check(("*",), "make -s lint", limits.AFTER_EDIT_TIMEOUT),
    )
    assert next(names(found.checks)) == "after_edit *.py: ruff format {files}"


@each_row(
    ("entry", "words"),
    [
        ("ruff", "it must be a mapping"),
        ({"match": "*.py"}, "run must be a command"),
        ({"run": "  "}, "run must be a command"),
        ({"run": "a\0b"}, "run must be a command"),
        ({"run": ["a", 1]}, "run must be a command"),
        ({"run": "a", "match": ["*.py", 7]}, "match must be a pattern"),
        ({"run": "a", "match": "x" * 2_000}, "a pattern of match is one line"),
        ({"run": "a", "match": "*\n!x"}, "a pattern of match is one line"),
        ({"run": "a", "timeout": True}, "timeout must be a number"),
        ({"run": "a", "timeout": 0}, "timeout must be a number"),
        ({"run": "a", "timeout": float("nan")}, "timeout must be a number"),
        ({"run": "a", "on_failure\x1b[2J": "stop"}, "there is no on_failure"),
    ],
)
def test_an_entry_with_a_mistake_is_left_out_and_named(entry, words):
    found = parse([entry, {"run": "true"}])
    assert [check.run for check in found.checks] == ["true"]
    assert found.problems[0].startswith(f"after_edit, entry 1: {words}")
    assert "\x1b" not in found.problems[0]


def test_there_are_only_so_many():
    found = parse([{"run": "true"}] * 500)
    assert len(found.checks) == limits.AFTER_EDIT_CHECKS
    assert "only the first 20 run" in found.problems[0]


@each_row(
    ("match", "concerned"),
    [
        ("*", ["a.py", "src/b.py", "src/gen/c.py", "-x.py", "r.md"]),
        ("*.py", ["a.py", "src/b.py", "src/gen/c.py", "-x.py"]),
        ("/*.py", ["a.py", "-x.py"]),
        ("src/", ["src/b.py", "src/gen/c.py"]),
        (["*.py", "!gen/**", "!src/gen/*"], ["a.py", "src/b.py", "-x.py"]),
        ("*.rs", []),
    ],
)
def test_a_check_is_for_the_files_that_its_patterns_name(match, concerned):
    [check] = checks({"match": match, "run": "true"}).checks
    assert check.concerned(["a.py", "src/b.py", "src/gen/c.py", "-x.py", "r.md"]) == concerned


# -- what they do -------------------------------------------------------------------------------------------------


def test_what_is_fine_takes_one_line_and_what_fails_is_told_in_full(tmp_path):
    lint = "grep -n TODO {files} && exit 3 || true"
    place = Place(tmp_path, {"match": "*.py", "run": "true"}, {"match": "*.py", "run": lint}, {"run": "true"})
    said = place.write("a.py", "x = 1\n")
    assert said.text == f"Created a.py (1 line).\n[after_edit: `true`, `{lint}`, `true` ok]"
    said = place.edit("a.py", "x", "TODO")
    assert said.text.endswith(
        f"[after_edit: `true`, `true` ok]\n[after_edit: `{lint}` failed, exit code 3]\n1:TODO = 1"
    )
    assert (said.ok, said.outcome) == (True, "+1 -1, checks failed")
    assert place.write("r.md", "TODO").text.endswith("[after_edit: `true` ok]")
    assert [command.partition("\n")[0] for command, _ in place.ran[-1:]] == ["set -- r.md"]


def test_a_rewritten_file_is_known_told_and_taken_back_with_the_turn(tmp_path):
    desk = Desk(tmp_path)
    (desk.ws / "a.py").write_text("x = 'a'\n")
    place = Place(tmp_path, {"match": "*.py", "run": FORMAT}, {"run": "echo made > beside.txt"})
    with desk.turn("first") as turn:
        place.ctx = replace(place.ctx, changes=turn)
        tool_support.call(place.ctx, "read_file", path="a.py")
        said = place.edit("a.py", "'a'", "'b'")
        words = "a.py was then rewritten by the project's own commands:\n@@ line 1 @@\n-x = 'b'\n+x = \"b\""
        assert words in said.text
        assert (desk.ws / "a.py").read_text() == 'x = "b"\n'
        assert place.edit("a.py", '"b"', "'c'").ok  # it knows the file as it is now
    assert (desk.ws / "a.py").read_text() == 'x = "c"\n'
    desk.kept.roll_back("s", "first")
    assert (desk.ws / "a.py").read_text() == "x = 'a'\n"
    assert not (desk.ws / "beside.txt").exists()
    desk.kept.close()


def test_files_of_one_call_are_checked_together_when_all_are_written(tmp_path):
    place = Place(tmp_path, {"match": "*.py", "run": "cat {files}; exit 1"})
    patch = (
        "*** Begin Patch\n*** Add File: a.py\n+one\n*** Add File: b.md\n+two\n*** Add File: c.py\n+three\n*** End Patch"
    )
    said = tool_support.call(place.ctx, "apply_patch", patch=patch)
    assert said.text.endswith("failed, exit code 1]\none\nthree")
    assert said.outcome.endswith(", checks failed")
    assert len(place.ran) == 1


RUNS = {
    "cat {files}; exit 1": True,
    'for f do cat "$f"; done; exit 1': True,
    "cat '{files}' 2>&1; exit 1": False,  # these find no file, and do nothing else
    'sh -c "cat {files}" sh': False,
}
NAMES = ["名 字 '引'.py", 'b "q" $(touch pwned).py', "; touch pwned.py", "-rf.py", "a\\b`touch pwned`.py", "&&.py"]


@pytest.mark.parametrize(("run", "reads"), RUNS.items())
def test_no_name_of_a_file_is_read_as_a_command(tmp_path, run, reads):
    place = Place(tmp_path, {"match": "*.py", "run": run})
    for name in NAMES:
        said = place.write(name, f"in {name}\n")
        assert said.text.endswith(f"]\nin {name}") == reads
    assert sorted(path.name for path in place.ws.iterdir()) == sorted(NAMES)


def test_a_check_that_hangs_is_ended_and_the_change_stands(tmp_path):
    place = Place(tmp_path, {"run": "echo begun; sleep 300", "timeout": 0.3}, {"run": "true"})
    began = time.monotonic()
    said = place.write("a", "x")
    assert time.monotonic() - began < 10
    assert "did not end within 0.3 s and was ended]\nbegun" in said.text
    assert "`true` ok" in said.text
    assert (place.ws / "a").read_text() == "x"


def test_all_of_one_change_have_a_bound_together(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "AFTER_EDIT_TOTAL", 0.4)
    place = Place(tmp_path, {"run": "sleep 300"}, {"run": "touch never"})
    assert "`touch never` was not run: those before it took" in place.write("a", "x").text
    assert not (place.ws / "never").exists()


def test_a_stop_ends_the_check_that_runs_and_no_more_are_begun(tmp_path):
    place = Place(tmp_path, {"run": "touch begun; sleep 300"}, {"run": "touch never"})
    scope = CancelScope()

    def stop():
        while not (place.ws / "begun").exists():
            time.sleep(0.01)
        scope.cancel()

    threading.Thread(target=stop, daemon=True).start()
    said = place.write("a", "x", cancel=scope)
    assert "was stopped by the user" in said.text
    assert "[after_edit: stopped before `touch never`]" in said.text
    assert (place.ws / "a").exists()
    assert not (place.ws / "never").exists()


def test_a_check_that_removes_the_file_is_named_and_nothing_breaks(tmp_path):
    place = Place(tmp_path, {"run": "rm {files}"}, {"run": "cat {files}"})
    said = place.write("a.py", "x")
    assert said.text == "Created a.py (1 line).\n[after_edit: `rm {files}` ok]\n[after_edit: `rm {files}` removed a.py]"
    assert said.outcome == "new, 1 line, checks failed"
    assert place.write("a.py", "y").ok


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("rm -rf /", "was not run: this command"),
        ("git push --force", "was not run: the user's config never allows 'git push*' (approvals.deny)"),
        ("no-such-program {files}", "failed, exit code 127"),
        ("kill -9 $$", "was ended by signal 9"),
    ],
)
def test_what_cannot_or_must_not_run_is_said(tmp_path, run, words):
    place = Place(tmp_path, {"run": run}, deny=("git push*",))
    said = place.write("a", "x")
    assert f"[after_edit: `{run}` {words}" in said.text
    assert said.outcome == "new, 1 line, checks failed"
    assert len(place.ran) == (0 if "not run" in words else 1)


def test_what_cannot_be_written_down_does_not_run(tmp_path):
    def full(command, box):
        raise StoreError("disk_full", "the disk is full")

    place = Place(tmp_path, {"run": "touch never"})
    place.terms = replace(place.terms, record=full)
    assert "was not run: that it runs could not be written down" in place.write("a", "x").text
    assert not (place.ws / "never").exists()


def test_output_is_bounded_and_without_keys_and_control_bytes(tmp_path):
    noise = r"yes \"$(printf 'a long line with s%s in it \033[31m' k-very-secret)\" | head -c 3000000; exit 1"
    place = Place(tmp_path, *[{"run": noise}] * 4, redact=lambda text: text.replace("sk-very-secret", "[REDACTED]"))
    text = place.write("a", "x").text
    assert limits.AFTER_EDIT_OUTPUT / 2 < len(text.encode()) < limits.AFTER_EDIT_OUTPUT + limits.KB
    assert text.count("failed, exit code 1]") == 4
    assert "sk-" not in text
    assert "\033" not in text


def test_files_outside_of_the_workspace_have_no_checks(tmp_path):
    (tmp_path / "beside").mkdir()
    place = Place(tmp_path, {"run": "touch ran"})
    place.ctx = replace(place.ctx, add_dirs=((tmp_path / "beside").resolve(),))
    assert place.write(str(tmp_path / "beside/a.py"), "x").text == f"Created {tmp_path}/beside/a.py (1 line)."
    assert place.ran == []


def test_without_a_box_none_runs_and_the_person_is_told_once(tmp_path):
    place = Place(tmp_path, {"run": "touch never"}, box=None, why_not="this machine cannot confine commands")
    assert place.write("a", "x").text == "Created a (1 line)."
    place.write("b", "x")
    assert [(notice.code, notice.text) for notice in place.told] == [
        ("after_edit_not_run", "The checks of after_edit were not run: this machine cannot confine commands.")
    ]
    assert not (place.ws / "never").exists()


# -- in a session -------------------------------------------------------------------------------------------------


def session(tmp_path, *replies, entries, **services):
    return Table(tmp_path, *replies, checks=lambda workspace: parse(entries), **services)


def write(path="a.py", content="x = 'a'\n"):
    return call(("write_file", {"path": path, "content": content}))


@pytest.mark.skipif(not probe.layers().can_confine, reason="this kernel cannot confine commands")
def test_in_a_session_they_run_in_the_sandbox_and_are_put_on_record(tmp_path):
    home, outside = tmp_path / "home", tmp_path / "outside"
    run = f"{FORMAT}; touch {outside} 2>/dev/null || echo kept in; exit 1"
    (tmp_path / "ws").mkdir()
    walls = Confinement(tmp_path / "ws", home, home / ".nanohermes", lambda: nothing_more, Options())
    table = session(
        tmp_path, write(), say("done"), entries=[{"match": "*.py", "run": run}, {"run": 7}],
        containment=lambda: Containment(kernel=True), confinement=lambda *_: Walls(walls.policy, walls.gap),
        policy="never",
    )  # fmt: skip
    table.session.send(intents.SetMode("auto"))
    table.turn("go")
    [result] = table.of(events.ToolFinished)
    assert result.ok
    assert result.text.endswith("failed, exit code 1]\nkept in")
    assert result.outcome == "new, 1 line, checks failed"
    assert (table.workspace / "a.py").read_text() == 'x = "a"\n'
    assert not outside.exists()
    [row] = [entry.decided for entry in table.store.audit.list() if entry.decided.rule == "after_edit"]
    assert (row.kind, row.verdict, row.sandbox) == ("command", "allow", "workspace-write")
    assert row.what.startswith("set -- a.py\nsed -i ")
    assert [n.code for n in table.of(events.Notice)] == ["bad_after_edit"]
    walls.close()


@pytest.mark.parametrize(
    ("containment", "runs"),
    [
        (Containment(), False),
        (Containment(accepted=True), True),
        (Containment(sandbox="danger-full-access"), True),
    ],
    ids=["no sandbox", "accepted", "free"],
)
def test_without_a_sandbox_they_run_only_where_the_person_has_accepted_that(tmp_path, containment, runs):
    table = session(
        tmp_path, write(), say("done"), entries=[{"run": "touch ran"}], containment=lambda: containment, policy="never"
    )
    table.session.send(intents.SetMode("auto"))
    table.turn("go")
    assert [result.ok for result in table.of(events.ToolFinished)] == [True]
    assert (table.workspace / "ran").exists() == runs
    assert ("after_edit_not_run" in [n.code for n in table.of(events.Notice)]) != runs


def test_a_check_that_fails_after_every_change_is_no_failing_call(tmp_path):
    """The loop's guard ends turns in which calls fail again and again; these have done what was asked."""
    count = 2 * limits.GUARD_SAME_TOOL_HALT
    table = session(
        tmp_path, *(write(content=f"{n}\n") for n in range(count)), say("done"), entries=[{"run": "false"}],
        containment=lambda: Containment(accepted=True), policy="never",
    )  # fmt: skip
    table.session.send(intents.SetMode("auto"))
    assert table.turn("go").outcome == "completed"
    assert [result.outcome for result in table.of(events.ToolFinished)][1:] == ["+1 -1, checks failed"] * (count - 1)
    assert not [n for n in table.of(events.Notice) if n.code.startswith("loop_")]


# -- whose they are -----------------------------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_core.llm.discover.find_local_server", lambda *a, **k: None)
    work, home = tmp_path / "work", tmp_path / "home"
    (work / ".git").mkdir(parents=True)
    (work / ".nanohermes").mkdir()
    (home / ".nanohermes").mkdir(parents=True)
    host = Host(Launch(work, {"HOME": str(home), "PATH": "/usr/bin:/bin"}, {}))
    yield host
    host.close()


def test_a_projects_checks_run_when_it_is_trusted_and_until_they_change(desk):
    work = desk.places.workspace
    file = work / ".nanohermes/config.yaml"
    file.write_text(json.dumps({"after_edit": [*ONE, {"run": "a", "x": 1}]}))
    assert desk.checks(work) == CheckSet()
    standing = desk.trusting.look(work)
    assert [(row.what, row.words) for row in standing.offer.rows] == [
        ("hook", "after_edit *.py: true"),
        ("setting", "after_edit, entry 2: there is no x, only match, run and timeout. It does not run."),
    ]
    desk.answer_trust(standing, "trust")
    assert desk.checks(work).checks == parse(ONE).checks
    file.write_text(json.dumps({"after_edit": [{"run": "worse"}]}))
    assert desk.checks(work) == CheckSet()
    assert trust.look(desk.places, desk.grants).state == "changed"


def test_a_trusted_projects_checks_stand_in_place_of_the_users(desk):
    work = desk.places.workspace
    (work.parent / "home/.nanohermes/config.yaml").write_text(json.dumps({"after_edit": [{"run": "users"}]}))
    desk.look_again()
    assert [check.run for check in desk.checks(work).checks] == ["users"]
    (work / ".nanohermes/config.yaml").write_text(json.dumps({"after_edit": ONE}))
    assert [check.run for check in desk.checks(work).checks] == ["users"]
    desk.answer_trust(desk.trusting.look(work), "trust")
    assert [check.run for check in desk.checks(work).checks] == ["true"]
