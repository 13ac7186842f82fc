"""Files by descriptor: what was judged is read, replaced in one step, and never taken for something else."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from agent_core import files, limits, plain_files
from agent_core.errors import ToolFailure
from agent_core.safety.paths import PathRules, classify


@pytest.fixture
def rules(tmp_path: Path) -> PathRules:
    root = tmp_path.resolve()
    for name in ("ws", "out", "home"):
        (root / name).mkdir()
    return PathRules(root / "ws", root / "home", root / "home/.nanohermes")


@pytest.fixture
def outside(rules: PathRules) -> Path:
    return rules.workspace.parent / "out"


def failure(call, *args):
    with pytest.raises(ToolFailure) as caught:
        call(*args)
    return caught.value


def left_over(rules: PathRules) -> list[str]:
    return [path.name for path in rules.workspace.rglob("*.tmp")]


def test_a_file_is_read_with_its_digest_and_mode(rules):
    (rules.workspace / "a.txt").write_bytes(b"abc")
    content = files.read(classify("read", "a.txt", rules), rules)
    assert (content.data, content.digest) == (b"abc", files.digest(b"abc"))
    assert stat.S_ISREG(content.mode)


def test_a_file_outside_the_workspace_is_read_by_its_path(rules, outside):
    (outside / "a.txt").write_bytes(b"abc")
    assert files.read(classify("read", "../out/a.txt", rules), rules).data == b"abc"
    assert files.read(classify("read", "/proc/version", rules), rules).data.startswith(b"Linux")


def test_a_denied_path_is_not_opened_even_when_a_caller_forgot_to_look(rules):
    verdict = classify("read", "/etc/shadow", rules)
    assert failure(files.read, verdict, rules).code == "denied"
    assert failure(files.write, classify("write", "../out/a", rules), rules, b"", None).code == "denied"


def test_a_missing_file_names_the_nearest_ones(rules):
    for name in ("dates.py", "Dates.md", "date.py", "dated.py", "other.py"):
        (rules.workspace / name).write_text("")
    missing = failure(files.read, classify("read", "dates.p", rules), rules)
    assert missing.code == "missing"
    assert len(missing.params["near"]) == limits.NEAR_NAMES
    assert "dates.py" in missing.text
    assert "other.py" not in missing.text
    nowhere = failure(files.read, classify("read", "no/such/file", rules), rules)
    assert "no/such does not exist either" in nowhere.text


def test_too_large_a_file_is_refused_with_its_size_and_the_limit(rules):
    with open(rules.workspace / "big", "wb") as file:
        file.truncate(5 << 30)
    refused = failure(files.read, classify("read", "big", rules), rules)
    assert refused.code == "too_large"
    assert "5,368,709,120" in refused.text
    assert f"{limits.READ_FILE:,}" in refused.text
    (rules.workspace / "edge").write_bytes(b"x" * 10)
    assert files.read(classify("read", "edge", rules), rules, 10).data == b"x" * 10
    assert failure(files.read, classify("read", "edge", rules), rules, 9).code == "too_large"


def test_what_is_no_regular_file_is_refused_without_waiting(rules, monkeypatch):
    ws = rules.workspace
    (ws / "pipe").write_text("")
    (ws / "sock").write_text("")
    verdicts = [classify("read", name, rules) for name in ("pipe", "sock")]
    (ws / "pipe").unlink()
    os.mkfifo(ws / "pipe")
    (ws / "sock").unlink()
    with socket.socket(socket.AF_UNIX) as bound:
        monkeypatch.chdir(ws)  # a socket's path has 108 bytes at most
        monkeypatch.chdir(ws)  # a socket's path has 108 bytes at most
        bound.bind("sock")
    codes = [failure(files.read, verdict, rules).code for verdict in verdicts]
    assert codes[0] == "special"
    assert codes[1] in ("special", "unreadable")
    assert failure(files.read, classify("read", ".", rules), rules).code == "directory"


def test_a_new_file_gets_its_folders_and_what_the_umask_leaves(rules):
    old = os.umask(0o027)
    try:
        files.write(classify("write", "a/b/c.txt", rules), rules, b"new", None)
    finally:
        os.umask(old)
    path = rules.workspace / "a/b/c.txt"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert left_over(rules) == []


def test_a_replaced_file_keeps_its_permissions_and_owner(rules):
    path = rules.workspace / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o750)
    if os.geteuid() == 0:
        os.chown(path, 1234, 1234)
    files.write(classify("write", "run.sh", rules), rules, b"new", files.digest(b"old"))
    after = path.stat()
    assert (path.read_bytes(), stat.S_IMODE(after.st_mode)) == (b"new", 0o750)
    assert after.st_uid == (1234 if os.geteuid() == 0 else os.geteuid())


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_file_that_is_not_as_expected_is_left_alone(rules, monkeypatch, links):
    if not links:

        def refuse(*args, **kwargs):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    path = rules.workspace / "a.txt"
    verdict = classify("write", "a.txt", rules)
    assert failure(files.write, verdict, rules, b"new", files.digest(b"seen")).code == "stale_file"
    files.write(verdict, rules, b"theirs", None)
    for expect in (None, files.digest(b"seen")):
        assert failure(files.write, verdict, rules, b"new", expect).code == "stale_file"
    assert failure(files.delete, verdict, rules, files.digest(b"seen")).code == "stale_file"
    assert path.read_bytes() == b"theirs"
    assert left_over(rules) == []


def test_only_one_of_many_writers_that_saw_the_same_content_wins(rules):
    path = rules.workspace / "a.txt"
    path.write_bytes(b"old")
    verdict = classify("write", "a.txt", rules)
    won: list[bytes] = []
    lost: list[str] = []

    def attempt(data: bytes) -> None:
        try:
            files.write(verdict, rules, data, files.digest(b"old"))
            won.append(data)
        except ToolFailure as error:
            lost.append(error.code)

    threads = [threading.Thread(target=attempt, args=(b"%d" % n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes()] == won
    assert lost == ["stale_file"] * 7


def test_links_swapped_in_after_the_judgement_lead_nowhere(rules, outside):
    ws = rules.workspace
    (outside / "t.txt").write_bytes(b"theirs")
    (ws / "d").mkdir()
    (ws / "f.txt").write_bytes(b"old")
    in_folder, in_file = classify("write", "d/t.txt", rules), classify("write", "f.txt", rules)
    (ws / "d").rmdir()
    (ws / "d").symlink_to(outside)
    (ws / "f.txt").unlink()
    (ws / "f.txt").symlink_to(outside / "t.txt")
    for expect in (None, files.digest(b"theirs"), files.digest(b"old")):
        failure(files.write, in_folder, rules, b"new", expect)
        failure(files.write, in_file, rules, b"new", expect)
        failure(files.delete, in_folder, rules, str(expect))
    failure(files.read, in_file, rules)
    assert (outside / "t.txt").read_bytes() == b"theirs"
    assert [path.name for path in outside.iterdir()] == ["t.txt"]


def test_other_hard_links_keep_the_old_content(rules, outside):
    (outside / "h").write_bytes(b"old")
    os.link(outside / "h", rules.workspace / "h")
    files.write(classify("write", "h", rules), rules, b"new", files.digest(b"old"))
    assert ((outside / "h").read_bytes(), (rules.workspace / "h").read_bytes()) == (b"old", b"new")


def test_a_read_only_file_and_too_large_a_content_are_refused(rules):
    path = rules.workspace / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    verdict = classify("write", "a", rules)
    assert failure(files.write, verdict, rules, b"new", files.digest(b"old")).code == "read_only"
    assert failure(files.write, verdict, rules, b"x" * (limits.WRITE_FILE + 1), None).code == "too_large"
    assert path.read_bytes() == b"old"


def test_delete_removes_the_file_or_the_link_itself(rules, outside):
    (outside / "kept").write_bytes(b"kept")
    (rules.workspace / "link").symlink_to(outside / "kept")
    (rules.workspace / "a").write_bytes(b"old")
    files.delete(classify("delete", "a", rules), rules, files.digest(b"old"))
    link = classify("delete", "link", rules)
    files.delete(link, rules, files.read_link(link, rules).digest)
    assert list(rules.workspace.iterdir()) == []
    assert (outside / "kept").read_bytes() == b"kept"
    assert failure(files.delete, link, rules, "").code == "stale_file"


def test_a_private_file_is_replaced_whole_and_for_its_owner_only(tmp_path):
    path = tmp_path / "home/sub/config.yaml"
    plain_files.atomic_write(path, b"one")
    real = tmp_path / "dotfiles.yaml"
    path.rename(real)
    path.symlink_to(real)
    plain_files.atomic_write(path, b"two")
    assert path.is_symlink()
    assert real.read_bytes() == b"two"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["config.yaml"]


# -- on the disk --------------------------------------------------------------------------------------------------


@pytest.fixture
def done(monkeypatch):
    """What is done to names, and what is brought to the disk, in order."""
    seen = []

    def spy(name, words):
        real = getattr(os, name)

        def call(*args, **more):
            seen.append(words(args[0]))
            return real(*args, **more)

        monkeypatch.setattr(os, name, call)

    spy("fsync", lambda file: "folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "content")
    for name in ("rename", "link", "unlink", "symlink"):
        spy(name, lambda _, name=name: name)
    return seen


def test_what_is_written_is_on_the_disk_before_it_takes_its_name_and_so_is_the_name_in_the_end(rules, done):
    path = rules.workspace / "a.txt"
    verdict = classify("write", "a.txt", rules)
    files.write(verdict, rules, b"one", None)
    files.write(verdict, rules, b"two", files.digest(b"one"))
    files.delete(classify("delete", "a.txt", rules), rules, files.digest(b"two"))
    files.make_link(classify("write", "a.txt", rules), rules, b"b.txt")
    plain_files.atomic_write(path.parent / "plain", b"x")
    new, other = ["content", "link", "unlink", "folder"], ["content", "rename", "unlink", "folder"]
    assert done == [*new, *other, "unlink", "folder", "symlink", "folder", *other]


def test_a_new_content_is_nobody_elses_to_read_until_it_has_the_files_own_permissions(rules, monkeypatch):
    (rules.workspace / "a.txt").write_bytes(b"one")
    (rules.workspace / "a.txt").chmod(0o640)
    fchmod, before = os.fchmod, []

    def watched(file, mode):
        before.append((stat.S_IMODE(os.fstat(file).st_mode), os.fstat(file).st_size))
        fchmod(file, mode)

    monkeypatch.setattr(os, "fchmod", watched)
    mask = os.umask(0)
    try:
        files.write(classify("write", "a.txt", rules), rules, b"two", files.digest(b"one"))
    finally:
        os.umask(mask)
    assert before == [(0o600, 0)]
    assert stat.S_IMODE((rules.workspace / "a.txt").stat().st_mode) == 0o640


def test_of_two_writes_over_the_same_content_at_the_same_time_one_finds_that_it_has_changed(rules, monkeypatch):
    (rules.workspace / "a.txt").write_bytes(b"one")
    read, both_have_looked, came = files._read_at, threading.Barrier(2), []

    def looks(*args):
        found = read(*args)
        try:
            both_have_looked.wait(0.3)
        except threading.BrokenBarrierError:
            pass
        return found

    def write(data):
        try:
            files.write(classify("write", "a.txt", rules), rules, data, files.digest(b"one"))
            came.append("written")
        except ToolFailure as failed:
            came.append(failed.code)

    monkeypatch.setattr(files, "_read_at", looks)
    threads = [threading.Thread(target=write, args=(data,)) for data in (b"two", b"three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(came) == ["stale_file", "written"]
