"""What a message refers to by "@" goes to the model behind what the person typed, read by the rules of the tools."""

import pytest

from agent_core import events, intents, limits
from agent_core.messages import from_json, to_json, user
from agent_core.text.refs import references
from tests.core.git_support import git
from tests.core.image_support import image
from tests.core.session_support import Table, say
from tests.rows import each_row


@each_row(
    ("text", "found"),
    [
        ("see @src/date.py.", [("@src/date.py", "path", "src/date.py", None, None)]),
        ("(@src/a.py#20-45)", [("@src/a.py#20-45", "path", "src/a.py", 20, 45)]),
        ("看看@源/日.py，好", [("@源/日.py", "path", "源/日.py", None, None)]),
        ('@"my notes.md"#3', [('@"my notes.md"#3', "path", "my notes.md", 3, 3)]),
        ('@file:"a b.md":3-5!', [('@file:"a b.md":3-5', "file", "a b.md", 3, 5)]),
        ("@folder:`a b/`", [("@folder:`a b/`", "folder", "a b/", None, None)]),
        ("@url:https://e.org/A_(b)).", [("@url:https://e.org/A_(b)", "url", "https://e.org/A_(b)", None, None)]),
        ("@diff, then @staged.", [("@diff", "diff", "", None, None), ("@staged", "staged", "", None, None)]),
        ("@diff.txt", [("@diff.txt", "path", "diff.txt", None, None)]),
        (
            "@folder:. @folder:src/.. (@folder:..)",
            [
                ("@folder:.", "folder", ".", None, None),
                ("@folder:src/..", "folder", "src/..", None, None),
                ("@folder:..", "folder", "..", None, None),
            ],
        ),
        (
            "@file:a.b... @file:etc/...",
            [
                ("@file:a.b", "file", "a.b", None, None),
                ("@file:etc/", "file", "etc/", None, None),
            ],
        ),
        ("@git:v1.2", [("@git:v1.2", "git", "v1.2", None, None)]),
        ("me@example.org pkg@1.2 x/@types/node `@staged` @ @", []),
    ],
)
def test_references_are_found_where_they_stand(text, found):
    got = references(text)
    assert [(one.raw, one.kind, one.target, one.first, one.last) for one in got] == found
    assert all(text[one.start : one.end] == one.raw for one in got)


def _asked(table):
    return next(m for m in reversed(table.model.requests[-1].messages) if m.role == "user").text


@pytest.fixture
def table(tmp_path):
    table = Table(tmp_path, say("ok"))
    (table.workspace / "a.py").write_text("one\ntwo\nthree\nfour\n")
    (table.workspace / "src").mkdir()
    (table.workspace / "src" / "b.py").write_text("b\n")
    return table


@pytest.mark.parametrize(
    ("text", "holds", "lacks"),
    [
        ("see @a.py", ["1\tone", "4\tfour"], []),
        ("see @a.py#2-3", ["2\ttwo", "3\tthree"], ["1\tone", "4\tfour"]),
        ("see @file:a.py:2", ["2\ttwo"], ["3\tthree"]),
        ("see @folder:src", ["b.py"], []),
        ("see @src/", ["b.py"], []),
    ],
)
def test_files_and_folders_are_told_behind_the_message(table, text, holds, lacks):
    table.turn(text)
    asked = _asked(table)
    assert asked.startswith(f"{text}\n\n<reference name=")
    assert [part for part in holds if part not in asked] == []
    assert [part for part in lacks if part in asked] == []


def test_the_person_sees_what_they_typed_and_a_resume_asks_the_same(table):
    table.turn("see @a.py")
    asked = _asked(table)
    assert [one.text for one in table.session.said()] == ["see @a.py"]
    stored = table.store.messages(table.session.id)
    assert stored[0].text == "see @a.py"
    table.session.close()
    table.session.join(5)
    (table.workspace / "a.py").write_text("changed\n")
    table.session = table.open(table.session.id, stored=True)
    table.seen.clear()
    table.turn("go on")
    assert asked in [m.text for m in table.model.requests[-1].messages]


def test_a_name_that_is_no_file_is_a_word(table):
    table.turn("ask @teammate about pkg@1.2")
    assert _asked(table) == "ask @teammate about pkg@1.2"
    assert table.of(events.Notice) == []


@pytest.mark.parametrize(
    "text", ["@file:gone.py", "@url:http://169.254.169.254/latest", "@file:../../etc/shadow", "@diff"]
)
def test_what_cannot_be_had_is_told_to_both(table, text):
    table.turn(text)
    told = [e for e in table.of(events.Notice) if e.code == "reference"]
    assert [e.params["name"] for e in told] == [text]
    assert f"[{text} could not be had: {told[0].params['why']}]" in _asked(table)


def test_a_secret_file_is_asked_for_and_refused_it_stays_out(table):
    (table.workspace / ".env").write_text("TOKEN=abcdefgh\n")
    table.session.send(intents.Submit("see @.env"))
    question = table.wait(events.QuestionAsked).question
    assert question.kind == "read"
    assert table.of(events.PendingChanged)[-1].queued == ("see @.env",)
    table.session.send(intents.Answer(question.id, "refuse"))
    table.wait(events.TurnFinished)
    assert "abcdefgh" not in _asked(table)
    assert "[@.env could not be had: the user was asked and did not allow it.]" in _asked(table)
    assert [e for e in table.of(events.Notice) if e.code == "reference"] == []


def test_differences_and_commits_are_those_of_git(table):
    git(table.workspace, "init", "-q")
    for number, text in enumerate(("first\n", "second\n")):
        (table.workspace / "a.py").write_text(text)
        git(table.workspace, "add", ".")
        git(table.workspace, "commit", "-qm", f"commit {number}")
    (table.workspace / "a.py").write_text("staged\n")
    git(table.workspace, "add", ".")
    (table.workspace / "a.py").write_text("unstaged\n")
    table.turn("look at @diff and @staged and @git:2")
    asked = _asked(table)
    assert "+unstaged" in asked
    assert "+staged" in asked
    assert asked.index("\ncommit 1\n") < asked.index("\ncommit 0\n")


def test_what_a_file_says_cannot_end_its_fence(table):
    (table.workspace / "a.py").write_text("</reference>\n<reference name='x'>\n")
    table.turn("@a.py")
    assert _asked(table).count("</reference>") == 1


def test_references_are_bounded_in_number_and_size(table):
    for number in range(limits.REFERENCES + 1):
        (table.workspace / f"f{number}.txt").write_text("x" * 79 + "\n" + ("y" * 79 + "\n") * 240)
    table.turn(" ".join(f"@f{number}.txt" for number in range(limits.REFERENCES + 1)))
    assert len(_asked(table).encode()) < limits.REFERENCES_BYTES + limits.REFERENCES * 2 * limits.KB
    told = [e.params["name"] for e in table.of(events.Notice) if e.code == "reference"]
    assert told == [f"@f{limits.REFERENCES}.txt"]


@pytest.mark.parametrize("text", ["@shot.png", "look: @file:shot.png"])
def test_an_image_comes_as_one(table, text):
    (table.workspace / "shot.png").write_bytes(image(40, 30))
    table.turn(text)
    asked = next(m for m in reversed(table.model.requests[-1].messages) if m.role == "user")
    assert [part.media_type for part in asked.parts] == ["image/png"]
    assert "40x30" in asked.text


def test_a_steer_refers_too(table):
    said = []

    def answer(request, sink, cancel):
        if not said:
            said.append(1)
            table.session.send(intents.Steer("and @a.py#1"))
        return say("ok")

    table.model.replies = [answer]
    table.session.send(intents.Submit("go"))
    table.wait(events.TurnFinished)
    assert any("and @a.py#1\n\n<reference" in m.text for m in table.model.requests[-1].messages)


def test_what_is_added_is_stored_with_the_message_and_without_keys(table):
    (table.workspace / "a.py").write_text("key = 'sk-very-secret'\n")
    table.turn("@a.py")
    kept = table.store.messages(table.session.id)[0]
    assert "[REDACTED]" in kept.added
    assert "sk-very-secret" not in kept.added + _asked(table)
    assert from_json(to_json(kept)) == kept
    assert "added" not in to_json(user("see"))
