"""A client and a server behind a URL that is bad in many ways."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.mcp.client import Around, Client
from agent_core.mcp.words import ServerConfig, ServerFailure, ToolInfo
from tests.core.mcp_support import HttpServer, until

ECHO = ToolInfo("echo")


@pytest.fixture(scope="module")
def http():
    with HttpServer() as server:
        yield server


@pytest.fixture
def client(http):
    made = []

    def make(path, **how):
        made.append(http.client(path, **how))
        return made[-1]

    yield make
    for each in made:
        each.close()


def echo(client, cancel=None):
    return client.call(ECHO, {"text": "日本\u2028é"}, cancel or CancelScope()).text


@pytest.mark.parametrize(
    ("path", "era", "said", "config"),
    [
        ("normal", "legacy", "日本\u2028é", {}),
        ("sse", "legacy", "日本\u2028é", {}),
        ("redirect", "legacy", "日本\u2028é", {}),
        ("legacy_sse", "legacy", "日本\u2028é", {}),
        ("legacy_sse", "legacy", "日本\u2028é", {"type": "sse"}),
        ("modern", "modern", "日本\u2028é", {}),
        ("modern", "modern", "日本\u2028é", {"protocol": "modern"}),
        ("slow/5", "legacy", "日本\u2028é", {"timeout": 1.0}),
        ("resume", "legacy", "resumed", {}),
    ],
)
def test_a_server_may_be_strange_in_many_ways_and_still_be_used(client, path, era, said, config):
    server = client(path, **config)
    assert [tool.name for tool in server.list_tools(CancelScope())] == ["echo"]
    assert echo(server) == said
    assert echo(server) == said
    assert (server.era, server.state) == (era, "ready")


@pytest.mark.parametrize(
    ("path", "code", "words", "without"),
    [
        ("expire_always", "mcp_session", ["session"], []),
        ("die", "mcp_lost", ["not known", "tools/call"], []),
        ("ssedie", "mcp_lost", ["not known", "tools/call"], []),
        ("html", "mcp_http", ["HTTP 502", "502 Bad Gateway"], ["<"]),
        ("cross", "mcp_redirect", ["localhost", "not followed"], []),
        ("astray", "mcp_redirect", ["no address", "not followed"], []),
        ("401", "mcp_login", ["/mcp login bad"], []),
    ],
)
def test_a_failure_says_what_happened_and_the_next_request_is_made(client, path, code, words, without):
    server = client(path)
    for _ in range(2):
        begun = time.monotonic()
        with pytest.raises(ServerFailure) as failure:
            echo(server)
        assert time.monotonic() - begun < 5
        assert failure.value.code == code
        assert all(word in failure.value.text for word in words), failure.value.text
        assert not any(word in failure.value.text for word in without), failure.value.text


def test_a_lost_session_is_begun_anew_once(client, http):
    server = client("expire")
    assert echo(server) == "日本\u2028é"
    assert [row[2] for row in http.seen("expire")] == [
        *("initialize", "notifications/initialized", "tools/call"),
        *("initialize", "notifications/initialized", "tools/call"),
    ]  # fmt: skip


def test_the_revision_and_the_session_are_said_with_each_request_and_ended_at_last(client, http):
    server = client("normal")
    before = len(http.seen("normal"))
    assert echo(server) == "日本\u2028é"
    server.close()
    rows = http.seen("normal")[before:]
    session = rows[1][3]
    assert session.startswith("normal-")
    assert [(row[1], row[2], row[3], row[4]) for row in rows] == [
        ("POST", "initialize", None, None),
        ("POST", "notifications/initialized", session, "2025-11-25"),
        ("POST", "tools/call", session, "2025-11-25"),
        ("DELETE", None, session, "2025-11-25"),
    ]


def test_keys_stay_with_their_origin_and_a_refused_key_is_named(client, http):
    server, before = client("cross", headers={"Authorization": "Bearer abc"}), len(http.seen("cross"))
    with pytest.raises(ServerFailure):
        echo(server)
    assert [row[5] for row in http.seen("cross")[before:]] == [True]
    assert not any(row[5] for row in http.seen("normal")), "localhost, where it was sent on to"
    with pytest.raises(ServerFailure) as failure:
        echo(client("401", headers={"Authorization": "Bearer abc"}))
    assert failure.value.code == "mcp_key"
    assert "abc" not in failure.value.text


def test_a_stop_ends_a_call_at_once_and_the_server_is_told(client, http):
    server = client("hang")
    server.connect(CancelScope())
    scope, stopped = CancelScope(), []
    threading.Timer(0.3, lambda: (stopped.append(time.monotonic()), scope.cancel())).start()
    with pytest.raises(Interrupted):
        echo(server, scope)
    assert time.monotonic() - stopped[0] < limits.MCP_CANCEL
    assert until(lambda: any(row[2] == "notifications/cancelled" for row in http.seen("hang")))


def test_signs_of_life_do_not_keep_a_call_for_ever(client, monkeypatch):
    monkeypatch.setattr(limits, "MCP_CALL_FACTOR", 2)
    with pytest.raises(ServerFailure) as failure:
        echo(client("hang", timeout=0.6))
    assert failure.value.code == "mcp_timeout"


class Login:
    """Lets requests in after a log-in, which takes longer than a request may."""

    def __init__(self):
        self.challenges = []

    def headers(self, cancel):
        return {"Authorization": "Bearer t"} if self.challenges else {}

    def challenged(self, status, www_authenticate, cancel):
        self.challenges.append((status, www_authenticate))
        cancel.wait(0.5)
        return len(self.challenges) < 3


def test_who_lets_requests_in_is_asked_when_one_is_refused(client, http):
    login = Login()
    before = len(http.seen("401"))
    with pytest.raises(ServerFailure) as failure:
        echo(client("401", around={"authorizer": login}, startup_timeout=0.4))
    assert failure.value.code == "mcp_login"
    assert login.challenges == [(401, "Bearer")] * 3
    assert [row[5] for row in http.seen("401")[before:]] == [False, True, True]


def test_where_nothing_listens_the_address_is_told_without_its_password():
    entry = ServerConfig("gone", url="http://user:pw@127.0.0.1:9/mcp?key=1", type="http")
    with pytest.raises(ServerFailure) as failure:
        Client(entry, Around(Path("/"))).connect(CancelScope())
    assert failure.value.code == "mcp_unreachable"
    assert "http://127.0.0.1:9/mcp" in failure.value.text
    assert "pw" not in failure.value.text
