"""Rolling files back: the turns that changed some, then file by file what would happen, and only then it is done.

Nothing acts on the first Enter: the list of files has to have been on the screen, and the Enter that acts comes after a
moment without keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.diff_view import DiffView
from nanoherm_tui.overlays.frame import CssPath, boxed
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList
from nanoherm_tui.overlays.listed import ListScreen
from nanoherm_tui.strips import Painted, flow, hints, led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, cut_path, fit, one_line, visible, width
from nanoherm_tui.words.rollback import changed_words, files_words, turn_side, turn_words, why_words

if TYPE_CHECKING:
    from agent_core.messages import FileDiff
    from agent_core.rollback import Checkpoint, PlannedFile, RollbackPlan

_TICK: Final = 0.1  # seconds between two looks at whether Enter would count
_NAMED: Final = 4  # files of a turn that are named below the list

Level = Literal["turns", "files", "diff"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be rolled back. No `paths`: all that the plan would act on."""

    turn_id: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn that changed files."""

    checkpoint: Checkpoint
    now: float

    @property
    def side(self) -> str:
        return turn_side(self.checkpoint, self.now)


@dataclass(frozen=True, slots=True)
class FileLine:
    """A file of a plan; `out`: it is left out."""

    file: PlannedFile
    out: bool

    @property
    def acts(self) -> bool:
        return self.file.does != "leave" and not self.out


Line = TurnLine | FileLine


class RollbackList(FollowedList[str, Line]):
    DEFAULT_CSS = "RollbackList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None]) -> None:
        super().__init__("rollback-list", moved)

    @property
    def files(self) -> list[FileLine]:
        return [line for _, line in self._rows if isinstance(line, FileLine)]

    def draw_row(self, line: Line, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        left = led(look, here, words)
        if isinstance(line, TurnLine):
            quiet = muted if line.checkpoint.undone else words
            left.append((turn_words(line.checkpoint), quiet))
            return row(cells, left, words, [(line.side, muted)])
        mark = (sym("done"), look.mark("ok", ground)) if line.acts else (sym("waiting") if line.out else " ", muted)
        verb = fit(t(f"rollback.does_{line.file.does}"), _verb_cells() + 2)
        side = _side(line)
        room = cells - 4 - width(verb) - 1
        if width(side) + 2 > room // 2:
            side = cut(side, room // 2)
        room -= width(side) + 2 if side else 0
        left += [mark, (" ", words), (verb, muted)]
        left.append((cut_path(one_line(visible(line.file.path)), max(room, 1)), words if line.acts else muted))
        return row(cells, left, words, [(side, muted)] if side else [], gap=1)


def _verb_cells() -> int:
    return max(width(t(f"rollback.does_{does}")) for does in ("restore", "remove", "recreate", "leave"))


def _side(line: FileLine) -> str:
    if line.file.why and (line.file.does == "leave" or line.out == line.file.only_named):
        return why_words(line.file.why)
    return t("rollback.left_out") if line.out else t("rollback.by_command") if line.file.by == "command" else ""


class _Title(Painted):
    title = ""
    remark = ""

    def say(self, title: str, remark: str) -> None:
        if (title, remark) != (self.title, self.remark):
            self.title, self.remark = title, remark
            self.refresh(layout=True)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        return [
            row(width, [(self.title, look.style("text", "surface", bold=True))], fill),
            row(width, [(self.remark, look.style("muted", "surface"))], fill),
        ]


class _Foot(Painted):
    keys: tuple[tuple[str, str], ...] = ()
    sure = False
    """The first of `keys` acts: it stands out."""
    armed = False

    def say(self, keys: tuple[tuple[str, str], ...], sure: bool, armed: bool) -> None:
        if (keys, sure, armed) != (self.keys, self.sure, self.armed):
            self.keys, self.sure, self.armed = keys, sure, armed
            self.refresh(layout=True)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        items = hints(look, self.keys)
        if self.sure and items:
            letter = look.style("accent" if self.armed else "muted", "surface", bold=self.armed)
            items[0] = [(items[0][0][0], letter), (items[0][1][0], look.style("warn", "surface"))]
        return flow(width, items, look.style("text", "surface"), indent=2)


class RollbackScreen(ListScreen[Chosen | None]):
    """Gives what is to be rolled back; of `redo` the plan alone is shown, as a whole.

    `ask_plan` and `ask_diff` are called for what has to be read, and `show_plan` and `show_diff` bring it.
    """

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/rollback.tcss"]
    AUTO_FOCUS: ClassVar[str | None] = ""  # the diff has the keyboard while it is shown, else the screen
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("enter", "enter", show=False),
        Binding("space", "leave_out", show=False),
        Binding("a", "leave_all_out", show=False),
        Binding("d", "diff", show=False),
        Binding("q", "close", show=False),
    ]
    _list: RollbackList
    _foot: _Foot

    def __init__(
        self, checkpoints: Sequence[Checkpoint] = (), plan: RollbackPlan | None = None, *, redo: bool = False
    ) -> None:
        """With a `plan` that is shown first, and Esc closes it."""
        super().__init__()
        self.ask_plan: Callable[[str], None] = lambda turn_id: None
        self.ask_diff: Callable[[str, str], None] = lambda turn_id, path: None
        self._checkpoints = checkpoints
        self._plan = plan
        self._begins_with_plan = plan is not None
        self._redo = redo
        self._level: Level = "turns" if plan is None else "files"
        self._turn_at = 0
        self._asked = ""  # the turn whose plan, or the file whose diff is on its way
        self._sure = redo  # the next Enter acts
        self._arming = Arming()
        self._title = _Title(id="rollback-title")
        self._list = RollbackList(self._follow)
        self._diff = DiffView("rollback-diff")
        self._diff.display = False
        self._detail = Detail(id="rollback-detail")
        self._foot = _Foot(id="rollback-foot")

    def compose(self) -> ComposeResult:
        yield boxed(self._title, self._list, self._diff, self._detail, self._foot)

    def on_mount(self) -> None:
        self._arming.asked()
        self.set_interval(_TICK, self._follow_foot)

    # -- what is shown ------------------------------------------------------------------------------------------

    def show_plan(self, plan: RollbackPlan) -> None:
        """What was asked for by `ask_plan` is there."""
        if self._asked == plan.turn_id and self._level == "turns":
            self._asked, self._plan, self._level = "", plan, "files"
            self._show_level()

    def show_diff(self, path: str, diff: FileDiff | None, problem: str = "") -> None:
        """What was asked for by `ask_diff` is there, or why it is not."""
        if self._asked == path and self._level == "files":
            self._asked, self._level = "", "diff"
            self._diff.show(diff, problem)
            self._show_level()

    def failed(self, problem: str) -> None:
        """The plan that was asked for cannot be made."""
        self._asked = ""
        self._follow()
        self._detail.say((problem,))

    def _show(self) -> None:
        self._show_level(self._list.at)

    def _show_level(self, at: int = 0) -> None:
        in_diff = self._level == "diff"
        self._list.display, self._detail.display, self._diff.display = not in_diff, not in_diff, in_diff
        if in_diff:
            self._diff.focus()
        elif self._level == "turns":
            now = time.time()
            self._list.put_at([TurnLine(checkpoint, now) for checkpoint in self._checkpoints], at)
        elif self._plan is not None:
            kept = {line.file.path: line for line in self._list.files}
            self._list.put_at([kept.get(file.path, FileLine(file, file.only_named)) for file in self._plan.files], at)
        self._follow()

    def _follow(self) -> None:
        """Another row is under the cursor, or is something else now."""
        line = self._list.row
        if self._level == "turns":
            self._title.say(t("rollback.title"), t("rollback.looking" if self._asked else "rollback.promise"))
        elif self._level == "files":
            acts = sum(line.acts for line in self._list.files)
            left = len(self._list.files) - acts
            change = t("rollback.none_change") if not acts else t("rollback.change", files=files_words(acts))
            if left and acts:
                change = t("rollback.and_so", first=change, second=t("rollback.stay", files=files_words(left)))
            title = t("rollback.redo_title") if self._redo else t("rollback.before", text=self._turn_text())
            self._title.say(title, change)
        elif isinstance(line, FileLine):
            self._title.say(t("rollback.diff_means"), _by(line.file))
        if isinstance(line, TurnLine):
            self._detail.say(_of_turn(line.checkpoint))
        elif line is not None:
            self._detail.say(_of_file(line, self._redo))
        self._follow_foot()

    def _turn_text(self) -> str:
        turn = self._plan.turn_id if self._plan is not None else ""
        text = next((one.text for one in self._checkpoints if one.turn_id == turn), "")
        return one_line(text) or t("rollback.no_text")

    def _follow_foot(self) -> None:
        self._foot.say(tuple(self._keys()), self._sure and self._level == "files", self._armed)

    @property
    def _armed(self) -> bool:
        return self._arming.armed(draft_empty=True)

    def _keys(self) -> list[tuple[str, str]]:
        back = (key("escape"), t("rollback.back"))
        close = (key("escape"), t("rollback.close"))
        if self._level == "diff":
            return [back]
        if self._level == "turns":
            return [("Enter", t("rollback.show_plan")), close]
        keys: list[tuple[str, str]] = []
        acts = sum(line.acts for line in self._list.files)
        if acts and self._sure:
            keys.append(("Enter", t("rollback.act" if self._redo else "rollback.act_again", files=files_words(acts))))
        elif acts:
            keys.append(("Enter", t("rollback.roll_back")))
        line = self._list.row
        if isinstance(line, FileLine) and line.file.does != "leave" and not self._redo:
            keys.append(("Space", t("rollback.take" if line.out else "rollback.leave_out")))
            keys.append(("a", t("rollback.leave_all_out" if acts else "rollback.take_all")))
        if isinstance(line, FileLine) and not self._redo:
            keys.append(("d", t("rollback.diff")))
        return [*keys, close if self._begins_with_plan else back]

    # -- keys ---------------------------------------------------------------------------------------------------

    def _touched(self) -> None:
        """Something else than the Enter that acts: that is asked for anew."""
        self._arming.key()
        self._sure = self._redo
        self._follow_foot()

    def action_move(self, step: int) -> None:
        self._touched()
        if self._level != "diff":
            self._list.move(step)

    def action_enter(self) -> None:
        armed = self._armed
        self._arming.key()
        line = self._list.row
        if self._level == "diff":
            self.action_close()
        elif isinstance(line, TurnLine):
            if self._asked != line.checkpoint.turn_id:  # of thousands of files a plan takes its time
                self._asked = line.checkpoint.turn_id
                self._turn_at = self._list.at
                self.ask_plan(self._asked)
                self._follow()
        elif self._plan is not None and any(line.acts for line in self._list.files):
            if self._sure and armed:
                as_planned = all(line.out == line.file.only_named for line in self._list.files)
                paths = tuple(line.file.path for line in self._list.files if line.acts)
                self.dismiss(Chosen(self._plan.turn_id, () if as_planned else paths))
                return
            self._sure = True
        self._follow_foot()

    def action_leave_out(self) -> None:
        self._touched()
        line = self._list.row
        if self._level != "files" or not isinstance(line, FileLine) or line.file.does == "leave" or self._redo:
            return
        self._put([FileLine(other.file, not other.out) if other is line else other for other in self._list.files])

    def action_leave_all_out(self) -> None:
        """Leave all out, or take all when none is taken."""
        self._touched()
        if self._level == "files" and not self._redo:
            out = any(line.acts for line in self._list.files)
            self._put([FileLine(line.file, out) for line in self._list.files])

    def _put(self, lines: list[FileLine]) -> None:
        """Other lines in the same places."""
        at = self._list.at
        self._list.put(lines, "")
        self._list.at = at
        self._follow()

    def action_diff(self) -> None:
        self._touched()
        line = self._list.row
        if self._level == "files" and isinstance(line, FileLine) and self._plan is not None and not self._redo:
            self._asked = line.file.path
            self.ask_diff(self._plan.turn_id, line.file.path)

    def action_close(self) -> None:
        self._touched()
        if self._level == "diff":
            self._level = "files"
            self.set_focus(None)
            self._show_level(self._list.at)
        elif self._level == "files" and not self._begins_with_plan:
            self._level, self._plan = "turns", None
            self._show_level(self._turn_at)
        else:
            self.dismiss(None)


def _of_turn(checkpoint: Checkpoint) -> tuple[str, ...]:
    """The turn's words, then its first files with what was done to each."""
    named = [changed_words(file) for file in checkpoint.files[:_NAMED]]
    if (more := len(checkpoint.files) - _NAMED) > 0:
        named.append(t("rollback.more", n=more))
    return (one_line(checkpoint.text), "   ".join(named))


def _of_file(line: FileLine, redo: bool) -> tuple[str, ...]:
    file = line.file
    means = "again" if redo and file.does != "leave" else "means"
    does = t("rollback.stays") if line.out else t(f"rollback.{means}_{file.does}")
    if file.why:
        does = t("rollback.and_so", first=does, second=why_words(file.why))
    return (visible(file.path), does if redo else f"{does}   {_by(file)}")


def _by(file: PlannedFile) -> str:
    return t("rollback.was_by_command" if file.by == "command" else "rollback.was_by_tool")
