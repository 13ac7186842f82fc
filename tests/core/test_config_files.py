"""Files of the config that are none, are a project's, hold keys, or stand in for the command line."""

from __future__ import annotations

import os
import time

import pytest

from agent_core import limits
from agent_core.config.dotenv import parse_env
from agent_core.config.load import load, parse_value
from agent_core.errors import ConfigError
from tests.core.config_support import World
from tests.rows import each_row


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


# -- files that are no settings -----------------------------------------------------------------------------------


def bomb() -> str:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9))
    return f"l0: &l0 [x, x, x]\n{levels}\n"


BROKEN = {
    "bad indentation": ("display:\n  theme: x\n bad: y\n", "bad_yaml", ":3:"),
    "a tab": ("display:\n\ttheme: x\n", "bad_yaml", ":2:"),
    "unclosed quote": ('a: "x\n', "bad_yaml", ":"),
    "an alias of nothing": ("display: *nothing\n", "bad_yaml", ":1:"),
    "a list": ("- a\n- b\n", "bad_yaml", ":1:"),
    "a text": ("just words\n", "bad_yaml", ":1:"),
    "two documents": ("a: 1\n---\nb: 2\n", "bad_yaml", ":2:"),
    "aliases that multiply": (bomb(), "bad_yaml", "aliases"),
    "an alias of itself": ("providers: &p\n  x: *p\n", "bad_yaml", "aliases"),
    "deep brackets": ("a: " + "[" * 50_000, "bad_yaml", ""),
    "deep lists": ("a:\n " + "- " * 50_000 + "x", "bad_yaml", ""),
    "deep but balanced": ("a: " + "[" * 500 + "]" * 500, "bad_yaml", "nested too deep"),
    "a control character": ("a: \x00\n", "bad_yaml", ""),
    "a python object": ("a: !!python/object/apply:os.system ['true']\n", "unknown_key", ""),
    "too large": ("# " + "x" * limits.CONFIG_FILE, "too_large", "1024 KB"),
}


@pytest.mark.parametrize(("text", "code", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_and_left_out_and_the_others_count(world, text, code, words):
    world.write("hermes", "display: {theme: from-hermes}\n")
    file = world.write("user", text)
    before = time.process_time()
    config = world.load()
    assert time.process_time() - before < 5
    [warning] = config.warnings
    assert warning.code == code
    assert str(file) in warning.text
    assert words in warning.text
    assert config.get("display.theme") == "from-hermes"


def test_files_that_are_no_files_are_left_out_without_waiting(world):
    user = world.write("user", "")
    user.unlink()
    os.mkfifo(user)
    (world.home / ".hermes").write_text("a file where a folder is expected")
    (world.project / ".nanohermes/config.yaml").mkdir(parents=True)
    assert world.load().warnings == ()


def test_a_file_that_is_not_utf8_is_named_with_its_line(world):
    file = world.write("user", "a\nb\n")
    file.write_bytes("# 注释\ndisplay:\n  theme: 主题\n".encode("gb18030"))
    [warning] = world.load().warnings
    assert (warning.code, warning.line) == ("bad_encoding", 1)
    assert "UTF-8" in warning.text


# -- projects -----------------------------------------------------------------------------------------------------

PROJECT = {
    # text, key, whether it counts
    "the model": ("model: {default: p}", "model.default", True),
    "a model with a slash": ("model: {default: qwen9/p}", "model.default", True),
    "a model of another provider": ("model: {default: openrouter/p}", "model.default", False),
    "the theme": ("display: {theme: p}", "display.theme", True),
    "a lower bound": ("terminal: {timeout: 10}", "terminal.timeout", True),
    "the same bound": ("terminal: {timeout: 100}", "terminal.timeout", True),
    "a higher bound": ("terminal: {timeout: 101}", "terminal.timeout", False),
    "fewer steps": ("agent: {max_turns: 3}", "agent.max_turns", True),
    "endless steps": ("agent: {max_turns: 0}", "agent.max_turns", False),
    "endless steps by null": ("agent: {max_turns: null}", "agent.max_turns", False),
    "a first bound": ("stream: {idle_timeout: 10}", "stream.idle_timeout", True),
    "another server": ("model: {base_url: 'http://127.0.0.1:1'}", "model.base_url", False),
    "another provider": ("model: {provider: x}", "model.provider", False),
    "servers": ("providers: {openai: {base_url: 'http://127.0.0.1:1'}}", "providers", False),
    "less asking": ("approvals: {policy: never}", "approvals.policy", False),
    "no asking by Hermes' word": ("approvals: {mode: off}", "approvals.policy", False),
    "programs": ("mcp_servers: {x: {command: sh}}", "mcp_servers", False),
    "keys": ("keymap: {approve: x}", "keymap", False),
    "hosts of the web": ("web: {allow_hosts: [evil.example]}", "web.allow_hosts", False),
    "a server of this machine": ("web: {searxng_url: 'http://127.0.0.1:1'}", "web.searxng_url", False),
    "who is told of searches": ("web: {search_backend: duckduckgo}", "web.search_backend", False),
    "a way to the web": ("web: {proxy: 'http://evil.example:1'}", "web.proxy", False),
    "no guidance": ("context_files: {enabled: false}", "context_files.enabled", False),
}


@pytest.mark.parametrize("place", ["project", "project hermes"])
@pytest.mark.parametrize(("text", "key", "counts"), PROJECT.values(), ids=PROJECT)
def test_a_project_sets_harmless_keys_only(world, place, text, key, counts):
    world.write("user", "terminal: {timeout: 100}\n")
    before = world.load()
    file = world.write(place, text)
    config = world.load()
    if counts:
        assert config.warnings == ()
        assert config.sources[key] == str(file)
    else:
        assert config.get(key) == before.get(key)
        [warning] = config.warnings
        # What would loosen a guard is never a project's, trusted or not.
        never = key.startswith(("approvals.", "sandbox.", "web."))
        assert warning.code == ("never_from_project" if never else "not_trusted")
        assert [held.line for held in config.held] == ([] if never else [1])
        assert warning.text.startswith(f"{file}:1: ")


@pytest.mark.parametrize(
    ("user", "model", "counts"),
    [
        ("model: {provider: openrouter}", "deepseek/p", True),  # its names of models have slashes
        ("model: {provider: deepseek}", "deepseek/p", True),
        ("model: {provider: deepseek}", "openai/p", False),
        ("model: {provider: qwen}", "dashscope/p", True),
        ("model: {base_url: 'http://127.0.0.1:1/v1'}", "openai/p", True),
        ("providers: {mine: {base_url: 'https://x.invalid'}}", "mine/p", False),
        ("model: {provider: mine}\nproviders: {mine: {base_url: 'https://x.invalid'}}", "openai/p", True),
        ("model: {provider: openrouter}\nproviders: {mine: {base_url: 'https://x.invalid'}}", "mine/p", False),
        ("model: {provider: nobody}", "openai/p", False),
    ],
)
def test_a_project_does_not_choose_whose_server_is_asked(world, user, model, counts):
    world.write("user", user + "\n")
    world.write("project", f"model: {{default: {model}}}\n")
    config = world.load()
    assert config.get("model.default") == (model if counts else "")
    assert [w.code for w in config.warnings] == ([] if counts else ["not_trusted"])


def test_a_bad_value_of_a_project_leaves_the_users_own(world):
    world.write("user", "terminal: {timeout: 100}\n")
    world.write("project", "terminal: {timeout: never}\n")
    assert world.load().get("terminal.timeout") == 100


# -- .env ---------------------------------------------------------------------------------------------------------

ENV_LINES = {
    "A=b": "b",
    "A = b ": "b",
    "export A=b": "b",
    "A=": "",
    "A=a#b": "a#b",
    "A=a # comment": "a",
    "A=# comment": "",
    "A='a # b'": "a # b",
    'A="a # b" # c': "a # b",
    r'A="a\nb\"c\\"': 'a\nb"c\\',
    r"A='a\nb'": r"a\nb",
    "A=a=b==": "a=b==",
    "A=$HOME": "$HOME",
    "A=密钥": "密钥",
    'A="unclosed': None,
    "A='a' b": None,
    "1A=b": None,
    "A B=c": None,
    "no assignment": None,
}


@each_row(("line", "value"), ENV_LINES.items())
def test_a_line_of_an_env_file(line, value):
    values, bad = parse_env(f"# first\n\n{line}\n")
    assert values == ({} if value is None else {"A": (value, 3)})
    assert bad == ([3] if value is None else [])


def test_keys_come_from_both_homes_and_ours_go_first(world):
    world.write("hermes env", "OPENAI_API_KEY=theirs\nONLY_THEIRS=x\n")
    world.write("env", "OPENAI_API_KEY=first\nOPENAI_API_KEY=our-own\n")
    config = world.load()
    assert config.dotenv == {"OPENAI_API_KEY": "our-own", "ONLY_THEIRS": "x"}
    assert config.warnings == ()
    assert "our-own" not in repr(config)


def test_an_env_file_open_to_others_is_told(world):
    file = world.write("env", "A=secret\n")
    file.chmod(0o644)
    [warning] = world.load().warnings
    assert warning.code == "open_env"
    assert f"chmod 600 {file}" in warning.text


def test_a_setting_in_an_env_file_works_and_is_told(world):
    world.write("env", "X=1\nNANOHERMES_MODEL=m\n")
    config = world.load()
    assert config.get("model.default") == "m"
    [warning] = config.warnings
    assert (warning.code, warning.line, warning.key) == ("setting_in_env", 2, "NANOHERMES_MODEL")
    assert "model.default" in warning.text
    world.env["NANOHERMES_MODEL"] = "from-process"
    assert world.load().get("model.default") == "from-process"


# -- the command line ---------------------------------------------------------------------------------------------

TYPED = {
    ("agent.max_turns", "10"): 10,
    ("stream.enabled", "false"): False,
    ("model.default", "1.0"): "1.0",
    ("model.default", "null"): "",
    ("approvals.deny", "[rm *, 'dd *']"): ["rm *", "dd *"],
    ("providers", "{a: {base_url: x}}"): {"a": {"base_url": "x"}},
    ("display.theme", " mono "): "mono",
}


@pytest.mark.parametrize(("typed", "value"), TYPED.items())
def test_what_is_typed_becomes_the_keys_type(world, typed, value):
    key, text = typed
    config = load(world.places, world.env, {key: parse_value(text)})
    assert config.get(key) == value
    assert config.sources[key] == "command line"


@pytest.mark.parametrize(
    ("key", "value", "code", "words"),
    [
        ("display.them", "x", "unknown_key", "Did you mean display.theme?"),
        ("display", "x", "unknown_key", "There is no setting display."),
        ("", "x", "unknown_key", ""),
        ("terminal.timeout", "long", "bad_value", "terminal.timeout must be a number from 1 to 600"),
    ],
)
def test_a_mistake_on_the_command_line_is_an_error(world, key, value, code, words):
    with pytest.raises(ConfigError) as refused:
        load(world.places, world.env, {key: value})
    assert refused.value.code == code
    assert words in str(refused.value)


def test_brackets_that_do_not_match_are_told():
    with pytest.raises(ValueError, match="brackets"):
        parse_value("[a, b")
