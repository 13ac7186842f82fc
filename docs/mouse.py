"""What the mouse does, and the keys that do the same: nothing is to be had by the mouse alone.

A test looks that each file with a handler of the mouse stands here, and that each action named has a key.
"""

from __future__ import annotations

from agent_core.records import dataclass
from nanoherm_tui.actions import BY_ID
from nanoherm_tui.keymap import show


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing the mouse does."""

    what: str
    actions: tuple[str, ...] = ()
    """Ids of the actions that do it; their default keys are shown."""
    keys: tuple[str, ...] = ()
    """Keys that are no actions of the keymap, as Textual names them: those of lists and pages."""
    words: str = ""
    """Which of them when, where that is not plain."""
    rooms: tuple[str, ...] = ()
    """The files of nanoherm_tui/ that handle it; empty: Textual does."""


_LIST = ("up", "down", "pageup", "pagedown")

DEEDS: tuple[Deed, ...] = (
    Deed(
        "the wheel and the scrollbar, in the conversation, the sessions and the dock",
        ("row_up", "row_down", "page_up", "page_down", "first", "last"),
        rooms=("transcript/moving.py", "panes/rows.py"),
    ),
    Deed(
        "the wheel in a list, a page or a question",
        keys=_LIST,
        rooms=(
            "overlays/approval_parts.py",
            "overlays/compare.py",
            "overlays/help.py",
            "overlays/listed.py",
            "overlays/palette.py",
            "overlays/reading.py",
            "overlays/search.py",
            "overlays/searched.py",
            "overlays/trust.py",
        ),
    ),
    Deed("a click into a pane", ("focus_sessions", "focus_transcript", "focus_composer", "focus_dock", "next_pane")),
    Deed("a click on a block of the conversation", ("next", "previous"), rooms=("transcript/view.py",)),
    Deed("on a tool's card", ("open_in_dock",), rooms=("transcript/view.py",)),
    Deed("on a thought", ("fold",), rooms=("transcript/view.py",)),
    Deed("on the mark of new content below", ("last",), rooms=("transcript/view.py",)),
    Deed(
        "Ctrl and a click on a file's name",
        ("select", "open_in_dock"),
        words="select, go to it, open",
        rooms=("transcript/view.py",),
    ),
    Deed(
        "drag in the conversation",
        ("select", "extend_left", "extend_right", "extend_up", "extend_down", "extend_page_up", "extend_page_down"),
        rooms=("transcript/selecting.py",),
    ),
    Deed(
        "a double click: a word; a triple one: the block",
        ("select", "select_word_end", "copy_block"),
        words="a word from its start; a block is copied whole",
        rooms=("transcript/selecting.py",),
    ),
    Deed("drag in the dock", ("dock_select_up", "dock_select_down", "dock_select_left", "dock_select_right")),
    Deed("a click on a session", ("sessions_open",), rooms=("panes/rows.py",)),
    Deed("on a tab of the dock", ("dock_next_tab", "dock_previous_tab", "dock_result"), rooms=("panes/rows.py",)),
    Deed("on a row of the dock: unfold, open", ("dock_unfold",), rooms=("panes/rows.py",)),
    Deed("on what waits, in the status line", ("inbox",), rooms=("panes/status.py",)),
    Deed("on the tour's card", keys=("tab",), rooms=("panes/tour.py",)),
    Deed(
        "a click and drag in the draft",
        ("select_draft",),
        keys=("left", "right", "up", "down"),
        rooms=("panes/kill_draft.py",),
    ),
    Deed("a click on a row of a list", keys=(*_LIST, "enter"), rooms=("overlays/grouped.py",)),
    Deed("on a filter of the search", keys=("tab", "left", "right"), rooms=("overlays/search_fields.py",)),
    Deed(
        "on a side or a row of two sessions compared",
        keys=("tab", "up", "down", "space"),
        rooms=("overlays/compare.py", "overlays/compare_head.py"),
    ),
    Deed("on a span of the insights", keys=("1", "left", "right"), rooms=("overlays/insights.py",)),
    Deed(
        "on a field or a button of the setup",
        keys=("up", "down", "left", "right", "enter"),
        rooms=("overlays/setup.py",),
    ),
)


def keys_of(deed: Deed) -> tuple[str, ...]:
    """The keys that do it, as a person reads them: of each action the first."""
    return tuple(show(BY_ID[name].keys[0]) for name in deed.actions) + tuple(show(key) for key in deed.keys)


def table() -> str:
    rows = ["| by the mouse | by key |", "|---|---|"]
    for deed in DEEDS:
        keys = ", ".join(keys_of(deed)).replace("|", "\\|")
        rows.append(f"| {deed.what} | {keys}{f': {deed.words}' if deed.words else ''} |")
    return "\n".join(rows)
