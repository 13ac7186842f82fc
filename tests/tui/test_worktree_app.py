"""/worktree: a session in a worktree of its own, the list of them, and removing one."""

from __future__ import annotations

import shutil

import pytest

from nanoherm_tui.overlays.confirm import ConfirmScreen
from nanoherm_tui.overlays.palette import PaletteItem, PaletteScreen
from tests.core.git_support import commit, git, repository
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import OverlayApp, rows
from tests.tui.test_app import Stage

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


async def test_a_worktree_is_made_worked_in_listed_and_removed_without_losing_work(tmp_path):
    repo = repository(tmp_path / "work", {"a.txt": "one\n"})
    side = tmp_path / "work-fix-it"
    async with Stage(tmp_path, [Reply(text="Here.")]) as stage:
        app = stage.app
        await stage.type("/worktree fix/it")
        await stage.until(lambda: app.view.session.workspace == side)
        first = app.view.id
        await stage.until(lambda: app.view.branch == "fix/it")
        assert "fix/it" in app._hint
        await stage.type("hello")
        await stage.until(lambda: "Here." in stage.transcript() and stage.state == "idle")

        # Its own work is told before anything is done, and only y does it.
        commit(side, "only here", {"b.txt": "b\n"})
        (side / "a.txt").write_text("changed\n")
        await stage.type("/worktree list")
        await stage.until(lambda: isinstance(app.screen, PaletteScreen))
        (item,) = app.screen._items
        assert item.title == "fix/it"
        for words in ("1 changed", "1 commit of its own", "1 session"):
            assert words in item.help, words
        assert item.path == str(side)
        await stage.pilot.press("enter")
        await stage.until(lambda: not isinstance(app.screen, PaletteScreen))
        assert app.view.id == first  # the session there comes forward, no second one begins

        await stage.type("/worktree remove fix/it")
        await stage.until(lambda: isinstance(app.screen, ConfirmScreen))
        await stage.pilot.press("enter", "n")
        await stage.until(lambda: not isinstance(app.screen, ConfirmScreen))
        assert side.exists()
        await stage.type("/worktree remove fix/it")
        await stage.until(lambda: isinstance(app.screen, ConfirmScreen))
        await stage.pilot.press("y")
        await stage.until(lambda: app.view.session.workspace == repo)  # where one was is no more
        assert not side.exists()
        assert "only here" in git(repo, "log", "--format=%s", "fix/it")
        assert "worktree fix/it" in git(repo, "stash", "list")

        # What goes wrong is told, and nothing has changed.
        await stage.type("/worktree remove fix/it")
        await stage.until(lambda: "There is no worktree fix/it" in stage.transcript())
        await stage.type("/worktree --force")
        await stage.until(lambda: "No branch can be called --force" in stage.transcript())
        assert "Making" not in app._hint
        await stage.type("/worktree remove")
        await stage.until(lambda: "Name the worktree to remove" in stage.transcript())
        await stage.type("/worktree list")
        await stage.until(lambda: "has no worktrees" in app._hint)


@pytest.mark.parametrize("columns", [80, 200])
async def test_in_the_list_the_folder_has_the_room_that_short_names_leave(columns):
    path = "~/code/ledger-fix-dates"
    items = [
        PaletteItem("1", "worktree", "fix-dates", "1 changed, 1 session", path=path),
        PaletteItem("2", "worktree", "main", "", path="~/code/ledger"),
    ]
    app = OverlayApp()
    async with app.run_test(size=(columns, 24)) as pilot:
        app.push_screen(PaletteScreen(items, kind="worktree"))
        await pilot.pause()
        first, second = (next(row for row in rows(app) if name in row) for name in ("fix-dates", "main"))
        assert path in first
        assert first.index("1 changed") == second.index("~/code")  # one edge
