"""A call whose arguments are cut on the way is never run, and the model is told: the real client, the real loop."""

import json
from dataclasses import replace

import pytest

from agent_core import events
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.messages import new_id
from agent_core.session.services import Connection
from tests.core.session_support import say
from tests.fakes.raw_server import STREAM_HEAD, chunked, event, raw_server, read_request, stream_reply

HALF = '{"path": "a.txt", "content": "half a fi'


def cut_by(finish):
    """A stream whose only call has half its arguments; `finish` None: it just ends."""
    function = {"name": "write_file", "arguments": HALF}
    call = event({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
    end = b"" if finish is None else event({}, finish) + b"data: [DONE]\n\n"
    return STREAM_HEAD + chunked(call + end) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("finish", "told_by", "words"),
    [
        ("length", "user", "reached the output limit in the middle of a tool call"),
        ("stop", "tool", "not a valid JSON object"),
        ("tool_calls", "tool", "not a valid JSON object"),
        (None, "", ""),
    ],
    ids=["cut by the output limit", "stop with half of it", "calls with half of it", "the stream just ends"],
)
def test_half_a_call_is_never_run(table, finish, told_by, words):
    bodies = []

    def serve(connection, number):
        while True:
            bodies.append(read_request(connection)["body"])
            if len(bodies) == 1:
                connection.sendall(cut_by(finish))
            else:
                stream_reply(connection, "I do it in pieces.")

    with raw_server(serve) as server:
        settings = ProviderOptions(base_url=server.base_url, model="m", retry_base=0.01)
        t = table(say("unused"))
        client = make_client(resolve(settings, {}, {}), settings)
        t.services = replace(t.services, connect=lambda *which: Connection(client, "test", "m", "M"))
        t.session = t.open(new_id(), stored=False)
        end = t.turn("write it")
    assert (end.outcome, end.text) == ("completed", "I do it in pieces.")
    assert not (t.workspace / "a.txt").exists()
    assert t.of(events.QuestionAsked) == []
    assert len(bodies) == 2
    if told_by:
        last = bodies[1]["messages"][-1]
        assert last["role"] == told_by
        assert words in last["content"]
        assert bodies[1]["messages"] != bodies[0]["messages"], "not the same request again"
        assert HALF not in json.dumps(bodies[1]), "half a call is not in the history either"
    else:
        assert [n.code for n in t.of(events.Notice)] == ["retry"], "a lost connection says nothing about the call"
