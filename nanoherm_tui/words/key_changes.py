"""What a change of the keymap would mean, in the interface's language, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanoherm_tui.actions import ACTIONS, BY_ID, CONTEXTS, Action, Context
from nanoherm_tui.i18n import t, texts
from nanoherm_tui.keymap import Keymap, KeymapProblem, load_keymap, normalise, show
from nanoherm_tui.text import shorten_home, visible

if TYPE_CHECKING:
    from agent_core.config.load import Config

_KEPT: Final = {
    "ctrl+b": "tmux",
    "ctrl+a": "screen",
    "ctrl+s": "flow",
    "ctrl+q": "flow",
    "ctrl+h": "backspace",
    "f11": "window",
    "alt+tab": "desktop",
    "alt+f4": "desktop",
    "alt+space": "desktop",
}
"""Keys that something between the hand and the program takes, and what it is."""
_DESKTOP: Final = frozenset({"super", "hyper", "meta"})
_CTRL_SENDS: Final = frozenset({"at", "backslash", "right_square_bracket", "circumflex_accent", "underscore"})
"""Besides letters: what Ctrl has had a character for ever since."""
_WITH_CTRL: Final = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"}
    | {f"f{n}" for n in range(1, 13)}
)
"""Named keys that terminals send with modifiers."""


def can_change(action: Action) -> bool:
    """Whether the editor lists it: the composer knows some actions by their commands alone, and has no key for them."""
    return bool(action.keys) or action.context not in ("composer", "running")


def keys_of(keymap: Keymap, action: Action) -> str:
    """Its keys for people; "-" where it has none."""
    return "  ".join(show(key) for key in keymap.keys(action.id)) or "-"


def fitting(keymap: Keymap, query: str) -> list[Action]:
    """Those with all that is typed in their names in both languages, keys, command or place, place by place."""
    words = query.casefold().split()
    english = texts("en")

    def stands(action: Action) -> bool:
        names = f"{t(action.title)} {t(action.help)} {english[action.title]} {english[action.help]}"
        keys = " ".join([*keymap.keys(action.id), keys_of(keymap, action)])
        text = f"{action.id} {names} /{action.slash} {keys} {place(action.context)} {english[f'help.{action.context}']}"
        return all(word in text.casefold() for word in words)

    return [a for context in CONTEXTS for a in ACTIONS if a.context == context and can_change(a) and stands(a)]


def pressed(key: str) -> str | None:
    """The name of a key that came, as the keymap writes it; None for one that it has no name for."""
    return normalise(key.replace("+\r", "+enter"))


def place(context: Context) -> str:
    """Where the keys of a context work, as help calls it."""
    return t(f"help.{context}")


def entries(config: object) -> dict[str, Any]:
    """The config's `keymap`, nothing where it is no mapping."""
    return {str(name): value for name, value in config.items()} if isinstance(config, Mapping) else {}


def written(keys: Sequence[str]) -> str | list[str]:
    """Keys as the config has them: a single one by itself."""
    return keys[0] if len(keys) == 1 else list(keys)


def refusals(action_id: str, keys: Sequence[str] | None, config: object) -> tuple[str, ...]:
    """Why the action cannot have these keys beside what `config` says; None: its default ones. Empty: it can."""
    others = {name: value for name, value in entries(config).items() if name != action_id}
    wanted = others if keys is None else {**others, action_id: list(keys)}
    before = load_keymap(others if keys is not None else config)[1]
    return tuple(_words(problem, action_id) for problem in load_keymap(wanted)[1] if problem not in before)


def _words(problem: KeymapProblem, asked: str) -> str:
    """Why the action `asked` cannot have a key."""
    params = problem.params
    if problem.key == "keymap.taken":
        # A default key comes back to its own action, and it is the other one that would lose it.
        holder = BY_ID[params["holder"] if params["action"] == asked else params["action"]]
        return t("keys.taken", key=params["key"], holder=t(holder.title), place=place(holder.context))
    if problem.key == "keymap.way_out":
        return t("keys.way_out", action=t(BY_ID[params["action"]].title))
    known = normalise(params.get("key", ""))
    name = show(known) if known is not None else visible(params.get("key", ""))
    return t(f"keys.{problem.key.partition('.')[2]}", **{**params, "key": name})


def caution(key: str) -> str:
    """What may keep `key` from arriving, in words; "" where nothing is known to."""
    kind = _KEPT.get(key) or _may_be_missing(key)
    return t(f"keys.caution_{kind}", key=show(key)) if kind else ""


def _may_be_missing(key: str) -> str:
    *modifiers, base = key.split("+")
    if _DESKTOP & set(modifiers):
        return "desktop"
    if base[:1] == "f" and base[1:].isdigit() and int(base[1:]) > 12:
        return "rare"
    letter = len(base) == 1 and base.isalpha()
    if "ctrl" in modifiers and "shift" in modifiers and letter:
        return "shifted"
    if "ctrl" in modifiers and not (letter or base in _CTRL_SENDS | _WITH_CTRL):
        return "newer"
    if "shift" in modifiers and base in ("enter", "space", "backspace", "escape"):
        return "newer"
    return ""


def wrong_in(config: Config, home: str) -> tuple[str, ...]:
    """What is wrong with the config's `keymap`, with its lines. Reads the file: not on the screen's thread."""
    from agent_core.config.settings import lines_of

    wrong = load_keymap(config.get("keymap"))[1]
    file = config.sources["keymap"]
    lines = lines_of(Path(file)) if wrong and file.startswith("/") else {}
    return told(wrong, shorten_home(file, home), lines)


def told(problems: Iterable[KeymapProblem], file: str, lines: Mapping[str, int]) -> tuple[str, ...]:
    """What is wrong with the file's `keymap`, each with its place. `lines`: of the settings' names, from 1."""
    found = []
    for problem in problems:
        line = lines.get(f"keymap.{problem.params.get('action', '')}", lines.get("keymap", 0))
        words = t(problem.key, **{name: visible(value) for name, value in problem.params.items()})
        found.append(f"{visible(file)}:{line}: {words}" if line else words)
    return tuple(found)


def as_yaml(keymap: Keymap) -> str:
    """All keys that can be changed as a `keymap` for another config."""
    lines = ["keymap:"]
    for action in ACTIONS:
        if can_change(action) and not action.fixed:
            keys = ", ".join(f'"{key}"' for key in keymap.keys(action.id))
            lines.append(f"  {action.id}: [{keys}]")
    return "\n".join([*lines, ""])
