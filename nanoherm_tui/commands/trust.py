"""What a folder brings that would act: shown when a session in it is, by /trust, and when it has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.trust import Said, TrustScreen

if TYPE_CHECKING:
    from agent_core.desk.trusting import Answer
    from agent_core.session.live import LiveSession
    from agent_core.trust import Standing
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """What the folder of the session in view brings, and how it stands."""
    if app.view is not None:
        workspace = app.view.session.workspace
        app.desk.do(lambda: app.host.trusting.look(workspace), lambda standing: _open(app, workspace, standing))


def look_at(app: NanohermApp, workspace: Path) -> None:
    """A session in this folder came into view: ask about what it brings, once in a run."""
    if workspace not in app.folders_seen:
        app.folders_seen.add(workspace)
        app.desk.do(lambda: app.host.trusting.look(workspace), lambda standing: _ask(app, workspace, standing))


def _ask(app: NanohermApp, workspace: Path, standing: Standing) -> None:
    """Show what asks; over another overlay it would be in the way, and /trust shows it."""
    if standing.asks and len(app.screen_stack) == 1:
        _open(app, workspace, standing)
        return
    if standing.asks:
        app.hint(t("trust.waits"))
    app.opening.send_first_prompts()


def _open(app: NanohermApp, workspace: Path, standing: Standing) -> None:
    if any(isinstance(screen, TrustScreen) for screen in app.screen_stack):
        return

    def answered(said: Said | None) -> None:
        if said is None or said == "later":
            if standing.asks:
                app.hint(t("trust.later"))
            app.opening.send_first_prompts()
        else:
            answer = said
            app.desk.do(
                lambda: app.host.answer_trust(standing, answer, workspace),
                lambda now: _answered(app, workspace, answer, now),
            )

    app.open_overlay(TrustScreen(standing, str(app.host.places.home)), answered)


def _answered(app: NanohermApp, workspace: Path, answer: Answer, now: Standing) -> None:
    if answer == "trust" and now.asks:
        app.hint(t("trust.changed_meanwhile"))
        _open(app, workspace, now)
        return
    words = {"trust": t("trust.now_trusted"), "never": t("trust.now_never"), "forget": t("trust.now_forgotten")}
    app.hint(words[answer])
    view = app.view
    empty = view is not None and not (view.session.stored or view.session.busy)
    if answer == "never" or not empty or view is None or view.session.workspace != workspace:
        app.opening.send_first_prompts()
        return
    # Nothing was said in this session yet: another one takes its place, with the settings as they are now.
    draft = app.composer.text

    def begin(session: LiveSession) -> None:
        app.composer.text = ""
        app.conversations.show(session)
        if draft:
            app.composer.bring_back(draft)
        app.opening.send_first_prompts()

    app.conversations.bring(lambda: app.host.new(workspace), begin)
