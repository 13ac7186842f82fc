"""What an app begins with, shows and says at its end, where Textual has no word for it."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text
from textual import _wrap
from textual.filter import LineFilter, Monochrome, NoColor

from nanoherm_tui.text import unbroken
from nanoherm_tui.theming.themes import no_colours

if TYPE_CHECKING:
    from textual.app import App


def begin_with_theme(app: App[Any], name: str) -> None:
    """Have an app that does not run yet use a theme from its first style on; set later, all styles are read twice."""
    app.set_reactive(type(app).theme, name)
    dark = app.current_theme.dark
    app.update_classes({f"-theme-{name}": True, "-dark-mode": dark, "-light-mode": not dark}, update=False)
    app._refresh_truecolor_filter(app.ansi_theme)
    app.stylesheet.set_variables(app.get_css_variables())


_NO_COLOUR = NoColor()


class NoGreys:
    """Mixed into an App: with NO_COLOR everything is in the terminal's own two colours, not in greys of ours."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = cast("App[Any]", super()).get_line_filters()
        kept = [each for each in filters if not isinstance(each, (Monochrome, NoColor))]
        return [*kept, _NO_COLOUR] if no_colours() else kept


class QuietCrash(NoGreys):
    """Mixed into an App: an exception that escapes a handler ends it with `crash_words`, in plain text.

    Textual's own report prints the local variables of every frame, and with them whatever a user or a server said.
    """

    @abstractmethod
    def crash_words(self, error: BaseException) -> str:
        """What to say about `error` once the terminal is whole again."""

    def end_with(self, error: Exception) -> None:
        """End the app as if `error` had escaped one of its own handlers; to be called where it is handled."""
        cast("App[Any]", self)._handle_exception(error)

    def _fatal_error(self) -> None:
        error = sys.exc_info()[1] or RuntimeError("unknown")
        cast("App[Any]", self).panic(Text(self.crash_words(error)))

    def _print_error_renderables(self) -> None:
        # The first is the cause; Textual would add advice for those who develop with it.
        del cast("App[Any]", self)._exit_renderables[1:]
        cast("App[Any]", super())._print_error_renderables()


def write_terminal(app: App[Any], data: str) -> None:
    """Write `data` to the terminal between two frames."""
    driver = app._driver
    if driver is not None:
        driver.write(data)


def keep_clipboard(app: App[Any], text: str) -> None:
    """Have the fields of Textual paste `text`; what it is copied by is the app's."""
    app._clipboard = text


def break_as_prose() -> None:
    """Have text areas break their rows where all other prose is broken: around wide characters, not at blanks alone.

    To Textual a sentence in Chinese is one word, which goes to the next row as a whole.
    """
    _wrap.chunks = unbroken
