"""What is to be learnt of the program, as lines: its keys and the tour. Each is a function of the face."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from nanoherm_tui.actions import ACTIONS
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.plain.words import head, pair
from nanoherm_tui.words.key_changes import can_change, fitting, keys_of, place, wrong_in

if TYPE_CHECKING:
    from nanoherm_tui.plain.face import Face

_TOUR: Final = ("write", "modes", "asks", "sessions", "work", "find")
"""`plain.tour_NAME` is what each says; the screen's cards tell of panes and keys that are not here."""
_LINE: Final = ("enter", "goes_on", "history", "stop", "leave", "suspend")
"""`plain.keys_NAME` are the keys of the line itself; without readline there is no history in it."""
ALL: Final = "all"


def tour(face: Face, argument: str) -> None:
    face.say(*(t(f"plain.tour_{name}") for name in _TOUR))


def keys(face: Face, words: str) -> None:
    """The keys of the line; with words, or "all", those of the full screen that they fit."""
    if words:
        _keys_of_the_screen(face, "" if words == ALL else words)
        return
    vi = face.host.config.get("display.composer_keys") == "vim"
    face.say(*(t(f"plain.keys_{name}") for name in _LINE if face.source.edits or name != "history"))
    face.say(*([t("plain.keys_vi")] if vi and face.source.edits else []))
    face.say(t("plain.keys_of_the_screen", n=sum(map(can_change, ACTIONS))))


def _keys_of_the_screen(face: Face, words: str) -> None:
    keymap, _ = load_keymap(face.host.config.get("keymap"))
    found = fitting(keymap, words)
    for context, actions in groupby(found, key=lambda action: action.context):
        face.say(head(place(context)))
        face.say(*(f"  {pair(t(action.title), keys_of(keymap, action))} ({action.id})" for action in actions))
    face.say(*([t("plain.keys_change")] if found else [t("keys.none")]))
    face.say(*(t("plain.warning", text=one) for one in wrong_in(face.host.config, face.home)))
