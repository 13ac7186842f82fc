"""MCP servers as files name them, in our spelling and in that of other tools."""

import json

import pytest

from agent_core import limits
from agent_core.mcp.config import Source, address_of, read, secrets_of
from agent_core.mcp.words import OAuthOptions
from agent_core.safety.redact import redact

ENV = {"HOME": "/home/ann", "TOKEN": "secret-of-ann-1234", "EMPTY": "", "PATH": "/usr/bin"}


@pytest.fixture
def found(tmp_path):
    def found(*sources, env=ENV):
        return read(sources, env, tmp_path)

    return found


def yaml(text, **more):
    return Source("/u/config.yaml", text.encode(), **more)


def entry(found, given, **more):
    """The one server of a JSON file."""
    source = Source("/u/.mcp.json", json.dumps({"mcpServers": {"s": given}}).encode(), **more)
    [config] = found(source).servers
    return config


SPELLINGS = [
    ({"command": "npx", "args": ["-y", "x"]}, {"command": "npx", "args": ("-y", "x"), "type": "stdio"}),
    ({"command": ["node", "x.js", 3]}, {"command": "node", "args": ("x.js", "3")}),
    ({"type": "local", "command": ["a"], "environment": {"B": 1}}, {"command": "a", "env": {"B": "1"}}),
    ({"command": "a", "env": ["B=1=2"]}, {"env": {"B": "1=2"}}),
    ({"command": "~/bin/a", "cwd": "~"}, {"command": "HOME/bin/a", "cwd": "HOME"}),
    ({"command": "a", "args": ["${TOKEN}", "${NONE:-x y}", "${EMPTY:-z}", "$TOKEN"]},
     {"args": ("secret-of-ann-1234", "x y", "z", "$TOKEN")}),
    ({"command": "a", "env": {"PATH": "/x:${PATH}", "K": "${env:TOKEN}"}},
     {"env": {"PATH": "/x:/usr/bin", "K": "secret-of-ann-1234"}}),
    ({"url": "https://h/mcp"}, {"url": "https://h/mcp", "type": "http"}),
    ({"serverUrl": "https://h/mcp", "transport": "sse"}, {"url": "https://h/mcp", "type": "sse"}),
    ({"httpUrl": "https://h", "type": "streamable-http", "disabled": True}, {"type": "http", "enabled": False}),
    ({"url": "https://h", "headers": {"Authorization": "Bearer ${TOKEN}"}},
     {"headers": {"Authorization": "Bearer secret-of-ann-1234"}}),
    ({"url": "https://h", "bearer_token_env_var": "TOKEN"},
     {"headers": {"Authorization": "Bearer secret-of-ann-1234"}}),
    ({"command": "a", "timeout": 5, "startupTimeout": 2.5}, {"timeout": 5.0, "startup_timeout": 2.5}),
    ({"command": "a", "timeout": 30_000, "startup_timeout_ms": 500}, {"timeout": 30.0, "startup_timeout": 0.5}),
    ({"command": "a", "tools": {"include": ["r*"], "exclude": "w"}}, {"include": ("r*",), "exclude": ("w",)}),
    ({"command": "a", "enabled_tools": ["r"], "disabledTools": ["w"]}, {"include": ("r",), "exclude": ("w",)}),
    ({"command": "a", "trust": True, "autoApprove": ["x"], "alwaysAllow": ["*"]}, {"trust": True}),
    ({"url": "https://h", "oauth": {"clientId": "c", "scopes": ["a", "b"]}}, {"oauth": OAuthOptions("c", scope="a b")}),
    ({"url": "https://h", "oauth": True}, {"oauth": OAuthOptions()}),
    ({"command": "a", "protocol": "modern", "framing": "content-length", "env_policy": "strict", "sandbox": True},
     {"protocol": "modern", "framing": "content-length", "env_policy": "strict", "sandbox": True}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), SPELLINGS)
def test_every_spelling_of_a_server_is_understood(found, tmp_path, given, wanted):
    config = entry(found, given)
    assert config.problem == ""
    for name, value in wanted.items():
        value = value.replace("HOME", str(tmp_path)) if isinstance(value, str) else value
        assert getattr(config, name) == value, name


WRONG = [
    ("text", "not a mapping"),
    ({}, "neither a command nor a url"),
    ({"command": "a", "url": "https://h"}, "both a command and a url"),
    ({"url": "file:///etc/passwd"}, "none of http or https"),
    ({"url": "http://[h/"}, "none of http or https"),
    ({"url": "https://\u2100.example/"}, "none of http or https"),
    ({"url": "https://h", "type": "stdio"}, "its type is stdio"),
    ({"url": "https://h", "type": "carrier pigeon"}, "carrier pigeon"),
    ({"command": "a", "args": [{}]}, "no texts"),
    ({"command": "a", "env": {"A": []}}, "names with texts"),
    ({"command": "a", "args": ["${NOT_SET}"]}, "variable NOT_SET"),
    ({"command": "a", "env": {"K": "${input:key}"}}, "only its editor can fill in"),
    ({"command": "a", "timeout": -1}, "above 0"),
    ({"command": "a", "timeout": True}, "above 0"),
    ({"command": "a", "enabled": "perhaps"}, "neither true nor false"),
    ({"command": "a", "protocol": "ancient"}, "auto, legacy, modern"),
    ({"command": "a", "tools": {"include": [1]}}, "tools.include"),
    ({"url": "https://h", "oauth": {"callback_port": 99_999}}, "callback_port"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_a_wrong_entry_is_its_own_problem_and_the_others_run(found, given, words):
    text = json.dumps({"servers": {"wrong": given, "right": {"command": "a"}}}, indent=1)
    wrong, right = found(Source("/u/mcp.json", text.encode())).servers
    assert words in wrong.problem
    assert wrong.problem.startswith("/u/mcp.json:3: ")
    assert "secret-of-ann" not in wrong.problem
    assert wrong.problem_named["case"].startswith("mcp_entry_")
    assert (right.name, right.problem) == ("right", "")


def test_an_entry_of_the_config_is_known_by_its_line_and_so_is_a_key_that_nobody_knows(found):
    text = "model: x\nmcp_servers:\n  git:\n    command: a\n    colour: blue\n    description: fine\n    tymeout: 3\n"
    result = found(yaml(text))
    assert [config.place for config in result.servers] == ["/u/config.yaml:3"]
    assert [problem.text for problem in result.problems] == [
        "/u/config.yaml:5: mcp_servers.git.colour is not known.",
        "/u/config.yaml:7: mcp_servers.git.tymeout is not known. Did you mean timeout?",
    ]


@pytest.mark.parametrize(
    ("place", "data", "code"),
    [
        ("/u/.mcp.json", b'{"mcpServers": {', "mcp_bad_json"),
        ("/u/.mcp.json", b"\xff\xfe", "bad_encoding"),
        ("/u/config.yaml", b"mcp_servers: [", "bad_yaml"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_the_others_count(found, place, data, code):
    result = found(Source(place, data), yaml("mcp_servers: {a: {command: x}}"))
    assert [problem.code for problem in result.problems] == [code]
    assert [config.name for config in result.servers] == ["a"]


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b'{"mcpServers": []}', b'{"other": {"a": {"command": "x"}}}'])
def test_a_file_without_servers_names_none(found, data):
    result = found(Source("/u/.mcp.json", data))
    assert (result.servers, result.problems) == ((), ())


def test_of_two_servers_with_one_name_the_later_one_counts(found):
    result = found(yaml("mcp_servers: {a: {command: x}, b: {command: y}}"), yaml("mcp_servers: {a: {command: z}}"))
    assert [(config.name, config.command) for config in result.servers] == [("a", "z"), ("b", "y")]


def test_what_a_project_brings_takes_the_place_of_nothing_before_it_is_trusted(found):
    own = yaml("mcp_servers: {a: {command: x}}")
    theirs = Source(
        "/p/.mcp.json",
        json.dumps({"mcpServers": {"a": {"command": "evil"}, "c": {"command": "y", "colour": 1}}}).encode(),
        of_project=True,
        held=True,
    )
    result = found(theirs, own)
    assert [(config.name, config.command) for config in result.servers] == [("a", "x"), ("c", "y")]
    assert result.held == {"c"}
    assert result.problems == ()


def test_a_project_is_never_taken_at_its_word_for_what_its_servers_do(found):
    source = Source("/p/.mcp.json", b'{"mcpServers": {"a": {"command": "x", "trust": true}}}', of_project=True)
    result = found(source)
    assert not result.servers[0].trust
    assert [problem.code for problem in result.problems] == ["mcp_trust_of_project"]


def test_the_identity_is_of_the_program_and_not_of_the_name_or_the_values_it_is_given(found):
    same = [
        entry(found, given).identity
        for given in (
            {"command": "a", "args": ["b"], "env": {"K": "1"}},
            {"command": ["a", "b"], "env": {"K": "2"}, "timeout": 9},
        )
    ]
    others = [
        entry(found, given).identity
        for given in (
            {"command": "a b", "env": {"K": "1"}},
            {"command": "a", "args": ["b"]},
            {"command": "a", "args": ["b", "c"], "env": {"K": "1"}},
            {"url": "https://h"},
            {"url": "https://h/other"},
        )
    ]
    assert same[0] == same[1]
    assert len({same[0], *others}) == 6


def test_keys_in_an_entry_are_known_for_what_they_are_and_never_shown(found):
    program = entry(found, {"command": "a", "env": {"API_KEY": "${TOKEN}", "MODE": "a-long-plain-value"}})
    assert secrets_of(program) == {"secret-of-ann-1234"}
    server = entry(
        found, {"url": "https://ann:pass-of-ann-9999@h/mcp?key=1", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    )
    assert secrets_of(server) == {"secret-of-ann-1234", "pass-of-ann-9999"}
    assert address_of(server, redact) == "https://h/mcp?…"
    assert address_of(entry(found, {"command": "a", "args": ["\x1b[2J"]}), redact) == "a \\x1b[2J"


def test_a_time_is_never_longer_than_an_hour(found):
    assert entry(found, {"command": "a", "timeout": 10**12}).timeout == limits.MCP_SECONDS_MOST
    assert entry(found, {"command": "a", "timeout": 10**400}).timeout == limits.MCP_SECONDS_MOST
