"""What a person is asked to agree to once: a mode that acts unasked, and commands without a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.sandbox.policy import UNCONFINED
from nanoherm_tui import limits
from nanoherm_tui.commands.settings import next_mode, set_mode
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.consent import Agreed, Consent, ConsentScreen
from nanoherm_tui.text import shorten_home
from nanoherm_tui.words.sandbox import why_none

if TYPE_CHECKING:
    from agent_core.events import ModeToConfirm
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.session_view import SessionView


# -- a mode that acts unasked -------------------------------------------------------------------------------------


def mode_to_confirm(app: NanohermApp, view: SessionView) -> None:
    """The session wants a word of the person before it enters a mode: ask once the keys rest.

    Who only passes the mode on the way to the next one is not held up.
    """
    asked, draft = view.to_confirm, app.composer.text
    if asked is None:
        return
    app.hint(t("consent.resting", mode=asked.mode), limits.CONSENT_RESTS)

    def rested() -> None:
        if app.view is not view or view.to_confirm is not asked:
            return
        if app.composer.text != draft or len(app.screen_stack) > 1:
            mode_to_confirm(app, view)  # somebody is typing, or looks at something else
        else:
            _ask_for_mode(app, view)

    app.set_timer(limits.CONSENT_RESTS, rested)


def _ask_for_mode(app: NanohermApp, view: SessionView) -> None:
    asked = view.to_confirm
    assert asked is not None

    def answered(said: Agreed | None) -> None:
        if view.to_confirm is not asked:
            return
        if said == "onward":
            next_mode(app, "")
            return
        view.to_confirm = None
        if said == "yes":
            set_mode(app, asked.mode, confirmed=True)
        else:
            set_mode(app, view.mode)  # what was to be done in the other one is not wanted any more
            app.hint(t("consent.stays", mode=view.mode))

    keys = app.keymap.keys("next_mode")
    app.open_overlay(ConsentScreen(_mode_consent(asked, view, str(app.host.places.home), keys)), answered)


def _mode_consent(asked: ModeToConfirm, view: SessionView, home: str, keys: tuple[str, ...]) -> Consent:
    mode, (sandbox, _, network) = asked.mode, asked.sandbox.partition(", ")
    free = asked.sandbox == UNCONFINED.words
    writes = t("consent.reads_only" if sandbox == "read-only" else "consent.box")
    reaches = bool(network) or free
    facts = [
        (t("consent.folder"), shorten_home(str(view.session.workspace), home), False),
        (t("consent.sandbox"), t("consent.free") if free else t("consent.held", sandbox=sandbox, writes=writes), free),
        (t("consent.network"), t("consent.network_on" if reaches else "consent.network_off"), reaches),
        (t("consent.asks"), t("consent.asks_free" if free else "consent.asks_still"), False),
    ]
    if mode == "goal":
        facts.append((t("consent.ends"), t("consent.goal_ends"), False))
    return Consent(
        t("consent.mode_title", mode=mode),
        t("consent.mode_text_free" if free else "consent.mode_text"),
        tuple(facts),
        yes=t("consent.enter", mode=mode),
        no=t("consent.stay", mode=view.mode),
        onward=keys,
        onward_words=t("consent.onward"),
    )


# -- no sandbox ---------------------------------------------------------------------------------------------------


def no_sandbox(app: NanohermApp, argument: str) -> None:
    """Accept for this machine that nothing confines commands, or take that back."""
    held = app.held
    if held is None or (held.kernel and not held.accepted):
        app.hint(t("consent.has_sandbox"))
        return

    def answered(said: Agreed | None) -> None:
        if said == "yes":
            app.desk.do(lambda: app.host.walls.accept_none(not held.accepted), lambda _: app.look_at_containment())

    if held.accepted:
        consent = Consent(
            t("consent.revoke_title"), t("consent.revoke_text"), (), t("consent.revoke"), t("consent.keep")
        )
    else:
        facts = (
            (t("consent.missing"), why_none(held), True),
            (t("consent.then"), t("consent.then_text"), False),
            (t("consent.asks"), t("consent.none_asks"), False),
            (t("consent.back"), t("consent.back_text"), False),
        )
        consent = Consent(
            t("consent.none_title"), t("consent.none_text"), facts, t("consent.accept"), t("consent.leave")
        )
    app.open_overlay(ConsentScreen(consent), answered)
