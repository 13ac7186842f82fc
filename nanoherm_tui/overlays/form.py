"""What an MCP server wants to know, to be filled in: one field below the other, sent as a whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui.form_values import Values, changed, first_values, missing, written
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList, Heading
from nanoherm_tui.overlays.listed import KeysFoot, ListScreen
from nanoherm_tui.overlays.name import NameScreen
from nanoherm_tui.strips import led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, cut, one_line, visible

if TYPE_CHECKING:
    from agent_core.servers import FormField
    from nanoherm_tui.overlays.frame import CssPath


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field, or one of the choices of a field."""

    field: FormField
    words: str
    value: str = ""
    """As it is shown."""
    choice: str | None = None
    chosen: bool = False


def rows_of(fields: Sequence[FormField], values: Mapping[str, Any]) -> list[FieldRow]:
    out = []
    for field in fields:
        value = values.get(field.name)
        words = visible(field.title or field.name) + (" *" if field.required else "")
        if field.kind == "flag":
            shown = t("form.is_on") if value else t("form.is_off")
        elif field.kind in ("choice", "choices"):
            shown = ""
        else:
            shown = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        out.append(FieldRow(field, words, visible(shown)))
        if field.kind in ("choice", "choices"):
            picked = (value,) if field.kind == "choice" else tuple(value or ())
            out += [FieldRow(field, visible(title or one), "", one, one in picked) for one, title in field.choices]
    return out


class FormList(FollowedList[str, FieldRow]):
    DEFAULT_CSS = "FormList { height: 1fr; }"

    def draw_row(self, line: FieldRow, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        left = led(look, here, words)
        if line.choice is not None:
            mark = (f"{sym('done')} ", look.mark("ok", ground)) if line.chosen else ("  ", words)
            left += [("  ", words), mark, (one_line(line.words), words)]
            return row(cells, left, words)
        left.append((one_line(line.words), muted))
        side = cut(one_line(line.value), cells // 2)
        return row(cells, left, words, [(side, words)] if side else [])


class _ValueScreen(NameScreen):
    """Gives what was written, "" too; None when the field is left as it was."""

    def action_keep(self) -> None:
        self.dismiss(self.written.strip())


class FormScreen(ListScreen[Values | None]):
    """Gives the values by the names of the fields; None when it was declined."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/form.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("enter,space", "change", show=False),
        Binding("s,ctrl+s", "send", show=False),
    ]
    _list: FormList
    _foot: KeysFoot

    def __init__(self, server: str, message: str, fields: Sequence[FormField]) -> None:
        super().__init__()
        self._server, self._message, self._fields = server, message, fields
        self._values = first_values(fields)
        self._wrong = ""
        """What has to be mended before it can be sent."""
        self._list = FormList("form-list", self._follow)
        self._detail = Detail(id="form-detail")
        self._foot = KeysFoot(id="form-foot")

    def _show(self) -> None:
        heading = Heading(t("form.of", server=visible(self._server)))
        self._list.put_at([heading, *rows_of(self._fields, self._values)], self._list.at)

    def _follow(self) -> None:
        line = self._list.row
        about = clean(line.field.description) if line is not None else ""
        self._detail.say(tuple(filter(None, (about, clean(self._message)))))
        fills = line is not None and line.choice is None and line.field.kind in ("text", "number", "whole")
        keys = [(key("enter"), t("form.fill_in" if fills else "form.choose")), ("s", t("form.send"))]
        self._foot.say((*keys, ("Esc", t("form.decline"))), self._wrong, wrong=True)

    def _tell(self, wrong: str) -> None:
        """Say what is wrong; "": nothing is any more."""
        self._wrong = wrong
        self._follow()

    def action_move(self, step: int) -> None:
        self._wrong = ""
        super().action_move(step)

    def action_change(self) -> None:
        line = self._list.row
        if line is None:
            return
        field = line.field
        if field.kind in ("flag", "choice", "choices"):
            self._values = changed(field, self._values, line.choice)
            self._show()
            return
        value = self._values.get(field.name)
        given = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

        def come(text: str | None) -> None:
            if text is None:
                return
            try:
                self._values = written(field, self._values, text)
            except ValueError:
                self._tell(t("form.no_number", field=visible(field.title or field.name)))
            else:
                self._tell("")
            self._show()

        self.app.push_screen(_ValueScreen(visible(field.title or field.name), given, t("form.keep")), come)

    def action_send(self) -> None:
        empty = missing(self._fields, self._values)
        if empty is not None:
            self._tell(t("form.missing", field=visible(empty.title or empty.name)))
            return
        self.dismiss({name: list(v) if isinstance(v, tuple) else v for name, v in self._values.items()})
