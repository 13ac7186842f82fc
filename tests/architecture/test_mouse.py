"""Whatever the mouse does, a key does: each handler of the mouse has a row that names the key, and the key is there."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from nanoherm_tui.actions import BY_ID

ROOMS = Path(__file__).parents[2] / "nanoherm_tui"
HANDLERS = ("on_click", "on_mouse_", "on_enter", "on_leave", "on_hover", "clicked")

DOWN = ("up", "down", "pageup", "pagedown")
PANE = ("row_up", "row_down", "page_up", "page_down", "first", "last")

# By room and class: what the mouse does there, and the keys that do it. "room:Class key ..." is a class and keys bound
# in it; "room:Class.method key ..." a method that reads the keys itself; words alone are actions.
KEYS = {
    "overlays.approval_parts ApprovalText": {"scroll": f"overlays.approval:ApprovalPanel._on_key {' '.join(DOWN)}"},
    "overlays.compare_head CompareHead": {"click": "overlays.compare:CompareScreen left right"},
    "overlays.compare CompareBody": {"click": "overlays.compare:CompareScreen up down left right space"},
    "overlays.compare CompareScreen": {"scroll": f"overlays.compare:CompareScreen {' '.join(DOWN)}"},
    "overlays.grouped GroupedList": {"click": "overlays.inbox:InboxScreen up down enter"},
    "overlays.grouped FollowedList": {"click": "overlays.settings:SettingsScreen up down enter"},
    "overlays.help HelpScreen": {"scroll": f"overlays.help:HelpScreen.on_key {' '.join(DOWN)}"},
    "overlays.inbox InboxList": {"click": "overlays.inbox:InboxScreen up down enter"},
    "overlays.insights InsightHead": {"click": "overlays.insights:InsightScreen left right 1 2 3"},
    "overlays.keys _KeyList": {"click": "overlays.keys:KeysScreen up down enter"},
    "overlays.memory MemoryList": {"click": "overlays.memory:MemoryScreen up down enter"},
    "overlays.listed ListScreen": {"scroll": f"overlays.memory:MemoryScreen {' '.join(DOWN)}"},
    "overlays.palette PaletteList": {"click": "overlays.palette:PaletteScreen up down enter"},
    "overlays.palette PaletteScreen": {"scroll": f"overlays.palette:PaletteScreen {' '.join(DOWN)}"},
    "overlays.reading ReadScreen": {"scroll": f"overlays.reading:ReadScreen {' '.join(DOWN)}"},
    "overlays.search SearchScreen": {"scroll": f"overlays.search:SearchScreen {' '.join(DOWN)}"},
    "overlays.searched SearchedScreen": {"scroll": f"overlays.settings:SettingsScreen {' '.join(DOWN)}"},
    "overlays.search_fields FilterRow": {"click": "overlays.search_fields:FilterRow left right space"},
    "overlays.search_hits SearchList": {"click": "overlays.search:SearchScreen up down enter"},
    "overlays.servers ServersList": {"click": "overlays.servers:ServersScreen up down enter"},
    "overlays.settings SettingsList": {"click": "overlays.settings:SettingsScreen up down enter"},
    "overlays.setup ProviderField": {"click": "overlays.setup:ProviderField left right"},
    "overlays.setup SetupButton": {"click": "overlays.setup:SetupButton enter space"},
    "overlays.skills SkillsList": {"click": "overlays.skills:SkillsScreen up down enter"},
    "overlays.tools ToolsList": {"click": "overlays.tools:ToolsScreen up down enter"},
    "overlays.trust TrustScreen": {"scroll": f"overlays.trust:TrustScreen.on_key {' '.join(DOWN)}"},
    # What is dragged over is selected; where the caret is put down ends a run of kills, as every key does.
    "panes.kill_draft KillDraft": {"drag": "select_draft"},
    "panes.rows RowsView": {
        "click": "next previous sessions_open dock_unfold dock_next_tab dock_previous_tab",
        "scroll": " ".join(PANE),
        "drag": " ".join(PANE),
    },
    "panes.status StatusLine": {"click": "inbox"},
    "panes.tabbed Tabbed": {"click": "dock_next_tab dock_previous_tab dock_result dock_diff dock_plan dock_tasks"},
    "panes.tour TourCard": {"click": "commands.tour:take_key tab"},
    "transcript.moving Moving": {"scroll": " ".join(PANE)},
    # A word by two clicks, a block by three, anything by dragging.
    "transcript.selecting Selecting": {"drag": "select extend_left extend_right extend_up extend_down select_word_end"},
    # Ctrl and a click on a path: the caret is brought there, and Enter opens it.
    "transcript.view TranscriptView": {"click": "next previous fold open_in_dock select last"},
}


def kind(name):
    if name.startswith("on_mouse_scroll"):
        return "scroll"
    return "click" if "click" in name else "drag" if name.startswith("on_mouse") else "hover"


def handled():
    """{room and class: kinds of the mouse's handlers}, by what is written in the rooms."""
    found = {}
    for path in sorted(ROOMS.rglob("*.py")):
        room = ".".join(path.relative_to(ROOMS).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                names = [n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
                kinds = {kind(name) for name in names if name.startswith(HANDLERS)}
                if kinds:
                    found[f"{room} {node.name}"] = kinds
    return found


def test_each_handler_of_the_mouse_has_a_key():
    assert {where: set(ways) for where, ways in KEYS.items()} == handled()


@pytest.mark.parametrize("where", KEYS)
def test_the_key_is_there(where):
    for ways in KEYS[where].values():
        first, *keys = ways.split()
        if ":" not in first:
            for action in (first, *keys):
                assert BY_ID[action].keys, action
            continue
        room, _, owner = first.partition(":")
        thing = importlib.import_module(f"nanoherm_tui.{room}")
        for name in owner.split("."):
            thing = getattr(thing, name)
        if inspect.isfunction(thing):
            source = inspect.getsource(thing)
            for key in keys:
                assert f'"{key}"' in source or key in source.split(), (where, key)
        else:
            bound = thing._merge_bindings().key_to_bindings
            assert set(keys) <= set(bound), (where, keys)


def test_nothing_is_told_by_the_pointer_alone():
    """What stands under a resting pointer is told by no tooltip, and looks as it did before."""
    for path in ROOMS.rglob("*.py"):
        assert "tooltip" not in path.read_text(), path
    for path in ROOMS.rglob("*.tcss"):
        assert ":hover" not in path.read_text(), path
