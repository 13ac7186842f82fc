"""Tool calls that a model wrote as text because its server has no parser for them (LLM wire rule 23).

Only what is certain is taken: a known marker outside code, whose calls all name offered tools. Anything else is text.
"""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from agent_core import limits
from agent_core.llm.arguments import parse_json
from agent_core.messages import ToolCall
from agent_core.records import dataclass
from agent_core.text.nesting import is_deeper

Offered = Mapping[str, Mapping[str, Any]]
"""The offered tools' parameter schemas by name."""

MARKERS = (
    "<tool_call>",
    "<toolcall>",
    "<function_call>",
    "<function_calls>",
    "<functioncall>",
    "<tool_calls>",
    "<TOOLCALL>",
    "<seed:tool_call>",
    "<|tool_call|>",
    "<|tool_call_start|>",
    "<minimax:tool_call>",
    "<invoke name=",
    "<tools>",
    "<function=",
    "<|python_tag|>",
    "<|python_start|>",
    "[TOOL_CALLS]",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜DSML｜",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|channel|>",
    "<|start|>",
)
MARKER = re.compile("|".join(map(re.escape, MARKERS)))
MARKER_CHECKS = 32  # markers in code that are looked at while streaming; each look reads the text so far

_CODE = re.compile(
    r"(?m)^[ ]{0,3}(`{3,}|~{3,})[^\n]*\n(?:.*?^[ ]{0,3}\1[`~]*[ \t]*$|.*\Z)|(?<!`)(`++)[^\n]*?(?<!`)\2(?!`)", re.S
)
_RESIDUE = re.compile(r"</?｜DSML｜[^<>\n]*>?|<｜tool▁calls?▁begin｜>|<｜end▁of▁sentence｜>|<\|im_end\|>|<\|eot_id\|>")
"""One of them: from its "<", the only one in it."""

_CLOSING = (
    r"</(?:tool_calls?|toolcall|TOOLCALL|function_calls?|functioncall|tools|seed:tool_call)>|"
    r"<\|(?:/tool_call|tool_call_end|python_end|eo[mt](?:_id)?)\|>"
)
_CLOSED = re.compile(rf"{_CLOSING}|\Z")
_LOOSE_ENDS = re.compile(rf"(?:\s*\}}?\s*(?:</function>|{_CLOSING}))*(?:\s*(?:</s>|<\|im_end\|>)\s*\Z)?")
"""What models write behind a call that was whole already: a brace too many, the end of a tag that may never have
begun, the model's end token."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a text holds: calls (without ids, but for Kimi's), and what is left as text and reasoning."""

    text: str
    calls: list[ToolCall]
    reasoning: str = ""


_Found = tuple[list[ToolCall], int]
"""Calls, and where in the text they end."""


def in_code(text: str, position: int) -> bool:
    """True when `position` lies inside a code fence or inline code."""
    for match in _CODE.finditer(text):
        if match.start() > position:
            return False
        if position < match.end():
            return True
    return False


def _outside_code(text: str) -> Callable[[int], bool]:
    """Whether a position in `text` lies outside code; all of it is found at once, for a text with many markers."""
    code = [match.span() for match in _CODE.finditer(text)]
    starts = [start for start, _ in code]

    def outside(position: int) -> bool:
        before = bisect_right(starts, position) - 1
        return before < 0 or position >= code[before][1]

    return outside


def without_residue(text: str) -> str:
    """`text` without what a server's parser left at its end: a call's opening marker, a model's end token."""
    end = left = len(text)
    while True:  # from the end: each character is looked at once
        while end and text[end - 1].isspace():
            end -= 1
        at = text.rfind("<", 0, end)
        if at < 0 or not _RESIDUE.fullmatch(text, at, end):
            return text[:left]
        while at and text[at - 1].isspace():
            at -= 1
        end = left = at


def extract(text: str, offered: Offered) -> Written:
    """Take the written calls out of `text`."""
    if pythonic := _pythonic(text, offered):
        return Written("", pythonic)
    calls: list[ToolCall] = []
    kept: list[str] = []
    reasoning: list[str] = []
    start = 0
    position = 0
    left, outside = limits.WRITTEN_MISSES, _outside_code(text)
    while left and (match := MARKER.search(text, position)):
        position = match.end()
        if not outside(match.start()):
            continue
        left -= 1
        if match.group() in ("<|channel|>", "<|start|>"):
            channel = _harmony(text, match.start(), offered)
            if channel is None:
                continue
            found, shown, thought, end = channel
            kept += [text[start : match.start()], shown]
            reasoning.append(thought)
            calls += found
        else:
            result = _parser(match.group())(text, match.start(), match.end(), offered)
            if result is None or not result[0]:
                continue
            found, end = result
            if more := _LOOSE_ENDS.match(text, end):
                end = more.end()
            kept.append(text[start : match.start()])
            calls += found
        start = position = end
        left += 1
    if start == 0:
        return Written(text, [])
    kept.append(text[start:])
    rest = "".join(kept)
    return Written(rest.strip() if calls else rest, calls, "\n".join(filter(None, reasoning)))


def without_cut(text: str, offered: Offered) -> str | None:
    """`text`, which the output limit has ended, without the call that was being written then; None if none was."""
    outside = _outside_code(text)
    for match in list(MARKER.finditer(text))[-limits.WRITTEN_MISSES :]:
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if not outside(match.start()) or line.count("`") % 2:  # the limit came before the code's end
            continue
        begun = _BEGUN.match(text, match.start())
        if begun and begun.group(1).removeprefix("functions.") in offered:
            return text[: match.start()].rstrip()
    return None


_BEGUN = re.compile(
    r"""(?:<function=|<(?:｜DSML｜)?invoke\ name="|<[^<>\n]*>|\[TOOL_CALLS\]|function(?!s)|\s|[\[{"]|
    (?:name|function)"\s*:\s*"|(?:analysis|commentary|assistant)\b|to=)* ([\w.-]+) """,
    re.X,
)
"""All that may stand before the name of a tool in a written call, from its marker on."""


_Parser = Callable[[str, int, int, Offered], _Found | None]


def _parser(marker: str) -> _Parser:
    if marker == "<function=":
        return _qwen_xml
    if marker == "[TOOL_CALLS]":
        return _mistral
    if marker in ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"):
        return _deepseek
    if marker in ("<｜DSML｜", "<function_calls>", "<minimax:tool_call>", "<invoke name="):
        return _invoke
    if marker in ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"):
        return _kimi
    return _tagged


def _call(name: Any, arguments: Any, offered: Offered, call_id: str = "") -> ToolCall | None:
    """A call when `name` is an offered tool and the arguments are, or spell, an object."""
    if not isinstance(name, str):
        return None
    name = name.strip().removeprefix("functions.")
    if name not in offered:
        return None
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments) if arguments.strip() else {}
        except ValueError:
            return None
    arguments = {} if arguments is None else arguments
    if not isinstance(arguments, dict) or is_deeper(arguments, limits.ARGUMENTS_DEPTH):
        return None
    return ToolCall(call_id, name, arguments)


def _from_object(value: Any, offered: Offered) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):
        value = value["function"]
    arguments: Any = next((value[k] for k in ("arguments", "parameters", "args") if k in value), {})
    return _call(value.get("name", value.get("function")), arguments, offered)


def _json_at(text: str, position: int) -> tuple[Any, int] | None:
    """The JSON value at `position` (blanks before it allowed) and where it ends."""
    while position < len(text) and text[position].isspace():
        position += 1
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, position)
    except (ValueError, RecursionError):
        return None


def _objects_at(text: str, position: int, offered: Offered, between: str = ";,") -> _Found | None:
    """One or more JSON objects in a row, or a list of them, each a call of an offered tool."""
    calls: list[ToolCall] = []
    while found := _json_at(text, position):
        value, end = found
        for item in value if isinstance(value, list) else [value]:
            call = _from_object(item, offered)
            if call is None:
                return None
            calls.append(call)
        position = end
        rest = re.compile(rf"\s*[{re.escape(between)}]?\s*(?=[{{\[])").match(text, end)
        if rest is None:
            break
        position = rest.end()
    return (calls, position) if calls else None


def _skip(text: str, position: int, *ends: str) -> int:
    """Past the first of `ends` that comes next, blanks aside; else `position`."""
    match = re.compile(r"\s*(?:" + "|".join(map(re.escape, ends)) + ")").match(text, position)
    return match.end() if match else position


def _tagged(text: str, start: int, position: int, offered: Offered) -> _Found | None:
    """Hermes and many others: JSON in a tag. GLM: a name and key-value tags. Qwen3-Coder: <function=…> in a tag. Llama,
    LFM: Python in a tag.
    """
    inner = re.compile(r"\s*<function=").match(text, position)
    if inner:
        return _qwen_xml(text, position, inner.end(), offered)
    glm = re.compile(r"\s*([\w.-]+)\s*(?=<arg_key>|</tool_call>)").match(text, position)
    if glm:
        return _glm(text, glm.group(1), glm.end(), offered)
    found = _objects_at(text, _skip(text, position, "```json", "```"), offered)
    if found is not None:
        return found[0], _skip(text, found[1], "```")
    closed = _CLOSED.search(text, position)
    body = text[position : closed.start() if closed else len(text)].strip()
    calls = _pythonic(body, offered) or _pythonic(f"[{body}]", offered)
    return (calls, closed.end() if closed else len(text)) if calls else None


def _glm(text: str, name: str, position: int, offered: Offered) -> _Found | None:
    pair = re.compile(r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.S)
    values: dict[str, str] = {}
    while match := pair.match(text, position):
        values[match.group(1).strip()] = match.group(2)
        position = match.end()
    call = _call(name, _typed(values, name, offered), offered)
    end = _skip(text, position, "</tool_call>")
    return ([call], end) if call and end > position else None


def _qwen_xml(text: str, start: int, position: int, offered: Offered) -> _Found | None:
    """`<function=name>` with `<parameter=key>` tags or one JSON object inside; several in a row are several calls.

    With tags the closing one has to be there: without it nobody knows whether a value or a parameter was cut.
    """
    calls: list[ToolCall] = []
    head = re.compile(r"([\w.-]+)\s*>")
    again = re.compile(r"\s*<function=")
    while match := head.match(text, position):
        name, position = match.group(1), match.end()
        values: dict[str, str] = {}
        arguments: Any = None
        if found := _json_at(text, position):
            arguments, position = found
        else:
            pair = re.compile(r"\s*<parameter=([^>\n]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=|</function>))", re.S)
            while parameter := pair.match(text, position):
                values[parameter.group(1).strip()] = parameter.group(2)
                position = parameter.end()
            arguments = _typed(values, name, offered)
        call = _call(name, arguments, offered)
        if call is None:
            return None
        calls.append(call)
        end = _skip(text, position, "</function>")
        if found is None and end == position:
            return None
        position = end
        follow = again.match(text, position)
        if follow is None:
            break
        position = follow.end()
    return (calls, position) if calls else None


def _typed(values: Mapping[str, str], name: str, offered: Offered) -> dict[str, Any]:
    """Values written as bare text, given the types the tool's schema wants; strings stay as they are."""
    properties = offered.get(name.removeprefix("functions."), {}).get("properties", {})
    return {key: _value(text, properties.get(key)) for key, text in values.items()}


def _value(text: str, schema: Any) -> Any:
    wanted = schema.get("type") if isinstance(schema, dict) else None
    if wanted == "string":
        return text
    try:
        value = parse_json(text)
    except ValueError:
        return text
    return text if wanted is None and isinstance(value, str) else value


def _mistral(text: str, start: int, position: int, offered: Offered) -> _Found | None:
    """`[TOOL_CALLS][{…}]`, or `[TOOL_CALLS]name[ARGS]{…}` and `name{…}`, one marker a call."""
    if found := _objects_at(text, position, offered):
        return found
    head = re.compile(r"\s*([\w.-]+)(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?(?=\s*\{)").match(text, position)
    value = _json_at(text, head.end()) if head else None
    if head is None or value is None:
        return None
    call = _call(head.group(1), value[0], offered)
    return ([call], value[1]) if call else None


def _deepseek(text: str, start: int, position: int, offered: Offered) -> _Found | None:
    """V3: `function<｜tool▁sep｜>name` and fenced JSON. V3.1: `name<｜tool▁sep｜>{…}`."""
    calls: list[ToolCall] = []
    begin = re.compile(r"\s*(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>")
    head = re.compile(r"\s*(?:function<｜tool▁sep｜>)?\s*([\w.-]+)\s*(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?\s*)?(?=\{)")
    position = start
    while match := begin.match(text, position):
        named = head.match(text, match.end())
        value = _json_at(text, named.end()) if named else None
        if named is None or value is None:
            return None
        call = _call(named.group(1), value[0], offered)
        if call is None:
            return None
        calls.append(call)
        position = _skip(text, _skip(text, value[1], "```"), "<｜tool▁call▁end｜>")
    return (calls, _skip(text, position, "<｜tool▁calls▁end｜>")) if calls else None


def _invoke(text: str, start: int, position: int, offered: Offered) -> _Found | None:
    """DeepSeek's DSML: `<｜DSML｜invoke name="…">` with parameter tags; the marker may also be left out."""
    mark = "(?:｜DSML｜)?"
    calls: list[ToolCall] = []
    position = start
    opening = re.compile(rf"\s*<(?:{mark}(?:function|tool)_calls|minimax:tool_call)>\s*").match(text, position)
    if opening:
        position = opening.end()
    invoke = re.compile(rf'\s*<{mark}invoke name="([^"\n]+)">')
    parameter = re.compile(
        rf'\s*<{mark}parameter name="([^"\n]+)"(?: string="(true|false)")?>(.*?)</{mark}parameter>', re.S
    )
    while match := invoke.match(text, position):
        name, position = match.group(1), match.end()
        values: dict[str, Any] = {}
        while pair := parameter.match(text, position):
            key, kind, value = pair.groups()
            schema = offered.get(name, {}).get("properties", {}).get(key)
            values[key] = value if kind == "true" else _value(value, {"type": "any"} if kind == "false" else schema)
            position = pair.end()
        call = _call(name, values, offered)
        if call is None:
            return None
        calls.append(call)
        end = _skip(text, position, "</｜DSML｜invoke>", "</invoke>")
        if end == position:
            return None
        position = end
    ends = ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>", "</function_calls>", "</minimax:tool_call>")
    return (calls, _skip(text, position, *ends)) if calls else None


def _kimi(text: str, start: int, position: int, offered: Offered) -> _Found | None:
    """`functions.name:0` is the call's id, and stays it."""
    calls: list[ToolCall] = []
    position = _skip(text, start, "<|tool_calls_section_begin|>")
    head = re.compile(r"\s*<\|tool_call_begin\|>\s*([\w.-]+?)(:\d+)?\s*<\|tool_call_argument_begin\|>")
    while match := head.match(text, position):
        value = _json_at(text, match.end())
        if value is None:
            return None
        call = _call(match.group(1), value[0], offered, match.group(1) + match.group(2) if match.group(2) else "")
        if call is None:
            return None
        calls.append(call)
        position = _skip(text, value[1], "<|tool_call_end|>")
    return (calls, _skip(text, position, "<|tool_calls_section_end|>")) if calls else None


_HEADER = re.compile(
    r"(?:<\|start\|>\w*)?(?:\s*to=([\w.]+))?\s*<\|channel\|>(\w+)([^<]*)(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>"
)
_MESSAGE_END = re.compile(r"<\|(?:end|call|return)\|>|(?=<\|start\|>|<\|channel\|>)|\Z")


def _harmony(text: str, position: int, offered: Offered) -> tuple[list[ToolCall], str, str, int] | None:
    """gpt-oss channels: calls, text of the final channel, reasoning of the analysis channel, and the end."""
    calls: list[ToolCall] = []
    shown: list[str] = []
    thought: list[str] = []
    while header := _HEADER.match(text, position):
        end = _MESSAGE_END.search(text, header.end())
        stop = end.start() if end else len(text)
        body = text[header.end() : stop]
        target = header.group(1) or (re.search(r"to=([\w.]+)", header.group(3)) or [None, None])[1]
        if target:
            call = _call(target, body, offered)
            if call is None:
                return None
            calls.append(call)
        elif header.group(2) == "analysis":
            thought.append(body)
        else:
            shown.append(body)
        position = end.end() if end else stop
    return (calls, "".join(shown), "\n".join(thought), position) if calls or shown or thought else None


def _pythonic(text: str, offered: Offered) -> list[ToolCall]:
    """Llama's `[name(key="value"), …]` when the whole text is that; values are literals, nothing is run."""
    text = text.strip()
    if not re.match(r"\[\s*[A-Za-z_][\w.]*\(", text) or not text.endswith(")]"):
        return []
    try:
        tree = ast.parse(text, mode="eval").body
        calls = []
        for node in tree.elts if isinstance(tree, ast.List) else []:
            if not isinstance(node, ast.Call) or node.args or any(k.arg is None for k in node.keywords):
                return []
            values = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
            call = _call(ast.unparse(node.func).removesuffix(".call"), values, offered)
            if call is None:
                return []
            calls.append(call)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return []
    return calls
