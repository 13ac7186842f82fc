"""The commands of `--plain` that need no session: which there are, and what is to be learnt of the program."""

from importlib import import_module
from types import SimpleNamespace

import pytest

from agent_core.config.load import Config
from nanoherm_tui.actions import SLASH_ACTIONS
from nanoherm_tui.i18n import set_language, t, texts
from nanoherm_tui.plain import commands
from tests.rows import each_row


@pytest.fixture(autouse=True)
def english():
    set_language("en")
    yield
    set_language("en")


class Face:
    """What these commands know of a face."""

    home = "/home/me"

    def __init__(self, keymap=None, *, composer_keys="default", edits=True):
        values = {"keymap": keymap, "display.composer_keys": composer_keys}
        self.host = SimpleNamespace(config=Config(values, {"keymap": "command line"}))
        self.source = SimpleNamespace(edits=edits)
        self.lines = []

    def say(self, *lines):
        self.lines += lines

    def told(self, typed):
        self.lines.clear()
        commands.run(self, typed)
        return list(self.lines)


@each_row("action", SLASH_ACTIONS, ids=lambda action: action.slash)
def test_every_command_works_here_or_says_in_a_sentence_why_it_means_nothing(action):
    room = commands.ROOM_OF.get(action.id)
    if room is not None:
        assert callable(getattr(import_module(f"nanoherm_tui.plain.{room}"), action.id))
    else:
        for language in ("en", "zh"):
            set_language(language)
            told = Face().told(f"/{action.slash}{' x' if action.argument else ''}")
            assert told == [texts(language)[f"plain.no_{action.id}"]]


def test_the_tour_names_only_commands_that_there_are():
    told = " ".join(Face().told("/tour")).replace(",", " ").replace(".", " ").split()
    named = {word for word in told if word.startswith("/") and word[1:].islower()}
    assert len(named) > 8
    assert named <= {f"/{action.slash}" for action in SLASH_ACTIONS if action.id in commands.ROOM_OF}


def test_keys_tells_those_of_the_line_and_finds_those_of_the_screen():
    assert t("plain.keys_history") in Face().told("/keys")
    assert t("plain.keys_history") not in Face(edits=False).told("/keys")
    assert t("plain.keys_vi") in Face(composer_keys="vim").told("/keys")
    assert not [line for line in Face().told("/keys") if line.startswith("  ")]
    found = Face({"new": "f9"}).told("/keys new session")
    assert found[0] == "Everywhere:"
    assert "  New session: F9 (new)" in found
    assert len(Face().told("/keys all")) > 100
    assert Face().told("/keys nosuchkey") == [t("keys.none")]
    assert "nwe" in Face({"nwe": "f9"}).told("/keys palette")[-1]
