"""An independent model server breaks in every way it knows, and judges what the client makes of it.

`llmock` groups the tries of one request and looks at their timing. A FAIL of its is: a Retry-After not waited for, a
refusal tried again, more than ten tries, a broken-off stream taken for an answer. A WARN: no growing waits between
tries, no second try after what may pass, a stall sat out, a broken event passed over. Neither may come.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.cancel import CancelScope
from agent_core.errors import ProviderError
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.messages import Message, user
from agent_core.ports.model import Delta, LlmReply, LlmRequest, ToolSchema
from tests.real.program import Program

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llmock") is None, reason="llmock is not installed (the extra of that name)"
)

WIRES = {"chat_completions": "/v1", "responses": "/v1", "anthropic_messages": "/anthropic/v1"}
STORY = " ".join(f"word{n}" for n in range(16))
"""Long enough that a client which turns away from a broken stream is seen to do so before its end."""


class Mock:
    """A server of its own process group; `judge` runs something against it and hands over the verdict."""

    def __init__(self, *flags: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        command = [str(Path(sys.executable).with_name("llmock")), "serve", "-p", str(self.port), *flags]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LLMOCK_")}
        self._process = subprocess.Popen(
            [*command, "--log-level", "critical"], env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                self.ask("/health")
            except OSError:
                time.sleep(0.05)
            else:
                return
        pytest.fail("llmock does not start")

    def ask(self, path: str, data: Any = None) -> Any:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def base_url(self, wire: str = "chat_completions") -> str:
        return f"http://127.0.0.1:{self.port}{WIRES[wire]}"

    def script(self, *behaviors: dict[str, Any]) -> None:
        self.ask("/_llmock/reset", {})
        if behaviors:
            self.ask("/_llmock/scenario", {"behaviors": [*behaviors]})

    def verdict(self) -> dict[str, Any]:
        """The verdict, once it is a good one: nothing found at all."""
        found = self.ask("/_llmock/verdict")
        assert found["passed"], found
        assert found["findings"] == [], found
        return found

    def stop(self) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(5)


def started(*flags: str) -> Iterator[Mock]:
    server = Mock(*flags)
    try:
        server.wait_until_up()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def mock() -> Iterator[Mock]:
    yield from started("--stream-chunk-delay-ms", "4")


@pytest.fixture(scope="module")
def strict_mock() -> Iterator[Mock]:
    """One with a quota and a small context window."""
    yield from started("--rpm", "60", "--context-window", "2000")


REQUEST = LlmRequest((Message("system", "Be good."), user("Tell me a story.")))


def ask(mock: Mock, wire: str, request: LlmRequest = REQUEST, **options: Any) -> tuple[LlmReply | str, list[Delta]]:
    """The reply, or the code of the error, and what was delivered."""
    providers = {"mock": {"base_url": mock.base_url(wire), "api_mode": wire}}
    settings = ProviderOptions(model="m", provider="mock", providers=providers, retry_base=0.1, **options)
    client = make_client(resolve(settings, {}, {}), settings)
    sink: list[Delta] = []
    try:
        return client.complete(request, sink.append, CancelScope()), sink
    except ProviderError as error:
        return error.code, sink
    finally:
        client.close()


def fail(status: int, **more: Any) -> dict[str, Any]:
    return {"type": "fail", "status": status, **more}


def broken(kind: str, after: int, **more: Any) -> dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, **more}


PASSING = {
    "nothing is wrong": ([], 1),
    "429 with Retry-After": ([fail(429, retry_after=0.4)], 2),
    **{
        f"{one}, then {other}": ([fail(one, retry_after=0.1), fail(other, retry_after=0.1)], 3)
        for one, other in ((408, 409), (502, 503), (504, 529))
    },
    **{f"{kind} after {n}": ([broken(kind, n)], 2) for kind in ("disconnect", "truncate", "malformed") for n in (0, 4)},
    "a stall": ([broken("stall", 4, stall_seconds=20)], 2),
    "a slow answer": ([{"type": "delay", "seconds": 0.2}, {"type": "slow_first_token", "seconds": 0.2}], 1),
    "one fault after another": ([fail(503, retry_after=0.1), broken("disconnect", 4)], 3),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("behaviors", "attempts"), PASSING.values(), ids=PASSING)
def test_what_passes_is_waited_out_and_the_answer_is_whole(mock: Mock, wire: str, behaviors, attempts):
    mock.script(*behaviors, {"type": "reply", "text": STORY, "times": None})
    stalls = any("stall_seconds" in one for one in behaviors)
    reply, sink = ask(mock, wire, idle_timeout=0.6 if stalls else 20)  # a busy server is no silent one
    assert isinstance(reply, LlmReply), reply
    assert reply.text == STORY
    last = max((n for n, delta in enumerate(sink) if delta.kind == "reset"), default=-1)
    assert "".join(delta.text for delta in sink[last + 1 :] if delta.kind == "text") == STORY
    verdict = mock.verdict()
    assert (verdict["calls"], verdict["attempts"]) == (1, attempts)
    assert verdict["faults_injected"] == attempts - 1


REFUSED = {400: "bad_request", 401: "auth", 403: "auth", 404: "not_found", 422: "bad_request", 402: "quota"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("status", "code"), REFUSED.items())
def test_a_refusal_is_told_at_once_and_asked_no_more(mock: Mock, wire: str, status: int, code: str):
    mock.script(fail(status, times=None))
    assert ask(mock, wire)[0] == code
    assert mock.verdict()["attempts"] == 1


@pytest.mark.parametrize("wire", WIRES)
def test_an_outage_is_given_up_after_three_tries_with_growing_waits(mock: Mock, wire: str):
    mock.script(fail(500, times=None))
    assert ask(mock, wire)[0] == "server"
    assert mock.verdict()["attempts"] == 3


@pytest.mark.parametrize("wire", WIRES)
def test_a_wait_that_is_too_long_is_not_cut_short(mock: Mock, wire: str):
    mock.script(fail(429, retry_after=3600, times=2), fail(429, retry_after=0.2))
    assert ask(mock, wire, max_attempts=1)[0] == "rate_limit"
    verdict = mock.ask("/_llmock/verdict")
    assert verdict["attempts"] == 1
    assert [finding["severity"] for finding in verdict["findings"]] in ([], ["warning"])  # given up: it says when


TOOLS = (
    ToolSchema("read_file", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSchema("grep", "Search.", {"type": "object", "properties": {"pattern": {"type": "string"}}}),
)
CALLS = {
    "type": "reply",
    "tool_calls": [
        {"name": "read_file", "arguments": {"path": "a long path/to a file.py"}},
        {"name": "grep", "arguments": {"pattern": "[a-z]+"}},
    ],
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
def test_no_call_of_a_broken_stream_is_handed_up(mock: Mock, wire: str, kind: str):
    mock.script(broken(kind, 5), CALLS, CALLS)
    request = LlmRequest(REQUEST.messages, tools=TOOLS)
    reply, _ = ask(mock, wire, request)
    assert isinstance(reply, LlmReply)
    assert [(c.name, dict(c.arguments)) for c in reply.tool_calls] == [
        (c["name"], c["arguments"]) for c in CALLS["tool_calls"]
    ]
    assert mock.verdict()["attempts"] == 2


def test_a_quota_is_waited_for_as_long_as_it_takes(strict_mock: Mock):
    strict_mock.script({"type": "reply", "text": "Hi", "times": None})
    for number in range(70):
        request = LlmRequest((user(f"Question {number}"),), stream=False)
        reply, sink = ask(strict_mock, "chat_completions", request)
        assert isinstance(reply, LlmReply), reply
        if any(delta.kind == "retry" for delta in sink):
            break
    else:
        pytest.fail("the quota was never reached")
    assert strict_mock.verdict()["calls"] == number + 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_that_is_too_long_is_told_and_not_asked_again(strict_mock: Mock, wire: str):
    strict_mock.script()
    assert ask(strict_mock, wire, LlmRequest((user("word " * 10_000),)))[0] == "context_length"
    verdict = strict_mock.verdict()
    assert verdict["attempts"] == verdict["calls"]  # over one wire it is tried whether a shorter reply fits


# -- whole turns ------------------------------------------------------------------------------------------------------

TURN = {"match": {"tools": True}}  # not what else the program asks, the list of models
LIST = {"type": "reply", "tool_calls": [{"name": "list_dir", "arguments": {"path": "."}}], **TURN}
DONE = {"type": "reply", "text": "Two files.", "times": None, **TURN}
TURNS = {
    "a round of tools": ([], 2),
    "arguments that are no JSON": ([{"type": "tool_fault", "kind": "malformed_arguments"}], 2),
    "a tool nobody offered": ([{"type": "tool_fault", "kind": "unknown_tool"}], 2),
    "a call that breaks off": ([broken("truncate", 2), LIST], 3),
    "a broken event": ([broken("malformed", 2), LIST], 3),
    "slow down": ([fail(429, retry_after=0.7, **TURN)], 3),
    "slow down, whatever is asked": ([fail(429, retry_after=0.3, times=2)], 4),
    "an outage, whatever is asked": ([fail(500)], 3),
}


@pytest.mark.parametrize(("faults", "requests"), TURNS.values(), ids=TURNS)
def test_a_turn_of_the_whole_program_comes_to_its_end(mock: Mock, home, workspace, faults, requests):
    (workspace / "a.txt").write_text("a")
    mock.script(*faults, LIST, DONE)
    program = Program(home, workspace, mock.base_url(), "-p", "How many files?").wait(60)
    assert (program.code, program.result["outcome"], program.result["text"]) == (0, "completed", "Two files.")
    mock.verdict()
    asked = [r["path"] for r in mock.ask("/_llmock/requests")["requests"] if r["method"] == "POST"]
    assert len(asked) == requests
