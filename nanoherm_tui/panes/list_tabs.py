"""The dock's tabs that are lists: memory, MCP servers, turns. Each is shown by a `ListTab`; here it gets its place."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from textual.actions import SkipAction
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from nanoherm_tui import limits
from nanoherm_tui.panes.list_tab import Ask, Key, ListName, ListTab
from nanoherm_tui.panes.memory_tab import MemoryTab
from nanoherm_tui.panes.servers_tab import ServersTab
from nanoherm_tui.panes.tabbed import Tab, Tabbed
from nanoherm_tui.panes.turns_tab import TurnsTab

LOOK: Final = "look"
"""What is asked for when a list may be another one: it comes by the list's `show` and `list_shown`."""


class ListTabs(Tabbed):
    """A list is asked for when its tab comes to the front, and while it is there when it may have changed."""

    class Asked(Message):
        """A list wants something: `ask.what` of the list called `name`."""

        def __init__(self, name: ListName, ask: Ask) -> None:
            super().__init__()
            self.name: ListName = name
            self.ask = ask

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.memory, self.servers, self.turns = MemoryTab(), ServersTab(), TurnsTab()
        self._lists: dict[Tab, ListTab] = {"memory": self.memory, "servers": self.servers, "turns": self.turns}
        self._list_stale = set(self._lists)
        self._list_asked = ""
        self._list_looks: Timer | None = None
        self._sure_ends: Timer | None = None

    @property
    def front_list(self) -> ListTab | None:
        """The one that is in front."""
        return self._lists.get(self.tab)

    # -- what is shown ------------------------------------------------------------------------------------------

    def lists_changed(self, names: Collection[ListName]) -> None:
        """These may not be what is shown any more: the one in front is asked for anew."""
        self._list_stale.update(names)
        self._look_at_list()

    def list_brought(self) -> None:
        """Another tab is in front. What servers write is told by nobody: there one looks now and then."""
        if self._list_looks is not None:
            self._list_looks.stop()
            self._list_looks = None
        if self.tab == "servers":
            self._list_looks = self.set_interval(limits.SERVERS_LOOK, self._look_again)
        if self.front_list is not None:
            self._list_stale.add(self.tab)
        self._look_at_list()

    def _look_again(self) -> None:
        if all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            self.lists_changed(["servers"])

    def _look_at_list(self) -> None:
        name = self.front_list.name if self.front_list is not None else None
        if name is not None and name in self._list_stale and self._list_asked != name:
            self._list_stale.discard(name)
            self._list_asked = name
            self.call_next(self.post_message, self.Asked(name, Ask(LOOK)))

    def list_shown(self, name: ListName) -> None:
        """What was asked for has come and is in the list."""
        if self._list_asked == name:
            self._list_asked = ""
        if self.front_list is not None and self.front_list.name == name:
            self.stale()
        self._look_at_list()

    def forget_lists(self) -> None:
        """Another session comes."""
        for one in self._lists.values():
            one.clear()
        self._list_stale.update(self._lists)
        self._list_asked = ""
        self._look_at_list()

    # -- rows ---------------------------------------------------------------------------------------------------

    def list_rebuilt(self, shown: ListTab) -> None:
        rows = [index for index, row in enumerate(self._body) if row.key]
        chosen = next((index for index in rows if self._body[index].key == shown.at), None)
        self.cursor = chosen if chosen is not None else next(iter(rows), None)
        shown.at = self._body[self.cursor].key if self.cursor is not None else ""

    def list_hints(self, shown: ListTab) -> list[tuple[str, str]]:
        return [(self.keymap.label(action), words) for action, words in shown.hints()]

    def list_moved(self, shown: ListTab, index: int) -> None:
        """The cursor is at another row."""
        shown.at, shown.sure = self._body[index].key, ""
        self.stale_foot()

    # -- what can be done ---------------------------------------------------------------------------------------

    def press(self, key: Key) -> None:
        """A key that means something to the list in front; nothing is done to a row that is out of sight."""
        shown = self.front_list
        if shown is None:
            raise SkipAction
        self._ensure()
        if self.cursor is not None and not self.top <= self.cursor < self.top + self.view_height:
            self.show_row(self.cursor)
            return
        done = shown.press(key)
        if done is False:
            raise SkipAction
        if isinstance(done, Ask):
            self.post_message(self.Asked(shown.name, done))
        if shown.sure:
            if self._sure_ends is not None:
                self._sure_ends.stop()
            self._sure_ends = self.set_timer(limits.TOLD_HINT, self._not_sure)
        self.stale()

    def _not_sure(self) -> None:
        for one in self._lists.values():
            one.sure = ""
        self.stale_foot()

    def action_again(self) -> None:
        """Do again: start a server anew, take a rollback back."""
        self.press("again")

    def action_log_in(self) -> None:
        """Log in at a server."""
        self.press("log_in")
