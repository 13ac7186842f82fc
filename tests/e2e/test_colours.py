"""Colours as they go to a terminal: one that tells its ground and one that does not, with 16, 256 or no colours."""

import re
import sys
import threading
import time

import pytest

from tests.e2e.screen import KEYS, Screen, home_env
from tests.e2e.tmux import HAS_TMUX, Tmux
from tests.fakes.model_server import ModelServer, Reply

ASK = b"\x1b]11;?\x1b\\"
FRAME = b"essage, "  # the caret stands on the first letter
LIGHT_GROUND, DARK_GROUND = b"48;2;252;252;250", b"48;2;20;22;27"


class Terminal(Screen):
    """A terminal that answers the question for its ground with `parts`, each `pause` seconds after the one before."""

    def __init__(self, *args, parts=(), pause=0.0, **options):
        self._parts, self._pause = parts, pause
        super().__init__(*args, **options)
        self._answering = threading.Thread(target=self._tell, daemon=True)
        self._answering.start()

    def _tell(self):
        end = time.monotonic() + 20
        while ASK not in self.raw:
            if time.monotonic() > end:
                return
            time.sleep(0.01)
        for part in self._parts:
            time.sleep(self._pause)
            self.send(part)

    def __exit__(self, *exc):
        self._answering.join(25)
        super().__exit__(*exc)


ANSWERS = {
    "white, ST": ["\x1b]11;rgb:ffff/ffff/ffff\x1b\\"],
    "hash, BEL": ["\x1b]11;#fdf6e3\x07"],
    "cut in the middle": ["\x1b]11;rgba:ffff/ff", "ff/ffff/ffff\x1b\\"],
    "cut in its end": ["\x1b]11;rgb:ff/ff/ff\x1b", "\\"],
    "cut at its start": ["\x1b]", "11;rgb:ffff/ffff/ffff\x1b\\"],
}


def some(cases, usual):
    """All cases, those but `usual` among the long tests: each costs a start."""
    return [pytest.param(*given, id=name, marks=[] if name in usual else pytest.mark.long) for name, given in cases]


# tests/tui/test_terminal_colours.py cuts an answer at every place.
@pytest.mark.parametrize("parts", some([(n, [p]) for n, p in ANSWERS.items()], {"hash, BEL", "cut at its start"}))
def test_a_light_ground_brings_the_light_theme_and_no_typed_characters(tmp_path, parts):
    with Terminal(["--demo"], env=home_env(tmp_path / "home"), cwd=tmp_path, parts=parts, pause=0.05) as screen:
        screen.wait_for("Scripted demo")
        _until(lambda: LIGHT_GROUND in screen.raw)
        screen.send(KEYS["ctrl+c"], settle=0.3)  # the demo's own words go
        screen.type("ok")
        screen.wait_for("ok")
        assert screen.raw.count(ASK) == 1
        assert not re.search(r"rgb|ffff|11;|\]1", screen.text)


def test_with_an_answer_at_once_nothing_is_ever_drawn_dark(tmp_path):
    # The first frame waits for nothing, and this terminal may be late on a busy machine: once in five is at once.
    for number in range(5):
        with Terminal(
            env=home_env(tmp_path / str(number)), cwd=tmp_path, parts=ANSWERS["white, ST"], fresh=True
        ) as screen:
            screen.wait_for("Message, ")
            _until(lambda: LIGHT_GROUND in screen.raw)
            screen.still()
            light = screen.raw.index(LIGHT_GROUND)
            assert screen.raw.index(ASK) < light
            assert DARK_GROUND not in screen.raw[light:]
            if light < screen.raw.index(FRAME):
                assert DARK_GROUND not in screen.raw
                return
    raise AssertionError("the light theme never came before the first frame")


def test_a_terminal_that_does_not_answer_is_asked_before_the_first_frame_and_holds_up_nothing(tmp_path):
    took = {}
    for name, answer in (("silent", []), ("dark", ["\x1b]11;#000000\x07"])):
        with Terminal(env=home_env(tmp_path / name), cwd=tmp_path, parts=answer, fresh=True) as screen:
            screen.wait_for("Message, ")
            raw, arrived = bytes(screen.raw), list(screen.arrivals)
            asked, drawn = raw.index(ASK), raw.index(FRAME)
            assert asked < raw.index(DARK_GROUND) < drawn
            assert LIGHT_GROUND not in raw
            when = [next(at for size, at in arrived if size > place) for place in (asked, drawn)]
            took[name] = when[1] - when[0]
    assert took["silent"] < 2 * took["dark"] + 0.5


def test_a_late_answer_is_swallowed_and_changes_only_the_theme(tmp_path):
    late = ["", "", "\x1b]11;rgb:ffff/ff", "ff/ffff\x1b\\"]
    with Terminal(env=home_env(tmp_path / "home"), cwd=tmp_path, parts=late, pause=0.7) as screen:
        screen.wait_for("Message, ")
        screen.type("half a word")
        _until(lambda: LIGHT_GROUND in screen.raw)
        screen.wait_for("half a word")
        assert not re.search(r"rgb|ffff", screen.text)


@pytest.mark.parametrize("theme", ["nanoherm-dark", "ansi", pytest.param("high-contrast", marks=pytest.mark.long)])
def test_a_chosen_theme_is_not_overridden_and_the_terminal_not_asked(tmp_path, theme):
    env = home_env(tmp_path / "home", COLORFGBG="0;15")
    with Screen(["--set", f"display.theme={theme}"], env=env, cwd=tmp_path) as screen:
        screen.wait_for("Message, ")
        screen.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\", settle=0.5)
        assert ASK not in screen.raw
        assert LIGHT_GROUND not in screen.raw
        assert "ffff" not in screen.text


def test_the_chosen_theme_survives_a_restart(tmp_path):
    env = home_env(tmp_path / "home")
    with Screen(env=env, cwd=tmp_path) as screen:
        screen.wait_for("Scripted demo")
        screen.send(KEYS["ctrl+p"])
        screen.wait_for("Action, mode, theme, session")
        screen.type("nanoherm-light")
        screen.send(KEYS["enter"])
        _until(lambda: "nanoherm-light" in _config(tmp_path))
    with Screen(env=env, cwd=tmp_path) as screen:
        screen.wait_for("Message, ")
        assert LIGHT_GROUND in screen.raw
        assert DARK_GROUND not in screen.raw
        assert ASK not in screen.raw


def test_every_theme_is_reached_by_keys(tmp_path):
    """Modes: test_modes_pty.py."""
    with Screen(env=home_env(tmp_path / "home"), cwd=tmp_path) as screen:
        screen.wait_for("Scripted demo")
        for theme in ("ansi", "high-contrast", "nanoherm-light", "nanoherm-dark", "auto"):
            screen.send(KEYS["ctrl+p"])
            screen.wait_for("Action, mode, theme, session")
            screen.type(f"theme {theme}")
            screen.send(KEYS["enter"])
            _until(lambda theme=theme: f"theme: {theme}" in _config(tmp_path))


JOB = [
    Reply(text="I look.", calls=[("read_file", {"path": "a.py"})]),
    Reply(calls=[("edit_file", {"path": "a.py", "old_text": "return 1", "new_text": "return 2"})]),
    Reply(text="Done: `a.py` **returns** 2.\n\n```python\ndef f():\n    return 'x'  # why\n```\n"),
]


def _work(tmp_path, env):
    """A turn with a change that is approved, then a selection; returns everything that was written."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("def f():\n    return 1\n")
    with ModelServer(JOB) as server:
        env = home_env(tmp_path / "home", NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model", **env)
        with Screen(env=env, cwd=folder) as screen:
            screen.wait_for("test-model")
            screen.send("go", settle=0.3)
            screen.send(KEYS["enter"])
            screen.wait_for("Change a.py?", "return 2")
            screen.rest(0.9)
            screen.send("y")
            screen.wait_for("returns 2.")
            screen.send("draft", settle=0.3)
            screen.send(KEYS["ctrl+p"])
            screen.wait_for("Action, mode, theme")
            shown = "\n".join(screen.still())
            raw = bytes(screen.raw)
    return raw, shown


TRUE = re.compile(rb"\x1b\[[0-9;]*[34]8;2;")
EIGHT_BIT = re.compile(rb"\x1b\[[0-9;]*[34]8;5;")
MORE = re.compile(rb"[34]8;(?:2;\d+;\d+;\d+|5;\d+)")
SIXTEEN = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|4[0-7]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
REVERSE = re.compile(rb"\x1b\[(?:[0-9;]*;)?7(?:;[0-9;]*)?m")


TERMINALS = [
    ("true colour", ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, True, False, False)),
    ("256", ({"TERM": "xterm-256color", "COLORTERM": ""}, False, True, False)),
    ("16", ({"TERM": "xterm-16color", "COLORTERM": ""}, False, False, True)),
    ("linux console", ({"TERM": "linux", "COLORTERM": ""}, False, False, True)),
    ("NO_COLOR", ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, False, False, False)),
    ("NO_COLOR with 16", ({"TERM": "xterm-16color", "COLORTERM": "", "NO_COLOR": "1"}, False, False, False)),
]
USUAL = {"true colour", "256", "linux console", "NO_COLOR with 16"}


@pytest.mark.parametrize(("env", "true", "eight_bit", "sixteen"), some(TERMINALS, USUAL))
def test_no_colour_is_sent_that_the_terminal_does_not_have(tmp_path, env, true, eight_bit, sixteen):
    raw, shown = _work(tmp_path, env)
    assert bool(TRUE.search(raw)) == true
    assert bool(EIGHT_BIT.search(raw)) == eight_bit
    assert bool(SIXTEEN.search(MORE.sub(b"0", raw))) == sixteen
    assert shown.isascii() == (env["TERM"] == "linux")
    if not true and not eight_bit:
        assert REVERSE.search(raw)  # the selection
        assert ASK not in raw


@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
@pytest.mark.parametrize(
    ("style", "ground"),
    [
        ("bg=#ffffff", LIGHT_GROUND),
        pytest.param("bg=#101010", DARK_GROUND, marks=pytest.mark.long),
        ("", DARK_GROUND),
    ],
)
def test_in_tmux_the_theme_follows_what_tmux_says_of_the_pane(tmp_path, style, ground):
    program = f"exec {sys.executable} -m nanoherm_tui --demo"
    command = ["sh", "-c", f"tmux set -w window-style '{style}'; {program}" if style else program]
    with Tmux(command=command, env=home_env(tmp_path / "home"), cwd=tmp_path) as screen:
        screen.wait_for("Scripted demo")
        screen.until(lambda: re.search(ground, screen.raw))
        screen.still()
        assert ASK in screen.raw
        assert not re.search(r"rgb|ffff|11;|\]1", screen.text)
        if ground == DARK_GROUND:
            assert LIGHT_GROUND not in screen.raw


def _config(tmp_path):
    file = tmp_path / "home" / ".nanohermes" / "config.yaml"
    return file.read_text() if file.exists() else ""


def _until(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
