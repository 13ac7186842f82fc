"""Files for a person to look at: bounded, without keys, with the file's own line numbers."""

import time

import pytest

from agent_core import limits
from agent_core.errors import AgentError
from agent_core.safety.paths import PathRules
from agent_core.safety.redact import redact
from agent_core.text import diff
from agent_core.workspace.preview import preview, unchanged_lines

KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq\n" * 20 + "-----END RSA PRIVATE KEY-----\n"


@pytest.fixture
def rules(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    return PathRules(work, tmp_path / "home", tmp_path / "home" / ".nanohermes")


def look(rules, path, line=1):
    return preview(path, line, rules, redact)


def test_a_small_file_is_shown_whole_wherever_it_is_asked_for(rules):
    (rules.workspace / "日期.py").write_bytes(b"a = 1\r\n\r\nb = 2")
    for line in (0, 1, 3, 99):
        shown = look(rules, "日期.py", line)
        assert (shown.path, shown.lines, shown.first, shown.total) == ("日期.py", ("a = 1", "", "b = 2"), 1, 3)


def test_an_empty_file_has_no_lines(rules):
    (rules.workspace / "empty").touch()
    assert (look(rules, "empty", 5).lines, look(rules, "empty").total) == ((), 0)


@pytest.mark.parametrize("line", [1, 5_000, 19_000, 20_000])
def test_of_a_long_file_a_bounded_part_around_the_line_is_shown(rules, line):
    (rules.workspace / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 20_001)))
    shown = look(rules, "long.txt", line)
    assert shown.total == 20_000
    assert shown.first <= line < shown.first + len(shown.lines)
    assert shown.lines[line - shown.first] == f"line {line}"
    assert shown.lines[0] == f"line {shown.first}"
    size = sum(len(each) + 1 for each in shown.lines)
    assert size <= limits.PREVIEW
    if line == 5_000:
        assert size > limits.PREVIEW * 0.9


def test_a_line_without_end_is_cut(rules):
    (rules.workspace / "one.txt").write_text("猫" * 200_000 + "\nnext")
    assert look(rules, "one.txt").lines == ("猫" * limits.PREVIEW,)
    assert look(rules, "one.txt", 2).lines == ("next",)


def test_keys_are_taken_out_and_later_lines_keep_their_numbers(rules):
    (rules.workspace / "notes.txt").write_text(f"before\n{KEY}after\n\nend\n")
    shown = look(rules, "notes.txt")
    assert "MIIEpAIBAAKCAQEA7bq" not in "\n".join(shown.lines)
    assert (shown.lines[0], shown.lines[23:]) == ("before", ("after", "", "end"))
    assert shown.total == 26


def test_a_file_full_of_keys_is_shown_as_soon_as_another(rules):
    keys = "".join(f"api_key: abcdEFGH{number}123456\n" for number in range(40_000))
    (rules.workspace / "full.log").write_text(f"{KEY}{keys}end\n")
    begun = time.monotonic()
    shown = look(rules, "full.log", 40_023)
    assert (shown.total, shown.lines[-1]) == (40_023, "end")
    assert time.monotonic() - begun < 10.0


CODES = {
    "none.txt": "file_missing",
    "folder": "file_is_folder",
    "binary": "file_binary",
    "huge": "file_too_large",
    ".env": "path_refused",
    "~/.ssh/id_rsa": "path_refused",
}


@pytest.mark.parametrize(("path", "code"), CODES.items())
def test_what_is_not_shown_is_refused_in_words_for_a_person(rules, path, code):
    (rules.workspace / "folder").mkdir()
    (rules.workspace / "binary").write_bytes(b"\0\1\2" * 100)
    (rules.workspace / ".env").write_text("SECRET=1")
    with (rules.workspace / "huge").open("wb") as file:
        file.truncate(limits.READ_FILE + 1)
    with pytest.raises(AgentError) as caught:
        look(rules, path)
    assert caught.value.code == code
    assert not any(advice in caught.value.text for advice in ("read_file", "grep", "list_dir"))


def test_unchanged_lines_come_only_from_a_version_the_change_knows(rules):
    old, new = "a\nb\nc\n", "a\nB\nc\n"
    change = diff.build("f.txt", old, new)
    file = rules.workspace / "f.txt"
    for text, is_old in ((old, True), (new, False)):
        file.write_text(text)
        found = unchanged_lines("f.txt", change.versions, rules, redact)
        assert (found.lines, found.old) == (tuple(text.splitlines()), is_old)
    file.write_text("a\nB\nC\n")  # as many lines as the change left
    with pytest.raises(AgentError) as caught:
        unchanged_lines("f.txt", change.versions, rules, redact)
    assert caught.value.code == "file_changed"
