"""What Textual would keep of widgets that are closed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from textual._styles_cache import StylesCache
from textual.color import Color as TextualColor
from textual.style import Style as TextualStyle
from textual.widget import Widget

from nanoherm_tui import limits

if TYPE_CHECKING:
    from textual.app import App


def forget_closed(app: App[Any]) -> None:
    """Let go of widgets that watched the app, its theme say, and are closed.

    Textual does so only when what they watched changes: until then each overlay that was ever open is kept, with all
    that it has drawn.
    """
    watchers: dict[str, list[tuple[Widget, object]]] = getattr(app, "__watchers", {})
    for watching in watchers.values():
        watching[:] = [one for one in watching if not one[0]._closing]


def share_grounds() -> None:
    """Keep the two grounds of a widget by their colours alone.

    Textual keeps the last 1,024 by the widget too: so many that are closed are never let go of, with all their rows.
    """
    ground = getattr(StylesCache.get_inner_outer, "__wrapped__", None)
    if ground is None:  # done already
        return

    @lru_cache(maxsize=limits.GROUNDS)
    def of_colours(base: TextualColor, background: TextualColor) -> tuple[TextualStyle, TextualStyle]:
        styles: tuple[TextualStyle, TextualStyle] = ground(StylesCache, base, background)
        return styles

    def of_widget(self: StylesCache, base: TextualColor, background: TextualColor) -> tuple[TextualStyle, TextualStyle]:
        return of_colours(base, background)

    setattr(StylesCache, "get_inner_outer", of_widget)  # noqa: B010
