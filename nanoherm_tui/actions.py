"""What can be done, once: this table feeds key bindings, the palette, slash commands and help.

No Textual here; line-by-line mode reads slash commands from it too. Titles and helps are keys of the interface's words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

Context = Literal["everywhere", "composer", "running", "approval", "transcript", "sessions", "dock"]
CONTEXTS: Final[tuple[Context, ...]] = (
    "composer",
    "running",
    "approval",
    "everywhere",
    "transcript",
    "sessions",
    "dock",
)


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a user can do."""

    id: str
    """What the config's `keymap` calls it."""
    title: str
    """Key of its name, a few words: "New session"."""
    help: str = ""
    """Key of a remark for palette and help; empty when the title says it all."""
    context: Context = "everywhere"
    """Where its keys work."""
    keys: tuple[str, ...] = ()
    """Default keys, as Textual names them."""
    slash: str = ""
    """The slash command's name, without the slash."""
    aliases: tuple[str, ...] = ()
    argument: str = ""
    """How the argument is written: "[n]" may be left out, "<title>" may not; empty: takes none."""
    palette: bool = False
    run: str = ""
    """The name the app resolves (`action_<run>`); empty when the pane itself does it."""
    fixed: bool = False
    """The key belongs to the pane and cannot be changed."""

    @property
    def argument_required(self) -> bool:
        return self.argument.startswith("<")


ACTIONS: Final[tuple[Action, ...]] = (
    # -- everywhere --------------------------------------------------------------------------------------------------
    Action("palette", "actions.palette", "actions.palette_help", keys=("ctrl+p",), run="palette"),
    Action("next_mode", "actions.next_mode", keys=("shift+tab",), palette=True, run="next_mode"),
    Action("help", "actions.help", keys=("f1",), slash="help", palette=True, run="help"),
    Action("toggle_sessions", "actions.toggle_sessions", keys=("f2",), palette=True, run="toggle_sessions"),
    Action("toggle_dock", "actions.toggle_dock", keys=("f3",), palette=True, run="toggle_dock"),
    Action("next_pane", "actions.next_pane", "actions.next_pane_help", keys=("f6",), palette=True, run="next_pane"),
    Action("focus_sessions", "actions.focus_sessions", keys=("alt+1",), run="focus_pane('sessions')"),
    Action("focus_transcript", "actions.focus_transcript", keys=("alt+2",), run="focus_pane('transcript')"),
    Action("focus_composer", "actions.focus_composer", keys=("alt+3",), run="focus_pane('composer')"),
    Action("focus_dock", "actions.focus_dock", keys=("alt+4",), run="focus_pane('dock')"),
    Action("new", "actions.new", "actions.new_help", keys=("ctrl+n",), slash="new", palette=True, run="new_session"),
    Action("details", "actions.details", keys=("ctrl+o",), palette=True, run="details"),
    Action("show_plan", "actions.show_plan", keys=("ctrl+t",), palette=True, run="show_plan"),
    Action("redraw", "actions.redraw", keys=("ctrl+l",), palette=True, run="redraw"),
    Action("suspend", "actions.suspend", "actions.suspend_help", keys=("ctrl+z",), palette=True, run="suspend"),
    Action(
        "interrupt",
        "actions.interrupt",
        "actions.interrupt_help",
        keys=("ctrl+c",),
        run="interrupt",
    ),
    Action(
        "quit",
        "actions.quit",
        keys=("ctrl+d",),
        slash="exit",
        aliases=("quit",),
        palette=True,
        run="leave",
    ),
    Action("clear", "actions.clear", "actions.clear_help", slash="clear", palette=True, run="clear_session"),
    Action(
        "sessions",
        "actions.sessions",
        "actions.sessions_help",
        slash="resume",
        aliases=("sessions", "continue"),
        argument="[title]",
        palette=True,
        run="open_session",
    ),
    Action(
        "mode", "actions.mode", "actions.mode_help", slash="mode", argument="[mode]", palette=True, run="choose_mode"
    ),
    Action("plan_mode", "actions.plan_mode", "actions.plan_mode_help", slash="plan", run="plan_mode"),
    Action(
        "model",
        "actions.model",
        "actions.model_help",
        slash="model",
        aliases=("models",),
        argument="[model]",
        palette=True,
        run="choose_model",
    ),
    Action("theme", "actions.theme", slash="theme", argument="[theme]", palette=True, run="choose_theme"),
    Action("language", "actions.language", slash="language", argument="[en|zh|auto]", palette=True, run="language"),
    Action("setup", "actions.setup", "actions.setup_help", slash="setup", palette=True, run="setup"),
    Action("undo", "actions.undo", "actions.undo_help", slash="undo", argument="[n]", palette=True, run="undo_turns"),
    Action(
        "rename",
        "actions.rename",
        slash="rename",
        aliases=("title", "name"),
        argument="<title>",
        run="rename_session",
    ),
    Action("delete", "actions.delete", "actions.delete_help", slash="delete", palette=True, run="delete_session"),
    Action(
        "export",
        "actions.export",
        "actions.export_help",
        slash="export",
        argument="[path]",
        palette=True,
        run="export_session",
    ),
    Action("copy", "actions.copy", slash="copy", palette=True, run="copy_answer"),
    Action("diff", "actions.diff", slash="diff", palette=True, run="show_diff"),
    # -- composer ----------------------------------------------------------------------------------------------------
    Action("send", "actions.send", context="composer", keys=("enter",)),
    Action(
        "newline", "actions.newline", "actions.newline_help", "composer", keys=("ctrl+j", "shift+enter", "alt+enter")
    ),
    Action("help_empty", "actions.help_empty", context="composer", keys=("question_mark",), fixed=True),
    Action("history_previous", "actions.history_previous", context="composer", keys=("up",)),
    Action("history_next", "actions.history_next", context="composer", keys=("down",)),
    Action("undo_edit", "actions.undo_edit", context="composer", keys=("ctrl+underscore",)),
    Action("redo_edit", "actions.redo_edit", context="composer", keys=("ctrl+y",)),
    # -- while a turn runs -------------------------------------------------------------------------------------------
    Action("steer", "actions.steer", context="running", keys=("enter",), fixed=True),
    Action("queue", "actions.queue", context="running", keys=("tab",)),
    Action("take_back", "actions.take_back", context="running", keys=("alt+up",)),
    Action("stop", "actions.stop", context="running", keys=("escape",), fixed=True),
    # -- approval ----------------------------------------------------------------------------------------------------
    Action("allow_once", "actions.allow_once", context="approval", keys=("y",)),
    Action("allow_session", "actions.allow_session", context="approval", keys=("a",)),
    Action("refuse", "actions.refuse", context="approval", keys=("n",)),
    Action("edit_command", "actions.edit_command", context="approval", keys=("e",)),
    Action("run_edited", "actions.run_edited", context="approval", keys=("ctrl+y",)),
    Action("to_composer", "actions.to_composer", context="approval", keys=("escape",), fixed=True),
    # -- panes, whose keys are their own -----------------------------------------------------------------------------
    Action("move", "actions.move", context="transcript", keys=("j", "k", "pageup", "pagedown"), fixed=True),
    Action("ends", "actions.ends", context="transcript", keys=("g", "G"), fixed=True),
    Action("fold", "actions.fold", context="transcript", keys=("space",), fixed=True),
    Action("open_in_dock", "actions.open_in_dock", context="transcript", keys=("enter", "o"), fixed=True),
    Action("copy_block", "actions.copy_block", context="transcript", keys=("y",), fixed=True),
    Action("find", "actions.find", context="transcript", keys=("slash", "ctrl+f"), fixed=True),
    Action("find_next", "actions.find_next", context="transcript", keys=("n", "N"), fixed=True),
    Action("sessions_move", "actions.move", context="sessions", keys=("j", "k"), fixed=True),
    Action("sessions_open", "actions.sessions_open", context="sessions", keys=("enter",), fixed=True),
    Action("sessions_new", "actions.new", context="sessions", keys=("n",), fixed=True),
    Action("sessions_rename", "actions.rename", context="sessions", keys=("r",), fixed=True),
    Action("sessions_delete", "actions.delete", context="sessions", keys=("d",), fixed=True),
    Action("dock_tabs", "actions.dock_tabs", context="dock", keys=("left", "right"), fixed=True),
    Action("dock_move", "actions.move", context="dock", keys=("j", "k", "pageup", "pagedown"), fixed=True),
    Action(
        "dock_hunks",
        "actions.dock_hunks",
        context="dock",
        keys=("left_square_bracket", "right_square_bracket"),
        fixed=True,
    ),
    Action("dock_copy", "actions.dock_copy", context="dock", keys=("y",), fixed=True),
)

BY_ID: Final[dict[str, Action]] = {action.id: action for action in ACTIONS}
BY_SLASH: Final[dict[str, Action]] = {
    name: action for action in ACTIONS if action.slash for name in (action.slash, *action.aliases)
}
SLASH_ACTIONS: Final[tuple[Action, ...]] = tuple(sorted((a for a in ACTIONS if a.slash), key=lambda a: a.slash))


@dataclass(frozen=True, slots=True)
class Slash:
    """A slash command to run. `argument` is stripped; empty when none was given."""

    action: Action
    argument: str = ""


@dataclass(frozen=True, slots=True)
class SlashProblem:
    """Why a draft that looks like a command is none: `key` and `params` are for `i18n.t`."""

    key: str
    params: dict[str, str]


# A command is one word of letters right behind the slash; "/usr/bin", "//" and "/etc.d" are text.
_COMMAND = re.compile(r"/([A-Za-z][\w-]*|\?)(?:\s+(.*))?\Z", re.DOTALL)


def parse_slash(text: str) -> Slash | SlashProblem | None:
    """Read a draft as a slash command.

    None: it is a message, to be sent as it stands (a path, `//`, a blank before the slash).
    """
    found = _COMMAND.match(text.rstrip())
    if found is None:
        return None
    name, argument = found[1].lower(), (found[2] or "").strip()
    action = BY_SLASH.get("help" if name == "?" else name)
    if action is None:
        close = get_close_matches(name, list(BY_SLASH), n=1, cutoff=0.5)
        if close:
            return SlashProblem("actions.unknown_nearest", {"name": name, "nearest": close[0]})
        return SlashProblem("actions.unknown", {"name": name})
    if argument and not action.argument:
        return SlashProblem("actions.takes_none", {"name": name})
    if action.argument_required and not argument:
        return SlashProblem("actions.needs", {"name": name, "argument": action.argument})
    return Slash(action, argument)


def complete_slash(text: str) -> tuple[Action, ...]:
    """The commands a draft may become while its name is being typed: by prefix, else by its letters in order.

    Empty unless the draft is one line that begins with a slash and has no blank yet.
    """
    if not text.startswith("/") or not re.fullmatch(r"/[\w-]*", text):
        return ()
    typed = text[1:].lower()
    starts = [a for a in SLASH_ACTIONS if any(n.startswith(typed) for n in (a.slash, *a.aliases))]
    if starts:
        return tuple(starts)
    letters = re.compile(".*".join(map(re.escape, typed)))
    return tuple(a for a in SLASH_ACTIONS if letters.search(a.slash))
