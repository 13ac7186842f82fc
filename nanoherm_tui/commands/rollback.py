"""Files brought back to what they were before a turn; shown first, then done."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from agent_core import intents
from agent_core.errors import AgentError
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.overlays.frame import Overlay

if TYPE_CHECKING:
    from agent_core.messages import FileDiff
    from agent_core.rollback import Checkpoint, RollbackPlan
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.overlays.rollback import Chosen
    from nanoherm_tui.session_view import SessionView

T = TypeVar("T")


def rollback(app: NanohermApp, argument: str) -> None:
    """`/rollback`: choose a turn; `/rollback n`: the last n that changed files; `/rollback redo`: take it back."""
    view = app.view
    if view is None:
        return
    if view.session.busy:
        app.hint(t("rewind.busy"))
        return
    wanted = argument.lower()
    if wanted == "redo":
        _look(app, view, lambda: app.host.checkpoints.redoable(view.id), lambda plan: _open_redo(app, view, plan))
    elif wanted in ("", "list"):
        _look(app, view, lambda: app.host.checkpoints.list(view.id), lambda turns: _open_turns(app, view, turns))
    elif wanted.isdecimal() and int(wanted) > 0:
        count = int(wanted)
        _look(app, view, lambda: _last(app, view, count), lambda found: _open_plan(app, view, found, count))
    else:
        app.conversations.tell("rollback_argument", t("rollback.argument", given=argument))


def roll_back_to(app: NanohermApp, view: SessionView, turn_id: str) -> None:
    """Show what bringing the files back to before this turn would do; it is done from there."""

    def look() -> tuple[tuple[Checkpoint, ...], RollbackPlan]:
        return app.host.checkpoints.list(view.id), app.host.checkpoints.plan(view.id, turn_id)

    _look(app, view, look, lambda found: _open(app, view, *found))


def _look(app: NanohermApp, view: SessionView, work: Callable[[], T], then: Callable[[T], None]) -> None:
    """Read what was changed, on a thread of its own: the workspace may have to be looked at first."""

    def come(found: T) -> None:
        app.hint("")
        if app.view is view and not isinstance(app.screen, Overlay):
            then(found)

    app.hint(t("rollback.looking"))
    app.desk.do_beside(work, come)


def _last(app: NanohermApp, view: SessionView, count: int) -> tuple[tuple[Checkpoint, ...], RollbackPlan | None]:
    turns = app.host.checkpoints.list(view.id)
    done = [turn for turn in turns if not turn.undone]
    return turns, app.host.checkpoints.plan(view.id, done[count - 1].turn_id) if len(done) >= count else None


def _open_turns(app: NanohermApp, view: SessionView, turns: tuple[Checkpoint, ...]) -> None:
    if turns:
        _open(app, view, turns, None)
    else:
        app.hint(t("rollback.nothing"))


def _open_plan(
    app: NanohermApp, view: SessionView, found: tuple[tuple[Checkpoint, ...], RollbackPlan | None], count: int
) -> None:
    turns, plan = found
    if plan is not None:
        _open(app, view, turns, plan)
        return
    number = sum(not turn.undone for turn in turns)
    app.hint(t("rollback.fewer", n=number, wanted=count) if number else t("rollback.nothing"))


def _open(app: NanohermApp, view: SessionView, turns: tuple[Checkpoint, ...], plan: RollbackPlan | None) -> None:
    from nanoherm_tui.overlays.rollback import RollbackScreen

    screen = RollbackScreen(turns, plan)

    def ask_plan(turn_id: str) -> None:
        def come(found: RollbackPlan | AgentError) -> None:
            if isinstance(found, AgentError):
                screen.failed(tell(found.code, found.params, found.text))
            else:
                screen.show_plan(found)

        app.desk.do_beside(_or_error(lambda: app.host.checkpoints.plan(view.id, turn_id)), come)

    def ask_diff(turn_id: str, path: str) -> None:
        def come(found: FileDiff | AgentError) -> None:
            if isinstance(found, AgentError):
                screen.show_diff(path, None, tell(found.code, found.params, found.text))
            else:
                screen.show_diff(path, found)

        app.desk.do_beside(_or_error(lambda: app.host.checkpoints.diff(view.id, turn_id, path)), come)

    screen.ask_plan, screen.ask_diff = ask_plan, ask_diff
    app.open_overlay(screen, lambda chosen: _act(app, view, chosen))


def _or_error(work: Callable[[], T]) -> Callable[[], T | AgentError]:
    """An error is shown where it was asked."""

    def do() -> T | AgentError:
        try:
            return work()
        except AgentError as error:
            return error

    return do


def _act(app: NanohermApp, view: SessionView, chosen: Chosen | None) -> None:
    if chosen is not None:
        view.rewind_to = ""
        view.session.send(intents.Rollback(chosen.turn_id, chosen.paths))


def _open_redo(app: NanohermApp, view: SessionView, plan: RollbackPlan | None) -> None:
    if plan is None:
        app.hint(t("rollback.nothing_to_redo"))
        return

    from nanoherm_tui.overlays.rollback import RollbackScreen

    def closed(chosen: Chosen | None) -> None:
        if chosen is not None:
            view.session.send(intents.RollbackRedo())

    app.open_overlay(RollbackScreen(plan=plan, redo=True), closed)
