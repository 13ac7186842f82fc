"""What can be done, once: this table feeds key bindings, the palette, slash commands and help.

No Textual here; line-by-line mode reads slash commands from it too. An action's words are `actions.<id>` (its name, a
few words) and `actions.<id>_help` (a remark) of the interface's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal

from agent_core.records import dataclass

if TYPE_CHECKING:
    from agent_core.knowledge import Typed

Context = Literal[
    "everywhere", "composer", "running", "approval", "pane", "transcript", "sessions", "dock"
]  # fmt: skip
CONTEXTS: Final[tuple[Context, ...]] = (
    "composer",
    "running",
    "approval",
    "everywhere",
    "pane",
    "transcript",
    "sessions",
    "dock",
)
PANES: Final[frozenset[Context]] = frozenset({"transcript", "sessions", "dock"})
"""Where the keys of the context `pane` work too."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a user can do. It has a name, a remark and a place in the palette, whatever else it lacks."""

    id: str
    """What the config's `keymap` calls it."""
    context: Context = "everywhere"
    """Where its keys work."""
    keys: tuple[str, ...] = ()
    """Default keys, as Textual names them."""
    run: str = ""
    """What does it: in a pane, the pane's own action; else `room.function` of commands/, or empty where the composer or
    the approval panel knows its id."""
    slash: str = ""
    """The slash command's name, without the slash."""
    aliases: tuple[str, ...] = ()
    argument: str = ""
    """How the argument is written: "[n]" may be left out, "<title>" may not; empty: takes none."""
    fixed: bool = False
    """The key cannot be changed: what it means is a promise."""

    @property
    def title(self) -> str:
        """Key of its name: "New session"."""
        return f"actions.{self.id}"

    @property
    def help(self) -> str:
        """Key of the remark beside it."""
        return f"actions.{self.id}_help"

    @property
    def argument_required(self) -> bool:
        return self.argument.startswith("<")


def _pane(context: Context, id: str, run: str, *keys: str, fixed: bool = False) -> Action:
    return Action(id, context, keys, run, fixed=fixed)


ACTIONS: Final[tuple[Action, ...]] = (
    # -- everywhere --------------------------------------------------------------------------------------------------
    Action("palette", keys=("ctrl+p",), run="choose.palette"),
    Action("next_mode", keys=("shift+tab",), run="settings.next_mode"),
    Action("help", keys=("f1",), slash="help", run="panes.show_help"),
    Action("toggle_sessions", keys=("f2",), run="panes.toggle_sessions"),
    Action("toggle_dock", keys=("f3",), run="panes.toggle_dock"),
    Action("next_pane", keys=("f6",), run="panes.next_pane"),
    Action("focus_sessions", keys=("alt+1",), run="panes.focus_sessions"),
    Action("focus_transcript", keys=("alt+2",), run="panes.focus_transcript"),
    Action("focus_composer", keys=("alt+3",), run="panes.focus_composer"),
    Action("focus_dock", keys=("alt+4",), run="panes.focus_dock"),
    Action("new", keys=("ctrl+n",), slash="new", argument="[folder]", run="sessions.new_session"),
    Action("new_in", run="sessions.new_in_folder"),
    Action("details", keys=("ctrl+o",), run="panes.details"),
    Action("show_plan", keys=("ctrl+t",), run="panes.show_plan"),
    Action("diff", slash="diff", run="panes.show_diff"),
    Action("tasks", slash="tasks", run="tasks.show"),
    Action("agents", slash="agents", argument="[name text]", run="agents.show"),
    Action("inbox", keys=("f7",), slash="inbox", aliases=("approvals",), run="inbox.show"),
    Action("context", slash="context", run="context.show"),
    Action("compact", slash="compact", aliases=("compress",), argument="[focus]", run="context.compact"),
    Action("redraw", keys=("ctrl+l",), run="panes.redraw"),
    Action("suspend", keys=("ctrl+z",), run="panes.suspend"),
    Action("interrupt", keys=("ctrl+c",), run="stopping.press_ctrl_c"),
    Action("quit", keys=("ctrl+d",), slash="exit", aliases=("quit",), run="stopping.leave"),
    Action("clear", slash="clear", run="sessions.clear"),
    Action("sessions", slash="resume", aliases=("sessions", "continue"), argument="[title]", run="sessions.choose"),
    Action("search", slash="search", argument="[words]", run="search.search"),
    Action("compare", slash="compare", argument="[session] [session]", run="compare.compare"),
    Action("fork", slash="fork", aliases=("branch",), run="sessions.fork"),
    Action("worktree", slash="worktree", argument="[name|list|remove name]", run="worktree.worktree"),
    Action("rename", slash="rename", aliases=("title", "name"), argument="[title]", run="sessions.rename"),
    Action("delete", slash="delete", run="sessions.delete"),
    Action("restore", slash="restore", run="sessions.restore"),
    Action("export", slash="export", argument="[path]", run="sessions.export"),
    Action("undo", slash="undo", argument="[n]", run="sessions.undo_turns"),
    Action("redo", slash="redo", run="turns.redo"),
    Action("rewind", slash="rewind", run="turns.rewind"),
    Action("rollback", slash="rollback", argument="[n|redo|list]", run="rollback.rollback"),
    Action("retry", slash="retry", run="turns.retry"),
    Action("mode", slash="mode", argument="[mode]", run="settings.choose_mode"),
    Action("plan_mode", slash="plan", run="settings.plan_mode"),
    Action("goal", slash="goal", argument="[text]", run="settings.goal"),
    Action("trust", slash="trust", run="trust.show"),
    Action("no_sandbox", slash="no-sandbox", run="consent.no_sandbox"),
    Action("permissions", slash="permissions", aliases=("allowed-tools",), run="permissions.show"),
    Action("model", slash="model", aliases=("models",), argument="[model]", run="answering.choose_model"),
    Action("persona", slash="persona", aliases=("personality",), argument="[name]", run="answering.choose_persona"),
    Action("temperature", slash="temperature", argument="[0-2]", run="answering.choose_temperature"),
    Action("effort", slash="effort", argument="[level]", run="answering.choose_effort"),
    Action("tools", slash="tools", aliases=("toolsets",), argument="[on|off] [name]", run="tools.show"),
    Action(
        "servers", slash="mcp", aliases=("servers",), argument="[restart|login|logout|on|off name]", run="servers.show"
    ),
    Action("memory", slash="memory", argument="[add|search|forget|pending|approval]", run="memory.show"),
    Action("skills", slash="skills", argument="[pending|diff|approve|reject id]", run="skills.show"),
    Action("disk", slash="disk", run="sessions.show_disk"),
    Action("doctor", slash="doctor", run="doctor.show"),
    Action("usage", slash="usage", aliases=("cost",), run="answering.show_usage"),
    Action("insights", slash="insights", argument="[days]", run="answering.show_insights"),
    Action("theme", slash="theme", argument="[theme]", run="settings.choose_theme"),
    Action("language", slash="language", argument="[en|zh|auto]", run="settings.choose_language"),
    Action("ascii", slash="ascii", run="settings.toggle_ascii"),
    Action("motion", slash="motion", run="settings.toggle_motion"),
    Action("vim", slash="vim", run="writing.toggle_vim"),
    Action("setup", slash="setup", run="settings.setup"),
    Action("settings", slash="settings", aliases=("config",), argument="[words]", run="settings_page.show"),
    Action("keys", slash="keys", aliases=("keymap",), argument="[words]", run="keys.show"),
    Action("snippet", keys=("alt+s",), slash="snippet", argument="[name]", run="snippets.insert"),
    Action("editor", keys=("ctrl+g",), slash="editor", run="writing.edit_draft"),
    Action("image", slash="image", argument="<path>", run="images.add"),
    Action("copy", slash="copy", run="copying.copy_answer"),
    Action("tour", slash="tour", run="tour.show"),
    # -- composer ----------------------------------------------------------------------------------------------------
    Action("send", "composer", ("enter",)),
    Action("newline", "composer", ("ctrl+j", "shift+enter", "alt+enter")),
    Action("help_empty", "composer", ("question_mark",), fixed=True),
    Action("history_previous", "composer", ("up",)),
    Action("history_next", "composer", ("down",)),
    Action("history_search", "composer", ("ctrl+r",)),
    Action("expand_paste", "composer", ("alt+o",)),
    Action("paste_image", "composer", ("ctrl+v", "alt+v")),
    Action("undo_edit", "composer", ("ctrl+underscore",)),
    Action("redo_edit", "composer", ("alt+z",)),
    Action("kill_line_end", "composer", ("ctrl+k",)),
    Action("kill_line_start", "composer", ("ctrl+u", "super+backspace")),
    Action("kill_word", "composer", ("alt+d", "alt+delete")),
    Action("kill_word_back", "composer", ("alt+backspace", "ctrl+backspace")),
    Action("kill_back", "composer", ("ctrl+w",)),
    Action("yank", "composer", ("ctrl+y",)),
    Action("yank_older", "composer", ("alt+y",)),
    Action("preview_file", "composer", ("f4",)),
    Action("select_draft", "composer", ("shift+left", "shift+right"), fixed=True),  # as in every text area
    # -- while a turn runs -------------------------------------------------------------------------------------------
    Action("steer", "running", ("enter",), "turns.steer", slash="steer", argument="<text>", fixed=True),
    Action("queue", "running", ("tab",), "turns.queue", slash="queue", argument="<text>"),
    Action("redirect", "running", (), "turns.redirect", slash="redirect", argument="<text>"),
    Action("take_back", "running", ("alt+up",)),
    Action("stop", "running", ("escape",), "stopping.stop", fixed=True),
    # -- approval ----------------------------------------------------------------------------------------------------
    Action("allow_once", "approval", ("y",)),
    Action("allow_session", "approval", ("a",)),
    Action("allow_always", "approval", ("w",)),
    Action("refuse", "approval", ("n",)),
    Action("edit_command", "approval", ("e",)),
    Action("run_edited", "approval", ("ctrl+y",)),
    Action("to_composer", "approval", ("escape",), fixed=True),
    # -- transcript, sessions and dock alike -------------------------------------------------------------------------
    _pane("pane", "next", "move(1)", "j"),
    _pane("pane", "previous", "move(-1)", "k"),
    _pane("pane", "row_down", "row(1)", "down"),
    _pane("pane", "row_up", "row(-1)", "up"),
    _pane("pane", "page_down", "page(1)", "pagedown"),
    _pane("pane", "page_up", "page(-1)", "pageup"),
    _pane("pane", "first", "edge(-1)", "g", "home"),
    _pane("pane", "last", "edge(1)", "G", "shift+g", "end"),
    # -- transcript --------------------------------------------------------------------------------------------------
    _pane("transcript", "fold", "fold", "space"),
    _pane("transcript", "open_in_dock", "open", "enter", "o"),
    _pane("transcript", "next_turn", "turn(1)", "right_curly_bracket"),
    _pane("transcript", "previous_turn", "turn(-1)", "left_curly_bracket"),
    _pane("transcript", "first_unread", "first_unread", "u"),
    _pane("transcript", "copy_block", "copy_block", "y"),
    _pane("transcript", "copy_code", "copy_code", "c"),
    _pane("transcript", "copy_message", "copy_message", "Y", "shift+y"),
    _pane("transcript", "select", "select", "v"),
    _pane("transcript", "select_left", "caret('left')", "h", "left"),
    _pane("transcript", "select_right", "caret('right')", "l", "right"),
    _pane("transcript", "select_word", "caret('word')", "w"),
    _pane("transcript", "select_back", "caret('back')", "b"),
    _pane("transcript", "select_word_end", "caret('word_end')", "e"),
    _pane("transcript", "select_row_start", "caret('row_start')", "0"),
    _pane("transcript", "select_row_end", "caret('row_end')", "dollar_sign"),
    _pane("transcript", "extend_left", "extend('left')", "shift+left"),
    _pane("transcript", "extend_right", "extend('right')", "shift+right"),
    _pane("transcript", "extend_up", "extend_rows(-1)", "shift+up"),
    _pane("transcript", "extend_down", "extend_rows(1)", "shift+down"),
    _pane("transcript", "extend_page_up", "extend_pages(-1)", "shift+pageup"),
    _pane("transcript", "extend_page_down", "extend_pages(1)", "shift+pagedown"),
    _pane("transcript", "extend_row_start", "extend('row_start')", "shift+home"),
    _pane("transcript", "extend_row_end", "extend('row_end')", "shift+end"),
    _pane("transcript", "find", "find", "slash", "ctrl+f"),
    _pane("transcript", "find_next", "find_next(1)", "n"),
    _pane("transcript", "find_previous", "find_next(-1)", "N", "shift+n"),
    _pane("transcript", "stop_agent", "stop_agent", "x"),
    _pane("transcript", "close_find", "close_find", "escape", fixed=True),
    # -- sessions ----------------------------------------------------------------------------------------------------
    _pane("sessions", "sessions_open", "open", "enter"),
    _pane("sessions", "sessions_new", "new", "n"),
    _pane("sessions", "sessions_new_in", "new_in", "o"),
    _pane("sessions", "sessions_rename", "rename", "r"),
    _pane("sessions", "sessions_fork", "fork", "f"),
    _pane("sessions", "sessions_delete", "delete", "d", "delete"),
    _pane("sessions", "sessions_restore", "restore", "u"),
    _pane("sessions", "sessions_export", "export", "e"),
    _pane("sessions", "sessions_compare", "compare", "c"),
    _pane("sessions", "sessions_search", "search", "slash", "ctrl+f"),
    # -- dock --------------------------------------------------------------------------------------------------------
    _pane("dock", "dock_next_tab", "turn(1)", "right"),
    _pane("dock", "dock_previous_tab", "turn(-1)", "left"),
    _pane("dock", "dock_result", "tab('result')", "1"),
    _pane("dock", "dock_diff", "tab('diff')", "2"),
    _pane("dock", "dock_plan", "tab('plan')", "3"),
    _pane("dock", "dock_tasks", "tab('tasks')", "4"),
    _pane("dock", "dock_context", "tab('context')", "5"),
    _pane("dock", "dock_file", "tab('file')", "6"),
    _pane("dock", "dock_memory", "tab('memory')", "7"),
    _pane("dock", "dock_servers", "tab('servers')", "8"),
    _pane("dock", "dock_turns", "tab('turns')", "9"),
    _pane("dock", "dock_next_hunk", "hunk(1)", "right_square_bracket"),
    _pane("dock", "dock_previous_hunk", "hunk(-1)", "left_square_bracket"),
    _pane("dock", "dock_comment", "comment", "c"),
    _pane("dock", "dock_comments", "comments", "C", "shift+c"),
    _pane("dock", "dock_split", "split", "s"),
    _pane("dock", "dock_next_fold", "next_fold", "f"),
    _pane("dock", "dock_unfold", "unfold", "enter"),
    _pane("dock", "dock_unfold_or_page", "unfold_or_page", "space"),
    _pane("dock", "dock_find", "find", "slash", "ctrl+f"),
    _pane("dock", "dock_find_next", "find_next(1)", "n"),
    _pane("dock", "dock_find_previous", "find_next(-1)", "N", "shift+n"),
    _pane("dock", "dock_close_find", "close_find", "escape", fixed=True),
    _pane("dock", "dock_select_down", "select(1, 0)", "shift+down"),
    _pane("dock", "dock_select_up", "select(-1, 0)", "shift+up"),
    _pane("dock", "dock_select_right", "select(0, 1)", "shift+right"),
    _pane("dock", "dock_select_left", "select(0, -1)", "shift+left"),
    _pane("dock", "dock_copy", "copy", "y"),
    _pane("dock", "dock_drop", "view('dropped')", "d"),
    _pane("dock", "dock_pin", "view('pinned')", "p"),
    _pane("dock", "dock_give_back", "view('')", "u"),
    _pane("dock", "dock_again", "again", "r"),
    _pane("dock", "dock_log_in", "log_in", "l"),
    _pane("dock", "dock_kill", "kill", "x"),
    _pane("dock", "dock_keep", "keep", "K", "shift+k"),
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

    @property
    def is_unknown(self) -> bool:
        """There is no such command, as far as was known."""
        return self.key.startswith("slash.unknown")


# A command is one word of letters right behind the slash; "/usr/bin", "//" and "/etc.d" are text.
_COMMAND = re.compile(r"/([A-Za-z][\w:-]*|\?)(?:\s+(.*))?\Z", re.DOTALL)
_TYPED = re.compile(r"/(\S+)")
_OTHER_SCRIPT = re.compile(r"(?=.*[^\x00-\x7f])\w[\w.:-]*")


def parse_slash(text: str, typed: Sequence[Typed] = ()) -> Slash | SlashProblem | None:
    """Read a draft as a slash command. `typed`: what else can be typed behind a slash, and becomes a message.

    None: it is a message, to be sent as it stands (one of `typed`, a path, `//`, a blank before the slash). A word in
    another script than the program's own names is a command that was mistyped where it comes near one of `typed`.
    """
    found = _COMMAND.match(text.rstrip())
    word = _TYPED.match(text)
    name = found[1].lower() if found is not None else ""
    if word is not None and name not in BY_SLASH and any(one.name == word[1] for one in typed):
        return None
    if found is None:
        theirs = word[1] if word is not None and _OTHER_SCRIPT.fullmatch(word[1]) else ""
        near = _nearest(theirs, (one.name for one in typed)) if theirs else ""
        return SlashProblem("slash.unknown_nearest", {"name": theirs, "nearest": near}) if near else None
    argument = (found[2] or "").strip()
    action = BY_SLASH.get("help" if name == "?" else name)
    if action is None:
        if near := _nearest(name, (*BY_SLASH, *(one.name for one in typed))):
            return SlashProblem("slash.unknown_nearest", {"name": name, "nearest": near})
        return SlashProblem("slash.unknown", {"name": name})
    if argument and not action.argument:
        return SlashProblem("slash.takes_none", {"name": name})
    if action.argument_required and not argument:
        return SlashProblem("slash.needs", {"name": name, "argument": action.argument})
    return Slash(action, argument)


def _nearest(name: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, list(names), n=1, cutoff=0.5)), "")


def complete_slash(text: str, typed: Sequence[Typed] = ()) -> tuple[Action | Typed, ...]:
    """The commands a draft may become while its name is being typed: by prefix, else by its letters in order.

    Actions come first, then those of `typed` that no action hides. Empty unless the draft is one line that begins with
    a slash and has no blank yet.
    """
    if not text.startswith("/") or not re.fullmatch(r"/[\w.:-]*", text):
        return ()
    written = text[1:].lower()
    others = [one for one in typed if one.name.lower() not in BY_SLASH]
    starts = [a for a in SLASH_ACTIONS if any(n.startswith(written) for n in (a.slash, *a.aliases))]
    begun = [one for one in others if one.name.lower().startswith(written)]
    if starts or begun:
        return (*starts, *begun)
    from agent_core.text import fuzzy

    found: list[tuple[int, Action | Typed]] = [
        (match.tier, a) for a in SLASH_ACTIONS if (match := fuzzy.match(written, a.slash))
    ]
    found += [(match.tier, one) for one in others if (match := fuzzy.match(written, one.name))]
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))
