"""Changing one key of the config alters its lines and no others."""

from __future__ import annotations

import stat

import pytest
import yaml

from agent_core.config import schema
from agent_core.config.load import check_setting
from agent_core.config.write import set_key
from agent_core.errors import ConfigError
from tests.core.config_support import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


FULL = """\
# My settings
# 第一行

model:
  default: "a/b"   # the one I like
  provider: openai

  # base_url: nothing yet
unknown_key: {keep: me}   # kept

display:
    theme: 'dark'
    # language: zh

providers:
  mine:
    base_url: http://127.0.0.1:1   # local
    models: [x, y]
approvals:
  deny:
    - "rm *"
    - 'dd *'
  # end of the list
agent: {max_turns: 3}  # in one line
mcp_servers:
# the end
"""

# key, value, the lines that go (by their text), the lines that come
EDITS = {
    "a quoted value": (
        "model.default",
        "c/d",
        ['  default: "a/b"   # the one I like'],
        ["  default: c/d   # the one I like"],
    ),
    "another key of a section": (
        "model.base_url",
        "http://127.0.0.1:2/v1",
        [],
        ["  base_url: http://127.0.0.1:2/v1"],
    ),
    "a section with its own indentation": ("display.language", "zh", [], ["    language: zh"]),
    "a new section": ("terminal.timeout", 20, [], ["terminal:", "  timeout: 20"]),
    "a value in a mapping": (
        "providers.mine.base_url",
        "http://127.0.0.1:3",
        ["    base_url: http://127.0.0.1:1   # local"],
        ["    base_url: http://127.0.0.1:3   # local"],
    ),
    "a new entry of a mapping": (
        "providers.other.base_url",
        "x",
        [],
        ["  other:", "    base_url: x"],
    ),
    "a list in lines": (
        "approvals.deny",
        ["git push *"],
        ["  deny:", '    - "rm *"', "    - 'dd *'"],
        ["  deny: [git push *]"],
    ),
    "inside braces": (
        "agent.max_turns",
        9,
        ["agent: {max_turns: 3}  # in one line"],
        ["agent: {max_turns: 9}  # in one line"],
    ),
    "another key inside braces": (
        "agent.reasoning_effort",
        "low",
        ["agent: {max_turns: 3}  # in one line"],
        ["agent: {max_turns: 3, reasoning_effort: low}  # in one line"],
    ),
    "below an empty section": ("mcp_servers.time.command", "uvx", [], ["  time:", "    command: uvx"]),
    "a whole empty mapping": (
        "mcp_servers",
        {"a": {"command": "x"}},
        ["mcp_servers:"],
        ["mcp_servers: {a: {command: x}}"],
    ),
    "taking a key out": ("model.provider", None, ["  provider: openai"], []),
    "taking the last key of a section out": (
        "providers.mine",
        None,
        ["providers:", "  mine:", "    base_url: http://127.0.0.1:1   # local", "    models: [x, y]"],
        [],
    ),
    "taking out what is not there": ("stream.enabled", None, [], []),
    "a word that YAML reads otherwise": ("display.theme", "off", ["    theme: 'dark'"], ["    theme: 'off'"]),
    "chinese": ("display.theme", "深色", ["    theme: 'dark'"], ["    theme: 深色"]),
    "awkward characters": (
        "display.theme",
        'a: b # c "d" \u2028 e',
        ["    theme: 'dark'"],
        ['    theme: "a: b # c \\"d\\" \\L e"'],
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize(("key", "value", "gone", "new"), EDITS.values(), ids=EDITS)
def test_changing_a_key_alters_its_lines_only(tmp_path, key, value, gone, new, newline):
    file = tmp_path / "config.yaml"
    file.write_bytes(FULL.replace("\n", newline).encode())
    set_key(file, key, value)
    after = file.read_bytes().decode()
    assert after.count("\n") == after.count(newline)
    old, now = FULL.splitlines(), after.replace("\r\n", "\n").split("\n")
    if now[-1] == "":
        now.pop()
    expected = list(old)
    for line in gone:
        expected.remove(line)
    rest = list(now)
    for line in new:
        rest.remove(line)
    assert rest == expected, "the other lines are the same, in the same order"
    data = yaml.safe_load(after)
    for part in key.split("."):
        data = data.get(part) if isinstance(data, dict) else None
    assert data == value


SMALL = {
    "no file": (None, "display.theme", "x", "display:\n  theme: x\n"),
    "an empty file": ("", "display.theme", "x", "display:\n  theme: x\n"),
    "comments only": ("# hello", "display.theme", "x", "# hello\ndisplay:\n  theme: x\n"),
    "no line end at the end": ("display:\n  theme: y", "display.theme", "x", "display:\n  theme: x"),
    "a new key after it": ("display:\n  theme: y", "display.language", "zh", "display:\n  theme: y\n  language: zh\n"),
    "the model as a plain value": ("model: a # b\n", "model.default", "c", "model: {default: c} # b\n"),
    "beside the model as a plain value": (
        "model: a\n",
        "model.provider",
        "openai",
        "model: {default: a, provider: openai}\n",
    ),
    "a key without a value": ("display:\n  theme:   # none\n", "display.theme", "x", "display:\n  theme: x   # none\n"),
    "a block text": (
        "model:\n  default: >\n    a\n    b\n\n# c\nstream: {}\n",
        "model.default",
        "x",
        "model:\n  default: x\n\n# c\nstream: {}\n",
    ),
    "the last of two": ("display: {theme: a}\ndisplay: {theme: b}\n", "display.theme", "x", None),
    "an empty mapping in braces": ("providers: {}\n", "providers.a.model", "m", "providers: {a: {model: m}}\n"),
    "a list at the margin": (
        "approvals:\n  deny:\n  - a\n  - b\n  mode: smart\n",
        "approvals.deny",
        [],
        "approvals:\n  deny: []\n  mode: smart\n",
    ),
    "quoted names": ('"display":\n  "theme": a\n', "display.theme", "x", '"display":\n  "theme": x\n'),
    "the only key": ("display:\n  theme: a\n", "display.theme", None, ""),
}


@pytest.mark.parametrize(("before", "key", "value", "after"), SMALL.values(), ids=SMALL)
def test_odd_files_are_changed_too(tmp_path, before, key, value, after):
    file = tmp_path / "new" / "config.yaml"
    if before is not None:
        file.parent.mkdir()
        file.write_text(before)
    set_key(file, key, value)
    if after is not None:
        assert file.read_text() == after
    else:
        assert yaml.safe_load(file.read_text())["display"]["theme"] == value


REFUSED = {
    "an alias": ("base: &a x\ndisplay:\n  theme: *a\n", "display.theme"),
    "an anchor in use": ("display: &d\n  theme: &t x\nagent:\n  reasoning_effort: *t\n", "display.theme"),
    "braces around it all": ('{"display": {"theme": "x"}}\n', "display.theme"),
    "broken": ("display: [\n", "display.theme"),
}


@pytest.mark.parametrize(("text", "key"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_changed_safely_is_left_alone_with_words(tmp_path, text, key):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.yaml:\d+") as refused:
        set_key(file, key, "y")
    assert refused.value.code in ("cannot_edit", "bad_yaml")
    assert file.read_text() == text
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("display.them", "x", "unknown_key"),
        ("display.them", None, "unknown_key"),
        ("terminal.timeout", -1, "bad_value"),
    ],
)
def test_a_setting_is_checked_before_it_is_written(tmp_path, key, value, code):
    file = tmp_path / "config.yaml"
    with pytest.raises(ConfigError) as refused:
        set_key(file, key, value)
    assert refused.value.code == code
    assert not file.exists()


def test_the_mode_and_a_link_are_kept(tmp_path):
    real = tmp_path / "dotfiles.yaml"
    real.write_text("display: {theme: a}\n")
    real.chmod(0o640)
    link = tmp_path / "config.yaml"
    link.symlink_to(real)
    set_key(link, "display.theme", "b")
    assert link.is_symlink()
    assert real.read_text() == "display: {theme: b}\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    fresh = tmp_path / "fresh.yaml"
    set_key(fresh, "display.theme", "b")
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o600


def test_every_key_can_be_set_and_read_back(world):
    samples = {
        "text": "x",
        "flag": False,
        "whole": 2,
        "number": 1.5,
        "texts": ["a"],
        "list": [1],
        "mapping": {"a": "b"},
    }
    for key in schema.KEYS:
        value = key.choices[-1] if key.choices else samples.get(key.kind, "x/y")
        if key.name == "agent.disabled_toolsets":
            value = ["web"]  # what names no tool is warned about
        if key.name == "moa":
            value = {"presets": {}}  # so is what is no preset
        if key.kind in ("whole", "number") and not key.choices:
            value = max(key.least, min(value, key.most))
        set_key(world.places.config_file, key.name, value)
        assert world.load().get(key.name) == check_setting(key.name, value)
    assert world.load().warnings == ()
    for key in schema.KEYS:
        set_key(world.places.config_file, key.name, None)
    assert dict(world.load().values) == {key.name: key.default for key in schema.KEYS}
    assert world.places.config_file.read_text() == ""
