"""The doctor's checks of the terminal: each has a terminal in which all is well, and one in which it is not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.doctor.check import has_problem
from nanoherm_tui import limits
from nanoherm_tui.terminal import probe as terminal_probe
from nanoherm_tui.terminal.check import Terminal, checks
from nanoherm_tui.terminal.probe import FOCUS, HELD_FRAMES, MODES, MOUSE, PASTE, SAMPLES, Answers, questions, read
from nanoherm_tui.terminal.tmux import Tmux
from nanoherm_tui.text import width
from tests.rows import each_row

# -- the answers ------------------------------------------------------------------------------------------------------

RIGHT = {what: width(sample) for what, sample in SAMPLES.items()}
CURSORS = "".join(f"\x1b[7;{cells + 1}R" for cells in RIGHT.values())


@each_row(
    ("sent", "answers"),
    [
        pytest.param("", Answers(), id="nothing"),
        pytest.param("\x1b[?1;2c", Answers(), id="only the end of the round"),
        pytest.param(
            f"\x1b[?0u\x1b[?2026;2$y\x1b[?2004;2$y\x1b[?1006;2$y\x1b[?1004;2$y\x1bP>|kitty(0.35.2)\x1b\\"
            f"\x1bP1$r48:2:1:2:3m\x1b\\\x1bP1$r48:2:1:2:3m\x1b\\{CURSORS}\x1b[?62;c",
            Answers("kitty(0.35.2)", RIGHT, dict.fromkeys(MODES, True), kitty_keys=True, true_colour=True),
            id="kitty",
        ),
        pytest.param(
            f"\x1b[?2026;0$y\x1b[?2004;2$y\x1b[?1006;2$y\x1b[?1004;1$y\x1bP>|XTerm(390)\x1b\\\x1b[>4;0m"
            f"\x1bP1$r0;48:5:16m\x1b\\\x1bP1$r0;48:5:16m\x1b\\{CURSORS}\x1b[?64;1;2;6;9;15;18;21;22c",
            Answers(
                "XTerm(390)",
                RIGHT,
                {HELD_FRAMES: False, PASTE: True, MOUSE: True, FOCUS: True},
                modified_keys=True,
                true_colour=False,
            ),
            id="xterm without direct colour",
        ),
        pytest.param("\x1bP1$r0;48;2;1;2;3m\x1b\\", Answers(true_colour=True), id="colour by semicolons"),
        pytest.param("\x1bP1$r48:2::1:2:3m\x1b\\", Answers(true_colour=True), id="colour with a colour space"),
        pytest.param("\x1bP1$r148;2;1;2;30m\x1b\\", Answers(true_colour=False), id="another colour"),
        pytest.param("\x1bP0$r\x1b\\\x1bP0$rm\x1b\\", Answers(), id="tells no styles"),
        pytest.param(
            f"ls\r\x1b[?0ux\x1b[A{CURSORS}q\x1b[?62c", Answers("", RIGHT, kitty_keys=True), id="keys between answers"
        ),
        pytest.param(CURSORS[:-6], Answers(), id="an answer is missing, so none can be told apart"),
        pytest.param(CURSORS + "\x1b[7;9R", Answers(), id="one too many"),
        pytest.param("\x1bP>|evil\x1b]52;c;AAAA\x07\x1b\\", Answers("evil"), id="a name ends at a control byte"),
        pytest.param("\x1bP>|" + "n" * 500, Answers("n" * 80), id="a name is short"),
    ],
)
def test_answers_are_read(sent, answers):
    assert read(sent.encode()) == answers


@given(st.binary(max_size=300) | st.text("\x1b[]P?>|$;:0123456789mRuyc\\", max_size=200).map(str.encode))
def test_whatever_a_terminal_sends_is_read_without_an_error(data):
    answers = read(data)
    assert answers.name.isprintable() or not answers.name
    assert set(answers.widths) in (set(), set(SAMPLES))


@each_row("term", ["xterm-256color", "linux", "screen", "tmux-256color"])
@each_row("in_screen", [True, False])
def test_questions_switch_nothing_on_and_leave_nothing_behind(term, in_screen):
    asked = questions(term, in_screen=in_screen)
    assert not re.search(r"\x1b\[[?>=<]?[0-9;]*[hl]|\x1b\[[>=<][0-9;]+[um]|\x1b[=>]", asked)
    assert asked.endswith("\r\x1b[K\x1b[c")
    styled = re.findall(r"\x1b\[([0-9:;?]*)m", asked)
    assert not styled or styled[-1] == ""
    assert asked.count("\x1b[6n") == len(SAMPLES)
    assert max(map(width, SAMPLES.values())) < limits.TERMINAL_COLUMNS


def test_what_a_terminal_would_print_or_hand_on_is_not_asked_there():
    plain = questions("linux", in_screen=False)
    assert set(re.findall(r"\x1b(\[[^a-zA-Z]*[a-zA-Z]|.)", plain)) == {"[K", "[6n", "[c"}
    assert "\x1bP" not in questions("screen", in_screen=True)
    assert "\x1bP$qm" in questions("xterm", in_screen=False)


# -- the checks -------------------------------------------------------------------------------------------------------

WHOLE = Answers("kitty(0.35.2)", RIGHT, dict.fromkeys(MODES, True), kitty_keys=True, true_colour=True)
ENV = {"TERM": "xterm-kitty", "LANG": "C.UTF-8", "COLORTERM": "truecolor"}
GOOD = Terminal(ENV, 120, 36, True, "true", WHOLE)
TMUX = Tmux("3.3a", "20", "on", "external", "off", "256,RGB,clipboard,extkeys,focus,title", "xterm-kitty")
IN_TMUX = replace(
    GOOD,
    env={**ENV, "TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"},
    answers=Answers("tmux 3.3a", RIGHT),
    tmux=TMUX,
)
SSH = {"SSH_CONNECTION": "10.0.0.2 50000 10.0.0.1 22"}


def with_env(terminal=GOOD, **changes):
    env = {**terminal.env, **changes}
    return replace(terminal, env={name: value for name, value in env.items() if value is not None})


def answering(**changes):
    return replace(GOOD, answers=replace(WHOLE, **changes))


def measuring(**cells):
    return answering(widths={**RIGHT, **{what.replace("_", " "): n for what, n in cells.items()}})


def in_tmux(**changes):
    return replace(IN_TMUX, tmux=replace(TMUX, **changes))


def found(terminal, id_):
    return [(check.state, check.text, check.fix) for check in checks(terminal) if check.id == id_]


@pytest.mark.parametrize("terminal", [GOOD, IN_TMUX], ids=["bare", "tmux"])
def test_a_good_terminal_has_nothing_to_mend(terminal):
    assert {(check.id, check.state) for check in checks(terminal)} >= {("keys", "ok"), ("colours", "ok")}
    assert [check for check in checks(terminal) if check.state != "ok" or check.fix] == []


NO_ANSWERS = replace(GOOD, answers=None)


@pytest.mark.parametrize(
    ("id_", "terminal", "state", "words", "fix"),
    [
        # the window
        ("terminal", with_env(TERM="dumb"), "fail", "TERM is dumb", "export TERM=xterm-256color"),
        ("terminal", with_env(TERM=None), "fail", "TERM is not set", "export TERM=xterm-256color"),
        ("terminal", NO_ANSWERS, "warn", "answers no question", "All else works"),
        ("terminal", replace(GOOD, described=False), "warn", "does not know a xterm-kitty", "ncurses-term"),
        ("terminal", with_env(replace(GOOD, described=False), **SSH), "warn", "over SSH", "infocmp -x xterm-kitty"),
        ("terminal", replace(GOOD, described=None), "ok", "kitty(0.35.2), 120 columns and 36 rows", ""),
        ("size", replace(GOOD, columns=39), "warn", "39 columns and 36 rows", "40 columns and 10 rows"),
        ("size", replace(GOOD, rows=9), "warn", "120 columns and 9 rows", "40 columns and 10 rows"),
        # the locale
        ("locale", with_env(LANG="C"), "warn", "LANG is C", "export LANG=C.UTF-8"),
        ("locale", with_env(LC_ALL="POSIX"), "warn", "LC_ALL is POSIX", "export LC_ALL=C.UTF-8"),
        ("locale", with_env(LANG=None), "warn", "No locale", "export LANG=C.UTF-8"),
        ("locale", with_env(LANG="zh_CN.utf8"), "ok", "UTF-8 (LANG)", ""),
        # widths
        ("widths", measuring(Chinese=6), "fail", "Chinese 6 instead of 4", "encoding to UTF-8"),
        ("widths", measuring(accents=4), "fail", "accents 4 instead of 2", "encoding to UTF-8"),
        ("widths", measuring(ambiguous=6), "warn", "ambiguous 6 instead of 3", "ambiguous width be narrow"),
        ("widths", measuring(joined_emoji=4), "warn", "joined emoji 4 instead of 2", "newer terminal"),
        ("widths", NO_ANSWERS, "skip", "does not say", ""),
        ("widths", replace(IN_TMUX, answers=measuring(flags=1).answers), "warn", "1 instead of 2", "newer tmux"),
        ("widths", replace(IN_TMUX, answers=measuring(Chinese=6).answers), "fail", "Chinese 6", "tmux -u"),
        # colours
        ("colours", with_env(NO_COLOR="1"), "ok", "NO_COLOR", ""),
        ("colours", answering(true_colour=None), "ok", "24 bits", ""),
        ("colours", answering(true_colour=False), "warn", "makes other colours", "unset COLORTERM"),
        ("colours", replace(GOOD, colours="256"), "warn", "24 bits, but COLORTERM", "export COLORTERM=truecolor"),
        ("colours", with_env(replace(GOOD, colours="256"), **SSH), "warn", "256", "SSH does not hand it on"),
        ("colours", replace(answering(true_colour=None), colours="256"), "ok", "256", ""),
        ("colours", replace(answering(true_colour=None), colours="16"), "warn", "16", "export TERM=xterm-256color"),
        ("colours", with_env(replace(NO_ANSWERS, colours="16"), TERM="linux"), "ok", "16", ""),
        ("colours", with_env(replace(NO_ANSWERS, colours="16"), TERM="screen", STY="1.a"), "warn", "16", "~/.screenrc"),
        ("colours", in_tmux(features="clipboard,title"), "warn", "256", "set -as terminal-features ',xterm-kitty:RGB'"),
        ("colours", in_tmux(version="3.1c", features="title"), "warn", "256", "terminal-overrides ',xterm-kitty:Tc'"),
        ("colours", replace(IN_TMUX, colours="256"), "warn", "256", "set-environment -g COLORTERM truecolor"),
        # keys
        ("keys", answering(kitty_keys=False, modified_keys=True), "ok", "modifyOtherKeys", ""),
        ("keys", answering(kitty_keys=False), "warn", "Shift+Enter is Enter", "Ctrl+J"),
        ("keys", answering(kitty_keys=False, name="iTerm2 3.5"), "warn", "it sends", "CSI u"),
        ("keys", with_env(answering(kitty_keys=False), TERM_PROGRAM="vscode"), "warn", "it sends", "keybindings.json"),
        ("keys", with_env(answering(kitty_keys=False), WT_SESSION="x"), "warn", "it sends", '"sendInput"'),
        ("keys", NO_ANSWERS, "skip", "not known", ""),
        ("keys", in_tmux(extended_keys="off"), "warn", "in this tmux", "set -s extended-keys on"),
        ("keys", in_tmux(features="RGB"), "warn", "in this tmux", "terminal-features ',xterm-kitty:extkeys'"),
        ("keys", in_tmux(extended_keys="always"), "ok", "hands on Shift+Enter", ""),
        ("keys", in_tmux(version="3.1c", extended_keys="", features=""), "warn", "Shift+Enter is Enter", "Ctrl+J"),
        # modes
        ("modes", answering(modes={PASTE: False, MOUSE: True}), "warn", "does not mark", "bracketed paste"),
        ("modes", answering(modes={PASTE: True, HELD_FRAMES: False}), "ok", "marked pastes; not held frames", ""),
        ("modes", answering(modes={}), "skip", "does not say", ""),
        # the clipboard
        ("clipboard", replace(GOOD, copies_by=("wl-copy",), wanted=("wl-copy",)), "ok", "By wl-copy", ""),
        ("clipboard", with_env(TERM="linux"), "warn", "goes to a file", "OSC 52"),
        ("clipboard", replace(answering(name="VTE(7600)"), wanted=("xclip", "xsel")), "warn", "no text", "xclip or"),
        ("clipboard", with_env(VTE_VERSION="7600", **SSH), "warn", "no text", "OSC 52"),
        ("clipboard", with_env(TERM_PROGRAM="Apple_Terminal", **SSH), "warn", "no text", "OSC 52"),
        ("clipboard", in_tmux(set_clipboard="off"), "warn", "tmux's own buffer", "set -s set-clipboard on"),
        ("clipboard", in_tmux(set_clipboard="off", allow_passthrough="on"), "ok", "Past tmux", ""),
        ("clipboard", in_tmux(features="RGB"), "warn", "own buffer", "terminal-features ',xterm-kitty:clipboard'"),
        # tmux
        ("tmux", in_tmux(escape_time="500"), "warn", "500 ms behind Esc", "set -s escape-time 10"),
        ("tmux", with_env(IN_TMUX, TERM="xterm-256color"), "warn", "not what tmux is", "default-terminal"),
        ("tmux", with_env(IN_TMUX, TERM="screen"), "warn", "TERM is screen", "default-terminal tmux-256color"),
        ("tmux", in_tmux(focus_events="off"), "warn", "look elsewhere", "set -g focus-events on"),
        ("tmux", in_tmux(focus_events="on"), "ok", "It tells when you look elsewhere", ""),
        ("tmux", replace(IN_TMUX, tmux=None), "skip", "does not tell", ""),
        ("tmux", in_tmux(features=""), "ok", "tmux 3.3a", ""),
    ],
)  # fmt: skip
def test_each_check_says_what_is_wrong_and_the_line_that_mends_it(id_, terminal, state, words, fix):
    ((was, text, told),) = found(terminal, id_)
    assert was == state, text
    assert words in text
    assert fix in told
    assert bool(told) == (state in ("warn", "fail"))


def test_a_terminal_that_cannot_place_text_is_a_problem_and_a_plain_one_is_not():
    assert has_problem(checks(with_env(TERM="dumb")))
    assert has_problem(checks(measuring(Chinese=2)))
    plain = replace(NO_ANSWERS, env={"TERM": "linux"}, colours="16", described=None)
    assert not has_problem(checks(plain))


def test_what_a_terminal_calls_itself_cannot_act_on_it():
    for check in checks(with_env(replace(GOOD, described=False), TERM="x\x1b]0;t\x07", TERM_PROGRAM="\x1b[2J")):
        assert "\x1b" not in check.text + check.fix


@pytest.mark.parametrize(
    ("terminals", "group", "words"),
    [((True, False), 1, "no terminal"), ((False, True), 1, "no terminal"), ((True, True), 2, "background"),
     ((True, True), 1, ""), ((True, True), OSError(), "gone")],
)  # fmt: skip
def test_nothing_is_asked_where_nobody_answers(monkeypatch, terminals, group, words):
    def foreground(fd):
        if isinstance(group, OSError):
            raise group
        return group

    monkeypatch.setattr(terminal_probe.os, "isatty", lambda fd: terminals[fd])
    monkeypatch.setattr(terminal_probe.os, "tcgetpgrp", foreground)
    monkeypatch.setattr(terminal_probe.os, "getpgrp", lambda: 1)
    assert words in terminal_probe.cannot_ask()
    assert bool(words) == bool(terminal_probe.cannot_ask())
