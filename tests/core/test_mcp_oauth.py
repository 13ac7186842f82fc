"""Logging in at MCP servers, against a strict authorization server on 127.0.0.1."""

import json
import threading
import time
from dataclasses import replace

import pytest

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.mcp.client import Around, Client
from agent_core.mcp.oauth import OAuth
from agent_core.mcp.token_store import FileStore, Kept, MemoryStore
from agent_core.mcp.words import OAuthOptions, ServerConfig, ServerFailure
from tests.fakes.mcp_auth_server import McpAuthServer, get, post

DOCUMENT = "https://example.org/nanoherm.json"


class Person:
    """Logs in by a browser that follows the redirect, or copies the address from one that cannot."""

    def __init__(self, *, pastes: bool = False) -> None:
        self.visits: list[str] = []
        self._pastes = pastes

    def __call__(self, visit, cancel) -> str:
        self.visits.append(visit.url)
        status, location, _ = get(visit.url)
        assert status == 302, f"the browser shows an error page ({status})"
        if self._pastes:
            return location
        get(location)
        return ""


@pytest.fixture
def server():
    made = []

    def make(**rules) -> McpAuthServer:
        made.append(McpAuthServer(**rules))
        return made[-1]

    yield make
    for one in made:
        one.close()
        assert one.faults == []


def use(auth: OAuth, url: str, cancel: CancelScope | None = None) -> int:
    """Send requests as the client does, until one is let in or is not to be sent again; the last status."""
    cancel = cancel or CancelScope()
    for _ in range(8):
        status, said = post(url, dict(auth.headers(cancel)))
        if status not in (401, 403) or not auth.challenged(status, said, cancel):
            return status
    raise AssertionError("it tries for ever")


def authorizer(fake, person=None, store=None, **options) -> OAuth:
    document = options.pop("document", "")
    oauth = OAuthOptions(**options) if options else None
    config = ServerConfig("docs", url=fake.url, type="http", oauth=oauth)
    return OAuth(config, store or MemoryStore(), person, document=document)


METADATA = [("oauth", ""), ("openid", ""), ("oauth", "/tenant"), ("openid", "/tenant"), ("openid behind", "/tenant")]


@pytest.mark.parametrize(
    ("resource_at", "metadata_at", "issuer_path"),
    [(at, *metadata) for at in ("header", "path", "root") for metadata in METADATA]
    + [("", *metadata) for metadata in METADATA[:2]],  # who describes nothing has its tokens from its own origin
)
def test_a_server_is_logged_in_wherever_its_documents_are(server, resource_at, metadata_at, issuer_path):
    fake, person = server(resource_at=resource_at, metadata_at=metadata_at, issuer_path=issuer_path), Person()
    assert use(authorizer(fake, person), fake.url) == 200
    assert len(person.visits) == 1
    assert len(fake.paths("POST")) == 2  # registered, and one token


def test_documents_are_looked_for_in_the_order_of_the_specification(server):
    fake = server(resource_at="root", metadata_at="openid behind", issuer_path="/tenant")
    use(authorizer(fake, Person()), fake.url)
    assert fake.paths("GET")[:5] == [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ]


def test_an_old_server_without_any_document_has_the_usual_paths(server):
    fake = server(resource_at="", metadata_at="")
    assert use(authorizer(fake, Person()), fake.url) == 200


def test_the_address_may_be_pasted_from_another_machine(server):
    fake = server(iss="own", names_itself=True)
    assert use(authorizer(fake, Person(pastes=True)), fake.url) == 200


REFUSED = [
    ("no PKCE", {"pkce": None}, "mcp_login_pkce"),
    ("only plain PKCE", {"pkce": ("plain",)}, "mcp_login_pkce"),
    ("the resource of another server", {"resource": "https://evil.example.com/mcp"}, "mcp_login_resource"),
    ("a resource beside it", {"resource": "{base}/mc"}, "mcp_login_resource"),
    ("no resource", {"resource": ""}, "mcp_login_resource"),
    ("metadata of another issuer", {"metadata_issuer": "https://evil.example.com"}, "mcp_login_issuer"),
    ("no metadata", {"metadata_at": ""}, "mcp_login_unknown"),
    ("no registration", {"registers": False}, "mcp_login_client"),
    ("tokens over plain http", {"token_url": "http://example.org/token"}, "mcp_login_insecure"),
    ("a token endpoint that is no address", {"token_url": "file:///etc/passwd"}, "mcp_login_address"),
]
REFUSED_LATE = [
    ("an answer from another issuer", {"iss": "https://evil.example.com"}, "mcp_login_issuer"),
    ("an issuer that is nearly it", {"iss": "{base}/"}, "mcp_login_issuer"),
    ("no issuer where one was promised", {"names_itself": True}, "mcp_login_issuer"),
    ("another state", {"state": "x" * 43}, "mcp_login_state"),
    ("a no", {"says": {"error": "access_denied"}}, "mcp_login_refused"),
    ("neither code nor error", {"says": {"hello": "1"}}, "mcp_login_refused"),
]


@pytest.mark.parametrize(("what", "rules", "code"), REFUSED + REFUSED_LATE)
def test_a_log_in_that_cannot_be_trusted_ends_before_a_token_is_asked_for(server, what, rules, code):
    fake, person, store = server(), Person(pastes=True), MemoryStore()
    for name, value in rules.items():
        setattr(fake.rules, name, value.format(base=fake.base) if isinstance(value, str) else value)
    with pytest.raises(ServerFailure) as refused:
        use(authorizer(fake, person, store), fake.url)
    assert refused.value.code == code
    assert "/token" not in fake.paths()
    assert bool(person.visits) == ((what, rules, code) in REFUSED_LATE)
    assert store.read().of(fake.url) is None


def test_an_issuer_may_have_a_slash_at_the_end_in_one_document(server):
    fake = server(iss="{}")
    fake.rules.metadata_issuer = fake.rules.iss = fake.base + "/"
    assert use(authorizer(fake, Person()), fake.url) == 200


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
def test_a_client_shows_who_it_is_as_the_server_takes_it(server, method):
    fake = server(methods=(method,))
    assert use(authorizer(fake, Person()), fake.url) == 200
    assert [asked["token_endpoint_auth_method"] for asked in fake.asked("/register")] == [method]


@pytest.mark.parametrize(
    ("what", "options", "rules", "client", "registers"),
    [
        ("configured", {"client_id": "mine", "client_secret": "s p/ü:"}, {"known": {"mine": "s p/ü:"}}, "mine", 0),
        ("configured before the document", {"client_id": "mine", "document": DOCUMENT}, {"documents": True}, "mine", 0),
        ("the document", {"document": DOCUMENT}, {"documents": True}, DOCUMENT, 0),
        ("registered, where documents are not known", {"document": DOCUMENT}, {}, "client-", 1),
    ],
)
def test_a_client_is_configured_or_a_document_or_registered(server, what, options, rules, client, registers):
    fake = server(**{"known": {"mine": "", DOCUMENT: ""}, **rules})
    assert use(authorizer(fake, Person(), **options), fake.url) == 200
    assert fake.asked("/authorize")[0]["client_id"].startswith(client)
    assert fake.paths().count("/register") == registers


@pytest.mark.parametrize(
    ("what", "rules", "options", "scope"),
    [
        ("of the refusal", {"challenge_scope": "a b", "resource_scopes": ("c",)}, {}, "a b"),
        ("of the resource", {"resource_scopes": ("c", "d")}, {}, "c d"),
        ("none", {"server_scopes": ("x", "offline_access")}, {}, None),
        ("of a person, and of the refusal", {"challenge_scope": "a"}, {"scope": "mine"}, "mine a"),
        ("offline where it can be", {"resource_scopes": ("c",), "server_scopes": ("c", "offline_access")}, {},
         "c offline_access"),
        ("not offline where it cannot", {"resource_scopes": ("c", "offline_access"), "server_scopes": ("c",)}, {}, "c"),
    ],
)  # fmt: skip
def test_scopes_are_asked_for_in_order(server, what, rules, options, scope):
    fake = server(**rules)
    assert use(authorizer(fake, Person(), **options), fake.url) == 200
    assert fake.asked("/authorize")[0].get("scope") == scope


def test_a_request_that_needs_more_rights_gets_them_beside_those_it_has(server):
    fake, person = server(challenge_scope="read"), Person()
    auth = authorizer(fake, person)
    assert use(auth, fake.url) == 200
    fake.rules.needs_scope = "write"
    assert use(auth, fake.url) == 200
    assert [asked["scope"] for asked in fake.asked("/authorize")] == ["read", "read write"]
    assert fake.paths().count("/register") == 1


def test_a_server_that_is_never_content_is_given_up_after_three_log_ins(server):
    fake, person = server(challenge_scope="read", needs_scope="read never"), Person()
    auth = authorizer(fake, person)
    fake._issue = lambda scope, issue=fake._issue: issue("read")
    with pytest.raises(ServerFailure, match="refuses each log-in") as refused:
        use(auth, fake.url)
    assert refused.value.code == "mcp_scope"
    assert len(person.visits) == 3


def test_a_403_for_another_reason_is_no_log_in(server):
    fake, person = server(), Person()
    auth = authorizer(fake, person)
    for header in ('Bearer error="invalid_request"', "", 'Basic realm="insufficient_scope"'):
        assert not auth.challenged(403, header, CancelScope())
    assert person.visits == []


def test_a_fresh_token_that_is_refused_is_no_reason_for_another_one(server):
    fake, person = server(), Person()
    fake._issue = lambda scope: {"access_token": "worthless", "token_type": "Bearer"}
    with pytest.raises(ServerFailure) as refused:
        use(authorizer(fake, person), fake.url)
    assert refused.value.code == "mcp_refused"
    assert len(person.visits) == 1


# -- later ------------------------------------------------------------------------------------------------------------


def age(store: MemoryStore) -> None:
    """The tokens are about to end."""
    store.change(
        lambda kept: Kept({key: replace(login, renew_at=1.0) for key, login in kept.logins.items()}, kept.servers),
        CancelScope(),
    )


def grants(fake) -> list[str]:
    return [asked["grant_type"] for asked in fake.asked("/token")]


def test_a_token_that_is_to_last_for_ever_is_taken(server):
    fake = server(expires_in=10**400)
    assert use(authorizer(fake, Person()), fake.url) == 200


def test_a_token_is_renewed_before_it_ends(server, tmp_path):
    fake, store = server(), FileStore(tmp_path / "credentials.json")
    assert use(authorizer(fake, Person(), store), fake.url) == 200
    age(store)
    fake.bearers.clear()
    auth = authorizer(fake, None, store)
    assert use(auth, fake.url) == use(auth, fake.url) == 200
    assert grants(fake) == ["authorization_code", "refresh_token"]
    assert len(set(fake.bearers)) == 1, "the old token was sent once more"


def test_a_token_that_is_refused_is_renewed_once_and_then_a_person_is_needed(server):
    fake, store = server(), MemoryStore()
    assert use(authorizer(fake, Person(), store), fake.url) == 200
    fake.tokens.clear()
    auth = authorizer(fake, None, store)
    assert use(auth, fake.url) == 200
    fake.tokens.clear()
    with pytest.raises(ServerFailure) as refused:
        use(auth, fake.url)
    assert refused.value.code == "mcp_login"
    assert grants(fake) == ["authorization_code", "refresh_token"]


def test_a_refresh_token_that_counts_no_more_leads_to_a_log_in(server):
    fake, person, store = server(), Person(), MemoryStore()
    assert use(authorizer(fake, person, store), fake.url) == 200
    fake.tokens.clear()
    fake.refresh_tokens.clear()
    assert use(authorizer(fake, person, store), fake.url) == 200
    assert len(person.visits) == 2
    assert grants(fake) == ["authorization_code", "refresh_token", "authorization_code"]
    assert fake.paths().count("/register") == 1


def test_a_client_that_the_server_has_forgotten_registers_anew(server):
    fake, person, store = server(), Person(), MemoryStore()
    assert use(authorizer(fake, person, store), fake.url) == 200
    fake.tokens.clear()
    fake.clients.clear()
    fake.rules.known.clear()
    assert use(authorizer(fake, person, store), fake.url) == 200
    assert fake.paths().count("/register") == 2


def test_who_logs_in_again_by_hand_is_registered_anew(server):
    fake, person, store = server(), Person(), MemoryStore()
    assert use(authorizer(fake, person, store), fake.url) == 200
    fake.clients.clear()
    authorizer(fake, person, store).log_in(CancelScope())
    assert fake.paths().count("/register") == 2
    assert use(authorizer(fake, None, store), fake.url) == 200


def test_what_was_refused_while_nobody_could_be_asked_is_asked_for_with_the_next_log_in(server):
    fake, person, store = server(challenge_scope="read"), Person(), MemoryStore()
    authorizer(fake, person, store).log_in(CancelScope())
    fake.rules.needs_scope = "read write"
    with pytest.raises(ServerFailure) as refused:
        use(authorizer(fake, None, store), fake.url)
    assert refused.value.code == "mcp_login"
    authorizer(fake, person, store).log_in(CancelScope())
    assert use(authorizer(fake, None, store), fake.url) == 200
    assert [asked["scope"] for asked in fake.asked("/authorize")] == ["read", "read write"]


@pytest.mark.parametrize("resource_at", ["header", "path", "root", ""])
def test_a_log_in_by_hand_asks_the_server_first_what_it_wants(server, resource_at):
    fake, store = server(resource_at=resource_at, issuer_path="/tenant" if resource_at else ""), MemoryStore()
    authorizer(fake, Person(), store).log_in(CancelScope())
    assert use(authorizer(fake, None, store), fake.url) == 200


def test_of_many_that_need_a_new_token_at_once_one_renews_it(server, tmp_path):
    fake, path = server(), tmp_path / "credentials.json"
    store = FileStore(path)
    assert use(authorizer(fake, Person(), store), fake.url) == 200
    age(store)
    shared = authorizer(fake, None, FileStore(path))
    users = [shared, shared, shared, *(authorizer(fake, None, FileStore(path)) for _ in range(3))]
    assert at_once(users, fake.url) == [200] * 6
    assert grants(fake) == ["authorization_code", "refresh_token"]


def at_once(users, url: str) -> list[int]:
    ready, statuses = threading.Barrier(len(users)), []

    def request(auth: OAuth) -> None:
        ready.wait(10)
        statuses.append(use(auth, url))

    threads = [threading.Thread(target=request, args=(one,)) for one in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return statuses


def test_of_many_that_are_refused_at_once_one_asks_a_person(server):
    fake, person = server(), Person()
    assert at_once([authorizer(fake, person)] * 4, fake.url) == [200] * 4
    assert len(person.visits) == 1


def test_a_server_that_moves_is_logged_in_anew_and_takes_no_token_along(server):
    fake, new, person, store = server(), server(), Person(), MemoryStore()
    auth = authorizer(fake, person, store)
    assert use(auth, fake.url) == 200
    old = store.read().of(fake.url)
    fake.tokens.clear()
    seen = len(fake.seen)
    fake._auth = lambda request, path, asked: (
        200,
        {},
        {"resource": fake.url, "authorization_servers": [new.issuer]},
    )
    fake.tokens = new.tokens
    assert use(auth, fake.url) == 200
    assert [path for _, path, _ in fake.seen[seen:]] == ["/described"]
    assert new.paths().count("/register") == 1
    sent = json.dumps(new.seen)
    for secret in (old.access, old.refresh, old.client.secret):
        assert secret.reveal() not in sent
    assert set(store.read().servers) == {fake.url}


def test_a_configured_client_is_shown_to_no_other_authorization_server(server):
    fake, new, store = server(known={"mine": "hush-hush"}), server(known={"mine": "hush-hush"}), MemoryStore()
    options = {"client_id": "mine", "client_secret": "hush-hush"}
    auth = authorizer(fake, Person(), store, **options)
    assert use(auth, fake.url) == 200
    fake.tokens.clear()
    fake._auth = lambda *request: (200, {}, {"resource": fake.url, "authorization_servers": [new.issuer]})
    with pytest.raises(ServerFailure) as refused:
        use(auth, fake.url)
    assert refused.value.code == "mcp_login_moved"
    assert {path for _, path, _ in new.seen} == {"/.well-known/oauth-authorization-server"}


# -- who is asked -----------------------------------------------------------------------------------------------------


def test_without_a_person_nobody_is_asked_and_the_way_out_is_told(server):
    fake = server()
    with pytest.raises(ServerFailure, match="run `/mcp login docs`") as refused:
        use(authorizer(fake), fake.url)
    assert refused.value.code == "mcp_login"
    assert fake.seen == []


def test_a_tool_of_a_server_that_wants_a_log_in_is_called_once_there_is_one(server, tmp_path):
    fake, store, cancel = server(), MemoryStore(), CancelScope()
    config = ServerConfig("docs", url=fake.url, type="http")
    for person in (None, Person(), None):  # nobody is there; somebody logs in; the log-in counts later too
        client = Client(config, Around(tmp_path, authorizer=OAuth(config, store, person)))
        try:
            if person is None and not store.read().logins:
                with pytest.raises(ServerFailure) as refused:
                    client.connect(cancel)
                assert refused.value.code == "mcp_login"
                continue
            client.connect(cancel)
            [tool] = client.list_tools(cancel)
            assert client.call(tool, {}, cancel).text == f"you have {store.read().of(fake.url).access.reveal()}"
        finally:
            client.close()


def test_a_header_that_a_person_has_set_counts_and_no_other(server):
    fake, person = server(), Person()
    config = ServerConfig("docs", url=fake.url, type="http", headers={"authorization": "Bearer ghp_x"})
    auth = OAuth(config, MemoryStore(), person)
    assert auth.headers(CancelScope()) == {}
    assert not auth.challenged(401, "", CancelScope())
    assert fake.seen == person.visits == []


def test_a_log_in_that_waits_ends_with_its_turn(server):
    fake, cancel, waiting = server(), CancelScope(), threading.Event()

    def person(visit, scope) -> str:
        waiting.set()
        return ""

    ended = []

    def turn() -> None:
        try:
            use(authorizer(fake, person), fake.url, cancel)
        except Interrupted:
            ended.append(time.monotonic())

    thread = threading.Thread(target=turn)
    thread.start()
    assert waiting.wait(20)
    begun = time.monotonic()
    cancel.cancel()
    thread.join(20)
    assert len(ended) == 1
    assert ended[0] - begun < 5


def test_a_browser_that_comes_back_ends_the_question(server):
    fake = server()

    def person(visit, scope) -> str:
        _, location, _ = get(visit.url)
        threading.Thread(target=get, args=(location,)).start()
        assert scope.wait(20), "the question stays open"
        raise Interrupted

    assert use(authorizer(fake, person), fake.url) == 200


def test_no_error_and_no_word_of_the_program_holds_a_secret(server):
    fake, store = server(methods=("client_secret_basic",)), MemoryStore()
    auth = authorizer(fake, Person(), store)
    assert use(auth, fake.url) == 200
    login = store.read().of(fake.url)
    secrets = [login.access.reveal(), login.refresh.reveal(), login.client.secret.reveal()]
    assert auth.hide(f"You are {' and '.join(secrets)}.").count("[REDACTED]") == 3
    fake.tokens.clear()
    fake.rules.token_answer = {"error": "server_error", "error_description": f"\x1b[31m{' '.join(secrets)}\n\x07no"}
    with pytest.raises(ServerFailure) as refused:
        use(auth, fake.url)
    told = f"{refused.value.text} {refused.value.params} {login!r} {store.read()!r} {auth!r}"
    assert refused.value.text.endswith("no (HTTP 400).")
    assert [secret for secret in secrets[1:] if secret in told] == []
    assert "\x1b" not in told
    assert "\n" not in refused.value.text
