"""Modes and the sandbox as a user meets them: a real pty, a real kernel, the keyboard alone."""

import sys
import time

import pytest

from agent_core.names import MODES
from agent_core.sandbox.probe import layers
from nanoherm_tui import limits
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look
from tests.e2e.screen import KEYS, Screen, home_env
from tests.fakes.model_server import ModelServer, Reply

confines = pytest.mark.skipif(not layers().can_confine, reason=f"this kernel confines nothing: {layers().why}")

BOX = {"ask": "workspace-write", "plan": "read-only", "debug": "read-only", "auto": "workspace-write",
       "goal": "workspace-write"}  # fmt: skip
ARMED = 0.9
"""Seconds of silence after which a letter answers, with slack for a loaded machine."""

BARE = """
import errno, os, sys
from agent_core.sandbox import probe
def landlock_version():
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
probe.landlock_version = landlock_version
from nanoherm_tui.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The program on a machine whose kernel has no Landlock."""


def answer(screen, letter):
    screen.rest(ARMED)
    screen.send(letter)


def ran(*commands, **more):
    """A reply that asks for these commands."""
    return Reply(calls=[("run_command", {"command": command, **more}) for command in commands])


def results(request):
    return [m["content"] for m in request["messages"] if m["role"] == "tool"]


@confines
def test_every_mode_is_reached_by_one_key_and_by_name(terminal, home, workspace):
    with terminal(env=home_env(home), cwd=workspace) as screen:
        screen.wait_for("Scripted demo", "ask   workspace-write")
        for mode in MODES[1:]:
            screen.send(KEYS["shift+tab"])
            if mode in ("auto", "goal"):
                screen.wait_for(f"Mode {mode} in this folder?", "writes here only", "off until you allow it")
                answer(screen, "y")
            screen.wait_for(f"  {mode}   {BOX[mode]}")
        screen.send(KEYS["shift+tab"])
        screen.wait_for("  ask   workspace-write")
        for mode in ("goal", "debug", "auto"):  # what was confirmed is not asked again
            screen.send(KEYS["ctrl+p"])
            screen.wait_for("Action, mode, theme, session")
            screen.submit(f"mode {mode}")
            screen.wait_for(f"  {mode}   {BOX[mode]}")


@confines
def test_auto_works_in_the_folder_and_asks_for_the_network(home, workspace, server_env):
    replies = [ran("echo made > made.txt; echo out > ../out.txt"), ran("echo on the net", needs="network"),
               Reply(text="All done.")]  # fmt: skip
    with ModelServer(replies) as server, Screen(["--mode", "auto"], env=server_env(server), cwd=workspace) as screen:
        screen.wait_for("auto   workspace-write", "test-model")
        screen.submit("go")
        screen.wait_for("echo on the net", "workspace-write, and the network", "y once")
        assert (workspace / "made.txt").read_text() == "made\n"
        assert not (workspace.parent / "out.txt").exists()
        answer(screen, "y")
        screen.wait_for("All done.")
        assert "on the net" in results(server.requests[-1])[-1]


@confines
def test_plan_refuses_what_would_change_something_and_asks_nobody(home, workspace, server_env):
    replies = [
        Reply(calls=[("run_command", {"command": "touch a.txt"}), ("write_file", {"path": "b.txt", "content": "x"}),
                     ("run_command", {"command": "ls"})]),
        Reply(text="Looked."),
    ]  # fmt: skip
    with ModelServer(replies) as server, Screen(env=server_env(server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        screen.submit("/plan")
        screen.wait_for("plan   read-only")
        screen.submit("go")
        screen.wait_for("Looked.")
        told = results(server.requests[-1])
        assert [text.startswith("Refused") for text in told] == [True, True, False]
        assert list(workspace.iterdir()) == []


def test_yolo_is_red_asks_nothing_and_is_gone_with_the_run(home, workspace, server_env):
    theme = load_themes(colours="true")[0]["nanoherm-dark"]
    red = Look(theme, no_color=False).style("fail", "ground").color.name.lstrip("#")
    replies = [ran("echo x > ../outside.txt"), Reply(text="All done.")]
    with ModelServer(replies) as server:
        flags = ["--yolo", "--set", "display.theme=nanoherm-dark"]
        with Screen(flags, env=server_env(server), cwd=workspace) as screen:
            screen.wait_for("auto   yolo: danger-full-access")
            row = next(y for y, line in enumerate(screen.lines) if "yolo: danger" in line)
            cells = screen._emulator.buffer[row]
            assert {cells[x].fg for x in (*range(2, 6), *range(9, 33))} == {red}
            screen.submit("go")
            screen.wait_for("All done.")
            assert (workspace.parent / "outside.txt").read_text() == "x\n"
        with Screen(env=server_env(server), cwd=workspace) as screen:
            screen.wait_for("test-model", "  ask   ")
            assert "yolo" not in screen.lines[-1]


@confines
def test_the_demo_repairs_its_sample_alone_in_mode_auto(home, workspace):
    with Screen(["--demo", "--mode", "auto"], env=home_env(home), cwd=workspace) as screen:
        screen.wait_for("Scripted demo, not an AI.", "auto   workspace-write")
        screen.send(KEYS["enter"])
        screen.wait_for("Repaired", "6 passed", seconds=30)
        assert "?" not in screen.lines[-1]


def test_without_a_sandbox_everything_is_asked_until_that_is_accepted(home, workspace, server_env):
    replies = [ran("ls"), Reply(text="First."), ran("ls"), Reply(text="Second."), ran("touch a.txt"),
               Reply(text="Third.")]  # fmt: skip
    command = [sys.executable, "-c", BARE]
    with ModelServer(replies) as server:
        with Screen(env=server_env(server), cwd=workspace, command=command) as screen:
            screen.wait_for("No sandbox: the kernel here cannot confine commands", "ENOSYS", "ask   no sandbox")
            screen.submit("one")
            screen.wait_for("no sandbox: nothing holds it back", "y once")
            answer(screen, "n")
            screen.wait_for("Why not?")
            screen.send(KEYS["enter"])
            screen.wait_for("First.")
            screen.submit("/no-sandbox")
            screen.wait_for("Work without a sandbox on this machine?", "ENOSYS")
            screen.send(KEYS["enter"])
            answer(screen, "y")
            screen.wait_for("Work without a sandbox", gone=True)
            screen.submit("two")
            screen.wait_for("Second.")
            screen.submit("three")
            screen.wait_for("no sandbox: nothing holds it back", "touch a.txt")
            answer(screen, "y")
            screen.wait_for("Third.")
            assert (workspace / "a.txt").exists()
        with Screen(env=server_env(server), cwd=workspace, command=command) as screen:
            screen.wait_for("test-model", "ask   no sandbox")
            screen.send(KEYS["shift+tab"] * 3)
            screen.wait_for("Mode auto in this folder?", "every command but trusted ones")
            assert "No sandbox:" not in screen.text


def test_keys_that_were_meant_for_the_draft_confirm_no_mode(workspace, server_env):
    with (
        ModelServer([Reply(text="x")]) as server,
        Screen(["--sandbox", "off"], env=server_env(server), cwd=workspace) as screen,
    ):
        screen.wait_for("test-model", "danger-full-access")
        screen.send(KEYS["shift+tab"] * 3)
        began = time.monotonic()
        while time.monotonic() - began < 2.5 * limits.APPROVAL_ARM:  # each of them came too soon for an answer
            for key in ("y", "e", "s", " ", "y", KEYS["enter"]):
                screen.send(key)
                time.sleep(0.05)
        assert screen.lines[-1].startswith("  debug   ")
        screen.wait_for("Mode auto in this folder?")  # once they rest
        screen.type("yes", gap=0.05)
        screen.wait_for("Mode auto in this folder?", gone=True)
        assert screen.still()[-1].startswith("  debug   ")


def test_a_new_profile_says_so_once(home, workspace, server_env):
    with ModelServer([Reply(text="x")]) as server:
        for number in range(2):
            with Screen(["--profile", "work"], env=server_env(server), cwd=workspace) as screen:
                screen.wait_for("test-model")
                screen.still()
                assert ("The profile work is new." in screen.text) == (number == 0)


def test_a_mode_that_is_asked_for_where_it_cannot_be_is_answered_in_words(home, workspace, server_env):
    with ModelServer([Reply(text="x")]) as server:
        command = [sys.executable, "-c", BARE, "--mode", "auto"]
        with Screen(env=server_env(server), cwd=workspace, command=command) as screen:
            screen.wait_for("Mode auto needs the kernel sandbox", "--yolo", "  ask   no sandbox")
