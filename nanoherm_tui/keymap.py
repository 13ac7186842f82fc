"""Which key does what: the table's defaults, changed by the config's `keymap`.

keymap:
  new: ctrl+shift+n
  newline: [ctrl+j, alt+enter]
  redraw: []            # no key
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from agent_core.records import dataclass
from nanoherm_tui.actions import ACTIONS, BY_ID, PANES, Action, Context

_MODIFIERS: Final = ("alt", "ctrl", "hyper", "meta", "shift", "super")  # the order Textual writes them in
_OTHER_MODIFIERS: Final = {"control": "ctrl", "c": "ctrl", "option": "alt", "opt": "alt", "m": "alt", "s": "shift"}
_OTHER_NAMES: Final = {
    "return": "enter",
    "esc": "escape",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "del": "delete",
    "ins": "insert",
    "bs": "backspace",
    "plus": "plus",
    "minus": "minus",
}
_NAMED: Final = frozenset(
    {"enter", "tab", "escape", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"}
    | {"up", "down", "left", "right"}
    | {f"f{n}" for n in range(1, 25)}
)
# What a terminal sends for these is another key.
_SAME_AS: Final = {"ctrl+m": "enter", "ctrl+i": "tab", "ctrl+left_square_bracket": "escape"}
_APPROVES: Final = ("allow_once", "allow_session", "run_edited")
_LEAVES: Final = ("interrupt", "quit")
"""One of them has a key, whatever the config says: nothing else leads out where no command can be sent either."""
_WRITTEN_IN: Final[frozenset[Context]] = frozenset({"everywhere", "composer", "running"})
"""Where a key that writes something, alone or with Shift, would be missing from messages."""
_WRITES: Final = frozenset({"space", "backspace"})
_SHOWN: Final = {
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "escape": "Esc",
    "delete": "Del",
    "insert": "Ins",
}


def normalise(name: str) -> str | None:
    """A key as Textual names it: "Ctrl-J" → "ctrl+j", "?" → "question_mark"; None for what is no key."""
    text = name.strip()
    if not text:
        return None
    # "ctrl++" and "ctrl+-" end in the key itself.
    if text[-1] in "+-":
        head, base_key = text[:-1], text[-1]
        if head and head[-1] not in "+-":
            return None
        parts = [*(p for p in re.split(r"[+-]", head[:-1]) if head), base_key]
    else:
        parts = re.split(r"[+-]", text)
    *given, base = parts
    modifiers = set()
    for word in given:
        modifier = _OTHER_MODIFIERS.get(word.lower(), word.lower())
        if modifier not in _MODIFIERS:
            return None
        modifiers.add(modifier)
    key = _base(base, bool(modifiers))
    if key is None:
        return None
    if len(key) == 1 and key.isupper() and modifiers:
        key = key.lower()
    return "+".join([*(m for m in _MODIFIERS if m in modifiers), key])


def _base(base: str, modified: bool) -> str | None:
    lower = base.lower()
    lower = _OTHER_NAMES.get(lower, lower)
    if lower in _NAMED:
        return lower
    if len(base) == 1 and base.isprintable() and base != " ":
        return (base.lower() if modified else base) if base.isalnum() else _character_name(base)
    # "question_mark", as Textual itself writes it
    if re.fullmatch(r"[a-z_]+", lower):
        try:
            unicodedata.lookup(_UNICODE_NAMES.get(lower, lower.replace("_", " ")))
        except KeyError:
            return None
        return lower
    return None


_UNICODE_NAMES: Final = {
    "minus": "hyphen-minus",
    "plus": "plus sign",
    "slash": "solidus",
    "backslash": "reverse solidus",
    "underscore": "low line",
    "at": "commercial at",
}
_SHORT_NAMES: Final = {long.replace("-", "_").replace(" ", "_"): short for short, long in _UNICODE_NAMES.items()}


def _character_name(character: str) -> str:
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _SHORT_NAMES.get(name, name) or character


def show(key: str) -> str:
    """A key for people: "ctrl+underscore" → "Ctrl+_"."""
    *modifiers, base = key.split("+")
    if base in _SHOWN:
        shown = _SHOWN[base]
    elif base in _NAMED:
        shown = base.capitalize()
    elif len(base) > 1:
        try:
            shown = unicodedata.lookup(_UNICODE_NAMES.get(base, base.replace("_", " ")))
        except KeyError:
            shown = base
    else:
        shown = base.upper() if modifiers else base
    return "+".join([*(m.capitalize() for m in modifiers), shown])


@dataclass(frozen=True, slots=True)
class KeymapProblem:
    """An entry of the config's `keymap` that was left out: `key` and `params` are for `i18n.t`."""

    key: str
    params: dict[str, str]


class Keymap:
    """The keys of every action."""

    def __init__(self, keys: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._keys = {action.id: action.keys for action in ACTIONS} | dict(keys or {})
        self._found: dict[tuple[str, Context], Action] = {}
        for action in ACTIONS:
            for key in self._keys[action.id]:
                self._found.setdefault((key, action.context), action)

    def become(self, other: Keymap) -> None:
        """Have the keys of `other` from now on: whoever holds this one hears of it with the next key."""
        self._keys, self._found = other._keys, other._found

    def keys(self, action_id: str) -> tuple[str, ...]:
        """The action's keys, the first is the one to show. Raises KeyError for an unknown action."""
        return self._keys[action_id]

    def action(self, key: str, context: Context) -> str:
        """The id of the action `key` has in `context`; "" when it has none there."""
        found = self._found.get((key, context))
        if found is None and context in PANES:
            found = self._found.get((key, "pane"))
        return found.id if found else ""

    def label(self, action_id: str) -> str:
        """The action's first key for people; "" when it has none."""
        keys = self._keys[action_id]
        return show(keys[0]) if keys else ""


def load_keymap(config: object) -> tuple[Keymap, list[KeymapProblem]]:
    """Lay the config's `keymap` over the defaults.

    An entry that cannot be followed changes nothing and is reported: an unknown action or key, a pane's own key, a key
    that another action holds where both would hear it, Enter for an approval, a letter where messages are written, and
    the later of two that leave no key to quit with.
    """
    problems: list[KeymapProblem] = []
    if config is None:
        return Keymap(), problems
    if not isinstance(config, Mapping):
        return Keymap(), [KeymapProblem("keymap.shape", {})]

    wanted: dict[str, tuple[str, ...]] = {}
    for name, value in config.items():
        action = BY_ID.get(str(name))
        if action is None:
            problems.append(_unknown_action(str(name)))
        elif action.fixed:
            problems.append(KeymapProblem("keymap.fixed", {"action": action.id}))
        else:
            keys, wrong = _read_keys(action, value)
            problems += wrong
            if keys is not None:
                wanted[action.id] = keys
    if all(wanted.get(name) == () for name in _LEAVES):
        last = [name for name in wanted if name in _LEAVES][-1]
        del wanted[last]
        problems.append(KeymapProblem("keymap.way_out", {"action": last}))

    result = {action.id: wanted.get(action.id, action.keys) for action in ACTIONS}
    for action_id, keys in wanted.items():
        kept = []
        for key in keys:
            holder = _holder(BY_ID[action_id], key, result, wanted)
            if holder is None:
                kept.append(key)
            else:
                problems.append(
                    KeymapProblem("keymap.taken", {"action": action_id, "key": show(key), "holder": holder})
                )
        # Everything asked for is taken: the default is better than no key at all.
        result[action_id] = tuple(kept) or (() if not keys else BY_ID[action_id].keys)
    return Keymap(result), problems


def _unknown_action(name: str) -> KeymapProblem:
    close = get_close_matches(name, list(BY_ID), n=1, cutoff=0.5)
    if close:
        return KeymapProblem("keymap.unknown_nearest", {"action": name, "nearest": close[0]})
    return KeymapProblem("keymap.unknown", {"action": name})


def _read_keys(action: Action, value: object) -> tuple[tuple[str, ...] | None, list[KeymapProblem]]:
    """The keys an entry asks for; None when nothing in it can be used."""
    names = [value] if isinstance(value, str) else value
    if names is None:
        names = []
    if not isinstance(names, list) or not all(isinstance(n, (str, int)) for n in names):
        return None, [KeymapProblem("keymap.shape", {"action": action.id})]
    keys: list[str] = []
    problems: list[KeymapProblem] = []
    for name in names:
        key = normalise(str(name))
        params = {"action": action.id, "key": str(name)}
        if key is None:
            problems.append(KeymapProblem("keymap.no_key", params))
        elif key in _SAME_AS:
            problems.append(KeymapProblem("keymap.same", {**params, "same": show(_SAME_AS[key])}))
        elif action.id in _APPROVES and key.split("+")[-1] == "enter":
            problems.append(KeymapProblem("keymap.enter", params))
        elif action.context in _WRITTEN_IN and key not in action.keys and _writes(key):
            problems.append(KeymapProblem("keymap.writes", params))
        elif key not in keys:
            keys.append(key)
    return (tuple(keys) if keys or not names else None), problems


def _writes(key: str) -> bool:
    """Whether a key writes something, or takes it out again."""
    *modifiers, base = key.split("+")
    named = base in _NAMED and base not in _WRITES
    return not named and set(modifiers) <= {"shift"}


def _holder(
    action: Action, key: str, result: Mapping[str, tuple[str, ...]], wanted: Mapping[str, tuple[str, ...]]
) -> str | None:
    """Who else would hear `key` where `action` does. Of two entries of the config the earlier one holds it."""
    order = list(wanted)
    for other in ACTIONS:
        if other.id == action.id or key not in result[other.id] or not _overlap(action.context, other.context):
            continue
        if key in action.keys and key in other.keys:  # so by default: Enter sends, and steers while a turn runs
            continue
        if other.id in wanted and order.index(other.id) > order.index(action.id):
            continue
        return other.id
    return None


def _overlap(a: Context, b: Context) -> bool:
    if a == b or "everywhere" in (a, b) or {a, b} == {"composer", "running"}:
        return True
    return (a == "pane" and b in PANES) or (b == "pane" and a in PANES)
