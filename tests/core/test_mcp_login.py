"""Around a log-in at an MCP server: who is asked, where the browser comes back, what is kept, who may be asked."""

import json
import os
import socket
import threading
import time

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.credentials import Secret
from agent_core.errors import Interrupted
from agent_core.mcp import login
from agent_core.mcp.login import asking, at_terminal, log_in, log_out, opener, store_in, typed
from agent_core.mcp.loopback import Loopback
from agent_core.mcp.oauth import OAuth, Visit
from agent_core.mcp.oauth_door import AuthDoor, environment_proxy
from agent_core.mcp.oauth_metadata import covers, read_challenge
from agent_core.mcp.token_store import Client, FileStore, Login, MemoryStore
from agent_core.mcp.words import ServerConfig, ServerFailure
from agent_core.ports.asking import Reply
from agent_core.safety import urls
from tests.fakes.mcp_auth_server import McpAuthServer, get
from tests.fakes.web_server import Server, says
from tests.rows import each_row

VISIT = Visit("docs", "https://login.example.com/authorize?state=s", "login.example.com", "http://127.0.0.1:1/callback")


# -- where the browser comes back -------------------------------------------------------------------------------------


def test_the_browser_is_awaited_by_its_secret_alone_and_shown_nothing_from_outside():
    with Loopback("docs") as back:
        came = threading.Event()
        back.expect("the-secret", came.set)
        for path in ("/", "/callback", "/callback?code=1&state=other", "/callback?state=the-secret&state=the-secret",
                     "/other?code=1&state=the-secret"):  # fmt: skip
            assert get(back.redirect.removesuffix("/callback") + path)[0] == 404
            assert not back.arrived.is_set()
        with socket.create_connection(("127.0.0.1", back.port)) as nobody:
            nobody.sendall(b"GET http://[callback?state=the-secret HTTP/1.0\r\n\r\n")
            assert nobody.recv(100).startswith(b"HTTP/1.0 404 ")
        status, _, page = get(f"{back.redirect}?code=1&state=the-secret&error_description=%3Cscript%3Eboo")
        assert came.wait(10)
        assert back.answer.endswith("/callback?code=1&state=the-secret&error_description=%3Cscript%3Eboo")
    assert status == 200
    assert b"boo" not in page
    assert b"script" not in page
    assert "回到终端" in page.decode()
    with pytest.raises(OSError, match="refused"):
        get(back.redirect)


def test_a_connection_that_says_nothing_keeps_no_browser_waiting():
    with Loopback("docs") as back:
        back.expect("the-secret", lambda: None)
        with socket.create_connection(("127.0.0.1", back.port)):
            assert get(f"{back.redirect}?code=1&state=the-secret")[0] == 200


def test_a_port_that_is_taken_is_another_one_or_an_error_where_it_is_fixed():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Loopback("docs", port) as back:
            assert back.port != port
        with pytest.raises(ServerFailure, match=f"port {port} of this machine.*oauth.callback_port"):
            Loopback("docs", port, fixed=True)


# -- who is asked -----------------------------------------------------------------------------------------------------


class Asked:
    def __init__(self, *replies: Reply) -> None:
        self.questions = []
        self._replies = list(replies)

    def ask(self, question, cancel) -> Reply:
        self.questions.append(question)
        return self._replies.pop(0)


@each_row(
    ("what", "opens", "replies", "answer", "shown", "copied"),
    [
        ("a yes, and the browser comes back", True, [Reply("once"), Reply("refuse", by="timeout")], "", 1, 0),
        ("a yes, and what is pasted", True, [Reply("once"), Reply("once", " http://127.0.0.1:1/x ")],
         "http://127.0.0.1:1/x", 1, 0),
        ("no browser here", False, [Reply("once"), Reply("once", "pasted")], "pasted", 1, 1),
        ("a no", True, [Reply("refuse")], "mcp_login_declined", 0, 0),
        ("a no while waiting", True, [Reply("once"), Reply("refuse")], "mcp_login_declined", 1, 0),
        ("nobody", True, [Reply("refuse", by="unattended")], "mcp_login", 0, 0),
    ],
)  # fmt: skip
def test_an_address_is_opened_after_a_yes_alone(what, opens, replies, answer, shown, copied):
    asker, seen, copies = Asked(*replies), [], []
    browser = asking(asker, lambda url: not seen.append(url) and opens, copies.append)
    try:
        got = browser(VISIT, CancelScope())
    except ServerFailure as failure:
        got = failure.code
    assert (got, len(seen), len(copies)) == (answer, shown, copied)
    assert {question.url for question in asker.questions} == {VISIT.url}
    assert set(seen + copies) <= {VISIT.url}
    assert len({question.id for question in asker.questions}) == len(replies)


@pytest.mark.parametrize(
    ("lines", "opens", "answer", "told"),
    [
        (["", ""], True, "", "Waiting for the browser"),
        (["http://127.0.0.1:1/callback?x\n"], True, "http://127.0.0.1:1/callback?x", "Press Enter"),
        (["\n", "pasted\n"], False, "pasted", "No browser"),
    ],
)
def test_a_terminal_is_told_the_whole_address_and_may_paste_one(lines, opens, answer, told):
    said = []
    browser = at_terminal(said.append, lambda cancel: lines.pop(0), lambda url: opens)
    assert browser(VISIT, CancelScope()) == answer
    assert VISIT.url in said
    assert told in said[-1]
    assert lines == []


def test_a_terminal_waits_no_longer_when_the_browser_has_come_back():
    cancel, (reading, writing) = CancelScope(), os.pipe()
    with open(reading) as stream, open(writing, "w") as keys:
        read_line = typed(stream)
        keys.write("a line\n")
        keys.flush()
        assert read_line(cancel) == "a line\n"
        threading.Timer(0.05, cancel.cancel).start()
        with pytest.raises(Interrupted):
            read_line(cancel)


@pytest.mark.parametrize(
    ("what", "env", "platform", "program"),
    [
        ("a desktop", {"DISPLAY": ":0"}, "linux", "xdg-open"),
        ("wayland", {"WAYLAND_DISPLAY": "wayland-0"}, "linux", "xdg-open"),
        ("no desktop", {}, "linux", ""),
        ("through SSH", {"DISPLAY": ":0", "SSH_CONNECTION": "x"}, "linux", ""),
        ("a forwarded display", {"DISPLAY": "localhost:10.0", "SSH_TTY": "x"}, "linux", "xdg-open"),
        ("a Mac", {}, "darwin", "open"),
        ("a Mac through SSH", {"SSH_TTY": "x"}, "darwin", ""),
        ("Windows below", {"WSL_DISTRO_NAME": "Debian"}, "linux", "wslview"),
    ],
)
def test_the_desktop_s_own_program_opens_an_address(tmp_path, what, env, platform, program):
    for name in ("xdg-open", "open", "wslview"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\nprintf "%s %s" {name} "$1" > "{tmp_path}/new"\nmv "{tmp_path}/new" "{tmp_path}/opened"\n'
        )
        (tmp_path / name).chmod(0o755)
    show = opener({**env, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, platform)
    assert show(VISIT.url) == bool(program)
    assert not show("file:///etc/passwd")
    if program:
        deadline = time.monotonic() + 20
        while not (tmp_path / "opened").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (tmp_path / "opened").read_text() == f"{program} {VISIT.url}"


# -- what is kept -----------------------------------------------------------------------------------------------------

LOGIN = Login(
    "https://as.example.com",
    "https://mcp.example.com/mcp",
    Client("me", Secret("hush-secret"), "client_secret_post", "registered", 4711),
    "https://as.example.com/token",
    Secret("access-1"),
    Secret("refresh-1"),
    12.5,
    "a b",
    "c",
)
URL = "https://mcp.example.com/mcp"


def kept(path) -> FileStore:
    store = FileStore(path)
    store.change(lambda now: now.with_login(URL, LOGIN), CancelScope())
    return store


def test_a_log_in_is_kept_for_its_owner_alone_and_read_back_whole(tmp_path):
    kept(tmp_path / "home" / "credentials.json")
    assert (tmp_path / "home" / "credentials.json").stat().st_mode & 0o777 == 0o600
    assert FileStore(tmp_path / "home" / "credentials.json").read().of(URL) == LOGIN


def test_two_programs_see_each_other_s_log_ins(tmp_path):
    one = kept(tmp_path / "credentials.json")
    other = FileStore(one.path)
    other.change(lambda now: now.with_login("https://b.example.com/", LOGIN), CancelScope())
    assert set(one.read().servers) == {URL, "https://b.example.com/"}


def test_a_configured_secret_stays_where_it_was_configured(tmp_path):
    store = FileStore(tmp_path / "credentials.json")
    client = Client("me", Secret("hush-secret"), "client_secret_basic", "configured")
    store.change(lambda now: now.with_login(URL, Login("i", "r", client, "t")), CancelScope())
    assert "hush-secret" not in store.path.read_text()


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        ("{", 0o600, "mcp_credentials"),
        ("[]", 0o600, "mcp_credentials"),
        ('{"version": 2}', 0o600, "mcp_credentials"),
        ('{"version": 1, "servers": {}, "logins": [{}]}', 0o600, "mcp_credentials"),
        ("{}", 0o644, "mcp_credentials_open"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_left_as_it_is(tmp_path, content, mode, code):
    path = tmp_path / "credentials.json"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(ServerFailure, match=r"credentials\.json") as failed:
        FileStore(path).change(lambda now: now.with_login(URL, LOGIN), CancelScope())
    assert failed.value.code == code
    assert path.read_text() == content
    auth = OAuth(ServerConfig("docs", url=URL, type="http"), FileStore(path), None)
    assert auth.headers(CancelScope()) == {}, "servers that need no log-in work all the same"


def test_a_lock_that_another_program_holds_is_waited_for_and_can_be_left(tmp_path):
    path, cancel = tmp_path / "credentials.json", CancelScope()
    with FileStore(path).alone(CancelScope()):
        threading.Timer(0.1, cancel.cancel).start()
        with pytest.raises(Interrupted), FileStore(path).alone(cancel):
            pass


def test_logging_in_and_out(tmp_path):
    fake, cancel = McpAuthServer(), CancelScope()
    config, store = ServerConfig("docs", url=fake.url, type="http"), store_in(tmp_path)
    try:
        log_in(config, store, lambda visit, scope: get(visit.url)[1], cancel)
        assert store.read().of(fake.url) is not None
        assert log_out(config, store, cancel)
        assert not log_out(config, store, cancel)
        assert json.loads((tmp_path / login.FILE).read_text())["logins"] == []
    finally:
        fake.close()
    with pytest.raises(ServerFailure, match="program of this machine"):
        log_in(ServerConfig("git", command="git-mcp"), store, lambda visit, scope: "", cancel)


# -- whom requests may go to ------------------------------------------------------------------------------------------


@each_row(
    ("server", "url", "code"),
    [
        ("https://8.8.8.8/mcp", "https://10.0.0.1/meta", "mcp_login_unreachable"),
        ("https://8.8.8.8/mcp", "https://127.0.0.1/meta", "mcp_login_unreachable"),
        ("https://8.8.8.8/mcp", "https://localhost/meta", "mcp_login_unreachable"),
        ("https://8.8.8.8/mcp", "http://127.0.0.1/meta", "mcp_login_insecure"),
        ("https://8.8.8.8/mcp", "http://8.8.4.4/meta", "mcp_login_insecure"),
        ("http://127.0.0.1:8080/mcp", "https://169.254.169.254/meta", "mcp_login_unreachable"),
        ("http://127.0.0.1:8080/mcp", "http://192.168.0.1/meta", "mcp_login_insecure"),
        ("http://127.0.0.1:8080/mcp", "ftp://127.0.0.1/meta", "mcp_login_address"),
        ("http://127.0.0.1:8080/mcp", "http://u:p@127.0.0.1/meta", "mcp_login_address"),
        ("http://127.0.0.1:8080/mcp", "javascript:alert(1)", "mcp_login_address"),
    ],
)
def test_a_server_leads_to_no_place_that_it_should_not(server, url, code):
    with pytest.raises(ServerFailure) as refused:
        AuthDoor("docs", server, lambda target: "").get(url, CancelScope())
    assert refused.value.code == code


def test_an_odd_address_of_a_server_is_told_when_it_wants_a_log_in_and_not_before():
    auth = OAuth(ServerConfig("docs", url="http://127.0.0.1:6379/mcp", type="http"), MemoryStore(), lambda *visit: "")
    assert auth.headers(CancelScope()) == {}
    with pytest.raises(ServerFailure, match="Port 6379"):
        auth.challenged(401, "", CancelScope())


def test_what_an_authorization_server_answers_is_bounded_and_may_be_anything(monkeypatch):
    monkeypatch.setattr(limits, "MCP_AUTH_BODY", 1_000)
    for body, good in ((b'{"a": 1}', True), (b"[1]", False), (b"\xff", False), (b"", False), (b"[" * 900, False),
                       (b'{"a": "' + b"x" * 2_000 + b'"}', False)):  # fmt: skip
        fake = Server(says(body))
        try:
            door = AuthDoor("docs", f"http://127.0.0.1:{fake.port}/mcp")
            assert door.get(f"http://127.0.0.1:{fake.port}/meta", CancelScope()).is_good == good
        finally:
            fake.close()


def test_a_proxy_of_the_environment_is_used_but_not_between_programs_of_one_machine(monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example.com:3128")
    monkeypatch.setenv("no_proxy", "intern.example.com")
    found = [environment_proxy(urls.parse(f"https://{host}/")) for host in
             ("as.example.com", "intern.example.com", "localhost", "127.0.0.1")]  # fmt: skip
    assert found == ["http://proxy.example.com:3128", "", "", ""]


@each_row(
    ("resource", "server", "good"),
    [
        ("https://a.example/mcp", "https://a.example/mcp", True),
        ("https://a.example/mcp/", "https://a.example/mcp?x=1", True),
        ("https://a.example", "https://a.example/mcp", True),
        ("https://A.example:443/", "https://a.example/mcp", True),
        ("https://a.example/mc", "https://a.example/mcp", False),
        ("https://a.example/mcp/deep", "https://a.example/mcp", False),
        ("https://a.example:444/mcp", "https://a.example/mcp", False),
        ("http://a.example/mcp", "https://a.example/mcp", False),
        ("https://b.example/mcp", "https://a.example/mcp", False),
        ("mcp", "https://a.example/mcp", False),
    ],
)
def test_a_token_is_for_the_server_or_for_a_folder_above_it(resource, server, good):
    assert covers(resource, urls.parse(server)) == good


@each_row(
    ("header", "url", "scope", "error"),
    [
        ('Bearer resource_metadata="https://x/y", scope="a b", error="insufficient_scope"', "https://x/y", "a b",
         "insufficient_scope"),
        ("bearer scope=a,error=invalid_token", "", "a", "invalid_token"),
        ('Basic realm="Bearer scope=\\"no\\"", Bearer error="e"', "", "", "e"),
        ('DPoP algs="ES256", error="other", Bearer  resource_metadata = "u\\"v"', 'u"v', "", ""),
        ("Bearer", "", "", ""),
        ("", "", "", ""),
        ('Bearer scope="a \u00e9 b\x1b[31m c"', "", "a c", ""),
        ("Bearer scope=" + "a" * 100_000, "", "a" * 8_179, ""),
    ],
)  # fmt: skip
def test_a_refusal_is_read_as_servers_write_it(header, url, scope, error):
    found = read_challenge(header)
    assert (found.metadata_url, found.scope, found.error) == (url, scope, error)
