"""What a person agrees to once, as a question of lines: a folder's settings, a mode that acts unasked, no sandbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import intents
from agent_core.sandbox.policy import UNCONFINED
from nanoherm_tui.i18n import series, t
from nanoherm_tui.plain.questions import Choice
from nanoherm_tui.plain.words import pair
from nanoherm_tui.text import clean, visible
from nanoherm_tui.words.sandbox import why_none

if TYPE_CHECKING:
    from agent_core.desk.trusting import Answer
    from agent_core.events import ModeToConfirm
    from agent_core.trust import Standing
    from nanoherm_tui.plain.face import Face


def yes_or_no(
    lines: Sequence[str], yes: str, no: str, then: Callable[[], object], otherwise: Callable[[], object]
) -> Choice:
    """A question that y agrees to and n does not; `yes` and `no` say what they do."""

    def take(said: str) -> bool:
        said = said.lower()
        if said in ("y", "yes"):
            then()
        elif said in ("n", "no"):
            otherwise()
        else:
            return False
        return True

    return Choice((*lines, f"  y: {yes}", f"  n: {no}"), f"{t('plain.ask')} (y/n): ", take)


# -- what a folder brings ---------------------------------------------------------------------------------------------


def trust_lines(standing: Standing, folder: str) -> list[str]:
    """What a folder brings and how it stands, each file with what it would do."""
    state = {"none": "none", "new": "new", "changed": "has_changed", "trusted": "trusted", "refused": "refused"}
    title = t("trust.title_none") if standing.state == "none" else t("trust.title")
    lines = ["", pair(title, folder), t(f"trust.{state[standing.state]}")]
    for name, rows in groupby(standing.offer.rows, key=lambda row: row.name):
        changed = f" ({t('trust.changed')})" if name in standing.changed else ""
        lines += [f"  {clean(name)}{changed}"] if name else []
        lines += (f"    {pair(t(f'trust.{row.what}'), clean(row.words))}" for row in rows)
    gone = [name for name in standing.changed if name not in standing.offer.digests]
    return [*lines, t("trust.gone", files=clean(series(gone)))] if gone else lines


def trust(face: Face, standing: Standing, workspace: Path) -> Choice:
    """Ask what is to be done about it; nothing of it acts before."""

    def answer(said: Answer) -> None:
        now = face.host.answer_trust(standing, said, workspace)
        if said == "trust" and now.asks:
            face.say(t("trust.changed_meanwhile"))
            face.ask(trust(face, now, workspace))
            return
        words = {"trust": "now_trusted", "never": "now_never", "forget": "now_forgotten"}[said]
        face.say(t(f"trust.{words}"))
        if said != "never" and not (face.session.stored or face.session.busy):
            face.opened.switch(lambda: face.host.new(workspace))  # with the settings as they are now

    def take(said: str) -> bool:
        if said == "N" or said.lower() == "never":
            face.do(lambda: answer("never"))
        elif said.lower() in ("t", "trust"):
            face.do(lambda: answer("trust"))
        elif said.lower() in ("n", "no"):
            face.say(t("trust.later"))
        else:
            return False
        return True

    keys = (f"  t: {t('trust.trust')}", f"  n: {t('trust.not_now')}", f"  never: {t('trust.never')}")
    lines = trust_lines(standing, face.shown_path(standing.offer.root))
    return Choice((*lines, *keys), f"{t('plain.ask')} (t/n/never): ", take)


def show_trust(face: Face) -> None:
    """What the folder of this session brings; what was answered can be taken back."""
    workspace = face.session.workspace
    standing = face.host.trusting.look(workspace)
    if standing.asks:
        face.ask(trust(face, standing, workspace))
        return
    lines = trust_lines(standing, face.shown_path(standing.offer.root))
    if standing.state not in ("trusted", "refused"):
        face.say(*lines)
        return

    def forget() -> None:
        face.do(lambda: face.host.answer_trust(standing, "forget", workspace))
        face.say(t("trust.now_forgotten"))

    face.ask(yes_or_no(lines, t("trust.take_back"), t("trust.close"), forget, lambda: None))


# -- a mode that acts unasked -----------------------------------------------------------------------------------------


def confirm_mode(face: Face, asked: ModeToConfirm) -> Choice:
    """Say what the mode would do here unasked."""
    view = face.view
    mode, (sandbox, _, network) = asked.mode, asked.sandbox.partition(", ")
    free = asked.sandbox == UNCONFINED.words
    writes = t("consent.reads_only" if sandbox == "read-only" else "consent.box")
    lines = [
        "",
        t("consent.mode_title", mode=mode),
        t("consent.mode_text_free" if free else "consent.mode_text"),
        f"  {pair(t('consent.folder'), face.shown_path(view.session.workspace))}",
        "  "
        + pair(t("consent.sandbox"), t("consent.free") if free else t("consent.held", sandbox=sandbox, writes=writes)),
        f"  {pair(t('consent.network'), t('consent.network_on' if network or free else 'consent.network_off'))}",
        f"  {pair(t('consent.asks'), t('consent.asks_free' if free else 'consent.asks_still'))}",
    ]
    if mode == "goal":
        lines.append(f"  {pair(t('consent.ends'), t('consent.goal_ends'))}")

    def enter() -> None:
        view.to_confirm = None
        view.session.send(intents.SetMode(mode, confirmed=True))

    def stay() -> None:
        view.to_confirm = None
        view.session.send(intents.SetMode(view.mode))  # what was to be done in the other one is not wanted any more
        face.say(t("consent.stays", mode=view.mode))

    yes, no = t("consent.enter", mode=mode), t("consent.stay", mode=view.mode)
    return yes_or_no(lines, yes, no, enter, stay)


# -- no sandbox -------------------------------------------------------------------------------------------------------


def no_sandbox(face: Face) -> None:
    """Accept for this machine that nothing confines commands, or take that back."""
    held = face.held
    if held is None or (held.kernel and not held.accepted):
        face.say(t("consent.has_sandbox"))
        return

    def change() -> None:
        face.do(lambda: face.host.walls.accept_none(not held.accepted))
        face.held = face.host.walls.containment()

    if held.accepted:
        lines = ["", t("consent.revoke_title"), t("consent.revoke_text")]
        yes, no = t("consent.revoke"), t("consent.keep")
    else:
        lines = [
            "",
            t("consent.none_title"),
            t("consent.none_text"),
            f"  {pair(t('consent.missing'), visible(why_none(held)))}",
            f"  {pair(t('consent.then'), t('consent.then_text'))}",
            f"  {pair(t('consent.asks'), t('consent.none_asks'))}",
            f"  {pair(t('consent.back'), t('consent.back_text'))}",
        ]
        yes, no = t("consent.accept"), t("consent.leave")
    face.ask(yes_or_no(lines, yes, no, change, lambda: None))
