"""Naming a file with @ in the whole program, in a real terminal."""

import subprocess

from tests.e2e.screen import KEYS, Screen, home_env
from tests.fakes.model_server import ModelServer, Reply


def project(tmp_path):
    """A repository in a folder with a Chinese name."""
    root = tmp_path / "账本 项目"
    for path in ("源码/日期.py", "src/parse_date.py", "build/data.bin", "my data.md"):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one\ntwo\nthree\n", encoding="utf-8")
    (root / ".gitignore").write_text("build/\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def test_a_file_is_found_taken_given_lines_looked_at_and_sent(tmp_path):
    root = project(tmp_path)
    with ModelServer([Reply("Seen.")]) as server:
        env = home_env(tmp_path / "home", NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Screen(env=env, cwd=root, columns=150, rows=30) as screen:
            screen.wait_for("test-model")
            screen.type("look at @dat")
            screen.wait_for("src/parse_date.py", "my data.md", "2 of 6")
            assert "data.bin" not in screen.text
            (root / "date_new.py").write_text("", encoding="utf-8")
            screen.wait_for("date_new.py", "3 of 7")
            screen.type("e.py")
            screen.wait_for("2 of 7")
            screen.send(KEYS["tab"])
            screen.wait_for("@src/parse_date.py")
            screen.type("#2-9")
            screen.wait_for("@src/parse_date.py#2-9", "The file has only 3 lines.")
            screen.send("\x7f3")
            screen.wait_for("Lines 2 to 3")
            screen.send("\x1bOS")  # F4
            screen.wait_for("three")
            screen.rest(0.3)
            screen.type(" and @日")
            screen.wait_for("源码/日期.py")
            screen.send(KEYS["enter"])
            screen.rest(0.3)
            screen.send(KEYS["enter"])
            screen.wait_for("Seen.")
        sent = server.requests[-1]["messages"][-1]["content"]
        typed, *told = sent.split("\n\n<reference ")
        assert typed == "look at @src/parse_date.py#2-3 and @源码/日期.py"
        assert [words.split(">")[0] for words in told] == ['name="@src/parse_date.py#2-3"', 'name="@源码/日期.py"']


def test_where_the_preview_covers_the_draft_it_has_the_keyboard_and_gives_it_back(tmp_path):
    root = project(tmp_path)
    with ModelServer([Reply("Seen.")]) as server:
        env = home_env(tmp_path / "home", NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Screen(env=env, cwd=root, columns=80, rows=24) as screen:
            screen.wait_for("test-model")
            screen.type("@parse")
            screen.wait_for("1 of 6")
            screen.send("\x1bOS")  # F4
            screen.wait_for("two")
            screen.wait_for("1 of 6", gone=True)
            screen.send("\x1b3")  # Alt+3
            screen.wait_for("1 of 6")
            screen.type("x")
            screen.wait_for("@parsex")
