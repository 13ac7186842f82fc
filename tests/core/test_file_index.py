"""The index of a workspace's files: what is in it, and that it stays what the folder holds."""

import errno
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from agent_core import limits
from agent_core.workspace import tree as file_tree
from agent_core.workspace.index import FileIndex, is_too_wide
from agent_core.workspace.watch import Watch

WAIT = 20.0  # seconds; far more than any of it takes


class Asking:
    """Asks an index and keeps the newest answer."""

    def __init__(self, root, home):
        self.index = FileIndex(root, home)
        self.answers = []
        self._came = threading.Condition()

    def take(self, answer):
        with self._came:
            self.answers.append(answer)
            self._came.notify_all()

    def ask(self, query="", **options):
        """The first complete answer."""
        with self._came:
            self.answers = []
        self.index.ask(query, self.take, **options)
        return self.until(lambda answer: answer.query == query and answer.count is not None and not answer.growing)

    def until(self, fits):
        with self._came:
            assert self._came.wait_for(lambda: any(map(fits, self.answers)), WAIT), self.answers[-1:]
            return next(filter(fits, reversed(self.answers)))

    def until_paths(self, *paths):
        return self.until(lambda a: a.count == len(paths) and sorted(h.path for h in a.hits) == sorted(paths))


def write(root, *paths):
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n", encoding="utf-8")


def paths(answer):
    return sorted(hit.path for hit in answer.hits)


def wait_for(true):
    deadline = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def watched(asking):
    """The tree once its watches are set."""
    wait_for(lambda: asking.index._is_watched and not asking.index._in_doubt)
    return asking.index._tree


@pytest.fixture
def root(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def asking(root, tmp_path):
    made = Asking(root, tmp_path / "home")
    yield made
    made.index.close()


# -- what is in it ------------------------------------------------------------------------------------------------


def test_all_files_and_folders_are_in_it_but_version_stores_and_what_is_ignored(root, asking):
    write(
        root, ".gitignore", ".env", "src/a.py", "src/deep/b.py", "build/out.o", ".git/HEAD", "src/.gitignore", "x.log"
    )
    (root / ".gitignore").write_text("build/\n*.log\n")
    (root / "src/.gitignore").write_text("b.py\n")
    (root / "link").symlink_to("src")
    (root / "dangling").symlink_to("nowhere")
    (root / "empty").mkdir()
    assert paths(asking.ask()) == sorted(
        [".env", ".gitignore", "dangling", "empty/", "link", "src/", "src/.gitignore", "src/a.py", "src/deep/"]
    )


def test_the_rules_of_a_repository_above_hold(root, asking):
    (root.parent / ".git").mkdir()
    (root.parent / ".gitignore").write_text("*.tmp\n")
    write(root, "a.tmp", "a.py")
    assert paths(asking.ask()) == ["a.py"]


def test_names_that_cannot_be_written_into_a_message_are_left_out(root, asking):
    write(root, "two\nlines/x", "日期.py", "a b.md")
    with open(os.fsencode(root) + b"/\xff.txt", "w"):
        pass
    assert paths(asking.ask()) == ["a b.md", "日期.py"]


def test_hits_say_which_letters_were_typed(root, asking):
    write(root, "src/parse_date.py")
    (hit,) = asking.ask("pd").hits
    assert "".join(hit.path[at] for at in hit.places) == "pd"
    assert hit.path[hit.places[1] :].startswith("date")


@pytest.mark.parametrize(("workspace", "wide"), [("home", True), (".", True), ("/", True), ("home/code", False)])
def test_the_home_folder_and_what_holds_it_is_not_read(tmp_path, workspace, wide):
    home, folder = tmp_path / "home", tmp_path / workspace
    folder.mkdir(parents=True, exist_ok=True)
    assert is_too_wide(folder, home) is wide
    if wide:
        asking = Asking(folder, home)
        asking.index.ask("x", asking.take)
        assert [(a.refused, a.hits) for a in asking.answers] == [(True, ())]
        asking.index.close()


def test_a_workspace_with_too_many_files_is_cut_and_says_so(root, asking, monkeypatch):
    monkeypatch.setattr(limits, "INDEX_ENTRIES", 10)
    write(root, *(f"d{n}/f{n}" for n in range(12)))
    answer = asking.ask()
    assert answer.cut
    assert answer.total <= 11


def test_lines_of_a_file_are_counted_where_it_is_one_of_the_workspace(root, asking):
    (root / "three").write_bytes(b"a\nb\nc")
    (root / "none").write_bytes(b"")
    (root / "binary").write_bytes(b"\0\n")
    (root.parent / "outside").write_bytes(b"a\n")
    got = []
    for path in ("three", "none", "binary", "gone", "../outside", str(root / "three")):
        asking.index.count_lines(path, got.append)
    deadline = time.monotonic() + WAIT
    while len(got) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert got == [3, 0, None, None, None, None]


# -- staying fresh ------------------------------------------------------------------------------------------------


def test_files_that_come_go_and_get_other_names_are_seen(root, asking):
    write(root, "a", "d/b")
    asking.ask()
    write(root, "c", "d/e", "new/deep/f")
    asking.until_paths("a", "c", "d/", "d/b", "d/e", "new/", "new/deep/", "new/deep/f")
    (root / "a").unlink()
    (root / "c").rename(root / "new/g")
    asking.until_paths("d/", "d/b", "d/e", "new/", "new/g", "new/deep/", "new/deep/f")
    shutil.rmtree(root / "d")
    (root / "new").rename(root / "newer")
    asking.until_paths("newer/", "newer/g", "newer/deep/", "newer/deep/f")
    write(root, "newer/deep/h")  # watched under its new name
    asking.until_paths("newer/", "newer/g", "newer/deep/", "newer/deep/f", "newer/deep/h")


def test_a_folder_that_takes_the_name_of_another_brings_its_own_files(root, asking):
    write(root, "one/a", "two/b")
    asking.ask()
    (root / "one").rename(root / "tmp")
    (root / "two").rename(root / "one")
    (root / "tmp").rename(root / "two")
    asking.until_paths("one/", "one/b", "two/", "two/a")
    write(root, "one/c", "two/d")
    asking.until_paths("one/", "one/b", "one/c", "two/", "two/a", "two/d")


def test_a_changed_gitignore_holds_at_once(root, asking):
    write(root, "sub/a.log", "sub/a.py", "b.log")
    asking.ask()
    write(root, "sub/.gitignore")
    (root / "sub/.gitignore").write_text("*.log\n")
    asking.until_paths("sub/", "sub/.gitignore", "sub/a.py", "b.log")
    (root / ".gitignore").write_text("sub/\n")
    asking.until_paths(".gitignore", "b.log")
    (root / ".gitignore").unlink()
    asking.until_paths("sub/", "sub/.gitignore", "sub/a.py", "b.log")


def test_changes_in_an_ignored_folder_and_in_a_version_store_are_passed_over(root, asking):
    write(root, "node_modules/x/a.js", "a.js", ".git/HEAD")
    (root / ".gitignore").write_text("node_modules/\n")
    asking.ask()
    edition = watched(asking).edition
    write(root, *(f"node_modules/x{n}/b.js" for n in range(30)), ".git/objects/aa/b")
    (root / "a.js").write_text("other\n")
    write(root, "b.js")
    asking.until_paths(".gitignore", "a.js", "b.js")
    assert asking.index._tree.edition == edition + 1


def test_what_changed_before_the_watches_were_set_is_seen(root, asking, monkeypatch):
    write(root, "a", "d/b")
    started = Watch.__init__

    def late(self, path):
        write(root, "d/c")
        (root / "a").unlink()
        started(self, path)

    monkeypatch.setattr(Watch, "__init__", late)
    asking.ask()
    asking.until_paths("d/", "d/b", "d/c")


def test_a_switch_of_branches_with_thousands_of_files_is_followed(root, asking, monkeypatch):
    monkeypatch.setattr(limits, "INDEX_CHANGES", 20)

    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True,
                       capture_output=True)  # fmt: skip

    git("init", "-q", "-b", "main")
    write(root, "README")
    git("add", ".")
    git("commit", "-qm", "a")
    git("checkout", "-qb", "wide")
    write(root, *(f"d{n % 60}/f{n}" for n in range(2000)))
    git("add", ".")
    git("commit", "-qm", "b")
    assert asking.ask("f").count > 1999
    watched(asking)
    git("checkout", "-q", "main")
    asking.until(lambda answer: answer.total == 1)
    git("checkout", "-q", "wide")
    asking.until(lambda answer: answer.total == 2061)


def test_a_name_that_is_no_text_only_makes_the_watches_be_set_anew(root, asking, monkeypatch):
    monkeypatch.setattr(limits, "INDEX_REST", 0.1)
    write(root, "a")
    asking.ask()
    watched(asking)
    with open(os.fsencode(root) + b"/\xff.txt", "w"):
        pass
    write(root, "b")
    asking.until_paths("a", "b")
    write(root, "c")
    asking.until_paths("a", "b", "c")


def test_when_the_watching_program_ends_the_folders_times_have_to_do(root, asking, monkeypatch, caplog):
    monkeypatch.setattr(limits, "INDEX_STALE", 0.1)
    write(root, "a", "d/b")
    asking.ask()
    watched(asking)
    asking.index._watch._process.kill()
    wait_for(lambda: asking.index._watch is None)
    assert "watched no longer" in caplog.text
    write(root, "d/c")
    asking.until_paths("a", "d/", "d/b", "d/c")
    (root / "d/.gitignore").write_text("b\n")
    asking.until_paths("a", "d/", "d/.gitignore", "d/c")
    (root / "d/.gitignore").write_text("c\n")  # the folder's own time stays
    asking.until_paths("a", "d/", "d/.gitignore", "d/b")


def test_a_program_that_cannot_be_started_is_said_and_tried_again_later(root, asking, monkeypatch, caplog):
    def full(self, path):
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(limits, "INDEX_STALE", 0.05)
    with monkeypatch.context() as patch:
        patch.setattr(Watch, "__init__", full)
        write(root, "a")
        assert paths(asking.ask()) == ["a"]
        asking.index.rest()
        write(root, "b")
        time.sleep(0.1)
        asking.ask()
        asking.until_paths("a", "b")
    assert caplog.text.count("no more processes") == 1
    asking.index._watch_due = 0.0
    asking.index.rest()
    asking.ask()
    watched(asking)


def test_what_nobody_told_is_seen_when_the_picker_opens_again(root, asking, monkeypatch):
    monkeypatch.setattr(limits, "INDEX_STALE", 0.0)
    monkeypatch.setattr(Watch, "read", lambda self: os.read(self.fd, 1000) and [])
    write(root, "a")
    asking.ask()
    asking.index.rest()
    write(root, "b")
    asking.ask()
    asking.until_paths("a", "b")


def test_the_watching_program_ends_with_ours(root):
    program = (
        "import os, sys; from agent_core.workspace.watch import Watch; w = Watch(sys.argv[1]); w.read(); "
        "print(w._process.pid, flush=True); os._exit(1)"
    )
    out = subprocess.run([sys.executable, "-c", program, str(root)], capture_output=True, check=False, text=True)
    wait_for(lambda: not os.path.exists(f"/proc/{int(out.stdout)}"))


# -- asking -------------------------------------------------------------------------------------------------------


def test_the_newest_question_wins_and_nobody_is_told_after_rest(root, asking):
    write(root, "alpha", "beta")
    asking.ask()
    for query in ("a", "al", "alp", "b", "be"):
        asking.index.ask(query, asking.take)
    assert paths(asking.until(lambda a: a.query == "be" and a.count is not None)) == ["beta"]
    asking.index.rest()
    asking.answers.clear()
    write(root, "bench")
    time.sleep(4 * limits.INDEX_STEP)
    assert asking.answers == []
    asking.ask("be")
    asking.until_paths("bench", "beta")


def test_a_search_that_takes_long_gives_what_it_has_found_so_far_and_then_the_best(root, asking, monkeypatch):
    monkeypatch.setattr(limits, "INDEX_SHARD", 16)
    monkeypatch.setattr(limits, "FIND_FIRST", 0.0)
    write(root, *(f"d{n}/a_file{n}" for n in range(60)), "zz/a")
    asking.ask()
    asking.ask("a")
    early, *others = asking.answers
    assert not early.settled
    assert len(early.hits) >= limits.FIND_EARLY
    assert [other.settled for other in others] == [True, True]
    assert others[-1].hits[0].path == "zz/a"


def test_while_it_grows_it_answers_from_what_it_has(root, asking, monkeypatch):
    monkeypatch.setattr(limits, "INDEX_NEWS", 0.0)
    write(root, *(f"d{n}/file{n}" for n in range(300)))
    asking.index.ask("file", asking.take)
    done = asking.until(lambda a: not a.growing and a.count == 300)
    assert done.total == 600
    totals = [a.total for a in asking.answers if a.growing]
    assert totals == sorted(totals)
    assert len(set(totals)) > 3


def test_a_closed_index_ends_its_thread_even_while_it_reads(root, tmp_path, monkeypatch):
    write(root, *(f"d{n}/f" for n in range(200)))
    monkeypatch.setattr(limits, "INDEX_SLICE", 0.0)
    monkeypatch.setattr(limits, "INDEX_PAUSE", 0.05)
    asking = Asking(root, tmp_path / "home")
    asking.index.ask("f", asking.take)
    thread = asking.index._thread
    asking.index.close()
    asking.index.close()
    thread.join(WAIT)
    assert not thread.is_alive()
    asking.index.ask("f", asking.take)  # too late: nothing happens
    assert asking.index._thread is None


def test_what_goes_wrong_is_logged_and_the_next_question_tries_again(root, asking, monkeypatch, caplog):
    write(root, "a")
    with monkeypatch.context() as patch:
        patch.setattr(file_tree, "look_into", lambda *args, **options: 1 / 0)
        asking.index.ask("", asking.take)
        asking.index._thread.join(WAIT) if asking.index._thread else None
    assert "file index failed" in caplog.text
    assert paths(asking.ask()) == ["a"]
