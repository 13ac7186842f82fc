"""Settings as a person looks at them: where each is from, and that no secret is shown."""

from __future__ import annotations

import pytest

from agent_core.config import schema, settings
from agent_core.config.load import load
from agent_core.config.paths import find_places
from agent_core.safety.redact import MARK
from tests.rows import each_row

HIDDEN = "hunter2hunter2"


@pytest.fixture
def places(tmp_path):
    (tmp_path / "home" / ".nanohermes").mkdir(parents=True)
    (tmp_path / "ws" / ".git").mkdir(parents=True)
    return find_places(tmp_path / "ws", {"HOME": str(tmp_path / "home")})


def test_each_setting_names_the_line_that_counts(places):
    (places.hermes_home).mkdir()
    (places.hermes_home / "config.yaml").write_text("agent:\n  max_turns: 7\nstream: {enabled: false}\n")
    places.config_file.write_text("# mine\nmodel: some/model\ndisplay:\n  theme: ansi\n  theme: dark\nmax_turns: 9\n")
    config = load(places, {"NANOHERMES_BASE_URL": "http://127.0.0.1:1/v1"}, {"display.ascii": "on"})
    found = {one.key.name: one for one in settings.settings(config)}
    assert list(found) == [key.name for key in schema.KEYS]
    ours = str(places.config_file)
    rows = {
        "model.default": ("some/model", ours, 2),
        "display.theme": ("dark", ours, 5),
        "agent.max_turns": (9, ours, 6),
        "stream.enabled": (False, str(places.hermes_home / "config.yaml"), 3),
        "model.base_url": ("http://127.0.0.1:1/v1", "environment", 0),
        "display.ascii": (True, "command line", 0),
        "display.language": ("auto", "default", 0),
    }
    for name, expected in rows.items():
        assert (found[name].value, found[name].source, found[name].line) == expected, name


SHOWN = [
    ({"mine": {"api_key": HIDDEN, "api_key_env": "MINE_KEY"}}, {"mine": {"api_key": MARK, "api_key_env": "MINE_KEY"}}),
    ({"a": {"env": {"WHO": "me", "KEY": "${MY_KEY}"}}}, {"a": {"env": {"WHO": MARK, "KEY": "${MY_KEY}"}}}),
    ({"a": {"headers": {"X": [HIDDEN]}}}, {"a": {"headers": {"X": [MARK]}}}),
    ({"a": {"args": ["--token", HIDDEN, "run"]}}, {"a": {"args": ["--token", MARK, "run"]}}),
    ({"a": {"args": ["--keys-first", "--x=1"]}}, {"a": {"args": ["--keys-first", MARK]}}),
    ({"a": {"auth": {"client_secret": HIDDEN}, "tokens": 5}}, {"a": {"auth": {"client_secret": MARK}, "tokens": 5}}),
    (f"http://me:{HIDDEN}@proxy:1", f"http://me:{MARK}@proxy:1"),
    (["plain", "words"], ["plain", "words"]),
    ("", ""),
    (None, None),
]


@each_row(("value", "expected"), SHOWN)
def test_secrets_are_shown_nowhere(value, expected):
    assert settings.shown(value) == expected


def test_a_value_that_is_known_to_be_a_key_is_covered_wherever_it_stands():
    told = settings.shown({"a": {"command": "run oddly-named-42 now"}}, ["oddly-named-42"])
    assert told == {"a": {"command": f"run {MARK} now"}}


TYPED = [
    ("skills.disabled", ["a", "b"], ["a", "b"]),
    ("skills.disabled", ["[a, b]"], ["a", "b"]),
    ("skills.disabled", [""], []),
    ("model.default", ["none of [these]"], "none of [these]"),
    ("model.default", ['""'], ""),
    ("display.ascii", ["on"], "on"),
    ("hooks", ["{PreToolUse: []}"], {"PreToolUse": []}),
    ("stream.idle_timeout", ["null"], None),
]


@each_row(("name", "texts", "expected"), TYPED)
def test_what_is_typed_is_understood_by_the_key_it_is_for(name, texts, expected):
    key = schema.BY_PATH[tuple(name.split("."))]
    assert settings.typed(key, texts) == expected


def test_of_one_value_several_are_refused_and_the_words_say_what_is_taken():
    with pytest.raises(ValueError, match=r"display\.ascii takes one value: true or false"):
        settings.typed(schema.BY_PATH["display", "ascii"], ["on", "off"])


@each_row("key", [key for key in schema.KEYS if key.default is not None], ids=lambda key: key.name)
def test_every_default_can_be_typed_as_it_is_shown(key):
    words = settings.in_words(key.default)
    assert schema.checked(key, settings.typed(key, [words])) == key.default
