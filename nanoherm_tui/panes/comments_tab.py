"""What the dock's tab of changes has of comments: the hunk at hand, the field, and giving them away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.actions import SkipAction
from textual.message import Message

from agent_core.text.diff import hunks_of
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show
from nanoherm_tui.panes.bodies import BLANK, LEFT, Row, Span
from nanoherm_tui.panes.comment_field import CommentField
from nanoherm_tui.panes.comments import Anchor, Comments, anchor_of, place_of
from nanoherm_tui.panes.diff_tab import DiffTab
from nanoherm_tui.text import cut_path, width

if TYPE_CHECKING:
    from textual.timer import Timer

    from agent_core.messages import FileDiff
    from nanoherm_tui.panes.tabbed import Tab


class CommentsTab(DiffTab):
    """A comment stays beside its hunk until it is put into a message, or is the reason of a refusal."""

    class MessageWanted(Message):
        """All comments are to stand in the draft as one text; they are beside their hunks no longer."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class CommentsChanged(Message):
        """They are to be kept: others than before, or more is written of one."""

        def __init__(self, comments: Comments) -> None:
            super().__init__()
            self.comments = comments

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hands_rest: Timer | None = None
        self._words: CommentField | None = None  # made when it is first wanted; then it is hidden, never taken away
        self._about: Anchor | None = None  # what is being commented on

    # -- what is shown ------------------------------------------------------------------------------------------

    def use_comments(self, comments: Comments) -> None:
        """Those of the session in view, from now on; what is being written belongs to the one before."""
        self.end_comment()
        self.comments = comments
        self.stale()

    def words_on(self, diffs: Sequence[FileDiff], keys: Sequence[str] | None = None) -> str:
        """What is said of hunks of these changes: of all as a message; of those named "file.hunk" in `keys`, which the
        model is shown, only where and what."""
        anchors = self.comments.among(self._anchors(diffs, keys))
        return self.comments.message(anchors) if keys is None else self.comments.reasons(anchors)

    def said(self, diffs: Sequence[FileDiff], keys: Sequence[str] | None = None) -> None:
        """That has been given to the model."""
        self.comments.take(self.comments.among(self._anchors(diffs, keys)))
        self._comments_changed()

    def _anchors(self, diffs: Sequence[FileDiff], keys: Sequence[str] | None) -> list[Anchor]:
        return [
            anchor_of(diff, hunk)
            for number, diff in enumerate(diffs)
            for index, hunk in enumerate(diff.hunks)
            if keys is None or f"{number}.{index}" in keys
        ]

    def comment_hints(self) -> list[tuple[str, str]]:
        key = self.keymap.label
        at_hand = self._at_hand()
        hints = []
        if at_hand is not None:
            again = self.comments.on(at_hand)
            hints.append((key("dock_comment"), t("comments.hint_mend" if again else "comments.hint")))
        if self.comments and not self._asking:
            n = len(self.comments)
            words = t("comments.hint_message_one") if n == 1 else t("comments.hint_message", n=n)
            hints.append((key("dock_comments"), words))
        return hints

    def comment_foot(self, cells: int) -> Sequence[Row] | None:
        """The rows that the field lies on; None: nothing is being written."""
        field = self._words
        if field is None or self._about is None:
            return None
        keys = ((show("enter"), t("comments.keep")), (show("escape"), t("comments.leave")))
        hints = [part for key, words in keys for part in (Span(f"   {key}", bold=True), Span(f" {words}", "muted"))]
        room = cells - sum(width(span.text) for span in hints) - 1
        if room < limits.COMMENT_HEADING:
            hints, room = [], cells
        heading = Row((Span(cut_path(place_of(self._about), max(room, 2)), "muted"),), tuple(hints))
        return (BLANK, heading, *(BLANK for _ in range(self._field_rows(field))))

    def _field_rows(self, field: CommentField) -> int:
        most = max(1, min(limits.COMMENT_ROWS, self.size.height // 3))
        return max(1, min(most, field.rows if field.is_mounted else 1))

    # -- writing ------------------------------------------------------------------------------------------------

    @property
    def holds_focus(self) -> bool:
        return super().holds_focus or (self._words is not None and self._words.has_focus)

    def _at_hand(self) -> Anchor | None:
        """The hunk that a comment would be about."""
        at = self.hunk_at_hand() if self.tab == "diff" else None
        key = self._body[at].key if at is not None else ""
        found = hunks_of(self._diffs).get(key)  # the rows may still be those of the changes before
        return anchor_of(*found) if found is not None else None

    def action_comment(self) -> None:
        """Say something about the hunk at hand, or mend what was said."""
        about = self._at_hand()
        if about is None:
            raise SkipAction
        if self._about is not None and self._words is not None:
            self._words.focus()
            return
        at = self.hunk_at_hand()
        if at is not None:
            self.go_to_hunk(at)
        self._about = about
        if self._words is None:
            self._words = CommentField(self.keymap, self._end_writing, self._fit)
            self._words.styles.margin = (0, 0, 0, LEFT)
            self.mount(self._words)
        self._words.begin(self.comments.on(about))
        self._fit()

    def action_comments(self) -> None:
        """Put all comments into the draft, as one text that can be mended there before it is sent."""
        if not self.comments:
            raise SkipAction
        if self._asking:  # a draft would hold up the answer; what is said of what waits goes with that
            return
        anchors = list(self.comments.by_anchor)
        text = self.comments.message(anchors)
        self.comments.take(anchors)
        self.post_message(self.MessageWanted(text))  # it is kept there before it is gone here
        self._comments_changed()

    def on_key(self, event: events.Key) -> None:
        field = self._words
        if field is None or self._about is None or event.key in ("pageup", "pagedown"):
            return
        event.prevent_default()
        if event is not field.latest:  # else it comes by here on its way up from the field
            event.stop()
            field.take_early(event)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """As many rows as the text needs; what is above gives way."""
        field = self._words
        if field is not None and self._about is not None:
            self._note_writing(self._about, field.text)
            field.styles.height = self._field_rows(field)
            field.styles.width = max(1, self.cells)
            self.stale_foot()

    def _end_writing(self, keep: bool) -> None:
        field, about = self._words, self._about
        if field is None or about is None:
            return
        if keep:
            self.comments.put(about, field.text)
        self.comments.writing = None
        if field.has_focus:
            self.focus()
        self._about = None
        field.display = False
        self._comments_changed()

    def _note_writing(self, about: Anchor, words: str) -> None:
        """Have what is written so far kept, once the hands rest."""
        if self.comments.writing == (about, words):
            return
        self.comments.writing = about, words
        if self._hands_rest is None:
            self._hands_rest = self.set_interval(limits.DRAFT_REST, self._tell_comments, pause=True)
        self._hands_rest.reset()

    def _comments_changed(self) -> None:
        self.stale()
        self._tell_comments()

    def _tell_comments(self) -> None:
        if self._hands_rest is not None:
            self._hands_rest.pause()
        self.post_message(self.CommentsChanged(self.comments))

    def end_comment(self) -> None:
        """The field has to go: what was written so far is kept."""
        self._end_writing(keep=True)

    def show_tab(self, tab: Tab) -> None:
        if tab != self.tab:
            self.end_comment()
        super().show_tab(tab)
