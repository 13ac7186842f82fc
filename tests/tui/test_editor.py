"""The user's own editor: which one, what it gets, and what becomes of the draft whatever it does. Real programs."""

import os
import stat
import sys

import pytest

from agent_core.errors import AgentError
from nanoherm_tui import limits
from nanoherm_tui.terminal import editor


def script(folder, body, name="ed it.py"):
    """An editor: a program that gets the file's path last."""
    path = folder / name
    text = "import os, pathlib, sys\npath = pathlib.Path(sys.argv[-1])\n"
    path.write_text(f"#!{sys.executable}\n{text}{body}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


def installed(folder, *names):
    for name in names:
        script(folder, "", name)
    return str(folder)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "vi"}, ["code", "--wait"]),
        ({"VISUAL": "  ", "EDITOR": "nano -w"}, ["nano", "-w"]),
        ({"EDITOR": "'my editor' \"two words\" $HOME `id`; rm"}, ["my editor", "two words", "$HOME", "`id`;", "rm"]),
        ({}, ["vi"]),
    ],
)
def test_visual_comes_before_editor_and_both_before_what_is_installed(tmp_path, environment, words):
    path = installed(tmp_path, "code", "nano", "vi", "my editor")
    assert editor.command({"PATH": path, **environment}) == words


def test_without_vi_another_editor_is_taken(tmp_path):
    assert editor.command({"PATH": installed(tmp_path, "nano")}) == ["nano"]


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({}, "editor_none"),
        ({"VISUAL": "no-such-editor -x"}, "editor_missing"),
        ({"EDITOR": "vi 'open quote"}, "editor_quotes"),
    ],
)
def test_what_cannot_be_an_editor_is_said_with_the_way_out(tmp_path, environment, code):
    with pytest.raises(AgentError) as raised:
        editor.command({"PATH": str(tmp_path), **environment})
    assert raised.value.code == code
    assert "Set " in raised.value.text


def test_the_file_is_the_users_alone_is_markdown_and_is_gone_afterwards(tmp_path):
    words = [str(script(tmp_path, """
mode = lambda p: oct(p.stat().st_mode & 0o7777)
seen = [path, path.name, mode(path), mode(path.parent), len(list(path.parent.iterdir()))]
path.write_text("\\n".join(map(str, seen)))
"""))]  # fmt: skip
    place, name, mode, folder_mode, files = editor.edit("x", words).split("\n")
    assert (name, mode, folder_mode, files) == ("message.md", "0o600", "0o700", "1")
    assert not os.path.exists(os.path.dirname(place))


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ("one\n", "one"),
        ("one\n\n", "one\n"),
        ("one", "one"),
        ("", ""),
        ("\n", ""),
        ("一\r\n二\r\n", "一\n二"),
        ("\ufeffmark\n", "mark"),
    ],
)
def test_one_line_end_at_the_end_is_the_editors_and_goes(tmp_path, left, expected):
    words = [str(script(tmp_path, f"path.write_bytes({left.encode()!r})"))]
    assert editor.edit("before", words) == expected


@pytest.mark.parametrize("text", ["plain", "多行\n文本\n", "tab\there", "x" * 300_000])
def test_a_text_that_is_not_changed_comes_back(tmp_path, text):
    assert editor.edit(text, [str(script(tmp_path, ""))]) == text.removesuffix("\n")


def test_a_text_that_no_file_can_hold_does_not_stop_the_editor(tmp_path):
    assert editor.edit("lone \ud83d here", [str(script(tmp_path, ""))]) == "lone ? here"


def test_an_editor_that_saves_by_renaming_is_followed(tmp_path):
    body = "new = path.with_name('new'); new.write_text('renamed'); os.replace(new, path)"
    assert editor.edit("x", [str(script(tmp_path, body))]) == "renamed"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("sys.exit(3)", "editor_failed"),
        ("path.write_text('half'); os.kill(os.getpid(), 15)", "editor_failed"),
        ("path.unlink()", "editor_error"),
        ("path.unlink(); path.mkdir()", "editor_error"),
        (f"os.truncate(path, {limits.EDITED + 1})", "editor_too_long"),
    ],
)
def test_an_editor_that_fails_gives_no_text(tmp_path, body, code):
    with pytest.raises(AgentError) as raised:
        editor.edit("x", [str(script(tmp_path, body))])
    assert raised.value.code == code
    assert "The draft is as it was." in raised.value.text


def test_a_program_that_is_none_gives_no_text(tmp_path):
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x00\x01")
    odd.chmod(stat.S_IRWXU)
    with pytest.raises(AgentError) as raised:
        editor.edit("x", [str(odd)])
    assert raised.value.code == "editor_error"


def test_nothing_is_run_through_a_shell(tmp_path):
    show = script(tmp_path, "path.write_text(repr(sys.argv[1:-1]))")
    assert editor.edit("x", [str(show), "$(touch hurt)", ";", "|"]) == "['$(touch hurt)', ';', '|']"


def test_ctrl_c_in_the_editor_is_the_editors(tmp_path):
    """The signal goes to the whole foreground group: the editor hears it as usual, this program goes on."""
    body = """
import signal
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
os.kill(os.getppid(), signal.SIGINT)
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    path.write_text("interrupted and saved")
"""
    assert editor.edit("x", [str(script(tmp_path, body))]) == "interrupted and saved"
