"""The dock's list of turns that changed files: what each did to which, and taking back one file of one turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Row, Span
from nanoherm_tui.panes.list_tab import INDENT, Ask, Key, ListTab, fold_mark, wrapped
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut_path, fit, visible, width, wrap
from nanoherm_tui.words.rollback import changed_words, state_words, turn_side, turn_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.rollback import ChangedFile, Checkpoint

_TURN, _FILE = "turn:", "file:"


class TurnsTab(ListTab):
    name = "turns"

    def __init__(self) -> None:
        super().__init__()
        self._turns: Sequence[Checkpoint] = ()
        self._looked = False
        self._redoable = False

    def show(self, turns: Sequence[Checkpoint], redoable: bool) -> None:
        """The newest first. `redoable`: a rollback can be taken back."""
        if turns and (not self._turns or self._turns[0].turn_id != turns[0].turn_id):
            self.open.add(_TURN + turns[0].turn_id)  # the newest is what somebody comes for
        self._turns, self._redoable, self._looked = turns, redoable, True

    def clear(self) -> None:
        self._turns, self._looked, self._redoable = (), False, False
        self.at, self.sure = "", ""
        self.open.clear()

    @property
    def is_empty(self) -> bool:
        return not self._turns

    @property
    def _turn(self) -> Checkpoint | None:
        """The turn that the cursor is at or under."""
        id = self.at.removeprefix(_TURN) if self.at.startswith(_TURN) else self.at.removeprefix(_FILE).partition(":")[0]
        return next((turn for turn in self._turns if turn.turn_id == id), None)

    @property
    def _file(self) -> ChangedFile | None:
        turn = self._turn if self.at.startswith(_FILE) else None
        path = self.at.removeprefix(_FILE).partition(":")[2]
        return next((file for file in turn.files if file.path == path), None) if turn is not None else None

    def rows(self, cells: int) -> list[Row]:
        if self.is_empty:
            return wrapped(t("rollback.nothing") if self._looked else t("dock.looking"), cells, "muted")
        now = time.time()
        rows: list[Row] = []
        for turn in self._turns:
            key = _TURN + turn.turn_id
            words = Span(turn_words(turn), "muted" if turn.undone else "text")
            rows.append(Row((fold_mark(key in self.open), words), (Span(turn_side(turn, now), "muted"),), key=key))
            if key in self.open:
                rows += [row for file in turn.files for row in _file_rows(turn, file, cells)]
        return rows

    def hints(self) -> list[tuple[str, str]]:
        turn, file = self._turn, self._file
        hints: list[tuple[str, str]] = []
        if file is not None and turn is not None:
            hints.append(("dock_unfold", t("turns.hint_change")))
            if file.state == "undoable" and self.sure == self.at:
                later = self._later(turn, file)
                hints.append(("dock_give_back", t(f"turns.sure_{file.change}") + _later_words(later)))
            elif file.state == "undoable":
                hints.append(("dock_give_back", t("turns.hint_undo_file")))
        elif turn is not None:
            closes = _TURN + turn.turn_id in self.open
            hints.append(("dock_unfold", t("dock.hint_close" if closes else "dock.hint_open")))
            hints.append(("dock_give_back", t("turns.hint_undo_turn")))
        return [*hints, *([("dock_again", t("turns.hint_redo"))] if self._redoable else [])]

    def _later(self, turn: Checkpoint, file: ChangedFile) -> int:
        """How many later turns changed the file too: what they did goes with it."""
        newer = self._turns[: self._turns.index(turn)]
        return sum(other.path == file.path and other.state != "undone" for one in newer for other in one.files)

    def text(self) -> str:
        now = time.time()
        return "".join(
            f"{turn_words(turn)}\t{turn_side(turn, now)}\n"
            + "".join(f"\t{changed_words(file)}\n" for file in turn.files)
            for turn in self._turns
        )

    def press(self, key: Key) -> Ask | bool:
        turn, file = self._turn, self._file
        if key == "again" and self._redoable:
            return Ask("redo")
        if turn is None or key not in ("open", "give_back"):
            return False
        if file is None:
            if key == "give_back":
                return Ask("undo_turn", turn.turn_id)
            self.turn(self.at)
            return True
        if key == "open":
            return Ask("change", turn.turn_id, file.path)
        if file.state != "undoable":
            return Ask("told", state_words(file))
        if self.sure != self.at:
            self.sure = self.at
            return True
        self.sure = ""
        return Ask("undo_file", turn.turn_id, file.path)


def _later_words(later: int) -> str:
    return "" if not later else t("turns.later_one") if later == 1 else t("turns.later", n=later)


def _file_rows(turn: Checkpoint, file: ChangedFile, cells: int) -> list[Row]:
    """What was done, to which file, and why it cannot be taken back; below it what has no room beside it."""
    kinds = max(width(t(f"rollback.did_{kind}")) for kind in ("create", "edit", "delete")) + 1
    side = state_words(file)
    if file.state == "undoable" and not side and file.by == "command":
        side = t("rollback.by_command")
    below: list[Row] = []
    if width(side) > cells // 2:
        indent = INDENT + 2 + kinds
        lines = wrap(side, max(cells - indent, 2))
        side, below = "", [Row((Span(" " * indent), Span(line, "muted"))) for line in lines]
    quiet = "muted" if file.state == "undone" else "text"
    mark = Span(sym("done"), "muted") if file.state == "undone" else Span(" ")
    room = cells - INDENT - 2 - kinds - (width(side) + 1 if side else 0)
    path = cut_path(visible(file.path), max(room, 2))
    left = (
        Span(" " * INDENT),
        mark,
        Span(" "),
        Span(fit(t(f"rollback.did_{file.change}"), kinds), "muted"),
        Span(path, quiet),
    )
    return [Row(left, (Span(side, "muted"),) if side else (), key=f"{_FILE}{turn.turn_id}:{file.path}"), *below]
