"""The list of what is allowed: what it shows, and that what is taken back there asks again at once."""

import json
import time
from dataclasses import replace

import pytest

from agent_core.desk.permissions import ConfirmedMode, NoSandbox, Permissions, Project
from agent_core.grants import SessionGrants
from agent_core.grants_file import CommandGrant
from agent_core.ports.asking import Decided
from agent_core.sandbox.policy import UNCONFINED, Box
from agent_core.session.services import Containment
from agent_core.store.audit import Entry
from nanoherm_tui.i18n import set_language
from nanoherm_tui.overlays.permissions import PermissionsScreen
from nanoherm_tui.words.permissions import sections
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage

WRITE = Box("workspace-write")
NOW = time.time()
SEEN = Permissions(
    "ask",
    "untrusted",
    Containment(kernel=True, missing=("mount view",)),
    "workspace-write",
    (
        SessionGrants(commands=(("make test", "/home/me/shop", WRITE),)),
        SessionGrants(edits=True),
        SessionGrants(read=(".env",)),
    ),
    (
        CommandGrant("git push", True, Box("workspace-write", True), "/home/me/shop", program="/usr/bin/git", when=NOW),
        CommandGrant("echo \x1b[2J " + "x" * 400, False, UNCONFINED, "/home/me/shop", cwd="/home/me/shop", when=NOW),
    ),
    (ConfirmedMode("/home/me/shop", "auto"),),
    True,
    (Project("/home/me/shop", {"answer": "trusted"}),),
    ("git push --force*",),
    (
        Entry(2, "s", "/w", Decided("command", "rm -rf build", "refuse", "dangerous: removal", "person", when=NOW)),
        Entry(1, "s", "/w", Decided("edit", "a.py", "allow", "mode ask", "grant", when=NOW - 7200)),
    ),
    "/home/me/.nanohermes/grants.json",
)


async def open_list(app, pilot, seen=SEEN):
    screen = PermissionsScreen(sections(seen, "/home/me"))
    app.push_screen(screen)
    await pilot.pause()
    return screen


async def test_everything_that_is_allowed_stands_under_its_heading():
    app = OverlayApp()
    async with app.run_test(size=(100, 50)) as pilot:
        await open_list(app, pilot)
        text = shown(app)
    for words in (
        "Now", "mode ask", "policy untrusted", "sandbox workspace-write", "lacks: mount view",
        "On this machine", "without a sandbox", "Mode auto", "~/shop", "trusted",
        "This session", "make test", "Every change of a file", "Reading .env",
        "For good", "git push *", "Never run", "git push --force*", "Decided last", "rm -rf build", "2h",
    ):  # fmt: skip
        assert words in text
    assert "\x1b" not in text


async def test_the_row_under_the_cursor_is_told_in_full():
    app = OverlayApp()
    async with app.run_test(size=(80, 30)) as pilot:
        screen = await open_list(app, pilot)
        await pilot.press("end", "up")
        assert "refused" not in shown(app)
        detail = " ".join(screen._detail._lines)
        assert [words for words in ("rm -rf build", "by you", "dangerous: removal") if words not in detail] == []
        assert "by you" in shown(app)


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 5), (8, 3), (200, 60)])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_it_fits_every_screen_and_moves_by_keys(size, language):
    set_language(language)
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        screen = await open_list(app, pilot)
        for key in ("j", "down", "pagedown", "end", "k", "up", "home", "G", "g"):
            await pilot.press(key)
            assert all(len(line) <= size[0] for line in rows(app))
        assert screen._list.at == 0
        await pilot.press("end")
        if size[1] >= 10:
            assert "a.py" in shown(app)
        await pilot.press("escape")
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize(
    ("held", "box", "line", "told", "warns"),
    [
        (Containment(kernel=True), "workspace-write", "sandbox workspace-write", "", False),
        (Containment("danger-full-access", kernel=True), UNCONFINED.words, "sandbox danger-full-access",
         "nothing holds it back", True),
        (Containment(why="ENOSYS", missing=("landlock", "mount view")), UNCONFINED.words, "no sandbox",
         "cannot confine commands (ENOSYS)", True),
        (Containment(kernel=True, missing=("mount view",)), "workspace-write", "This machine lacks: mount view.",
         ".git and metadata not protected", True),
    ],
)  # fmt: skip
def test_how_far_commands_are_confined_is_told_as_it_is(held, box, line, told, warns):
    [now] = [s for s in sections(replace(SEEN, containment=held, sandbox=box), "/home/me") if s.title == "Now"]
    [found] = [one for one in now.lines if one.words == line]
    assert told in " ".join(found.detail)
    assert found.warning == warns
    said = " ".join(piece for one in now.lines for piece in one.detail)
    assert ("confines commands all the same" in said) == (held.kernel and bool(held.missing))


async def test_a_heading_is_never_the_last_that_is_shown():
    app = OverlayApp()
    headings = {section.title for section in sections(SEEN, "/home/me")}
    async with app.run_test(size=(80, 36)) as pilot:
        screen = await open_list(app, pilot)
        lasts = set()
        for height in range(20, 36):
            await pilot.resize_terminal(80, height)
            await pilot.pause()
            last = screen._list.paint(60)[-1].text.strip()
            lasts.add(last)
            assert last, height
            assert last not in headings, height
        assert len(lasts) > 6, "the list did end in many places"


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_a_list_that_goes_on_below_says_so(size):
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        await open_list(app, pilot)
        assert "PgDn more below" in shown(app)
        await pilot.press("end")
        await pilot.pause()
        assert "a.py" in shown(app)
        assert "more below" not in shown(app)
        await pilot.resize_terminal(100, 50)
        await pilot.press("home")
        assert "more below" not in shown(app)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert "more below" in shown(app)


async def test_only_what_can_be_taken_back_is_and_undo_gives_it_again():
    app, taken, given = OverlayApp(), [], []
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await open_list(app, pilot)
        screen.take_back, screen.give_back = taken.append, given.append
        await pilot.press("d", "delete", "u")
        assert (taken, given) == ([], [])
        assert "take back" not in shown(app)
        await pilot.press("down", "down", "down", "down")
        assert "take back" in shown(app)
        await pilot.press("d")
        assert taken == [NoSandbox()]
        await pilot.press("d")  # until the list says what is now, the same is not taken back twice
        assert taken == [NoSandbox()]
        assert "undo" in shown(app)
        await pilot.press("down", "delete", "u", "u", "u")
        assert taken == [NoSandbox(), ConfirmedMode("/home/me/shop", "auto")]
        assert given == taken[::-1]


async def test_what_is_taken_back_asks_again_in_the_running_session_and_on_disk(tmp_path):
    replies = [Reply(calls=[("run_command", {"command": "touch made"})]), Reply(text="Done.")] * 2
    async with Stage(tmp_path, replies) as stage:
        workspace = stage.app.view.session.workspace
        stage.host.grants.add(CommandGrant("touch made", False, UNCONFINED, str(workspace)))
        await stage.type("one")
        await stage.until(lambda: stage.state == "idle" and "Done." in stage.transcript())
        assert (workspace / "made").exists()
        await stage.type("/permissions")
        await stage.until(lambda: isinstance(stage.app.screen, PermissionsScreen))
        screen = stage.app.screen
        while screen._list.row.words != "touch made":
            await stage.pilot.press("down")
        assert screen._list.row.allowed is not None
        await stage.pilot.press("d")
        await stage.until(lambda: stage.host.grants.read().commands == ())
        await stage.until(
            lambda: all(line.words != "touch made" or line.mark for s in screen._sections for line in s.lines)
        )
        await stage.pilot.press("escape")
        await stage.type("two")
        await stage.until(lambda: stage.app.approval.display)
        assert json.loads(stage.host.grants.path.read_text())["commands"] == []
        await stage.pilot.press("ctrl+c")
        await stage.until(lambda: stage.state == "idle")


async def test_always_is_written_as_it_was_shown_and_the_next_one_runs_unasked(tmp_path):
    again = Reply(calls=[("run_command", {"command": "git tag one"})])
    other = Reply(calls=[("run_command", {"command": "git tag two"})])
    async with Stage(tmp_path, [again, Reply(text="Done."), other, Reply(text="Again.")]) as stage:
        app = stage.app
        await stage.type("one")
        await stage.until(lambda: app.approval.display and app.approval.armed)
        assert app.approval.current.pattern == "git tag *"
        await stage.pilot.press("w")
        await stage.until(lambda: app.approval.has_focus)
        assert not (stage.host.grants.path).exists()
        await stage.until(lambda: app.approval._second.armed(draft_empty=True))
        await stage.pilot.press("w")
        await stage.until(lambda: "Done." in stage.transcript() and stage.state == "idle")
        [grant] = stage.host.grants.read().commands
        assert (grant.text, grant.prefix, grant.workspace) == ("git tag", True, str(app.view.session.workspace))
        await stage.type("two")
        await stage.until(lambda: "Again." in stage.transcript())
        assert not app.approval.display
