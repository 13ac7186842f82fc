"""Who is called, when and how: the rules as tables, then the app with sessions that want somebody."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events as textual_events

from agent_core import events, intents
from agent_core.ports.asking import Question
from nanoherm_tui import attention, limits, symbols
from nanoherm_tui.attention import Call, Presence, calls, is_so, note_words, window_title
from nanoherm_tui.i18n import set_language
from nanoherm_tui.session_view import Waiting
from nanoherm_tui.terminal.notes import GIVE_TITLE_BACK, KEEP_TITLE, has_title, note, title, wants_name, way
from nanoherm_tui.terminal.tmux import Tmux
from nanoherm_tui.terminal.tmux import read as read_tmux
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.test_app import Stage

# -- how --------------------------------------------------------------------------------------------------------------

SEEN = Tmux("3.4", allow_passthrough="on", name="WezTerm 20240203", attached="1", shown="1", zoomed="0", active="1")
IN_TMUX = {"TERM": "tmux-256color", "TMUX": "/tmp/s,1,0", "TERM_PROGRAM": "tmux"}


def tmux(**fields):
    return Tmux(**{name: getattr(SEEN, name) for name in SEEN.__slots__} | fields)


@each_row(
    ("choice", "env", "around", "how"),
    [
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, None, "osc9"),
        ("auto", {"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, None, "osc9"),  # what ssh hands on
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, None, "osc777"),
        ("auto", {"TERM": "xterm-ghostty"}, None, "osc777"),
        ("auto", {"TERM": "foot"}, None, "osc777"),
        ("auto", {"TERM": "xterm-kitty", "TERM_PROGRAM": "iTerm.app"}, None, "osc777"),  # left over from around it
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "barefoot"}, None, "bell"),
        ("auto", {"TERM": "xterm-256color", "WT_SESSION": "1"}, None, "bell"),
        ("auto", {"TERM": "rxvt-unicode-256color"}, None, "bell"),
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, None, "bell"),
        ("auto", {}, None, "bell"),
        ("auto", {"TERM": "screen", "STY": "1.x", "LC_TERMINAL": "iTerm2"}, None, "bell"),
        ("osc9", {"TERM": "xterm"}, None, "osc9"),
        ("osc777", {"TERM": "xterm"}, None, "osc777"),
        ("bell", {"TERM": "xterm-kitty"}, None, "bell"),
        ("auto", IN_TMUX, SEEN, "osc777"),
        ("auto", IN_TMUX, tmux(name="", terminal="xterm-kitty"), "osc777"),
        ("auto", IN_TMUX, tmux(name="iTerm2 3.5"), "osc9"),
        ("auto", IN_TMUX, tmux(name="XTerm(379)"), "bell"),
        ("osc9", IN_TMUX, SEEN, "osc9"),
        ("osc9", IN_TMUX, tmux(allow_passthrough="off"), "bell"),
        ("osc9", IN_TMUX, tmux(allow_passthrough=""), "bell"),  # an older tmux has no such option
        ("osc9", IN_TMUX, tmux(shown="0"), "bell"),  # another window is in view: it would be dropped
        ("osc9", IN_TMUX, tmux(zoomed="1", active="0"), "bell"),
        ("osc9", IN_TMUX, tmux(shown="0", allow_passthrough="all"), "osc9"),
        ("osc9", IN_TMUX, tmux(attached="0", allow_passthrough="all"), "bell"),  # nobody is there
        ("osc9", IN_TMUX, None, "bell"),
    ],
)
def test_a_sequence_is_chosen_only_where_it_is_known_to_show(choice, env, around, how):
    assert way(choice, env, around) == how


@each_row(
    ("name", "how"),
    [
        ("WezTerm 20240203-110809", "osc777"), ("ghostty 1.1.0", "osc777"), ("foot(1.16.2)", "osc777"),
        ("iTerm2 3.5.4", "osc9"), ("XTerm(379)", "bell"), ("mintty 3.7", "bell"), ("", "bell"),
    ],
)  # fmt: skip
def test_a_terminal_that_only_its_own_answer_tells_of_is_asked_for_it(name, how):
    over_ssh = {"TERM": "xterm-256color", "SSH_TTY": "/dev/pts/1"}
    assert wants_name("auto", over_ssh)
    assert way("auto", over_ssh, name=name) == how
    assert way("bell", over_ssh, name=name) == "bell"


@each_row(
    ("choice", "env"),
    [("bell", {"TERM": "xterm"}), ("osc9", {"TERM": "xterm"}), ("auto", {"TERM": "xterm-kitty"}), ("auto", IN_TMUX),
     ("auto", {"TERM": "screen", "STY": "1"}), ("auto", {"TERM": "linux"}), ("auto", {})],
)  # fmt: skip
def test_one_that_is_known_or_could_not_be_heard_is_not_asked(choice, env):
    assert not wants_name(choice, env)


def test_what_tmux_prints_is_read_and_its_switches_by_name():
    values = ["3.3a", "500", "off", "external", "1", "256,RGB", "xterm-kitty", "0", "kitty(0.35)", "1", "1", "0", "1"]
    told = read_tmux("\n".join(values) + "\n")
    assert told is not None
    assert (told.allow_passthrough, told.focus_events, told.escape_time) == ("on", "off", "500")
    assert told.is_seen
    assert told.hands_on
    assert read_tmux("3.3a\n500") is None


@given(st.text(st.characters(codec="utf-8"), max_size=300) | st.sampled_from(["4;1;50", "\x1b]0;x\x07", "a\x9cb\x9d;"]))
def test_no_title_of_a_session_breaks_out_of_a_sequence(words):
    for sequence in (note("osc9", words), note("osc777", words), title(words)):
        inner = sequence.removeprefix("\x1b]").removesuffix("\x1b\\")
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in inner)
        assert len(sequence) < 1_000
    assert note("osc9", words).startswith("\x1b]9;nanoherm-tui: ")
    assert note("osc777", words).count(";") == 3
    assert note("bell", words) == "\x07"


def test_a_console_and_no_terminal_have_no_title():
    assert [has_title({"TERM": term}) for term in ("linux", "dumb", "", "xterm")] == [False, False, False, True]


# -- when -------------------------------------------------------------------------------------------------------------

UNSEEN = limits.NOTE_UNSEEN


@each_row(
    ("presence", "now", "misses"),
    [
        (Presence(told=True, focused=True), 100.0, limits.NOTE_SEEN),  # it may be turned away from at once
        (Presence(told=True, focused=True, last_input=100.5), 101.0, None),
        (Presence(told=True, focused=True), 1_000.0, None),
        (Presence(told=True, focused=False), 100.0, 0.0),
        (Presence(told=True, focused=False, last_input=99.9), 100.0, 0.0),
        (Presence(), 100.0, UNSEEN),
        (Presence(), 100.0 + UNSEEN, 0.0),
        (Presence(last_input=99.0), 101.0, UNSEEN - 1),  # the Enter before it is no sign of somebody who has seen it
        (Presence(last_input=101.0), 100.0 + UNSEEN, None),
    ],
)
def test_what_happened_at_100_is_missed_by_who_is_not_there(presence, now, misses):
    assert presence.misses(100.0, now) == misses


@dataclass
class View:
    id: str = "s"
    title: str = ""
    waiting: list = field(default_factory=list)
    state: str = "idle"
    turn_started: float = 0.0
    queued: tuple = ()


def question(name="q"):
    return Question("command", "Run a command", command=f"echo {name}", id=name)


def turn(outcome, seconds):
    return events.TurnFinished("t", outcome, 1, seconds)


@each_row(
    ("event", "reasons"),
    [
        (events.QuestionAsked(question(), 0.0), ["asks"]),
        (turn("completed", 10.0), ["done"]),
        (turn("cap", 11.0), ["done"]),
        (turn("failed", 60.0), ["failed"]),
        (turn("completed", 9.9), []),
        (turn("interrupted", 60.0), []),  # somebody stopped it
        (events.TextDelta("x"), []),
    ],
)
def test_a_question_and_the_end_of_a_long_turn_are_worth_a_call(event, reasons):
    assert [call.reason for call in calls(View(), [event], 10.0, 5.0)] == reasons


def test_what_is_over_is_not_told():
    asked, done = Call("asks", "s", "q", 0.0), Call("done", "s", "t", 0.0)
    waits = View(waiting=[Waiting(question(), 9.0)])
    assert is_so(asked, waits)
    assert not is_so(asked, View(waiting=[Waiting(question("other"), 9.0)]))
    assert not is_so(asked, None)
    assert is_so(done, View())
    assert not is_so(done, View(turn_started=1.0))
    assert not is_so(done, View(queued=("next",)))


@pytest.mark.parametrize(
    ("told", "en", "zh"),
    [
        ([("asks", "fix it")], "fix it asks you", "fix it：等你确认"),
        ([("done", "")], "A session is done", "一个会话：已完成"),
        ([("asks", "a"), ("done", "b"), ("failed", "c")], "a asks you, and 2 more", "a：等你确认，另有 2 条"),
        ([("done", "b"), ("failed", "c")], "c failed, and 1 more", "c：失败了，另有 1 条"),
    ],
)
def test_several_calls_are_told_in_one_and_a_question_first(told, en, zh):
    assert note_words(told) == en
    set_language("zh")
    assert note_words(told) == zh


def test_the_title_of_the_window_says_the_state_and_whose_it_is():
    here, other = View("a", "修复"), View("b", "notes")
    assert window_title([], None) == "nanoherm-tui"
    assert window_title([here, other], here) == "修复 - nanoherm-tui"
    here.turn_started = 1.0
    assert window_title([here], here) == "⠶ 修复"
    symbols.set_ascii(True)
    assert window_title([here], here) == "* 修复"
    symbols.set_ascii(False)
    here.turn_started, here.state = 0.0, "failed"
    assert window_title([here, other], here) == "✗ 修复"
    other.waiting = [Waiting(question(), 9.0)]
    assert window_title([here, other], here) == "? asks you - notes"
    here.waiting = [Waiting(question(), 9.0), Waiting(question("2"), 9.0)]
    assert window_title([here, other], here) == "? 3 ask you - 修复"


# -- in the app -------------------------------------------------------------------------------------------------------

ASKS = Reply(calls=[("run_command", {"command": "touch never"})])


async def test_a_session_out_of_view_calls_when_the_window_is_not_looked_at_and_not_while_it_is(tmp_path, monkeypatch):
    written, titles = [], []
    own = ("\x1b]2;", KEEP_TITLE)
    monkeypatch.setattr(
        attention, "write_terminal", lambda app, data: (titles if data.startswith(own) else written).append(data)
    )
    monkeypatch.setattr(limits, "NOTE_PAUSE", 0.2)
    for name in ("TMUX", "STY", "TERM_PROGRAM", "LC_TERMINAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "foot")
    async with Stage(tmp_path, [ASKS, Reply(text="Refused."), ASKS, Reply(text="Done.")]) as stage:
        app, first = stage.app, stage.app.view
        app.post_message(textual_events.AppFocus())
        await stage.type("fix it")
        await stage.until(lambda: first.waiting)
        await stage.pilot.pause(limits.NOTE_SEEN + 0.2)
        assert written == []
        first.session.send(intents.Answer(first.waiting[0].question.id, "refuse"))
        await stage.until(lambda: stage.state == "idle" and "Refused." in stage.transcript())
        app.conversations.bring(app.host.new)
        await stage.until(lambda: app.view is not first)
        app.post_message(textual_events.AppBlur())
        await stage.until(lambda: not app.app_focus)
        first.session.send(intents.Submit("again"))
        await stage.until(lambda: written)
        assert written == ["\x1b]777;notify;nanoherm-tui;fix it asks you\x1b\\"]
        assert app.conversations.questions == 1
        assert [item.state for item in app.sessions_pane._items if item.title == "fix it"] == ["asking"]
        # A turn that took long tells too; how long is a setting that acts at once.
        app.conversations.attention.use("display.notify_after", 0.0)
        first.session.send(intents.Answer(first.waiting[0].question.id, "refuse"))
        await stage.until(lambda: len(written) == 2)
        assert written[1].endswith(";fix it is done\x1b\\")
        app.conversations.attention.use("display.notify", "off")
        app.conversations.attention.follow(first, [turn("failed", 99.0)])
        await stage.pilot.pause(limits.NOTE_GATHER + 0.3)
        assert len(written) == 2
        # So does whether the window has a title of ours.
        titles.clear()
        for on in (True, False, False, True):
            app.conversations.attention.use("display.title", on)
        assert titles == [GIVE_TITLE_BACK, KEEP_TITLE, app.window_title]
        assert app.window_title.startswith("\x1b]2;")
