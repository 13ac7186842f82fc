"""The dock's tab of what fills the model's window: what each message takes, and what dropping or pinning it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.actions import SkipAction
from textual.message import Message

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.context import ITEM, item_id
from nanoherm_tui.panes.tabbed import Tabbed
from nanoherm_tui.words.context import tokens

if TYPE_CHECKING:
    from agent_core.messages import View
    from agent_core.mind.context import Item, Report


class ContextTab(Tabbed):
    """What fills the window is asked for by a message, and comes by `show_context`."""

    class ContextRequested(Message):
        """What fills the window is wanted: `show_context`."""

    class ItemOpened(Message):
        """A message is wanted whole."""

        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    class ViewChosen(Message):
        """The person wants requests to drop, pin or give back a message."""

        def __init__(self, message_id: str, view: View) -> None:
            super().__init__()
            self.message_id = message_id
            self.view = view

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.report: Report | None = None
        self._report_asked = self._report_stale = False
        self._item = ""  # the message the cursor is at

    def show_context(self, report: Report | None) -> None:
        """Show what fills the window, as it was asked for; None: nothing is known."""
        self._report_asked = False
        if report != self.report:
            self.report = report
            if self.tab == "context":
                self.stale()  # its place is kept: most of it is as before
        if self._report_stale:
            self.context_changed()

    def context_changed(self) -> None:
        """What fills the window is not what was shown any more: ask for it anew where somebody sees it."""
        self._report_stale = self.tab != "context" or self._report_asked
        if not self._report_stale:
            self._report_asked = True
            self.call_next(self.post_message, self.ContextRequested())

    def context_rebuilt(self) -> None:
        body = self._body
        items = [index for index, row in enumerate(body) if row.key.startswith(ITEM)]
        chosen = next((index for index in items if item_id(body[index].key) == self._item), None)
        self.cursor = chosen if chosen is not None else next(iter(items), None)

    def context_hints(self) -> list[tuple[str, str]]:
        item, key = self._chosen_item(), self.keymap.label
        if item is None:
            return []
        hints = [(key("dock_unfold"), t("dock.hint_open"))]
        if item.view != "dropped":
            saves = t("dock.hint_drop", tokens=tokens(item.gain)) if item.gain else t("dock.hint_drop_only")
            hints.append((key("dock_drop"), saves))
        if item.view != "pinned" and item.kind != "summary":
            hints.append((key("dock_pin"), t("dock.hint_pin")))
        if item.view:
            hints.append((key("dock_give_back"), t("dock.hint_give_back")))
        return hints

    def context_moved(self, index: int) -> None:
        """The cursor is at another message."""
        self._item = item_id(self._body[index].key)
        self.stale_foot()

    def _chosen_item(self) -> Item | None:
        if self.tab != "context" or self.report is None or self.cursor is None or self.cursor >= len(self._body):
            return None
        chosen = item_id(self._body[self.cursor].key)
        return next((item for item in self.report.items if item.message_id == chosen), None)

    def _brings_cursor(self) -> bool:
        """Bring the cursor into view if it is not: nothing is done to a message that is out of sight."""
        if self.cursor is None or self.top <= self.cursor < self.top + self.view_height:
            return False
        self.show_row(self.cursor)
        return True

    def _open_item(self) -> None:
        item = self._chosen_item()
        if item is not None and not self._brings_cursor():
            self.post_message(self.ItemOpened(item))

    def set_view(self, view: View) -> None:
        """Have requests drop ("dropped"), pin ("pinned") or give back ("") the message the cursor is at."""
        item = self._chosen_item()
        if item is None or (view == "pinned" and item.kind == "summary"):
            raise SkipAction
        if item.view != view and not self._brings_cursor():
            self._item = item.message_id
            self.post_message(self.ViewChosen(item.message_id, view))
