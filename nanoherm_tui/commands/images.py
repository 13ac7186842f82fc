"""Images for a message: from a file, from the clipboard, dropped on the terminal. Each becomes a chip in the draft."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import limits as core_limits
from agent_core.errors import AgentError
from agent_core.text.image_refs import count
from nanoherm_tui.i18n import t
from nanoherm_tui.terminal.signals import in_browser

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def add(app: NanohermApp, argument: str) -> None:
    """Put the image of a file into the draft. The path may be written as a mention is: @docs/shot.png."""
    path = argument.removeprefix("@").strip("\"'")
    full = _full(app, path)
    _take(app, lambda: [app.host.images.take_file(full, path)])


def mentioned(app: NanohermApp, path: str, written: str) -> None:
    """An image of the workspace was mentioned, as `written`: the image comes in the place of its path."""
    full = _full(app, path)
    _take(app, lambda: [app.host.images.take_file(full, path)], written=written)


def dropped(app: NanohermApp, paths: Sequence[str], text: str) -> None:
    """Paths of images were pasted: they come as images, or, where they are none, as the text that they are."""

    def read() -> list[str]:
        return [app.host.images.take_file(os.path.expanduser(path), os.path.basename(path)) for path in paths]

    _take(app, read, instead=lambda: app.composer.insert(text))


def paste(app: NanohermApp) -> None:
    """Put the image on the clipboard into the draft."""
    if in_browser(os.environ):  # that clipboard is the page's
        app.hint(t("browser.paste_image"))
        return
    from agent_core.images import clipboard as clipboard_image

    name = t("composer.clipboard")
    _take(app, lambda: [app.host.images.take(clipboard_image.read(os.environ), name)])


def _take(
    app: NanohermApp,
    read: Callable[[], list[str]],
    *,
    written: str = "",
    instead: Callable[[], None] = lambda: None,
) -> None:
    """Have images read, and put them into the draft of the session that is in view now, in the place of `written`.

    `instead` is done where that cannot be; the reason is told.
    """
    view = app.view
    if view is None or not app.composer.may_have_images:
        instead()
        return

    def work() -> list[str] | AgentError:
        try:
            return read()
        except AgentError as error:
            return error

    def show(found: list[str] | AgentError) -> None:
        if app.view is not view:
            return
        if isinstance(found, AgentError):
            app.conversations.tell(found.code, found.text, **found.params)  # in whole: it says the way out
            instead()
            return
        for reference in found:
            if count(app.composer.text + reference) > core_limits.IMAGES_A_TURN:
                app.hint(t("composer.images_most", n=core_limits.IMAGES_A_TURN))
                if reference == found[0]:  # what was pasted is in the draft in no form yet
                    instead()
                return
            app.composer.add_image(reference, written)
        _warn_if_blind(app)

    app.desk.do_beside(work, show)


def _warn_if_blind(app: NanohermApp) -> None:
    """Before it is sent: say so when the model is known to take no images."""
    view = app.view
    if view is None:
        return
    model, provider = view.answering

    def told(sees: bool | None) -> None:
        if sees is False and app.view is view:
            app.hint(t("composer.model_blind", model=model))

    app.desk.do(lambda: app.host.models.sees(provider, model), told)


def _full(app: NanohermApp, path: str) -> Path:
    """Where a path lies that was written in the workspace of the session in view."""
    folder = app.view.session.workspace if app.view is not None else app.host.places.workspace
    return Path(folder, os.path.expanduser(path))
