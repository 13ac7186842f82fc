"""A stylesheet that does not parse twice what has not changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    from textual.app import App


class KeptRules(Stylesheet):
    """Each overlay that brings rules of its own makes Textual parse those of all widgets again, in a new stylesheet.

    That takes longer than all else its opening needs of styles. The rules of a source are kept until a variable
    changes, and `parse` leaves the old ones in place when it fails: no new stylesheet is needed.
    """

    def reparse(self) -> None:
        self.parse()


def keep_rules(app: App[Any]) -> None:
    """To be called before the app has read any rules."""
    app.stylesheet = KeptRules(variables=app.stylesheet._variables)
