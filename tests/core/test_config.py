"""Settings: which layer wins, what a bad line costs, and what a change to a file leaves alone."""

from __future__ import annotations

import os
import stat
import textwrap
import time
from pathlib import Path

import pytest
import yaml

from agent_core import limits
from agent_core.config import schema
from agent_core.config.dotenv import parse_env
from agent_core.config.load import check_setting, load, parse_value
from agent_core.config.paths import find_places
from agent_core.config.write import set_key
from agent_core.errors import ConfigError


class World:
    """A home and a project on disk; `load` reads what was written into it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.cwd = self.project / "src" / "deep"
        self.cwd.mkdir(parents=True)
        self.home.mkdir()
        (self.project / ".git").mkdir()
        self.env = {"HOME": str(self.home)}

    def write(self, place: str, text: str) -> Path:
        file = {
            "user": self.home / ".nanohermes/config.yaml",
            "hermes": self.home / ".hermes/config.yaml",
            "project": self.project / ".nanohermes/config.yaml",
            "project hermes": self.project / ".hermes/config.yaml",
            "env": self.home / ".nanohermes/.env",
            "hermes env": self.home / ".hermes/.env",
        }[place]
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text), "utf-8")
        file.chmod(0o600)
        return file

    @property
    def places(self):
        return find_places(self.cwd, self.env)

    def load(self, **overrides):
        return load(self.places, self.env, {k.replace("__", "."): v for k, v in overrides.items()})


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


# -- places -------------------------------------------------------------------------------------------------------


def test_the_homes_are_found(world):
    places = world.places
    assert places.data_home == world.home / ".nanohermes"
    assert places.hermes_home == world.home / ".hermes"
    assert places.project_root == world.project
    assert places.workspace == world.cwd
    assert places.project_dir is None
    assert (places.config_file.name, places.env_file.name, places.state_db.name) == ("config.yaml", ".env", "state.db")
    parts = (places.history_file, places.themes_dir, places.logs_dir, places.config_file)
    assert all(path.parent == places.data_home for path in parts)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/elsewhere/nano", "/elsewhere/nano"),
        ("~/nano", "{home}/nano"),
        ("nano", "{cwd}/nano"),
        ("", "{home}/.nanohermes"),
    ],
)
def test_the_home_can_be_moved(world, given, expected):
    world.env["NANOHERMES_HOME"] = given
    assert str(world.places.data_home) == expected.format(home=world.home, cwd=world.cwd)


def test_the_project_folder_is_the_nearest_within_the_repository(world):
    (world.project.parent / ".nanohermes").mkdir()
    assert world.places.project_dir is None, "above the repository is not the project"
    world.write("project", "")
    assert world.places.project_dir == world.project / ".nanohermes"
    (world.project / "src/.nanohermes").mkdir()
    assert world.places.project_dir == world.project / "src/.nanohermes"


def test_without_a_repository_only_the_workspace_is_the_project(world):
    (world.project / ".git").rmdir()
    world.write("project", "")
    assert world.places.project_dir is None
    assert find_places(world.project, world.env).project_dir == world.project / ".nanohermes"
    assert find_places(world.project, world.env).project_root is None


def test_the_homes_are_no_project(world):
    world.write("user", "approvals: {policy: never}")
    world.write("hermes", "")
    (world.home / ".git").mkdir()
    places = find_places(world.home, world.env)
    assert (places.project_dir, places.project_hermes_dir) == (None, None)
    config = load(places, world.env)
    assert config.get("approvals.policy") == "never"
    assert config.warnings == ()


# -- layers -------------------------------------------------------------------------------------------------------

ORDER = ["default", "hermes", "user", "project hermes", "project", "environment", "command line"]


@pytest.mark.parametrize("top", range(1, len(ORDER)))
def test_a_higher_layer_wins(world, top):
    for place in ORDER[1 : min(top, 4) + 1]:
        world.write(place, f"model:\n  default: from-{place.replace(' ', '-')}\n")
    if top >= 5:
        world.env["NANOHERMES_MODEL"] = "from-environment"
    config = world.load(**({"model__default": "from-command-line"} if top == 6 else {}))
    assert config.get("model.default") == "from-" + ORDER[top].replace(" ", "-")
    assert config.warnings == ()
    source = config.sources["model.default"]
    assert source == ORDER[top] if top >= 5 else source.endswith("config.yaml")


def test_without_files_every_key_has_its_default(world):
    config = world.load()
    assert dict(config.values) == {key.name: key.default for key in schema.KEYS}
    assert set(config.sources.values()) == {"default"}
    assert config.warnings == ()
    for key in schema.KEYS:
        if key.default is not None:
            assert schema.checked(key, key.default) == key.default, f"the default of {key.name} is allowed"
    with pytest.raises(KeyError):
        config.get("no.such")
    with pytest.raises(KeyError):
        config.mapping("no")


def test_defaults_are_not_shared_between_loads(world):
    world.load().get("providers")["mine"] = {}
    assert world.load().get("providers") == {}


def test_mappings_merge_and_lists_replace(world):
    world.write(
        "hermes",
        """
        providers:
          a: {base_url: "http://127.0.0.1:1", models: [x, y]}
          b: {base_url: "http://127.0.0.1:2"}
        approvals:
          deny: ["rm *", "dd *"]
        """,
    )
    world.write("user", "providers:\n  a: {models: [z]}\napprovals:\n  deny: ['git push *']\n")
    config = world.load(providers__c__base_url="http://127.0.0.1:3")
    assert config.mapping("providers") == {
        "a": {"base_url": "http://127.0.0.1:1", "models": ["z"]},
        "b": {"base_url": "http://127.0.0.1:2"},
        "c": {"base_url": "http://127.0.0.1:3"},
    }
    assert config.get("approvals.deny") == ["git push *"]
    assert config.mapping("approvals")["timeout"] == limits.APPROVAL_TIMEOUT


def test_the_server_of_hermes_is_not_mixed_with_ours(world):
    world.write("hermes", "model: {default: a, provider: openrouter, base_url: 'https://openrouter.ai/api/v1'}\n")
    assert world.load().get("model.base_url") == "https://openrouter.ai/api/v1"
    world.write("user", "model: {default: b, provider: openai}\n")
    config = world.load()
    assert config.get("model.provider") == "openai"
    assert config.get("model.base_url") == ""
    world.env["NANOHERMES_BASE_URL"] = "http://127.0.0.1:9/v1"
    assert world.load().get("model.base_url") == "http://127.0.0.1:9/v1"
    assert world.load().get("model.provider") == "openai"


# -- values -------------------------------------------------------------------------------------------------------

VALUES = {
    "the model as a plain value": ("model: some/name", "model.default", "some/name"),
    "the model by its other name": ("model: {model: x}", "model.default", "x"),
    "a name that is a number": ("model: {default: 4.10}", "model.default", "4.10"),
    "a name that is a date": ("model: {default: 2024-01-01}", "model.default", "2024-01-01"),
    "auto is empty": ("model: {provider: auto}", "model.provider", ""),
    "off is a word here": ("approvals: {mode: off}", "approvals.mode", "off"),
    "never by Hermes' word": ("approvals: {mode: off}", "approvals.policy", "never"),
    "our word goes first": ("approvals: {mode: off, policy: always}", "approvals.policy", "always"),
    "choices ignore case": ("logging: {level: INFO}", "logging.level", "info"),
    "a number": ("terminal: {timeout: 300}", "terminal.timeout", 300.0),
    "a quoted number": ("terminal: {timeout: '300'}", "terminal.timeout", 300.0),
    "a bound": ("agent: {max_turns: 60}", "agent.max_turns", 60),
    "no bound": ("agent: {max_turns: null}", "agent.max_turns", 0),
    "no bound by word": ("agent: {max_turns: unlimited}", "agent.max_turns", 0),
    "no bound below zero": ("agent: {max_turns: -1}", "agent.max_turns", 0),
    "the older place": ("max_turns: 7", "agent.max_turns", 7),
    "a flag": ("stream: {enabled: no}", "stream.enabled", False),
    "a fallback as a mapping": ("fallback_model: {provider: openai, model: m}", "fallback_model", "openai/m"),
    "a fallback as a name": ("fallback_model: m", "fallback_model", "m"),
    "nothing after the key": ("display:\n  theme:\n", "display.theme", "auto"),
    "an empty section": ("mcp_servers:\n# none yet\n", "mcp_servers", {}),
    "clock times stay texts": ("mcp_servers: {a: {ports: [22:22]}}", "mcp_servers", {"a": {"ports": ["22:22"]}}),
    "merge keys": (
        "base: &b {theme: mono}\ndisplay: {<<: *b, language: zh}\n",
        "display.theme",
        "mono",
    ),
    "byte order mark": ("\ufeffdisplay: {theme: x}\n", "display.theme", "x"),
    "windows line ends": ("display:\r\n  theme: x\r\n", "display.theme", "x"),
    "json": ('{"display": {"theme": "x"}}', "display.theme", "x"),
}


@pytest.mark.parametrize(("text", "key", "value"), VALUES.values(), ids=VALUES)
def test_a_value_is_read_as_its_key_means_it(world, text, key, value):
    world.write("user", text)
    config = world.load()
    assert config.get(key) == value
    assert type(config.get(key)) is type(value)
    assert [w.code for w in config.warnings if w.code != "unknown_key"] == []


BAD_VALUES = {
    "not a number": ("terminal:\n  timeout: soon\n", 2, "terminal.timeout", "a number from 1 to 600"),
    "too large": ("terminal:\n  timeout: 601\n", 2, "terminal.timeout", "from 1 to 600"),
    "not finite": ("terminal:\n  timeout: .inf\n", 2, "terminal.timeout", "from 1 to 600"),
    "not whole": (
        "agent:\n  max_turns: 1.5\n",
        2,
        "agent.max_turns",
        "a whole number of at least 0, or 0 for no bound",
    ),
    "a flag as a number": ("agent:\n\n  max_turns: yes\n", 3, "agent.max_turns", "a whole number"),
    "not a choice": ("# x\napprovals: {policy: yolo}\n", 2, "approvals.policy", "one of untrusted, always, never"),
    "a remote back end": ("terminal:\n  backend: docker\n", 2, "terminal.backend", "one of local"),
    "not a flag": ("stream:\n  enabled: maybe\n", 2, "stream.enabled", "true or false"),
    "a list for a text": ("model:\n  default: [a]\n", 2, "model.default", "a text"),
    "a text for a list": ("approvals:\n  deny: rm *\n", 2, "approvals.deny", "a list of texts"),
    "a list of other things": ("approvals:\n  deny: [1]\n", 2, "approvals.deny", "a list of texts"),
    "a text for a mapping": ("mcp_servers: none\n", 1, "mcp_servers", "a mapping"),
    "a text for a section": ("display: dark\n", 1, "display", "must hold keys of its own"),
    "a list for a section": ("display: [dark]\n", 1, "display", "must hold keys of its own"),
}


@pytest.mark.parametrize(("text", "line", "key", "words"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_value_is_named_with_its_line_and_the_default_is_used(world, text, line, key, words):
    file = world.write("user", text)
    config = world.load()
    [warning] = config.warnings
    assert (warning.file, warning.line, warning.key, warning.code) == (str(file), line, key, "bad_value")
    assert warning.text.startswith(f"{file}:{line}: {key} must")
    assert words in warning.text
    assert dict(config.values) == {k.name: k.default for k in schema.KEYS}


def test_a_warning_never_repeats_a_value(world):
    secret = "sk-" + "a1" * 20
    world.write(
        "user", f"agent: {{max_turns: {secret}}}\nstream: {{enabled: {secret}}}\napprovals: {{deny: {secret}}}\n"
    )
    world.write("env", f"NANOHERMES_MODEL={secret}\nbroken {secret}\n")
    config = world.load()
    assert len(config.warnings) == 5
    assert secret not in repr(config.warnings)


UNKNOWN = {
    "a letter off": ("display:\n  them: x\n", 2, "display.them", "Did you mean display.theme?"),
    "a section off": ("\ndisplays: {theme: x}\n", 2, "displays", "Did you mean display?"),
    "the wrong section": ("agent:\n  theme: x\n", 2, "agent.theme", "Did you mean display.theme?"),
    "no idea": ("zzz: 1\n", 1, "zzz", "Check its spelling"),
    "a hook's": (
        "hooks:\n  post_tool_call:\n    - command: echo\n      timeout: 3\n      args: [x]\n",
        5,
        "hooks.post_tool_call.args",
        "stands in command",
    ),
    "a dot in the key": ("display.theme: x\n", 1, "display.theme", "Check its spelling and its indentation"),
}


@pytest.mark.parametrize(("text", "line", "key", "words"), UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_name(world, text, line, key, words):
    file = world.write("user", text)
    [warning] = world.load().warnings
    assert (warning.line, warning.key, warning.code) == (line, key, "unknown_key")
    assert warning.text.startswith(f"{file}:{line}: ")
    assert words in warning.text


def test_keys_of_hermes_that_are_not_used_load_silently_and_are_listed(world):
    text = """
        browser: {inactivity_timeout: 120}
        terminal: {cwd: ".", docker_volumes: [a]}
        agent: {verbose: false, service_tier: flex}
        """
    for place in ("user", "hermes"):
        world.write(place, text)
        config = world.load()
        assert config.warnings == ()
        assert config.unused == (
            "browser",
            "terminal.cwd",
            "terminal.docker_volumes",
            "agent.verbose",
            "agent.service_tier",
        )
        (world.home / ".nanohermes/config.yaml").write_text("")


def test_a_key_of_a_newer_hermes_is_not_our_business(world):
    world.write("hermes", "brand_new: {x: 1}\ndisplay: {brand_new: 1}\n")
    config = world.load()
    assert config.warnings == ()
    assert config.unused == ("brand_new", "display.brand_new")


def test_a_key_given_twice_is_told(world):
    file = world.write("user", "display: {theme: a}\nagent: {max_turns: 3}\ndisplay: {theme: b}\n")
    config = world.load()
    [warning] = config.warnings
    assert (warning.code, warning.line) == ("twice", 3)
    assert str(file) in warning.text
    assert config.get("display.theme") == "b"


def test_a_file_of_wrong_keys_is_told_within_bounds(world):
    world.write("project", "".join(f"displey_{n}: 1\n" for n in range(9000)))
    before = time.process_time()
    warnings = world.load().warnings
    assert time.process_time() - before < 5
    assert len(warnings) == limits.CONFIG_WARNINGS + 1
    assert f"{9000 - limits.CONFIG_WARNINGS} more lines" in warnings[-1].text


def test_a_key_that_is_no_name_is_told(world):
    world.write("user", f"? [a, b]\n: 1\n{'x' * 500}: 1\n")
    assert [(w.code, w.line) for w in world.load().warnings] == [("bad_key", 1), ("bad_key", 3)]
    assert all(len(w.text) < 500 for w in world.load().warnings)


def test_names_from_a_file_cannot_act_on_the_terminal(world):
    world.write("project", '"\\e]0;title\\a\\u202e": 1\ndisplay: {"\\x9b31m": 1}\n')
    warnings = world.load().warnings
    assert len(warnings) == 2
    assert all(w.text.isprintable() and w.key.isprintable() for w in warnings)


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


@pytest.mark.parametrize(("line", "value"), ENV_LINES.items())
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


# -- changing one key ---------------------------------------------------------------------------------------------

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


def test_a_manner_of_speaking_that_is_no_text_is_named_with_its_line(world):
    file = world.write(
        "user",
        """\
        personalities:
          pirate: Arr.
          list: [1, 2]
          gone:
          also: ""
          parts: {tone: dry, temperature: 0.5}
          odd: {system_prompt: [x]}
          海盗: 3
        """,
    )
    wrong = [(warning.file, warning.line, warning.key) for warning in world.load().warnings]
    names = {3: "list", 6: "parts.temperature", 7: "odd", 8: "海盗"}
    assert wrong == [(str(file), line, f"personalities.{name}") for line, name in names.items()]


@pytest.mark.parametrize("owner", ["user", "project"])
@pytest.mark.parametrize("value", ["5", "word", "[a]", "[[a, b]]", "[{a: 5}]", "!!binary aa", "2026-01-01"])
@pytest.mark.parametrize("key", [key.name for key in schema.KEYS if key.kind == "mapping"])
def test_what_is_no_mapping_where_one_is_wanted_is_named_and_keeps_nothing_from_starting(world, owner, value, key):
    *sections, last = key.split(".")
    text = "".join(f"{'  ' * depth}{name}:\n" for depth, name in enumerate(sections))
    world.write(owner, f"{text}{'  ' * len(sections)}{last}: {value}\n")
    config = world.load()
    assert config.get(key) == {}
    assert [warning.key for warning in config.warnings] == [key]


def test_a_slip_beside_the_few_keys_of_a_section_of_hermes_that_count_is_named(world):
    world.write(
        "user",
        """\
        auxiliary:
          compression: {provder: a, timeout: 3}
          compresion: {model: b}
          vision: {provider: auto}
        prompt_caching: {cache_tl: 1h, layout: x}
        tts: {provder: a}
        """,
    )
    assert [(warning.line, warning.text.rpartition("you mean ")[2]) for warning in world.load().warnings] == [
        (2, "auxiliary.compression.provider?"),
        (3, "auxiliary.compression?"),
        (5, "prompt_caching.cache_ttl?"),
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n", "null\n", "~\n", "---\n"])
def test_a_file_that_says_nothing_is_none(world, text):
    world.write("user", text)
    assert world.load().warnings == ()


def test_what_nobody_knows_in_an_entry_is_named_with_its_line_and_what_hermes_says_there_is_not(world):
    text = """\
        providers:
          mine: {base_url: "http://127.0.0.1:1", api_kye: x, discover_models: false, tool_choice: true}
        fallback_providers:
          - {provider: openrouter, model: a}
          - {provider: openrouter, modle: b, context_length: 9}
        personalities:
          dry: {tone: dry, system_promt: x, description: y}
        skills: {config: {wiki: {path: x}}}
        """
    world.write("user", text)
    assert [(warning.line, warning.text.partition(": ")[2]) for warning in world.load().warnings] == [
        (2, "there is no setting providers.mine.api_kye. Did you mean api_key?"),
        (2, "there is no setting providers.mine.tool_choice. Check its spelling and its indentation."),
        (5, "there is no setting fallback_providers.2.modle. Did you mean model?"),
        (7, "there is no setting personalities.dry.system_promt. Did you mean system_prompt?"),
    ]
    world.places.config_file.unlink()
    world.write("hermes", text)
    assert world.load().warnings == ()


def test_a_wire_that_nobody_knows_is_named_with_its_line(world):
    file = world.write(
        "user",
        """\
        prompt_caching: {cache_ttl: off}
        providers:
          mine:
            base_url: http://127.0.0.1:1
            api_mode: anthropic
          odd: 3
          good: {api_mode: codex_responses}
        """,
    )
    config = world.load()
    (warning,) = config.warnings
    assert (warning.file, warning.line, warning.key) == (str(file), 5, "providers.mine.api_mode")
    assert "anthropic_messages" in warning.text
    assert config.get("prompt_caching.cache_ttl") == "off"
