"""Chunks of a chat completion → one reply. Incremental, without I/O, linear in what arrives.

Servers that call themselves OpenAI-compatible differ in every field; what is accepted here and why is numbered in the
LLM wire rules (10 to 22). Whatever comes, a call is handed up only when all of it is known to have arrived.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_core.llm import failures
from agent_core.llm.arguments import encodable
from agent_core.llm.content import parts
from agent_core.llm.reply import Incoming, RawCall
from agent_core.llm.token_counts import read_usage
from agent_core.llm.wire import Tools
from agent_core.messages import clean_surrogates
from agent_core.ports.model import Delta, LlmReply


class ReplyBuilder(Incoming):
    """Takes decoded chunks, or one whole completion; gives deltas as they come, and the reply in the end."""

    def __init__(self, who: str, tools: Tools, key: str = "") -> None:
        super().__init__(who, tools, key)
        self._sent_back: list[str] = []
        """Raw reasoning_content, which some servers want back."""
        self._details: list[Any] = []
        self._calls: list[RawCall] = []
        self._by_index: dict[int, RawCall] = {}
        self._by_id: dict[str, RawCall] = {}

    def feed(self, chunk: Any) -> list[Delta]:
        """Take one chunk of a stream."""
        if isinstance(chunk, list) and chunk and isinstance(chunk[0], dict) and chunk[0].get("error"):
            chunk = chunk[0]  # Gemini wraps its errors
        if not isinstance(chunk, dict):
            raise self._protocol("an event that is no object")
        if failures.is_error_object(chunk):
            raise failures.from_event(chunk, self._who, self._key)
        chunk = _unwrapped(chunk)
        self._take_usage(chunk)
        choices = chunk.get("choices")
        if choices is None:
            return []
        if not isinstance(choices, list):
            raise self._protocol("choices that are no list")
        deltas: list[Delta] = []
        for choice in choices:
            if not isinstance(choice, dict):
                raise self._protocol("a choice that is no object")
            if choice.get("index") in (0, None, "0"):
                deltas += self._take_choice(choice)
        return deltas

    def feed_document(self, document: Any) -> list[Delta]:
        """Take a whole completion, as servers send it without streaming."""
        deltas = self.feed(document)
        if not isinstance(document, dict) or not _unwrapped(document).get("choices"):
            raise self._protocol("no choices")
        self._done = True
        self._finish = self._finish or "stop"
        return deltas

    def _take_choice(self, choice: Mapping[str, Any]) -> list[Delta]:
        if failures.is_error_object(choice):
            raise failures.from_event(choice, self._who, self._key)
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
            if isinstance(delta, dict) and choice.get("finish_reason"):
                delta = self._unsaid(delta)
        if not isinstance(delta, dict):
            text = choice.get("text")
            delta = {"content": text} if isinstance(text, str) else {}
        deltas = self._take_reasoning(delta)
        deltas += self._take_content(delta)
        deltas += self._take_calls(delta)
        word = choice.get("finish_reason")
        if isinstance(word, str) and word.strip():
            self._end_with(word)
        return deltas

    def _unsaid(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the whole message, with which some servers end a stream, holds beyond what the stream has told."""
        content, told = message.get("content"), self.partial_text
        if not (told and isinstance(content, str) and content.startswith(told)):
            return message
        rest = {name: value for name, value in message.items() if name in ("tool_calls", "function_call")}
        return {**rest, "content": content[len(told) :]}

    # -- text -------------------------------------------------------------------------------------------------------

    def _take_content(self, delta: Mapping[str, Any]) -> list[Delta]:
        content = delta.get("content")
        refusal = delta.get("refusal")
        deltas: list[Delta] = []
        for kind, text in parts(content):
            deltas += self._think(text) if kind == "reasoning" else self._say(text)
        if isinstance(refusal, str):
            deltas += self._say(refusal)
        return deltas

    def _take_reasoning(self, delta: Mapping[str, Any]) -> list[Delta]:
        """Servers give the same reasoning under several names at once; it counts once."""
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            for item in details:
                self._add_detail(item)
        content = delta.get("reasoning_content")
        if isinstance(content, str) and content:
            self._sent_back.append(content)
        for name in ("reasoning_content", "reasoning", "thinking", "reasoning_text"):
            value = delta.get(name)
            if isinstance(value, str) and value:
                return self._think(value)
        if isinstance(details, list):
            texts = (i.get("text") or i.get("summary") for i in details if isinstance(i, dict))
            return self._think("".join(t for t in texts if isinstance(t, str)))
        return []

    def _add_detail(self, item: Any) -> None:
        """Keep a reasoning detail; fragments of the same one become one again."""
        last = self._details[-1] if self._details else None
        if (
            isinstance(item, dict)
            and isinstance(last, dict)
            and item.get("type") == last.get("type")
            and item.get("index") is not None
            and item.get("index") == last.get("index")
            and item.get("id") in (None, last.get("id"))
        ):
            for name, value in item.items():
                if name in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(name), list):
                    last[name].append(value)
                elif value is not None:
                    last[name] = value
        elif isinstance(item, dict):
            # Growing texts are lists until the end, so that joining stays linear.
            self._details.append(
                {k: [v] if k in ("text", "summary", "data") and isinstance(v, str) else v for k, v in item.items()}
            )
        elif item is not None:
            self._details.append(item)

    # -- calls ------------------------------------------------------------------------------------------------------

    def _take_calls(self, delta: Mapping[str, Any]) -> list[Delta]:
        items = delta.get("tool_calls")
        if isinstance(items, dict):
            items = [items] if {"function", "id", "name"} & items.keys() else list(items.values())
        deltas: list[Delta] = []
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict):
                deltas += self._take_call(item)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and (legacy.get("name") or legacy.get("arguments")):
            deltas += self._take_call({"index": 0, "function": legacy})
        return deltas

    def _take_call(self, item: Mapping[str, Any]) -> list[Delta]:
        function = item.get("function")
        if not isinstance(function, dict):
            function = item.get(str(item.get("type")))  # a call of another type has its fields under its name
        if not isinstance(function, dict):
            function = item if {"name", "arguments"} & item.keys() else {}
        call_id = item["id"] if isinstance(item.get("id"), str) else ""
        name = function["name"].strip() if isinstance(function.get("name"), str) else ""
        arguments = _argument_text(function.get("arguments", function.get("parameters", function.get("input"))))
        call = self._find(_index(item.get("index")), call_id, name, arguments)
        if call_id and not call.id:
            call.id = call_id
            self._by_id.setdefault(call_id, call)
        if arguments:
            call.fragments.append(arguments)
        if extra := item.get("extra_content"):
            call.extra["extra_content"] = extra
        before = call.name
        if name and name != call.name:
            # Fragments are joined; a name that contains all the earlier ones is a snapshot.
            call.name = name if name.startswith(call.name) else call.name + name
        self.progress += 1
        deltas = [Delta("tool", clean_surrogates(call.name))] if call.name != before else []
        return [*deltas, Delta("arguments", arguments)] if arguments else deltas

    def _find(self, index: int | None, call_id: str, name: str, arguments: str) -> RawCall:
        """The call a fragment belongs to (rule 17): by index, else by id, else the last one; or a new one."""
        if index is not None:
            call = self._by_index.get(index)
        elif call_id:
            call = self._by_id.get(call_id)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or self._begins_another(call, index, call_id, name, arguments):
            call = RawCall(index)
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
        return call

    def _begins_another(self, call: RawCall, index: int | None, call_id: str, name: str, arguments: str) -> bool:
        """True when a fragment that seems to belong to `call` opens the next one: all calls at index 0, or none.

        A fragment without a name never does. One with a name does once the call's arguments are whole, or when both
        names are tools in their own right; else the name is only repeated, or a fragment itself.
        """
        if not name or not call.name or (call_id and call_id == call.id):
            return False
        if not call.has_arguments:
            return name != call.name and name in self._tools and call.name in self._tools
        if index is not None and not call_id:
            repeated = arguments.strip() == "".join(call.fragments).strip()
            return arguments.startswith("{") and not repeated and call.looks_whole()
        return call.looks_whole()

    # -- usage ------------------------------------------------------------------------------------------------------

    def _take_usage(self, chunk: Mapping[str, Any]) -> None:
        """The last usage that is not all zeros wins; counts are running totals, never to be added up (rule 14)."""
        choices = chunk.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        groq = chunk.get("x_groq")
        for holder in (groq, first, chunk):
            found = read_usage(holder.get("usage")) if isinstance(holder, dict) else None
            if found is not None:
                self._usage = found

    # -- the end ----------------------------------------------------------------------------------------------------

    def finish(self) -> LlmReply:
        """The reply. Raises ProviderError "truncated" when what came is not known to be all of it."""
        calls = [c for c in self._calls if c.name or c.has_arguments]
        if all(c.index is not None for c in calls):
            calls.sort(key=lambda c: c.index or 0)
        extra: dict[str, Any] = {}
        if self._sent_back:
            extra["reasoning_content"] = clean_surrogates("".join(self._sent_back))
        if self._details:
            extra["reasoning_details"] = encodable([_joined(d) for d in self._details])
        return self._reply(calls, extra)


def _index(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:9])
    return None


def _argument_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def _unwrapped(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """A completion that a gateway put inside `result`, `data` or `response`."""
    if "choices" not in chunk:
        for name in ("result", "data", "response"):
            inner = chunk.get(name)
            if isinstance(inner, dict) and "choices" in inner:
                return inner
    return chunk


def _joined(detail: Any) -> Any:
    if not isinstance(detail, dict):
        return detail
    return {
        k: "".join(v)
        if k in ("text", "summary", "data") and isinstance(v, list) and all(isinstance(t, str) for t in v)
        else v
        for k, v in detail.items()
    }
