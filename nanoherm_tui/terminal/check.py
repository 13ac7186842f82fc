"""The doctor's checks of the terminal: what it can do, what of that the program needs, and the line that mends it.

`gather` looks, `checks` decides. What nobody tells is said not to be known, never guessed to be missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from agent_core.doctor.check import Check
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.symbols import locale_is_utf8, locale_variable
from nanoherm_tui.terminal import probe as terminal_probe
from nanoherm_tui.terminal.clipboard import native_tools
from nanoherm_tui.terminal.probe import FOCUS, HELD_FRAMES, MOUSE, PASTE, SAMPLES, Answers, Ask
from nanoherm_tui.terminal.tmux import Tmux, ask_tmux
from nanoherm_tui.text import visible, width

if TYPE_CHECKING:
    from nanoherm_tui.terminal.colours import Depth


@dataclass(frozen=True, slots=True)
class Terminal:
    """What was found out."""

    env: Mapping[str, str]
    columns: int
    rows: int
    described: bool | None
    """Whether the system has a description of TERM; None: nobody can be asked."""
    colours: Depth
    answers: Answers | None
    tmux: Tmux | None = None
    copies_by: tuple[str, ...] = ()
    """The desktop's own programs for the clipboard that are there, of those that would be used."""
    wanted: tuple[str, ...] = ()
    """All that would be used."""

    @property
    def term(self) -> str:
        return self.env.get("TERM", "")

    @property
    def is_remote(self) -> bool:
        return bool(self.env.get("SSH_CONNECTION") or self.env.get("SSH_TTY"))

    @property
    def in_tmux(self) -> bool:
        return bool(self.env.get("TMUX"))

    @property
    def in_screen(self) -> bool:
        return not self.in_tmux and bool(self.env.get("STY"))

    @property
    def name(self) -> str:
        """Of the terminal itself, where it or the environment tells."""
        told = self.answers.name if self.answers is not None else ""
        return told or self.env.get("TERM_PROGRAM", "")


def look(find: Callable[[str], str | None], env: Mapping[str, str], ask: Ask | None = None) -> Iterator[Check]:
    """The checks of the terminal this runs in; one that says why when it runs in none.

    `find` gives the file a program's name means; nothing else is run. `ask`: who asks the terminal, if not this.
    """
    why = terminal_probe.cannot_ask()
    if why:
        yield Check("terminal", "Terminal", "skip", f"{why} Run it in one, without a pipe, to have it looked at.")
    else:
        yield from checks(gather(find, env, ask or terminal_probe.ask))


def gather(find: Callable[[str], str | None], env: Mapping[str, str], ask: Ask) -> Terminal:
    """Ask the terminal, the system and tmux. Takes at most a second for each."""
    from nanoherm_tui.terminal.colours import depth

    term = env.get("TERM", "")
    size = os.get_terminal_size(1)
    tools = tuple(tool.argv[0] for tool in native_tools(env))
    in_screen = not env.get("TMUX") and bool(env.get("STY"))
    return Terminal(
        env=env,
        columns=size.columns,
        rows=size.lines,
        described=_is_described(term),
        colours=depth(),
        answers=None if term in _NO_TERMINAL else ask(term, in_screen=in_screen),
        tmux=ask_tmux(find, env) if env.get("TMUX") else None,
        copies_by=tuple(tool for tool in tools if find(tool)),
        wanted=tools,
    )


def checks(found: Terminal) -> Iterator[Check]:
    """What is in order and what is not. Pure."""
    if found.term in _NO_TERMINAL:
        text = f"TERM is {found.term or 'not set'}: whatever shows this cannot place text."
        yield Check("terminal", "Terminal", "fail", text, "Run it in a terminal; there: export TERM=xterm-256color")
        return
    yield from _window(found)
    yield _locale(found)
    yield from _widths(found)
    yield _colours(found)
    yield _keys(found)
    yield _reports(found)
    yield _clipboard(found)
    if found.in_tmux:
        yield _tmux(found)


_NO_TERMINAL: Final = ("", "dumb", "unknown")


def _in_tmux_conf(*lines: str) -> str:
    return "\n".join(("In ~/.tmux.conf, then end tmux and start it anew:", *lines))


# -- the window -----------------------------------------------------------------------------------------------------


def _window(found: Terminal) -> Iterator[Check]:
    where = [visible(found.name)] if found.name else []
    if found.in_tmux:
        where += [] if found.name.startswith("tmux") else ["in tmux"]
    elif found.in_screen:
        where += ["in GNU screen"]
    if found.is_remote:
        where += ["over SSH"]
    text = f"{', '.join([visible(found.term), *where])}, {found.columns} columns and {found.rows} rows"
    if found.answers is None:
        fix = "All else works. What it can do is found out where a terminal answers; on a slow line try again."
        yield Check("terminal", "Terminal", "warn", f"{text}. It answers no question.", fix)
    elif found.described is False:
        fix = f"On the machine that knows it: infocmp -x {visible(found.term)} | ssh THIS-MACHINE tic -x -"
        if not found.is_remote:
            fix = "Install ncurses-term, or: export TERM=xterm-256color"
        words = f"{text}. This system does not know a {visible(found.term)}: editors and pagers fail."
        yield Check("terminal", "Terminal", "warn", words, fix)
    else:
        yield Check("terminal", "Terminal", "ok", f"{text}.")
    if found.columns < limits.TERMINAL_COLUMNS or found.rows < limits.TERMINAL_ROWS:
        least = f"{limits.TERMINAL_COLUMNS} columns and {limits.TERMINAL_ROWS} rows"
        text = f"{found.columns} columns and {found.rows} rows are too few to read a question whole."
        yield Check("size", "Terminal: size", "warn", text, f"Make the window {least} or larger.")


def _locale(found: Terminal) -> Check:
    title = "Terminal: locale"
    name = locale_variable(found.env)
    if locale_is_utf8(found.env):
        return Check("locale", title, "ok", f"UTF-8 ({name}).")
    said = f"{name} is {visible(found.env[name])}" if name else "No locale is set"
    fix = f"export {name or 'LANG'}=C.UTF-8 in ~/.profile (locale -a lists others)"
    return Check("locale", title, "warn", f"{said}: symbols are ASCII, and Chinese may not be shown.", fix)


# -- widths ---------------------------------------------------------------------------------------------------------


def _widths(found: Terminal) -> Iterator[Check]:
    title = "Terminal: widths"
    told = found.answers.widths if found.answers is not None else {}
    if not told:
        yield Check("widths", title, "skip", "The terminal does not say where its cursor is.")
        return
    off = {what: told[what] for what, sample in SAMPLES.items() if told[what] != width(sample)}
    if not off:
        yield Check("widths", title, "ok", "Chinese, accents, emoji and symbols take the cells they are laid out by.")
        return
    said = "; ".join(f"{what} {cells} instead of {width(SAMPLES[what])}" for what, cells in off.items())
    if off.keys() & _MUST_FIT:
        fix = "Set the terminal's encoding to UTF-8" + (", and start tmux with: tmux -u" if found.in_tmux else ".")
        yield Check("widths", title, "fail", f"Cells taken: {said}. Rows do not line up.", fix)
        return
    if "ambiguous" in off:
        fix = "In the terminal's settings let characters of ambiguous width be narrow."
    elif found.in_tmux:
        fix = "A newer tmux may count them right; what stands behind such a character is beside its place until then."
    else:
        fix = (
            "A newer terminal may count them right; what stands behind such a character is beside its place until then."
        )
    yield Check("widths", title, "warn", f"Cells taken: {said}.", fix)


_MUST_FIT: Final = frozenset({"Chinese", "accents", "symbols"})


# -- colours --------------------------------------------------------------------------------------------------------


def _colours(found: Terminal) -> Check:
    title = "Terminal: colours"
    shown = _DEPTHS[found.colours]
    if found.env.get("NO_COLOR"):
        return Check("colours", title, "ok", "None: NO_COLOR is set.")
    tmux = found.tmux
    if tmux is not None and tmux.features and not tmux.has("RGB") and found.colours == "true":
        around = visible(tmux.terminal or "xterm-256color")
        line = f"set -as terminal-features ',{around}:RGB'"
        if tmux.before(3, 2):
            line = f"set -ga terminal-overrides ',{around}:Tc'"
        return Check("colours", title, "warn", "tmux makes 256 colours of 24 bits.", _in_tmux_conf(line))
    keeps = found.answers.true_colour if found.answers is not None else None
    if keeps is False and found.colours == "true":
        text = "COLORTERM promises 24 bits, but the terminal makes other colours of them."
        return Check(
            "colours", title, "warn", text, "unset COLORTERM in ~/.profile, or use the theme ansi (/theme ansi)"
        )
    if found.colours == "true":
        return Check("colours", title, "ok", f"{shown}.")
    if found.in_screen and found.colours == "16":
        return Check("colours", title, "warn", f"{shown}.", "In ~/.screenrc: term screen-256color")
    if keeps or (tmux is not None and tmux.features and tmux.has("RGB")):
        # The terminal has more than the environment says.
        if tmux is not None:
            fix = _in_tmux_conf("set-environment -g COLORTERM truecolor")
        elif found.is_remote:
            fix = "export COLORTERM=truecolor in ~/.profile on this machine: SSH does not hand it on"
        else:
            fix = "export COLORTERM=truecolor in ~/.profile"
        text = f"{shown}; the terminal has 24 bits, but COLORTERM does not say so."
        return Check("colours", title, "warn", text, fix)
    if found.colours == "16" and found.term != "linux":
        fix = f"export TERM={_with_256(found.term)} if the terminal shows 256 colours: most do"
        return Check("colours", title, "warn", f"{shown}, by TERM ({visible(found.term)}).", fix)
    return Check("colours", title, "ok", f"{shown}.")


_DEPTHS: Final[Mapping[Depth, str]] = {"16": "16", "256": "256", "true": "24 bits"}


def _with_256(term: str) -> str:
    name = re.match(r"[a-z]+", term)
    return f"{name[0] if name else 'xterm'}-256color"


# -- keys -----------------------------------------------------------------------------------------------------------


def _keys(found: Terminal) -> Check:
    title = "Terminal: keys"
    always = "Ctrl+J always makes a new line"
    if found.tmux is not None:
        lines = []
        if not found.tmux.before(3, 2):
            if found.tmux.extended_keys not in ("on", "always"):
                lines.append("set -s extended-keys on")
            if not found.tmux.has("extkeys"):
                lines.append(f"set -as terminal-features ',{visible(found.tmux.terminal or 'xterm*')}:extkeys'")
        if lines:
            text = f"Shift+Enter is Enter in this tmux: it sends. {always}."
            return Check("keys", title, "warn", text, _in_tmux_conf(*lines))
        if not found.tmux.before(3, 2):
            return Check("keys", title, "ok", f"tmux hands on Shift+Enter where the terminal sends it. {always}.")
    answers = found.answers
    if answers is not None and (answers.kitty_keys or answers.modified_keys):
        way = "kitty's protocol" if answers.kitty_keys else "modifyOtherKeys"
        return Check("keys", title, "ok", f"Shift+Enter arrives ({way}). {always}.")
    if answers is None:
        return Check("keys", title, "skip", f"Whether Shift+Enter arrives is not known. {always}.")
    fix = next((words for sign, words in _SHIFT_ENTER.items() if sign in _signs(found)), _OTHER_KEYS)
    return Check("keys", title, "warn", f"Shift+Enter is Enter as far as the terminal says: it sends. {always}.", fix)


def _signs(found: Terminal) -> str:
    """Words by which a terminal can be known."""
    return f"{found.name} {found.env.get('TERM_PROGRAM', '')} {'WT_SESSION' if found.env.get('WT_SESSION') else ''}"


_SHIFT_ENTER: Final[Mapping[str, str]] = {
    "iTerm": "In iTerm2, Settings, Profiles, Keys: allow apps to change how keys are reported (CSI u).",
    "vscode": "In VS Code's keybindings.json bind shift+enter to workbench.action.terminal.sendSequence, "
    'with {"text": "\\u001b\\r"}.',
    "WT_SESSION": 'In Windows Terminal bind shift+enter to {"action": "sendInput", "input": "\\u001b\\r"}.',
    "Apple_Terminal": "Terminal, Settings, Profiles, Keyboard: use Option as Meta key. Then Option+Enter makes a line.",
    "WezTerm": "In wezterm.lua: config.enable_kitty_keyboard = true",
}
_OTHER_KEYS: Final = "Use Ctrl+J, Alt+Enter or \\ Enter, or a terminal that speaks kitty's keyboard protocol."


# -- what it reports ------------------------------------------------------------------------------------------------


def _reports(found: Terminal) -> Check:
    title = "Terminal: modes"
    told = found.answers.modes if found.answers is not None else {}
    if found.in_tmux and not told:
        return Check(
            "modes", title, "ok", "tmux marks pastes and hands on the mouse; it does not say if it holds frames."
        )
    if not told:
        return Check("modes", title, "skip", "The terminal does not say whether it marks pastes or has a mouse.")
    there = [words for mode, words in _MODES.items() if told.get(mode)]
    missing = [words for mode, words in _MODES.items() if told.get(mode) is False]
    if told.get(PASTE) is False:
        text = "It does not mark what is pasted: lines that come together are taken for a paste."
        return Check("modes", title, "warn", text, "Use a terminal with bracketed paste, or look before you send.")
    text = f"It has {', '.join(there)}" if there else "It names none"
    return Check("modes", title, "ok", f"{text}{'; not ' + ', '.join(missing) if missing else ''}.")


_MODES: Final[Mapping[int, str]] = {
    PASTE: "marked pastes",
    MOUSE: "the mouse",
    FOCUS: "focus reports",
    HELD_FRAMES: "held frames",
}


# -- the clipboard --------------------------------------------------------------------------------------------------


def _clipboard(found: Terminal) -> Check:
    title = "Terminal: copying"
    if found.copies_by:
        return Check("clipboard", title, "ok", f"By {found.copies_by[0]}.")
    tmux = found.tmux
    if tmux is not None:
        if tmux.set_clipboard in ("on", "external") and tmux.has("clipboard"):
            return Check("clipboard", title, "ok", "Through tmux to the terminal, which does not say if it takes it.")
        if tmux.allow_passthrough in ("on", "all"):
            return Check("clipboard", title, "ok", "Past tmux to the terminal, which does not say if it takes it.")
        lines = [] if tmux.set_clipboard in ("on", "external") else ["set -s set-clipboard on"]
        if not tmux.has("clipboard") and not tmux.before(3, 2):
            lines.append(f"set -as terminal-features ',{visible(tmux.terminal or 'xterm*')}:clipboard'")
        text = "What is copied stays in tmux's own buffer (prefix ] pastes it)."
        return Check("clipboard", title, "warn", text, _in_tmux_conf(*lines) if lines else "Update tmux.")
    if found.term == "linux":
        return Check("clipboard", title, "warn", "The console has none: what is copied goes to a file.", _TERMINAL_FIX)
    if any(sign in f"{_signs(found)} {'VTE' if found.env.get('VTE_VERSION') else ''}" for sign in _TAKE_NOTHING):
        fix = f"Install {' or '.join(found.wanted)}." if found.wanted else _TERMINAL_FIX
        return Check("clipboard", title, "warn", "This terminal takes no text for the clipboard from a program.", fix)
    return Check("clipboard", title, "ok", "By the terminal (OSC 52), which does not say if it takes it.")


_TAKE_NOTHING: Final = ("VTE", "Apple_Terminal")
_TERMINAL_FIX: Final = "Use a terminal with OSC 52: kitty, WezTerm, foot, Alacritty, iTerm2, Windows Terminal, xterm."


# -- tmux -----------------------------------------------------------------------------------------------------------


def _tmux(found: Terminal) -> Check:
    tmux = found.tmux
    if tmux is None:
        return Check("tmux", "tmux", "skip", "It does not tell its options.")
    lines, wrong = [], []
    if tmux.escape_time.isdecimal() and int(tmux.escape_time) > limits.ESCAPE_WAIT:
        wrong.append(f"it waits {tmux.escape_time} ms behind Esc")
        lines.append("set -s escape-time 10")
    if not found.term.startswith(("tmux", "screen-256color", "screen.")):
        wrong.append(f"TERM is {visible(found.term)}, which is not what tmux is")
        lines.append("set -g default-terminal tmux-256color")
    if tmux.focus_events == "off":
        wrong.append("it does not tell when you look elsewhere, so a notification comes late")
        lines.append("set -g focus-events on")
    version = f"tmux {visible(tmux.version)}"
    if wrong:
        return Check("tmux", "tmux", "warn", f"{version}: {'; '.join(wrong)}.", _in_tmux_conf(*lines))
    told = " It tells when you look elsewhere." if tmux.focus_events else ""
    return Check("tmux", "tmux", "ok", f"{version}: Esc is handed on at once, and TERM fits.{told}")


def _is_described(term: str) -> bool | None:
    try:
        import curses
    except ImportError:  # Python can be built without it
        return None
    try:
        curses.setupterm(term, 1)
    except curses.error:
        return False
    return True
