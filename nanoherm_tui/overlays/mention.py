"""The files a word that begins with @ may name, listed above the composer; behind a #, what its lines are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from textual import events
from textual.message import Message
from textual.strip import Strip

from agent_core.text.kinds import IMAGE_NAMES
from agent_core.text.refs import Lines, Mention, mention_before, parse_lines, write
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.popup import Popup
from nanoherm_tui.strips import Part, hints, look_of, marked, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut_path, one_line, visible
from nanoherm_tui.text import width as text_width

if TYPE_CHECKING:
    from agent_core.workspace.index import Answer, Hit
    from nanoherm_tui.keymap import Keymap
    from nanoherm_tui.panes.draft import DraftArea

_PAGE: Final = 7
_FORMS: Final = "@diff @staged @git:2 @url:"
_WITH_FORMS: Final = 90  # columns below which it is not said what else an @ may stand before


class Files(Protocol):
    """Knows the files of a workspace. Nothing here blocks; what comes back comes on the loop, perhaps several times."""

    def ask(self, query: str, then: Callable[[Answer], None]) -> None: ...

    def rest(self) -> None: ...

    def count_lines(self, path: str, then: Callable[[int | None], None]) -> None: ...

    def taken(self, path: str) -> None:
        """It was written into a message."""


class MentionPopup(Popup):
    """Follows the caret of a draft. The composer gives it the keys, and calls `follow` when caret or text moved."""

    class ImageTaken(Message):
        """An image was chosen; what was written for it."""

        def __init__(self, path: str, written: str) -> None:
            super().__init__()
            self.path = path
            self.written = written

    class PreviewRequested(Message):
        """A file, or these lines of it, should be shown. 0: no lines were named."""

        def __init__(self, path: str, first: int, last: int) -> None:
            super().__init__()
            self.path = path
            self.first = first
            self.last = last

    def __init__(self, draft: DraftArea, keymap: Keymap) -> None:
        super().__init__()
        self.files: Files | None = None
        self.keymap = keymap
        self._draft = draft
        self._mention: Mention | None = None
        self._answer: Answer | None = None
        self._moved = False
        self._takes = False  # Enter or Tab came before the answer
        self._shut: tuple[int, int] | None = None  # row and column of the mention that Esc has closed
        self._taken: tuple[int, int] | None = None  # the caret behind a file just taken and its blank
        self._counted: tuple[str, int | None] | None = None  # a file, and its lines
        self._counting = ""

    # -- following the draft -----------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Open, follow or close by what stands before the caret."""
        at, column = self._draft.cursor_location
        line = self._draft.document[at]
        mention = mention_before(line, column) if "@" in line and self._draft.selection.is_empty else None
        if mention is None or self.files is None:
            self._shut = None
        elif (at, mention.start) == self._shut or (mention.closed and mention.lines is None):
            mention = None
        if mention == self._mention:
            return
        before, self._mention = self._mention, mention
        self._takes = False
        if mention is None:
            self._rest()
        elif mention.lines is not None:
            self._rest()
            self._count(mention.path)
            self.show(1, -1)
        elif self.files is not None and (before is None or before.lines is not None or before.path != mention.path):
            self._moved = False
            self.files.ask(mention.path, self._answered)

    def _rest(self) -> None:
        self._answer = None
        self.hide()
        if self.files is not None:
            self.files.rest()

    def _answered(self, answer: Answer) -> None:
        mention = self._mention
        if mention is None or mention.lines is not None or answer.query != mention.path:
            return
        kept = self.chosen.path if self._moved and self.chosen is not None else ""
        self._answer = answer
        paths = [hit.path for hit in answer.hits]
        self.show(len(paths), paths.index(kept) if kept in paths else 0)
        if self._takes and answer.settled and self.chosen is not None:
            self._take(self.chosen)

    def _count(self, path: str) -> None:
        if self.files is not None and path != self._counting:
            self._counting, self._counted = path, None

            def counted(lines: int | None) -> None:
                if path == self._counting:
                    self._counted = (path, lines)
                    self.refresh()

            self.files.count_lines(path, counted)

    @property
    def chosen(self) -> Hit | None:
        hits = self._answer.hits if self._answer is not None else ()
        return hits[self.at] if 0 <= self.at < len(hits) else None

    # -- keys --------------------------------------------------------------------------------------------------------

    def key(self, event: events.Key) -> bool:
        """Take a key while the list is open, or the # behind a file just taken."""
        self.follow()  # keys of one read come before the change they made is told
        taken, self._taken = self._taken, None
        if event.character == "#" and taken is not None and self._draft.cursor_location == taken:
            at, column = taken
            self._draft.replace("#", (at, column - 1), (at, column), maintain_selection_offset=False)
            return True
        if self._mention is None:
            return False
        if event.key == "escape":
            self._shut = (self._draft.cursor_location[0], self._mention.start)
            self.follow()
        elif self._mention.lines is not None:
            return False
        elif event.key in ("up", "down"):
            self._go((self.at + (1 if event.key == "down" else -1)) % max(1, self.count))
        elif event.key in ("pageup", "pagedown"):
            step = _PAGE if event.key == "pagedown" else -_PAGE
            self._go(max(0, min(self.at + step, self.count - 1)))
        elif event.key in ("enter", "tab"):
            return self._accept(event.key)
        else:
            return False
        return True

    def preview(self) -> bool:
        """Ask for the chosen file, or the one whose lines are being written, to be shown."""
        mention = self._mention
        if mention is None:
            return False
        if mention.lines is not None:
            lines = parse_lines(mention.lines) or Lines(0, 0)
            self.post_message(self.PreviewRequested(mention.path, lines.first, lines.last or lines.first))
        elif self.chosen is not None and not self.chosen.path.endswith("/"):
            self.post_message(self.PreviewRequested(self.chosen.path, 0, 0))
        return True

    def _go(self, at: int) -> None:
        if self.count:
            self.at, self._moved = at, True
            self.refresh()

    def _accept(self, key: str) -> bool:
        mention, answer = self._mention, self._answer
        if mention is None:
            return False
        if answer is None or answer.query != mention.path or not (answer.settled or self._moved):
            self._takes = True  # the answer is on its way, and no hand waits for it
            return True
        hit = self.chosen
        if hit is None or (key == "enter" and hit.path == mention.path):
            return key == "tab"  # there is nothing to take: Enter sends
        self._take(hit)
        return True

    def _take(self, hit: Hit) -> None:
        """Write the path in place of what was typed. A folder's is gone on with."""
        mention = self._mention
        if mention is None:
            return
        self._takes = False
        at, column = self._draft.cursor_location
        is_folder = hit.path.endswith("/")
        text = write(hit.path, open_end=is_folder)
        if not is_folder:
            text += " "
            column += self._draft.document[at][column : column + 1] == " "
        result = self._draft.replace(text, (at, mention.start), (at, column), maintain_selection_offset=False)
        self._draft.move_cursor(result.end_location)
        if not is_folder:
            self._taken = self._draft.cursor_location
        if self.files is not None:
            self.files.taken(hit.path)
        if hit.path.lower().endswith(IMAGE_NAMES):
            self.post_message(self.ImageTaken(hit.path, text))
        self.follow()

    # -- the rows ----------------------------------------------------------------------------------------------------

    def _height(self) -> int:
        """With its foot, unless the lines of a file are being written."""
        return 0 if self._mention is None else super()._height() + (self._mention.lines is None)

    def hide(self) -> None:
        self.count = 0
        self.display = False

    def parts(self, index: int, width: int, here: bool) -> tuple[list[Part], list[Part]]:
        look = look_of(self)
        ground = "selection" if here else "surface"
        mention = self._mention
        if mention is not None and mention.lines is not None:
            words, role = self._lines_words(mention)
            return [(words, look.style(role, ground))], []
        if self._answer is None:
            return [], []
        hit = self._answer.hits[index]
        words, places, name = fitted(hit.path, hit.places, width)
        typed = look.style("accent", ground, bold=True)
        folder_style = look.style("seltext" if here else "muted", ground)
        name_style = look.style("seltext" if here else "text", ground)
        left = marked(words[:name], places, folder_style, typed)
        left += marked(words[name:], frozenset(place - name for place in places), name_style, typed)
        return left, []

    def _lines_words(self, mention: Mention) -> tuple[str, str]:
        """What there is to say about the lines being written, and in which role."""
        lines = parse_lines(mention.lines or "")
        total = self._counted[1] if self._counted is not None and self._counted[0] == mention.path else -1
        if total is None:
            return t("mention.no_text", path=one_line(visible(mention.path))), "warn"
        if lines is None or lines.last is None:
            return t("mention.lines") if total < 0 else t("mention.lines_of", total=f"{total:,}"), "muted"
        if lines.first == 0:
            return t("mention.from_one"), "warn"
        if lines.last < lines.first:
            return t("mention.backwards", first=lines.last, last=lines.first), "warn"
        if 0 <= total < lines.last:
            return t("mention.beyond", total=f"{total:,}"), "warn"
        return t("mention.range", first=lines.first, last=lines.last), "muted"

    def paint(self, width: int) -> list[Strip]:
        rows = super().paint(width)
        if self._mention is None or self._mention.lines is not None:
            return rows
        look = look_of(self)
        fill = look.style("text", "surface")
        words, figures = self._foot()
        left: list[Part] = [("   ", fill)]
        if words:
            left.append((words, look.style("muted", "surface")))
        else:
            keys = (
                ("Tab", t("mention.take")),
                (self.keymap.label("preview_file"), t("mention.preview")),
                ("Esc", t("mention.close")),
            )
            room = width - text_width(figures) - 3 * bool(figures) - 1
            for hint in hints(look, keys):
                if sum(text_width(said) for said, _ in (*left, *hint)) <= room:
                    left += [*hint, ("   ", fill)]
            left.pop()  # what would have to be cut before the figures
            if not self._mention.path and width >= _WITH_FORMS:
                left.append(("   " + t("mention.also", forms=_FORMS), look.style("muted", "surface")))
        return [*rows, row(width, left, fill, [(figures, look.style("muted", "surface")), (" ", fill)])]

    def _foot(self) -> tuple[str, str]:
        """What is said instead of the keys, and the figures at the right."""
        answer = self._answer
        if answer is None:
            return t("mention.looking"), ""
        if answer.refused:
            return t("mention.refused"), ""
        words = (
            t("mention.none", query=one_line(visible(answer.query))) if not answer.hits and not answer.growing else ""
        )
        if answer.growing:
            return words, t("mention.indexing", n=f"{answer.total:,}")
        if answer.count is None:
            return words, f"{answer.total:,}"
        figures = t("mention.count", n=f"{answer.count:,}", total=f"{answer.total:,}")
        return words, t("mention.cut", figures=figures) if answer.cut else figures


def fitted(path: str, places: Sequence[int], cells: int) -> tuple[str, frozenset[int], int]:
    """A path fit for a row: cut in its middle, where its marked characters are then, and where its last part begins."""
    safe = visible(path)
    if safe != path:
        places = ()  # something had to be written out, so nothing is where it was
    words = cut_path(safe, cells)
    if words == safe:
        return words, frozenset(places), safe.rstrip("/").rfind("/") + 1
    kept = words.index(sym("cut"))
    tail = words[kept + 1 :].rstrip(" ") if not safe.endswith(" ") else words[kept + 1 :]
    moved = len(safe) - len(tail) - kept - 1
    at = {place for place in places if place < kept} | {p - moved for p in places if p >= len(safe) - len(tail)}
    return words, frozenset(at), kept + 1 + tail.startswith("/")
