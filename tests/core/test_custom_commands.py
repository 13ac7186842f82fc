"""commands/*.md: what they are called, whose counts, and what the model is told when one is typed."""

import pytest

from agent_core import events, limits
from agent_core.config.paths import find_places
from agent_core.custom_commands import commands
from agent_core.desk.typed_commands import TypedCommands
from agent_core.grants_file import GrantsFile
from agent_core.knowledge import Typed
from agent_core.trust import accept, command_name, look
from tests.core.session_support import Table, say


@pytest.fixture
def places(tmp_path):
    (tmp_path / "ws" / ".git").mkdir(parents=True)
    return lambda: find_places(tmp_path / "ws", {"HOME": str(tmp_path / "home")})


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def made(places, text, name="x.md"):
    write(places().data_home / "commands" / name, text)
    return commands(places())


@pytest.mark.parametrize(
    ("body", "argument", "told"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("Fix $1, then $2", '"a b" c', "Fix a b, then c"),
        ("Fix $1 and $2", "a", "Fix a and"),
        ("Fix $1", "it's", "Fix it's"),
        ("Fix it", "a b", "Fix it\n\nARGUMENTS: a b"),
        ("Fix it", "", "Fix it"),
        ("Fix $ARGUMENTS", "$1 $ARGUMENTS", "Fix $1 $ARGUMENTS"),
        (r"awk '{print \$1}' $2", "a b", "awk '{print $1}' b"),
        ("cost $100 $ARGUMENTSX $12", "", "cost $100 $ARGUMENTSX $12"),
        ("修复 $1：$ARGUMENTS", "登录 错误", "修复 登录：登录 错误"),
        ("!`rm -rf x` $1", "a", "!`rm -rf x` a"),
    ],
)
def test_arguments_come_in_their_places(places, body, argument, told):
    assert made(places, body).find("x").text(argument) == told


@pytest.mark.parametrize(
    ("text", "description", "hint"),
    [
        ("---\ndescription: mend it\nargument-hint: [file]\n---\nBody", "mend it", "[file]"),
        ("---\ndescription: mend it\nargument-hint: [file] [line]\n---\nBody", "mend it", "[file] [line]"),
        ('---\nargument-hint: "<issue>"\nallowed-tools: Bash(*)\n---\n# Title\nBody', "Title", "<issue>"),
        ("Just a text\nof two lines", "Just a text", ""),
        ("---\nnot: [closed\n---\nBody", "Body", ""),
        ("---\ndescription: a\x1b[2Jb\n---\nBody", "ab", ""),
    ],
)
def test_frontmatter_says_what_a_list_shows(places, text, description, hint):
    one = made(places, text).find("x")
    assert (one.description, one.hint) == (description, hint)


def test_folders_are_parts_of_the_name_and_unusable_files_are_told(places):
    made(places, "a", "git/commit.md")
    made(places, "b", "two words.md")
    made(places, "c" * 70_000, "large.md")
    made(places, "---\ndescription: nothing\n---\n\n", "empty.md")
    found = made(places, "d", "a/b/c/too/deep.md")
    assert [one.name for one in found.all if one.place == "yours"] == ["git:commit"]
    told = [problem.text for problem in found.problems]
    assert sorted(problem.code for problem in found.problems) == ["command_empty", "command_large", "command_name"]
    assert all(text.startswith("~/.nanohermes/commands/") for text in told)
    assert any("empty.md" in text and "no text" in text for text in told)
    assert any("two words.md" in text and "cannot be typed" in text for text in told)
    assert any("large.md" in text and "32 KB" in text for text in told)


def test_the_projects_count_when_they_are_accepted_and_the_nearer_file_wins(places, tmp_path):
    write(tmp_path / "ws/.nanohermes/commands/a.md", "project")
    write(tmp_path / "ws/.nanohermes/commands/git/b.md", "project b")
    write(tmp_path / "ws/.hermes/commands/a.md", "project's fallback")
    write(tmp_path / "home/.nanohermes/commands/a.md", "mine")
    write(tmp_path / "home/.hermes/commands/a.md", "hermes")
    write(tmp_path / "home/.hermes/commands/c.md", "hermes c")
    write(tmp_path / "home/.nanohermes/commands/review.md", "my review")
    grants = GrantsFile(tmp_path / "grants.json")

    def told():
        found = commands(places(), look(places(), grants).accepted("command")).all
        return {one.name: (one.body, one.place) for one in found}

    assert told() == {"a": ("mine", "yours"), "c": ("hermes c", "hermes"), "review": ("my review", "yours")}
    standing = look(places(), grants)
    assert sorted(row.words for row in standing.offer.rows) == ["/a", "/a", "/git:b"]
    accept(standing, grants)
    assert told()["a"] == ("project", "project")
    assert told()["git:b"] == ("project b", "project")
    write(tmp_path / "ws/.nanohermes/commands/a.md", "changed since")
    assert told()["a"] == ("mine", "yours")


def test_of_a_project_that_has_changed_it_is_told_why_its_commands_are_gone(places, tmp_path):
    write(tmp_path / "ws/.nanohermes/commands/a.md", "project")
    grants = GrantsFile(tmp_path / "grants.json")
    typed = TypedCommands(lambda w: (places(), look(places(), grants)), lambda s: [], lambda w, wish: "")

    def told():
        return [problem.code for problem in typed.list("s", tmp_path / "ws").problems]

    assert told() == []  # it was never trusted: the folder's own question says so
    accept(look(places(), grants), grants)
    assert told() == []
    write(tmp_path / "ws/.nanohermes/commands/a.md", "changed since")
    assert told() == ["trust_changed"]


def test_a_long_argument_with_many_places_stays_in_the_bound(places):
    long = "x" * limits.EXPANSION
    assert len(made(places, "$1 $ARGUMENTS" * 2_000).find("x").text(long)) < 2 * limits.EXPANSION


def test_the_largest_file_is_told_whole_with_its_argument(table, places):
    made(places, "x" * (limits.COMMAND_FILE - 20) + " the end", "mine.md")
    table.turn("/mine it")
    assert asked(table).endswith(" the end\n\nARGUMENTS: it")


def test_a_file_is_called_after_the_folders_below_commands(tmp_path):
    assert command_name(tmp_path / "commands" / "git" / "fix-it.md") == "git:fix-it"


def test_review_comes_with_the_program(places):
    review = commands(places()).find("review")
    assert review.place == "built-in"
    assert "main..HEAD" in review.text("main..HEAD")


# -- in a session -------------------------------------------------------------------------------------------------


class Skills:
    """An extra that can be typed."""

    def typed(self):
        return (Typed("deploy", "to the server", kind="skill"), Typed("mine", kind="skill"))

    def expand(self, name, argument):
        return f"the skill {name} for {argument} @file:a.py"


@pytest.fixture
def table(tmp_path, places):
    def expand(session_id, workspace, text):
        grants = GrantsFile(tmp_path / "grants.json")
        typed = TypedCommands(
            lambda w: (places(), look(places(), grants)), lambda s: [object(), Skills()], lambda w, wish: "INIT " + wish
        )
        return typed.expand(session_id, workspace, text)

    made(places, "Fix $1 in @a.py", "mine.md")
    write(tmp_path / "ws" / "a.py", "print('a')\n")
    return Table(tmp_path, say("ok"), expand=expand)


def asked(table):
    return next(m for m in reversed(table.model.requests[-1].messages) if m.role == "user").text


def test_a_typed_command_is_shown_as_typed_and_told_as_what_it_stands_for(table):
    table.turn("/mine it")
    told = asked(table)
    assert told.startswith("/mine it\n\n[/mine is a command that the user has typed. It stands for this:]\n\nFix it in")
    assert "print('a')" in told  # what its text refers to is looked up
    assert [one.text for one in table.session.said()] == ["/mine it"]
    assert table.store.get(table.session.id).title == "/mine it"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("/deploy now", "the skill deploy for now @file:a.py"),
        ("/init tests first", "INIT tests first"),
        ("/init", "INIT"),
    ],
)
def test_what_others_wrote_refers_to_nothing(table, text, holds):
    table.turn(text)
    assert asked(table).rstrip().endswith(holds)


@pytest.mark.parametrize("text", ["/nothing", "/usr/bin/env", "// mine", "see /mine", "/mine/x"])
def test_other_texts_are_sent_as_they_are(table, text):
    table.turn(text)
    assert asked(table) == text


def test_a_retry_expands_anew(table, tmp_path, places):
    table.turn("/mine it")
    made(places, "Mend $1", "mine.md")
    from agent_core import intents

    table.session.send(intents.Retry())
    table.wait(events.TurnFinished, count=2)
    assert "Mend it" in asked(table)
    assert "Fix it" not in asked(table)
