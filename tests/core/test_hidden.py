"""The deny-read list: what it names, and that every way to a file obeys it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_core.errors import AgentError, ToolFailure
from agent_core.safety import hidden
from agent_core.safety.hidden import SECRETS, USER_PATTERN, WORKSPACE_PATTERN, deny_read_patterns, hiding, is_hidden
from agent_core.safety.paths import PathRules, classify
from agent_core.text import ignore_rules
from agent_core.workspace import preview
from agent_core.workspace.index import Answer, FileIndex
from tests.core.tool_support import call, context, prepare


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    made = {name: (tmp_path / name).resolve() for name in ("ws", "beside", "home", "own")}
    for folder in made.values():
        folder.mkdir()
    return made


def patterns(places: dict[str, Path], *configured: str, user: str = "", workspace: str = ""):
    (places["own"] / hidden.USER_FILE).write_text(user)
    (places["ws"] / hidden.WORKSPACE_FILE).write_text(workspace)
    return deny_read_patterns(configured, (places["ws"], places["beside"]), places["home"], places["own"])


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        (".env", SECRETS),
        ("a/.ENV.local", SECRETS),
        ("a/.env.example", ""),
        ("key.pem", SECRETS),
        ("id_rsa", SECRETS),
        ("main.py", ""),
        ("private/x.txt", USER_PATTERN),
        ("a/b/private/c/d", USER_PATTERN),
        ("a/private.txt", ""),
        ("notes.secret", USER_PATTERN),
        ("NOTES.SECRET", USER_PATTERN),
        ("keep.secret", ""),
        ("top/only.txt", USER_PATTERN),
        ("a/top/only.txt", ""),
        ("customers.csv", WORKSPACE_PATTERN),
        ("data/raw/customers.csv", WORKSPACE_PATTERN),
        ("customers.md", ""),
    ],
)
def test_what_is_hidden_follows_the_syntax_of_ignore_files(places, name, rule):
    known = patterns(places, "private/", user="*.secret\n!keep.secret\n# note\n/top/only.txt\n", workspace="*.csv\n")
    assert is_hidden((places["ws"] / name).parts, known) == rule


def test_the_users_patterns_hold_beside_the_workspace_and_on_the_whole_machine(places):
    known = patterns(places, "~/diary/", f"{places['home']}/abs.txt", "*.secret", workspace="*.txt\n")
    assert is_hidden((places["home"] / "diary/2020/x.md").parts, known) == USER_PATTERN
    assert is_hidden((places["home"] / "diary").parts, known, is_folder=True) == USER_PATTERN
    assert is_hidden((places["home"] / "abs.txt").parts, known) == USER_PATTERN
    assert is_hidden((places["beside"] / "a.secret").parts, known) == USER_PATTERN
    assert is_hidden((places["beside"] / "a.txt").parts, known) == ""
    assert is_hidden((places["ws"] / "a.txt").parts, known) == WORKSPACE_PATTERN


def test_a_projects_own_list_takes_nothing_back(places):
    known = patterns(places, "*.secret", workspace="!*\n!.env\n!*.secret\n")
    assert is_hidden((places["ws"] / "a.secret").parts, known) == USER_PATTERN
    assert is_hidden((places["ws"] / ".env").parts, known) == SECRETS


def test_a_list_that_is_no_plain_file_has_no_patterns(places):
    (places["ws"] / hidden.WORKSPACE_FILE).symlink_to(places["home"] / "elsewhere")
    (places["home"] / "elsewhere").write_text("*\n")
    (places["own"] / hidden.USER_FILE).mkdir()
    known = deny_read_patterns((), (places["ws"],), places["home"], places["own"])
    assert is_hidden((places["ws"] / "a.py").parts, known) == ""


@pytest.fixture
def ctx(places, tmp_path):
    for name, text in {
        "plain.txt": "word\n",
        "a.secret": "word\n",
        ".env": "KEY=word\n",
        "deep/b.secret": "word",
    }.items():
        (places["ws"] / name).parent.mkdir(exist_ok=True)
        (places["ws"] / name).write_text(text)
    roots = (places["ws"], places["beside"])
    (places["beside"] / "c.secret").write_text("word\n")
    return context(
        tmp_path,
        add_dirs=(places["beside"],),
        hidden=lambda: hiding(deny_read_patterns(("*.secret",), roots, places["home"], places["own"])),
    )


@pytest.mark.parametrize("path", ["a.secret", "deep/b.secret", ".env", "../beside/c.secret"])
@pytest.mark.parametrize(
    ("tool", "more"),
    [("read_file", {}), ("grep", {"pattern": "word"})],
)
def test_tools_that_read_ask_before_they_read_what_is_hidden(ctx, tool, more, path):
    assert prepare(ctx, tool, path=path, **more).path_verdict == "ask"
    assert prepare(ctx, tool, path="plain.txt", **more).path_verdict == "allow"


def test_changing_what_is_hidden_asks_too(ctx):
    ctx.files.saw(ctx.workspace / "a.secret", "")
    assert classify("write", "a.secret", _rules(ctx)).verdict == "ask"
    assert classify("delete", "deep/b.secret", _rules(ctx)).verdict == "ask"


def _rules(ctx) -> PathRules:
    return PathRules(ctx.workspace, ctx.home, ctx.data_home, add_dirs=ctx.add_dirs, hidden=ctx.hidden())


def test_searches_leave_out_what_is_hidden(ctx):
    found = call(ctx, "grep", pattern="word").text
    assert "plain.txt" in found
    assert "secret" not in found.replace("3 protected files", "")
    assert ".env:" not in found
    names = call(ctx, "glob", pattern="**/*").text
    assert "plain.txt" in names
    assert ".secret" not in names
    assert "c.secret" not in call(ctx, "glob", pattern=f"{ctx.add_dirs[0]}/*").text


def test_a_line_that_was_just_written_counts(ctx, places):
    assert prepare(ctx, "read_file", path="plain.txt").path_verdict == "allow"
    (places["own"] / hidden.USER_FILE).write_text("plain.txt\n")
    assert prepare(ctx, "read_file", path="plain.txt").path_verdict == "ask"


def test_a_preview_shows_none_of_it(ctx):
    with pytest.raises(AgentError) as caught:
        preview.preview("a.secret", 1, _rules(ctx), lambda text: text)
    assert caught.value.code == "path_refused"
    assert preview.preview("plain.txt", 1, _rules(ctx), lambda text: text).lines == ("word",)


def test_the_picker_does_not_offer_it(ctx):
    index = FileIndex(ctx.workspace, ctx.home, hidden=ctx.hidden)
    known, answers = threading.Event(), []

    def take(answer: Answer) -> None:
        answers.append(answer)
        if answer.settled and not answer.growing and answer.count is not None:
            known.set()

    try:
        index.ask("", take)
        assert known.wait(20)
    finally:
        index.close()
    paths = {hit.path for hit in answers[-1].hits}
    assert "plain.txt" in paths
    assert not {path for path in paths if path.endswith((".secret", ".env"))}


def test_the_lists_themselves_are_not_a_tools_to_change(ctx):
    assert classify("write", hidden.WORKSPACE_FILE, _rules(ctx)).verdict == "ask"
    with pytest.raises(ToolFailure):
        prepare(ctx, "write_file", path=str(ctx.data_home / hidden.USER_FILE), content="")


NAME = st.sampled_from(["a", "b.secret", "private", "*", "*.secret", "**", "a*"])
PATTERN = st.lists(NAME, min_size=1, max_size=3).flatmap(
    lambda names: st.sampled_from(["", "/"]).flatmap(
        lambda first: st.sampled_from(["", "/"]).map(lambda last: first + "/".join(names) + last)
    )
)
PATHS = st.lists(st.sampled_from(["a", "b.secret", "private", "c"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(PATTERN, min_size=1, max_size=4), PATHS, st.booleans())
@example(["a/*"], "a", True)
@example(["a/**"], "a", True)
def test_a_walk_hides_what_a_single_look_hides(lines, path, is_folder):
    rules = ignore_rules.parse("\n".join(lines), any_case=True)
    quick = ignore_rules.in_one(rules)
    assert quick is not None
    found = quick.fullmatch(f"{path}/" if is_folder else path) is not None
    assert found is ignore_rules.names_below(rules, path, is_folder)


def test_rules_that_take_something_back_are_looked_at_one_by_one():
    assert ignore_rules.in_one(ignore_rules.parse("*.secret\n!keep.secret\n")) is None
