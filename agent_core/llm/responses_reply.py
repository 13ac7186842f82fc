"""Events of a response, or one whole response → one reply. Incremental, without I/O, linear in what arrives.

The API tells everything several times: in deltas, in the event that ends a part, in the one that ends the item, in the
whole response at the end. Servers that speak it leave out any of these, and ids and indexes too: each place is taken
for what the others have not told yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from agent_core.llm import failures
from agent_core.llm.arguments import decode, encodable
from agent_core.llm.reply import Incoming, RawCall
from agent_core.llm.token_counts import read_usage
from agent_core.llm.wire import Tools
from agent_core.llm.words import failure
from agent_core.messages import clean_surrogates
from agent_core.ports.model import Delta, LlmReply
from agent_core.records import dataclass

ITEMS = "response_items"
"""The key in Message.extra: the reasoning items to be sent back whole, and bare marks where text and calls stood."""

_Kind = Literal["message", "reasoning", "function_call", "other"]
_KINDS: Mapping[str, _Kind] = {"message": "message", "reasoning": "reasoning", "function_call": "function_call"}
_PARTS: Mapping[str, tuple[_Kind, str]] = {
    "output_text": ("message", "text"),
    "refusal": ("message", "text"),
    "reasoning_summary_text": ("reasoning", "summary"),
    "reasoning_summary": ("reasoning", "summary"),
    "reasoning_text": ("reasoning", "text"),
    "reasoning": ("reasoning", "text"),
    "function_call_arguments": ("function_call", "arguments"),
}
"""What `response.X.delta` and `response.X.done` add to: the kind of item, and which of its texts."""
_ENDS: Mapping[str, str] = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
"""The events that end a response, and its status when it does not say."""
_UNFINISHED = ("in_progress", "queued")


@dataclass(slots=True, eq=False)
class _Item:
    """One output item while it arrives."""

    kind: _Kind
    index: int | None = None
    """The server's output_index."""
    id: str = ""
    call_id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    """What has come of its text, of its reasoning, or of its arguments."""
    size: int = 0
    """Characters in `fragments`."""
    source: str = ""
    """Which of its texts that is, "summary" or "text": where a server tells both, the first counts."""
    part: Any = None
    """The part of the summary that is being told."""
    wholes: list[str] = field(default_factory=list)
    """Arguments as other places told them, whole."""
    phase: str = ""
    kept: dict[str, Any] = field(default_factory=dict)
    """What is sent back of a reasoning item."""
    begun: bool = False
    """An event has said that it begins."""
    ended: bool = False


class ResponseBuilder(Incoming):
    """Takes decoded events, or one whole response; gives deltas as they come, and the reply in the end."""

    def __init__(self, who: str, tools: Tools, key: str = "") -> None:
        super().__init__(who, tools, key)
        self._items: list[_Item] = []
        self._by_id: dict[str, _Item] = {}

    def feed(self, chunk: Any) -> list[Delta]:
        """Take one event of a stream."""
        if not isinstance(chunk, dict):
            raise self._protocol("an event that is no object")
        if chunk.get("object") == "response":  # some servers stream the bare response, also while it grows
            return [] if chunk.get("status") in _UNFINISHED else self._take_response(chunk, "completed")
        if failures.is_error_object(chunk):
            raise failures.from_event(chunk, self._who, self._key)
        name = _text(chunk.get("type"))
        if name in _ENDS:
            response = chunk.get("response")
            return self._take_response(response if isinstance(response, dict) else {}, _ENDS[name])
        if name in ("response.output_item.added", "response.output_item.done"):
            item = chunk.get("item")
            return self._take_item(item, chunk, ended=name.endswith("done")) if isinstance(item, dict) else []
        what, _, event = name.removeprefix("response.").rpartition(".")
        if what in _PARTS and event in ("delta", "done"):
            return self._take_part(chunk, *_PARTS[what], ended=event == "done")
        return []

    def feed_document(self, document: Any) -> list[Delta]:
        """Take a whole response, as servers send it without streaming."""
        if isinstance(document, dict) and isinstance(document.get("response"), dict):
            document = document["response"]
        if isinstance(document, dict) and (document.get("error") or not isinstance(document.get("output"), list)):
            if failures.is_error_object(document):
                raise failures.from_event(document, self._who, self._key)
            raise self._protocol("no output")
        if not isinstance(document, dict):
            raise self._protocol("no response")
        return self._take_response(document, "completed")

    def finish(self) -> LlmReply:
        """The reply. Raises ProviderError "truncated" when what came is not known to be all of it."""
        calls = [i for i in self._items if i.kind == "function_call"]
        indexes = {i.index for i in calls}
        if None not in indexes and len(indexes) == len(calls):
            calls.sort(key=lambda i: i.index or 0)
        raw = [RawCall(n, i.call_id or i.id, i.name, _arguments(i)) for n, i in enumerate(calls)]
        marks = [mark for item in self._items for mark in _marks(item)]
        say_anything = any(mark["type"] == "reasoning" or "phase" in mark for mark in marks)
        return self._reply(raw, {ITEMS: encodable(marks)} if say_anything else {})

    # -- which item -------------------------------------------------------------------------------------------------

    def _item(self, kind: _Kind, ident: str, index: Any, call_id: str = "", *, ends: bool = False) -> _Item:
        """The item an event is about: by its id, a call's by that of the call, by its index, or else the open one of
        its kind: the last, and of those that may end now the first. A new one when there is none."""
        known = self._by_id.get(ident)
        if known is not None and known.kind == kind:
            return known
        index = index if isinstance(index, int) else None
        mine = [i for i in self._items if i.kind == kind]
        if call_id and (same := next((i for i in mine if i.call_id == call_id), None)):
            return same
        # A call that has an id of its own is not one with another id, whatever its index.
        mine = [i for i in mine if not (call_id and i.call_id)]
        open_ones = [i for i in mine if not i.ended]
        if index is None:
            found = open_ones
        elif not (found := [i for i in open_ones or mine if i.index == index]):
            found = [i for i in open_ones[-1:] if i.begun and not i.fragments]  # announced under another index
        return found[0 if ends else -1] if found else self._new_item(kind, ident, index)

    def _new_item(self, kind: _Kind, ident: str, index: int | None) -> _Item:
        item = _Item(kind, index, ident)
        self._items.append(item)
        if ident:
            self._by_id[ident] = item
        return item

    def _take_item(self, data: Mapping[str, Any], event: Mapping[str, Any], *, ended: bool) -> list[Delta]:
        """An item as it begins, or as it is in the end."""
        kind, ident, index = _kind(data), _text(data.get("id")), event.get("output_index")
        item = self._item(kind, ident, index, _text(data.get("call_id")), ends=ended)
        if not ended and item.begun and self._by_id.get(ident) is not item:
            item = self._new_item(kind, ident, None)  # another one, though nothing else tells them apart
        item.begun = True
        self.progress += 1
        return self._take_whole(item, data, ended=ended)

    # -- what it says -----------------------------------------------------------------------------------------------

    def _take_whole(self, item: _Item, data: Mapping[str, Any], *, ended: bool) -> list[Delta]:
        """All that an item says and its events have not said yet."""
        item.ended = item.ended or ended
        if ident := _text(data.get("id")):
            item.id = item.id or ident
            self._by_id.setdefault(ident, item)
        if item.kind == "message":
            item.phase = _text(data.get("phase")) or item.phase
            return self._tell_rest(item, "text", _joined(data.get("content")))
        if item.kind == "reasoning":
            item.kept |= {k: data[k] for k in ("id", "summary", "content", "encrypted_content") if data.get(k)}
            told = self._tell_rest(item, "summary", _joined(data.get("summary"), "\n\n"))
            return told or self._tell_rest(item, "text", _joined(data.get("content")))
        if item.kind == "function_call":
            item.call_id = item.call_id or _text(data.get("call_id"))
            self._take_whole_arguments(item, data.get("arguments"))
            return self._name(item, data.get("name"))
        return []

    def _take_part(self, event: Mapping[str, Any], kind: _Kind, source: str, *, ended: bool) -> list[Delta]:
        """More of a part's text, or all of it when the part has ended."""
        item = self._item(kind, _text(event.get("item_id")), event.get("output_index"))
        if kind == "function_call":
            if ended:
                self._take_whole_arguments(item, event.get("arguments"))
            elif delta := _text(event.get("delta")):
                item.fragments.append(delta)
                return [*self._name(item, event.get("name")), Delta("arguments", delta)]
            return self._name(item, event.get("name"))
        if ended:
            # It is one part of several, unless nothing has come: the item's end tells the rest.
            return self._tell_rest(item, source, _joined(event)) if source == "text" or not item.fragments else []
        text = _joined(event.get("delta"))
        part, item.part = item.part, event.get("summary_index")
        return self._tell(item, source, "\n\n" + text if item.fragments and part != item.part else text)

    def _tell_rest(self, item: _Item, source: str, whole: str) -> list[Delta]:
        """What `whole` has beyond what has been told; nothing when it begins otherwise."""
        if len(whole) <= item.size:
            return []
        told = "".join(item.fragments)
        return self._tell(item, source, whole[len(told) :]) if whole.startswith(told) else []

    def _tell(self, item: _Item, source: str, text: str) -> list[Delta]:
        item.source = item.source or source
        if not text or item.source != source:
            return []
        begins = not item.fragments
        item.fragments.append(text)
        item.size += len(text)
        if begins and any(i.kind == item.kind and i.fragments for i in self._items if i is not item):
            text = "\n\n" + text
        return self._say(text) if item.kind == "message" else self._think(text)

    def _take_whole_arguments(self, item: _Item, arguments: Any) -> None:
        if arguments not in (None, ""):
            item.wholes.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _name(self, item: _Item, name: Any) -> list[Delta]:
        self.progress += 1
        name = _text(name).strip()
        if not name or item.name:
            return []
        item.name = name
        return [Delta("tool", clean_surrogates(name))]

    # -- the end ----------------------------------------------------------------------------------------------------

    def _take_response(self, response: Mapping[str, Any], status: str) -> list[Delta]:
        """The response at its end. Raises ProviderError when it failed."""
        self._usage = read_usage(response.get("usage")) or self._usage
        status = _text(response.get("status")) or status
        error = response.get("error")
        if error or status in ("failed", "cancelled"):
            raise failures.from_event({"error": error or f"the response has {status}"}, self._who, self._key)
        if status in _UNFINISHED:
            raise failure("truncated", self._who)
        deltas: list[Delta] = []
        left = list(self._items)
        output = response.get("output")
        for data in output if isinstance(output, list) else ():
            if isinstance(data, dict):
                item = self._told(data, left)
                deltas += self._take_whole(item, data, ended=True)
        details = response.get("incomplete_details")
        reason = _text(details.get("reason")) if isinstance(details, dict) else ""
        self._end_with((reason or "length") if status == "incomplete" else "stop")
        if status == "incomplete" and self._finish == "stop":  # for a reason that is not known here
            self._finish = "length"
        return deltas

    def _told(self, data: Mapping[str, Any], left: list[_Item]) -> _Item:
        """The item that one of the whole response is; by then its id may be another one. Taken out of `left`."""
        kind, ident, call_id = _kind(data), _text(data.get("id")), _text(data.get("call_id"))
        mine = [i for i in left if i.kind == kind]
        same = [i for i in mine if (ident and i.id == ident) or (call_id and i.call_id == call_id)] or mine
        if not same:
            return self._new_item(kind, ident, None)
        left.remove(same[0])
        return same[0]


def _kind(data: Mapping[str, Any]) -> _Kind:
    if name := _text(data.get("type")):
        return _KINDS.get(name, "other")
    return "function_call" if "arguments" in data else "reasoning" if "summary" in data else "message"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _joined(value: Any, between: str = "") -> str:
    """The text of a list of parts, of one part, or of a bare string."""
    return between.join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        yield from _texts(value.get("text") or value.get("refusal"))


def _arguments(item: _Item) -> list[str]:
    """A call's arguments: of the places that told them the first that is whole, but rather one that says something."""
    told = [item.fragments, *([whole] for whole in reversed(item.wholes))]
    whole = [(decoded.value, f) for f in told if "".join(f).strip() and (decoded := decode(f)).whole]
    if whole:
        return next((fragments for value, fragments in whole if value), whole[0][1])
    return max(told, key=lambda fragments: sum(map(len, fragments)))


def _marks(item: _Item) -> list[dict[str, Any]]:
    """What is kept of an item, to be sent back in its place."""
    if item.kind == "reasoning":
        # Without its content the server would have to remember it, and it was asked not to.
        has_content = item.kept.get("encrypted_content") or item.kept.get("content")
        return [{"type": "reasoning", "summary": [], **item.kept}] if has_content else []
    if item.kind == "message" and item.fragments:
        return [{"type": "message", **({"phase": item.phase} if item.phase else {})}]
    return [{"type": "function_call"}] if item.kind == "function_call" else []
