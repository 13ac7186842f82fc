"""/skills: what there is, why one cannot be used, what waits for the person and how it is answered."""

from __future__ import annotations

import time

import pytest

from agent_core.knowledge import Skill, Unmet
from nanoherm_tui import commands, limits
from nanoherm_tui.commands.skills import lines
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.pending import PendingScreen
from nanoherm_tui.overlays.skills import SkillsScreen
from screenshots import skill_files
from screenshots.stage import Stage


@pytest.mark.parametrize(
    ("skill", "state", "side"),
    [
        (Skill("a", "A.", "/home/x/a/SKILL.md", "yours"), "offered", "yours"),
        (Skill("a", "A.", "/p", "yours", (Unmet("variable", "A_KEY"),)), "lacking", "A_KEY is not set"),
        (Skill("a", "A.", "/p", "hermes", (Unmet("platform", "macos"),), False), "closed", "for macos only"),
        (Skill("a", "A.", "/p", "agents", (Unmet("hidden"),), True), "lacking", "a nearer one has its name"),
    ],
)
def test_a_row_says_where_a_skill_is_from_or_what_is_wrong_with_it(skill, state, side):
    [line] = lines((), (skill,), "/home/x")
    assert (line.name, line.state, line.side) == ("a", state, side)


async def test_what_is_chosen_goes_into_the_draft_and_what_waits_is_shown_before_it_is_done():
    async with Stage("en", (100, 30)) as stage:
        app = stage.app
        waits = skill_files.make(stage.home, stage.language)
        main = stage.home / ".nanohermes" / "skills" / "release-notes" / "SKILL.md"
        before = main.read_text()
        commands.run(app, "skills")
        await stage.until(lambda: isinstance(app.screen, SkillsScreen), "the next state")
        await stage.press("down", "enter")
        await stage.until(lambda: app.composer.text == "/deploy ", "the next state")
        commands.run(app, "skills")
        await stage.until(lambda: isinstance(app.screen, SkillsScreen), "the next state")
        await stage.press("enter")
        await stage.until(lambda: isinstance(app.screen, PendingScreen), "the next state")
        screen, now = app.screen, time.monotonic()
        assert isinstance(screen, PendingScreen)
        screen.arming = Arming(lambda: now)
        await stage.press("y")  # at once: it is what was being typed, and no answer
        assert (app.screen, main.read_text()) == (screen, before)
        now += limits.APPROVAL_ARM
        await stage.press("y")
        await stage.until(lambda: "Leave out what nobody will notice." in main.read_text(), "the next state")
        await stage.until(lambda: not app.host.pending.list(), "the next state")
        done = main.read_text()
        other = app.host.pending.add("skill", waits.title, waits.diff, {})
        commands.run(app, "skills", f"reject {other.id}")
        await stage.until(lambda: not app.host.pending.list(), "an empty list")
        assert main.read_text() == done
