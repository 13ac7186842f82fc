"""Servers that hold a model to a tool's schema take it, and what a model must send then is what the tool takes."""

from agent_core.llm.strict_schema import strict
from agent_core.text.coerce import coerce
from agent_core.tools.builtin import builtin_tools
from tests.rows import each_row

SAMPLES = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def objects(schema):
    if schema.get("type") == "object" or "object" in schema.get("type", ()):
        yield schema
        for each in schema["properties"].values():
            yield from objects(each)
    if "items" in schema:
        yield from objects(schema["items"])


@each_row("tool", builtin_tools(), ids=lambda tool: tool.name)
def test_a_strict_schema_requires_all_and_a_call_with_nulls_is_one_without_them(tool):
    schema = strict(tool.parameters)
    for each in objects(schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
        assert "default" not in each
    needed = tool.parameters.get("required", ())
    sample = {
        name: (each.get("enum") or [SAMPLES[each["type"]]])[0] if name in needed else None
        for name, each in tool.parameters["properties"].items()
    }
    given = {name: value for name, value in sample.items() if value is not None}
    full, problems = coerce(sample, tool.parameters)
    assert not problems
    assert {name: value for name, value in full.items() if value is not None} == {
        name: value for name, value in coerce(given, tool.parameters)[0].items() if value is not None
    }


def test_what_may_be_left_out_may_be_null_at_any_depth_and_the_schema_given_stays():
    inner = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "default": "x"}}, "required": []}
    given = {"type": "object", "properties": {"list": {"type": "array", "items": inner}}, "required": ["list"]}
    made = strict(given)
    assert made["properties"]["list"]["type"] == "array"
    assert made["properties"]["list"]["items"]["properties"]["a"] == {"type": ["string", "null"], "enum": ["x", None]}
    assert given["properties"]["list"]["items"] is inner
    assert "additionalProperties" not in inner
