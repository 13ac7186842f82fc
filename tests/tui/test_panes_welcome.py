"""The greeting of an empty session."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

from nanoherm_tui.panes.welcome import Greeting, Welcome
from nanoherm_tui.welcome import greeting
from tests.tui.panes_app import PaneApp, lines

GREETING = Greeting(
    "Scripted demo.",
    "Nothing leaves this machine. 所有工具都是真的。",
    True,
    (("/setup", "Setup", "provider, key, model: three fields"), ("F1", "Help", "every key")),
)


def test_a_model_server_is_said_to_be_looked_for_only_where_one_is():
    assert greeting(None, keymap=None).text == "Opening the session."
    assert greeting(SimpleNamespace(settled=False), keymap=None).text == "Looking for a model server on this machine."


@pytest.mark.parametrize("size", [(80, 20), (60, 20), (42, 20), (30, 20)])
async def test_the_greeting_is_shown_whole_at_every_width(size):
    welcome = Welcome()
    async with PaneApp(welcome).run_test(size=size) as pilot:
        welcome.show(GREETING)
        await pilot.pause()
        rows = lines(welcome)
    assert all(cell_len(row) == size[0] for row in rows)
    assert not any("⋯" in row for row in rows)
    words = " ".join(" ".join(rows).replace("▐", " ").split())
    assert words.startswith("Scripted demo. Nothing leaves this machine.")
    helps = size[0] > 42
    assert ("three" in words) == helps
    assert "/setup Setup" in words


@pytest.mark.parametrize(
    ("head", "text", "row"), [("演示。", "不是 AI。", "演示。不是 AI。"), ("A demo.", "No AI.", "A demo. No AI.")]
)
async def test_a_chinese_sentence_follows_another_without_a_blank(head, text, row):
    welcome = Welcome()
    async with PaneApp(welcome).run_test(size=(60, 20)) as pilot:
        welcome.show(replace(GREETING, head=head, text=text))
        await pilot.pause()
        assert lines(welcome)[0].strip(" ▐") == row


@pytest.mark.parametrize(
    ("size", "ends"), [((60, 1), "⋯"), ((30, 2), "⋯"), ((30, 5), ""), ((60, 4), "three⋯"), ((44, 5), "⋯")]
)
async def test_a_greeting_that_is_taller_than_its_room_does_not_break_off_in_silence(size, ends):
    tall = replace(GREETING, text=f"{GREETING.text} 编辑和命令都会先问你。")
    welcome = Welcome()
    async with PaneApp(welcome).run_test(size=size) as pilot:
        welcome.show(tall)
        await pilot.pause()
        rows = lines(welcome)
    assert {cell_len(row) for row in rows} == {size[0]}
    assert rows[-1].rstrip().endswith(ends)
    assert [row for row in rows[:-1] if "⋯" in row] == []
    assert rows[0].startswith("  ▐ ")  # a warning's bar stays
