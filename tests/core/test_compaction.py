"""A conversation that grows too large is compacted, and goes on."""

from __future__ import annotations

import pytest

from agent_core import events, intents, limits
from agent_core.errors import ProviderError
from agent_core.messages import Usage
from agent_core.ports import LlmReply
from tests.core.session_support import Table, call, say


def is_summary_request(request):
    return request.messages[0].id == "compact"


def answering(*texts, summary="# Goal\nMend the parser."):
    """A model that summarises when asked to, and else says `texts` in turn, the last one again and again."""
    left = list(texts)

    def reply(request, sink, cancel):
        if is_summary_request(request):
            return say(summary, Usage(1_000, 50, 1_050)) if isinstance(summary, str) else summary(request)
        return say(left.pop(0) if len(left) > 1 else left[0])

    return reply


def long_talk(table, turns=8, size=20_000):
    for n in range(turns):
        table.turn(f"question {n}", count=n + 1)


def test_a_long_conversation_is_compacted_before_the_next_request(tmp_path):
    table = Table(tmp_path, answering("word " * 4_000))
    for n in range(8):
        table.turn(f"question {n}", count=n + 1)
    first = next(i for i, r in enumerate(table.model.requests) if is_summary_request(r))
    request = table.model.requests[first + 1]
    texts = [m.text for m in request.messages]
    assert "Mend the parser." in texts[1]
    assert texts[1].startswith("<conversation-summary>")
    assert len(request.messages) <= 2 + limits.KEEP_RECENT
    assert request.messages[-1].text.startswith("question")
    started, ended = table.of(events.CompactionStarted), table.of(events.CompactionFinished)
    assert len(started) == len(ended) >= 1
    stored = table.store.messages(table.session.id)
    assert sum(m.origin == "summary" for m in stored) == len(ended)
    assert [m.text for m in stored if m.starts_turn] == [f"question {n}" for n in range(8)]
