"""The skills of the session's workspace, and the writes to them that wait: looked at, approved, rejected."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nanoherm_tui.actions import BY_SLASH
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.pending import PendingScreen
from nanoherm_tui.overlays.skills import SkillLine, SkillsScreen, State
from nanoherm_tui.text import age, one_line, shorten_home, visible
from nanoherm_tui.words.kept_titles import kept_title

if TYPE_CHECKING:
    from agent_core.knowledge import Pending, Skill, Unmet
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Open the list, or do what is typed: "pending", "diff 3f9a", "approve 3f9a", "reject 3f9a"."""
    if app.view is None:
        return
    word, _, id = (part.strip() for part in argument.partition(" "))
    if not word or (word == "pending" and not id):
        _open(app, only_waiting=bool(word))
    elif word == "diff" and id:
        app.desk.do(lambda: app.host.pending.get(id, "skill").pending, lambda found: _look_at(app, found))
    elif word in ("approve", "reject") and id:
        _answer(app, id, word == "approve")
    else:
        app.conversations.tell("skills_usage", t("skills.usage"))


def _open(app: NanohermApp, *, only_waiting: bool = False) -> None:
    assert app.view is not None
    workspace, home = app.view.session.workspace, str(app.host.places.home)

    def look() -> tuple[tuple[Pending, ...], tuple[Skill, ...]]:
        return app.host.pending.list("skill"), () if only_waiting else app.host.skills.of(workspace).list()

    def opened(found: tuple[tuple[Pending, ...], tuple[Skill, ...]]) -> None:
        pending, skills = found
        if only_waiting and not pending:
            app.hint(t("skills.nothing_waits"))
            return
        by_id = {one.id: one for one in pending}

        def chosen(line: SkillLine | None) -> None:
            if line is None:
                return
            if line.state == "waits":
                _look_at(app, by_id[line.name])
            elif line.name in BY_SLASH:  # its slash means something else
                app.composer.bring_back(t("skills.ask_for", name=line.name) + " ")
                app.composer.focus()
            else:
                app.composer.begin_command(line.name)

        app.open_overlay(SkillsScreen(lines(pending, skills, home)), chosen)

    app.desk.do(look, opened)


def _look_at(app: NanohermApp, pending: Pending) -> None:
    def answered(approved: bool | None) -> None:
        if approved is not None:
            _answer(app, pending.id, approved)

    app.open_overlay(PendingScreen(pending), answered)


def _answer(app: NanohermApp, id: str, approved: bool) -> None:
    def told(done: Pending) -> None:
        words = t("skills.approved" if approved else "skills.rejected", title=kept_title(done.title))
        app.hint(words)

    app.desk.do(lambda: app.host.skills.answer(id, approved), told)


# -- in words -----------------------------------------------------------------------------------------------------


def lines(pending: tuple[Pending, ...], skills: tuple[Skill, ...], home: str) -> list[SkillLine]:
    """What waits, the oldest first, and the skills by name; those of no use here at the end."""
    now = time.time()
    waits = [
        SkillLine(
            one.id, kept_title(one.title), age(now - one.made), "waits", (kept_title(one.title), visible(one.diff.path))
        )
        for one in pending
    ]
    there = sorted(skills, key=lambda skill: not skill.offered)
    return [*waits, *(_line(skill, home) for skill in there)]


def _line(skill: Skill, home: str) -> SkillLine:
    words = one_line(skill.description)
    place = t(f"skills.place_{skill.place}")
    unmet = [unmet_words(one) for one in skill.unmet]
    path = shorten_home(visible(skill.path), home)
    state: State = "closed" if not skill.offered else "lacking" if unmet else "offered"
    detail = (t("text.pair", name=visible(skill.name), value=words), path, *unmet)
    return SkillLine(visible(skill.name), words, unmet[0] if unmet else place, state, detail)


def unmet_words(one: Unmet) -> str:
    return t(f"skills.unmet_{one.kind}", what=visible(one.what))
