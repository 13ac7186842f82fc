"""What the mount view pins and covers, and names that are kept free while a command runs."""

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from agent_core.sandbox import mounts
from agent_core.sandbox.mounts import Placeholder, protect
from agent_core.sandbox.policy import SandboxPolicy


@pytest.fixture
def ws(tmp_path):
    root = Path(os.path.realpath(tmp_path)) / "ws"
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".git/config").write_text("[core]\n")
    (root / "sub/deep").mkdir(parents=True)
    return root


def names(paths, root):
    return sorted(str(path.relative_to(root)) if path.is_relative_to(root) else str(path) for path in paths)


def of(root, *places):
    found = protect([root / place for place in places], [root])
    return tuple(names(part, root) for part in (found.parents, found.read_only, found.missing))


@pytest.mark.parametrize(
    ("places", "parents", "read_only", "missing"),
    [
        ([".git/hooks"], [".git"], [".git/hooks"], []),
        ([".git/hooks", ".git/config"], [".git"], [".git/config", ".git/hooks"], []),
        ([".git", ".git/hooks"], [], [".git", ".git/hooks"], []),
        ([".envrc"], [], [], [".envrc"]),
        ([".vscode/tasks.json"], [], [], [".vscode"]),
        ([".git/info/attributes"], [".git"], [], [".git/info"]),
        (["sub/deep/x/y"], ["sub", "sub/deep"], [], ["sub/deep/x"]),
        ([".git/config/x"], [".git"], [".git/config"], []),  # a file on the way stands for what would be below
        (["."], [], ["."], []),
    ],
)
def test_a_place_is_pinned_with_the_folders_above_it_or_its_first_missing_part_is_named(
    ws, places, parents, read_only, missing
):
    assert of(ws, *places) == (parents, read_only, missing)


def test_what_is_not_below_a_writable_folder_needs_no_pin(ws):
    assert of(ws / "sub", "../.git/hooks", "/etc/passwd") == ([], [], [])


def test_a_link_is_pinned_and_so_is_what_it_leads_to(ws):
    (ws / "sub/hooks").mkdir()
    (ws / ".envrc").symlink_to("sub/hooks")
    assert of(ws, ".envrc") == (["sub"], [".envrc", "sub/hooks"], [])


def test_a_link_to_the_outside_is_pinned_alone(ws, tmp_path):
    (ws / ".envrc").symlink_to(tmp_path)
    assert of(ws, ".envrc") == ([], [".envrc"], [])


def test_where_a_dangling_link_leads_is_kept_free(ws):
    (ws / ".mcp.json").symlink_to("sub/later.json")
    assert of(ws, ".mcp.json") == (["sub"], [".mcp.json"], ["sub/later.json"])


def test_a_link_on_the_way_is_pinned_and_followed(ws):
    (ws / "real").mkdir()
    (ws / "real/config").write_text("")
    (ws / "repo").symlink_to("real")
    assert of(ws, "repo/config") == (["real"], ["real/config", "repo"], [])


def test_links_in_a_circle_end(ws):
    (ws / "a").symlink_to("b")
    (ws / "b").symlink_to("a")
    _, read_only, _ = of(ws, "a")
    assert "a" in read_only


@pytest.mark.parametrize("name", [".git2", "config"])
def test_a_placeholder_takes_the_name_and_leaves_nothing(ws, name):
    held = Placeholder.hold(ws / name)
    assert held is not None
    assert (ws / name).exists()
    held.release()
    assert not (ws / name).exists()


def test_git_reads_its_settings_from_files_so_their_placeholder_is_one(ws):
    held = Placeholder.hold(ws / "config.worktree")
    assert held is not None
    assert (ws / "config.worktree").is_file()
    held.release()


def test_the_last_of_several_holders_removes_it(ws):
    first, second = Placeholder.hold(ws / "x"), Placeholder.hold(ws / "x")
    assert first is not None
    assert second is not None
    first.release()
    assert (ws / "x").is_dir()
    second.release()
    assert not (ws / "x").exists()


def test_a_placeholder_that_a_crash_left_is_taken_over_and_removed(ws):
    first = Placeholder.hold(ws / "x")
    assert first is not None
    os.close(first.descriptor)  # as the end of a process does
    assert of(ws, "x")[2] == ["x"]
    second = Placeholder.hold(ws / "x")
    assert second is not None
    second.release()
    assert not (ws / "x").exists()


def test_what_the_user_put_into_it_meanwhile_stays(ws):
    for name, fill in (("x", lambda path: (path / "mine").write_text("1")), ("config", lambda p: p.write_text("1"))):
        held = Placeholder.hold(ws / name)
        assert held is not None
        fill(ws / name)
        held.release()
        assert (ws / name).exists()


def test_what_the_user_put_in_its_place_stays(ws):
    held = Placeholder.hold(ws / "x")
    assert held is not None
    (ws / "x").rmdir()
    (ws / "x").mkdir()
    held.release()
    assert (ws / "x").is_dir()


def test_an_empty_folder_of_the_user_is_not_taken(ws):
    (ws / "x").mkdir()
    os.utime(ws / "x", (1, 1))
    assert Placeholder.hold(ws / "x") is None
    assert (ws / "x").is_dir()


def test_a_name_that_nobody_can_create_needs_no_placeholder(ws):
    assert Placeholder.hold(Path("/proc/x")) is None
    assert Placeholder.hold(ws / ("x" * 300)) is None
    assert Placeholder.hold(ws / "no/folder") is None
    (ws / "link").symlink_to("nowhere")
    assert Placeholder.hold(ws / "link") is None


def _take_and_leave(path, rounds, failures):
    for _ in range(rounds):
        held = Placeholder.hold(path)
        if held is None or not path.is_dir():
            failures.value += 1
        if held is not None:
            held.release()


def test_many_processes_that_come_and_go_never_find_the_name_free(ws):
    context = multiprocessing.get_context("fork")
    failures = context.Value("i", 0)
    workers = [context.Process(target=_take_and_leave, args=(ws / "x", 60, failures)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    assert failures.value == 0
    assert not (ws / "x").exists()


def view(root, **changes):
    tmp = root.parent / "tmp"
    tmp.mkdir(exist_ok=True)
    policy = SandboxPolicy(**{"writable": (root,), "tmp": tmp, **changes})
    return mounts.view(policy, by_user=False)


def test_folders_in_writable_folders_are_not_mounted_twice(ws):
    plan, _ = view(ws, writable=(ws / "sub", ws, ws / "sub/deep"))
    assert plan["writable"] == sorted(map(os.fsencode, (ws, ws.parent / "tmp")))


def test_a_hidden_folder_around_a_writable_one_is_covered_in_parts(ws):
    plan, _ = view(ws, writable=(ws / "sub",), hidden=(ws,))
    assert plan["hidden"] == [os.fsencode(ws / ".git")]


def test_hidden_places_are_covered_where_they_really_lie(ws):
    (ws / "link").symlink_to(".git")
    plan, _ = view(ws, hidden=(ws / "link/hooks",))
    assert plan["hidden"] == [os.fsencode(ws / ".git/hooks")]


def test_a_workspace_in_shared_memory_is_not_hidden_by_new_shared_memory(monkeypatch, ws):
    monkeypatch.setattr(mounts, "_SHM", ws)
    assert view(ws / "sub")[0]["shm"] == 0


def test_a_writable_folder_that_is_gone_is_left_out(ws):
    plan, _ = view(ws, writable=(ws, ws.parent / "pulled out"))
    assert os.fsencode(ws.parent / "pulled out") not in plan["writable"]


def test_names_are_let_go_when_one_cannot_be_kept_free(ws, monkeypatch):
    make = mounts._make

    def full_after_the_first(path):
        if path.name == "b":
            raise OSError(errno.ENOSPC, "No space left on device")
        return make(path)

    monkeypatch.setattr(mounts, "_make", full_after_the_first)
    with pytest.raises(OSError, match="No space"):
        view(ws, read_only=(ws / "a", ws / "b"))
    assert not (ws / "a").exists()
