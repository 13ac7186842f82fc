"""What a session's walls are made of: what is written, kept, hidden, and where its temporary files go."""

import os
import stat
import threading
from pathlib import Path

import pytest

from agent_core import confinement, limits
from agent_core.confinement import NOT_ALL_KNOWN, NOT_HIDDEN, TOO_MANY, Confinement, Options, writable_roots
from agent_core.errors import SandboxError
from agent_core.names import TASKS_DIR
from agent_core.safety.hidden import deny_read_patterns, hiding, nothing_more
from agent_core.sandbox import cgroup
from agent_core.sandbox.policy import READ_ONLY, UNCONFINED, Box
from agent_core.sandbox.probe import Layers
from agent_core.workspace.fixed_places import kept_places, secret_places
from agent_core.workspace.secret_files import SecretFiles

USUAL = Options()
WRITE = Box("workspace-write")
WHOLE = Layers("x86_64", 7, "", 7, True, "root", "", "")
NO_VIEW = Layers("x86_64", 7, "", 7, True, "", "unshare: EPERM", "")
BARE = Layers("x86_64", 0, "landlock_create_ruleset: ENOSYS", 0, True, "", "not tried", "")


def make(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")


@pytest.fixture
def place(tmp_path):
    """A workspace with a repository in a home of its own."""
    make(tmp_path / "home/ws/.git/config", tmp_path / "home/ws/.git/HEAD")
    return tmp_path / "home/ws"


@pytest.fixture
def walls(place):
    made: list[Confinement] = []

    def build(options=USUAL, layers=WHOLE, hidden=nothing_more, workspace=None, **more):
        home = place.parent
        where = workspace or place
        made.append(
            Confinement(where, home, home / ".nanohermes", lambda: hidden, options, probe=lambda: layers, **more)
        )
        return made[-1]

    yield build
    for each in made:
        each.close()


# -- boxes --------------------------------------------------------------------------------------------------------


def test_a_read_only_box_writes_nowhere_but_in_its_private_folder(walls):
    policy = walls().policy(READ_ONLY)
    assert policy.writable == ()
    assert policy.read_only == ()
    assert stat.S_IMODE(policy.tmp.stat().st_mode) == 0o700
    assert not policy.network


def test_a_box_that_may_write_writes_the_workspace_and_what_was_added(walls, place, tmp_path):
    (tmp_path / "beside").mkdir()
    policy = walls(Options(add_dirs=(tmp_path / "beside",))).policy(Box("workspace-write", network=True))
    assert policy.writable == (tmp_path / "beside", place)
    assert policy.network


def test_without_a_box_nothing_is_enforced(walls):
    assert walls(layers=BARE).policy(UNCONFINED) is None


def test_what_allows_everything_but_the_network_is_no_box(walls):
    with pytest.raises(SandboxError, match="no box that allows everything") as error:
        walls().policy(Box("danger-full-access"))
    assert error.value.code == "no_such_box"


def test_a_kernel_that_cannot_is_named_with_the_call_that_failed_and_the_way_out(walls):
    with pytest.raises(SandboxError, match=r"landlock_create_ruleset: ENOSYS.*/no-sandbox.*--yolo") as error:
        walls(layers=BARE).policy(READ_ONLY)
    assert error.value.code == "no_sandbox"


@pytest.mark.parametrize(
    ("roots", "safe", "writable"),
    [
        (["a"], [], ["a"]),
        (["a", "a/b", "c"], [], ["a", "c"]),
        (["a"], ["a/b"], ["a/b"]),
        (["a/b"], ["a"], ["a/b"]),
        (["a"], ["c"], []),
        (["a", "c"], ["c", "a/b"], ["a/b", "c"]),
        (["missing"], [], []),
    ],
)
def test_safe_roots_cut_what_is_written(tmp_path, roots, safe, writable):
    for name in ("a/b", "c"):
        (tmp_path / name).mkdir(parents=True)
    found = writable_roots([tmp_path / root for root in roots], [tmp_path / root for root in safe])
    assert found == tuple(tmp_path / name for name in writable)


def test_the_whole_machine_is_never_written(walls):
    assert writable_roots([Path("/")], []) == ()
    policy = walls(workspace=Path("/")).policy(WRITE)
    assert policy.writable == ()


# -- what a session has for itself --------------------------------------------------------------------------------


def test_the_private_folder_is_one_for_the_session_and_goes_with_it(walls):
    confined = walls()
    first, second = confined.policy(WRITE), confined.policy(READ_ONLY)
    assert first.tmp == second.tmp
    assert len(os.fsencode(first.tmp)) < 80
    (first.tmp / "left").write_text("x")
    confined.close()
    assert not first.tmp.exists()
    with pytest.raises(SandboxError):
        confined.policy(WRITE)


def test_a_private_folder_that_was_removed_is_made_again(walls):
    confined = walls()
    first = confined.policy(READ_ONLY).tmp
    for below in sorted(first.rglob("*"), reverse=True):
        below.rmdir()
    first.rmdir()
    assert confined.policy(READ_ONLY).tmp.is_dir()


def test_temporary_files_and_caches_go_to_the_private_folder_but_what_is_installed_is_found(walls, place):
    browsers = place.parent / ".cache/ms-playwright"
    browsers.mkdir(parents=True)
    policy = walls(environ={}).policy(WRITE)
    assert policy.env["TMPDIR"] == policy.env["TMP"] == policy.env["TEMP"] == str(policy.tmp)
    for name in ("XDG_CACHE_HOME", "npm_config_cache", "PIP_CACHE_DIR", "GOCACHE"):
        assert Path(policy.env[name]).is_relative_to(policy.tmp)
    assert policy.env["PLAYWRIGHT_BROWSERS_PATH"] == str(browsers)
    assert "HOME" not in policy.env
    assert "HF_HOME" not in policy.env


def test_programs_that_would_try_a_missing_network_for_a_minute_try_it_once(walls):
    confined = walls()
    assert confined.policy(WRITE).env["npm_config_fetch_retries"] == "0"
    assert "npm_config_fetch_retries" not in confined.policy(Box("workspace-write", network=True)).env


def test_what_killed_programs_left_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "TMP_KEPT", -1.0)
    for name in ("nanoherm-box-old", "nanoherm-demo-kept", "somebody"):
        (tmp_path / name / "cache").mkdir(parents=True)
    (tmp_path / "nanoherm-box-used").mkdir()
    (tmp_path / "nanoherm-box-link").symlink_to(tmp_path / "somebody")
    kept = ["nanoherm-box-link", "nanoherm-box-used", "nanoherm-demo-kept", "somebody"]
    if os.geteuid() == 0:
        (tmp_path / "nanoherm-box-theirs").mkdir()
        os.chown(tmp_path / "nanoherm-box-theirs", 12345, 12345)
        kept.insert(1, "nanoherm-box-theirs")
    held = confinement._hold(tmp_path / "nanoherm-box-used")
    confinement._sweep(tmp_path)
    os.close(held)
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    assert (tmp_path / "somebody/cache").is_dir()
    monkeypatch.setattr(limits, "TMP_KEPT", 60.0)
    confinement._sweep(tmp_path)
    assert (tmp_path / "nanoherm-box-used").is_dir(), "what was just made may not be locked yet"


def test_the_group_of_a_session_goes_with_it_once_the_last_of_its_commands_has_ended(walls, tmp_path, monkeypatch):
    monkeypatch.setattr(cgroup, "ground", lambda: cgroup.Ground("v2", tmp_path, tmp_path))
    monkeypatch.setattr(cgroup, "make", lambda *args: cgroup.Group("v2", (tmp_path / "group",), False))
    answers = [True, False, False]
    monkeypatch.setattr(cgroup, "remove", lambda folders: answers.pop())
    confined = walls()
    assert confined.policy(READ_ONLY).cgroups == (tmp_path / "group",)
    confined.close()
    assert answers == []


def test_memory_is_bounded_by_the_process_only_where_no_group_does_it(walls, monkeypatch):
    monkeypatch.setattr(cgroup, "ground", lambda: None)
    policy = walls(Options(max_memory=1 << 30, max_processes=7)).policy(WRITE)
    assert (policy.max_memory, policy.max_processes, policy.cgroups) == (1 << 30, 7, ())


# -- what is kept -------------------------------------------------------------------------------------------------


def names(paths, top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in paths}


def test_what_steers_git_editors_and_us_is_kept_also_while_it_is_not_there(walls, place):
    make(place / ".husky/pre-commit", place / ".idea/workspace.xml", place / "src/main.py")
    kept = names(walls().policy(WRITE).read_only, place)
    assert kept == {
        ".git/config", ".git/hooks", ".git/info/attributes", ".nanohermes", ".hermes", ".mcp.json", ".vscode", ".envrc",
        ".husky", ".idea",
    }  # fmt: skip


def test_a_workspace_without_a_repository_does_not_get_one(walls, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    assert bare / ".git" in walls(workspace=bare).policy(WRITE).read_only


def test_repositories_further_down_are_kept_as_they_were_when_the_session_began(walls, place):
    make(place / "libs/inner/.git/config")
    confined = walls()
    assert place / "libs/inner/.git/config" in confined.policy(WRITE).read_only
    make(place / "libs/made/.git/config")  # by a command
    assert not [path for path in confined.policy(WRITE).read_only if "made" in path.parts]


def test_a_home_that_is_worked_in_keeps_what_runs_at_the_next_login(walls, place):
    home = place.parent
    make(home / ".tmux.conf", home / ".nanohermes/config.yaml")
    kept = names(kept_places(home, home, home / ".nanohermes"), home)
    assert {".bashrc", ".ssh", ".profile", ".tmux.conf", ".nanohermes", ".config/autostart"} <= kept


def test_a_git_file_is_kept_with_what_it_leads_to(tmp_path):
    make(tmp_path / "ws/real/config", tmp_path / "ws/real/HEAD")
    (tmp_path / "ws/.git").write_text("gitdir: real\n")
    kept = names(kept_places(tmp_path / "ws", tmp_path / "home", tmp_path / "home/own"), tmp_path / "ws")
    assert {".git", "real/config", "real/hooks"} <= kept


def test_a_repository_that_is_taken_in_by_itself_is_kept_too(tmp_path):
    make(tmp_path / "shop/.git/HEAD", tmp_path / "shop/.git/worktrees/it/config.worktree")
    (tmp_path / "shop/.git/objects").mkdir()
    root = tmp_path / "shop/.git"
    kept = names(kept_places(root, tmp_path / "home", tmp_path / "home/own"), root)
    assert {"config", "hooks", "info/attributes", "worktrees/it/config.worktree"} <= kept


# -- what is hidden -----------------------------------------------------------------------------------------------


def test_keys_and_histories_of_the_home_are_hidden(walls, place):
    home = place.parent
    make(home / ".ssh/id_ed25519", home / ".bash_history", home / ".config/gh/hosts.yml", home / ".config/other/x",
         home / ".nanohermes/credentials.json", home / ".nanohermes/spill/1.txt", home / ".docker/config.json",
         home / ".nanohermes/profiles/work/.env")  # fmt: skip
    hidden = names([path for path in secret_places(home, home / ".nanohermes") if path.is_relative_to(home)], home)
    assert hidden == {
        ".ssh", ".bash_history", ".config/gh", ".nanohermes/credentials.json", ".docker/config.json",
        ".nanohermes/profiles/work/.env",
    }  # fmt: skip
    assert home / ".ssh" in walls().policy(READ_ONLY).hidden


SECRET = (".env", "a/.env.local", "a/b/id_rsa", "a/server.key", "a/.envrc", "deep/er/private.pem")
FREE = (".env.example", "a/id_rsa.pub", "node_modules/p/.env", "lib/site-packages/c/cacert.key", "a/env.py", "plain")


def test_files_of_secrets_in_the_workspace_are_hidden_and_templates_are_not(walls, place):
    make(*(place / name for name in (*SECRET, *FREE)))
    (place / "public.pem").write_text("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")
    (place / "both.pem").write_text("-----BEGIN CERTIFICATE-----\nx\n-----BEGIN RSA PRIVATE KEY-----\n")
    hidden = names([path for path in walls().policy(READ_ONLY).hidden if path.is_relative_to(place)], place)
    assert hidden == {*SECRET, "both.pem"}


def test_the_users_patterns_hide_files_and_whole_folders(walls, place):
    make(place / "notes/a.txt", place / "x.secret", place / "y.txt")
    home = place.parent
    patterns = hiding(deny_read_patterns(["notes/", "*.secret"], [place], home, home / ".nanohermes"))
    hidden = walls(hidden=patterns).policy(READ_ONLY).hidden
    assert {place / "notes", place / "x.secret"} <= set(hidden)
    assert place / "y.txt" not in hidden


def test_a_file_that_comes_later_is_hidden_from_the_next_command(walls, place):
    confined = walls()
    assert place / "sub/.env" not in confined.policy(READ_ONLY).hidden
    make(place / "sub/.env")
    assert place / "sub/.env" in confined.policy(READ_ONLY).hidden


def test_the_launcher_is_told_which_file_of_secrets_has_to_lie_where(walls, place):
    make(place / ".env")
    assert walls().policy(READ_ONLY).inodes == {place / ".env": (place / ".env").stat().st_ino}


def test_where_they_are_moved_about_all_the_time_nothing_is_run(walls, monkeypatch):
    confined = walls()
    monkeypatch.setattr(confined._secrets, "refresh", lambda: False)
    with pytest.raises(SandboxError, match="being moved about") as error:
        confined.policy(READ_ONLY)
    assert error.value.code == "secrets_moving"


def test_what_tasks_write_is_hidden_from_the_first_one_on(walls, place):
    tasks = place.parent / ".nanohermes" / TASKS_DIR
    confined = walls()
    assert tasks not in confined.policy(READ_ONLY).hidden
    tasks.mkdir(parents=True)
    assert tasks in confined.policy(READ_ONLY).hidden


def test_in_a_large_workspace_the_likely_folders_are_looked_at_before_a_command_and_the_rest_behind_it(
    place, monkeypatch
):
    make(place / "a/.env")
    (place / "b").mkdir()
    files = SecretFiles([place], lambda: nothing_more)
    files.begin()
    assert files.wait(5)
    monkeypatch.setattr(limits, "SECRETS_GLANCE", -1.0)  # every walk takes too long
    files._next = float("inf")
    make(place / ".env", place / "a/.env.local", place / "b/.env")
    files.refresh()
    assert names(files.found, place) == {".env", "a/.env", "a/.env.local"}
    files._next = 0.0
    files.refresh()
    files._look()
    assert place / "b/.env" in files.found


@pytest.mark.parametrize("glance", [-1.0, 60.0], ids=["large", "small"])
def test_what_was_moved_with_its_folder_is_found_where_it_is_now(place, monkeypatch, glance):
    make(place / "a/b/.env")
    (place / "far/away").mkdir(parents=True)
    files = SecretFiles([place], lambda: nothing_more)
    files.begin()
    assert files.wait(5)
    monkeypatch.setattr(limits, "SECRETS_GLANCE", glance)
    files._next = float("inf")
    inode = (place / "a/b/.env").stat().st_ino
    (place / "a/b").rename(place / "far/away/c")
    assert files.refresh()
    assert files.inodes == {place / "far/away/c/.env": inode}


def test_what_is_moved_about_all_the_time_is_said_to_be(place, monkeypatch):
    make(place / "a/.env")
    files = SecretFiles([place], lambda: nothing_more)
    files._look()
    walk = files._walk

    def moving(deadline):
        folder = next(place.glob("*/.env")).parent
        folder.rename(f"{folder}a")
        return walk(deadline)

    monkeypatch.setattr(files, "_walk", moving)
    files._first.set()
    assert not files.refresh()
    monkeypatch.undo()
    assert files.refresh()


def test_links_to_secrets_hide_what_they_lead_to(place):
    make(place / "real.txt")
    (place / ".env").symlink_to("real.txt")
    (place / ".env.gone").symlink_to("nowhere")
    (place / ".env.folder").symlink_to("/usr")
    files = SecretFiles([place], lambda: nothing_more)
    files._look()
    assert files.found == (place / "real.txt",)


# -- gaps ---------------------------------------------------------------------------------------------------------


def test_there_is_no_gap_where_everything_is_known_and_can_be_hidden(walls, place):
    make(place / ".env")
    assert walls().gap() == ""


def test_secrets_that_cannot_be_hidden_are_a_gap(walls, place):
    confined = walls(layers=NO_VIEW)
    assert confined.gap() == ""
    make(place / ".env")
    confined.policy(READ_ONLY)
    assert confined.gap() == NOT_HIDDEN


def test_more_than_can_be_known_is_a_gap(walls, place, monkeypatch):
    monkeypatch.setattr(limits, "SECRETS_ENTRIES", 2)
    make(*(place / f"d{n}/f" for n in range(4)))
    assert walls().gap() == TOO_MANY


def test_a_walk_that_goes_on_is_a_gap_until_it_ends_and_is_waited_for_once(walls, place, monkeypatch):
    make(place / "file")
    monkeypatch.setattr(limits, "SECRETS_WAIT", 0.05)
    go_on = threading.Event()

    def slow(path, is_folder):
        go_on.wait(10)
        return ""

    confined = walls(hidden=slow)
    assert confined.gap() == NOT_ALL_KNOWN
    assert confined.gap() == NOT_ALL_KNOWN
    go_on.set()
    assert confined._secrets.wait(10)
    assert confined.gap() == ""


# -- groups -------------------------------------------------------------------------------------------------------

V2 = "29 23 0:26 / {top} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "39 31 0:36 / {top}/pids rw - cgroup cgroup rw,pids\n35 31 0:32 / {top}/memory rw - cgroup cgroup rw,memory\n"


def tree(top: Path, *folders: str, enabled: str = "") -> None:
    for folder in folders:
        (top / folder).mkdir(parents=True, exist_ok=True)
        (top / folder / "cgroup.procs").write_text("")
        (top / folder / "cgroup.subtree_control").write_text(enabled)


def test_a_delegated_group_is_used_where_its_controllers_reach(tmp_path):
    tree(tmp_path, "user.slice/app.slice", enabled="memory pids\n")
    tree(tmp_path, "user.slice/app.slice/me.scope")
    found = cgroup.find_ground("0::/user.slice/app.slice/me.scope\n", V2.format(top=tmp_path))
    app = tmp_path / "user.slice/app.slice"
    assert found == cgroup.Ground("v2", app, app)


def test_a_group_without_the_controller_for_processes_is_none(tmp_path):
    tree(tmp_path, "a/b", "a")
    assert cgroup.find_ground("0::/a/b\n", V2.format(top=tmp_path)) is None


def test_version_1_is_used_where_it_is_writable(tmp_path):
    tree(tmp_path, "pids", "memory", "memory/job")
    own = "8:pids:/\n4:memory:/job\n0::/\n"
    found = cgroup.find_ground(own, V1.format(top=tmp_path))
    assert found == cgroup.Ground("v1", tmp_path / "pids", tmp_path / "memory/job")


def test_what_is_no_cgroup_listing_gives_nothing():
    assert cgroup.find_ground("", "") is None
    assert cgroup.find_ground("garbage\n", "more garbage - x\n") is None
