"""Events of a message, or one whole message → one reply. Incremental, without I/O, linear in what arrives.

A message is a row of blocks: text, thinking, calls. Servers that offer this wire beside their own leave out types,
indexes and ends, send whole blocks without deltas, or tokens in one place only; all of that is taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from agent_core.llm import failures
from agent_core.llm.arguments import decode, encodable
from agent_core.llm.reply import Incoming, RawCall
from agent_core.llm.token_counts import read_usage
from agent_core.llm.wire import Tools
from agent_core.messages import clean_surrogates
from agent_core.ports.model import Delta, LlmReply
from agent_core.records import dataclass

BLOCKS = "thinking_blocks"
"""Under which name Message.extra keeps the thinking that is to be sent back as it came: the blocks in order, each with
`at`: how many characters of text and how many calls came before it."""


@dataclass(slots=True)
class _Block:
    """One block while it arrives."""

    kind: str
    call: RawCall | None = None
    given: Any = None
    """A call's input as the block began with it; most begin with an empty one and send it in pieces."""
    thinking: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    data: str = ""
    at: tuple[int, int] = (0, 0)

    def kept(self) -> dict[str, Any] | None:
        """What is sent back of it; None for a block that is no thinking, or an empty one."""
        if self.kind == "redacted_thinking":
            return {"type": self.kind, "data": self.data, "at": list(self.at)} if self.data else None
        if self.kind != "thinking" or not (self.thinking or self.signature):
            return None
        # Without a signature it is sent back all the same: servers that give none want the thinking itself.
        signed = {"signature": "".join(self.signature)} if self.signature else {}
        return {"type": "thinking", "thinking": "".join(self.thinking), **signed, "at": list(self.at)}


class MessageBuilder(Incoming):
    """Takes decoded events, or one whole message; gives deltas as they come, and the reply in the end."""

    def __init__(self, who: str, tools: Tools, key: str = "") -> None:
        super().__init__(who, tools, key)
        self._blocks: list[_Block] = []
        self._open: dict[int | str | None, _Block] = {}
        """By index."""
        self._counts: dict[str, Any] = {}
        self._characters = 0
        """Of text so far."""

    def feed(self, chunk: Any) -> list[Delta]:
        """Take one event of a stream."""
        if not isinstance(chunk, dict):
            raise self._protocol("an event that is no object")
        if failures.is_error_object(chunk):
            raise failures.from_event(chunk, self._who, self._key)
        match _type_of(chunk):
            case "message_start":
                message = chunk.get("message")
                return self._take_message(message) if isinstance(message, dict) else []
            case "content_block_start":
                block = chunk.get("content_block")
                return self._begin(_index(chunk), block) if isinstance(block, dict) else []
            case "content_block_delta":
                delta = chunk.get("delta")
                return self._continue(_index(chunk), delta) if isinstance(delta, dict) else []
            case "content_block_stop":
                self._open.pop(_index(chunk), None)
            case "message_delta":
                self._take_end(chunk.get("delta"))
                self._count(chunk.get("usage"))
            case "message_stop":
                self._done = True
            case "message":
                return self.feed_document(chunk)
            case "" if chunk.keys() - {"type"}:
                raise self._protocol("an event of no known kind")
            case _:
                pass  # pings, and what later versions add: documented to be ignored
        return []

    def feed_document(self, document: Any) -> list[Delta]:
        """Take a whole message, as servers send it without streaming."""
        if not isinstance(document, dict):
            raise self._protocol("a reply that is no object")
        if failures.is_error_object(document):
            raise failures.from_event(document, self._who, self._key)
        if not isinstance(document.get("content"), list | str):
            raise self._protocol("no content")
        deltas = self._take_message(document)
        self._done = True
        self._finish = self._finish or "stop"
        return deltas

    def _take_message(self, message: Mapping[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, str):
                block = {"type": "text", "text": block}
            if isinstance(block, dict):
                deltas += self._begin(None, block)
        self._take_end(message)
        self._count(message.get("usage"))
        return deltas

    def _take_end(self, holder: Any) -> None:
        word = holder.get("stop_reason") if isinstance(holder, dict) else None
        if isinstance(word, str) and word.strip():
            self._end_with(word)

    def _count(self, usage: Any) -> None:
        """Counts are running totals: the last one that is not zero holds, wherever it comes (rule 14)."""
        for name, value in usage.items() if isinstance(usage, dict) else ():
            if value or name not in self._counts:
                self._counts[name] = value
        self._usage = read_usage(self._counts)

    # -- blocks -----------------------------------------------------------------------------------------------------

    def _begin(self, index: int | str | None, start: Mapping[str, Any]) -> list[Delta]:
        known = self._open.get(index) if index is not None else None
        call_id, name = _text(start, "id"), _text(start, "name").strip()
        if known is not None and known.call is not None and call_id and known.call.id == call_id:
            return []  # told twice
        kind = _text(start, "type") or ("tool_use" if name else "thinking" if "thinking" in start else "text")
        block = self._new(index, kind)
        if block.call is not None:
            block.call.id, block.call.name = call_id, name
            block.given = start.get("input")
            self.progress += 1
            return [Delta("tool", clean_surrogates(name))] if name else []
        block.data = _text(start, "data")
        return self._add(block, start)

    def _new(self, index: int | str | None, kind: str) -> _Block:
        calls = sum(b.call is not None for b in self._blocks) if kind.endswith("thinking") else 0
        block = _Block(kind, RawCall() if kind == "tool_use" else None, at=(self._characters, calls))
        self._blocks.append(block)
        if index is not None:
            self._open[index] = block
        return block

    def _continue(self, index: int | str | None, delta: Mapping[str, Any]) -> list[Delta]:
        block = self._open.get(index)
        if block is None:
            kind = "tool_use" if "partial_json" in delta else "thinking" if "thinking" in delta else "text"
            last = self._blocks[-1] if self._blocks and index is None else None
            fits = last is not None and (last.kind == kind or "signature" in delta)
            block = last if last is not None and fits else self._new(index, kind)
        return self._add(block, delta)

    def _add(self, block: _Block, piece: Mapping[str, Any]) -> list[Delta]:
        """What a block begins with and what is added to it has the same names."""
        deltas: list[Delta] = []
        if block.call is not None:
            fragment = piece.get("partial_json")
            if fragment is not None:
                self.progress += 1
                block.call.fragments.append(fragment if isinstance(fragment, str) else json.dumps(fragment))
                deltas.append(Delta("arguments", block.call.fragments[-1]))
            return deltas
        if thought := _text(piece, "thinking"):
            block.thinking.append(thought)
            deltas += self._think(thought)
        if signature := _text(piece, "signature"):
            block.signature.append(signature)
            self.progress += 1
        if text := _text(piece, "text"):
            self._characters += len(text)
            deltas += self._say(text)
        return deltas

    # -- the end ----------------------------------------------------------------------------------------------------

    def finish(self) -> LlmReply:
        """The reply. Raises ProviderError "truncated" when what came is not known to be all of it."""
        calls = []
        for block in self._blocks:
            if block.call is None or not (block.call.name or block.call.has_arguments or block.given):
                continue
            if block.given and not (block.call.has_arguments and decode(block.call.fragments).whole):
                block.call.fragments = [block.given if isinstance(block.given, str) else json.dumps(block.given)]
            calls.append(block.call)
        kept = [k for b in self._blocks if (k := b.kept()) is not None]
        if self._finish in ("length", "content_filter"):
            kept = [k for k in kept if k.get("signature") or "data" in k]  # the last may be cut
        return self._reply(calls, {BLOCKS: encodable(kept)} if kept else {})


_TYPES = (
    ("message", "message_start"),
    ("content_block", "content_block_start"),
    ("choices", ""),
    ("delta", "content_block_delta"),
    ("content", "message"),
    ("index", "content_block_stop"),
    ("usage", "message_delta"),
)
"""What an event is that does not say so: the first of these fields that it has tells."""


def _type_of(chunk: Mapping[str, Any]) -> str:
    kind = _text(chunk, "type")
    if kind and (kind != "message" or "content" in chunk):  # "message" is also what an event without a name is called
        return kind
    kind = next((kind for name, kind in _TYPES if name in chunk), "")
    delta = chunk.get("delta")
    ends = isinstance(delta, dict) and "stop_reason" in delta
    return "message_delta" if ends else kind


def _index(chunk: Mapping[str, Any]) -> int | str | None:
    index = chunk.get("index")
    return index if isinstance(index, int | str) else None


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
