"""Tool arguments: what is understood, what is refused, and in which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.text.coerce import coerce, coerce_value, fits
from tests.rows import each_row

SCHEMA = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
        "ratio": {"type": "number"},
        "all": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["in_progress", "done"]},
        "names": {"type": "array", "items": {"type": "string"}},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["old_text"],
                "properties": {"old_text": {"type": "string"}, "n": {"type": "integer"}},
            },
        },
        "extra": {"type": "object"},
    },
}


@each_row(
    ("given_", "taken"),
    [
        ({"limit": "3"}, {"limit": 3}),
        ({"limit": " -3 "}, {"limit": -3}),
        ({"limit": 3.0}, {"limit": 3}),
        ({"limit": "3.0"}, {"limit": 3}),
        ({"ratio": "0.5"}, {"ratio": 0.5}),
        ({"ratio": 2}, {"ratio": 2}),
        ({"all": "True"}, {"all": True}),
        ({"all": "false"}, {"all": False}),
        ({"path": 12}, {"path": "12"}),
        ({"names": '["a", "b"]'}, {"names": ["a", "b"]}),
        ({"names": "a"}, {"names": ["a"]}),
        ({"edits": '[{"old_text": "x", "n": "2"}]'}, {"edits": [{"old_text": "x", "n": 2}]}),
        ({"edits": {"old_text": "x"}}, {"edits": [{"old_text": "x"}]}),
        ({"extra": '{"k": 1}'}, {"extra": {"k": 1}}),
        ({"mode": "In-Progress"}, {"mode": "in_progress"}),
        ({"ratio": None, "unknown": 1}, {}),
    ],
)
def test_plain_meanings_are_taken(given_, taken):
    args, problems = coerce({"path": "p", **given_}, SCHEMA)
    assert problems == ()
    assert args == {"path": "p", "limit": 10, **taken}


@each_row(
    ("given_", "words"),
    [
        ({}, 'missing "path" (a string)'),
        ({"pathh": "x"}, 'missing "path" (a string): you sent "pathh", call it "path"'),
        ({"path": None}, 'missing "path" (a string)'),
        ({"path": "p", "limit": "many"}, '"limit" must be a whole number, not many'),
        ({"path": "p", "limit": 1.5}, '"limit" must be a whole number, not 1.5'),
        ({"path": "p", "limit": True}, '"limit" must be a whole number, not true'),
        ({"path": "p", "all": "yes please"}, '"all" must be true or false, not yes please'),
        ({"path": "p", "mode": "lost"}, '"mode" must be one of in_progress, done, not lost'),
        ({"path": "p", "edits": [{"n": 1}]}, 'missing "edits[0].old_text" (a string)'),
        ({"path": "p", "edits": "no json"}, '"edits" must be a list, not no json'),
        ({"path": ["p"]}, '"path" must be a string, not ["p"]'),
    ],
)
def test_a_problem_says_what_to_send(given_, words):
    assert coerce(given_, SCHEMA)[1] == (words,)


@pytest.mark.parametrize(
    ("value", "types", "taken"),
    [
        ("5", ["integer", "string"], 5),
        ("x", ["integer", "string"], "x"),
        ("null", ["integer", "null"], None),
        (5, ["string", "integer"], 5),
        ("x", ["integer"], "x"),
        (10**400, ["number"], 10**400),
    ],
)
def test_of_several_types_the_first_that_fits_is_taken(value, types, taken):
    assert coerce_value(value, types) == taken


def test_names_that_other_agents_use_are_taken():
    edit = {"old_string": "x"}
    args, problems = coerce({"file_path": "p", "edits": [edit]}, SCHEMA)
    assert (args["path"], args["edits"], problems) == ("p", [{"old_text": "x"}], ())
    assert coerce({"path": "p", "file_path": "other"}, SCHEMA)[0]["path"] == "p"
    assert edit == {"old_string": "x"}


def test_a_long_value_is_not_quoted_whole():
    assert len(coerce({"path": "p", "limit": "x" * 5000}, SCHEMA)[1][0]) < 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([*SCHEMA["properties"], "other"])


@given(st.dictionaries(NAMES, JSON))
def test_what_passes_is_of_the_schemas_types(given_):
    args, problems = coerce(given_, SCHEMA)
    if not problems:
        assert set(args) <= set(SCHEMA["properties"])
        for name, value in args.items():
            assert fits(value, SCHEMA["properties"][name]["type"])


@pytest.mark.parametrize("text", ["9" * 400, "1e999", "nan", "[" * 100_000, "inf"])
def test_hostile_numbers_and_nesting_are_problems(text):
    assert coerce({"path": "p", "limit": text}, SCHEMA)[1]
    assert coerce({"path": "p", "edits": text}, SCHEMA)[1]
