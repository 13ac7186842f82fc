"""What users of such programs run into, in a bare pty and inside tmux.

Bounds in seconds are those of a quiet machine; `SLACK` is for a busy one.
"""

import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyte
import pytest

from agent_core.store.sessions import Store
from tests.bench.content import history
from tests.e2e.conftest import KINDS, PARAMS, kind_of
from tests.e2e.screen import KEYS, ROOT, SLACK, UNKNOWN, Emulator, Screen, home_env, wcwidth
from tests.fakes.model_server import ModelServer, Reply

ERASE_ALL = re.compile(rb"\x1b\[[23]J|\x1bc")
TO_TRANSCRIPT, TO_COMPOSER = "\x1b2", "\x1b3"  # Alt+2, Alt+3
FRAME_BEGINS, FRAME_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"
CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])|[\x00-\x1f]")


def printed(data: bytes) -> bytes:
    """What was written without moves, colours and modes."""
    return CONTROL.sub(b"", data)


def echo(screen, key, shown):
    """Send a key; seconds until the user's terminal got `shown`."""
    user = screen.user
    since = len(user.raw)
    began = time.monotonic()
    screen.send(key)
    while shown.encode() not in printed(bytes(user.raw[since:])):
        assert time.monotonic() < began + 15, f"{shown!r} was never drawn"
        time.sleep(0.001)
    return time.monotonic() - began


# -- streaming and drawing ----------------------------------------------------------------------------------------

LINES = 200
TOKENS_A_SECOND = 200


def test_a_long_answer_is_drawn_without_erasing_the_screen(terminal, workspace, server_env):
    text = "".join(f"- {n:03} it\n" for n in range(LINES))  # ten characters: two tokens
    replies = [Reply(text=text, piece=5, gap=1 / TOKENS_A_SECOND)]
    more = {"holds_frames": True} if terminal is Screen else {}
    with (
        ModelServer(replies) as server,
        terminal(env=server_env(server), cwd=workspace, columns=80, rows=24, **more) as screen,
    ):
        screen.wait_for("test-model")
        screen.still()
        before, user_before = len(screen.raw), len(screen.user.raw)
        screen.submit("go")
        screen.wait_for(f"{LINES - 1:03} it", seconds=10 * SLACK)
        drawn = bytes(screen.raw[before:])
        assert not ERASE_ALL.search(drawn)
        assert not ERASE_ALL.search(bytes(screen.user.raw[user_before:]))
        if terminal is Screen:  # this tmux does not say that it can hold frames back, so there they have no marks
            outside = re.sub(re.escape(FRAME_BEGINS) + b".*?" + re.escape(FRAME_ENDS), b"", drawn, flags=re.DOTALL)
            assert drawn.count(FRAME_BEGINS) > 20
            assert printed(outside) == b""


MESSAGES = 2_000


@pytest.fixture(scope="module", params=PARAMS)
def long_session(request, tmp_path_factory):
    """The program in a session of 2,000 messages with 500 tool blocks, started once for the tests that look at it."""
    kind = kind_of(request)
    folder = tmp_path_factory.mktemp("long")
    (folder / "work").mkdir()
    store = Store.open(folder / "home" / ".nanohermes" / "state.db")
    session = store.create(str(folder / "work"), title="the long one", model="test-model").id
    for message in history(MESSAGES):
        store.append(session, message)
    store.close()
    report = folder / "report.json"
    with ModelServer([Reply(text="x")]) as server:
        env = home_env(folder / "home", NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        command = [sys.executable, "-m", "tests.bench.probe", str(report), "-r", session]
        with kind(command=command, env=env, cwd=folder / "work") as screen:
            screen.wait_for("end of history")
            screen.still(1.0)
            screen.send(TO_TRANSCRIPT, 0.3)
            screen.send(KEYS["home"])  # all of it is read then, not its end alone
            screen.wait_for("Question 0:")
            screen.send(KEYS["end"])
            screen.wait_for("end of history")
            screen.send(TO_COMPOSER, 0.3)
            screen.still(1.0)
            yield screen, report


def test_keys_are_answered_at_once_in_a_long_session(long_session):
    screen, _ = long_session
    waits = []
    for letter in "bcdfghjklmnpqrstvwxz" * 2:
        waits.append(echo(screen, letter, letter))
        time.sleep(0.03)
    screen.send(KEYS["ctrl+c"])
    screen.still()
    assert statistics.quantiles(waits, n=20)[-1] < 0.05 * SLACK, sorted(waits)[-5:]


def test_a_long_session_costs_few_widgets_and_no_cpu_at_rest(long_session):
    screen, report = long_session
    screen.still(1.0)
    clock = (~screen.program << 3) | 2  # the CPU clock of another process, as clock_getcpuclockid(3) makes it
    before, began = time.clock_gettime(clock), time.monotonic()
    time.sleep(3.0)
    used = (time.clock_gettime(clock) - before) / (time.monotonic() - began)
    report.unlink(missing_ok=True)
    screen.signal(signal.SIGUSR1)
    screen.until(report.exists)
    seen = json.loads(report.read_text())
    assert seen["widgets"] < 300
    # The probe itself looks at its clock 200 times a second, which costs about 2 %.
    assert used < 0.02 * SLACK, f"{used:.1%} of a core"


def test_gaining_and_losing_the_window_s_focus_costs_nothing(long_session):
    screen, _ = long_session
    with_focus, without = [], []
    for letter in "bcdfghjklmnpqrst":
        with_focus.append(echo(screen, "\x1b[O\x1b[I" + letter, letter))
        time.sleep(0.05)
        without.append(echo(screen, letter, letter))
        time.sleep(0.05)
    screen.send(KEYS["ctrl+c"])
    # On a busy machine the same letters without it tell how busy: styles are looked at anew, nothing is laid out.
    bound = max(0.05 * SLACK, 25 * statistics.median(without))
    assert statistics.median(with_focus) < bound, (sorted(with_focus), sorted(without))


CHUNKS = 500


def words(screen, first, last):
    """Rows of the transcript without the scrollbar, which moves."""
    return [line.removesuffix("▐").rstrip() for line in screen.lines[first:last]]


def test_who_reads_further_up_is_left_in_peace(terminal, workspace, server_env):
    old = "".join(f"- old line {n:03}, with words enough to be wrapped on a narrow screen\n" for n in range(80))
    gate = threading.Event()

    def reply(body, number):
        if number == 0:
            return Reply(text=old)
        gate.wait(20)
        return Reply(text="".join(f"- {n:04}\n" for n in range(CHUNKS)), piece=7, gap=0.004)

    with ModelServer(reply) as server, terminal(env=server_env(server), cwd=workspace, columns=100, rows=30) as screen:
        screen.wait_for("test-model")
        screen.submit("first")
        screen.wait_for("old line 079")
        screen.submit("second")
        screen.wait_for("step 1")
        screen.send(TO_TRANSCRIPT, 0.2)
        screen.send(KEYS["home"], 0.3)
        screen.wait_for("old line 000")
        top = words(screen, 2, 18)
        gate.set()
        screen.wait_for("new lines")
        marks = set()
        for _ in range(15):
            assert words(screen, 2, 18) == top
            marks.update(re.findall(r"(\d[\d,]*) new lines", screen.text))
            time.sleep(0.1)
        assert len(marks) > 3
        screen.send(KEYS["end"])
        screen.wait_for(f"{CHUNKS - 1:04}", seconds=20)
        screen.wait_for("new lines", gone=True)
        # Somewhere in the middle: the line at the top stays there whatever the size.
        for _ in range(3):
            screen.send(KEYS["pageup"], 0.15)
        screen.still()
        number = re.compile(r"(?<![-\w])\d{4}\b")  # not one in the workspace's name
        first = number.search(screen.text)[0]
        for size in ((60, 20), (120, 40), (100, 30)):
            screen.resize(*size)
            screen.still()
            assert number.search(screen.text)[0] == first, size


# -- what others print ----------------------------------------------------------------------------------------------

NASTY = b"a\x1b[2J\x1b[Hb\x1b]0;t\x07\x9bc\x00\rd"


def test_what_a_command_prints_moves_no_caret_and_sets_no_title(terminal, workspace, server_env):
    octal = "".join(f"\\{byte:03o}" for byte in NASTY)
    replies = [Reply(calls=[("run_command", {"command": f"printf '{octal}'"})]), Reply(text="All done.")]
    with ModelServer(replies) as server, terminal(env=server_env(server), cwd=workspace, columns=150) as screen:
        screen.wait_for("test-model", "Result")
        since = len(screen.raw)
        screen.submit("print it")
        screen.wait_for("y once")
        screen.rest(ARMED)
        screen.send("y")
        screen.wait_for("All done.")
        screen.send(TO_TRANSCRIPT, 0.2)
        screen.send("k", 0.1)
        screen.send("k", 0.1)  # from the answer to the card
        screen.send(KEYS["enter"])
        screen.wait_for("exit 0")
        # Sequences are gone, what is no character is a mark, a carriage return begins a row.
        screen.until(lambda: re.search(r"\bab.?c\s*\n[^\n]*\bd$", screen.text, re.MULTILINE))
        screen.still()
        assert "test-model" in screen.lines[-1]
        assert screen.title == "print it - nanoherm-tui"
        drawn = bytes(screen.raw[since:])
        assert not ERASE_ALL.search(drawn)
        for sequence in (b"\x1b]0;t", b"\x1b[H", b"\x07", b"\x00", b"\x9bc", "\x9b".encode()):
            assert sequence not in drawn, sequence


MARKUP = ("[/", "[0]", "[b + 1", "[r", "[data: /x?y=z-]")


def test_square_brackets_are_literal_everywhere(terminal, workspace, server_env):
    together = " ".join(MARKUP)
    (workspace / "brackets.txt").write_text("\n".join(MARKUP))
    question = {"question": f"Which? {together}", "options": [f"one {together}", "two"]}
    replies = [
        Reply(
            text=f"model {together}",
            reasoning=together,
            calls=[("read_file", {"path": "brackets.txt"}), ("read_file", {"path": f"gone {together}"})],
        ),
        Reply(calls=[("ask_user", question)]),
        Reply(status=400, body=json.dumps({"error": {"message": f"refused {together}"}})),
    ]
    with (
        ModelServer(replies) as server,
        terminal(env=server_env(server, NANOHERMES_MODEL="[b + 1"), cwd=workspace, columns=100, rows=50) as screen,
    ):
        screen.wait_for("[b + 1")
        screen.submit(f"user {together}")
        screen.wait_for(f"Which? {together}", f"one {together}", f"user {together}", f"model {together}")
        screen.rest(ARMED)
        screen.send("1", 0.2)
        screen.send(KEYS["enter"])
        screen.until(lambda: f"refused{together}".replace(" ", "") in screen.squeezed())
        screen.submit(f"/rename title {together}")
        screen.until(lambda: f"title {together}" in screen.lines[0])
        screen.send(TO_TRANSCRIPT, 0.2)
        screen.send("kkk", 0.2)
        screen.send(KEYS["f2"], 0.2)
        screen.wait_for("title [/")
        screen.send(KEYS["ctrl+p"], 0.2)
        screen.send(f"{together}")
        screen.wait_for(together)
        assert screen.alive


DARK_OR_SILENT = (pytest.param(ground, marks=pytest.mark.long) for ground in ("1111/1111/1111", None))


# The usual run has the dark and the silent one in test_colours.py.
@pytest.mark.parametrize("ground", ["ffff/ffff/ffff", *DARK_OR_SILENT])
def test_the_theme_follows_the_ground_of_the_terminal(home, workspace, ground):
    """Bare only: tmux answers the question itself, with what its own client told it, or not at all."""
    with (
        ModelServer([Reply(text="x")]) as server,
        Screen(
            env=home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model"),
            cwd=workspace,
            ground=ground,
        ) as screen,
    ):
        screen.wait_for("test-model")
        screen.still()
        light = b"48;2;252;252;250"  # the light theme's ground
        assert (light in screen.raw) == (ground == "ffff/ffff/ffff")
        assert "rgb" not in screen.text
        if ground is not None:
            assert re.search(rb"\x1b\]11;\?", screen.raw)


# -- Chinese ----------------------------------------------------------------------------------------------------------


def draft_of(screen):
    """The rows of the draft, from its prompt on, as (row, text)."""
    lines = screen.lines
    first = max((row for row, line in enumerate(lines) if "▐ › " in line), default=len(lines))
    rows = []
    for row in range(first, len(lines)):
        _, bar, text = lines[row].partition("▐")
        if not bar or not text.strip() or (rows and not text.startswith("   ")):  # the row that tells the keys
            break
        rows.append((row, text[3:].rstrip(" ▐")))  # behind the bar stands the prompt, on the first row alone
    return rows


@pytest.fixture(scope="module", params=KINDS)
def started(request, tmp_path_factory):
    """The program with an empty draft, started once for the tests that type into it and send nothing."""
    kind = kind_of(request)
    folder = tmp_path_factory.mktemp("typing")
    (folder / "work").mkdir()
    with ModelServer([Reply(text="x")]) as server:
        env = home_env(folder / "home", NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with kind(env=env, cwd=folder / "work", columns=100, rows=30) as screen:
            screen.wait_for("test-model")
            screen.server = server
            yield screen


@pytest.fixture
def typing(started):
    """`started`, left as it was found: its size, and an empty draft."""
    yield started
    started.resize(100, 30)
    emptied(started)
    started.still(0.15)


def emptied(screen):
    screen.still(0.15)
    if "Message, /command" not in screen.text:
        screen.send(KEYS["ctrl+c"])
        screen.wait_for("Message, /command")


def test_an_input_method_s_commit_is_text(typing):
    typing.inject(b"\x1b[49;;20320:22909u")
    typing.wait_for("› 你好")
    assert "20320" not in typing.text


def test_the_terminal_s_caret_stands_where_the_draft_s_does(typing):
    """An input method opens its box there. Cells from the first of the draft, rows from its first."""
    home = typing.cursor
    for keys, place in (
        ("你好", (4, 0)), (KEYS["left"], (2, 0)), ("a", (3, 0)), (KEYS["end"], (5, 0)),
        (KEYS["ctrl+j"], (0, 1)), ("世", (2, 1)), (KEYS["home"], (0, 1)),
    ):  # fmt: skip
        typing.send(keys)
        wanted = (home[0] + place[0], home[1] + place[1])
        # The composer grows upwards: its first row moves.
        typing.until(lambda wanted=wanted: typing.cursor[0] == wanted[0])
        typing.still(0.15)
        rows = draft_of(typing)
        assert typing.cursor == (wanted[0], rows[0][0] + place[1]), keys


def written(screen):
    return [text for _, text in draft_of(screen)] or [""]


def wrap_at(screen, cells):
    """Make the screen so narrow that the draft is `cells` wide."""
    screen.resize(60, 30)
    screen.send("x" * 100)
    screen.until(lambda: len((rows := written(screen))[0]) < 60 and "".join(rows) == "x" * 100)
    width = len(written(screen)[0])
    emptied(screen)
    screen.resize(60 - width + cells, 30)
    screen.still()


def test_wide_text_wraps_at_the_edge_without_ghosts(typing):
    wrap_at(typing, 20)
    empty, home = typing.still(), typing.cursor
    typing.type("你" * 10)
    typing.type("，")
    typing.until(lambda: written(typing) == ["你" * 9, "你，"])  # no row begins with a comma
    typing.until(lambda: typing.cursor == (home[0] + 4, draft_of(typing)[1][0]))
    for _ in range(11):
        typing.send("\x7f", 0.02)
    typing.until(lambda: typing.lines == empty and typing.cursor == home)
    assert typing.still() == empty
    # The last column: the caret of a full row stands on the next one, or on the row's last cell, never off the screen.
    typing.type("x" * 19)
    typing.until(lambda: typing.cursor == (home[0] + 19, home[1]))


COMMITS = [f"第{n}句，中文ok " if n % 3 else f"整句话一次到达{n}。" for n in range(20)]


def test_what_an_input_method_commits_while_an_answer_streams_keeps_its_order_and_the_caret(
    terminal, workspace, server_env
):
    """A commit is one write of several characters. The terminal's caret is where the next one goes, in each frame."""
    text = "".join(f"- line {n}, 一行中文\n" for n in range(150))
    more = {"holds_frames": True} if terminal is Screen else {}
    with (
        ModelServer([Reply(text=text, piece=6, gap=0.005)]) as server,
        terminal(env=server_env(server), cwd=workspace, columns=100, rows=30, **more) as screen,
    ):
        screen.wait_for("test-model")
        screen.submit("go")
        screen.wait_for("line 5")
        since = len(screen.user.raw)
        for number, commit in enumerate(COMMITS):
            data = commit.encode()
            # A read ends within a character; tmux waits for the rest of one no longer than its escape-time.
            if number % 5 == 4 and terminal is Screen:
                screen.send(data[:4], settle=0.02)
                data = data[4:]
            screen.send(data, settle=0.04)
        screen.until(lambda: "".join(written(screen)).endswith(COMMITS[-1].rstrip()), seconds=30)
        assert "".join(written(screen)).replace(" ", "") == "".join(COMMITS).replace(" ", "")
        if terminal is Screen:
            carets = list(frame_ends(bytes(screen.raw[:since]), bytes(screen.raw[since:]), screen))
            # A frame may be drawn before the blank that a commit ends with has been typed.
            wrong = [(at, end, lines) for at, end, lines in carets if at not in (end, blank_before(end))]
            assert carets
            assert not wrong, "\n".join([f"{wrong[0][:2]} of {len(carets)}", *wrong[0][2]])
        screen.wait_for("line 149", seconds=20)
        screen.still()
        assert screen.cursor == end_of_draft(screen)


def end_of_draft(screen):
    """The cell behind the draft's last character; a blank typed at its end counts."""
    row, text = draft_of(screen)[-1]
    bar = screen.lines[row].index("▐")
    return bar + 4 + sum(map(wcwidth, text)) + (text.endswith("ok")), row


def blank_before(end):
    return end[0] - 1, end[1]


class Frame:
    def __init__(self, lines):
        self.lines = lines


def frame_ends(before, after, screen):
    """Where the caret stands after each frame in `after`, and after what follows it, where it should, and the lines."""
    emulator = Emulator(screen.columns, screen.rows)
    stream = pyte.ByteStream(emulator)
    stream.feed(UNKNOWN.sub(b"", before))
    for frame in after.split(FRAME_BEGINS)[1:-1]:
        stream.feed(UNKNOWN.sub(b"", FRAME_BEGINS + frame))
        drawn = Frame(list(emulator.display))
        if "".join(written(drawn)).startswith(COMMITS[0][0]):  # not its placeholder
            yield (emulator.cursor.x, emulator.cursor.y), end_of_draft(drawn), drawn.lines


ODD = "a\ud83db\u2028c\x01d"


def test_odd_characters_are_stored_and_come_back_as_they_were_shown(terminal, home, workspace, server_env):
    replies = [
        Reply(text=f"odd {ODD} end", calls=[("read_file", {"path": f"no{ODD}"})], escaped=True),
        Reply(text="Second answer."),
    ]
    with ModelServer(replies) as server:
        env = server_env(server)
        with terminal(env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            screen.inject(b"\x1b[200~" + "one\u2028two\x01".encode() + b"\x1b[201~")
            screen.rest(0.3)
            screen.send(KEYS["enter"])
            screen.wait_for("Second answer.")
            shown = [line for line in screen.still() if "odd" in line]
            assert shown
            screen.submit("/exit")
            assert screen.wait_exit() == 0
        with terminal(["-c"], env=env, cwd=workspace) as screen:
            screen.wait_for("Second answer.")
            assert [line for line in screen.still() if "odd" in line] == shown
            screen.submit("third")
            screen.until(lambda: len(server.requests) == 3)
        assert server.violations == []
    first = server.requests[0]["messages"][-1]["content"]
    sent = next(m for m in server.requests[2]["messages"] if m["role"] == "assistant")
    assert re.fullmatch("one[\n\u2028]two", first)  # a paste is lines of text, however they were parted
    assert sent["content"] == f"odd {ODD} end".replace("\ud83d", "\ufffd")
    for path in (home / ".nanohermes").rglob("history*"):
        lines = path.read_bytes().rstrip(b"\n").split(b"\n")
        assert [json.loads(line) for line in lines]


# -- paste, keys --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marks", [False, True])
def test_lines_pasted_are_one_draft_and_nothing_is_sent(typing, marks):
    data = b"a\nb\nc\n"
    if marks:
        typing.send(b"\x1b[200~" + data + b"\x1b[201~")
    else:
        typing.inject(data)
    typing.until(lambda: [text for _, text in draft_of(typing)][:3] == ["a", "b", "c"])
    time.sleep(0.3)
    assert typing.server.requests == []


NEW_LINES = {
    "kitty's Shift+Enter": "\x1b[13;2u", "xterm's Shift+Enter": "\x1b[27;2;13~", "Alt+Enter": "\x1b\r",
    "Ctrl+J": "\n", "backslash and Enter": "\\\r",
}  # fmt: skip


@pytest.mark.parametrize("way", ["through the terminal", "byte for byte"])
@pytest.mark.parametrize("name", NEW_LINES)
def test_every_way_to_make_a_new_line_makes_one(typing, name, way):
    typing.send("one")
    typing.rest(0.1)
    keys = NEW_LINES[name]
    for part in ("\\", "\r") if name.startswith("backslash") else (keys,):
        typing.send(part) if way == "through the terminal" else typing.inject(part.encode())
        typing.rest(0.1)
    typing.send("two")
    typing.until(lambda: [text for _, text in draft_of(typing)] == ["one", "two"])
    assert typing.server.requests == []


# -- a question and the hand that types ---------------------------------------------------------------------------

ARMED = 0.9
"""Seconds of silence after which a question takes a letter, with slack for a loaded machine."""
KEYS_A_SECOND = 20


def test_a_question_that_comes_while_somebody_types_takes_none_of_it(terminal, workspace, server_env):
    replies = [Reply(hang=1.0, calls=[("run_command", {"command": "touch approved"})]), Reply(text="over")]
    typed = ("yes and no\r" * 5)[:50]
    with ModelServer(replies) as server, terminal(env=server_env(server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        screen.submit("go")
        for key in typed:  # 2.5 seconds; the question comes after one
            screen.send(key)
            time.sleep(1 / KEYS_A_SECOND)
        screen.wait_for("y once")
        assert not (workspace / "approved").exists()
        # Enter sends while a turn runs: what was typed waits above the draft or is in it, and nothing is lost.
        kept = screen.squeezed()
        assert kept.count("yesandno") + kept.count("yesand") >= 5, screen.text
        # Armed by silence alone, and then only a letter answers.
        screen.rest(ARMED)
        screen.send(KEYS["enter"], 0.3)
        assert not (workspace / "approved").exists()
        assert "y once" in screen.text
        screen.rest(ARMED)
        screen.send("y")
        screen.until((workspace / "approved").exists)  # the keys above could have


# -- silence and floods ----------------------------------------------------------------------------------------------


def test_a_stream_that_falls_silent_is_replaced_by_the_next_try(terminal, home, workspace, server_env):
    def reply(body, number):
        if number == 0:
            return Reply(text="Half of an answer that never ends", piece=6, stall=60)
        return Reply(text="The whole answer.")

    with (
        ModelServer(reply) as server,
        terminal(["--set", "stream.idle_timeout=2"], env=server_env(server), cwd=workspace) as screen,
    ):
        screen.wait_for("test-model")
        screen.submit("go")
        screen.wait_for("Half of an answer")
        screen.wait_for("The whole answer.", seconds=10 * SLACK)
        screen.wait_for("Half of an answer", gone=True)
    store = Store.open(home / ".nanohermes" / "state.db")
    assert [m.text for m in store.messages(store.list()[0].id)] == ["go", "The whole answer."]
    store.close()


FLOOD = "yes | head -c {lines}M; head -c {line}M /dev/zero | tr '\\0' x"


@pytest.mark.parametrize(("lines", "line"), [(70, 40), pytest.param(300, 50, marks=pytest.mark.long)])
def test_a_flood_of_output_fills_neither_memory_nor_screen_nor_window(home, workspace, server_env, lines, line):
    """Megabytes: several times what the program may grow by."""
    read = {}

    def reply(body, number):
        if number == 0:
            return Reply(calls=[("run_command", {"command": "seq 5000; touch warm"})])
        if number == 1:
            return Reply(text="Warm.")  # what a first command loads is loaded
        if number == 2:
            return Reply(calls=[("run_command", {"command": FLOOD.format(lines=lines, line=line)})])
        if number == 3:
            read["result"] = body["messages"][-1]["content"]
            read["path"] = re.search(r'<persisted-output path="([^"]+)"', read["result"])[1]
            return Reply(calls=[("read_file", {"path": read["path"], "limit": 3})])
        return Reply(text="All read.")

    def resident():
        status = Path(f"/proc/{screen.program}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def asked(words):
        screen.submit(words)
        screen.wait_for("y once")
        screen.rest(ARMED)
        screen.send("y")

    with ModelServer(reply) as server, Screen(env=server_env(server), cwd=workspace, columns=150, fresh=True) as screen:
        screen.wait_for("test-model", "Result")
        asked("warm up")
        screen.wait_for("Warm.")
        screen.still(1.0)
        before, peak = resident(), 0.0
        asked("flood")
        end = time.monotonic() + 60
        while "All read." not in screen.text:
            assert time.monotonic() < end, screen.text
            if not read:  # what reading it back takes for a moment follows from the file's bound
                peak = max(peak, resident())
            time.sleep(0.02)
        assert peak - before < 20, f"{before:.0f} MB grew to {peak:.0f} MB"
        assert sum("xxxxxxxx" in line or line.strip() == "y" for line in screen.lines) <= 20
        assert len(read["result"].encode()) <= 20 * 1024
        assert read["result"].count("y\n") > 100, "the beginning"
        assert "xxxxxxxx" in read["result"], "the end"
        assert not server.violations
    shown = server.requests[4]["messages"][-1]["content"]
    assert shown.count("y") >= 3
    assert "efused" not in shown


def test_keys_typed_before_the_first_frame_are_kept(terminal, workspace, server_env):
    with (
        ModelServer([Reply(text="x")]) as server,
        terminal(env=server_env(server), cwd=workspace, fresh=True) as screen,
    ):
        screen.send("early words")
        screen.wait_for("early words", "test-model")


@pytest.mark.parametrize(("flag", "seconds"), [("--version", 0.15), ("--help", 0.2)])
def test_a_question_about_the_program_is_answered_at_once(home, workspace, flag, seconds):
    """Seconds of a core: on a busy machine the answer waits for one, and says so of nothing but the machine."""
    env = {**os.environ, **home_env(home), "PYTHONPATH": str(ROOT)}
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        argv = [sys.executable, "-m", "nanoherm_tui", flag]
        subprocess.run(argv, cwd=workspace, env=env, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < seconds * SLACK, times
