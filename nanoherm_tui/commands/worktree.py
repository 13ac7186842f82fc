"""Worktrees: a session beside the others, on a branch and in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nanoherm_tui.commands.sessions import open_by_id
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.palette import PaletteItem, PaletteScreen
from nanoherm_tui.text import visible
from nanoherm_tui.words.worktrees import shown, state, sure_lines

if TYPE_CHECKING:
    from agent_core.git.worktrees import Removed, Worktree, Worktrees
    from agent_core.session.live import LiveSession
    from nanoherm_tui.app import NanohermApp


def worktree(app: NanohermApp, argument: str) -> None:
    """`[name]` makes one and begins a session there, `list` offers those there are, `remove NAME` removes one."""
    if app.view is None:
        return
    trees = app.host.worktrees(app.view.session.workspace)
    word, _, rest = argument.partition(" ")
    if word == "list" and not rest:
        _list(app, trees)
    elif word == "remove":
        _remove(app, trees, rest.strip())
    else:
        _make(app, trees, argument)


def _make(app: NanohermApp, trees: Worktrees, name: str) -> None:
    app.hint(t("worktree.making"))

    def made(result: tuple[Worktree, Path]) -> None:
        one, folder = result
        app.hint(t("worktree.made", branch=visible(one.branch), path=shown(one.folder)))
        app.conversations.bring(lambda: app.host.new(folder))

    app.desk.do_beside(lambda: trees.make(name), made)


# -- the list -----------------------------------------------------------------------------------------------------


def _list(app: NanohermApp, trees: Worktrees) -> None:
    app.hint(t("worktree.looking"))

    def listed(found: tuple[Worktree, ...]) -> None:
        app.hint("")
        if found:
            offer(app, found)
        else:
            app.hint(t("worktree.none", command="/worktree"))

    app.desk.do_beside(trees.list, listed)


def offer(app: NanohermApp, found: Sequence[Worktree]) -> None:
    """Show them; the chosen one's latest session comes forward, or a new one begins there."""
    items = [
        PaletteItem(
            str(one.folder),
            "worktree",
            visible(one.name),
            state(one, len(_sessions(app, one.folder))),
            path=shown(one.folder),
        )
        for one in found
    ]
    here = app.view.session.workspace if app.view is not None else Path()
    current = frozenset(str(one.folder) for one in found if here.is_relative_to(one.folder))
    app.open_overlay(PaletteScreen(items, kind="worktree", current=current), lambda chosen: _open(app, chosen))


def _open(app: NanohermApp, chosen: str | None) -> None:
    if chosen is None:
        app.composer.focus()
        return
    folder = Path(chosen)
    sessions = _sessions(app, folder)
    if sessions:
        open_by_id(app, sessions[0])
    else:
        app.conversations.bring(lambda: app.host.new(folder))


def _sessions(app: NanohermApp, folder: Path) -> list[str]:
    """Ids of the sessions that are worked in there, the newest first: those in this run, then what is stored."""
    live = [view.id for view in app.conversations.views.values() if view.session.workspace.is_relative_to(folder)]
    stored = [row.id for row in app.conversations.rows if Path(row.workspace).is_relative_to(folder)]
    return list(dict.fromkeys([*reversed(live), *stored]))


# -- removing -----------------------------------------------------------------------------------------------------


def _remove(app: NanohermApp, trees: Worktrees, name: str) -> None:
    """Remove one. What holds work of its own is asked about first, and that work is kept."""
    if not name:
        words = t("worktree.needs_name", command="/worktree remove", list="/worktree list")
        app.conversations.tell("worktree_needs_name", words)
        return

    def found(one: Worktree) -> None:
        if _is_busy(app, one.folder):
            app.conversations.tell("worktree_busy", t("worktree.busy", name=visible(one.name)))
            return
        if not one.has_work:
            _do_remove(app, trees, one, sure=False)
            return
        ask_first(app, one, lambda: _do_remove(app, trees, one, sure=True))

    app.desk.do_beside(lambda: trees.find(name), found)


def ask_first(app: NanohermApp, one: Worktree, then: Callable[[], None]) -> None:
    """Say what is in a worktree and what becomes of it; `then` when that is wanted."""
    from nanoherm_tui.overlays.confirm import ConfirmScreen

    text = "\n".join(sure_lines(one))
    title = t("worktree.sure", name=visible(one.name))
    app.open_overlay(ConfirmScreen(title, text, t("worktree.remove")), lambda yes: then() if yes else None)


def _do_remove(app: NanohermApp, trees: Worktrees, one: Worktree, *, sure: bool) -> None:
    def work() -> tuple[Removed, Path]:
        main = trees.main()
        return app.host.worktrees(main).remove(str(one.folder), sure=sure), main

    def gone(result: tuple[Removed, Path]) -> None:
        removed, main = result
        key = "removed_stash" if removed.stashed else "removed" if removed.branch_deleted else "removed_branch"
        words = t(f"worktree.{key}", name=visible(one.name))

        def told() -> None:
            app.conversations.tell(f"worktree_{key}", words, warning=False)

        def back(session: LiveSession) -> None:
            app.conversations.show(session)
            told()

        if app.view is not None and app.view.session.workspace.is_relative_to(one.folder):
            app.conversations.bring(lambda: app.host.new(main), back)  # where one was is no more
        else:
            told()

    app.desk.do_beside(work, gone)


def _is_busy(app: NanohermApp, folder: Path) -> bool:
    views = app.conversations.views.values()
    return any(view.session.busy for view in views if view.session.workspace.is_relative_to(folder))
