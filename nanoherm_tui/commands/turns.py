"""What is said to a turn that runs, and turns that are said again, otherwise, or taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_core import intents, names
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.overlays.rewind import Rewound
    from nanoherm_tui.session_view import SessionView

# Tools that change no file; whatever else was called may have.
_HARMLESS: Final = frozenset(
    {names.READ_FILE, names.LIST_DIR, names.GREP, names.GLOB, names.WEB_FETCH, names.WEB_SEARCH, names.GIT_STATUS}
    | {names.GIT_DIFF, names.TODO_WRITE, names.TODO_READ, names.ASK_USER, names.EXIT_PLAN, names.GOAL_DONE}
    | {names.TASK_LIST, names.TASK_OUTPUT, names.TASK_KILL, names.SESSION_SEARCH, names.SHELL}
)


def steer(app: NanohermApp, text: str) -> None:
    """Tell the turn at its next step; without one, begin one."""
    app.conversations.send(intents.Steer(text))


def queue(app: NanohermApp, text: str) -> None:
    """Say it when the turn has ended; without one, begin one."""
    app.conversations.send(intents.Queue(text))


def redirect(app: NanohermApp, text: str) -> None:
    """Cut the answer that is being written and go on with this; what was said so far stays."""
    app.conversations.send(intents.Redirect(text))


def retry(app: NanohermApp, argument: str) -> None:
    """The last turn once more, from its beginning."""
    app.conversations.send(intents.Retry())


def redo(app: NanohermApp, argument: str) -> None:
    """Put back what was taken out last."""
    app.conversations.send(intents.Redo())


def rewind(app: NanohermApp, argument: str) -> None:
    """Choose a message of one's own, to send another in its place or to take it out with all that followed."""
    view = app.view
    if view is None:
        return
    if view.session.busy:
        app.hint(t("rewind.busy"))
        return
    said = view.session.said()
    if not said:
        app.hint(t("rewind.empty"))
        return

    def chosen(choice: Rewound | None) -> None:
        if choice is None or app.view is not view:
            return
        if choice.what != "conversation":
            view.rewind_to = choice.message_id if choice.what == "both" and choice.how == "take_out" else ""
            view.session.send(intents.Rollback(choice.turn_id))
            app.hint(t("rewind.rolling_back", command="/rollback redo"))
        if choice.what == "files" or view.rewind_to:
            return
        if choice.how == "take_out":
            view.session.send(intents.Rewind(choice.message_id))
            app.hint(t("rewind.taken_out", command="/redo"))
            return
        text = next(one.text for one in said if one.id == choice.message_id)
        app.composer.write_instead(choice.message_id, text)

    from nanoherm_tui.overlays.rewind import RewindScreen

    screen = RewindScreen(said, may_have_files=_may_have_files(view))
    if _may_have_files(view):
        look = app.host.checkpoints
        screen.ask_plan = lambda turn: app.desk.do_beside(lambda: look.plan(view.id, turn), screen.show_plan)
        app.desk.do_beside(lambda: look.list(view.id), screen.show_turns)
    app.open_overlay(screen, chosen)


def _may_have_files(view: SessionView) -> bool:
    """Whether turns may have changed files: by what was called, as far as that is known without looking."""
    return view.model.earlier > 0 or any(call.name not in _HARMLESS for call in view.calls.values())
