"""The config: where it is found, which layer wins, what a value means, and what is wrong with it by line."""

from __future__ import annotations

import time

import pytest

from agent_core import limits
from agent_core.config import schema
from agent_core.config.load import load
from agent_core.config.paths import find_places
from tests.core.config_support import World


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


@pytest.mark.parametrize("owner", ["user", "hermes"])
def test_a_key_that_stands_in_the_file_itself_is_told_where_it_belongs_and_not_repeated(world, owner):
    world.write(owner, "model:\n  api_key: hunter2hunter2\ndelegation: {api_key: '', base_url: 'http://127.0.0.1:1'}\n")
    (warning,) = world.load().warnings
    assert (warning.line, warning.code) == (2, "key_in_file")
    assert "model.api_key is not read" in warning.text
    assert ".env" in warning.text
    assert "hunter2" not in warning.text


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
