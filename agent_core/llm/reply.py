"""What has come of a reply, whatever the wire, and in the end the reply: only what is known to have arrived whole.

A wire's builder takes its events apart and says here what they hold. Incremental, without I/O, linear in what arrives.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.errors import ProviderError, ProviderErrorKind
from agent_core.llm import text_tools
from agent_core.llm.arguments import Decoded, decode, encodable
from agent_core.llm.content import Halves, TextChannel, bare_thought, closed_only
from agent_core.llm.wire import Tools
from agent_core.llm.words import failure
from agent_core.messages import ToolCall, Usage, clean_surrogates
from agent_core.ports.model import Delta, Finish, LlmReply
from agent_core.records import dataclass

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "endturn": "stop",
    "eos": "stop",
    "stopsequence": "stop",
    "toolcalls": "tool_calls",
    "toolcall": "tool_calls",
    "tooluse": "tool_calls",
    "functioncall": "tool_calls",
    "length": "length",
    "maxtokens": "length",
    "maxoutputtokens": "length",
    "modellength": "length",
    "errorlimit": "length",
    "pauseturn": "length",
    "contentfilter": "content_filter",
    "contentfiltered": "content_filter",
    "guardrailintervened": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibitedcontent": "content_filter",
    "spii": "content_filter",
    "refusal": "content_filter",
    "errortoxic": "content_filter",
}
"""By their letters alone: MAX_TOKENS, max_tokens and maxTokens are one word."""
_FAILED: Mapping[str, ProviderErrorKind] = {
    "error": "server",
    "networkerror": "server",
    "insufficientsystemresource": "server",
    "abort": "server",
    "malformedfunctioncall": "bad_tool_call",
    "unexpectedtoolcall": "bad_tool_call",
    "modelcontextwindowexceeded": "context_length",
    "contextlengthexceeded": "context_length",
}


@dataclass(slots=True)
class RawCall:
    """A tool call while it arrives."""

    index: int | None = None
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def looks_whole(self) -> bool:
        """True when the arguments so far are one JSON value; the last character is looked at first, as it is cheap."""
        last = next((f.rstrip() for f in reversed(self.fragments) if f.strip()), "")
        return last.endswith(("}", "]", '"', "null")) and decode(self.fragments).whole

    @property
    def has_arguments(self) -> bool:
        return any(f.strip() for f in self.fragments)


class Incoming:
    """What the builders of all wires have in common; see wire.Builder for what they promise.

    `tools` are the offered tools' parameter schemas by name; `key` is masked in what a server says of its failures.
    """

    def __init__(self, who: str, tools: Tools, key: str = "") -> None:
        self._who = who
        self._tools = tools
        self._key = key
        self._usage: Usage | None = None
        self._finish: Finish | None = None
        """None: the server has not named a reason to finish."""
        self._done = False
        self.late = ""
        self.progress = 0
        self._channel = TextChannel(bool(tools))
        self._text_halves = Halves()
        self._reasoning: list[str] = []
        self._reasoning_halves = Halves()

    @property
    def finished(self) -> bool:
        return self._finish is not None

    @property
    def partial_text(self) -> str:
        return "".join(self._channel.text)

    @property
    def partial_reasoning(self) -> str:
        return "".join(self._reasoning) + "".join(self._channel.reasoning)

    def done(self) -> None:
        self._done = True

    def _say(self, text: str) -> list[Delta]:
        """Some of the reply's text."""
        if not text:
            return []
        self.progress += 1
        return self._channel.feed(self._text_halves.feed(text))

    def _think(self, text: str) -> list[Delta]:
        """Some of its reasoning."""
        text = self._reasoning_halves.feed(text)
        if not text:
            return []
        self.progress += 1
        self._reasoning.append(text)
        return [Delta("reasoning", text)]

    def _end_with(self, word: str) -> None:
        """The server's reason to finish, in its own words (rule 12). Raises ProviderError when it is a failure."""
        # Gemini's FINISH_REASON_STOP, and "function_call_filter: MALFORMED_FUNCTION_CALL"
        letters = re.sub(r"[^a-z]", "", word.lower().rpartition(":")[2]).removeprefix("finishreason")
        if kind := _FAILED.get(letters):
            word = word.strip().lower()
            raise failure(kind, self._who, "server_gave_up" if kind == "server" else "", finish_reason=word)
        # An unknown word ends the reply all the same.
        self._finish = _FINISH.get(letters, "stop")

    def _protocol(self, what: str) -> ProviderError:
        return failure("protocol", self._who, what=what)

    def _reply(self, raw: Sequence[RawCall], extra: Mapping[str, Any]) -> LlmReply:
        """The whole reply with these calls, in their order, and what has to be sent back with it.

        Raises ProviderError "truncated" when what came is not known to be all of it (rules 3, 5, 21).
        """
        self._channel.feed(self._text_halves.end())
        self._think(self._reasoning_halves.end())
        shown = self.partial_text
        self._channel.end()
        text, reasoning = self.partial_text, self.partial_reasoning
        if not reasoning:
            text, reasoning = closed_only(text)
        calls, dropped = self._whole_calls([c for c in raw if c.name or c.has_arguments])
        nothing = not (text.strip() or reasoning.strip() or calls)
        if self._finish is None and (not self._done or nothing):
            error = failure("truncated", self._who)
            error.partial_text = shown
            raise error
        if self._tools and not calls:
            written = text_tools.extract(text, self._tools)
            text, calls = written.text, _with_ids(written.calls)
            reasoning = reasoning or written.reasoning
            if (
                self._finish == "length"
                and not dropped
                and (rest := text_tools.without_cut(text, self._tools)) is not None
            ):
                text, dropped = rest, 1
        text = text_tools.without_residue(text) if self._tools else text
        self.late = text[len(shown) :] if text.startswith(shown) else ""
        finish: Finish = self._finish or "stop"
        if calls:
            finish = "tool_calls"
        elif finish == "tool_calls":
            finish = "stop"
        return LlmReply(
            text=text if text.strip() else "",
            reasoning=bare_thought(reasoning),
            tool_calls=tuple(calls),
            usage=self._usage,
            finish=finish,
            extra=extra,
            dropped_tool_calls=dropped,
        )

    def _whole_calls(self, calls: Sequence[RawCall]) -> tuple[list[ToolCall], int]:
        """The calls that arrived whole, in order, and how many the output limit cut."""
        cut = self._finish in ("length", "content_filter")
        decoded: list[tuple[RawCall, Decoded]] = []
        dropped = 0
        for call in calls:
            arguments = decode(call.fragments)
            if not arguments.whole and self._finish is None:
                raise failure("truncated", self._who)
            if cut and (not arguments.whole or (call is calls[-1] and not call.has_arguments)):
                dropped += 1
            else:
                decoded.append((call, arguments))
        return (
            _with_ids(
                [ToolCall(c.id, self._offered_name(c.name), d.value, d.error, encodable(c.extra)) for c, d in decoded]
            ),
            dropped,
        )

    def _offered_name(self, name: str) -> str:
        """`name`, or the offered tool that is left of it without what some templates put around (rule 19)."""
        if name in self._tools:
            return name
        short = name.partition("<|")[0].strip(" \"'").removeprefix("functions.").removeprefix("default_api.")
        return short if short in self._tools else name


def _with_ids(calls: list[ToolCall]) -> list[ToolCall]:
    """Every call with an id of its own: missing and repeated ones are made up (rule 18)."""
    seen: set[str] = set()
    out = []
    for call in calls:
        call_id = clean_surrogates(call.id)
        if not call_id.strip() or call_id in seen:
            call_id = f"call_{uuid.uuid4().hex[:24]}"
        seen.add(call_id)
        out.append(ToolCall(call_id, clean_surrogates(call.name), call.arguments, call.arguments_error, call.extra))
    return out
