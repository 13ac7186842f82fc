"""The pure rooms of the MCP client: names, schemas, results, forms, frames, headers."""

from __future__ import annotations

import base64
import copy
import json
import re
import runpy
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core import limits, names
from agent_core.cancel import CancelScope
from agent_core.llm.plain_schema import plain
from agent_core.mcp import calls, forms, lists, protocol, results
from agent_core.mcp.environment import environment
from agent_core.mcp.frames import Headers, Lines, TooLarge
from agent_core.mcp.names import model_names
from agent_core.mcp.protocol import Refused
from agent_core.mcp.schemas import for_model
from agent_core.mcp.words import Answered, ServerConfig, ToolInfo
from tests.core.mcp_support import BAD
from tests.rows import each_row

# -- names ------------------------------------------------------------------------------------------------------------

FIT = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
ODD = ["a.b", "a/b", "a_b", "a b", "naïve", "x" * 90 + "1", "x" * 90 + "2", "1st", "", "echo"]


def test_names_fit_every_provider_are_all_different_and_lead_back():
    pairs = [(server, tool) for server in ("one", "two", "o.ne") for tool in ODD]
    found = model_names(pairs)
    assert set(found) == {pair for pair in pairs if pair[1]}
    assert len(set(found.values())) == len(found)
    assert all(FIT.fullmatch(name) for name in found.values())
    assert found["one", "echo"] == "mcp_one_echo"
    assert found["one", "a_b"] == "mcp_one_a_b"
    assert re.fullmatch(r"mcp_one_a_b_[0-9a-f]{8}", found["one", "a.b"])


@pytest.mark.parametrize(
    ("pair", "servers", "reserved", "altered"),
    [
        (("list", "resources"), (), ("mcp_list_resources",), True),
        (("a", "b_c"), ("a_b",), (), True),
        (("a_b", "c"), ("a",), (), False),
        (("a_b", "c"), ("a.b",), (), True),
        (("git", "log"), ("git_hub", "other"), (), False),
    ],
)
def test_a_name_that_could_be_another_servers_is_altered_whoever_has_been_started(pair, servers, reserved, altered):
    alone = model_names([pair], reserved, servers)[pair]
    assert bool(re.search(r"_[0-9a-f]{8}$", alone)) is altered
    others = [(server, tool) for server in servers for tool in ("c", "b_c", "log")]
    for order in ([pair, *others], [*others, pair]):
        found = model_names(order, reserved, servers)
        assert found[pair] == alone
        assert len(set(found.values())) == len(found)


def test_a_server_cannot_take_a_name_that_was_made_by_altering():
    altered = model_names([("s", "a.b")])["s", "a.b"]
    found = model_names([("s", "a.b"), ("s", altered.removeprefix("mcp_s_"))])
    assert len(set(found.values())) == 2


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=12))
@settings(max_examples=60, deadline=None)
def test_whatever_servers_and_tools_are_called_their_names_fit(pairs):
    found = model_names(pairs, names.MCP_OURS)
    assert len(set(found.values())) == len(found) == len({pair for pair in pairs if pair[1]})
    assert all(FIT.fullmatch(name) for name in found.values())
    assert not set(found.values()) & set(names.MCP_OURS)


# -- schemas ----------------------------------------------------------------------------------------------------------


def refused(schema, strict, root=True):
    """What providers are known to refuse in a schema."""
    wrong = []
    if root and (schema.get("type") != "object" or not isinstance(schema.get("properties"), dict)):
        wrong.append("the root is no object with properties")
    if root and {"anyOf", "oneOf", "allOf", "not", "enum"} & set(schema):
        wrong.append("a choice at the root")
    wrong += [key for key in ("$ref", "$schema", "$defs", "definitions", "$id") if key in schema]
    if strict:
        wrong += [key for key in ("anyOf", "oneOf", "allOf", "const", "if", "not") if key in schema]
        wrong += ["a list of types"] * isinstance(schema.get("type"), list)
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        wrong.append("an array without items")
    wrong += ["a bound that is a flag"] * isinstance(schema.get("exclusiveMinimum"), bool)
    if not set(schema.get("required", ())) <= set(schema.get("properties", ())):
        wrong.append("what is required is not there")
    below = [*schema.get("properties", {}).values(), schema.get("items")]
    below += [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, ())]
    for each in below:
        if isinstance(each, dict):
            wrong += refused(each, strict, root=False)
    return wrong


def bad_schemas():
    fake = runpy.run_path(BAD)
    fake["modes"].update(schemas="")
    return {tool["name"]: tool["inputSchema"] for tool in fake["tools"]()}


DOUBLING = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/d0"}},
    "$defs": {
        f"d{n}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "xy"}} for n in range(40)
    },
}
HARD = {
    "doubling": DOUBLING,
    "deep": json.loads('{"properties":{"a":' * 200 + "{}" + "}}" * 200),
    "odd": {"type": ["object"], "properties": [], "required": "a", "anyOf": "x", "allOf": [1, None]},
    "nested": {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "string", "const": "x"}, {"const": "y"}, {"type": "null"}]},
            "b": {"type": ["array", "null"], "items": [{"type": "string"}, {"type": "number"}]},
            "c": {"allOf": [{"$ref": "#/properties/b"}, {"description": "c"}]},
            "d": {"oneOf": [{"type": "object", "required": ["ghost"]}, True]},
        },
        "allOf": [{"properties": {"e": {"type": "integer"}}, "required": ["e"]}],
    },
    "itself": {"type": "object", "properties": {"me": {"$ref": "#"}}},
    "nowhere": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}, "b": {"$ref": "#/properties/b"}}},
}


@pytest.mark.parametrize("strict", [False, True])
def test_every_schema_becomes_one_that_providers_take_and_stays_as_it_was(strict):
    for name, schema in {**bad_schemas(), **HARD}.items():
        if isinstance(schema, bool):
            continue  # listed as an empty one
        before = copy.deepcopy(schema)
        made = plain(for_model(schema)[0]) if strict else for_model(schema)[0]
        assert refused(made, strict) == [], name
        assert schema == before
        assert len(json.dumps(made)) < 500_000


@each_row(
    ("schema", "strict", "expected", "said"),
    [
        ({}, False, {"type": "object", "properties": {}}, ""),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            False,
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            "Needs at least one of: a; b.",
        ),
        (
            {"oneOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]},
            False,
            {"type": "object", "properties": {"a": {}, "b": {}}},
            "",
        ),
        (
            {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}},
            False,
            {"type": "object", "properties": {"n": {"type": "integer", "exclusiveMinimum": 0}}},
            "",
        ),
        (
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a", "ghost"]},
            False,
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
            "",
        ),
        (
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
            True,
            {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}},
            "",
        ),
        (
            {"type": "object", "properties": {"a": {"oneOf": [{"const": "x"}, {"const": "y"}]}}},
            True,
            {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}},
            "",
        ),
        (
            {
                "properties": {"n": {"$ref": "#/$defs/N"}},
                "$defs": {"N": {"properties": {"next": {"$ref": "#/$defs/N"}}}},
            },
            False,
            {"type": "object", "properties": {"n": {"properties": {"next": {}}}}},
            "",
        ),
        (
            {"properties": {"$ref": {"type": "string"}, "$schema": {"type": "string"}}},
            False,
            {"type": "object", "properties": {"$ref": {"type": "string"}, "$schema": {"type": "string"}}},
            "",
        ),
        (
            {"properties": {"a": {"$ref": "http://127.0.0.1:9/never", "description": "d"}}},
            False,
            {"type": "object", "properties": {"a": {"description": "d"}}},
            "",
        ),
    ],
)
def test_what_becomes_of_a_schema(schema, strict, expected, said):
    made, words = for_model(schema)
    made = plain(made) if strict else made
    assert made == expected
    if said:
        assert words == said


def test_many_schemas_are_copied_quickly():
    schemas = [*bad_schemas().values()] * 15
    begun = time.process_time()
    for schema in schemas:
        for_model(schema if isinstance(schema, dict) else {})
    assert time.process_time() - begun < 1.0


# -- lists ------------------------------------------------------------------------------------------------------------


def test_one_bad_entry_loses_no_other():
    entries = [
        {"name": "good", "annotations": {"readOnlyHint": True, "title": "G"}, "inputSchema": {"type": "object"}},
        {"name": ""}, {"title": "no name"}, "text", None, {"name": 5},
        {"name": "good", "description": "another"},
        {"name": "task", "execution": {"taskSupport": "required"}},
        {"name": "odd", "inputSchema": True, "annotations": [], "description": ["x"]},
    ]  # fmt: skip
    found, wrong = lists.tools(entries)
    assert [(tool.name, tool.title, tool.reads, tool.schema) for tool in found] == [
        ("good", "G", True, {"type": "object"}),
        ("odd", "", False, {}),
    ]
    assert len(wrong) == 7


@pytest.mark.parametrize(
    ("pages", "count", "warnings"),
    [
        ([("a", "2"), ("b", "3"), ("c", None)], 3, 0),
        ([("a", "2"), ("b", "2"), ("c", None)], 2, 1),
        ([("a", "")], 1, 0),
    ],
)
def test_pages_are_followed_until_they_end_or_turn_in_a_circle(pages, count, warnings):
    left = iter([*pages, *[pages[-1]] * 5])

    def ask(params):
        name, cursor = next(left)
        return {"tools": [{"name": name}], "nextCursor": cursor}

    entries, wrong = lists.all_pages(ask, "tools")
    assert (len(entries), len(wrong)) == (count, warnings)


def test_a_list_has_bounds(monkeypatch):
    monkeypatch.setattr(limits, "MCP_PAGES", 5)
    numbers = iter(range(100))
    ask = lambda params: {"tools": [{}, {}], "nextCursor": str(next(numbers))}  # noqa: E731
    assert len(lists.all_pages(ask, "tools")[0]) == 10
    monkeypatch.setattr(limits, "MCP_ENTRIES", 7)
    assert len(lists.all_pages(ask, "tools")[0]) == 7


def test_a_method_that_a_server_does_not_know_is_an_empty_list():
    def ask(params):
        raise Refused("s", {"code": -32601, "message": "Method not found"})

    assert lists.all_pages(ask, "prompts") == ([], ())


@each_row(
    ("node", "fits"),
    [
        ({"type": "string", "x-mcp-header": "Region"}, True),
        ({"type": "number", "x-mcp-header": "Region"}, False),
        ({"type": "string", "x-mcp-header": "Bad Name"}, False),
        ({"type": "string", "x-mcp-header": ""}, False),
        ({"type": "string", "x-mcp-header": 5}, False),
        ({"type": "array", "items": {"type": "string", "x-mcp-header": "Region"}}, False),
        ({"type": "object", "properties": {"in": {"type": "boolean", "x-mcp-header": "In"}}}, True),
        ({"type": "string", "default": {"x-mcp-header": "data, not a schema"}}, True),
    ],
)
def test_a_tool_whose_headers_are_wrong_is_left_out_over_http_alone(node, fits):
    entry = {"name": "t", "inputSchema": {"type": "object", "properties": {"a": node}}}
    assert len(lists.tools([entry], by_http=True)[0]) == fits
    assert len(lists.tools([entry])[0]) == 1


def test_arguments_are_said_in_headers_as_they_can_be():
    tool = ToolInfo("t", headers={("a",): "A", ("b",): "B", ("c", "d"): "D", ("e",): "E", ("f",): "F"})
    arguments = {"a": "plain", "b": True, "c": {"d": "日本"}, "e": None, "f": " edge "}
    assert lists.argument_headers(tool, arguments) == {
        "Mcp-Param-A": "plain",
        "Mcp-Param-B": "true",
        "Mcp-Param-D": f"=?base64?{base64.b64encode('日本'.encode()).decode()}?=",
        "Mcp-Param-F": f"=?base64?{base64.b64encode(b' edge ').decode()}?=",
    }


# -- results ----------------------------------------------------------------------------------------------------------


def text_of(*blocks, **more):
    return results.call({"content": list(blocks), **more}, None).text


@each_row(
    ("result", "expected"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": [{"type": "text", "text": '{"n": 1}'}], "structuredContent": {"n": 1}}, '{"n": 1}'),
        ({"content": [{"type": "text", "text": "5"}], "structuredContent": {"result": 5}}, "5"),
        ({"content": [{"type": "text", "text": "five"}], "structuredContent": {"n": 5}}, 'five\n{"n": 5}'),
        ({"content": [], "structuredContent": {"n": "é"}}, '{"n": "é"}'),
        ({"content": []}, "[the server gave an empty result]"),
        ({}, "[the server gave an empty result]"),
        ({"content": [{"type": "hologram", "data": "QUJD"}]}, "[unsupported content: hologram]"),
        ({"content": [5]}, "[unsupported content: int]"),
        ({"content": [{"type": "image", "data": "%", "mimeType": "image/png"}]}, "[image/png that cannot be decoded]"),
        ({"content": [{"type": "text", "text": "\x1b[31mred\x07 \ud800"}]}, "red \ufffd"),
    ],
)  # fmt: skip
def test_what_a_model_is_given_of_a_result(result, expected):
    assert results.call(result, None).text == expected


@pytest.mark.parametrize("split", [False, True])
def test_of_a_text_beyond_every_bound_both_ends_are_kept(monkeypatch, split):
    monkeypatch.setattr(limits, "MCP_TEXT", 2_000)
    parts = ["first \x1b[31m" + "x " * 500 + "\x1b]0;", *["y " * 500] * 9, "z " * 500 + "\x07last"]
    texts = parts if split else [" ".join(parts)]
    result = results.call({"content": [{"type": "text", "text": text} for text in texts]}, None)
    assert result.text.startswith("first x x")
    assert f"\n[{result.left_out:,} characters were thrown away here]\n" in result.text
    assert result.text.endswith("z last"), "a sequence that is left open in the first half takes nothing of the last"
    assert 1_800 < len(result.text) < 2_100
    assert 9_000 < result.left_out < 9_400


def test_a_file_that_cannot_be_written_is_told_of():
    def keep(data, media_type):
        raise OSError(28, "No space left on device")

    blob = {"uri": "file:///y", "mimeType": "application/pdf", "blob": base64.b64encode(b"%PDF-").decode()}
    said = results.resource({"contents": [blob]}, keep).text
    assert said == "[application/pdf, 5 bytes, which could not be written to a file: No space left on device]"


def test_a_prompt_is_given_by_who_says_it():
    said = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}, {"role": "assistant", "content": {}}]
    }
    assert results.prompt(said, None).text == "user:\nHi\nassistant:\n[unsupported content: none]"


# -- forms ------------------------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "default": "Jo"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "mood": {"type": "string", "enum": ["a", "b"], "enumNames": ["Good", "Bad"], "default": "b"},
        "sure": {"type": "boolean", "default": False},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}, {"const": "y"}]}, "default": ["x"]},
        "bare": {"type": "string"},
        "wrong": {"type": "hologram"},
        "worse": 5,
    },
    "required": ["name"],
}


@each_row(
    ("params", "words"),
    [
        ({"progress": 1, "total": 2}, "1/2"),
        ({"progress": 0.5, "total": 1.0, "message": "half"}, "0.5/1 half"),
        ({"progress": 1_234_567, "total": 2_500_000}, "1234567/2500000"),
        ({"progress": 10**400, "total": 2, "message": "far"}, "far"),
        ({"progress": 1, "total": float("inf")}, ""),
        ({"progress": float("nan"), "total": 1, "message": 7}, ""),
        ({"progress": True, "total": "2"}, ""),
        ({}, ""),
    ],
)
def test_progress_is_told_of_in_numbers_that_can_be_meant(params, words):
    told = []
    hears = calls.Calls(calls.Ears("s", lambda params, cancel: {}, lambda method, params: None), lambda message: None)
    number = hears.open("tools/call", told.append).number
    hears.take({"method": "notifications/progress", "params": {**params, "progressToken": number}})
    assert told == [words] * bool(words)


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        (
            Answered("accept"),
            {"name": "Jo", "age": 30, "score": 95.5, "mood": "b", "sure": False, "tags": ["x"]},
        ),
        (
            Answered("accept", {"name": "Al", "sure": True, "other": 1, "bare": "x"}),
            {"name": "Al", "age": 30, "score": 95.5, "mood": "b", "sure": True, "tags": ["x"], "bare": "x"},
        ),
        (Answered("decline", {"name": "Al"}), None),
        (Answered("cancel"), None),
    ],
)
def test_a_form_is_answered_with_its_defaults(answered, expected):
    asked = []

    def ask(question, cancel):
        asked.append(question)
        return answered

    said = forms.answer({"message": "Hi\x1b[2J", "requestedSchema": SCHEMA}, ask, lambda text: text, CancelScope())
    assert said == {"action": answered.action} | ({"content": expected} if expected is not None else {})
    assert asked[0].message == "Hi"
    assert [(each.name, each.kind, each.title, each.required) for each in asked[0].form] == [
        ("name", "text", "Your name", True),
        ("age", "whole", "age", False),
        ("score", "number", "score", False),
        ("mood", "choice", "mood", False),
        ("sure", "flag", "sure", False),
        ("tags", "choices", "tags", False),
        ("bare", "text", "bare", False),
    ]
    assert asked[0].form[3].choices == (("a", "Good"), ("b", "Bad"))


@pytest.mark.parametrize(
    ("url", "asked"),
    [("https://example.com/x?y=1", True), ("javascript:alert(1)", False), ("https://a/\x1b[2J", False), (5, False)],
)
def test_only_a_page_on_the_web_is_shown_and_it_is_never_fetched(url, asked):
    seen = []

    def ask(question, cancel):
        seen.append((question.kind, question.url))
        return Answered("accept")

    said = forms.answer({"mode": "url", "message": "m", "url": url}, ask, lambda text: text, CancelScope())
    assert said == {"action": "accept" if asked else "decline"}
    assert seen == ([("visit", url)] if asked else [])


def test_where_nobody_can_be_asked_everything_is_declined():
    said = forms.answer({"message": "m", "requestedSchema": SCHEMA}, None, lambda text: text, CancelScope())
    assert said == {"action": "decline"}


# -- bytes ------------------------------------------------------------------------------------------------------------


def fed(frames, data, size):
    return [each for at in range(0, len(data), size) for each in frames.feed(data[at : at + size])]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_lines_end_at_line_feeds_alone_however_they_come(size):
    data = '{}\r\n\n  \n{"a":"\u2028\x85"}\nrest'.encode()
    assert fed(Lines(), data, size) == [b"{}", '{"a":"\u2028\x85"}'.encode()]
    assert fed(Headers(), b"noise\nContent-Length: 2\r\nX: 1\r\n\r\n{}content-length:3\n\n{ }", size) == [
        b"noise", b"{}", b"{ }",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_too_long_is_thrown_away_and_what_follows_is_read(size):
    for frames, data in (
        (Lines(limit=10), b"x" * 30 + b"\n{}\n"),
        (Headers(limit=25), b"Content-Length: 30\r\n\r\n" + b"x" * 30 + b"Content-Length: 2\r\n\r\n{}"),
    ):
        first, second = fed(frames, data, size)
        assert isinstance(first, TooLarge)
        assert second == b"{}"


@each_row(
    ("line", "count"),
    [
        (b'{"a":1}', 1),
        (b'[{"a":1},{"b":2}]', 2),
        (b"[]", None),
        (b"[1]", None),
        (b"42", None),
        (b"{", None),
        (b"[" * 9999, None),
    ],
)
def test_what_a_message_is(line, count):
    messages = protocol.decode(line)
    assert (None if messages is None else len(messages)) == count


def test_messages_are_written_in_ascii_on_one_line():
    line = protocol.encode(protocol.request(1, "m", {"text": "日本\u2028\n\ud800"}))
    assert line.isascii()
    assert b"\n" not in line
    assert protocol.decode(line) == [
        {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"text": "日本\u2028\n\ud800"}}
    ]


def test_a_server_sees_no_key_but_those_it_is_given():
    environ = {"PATH": "/bin", "A_KEY": "1", "GH_TOKEN": "2", "x_secret": "3", "PASSWORD": "4", "SSH_AUTH_SOCK": "/s"}
    config = ServerConfig("s", command="x", env={"GH_TOKEN": "given"})
    assert environment(config, environ, ()) == {
        "PATH": "/bin", "SSH_AUTH_SOCK": "/s", "PYTHONUTF8": "1", "GH_TOKEN": "given",
    }  # fmt: skip
