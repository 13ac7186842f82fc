"""Beginning, opening, naming, copying, deleting and exporting sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui import limits
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.exporting import slug, write_new
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from agent_core.session.live import LiveSession
    from nanoherm_tui.app import NanohermApp


def new_session(app: NanohermApp, folder: str) -> None:
    """A fresh session in `folder`, else where the program was started."""
    if not folder:
        app.conversations.bring(app.host.new)
        return
    path = app.host.places.workspace / Path(folder).expanduser()
    app.conversations.bring(lambda: app.host.new(path))


def new_in_folder(app: NanohermApp, argument: str) -> None:
    """Choose a folder, then begin there."""
    from agent_core.desk.files import list_folders
    from nanoherm_tui.overlays.folders import FolderScreen

    start = app.view.session.workspace if app.view is not None else app.host.places.workspace
    screen = FolderScreen(start)

    def list_folder(path: Path) -> None:
        app.desk.do(lambda: list_folders(path), lambda found: screen.show(path, found))

    def chosen(folder: Path | None) -> None:
        if folder is not None:
            new_session(app, str(folder))

    screen.on_list = list_folder
    app.open_overlay(screen, chosen)


def choose(app: NanohermApp, title: str) -> None:
    """Open the session with this title or id; without one, offer all."""
    if not title:
        from nanoherm_tui.commands.choose import choose as offer
        from nanoherm_tui.commands.choose import in_use, session_items

        offer(app, "session", session_items(app), in_use(app))
        return

    def found() -> LiveSession:
        session_id = app.host.find(title).id
        return app.host.live(session_id) or app.host.open(session_id)

    app.conversations.bring(found)


def open_by_id(app: NanohermApp, session_id: str) -> None:
    live = app.host.live(session_id)
    if live is not None:
        app.conversations.show(live)
    else:
        app.conversations.bring(lambda: app.host.open(session_id))


# -- the session in view, or the one with the id that is given --------------------------------------------------------


def _stored(app: NanohermApp, session_id: str) -> str:
    """The session that is meant: `session_id`, else the one in view; "" when there is nothing stored of it."""
    if not session_id and app.view is not None:
        session_id = app.view.id
    view = app.conversations.views.get(session_id)
    return "" if view is not None and not view.stored else session_id


def _title(app: NanohermApp, session_id: str) -> str:
    view = app.conversations.views.get(session_id)
    title = view.title if view else next((row.title for row in app.conversations.rows if row.id == session_id), "")
    return title or t("sessions.untitled")


def clear(app: NanohermApp, argument: str) -> None:
    session_id = _stored(app, "")
    if not session_id:
        return

    def emptied(session: LiveSession) -> None:
        app.conversations.forget(session_id)
        app.conversations.show(session)

    def sure(yes: bool | None) -> None:
        if yes:
            app.conversations.bring(lambda: app.host.reset(session_id), emptied)

    from nanoherm_tui.overlays.confirm import ConfirmScreen

    app.open_overlay(ConfirmScreen(t("app.clear_title"), t("app.clear_text")), sure)


def fork(app: NanohermApp, session_id: str) -> None:
    """Go on in a copy."""
    session_id = _stored(app, session_id)
    if not session_id:
        app.hint(t("app.nothing_to_fork"))
        return
    title = _title(app, session_id)

    def forked(session: LiveSession) -> None:
        app.conversations.show(session)
        app.conversations.reload()
        app.hint(t("app.forked", title=title))

    app.conversations.bring(lambda: app.host.fork(session_id), forked)


def rename(app: NanohermApp, title: str) -> None:
    """Name the session in view; without a title, ask for one."""
    if app.view is None:
        return
    if title:
        app.view.session.send(intents.Rename(title))
    else:
        rename_by_id(app, app.view.id)


def rename_by_id(app: NanohermApp, session_id: str) -> None:
    """Ask for another title, the present one to change."""
    from nanoherm_tui.overlays.name import NameScreen

    view = app.conversations.views.get(session_id)
    row_title = next((row.title for row in app.conversations.rows if row.id == session_id), "")

    def named(title: str | None) -> None:
        if title is None:
            return
        live = app.host.live(session_id)
        if live is not None:
            live.send(intents.Rename(title))
        else:
            app.desk.do(lambda: app.host.rename(session_id, title), lambda _: app.conversations.reload())

    app.open_overlay(NameScreen(t("name.rename"), view.title if view is not None else row_title), named)


def delete(app: NanohermApp, session_id: str) -> None:
    """Put the session away; `restore` brings it back."""
    session_id = _stored(app, session_id)
    if not session_id:
        return
    title = _title(app, session_id)

    def instead(session: LiveSession) -> None:
        in_list = app.sessions_pane.has_focus
        app.conversations.show(session)
        if in_list:
            focus_pane(app, "sessions")  # whose u takes it back

    def gone(_: None) -> None:
        app.conversations.deleted.append(session_id)
        app.conversations.reload()
        app.hint(t("app.deleted", title=title, command="/restore"), seconds=limits.DELETED_HINT)

    if app.view is not None and app.view.id == session_id:
        # First: a turn of its may take its time to stop, and what is typed meanwhile needs a session.
        app.conversations.bring(app.host.new, instead)
    app.conversations.forget(session_id)
    app.desk.do(lambda: app.host.delete(session_id), gone)


def restore(app: NanohermApp, argument: str) -> None:
    """Bring the session back that was deleted last."""
    if not app.conversations.deleted:
        app.hint(t("app.nothing_deleted"))
        return
    session_id = app.conversations.deleted.pop()

    def back(_: object) -> None:
        app.hint("")
        app.conversations.reload()
        open_by_id(app, session_id)

    app.desk.do(lambda: app.host.restore(session_id), back)


def undo_turns(app: NanohermApp, argument: str) -> None:
    if app.view is None:
        return
    if argument and not (argument.isdecimal() and int(argument) > 0):
        app.conversations.tell("undo_number", t("app.undo_number", given=argument))
        return
    app.view.session.send(intents.Undo(int(argument or 1)))


def show_disk(app: NanohermApp, argument: str) -> None:
    """What lies on the disk, and which sessions take how much of it."""
    from nanoherm_tui.overlays.disk import DiskScreen

    app.desk.do(app.host.disk_report, lambda report: app.open_overlay(DiskScreen(report)))


# -- export -------------------------------------------------------------------------------------------------------


def export(app: NanohermApp, path: str) -> None:
    """Write the session in view to `path`, else to a file of its title in the folder of the start."""
    _export(app, _stored(app, ""), path)


def export_by_id(app: NanohermApp, session_id: str) -> None:
    _export(app, _stored(app, session_id), "")


def _export(app: NanohermApp, session_id: str, path: str) -> None:
    if not session_id:
        app.conversations.tell("nothing_to_export", t("app.nothing_to_export"))
        return
    target = Path(path).expanduser() if path else Path(f"{slug(_title(app, session_id))}.md")
    target = app.host.places.workspace / target

    from agent_core.store.exchange import form_of

    def write() -> Path:
        return write_new(target, app.host.export(session_id, form_of(target.name)))

    app.desk.do(write, lambda done: app.conversations.tell("exported", t("app.exported", path=done), warning=False))
