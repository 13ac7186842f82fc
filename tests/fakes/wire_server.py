"""A scripted model server on 127.0.0.1 that speaks every wire and accepts only what its vendor's documents allow.

    with WireServer(Answer("Hello"), Answer(calls=[Call("read_file", {"path": "a.py"})])) as server:
        server.base_url, server.requests

The n-th request gets the n-th answer, whatever wire it comes over; the last one repeats. A request that breaks a rule
of its wire is answered with 400, and leaving the `with` block then fails with every broken rule.

A wire is a module `wire_*.py` with a `FAKE`: how requests are checked, and how answers are said.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agent_core.mind import prompt

MODEL = "test-model"
_DISTILS = prompt.text("distil").partition(".")[0]
"""What tells a request to look at a turn that has ended, on every wire."""


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    """Empty: one as the wire's vendor makes them."""


@dataclass(frozen=True)
class Count:
    """Tokens of a reply, as this program counts: `prompt` is all of the request, cached parts too."""

    prompt: int = 100
    reply: int = 10
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Failure:
    """kind: auth, no_rights, quota, rate_limit, overloaded, server, overflow, not_found, no_images, bad_request."""

    kind: str
    message: str = ""
    """Empty: the vendor's own words."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    """The server wants it back, as the wire has it, in the requests that follow."""
    finish: str = ""
    """Empty: what fits. Else length, filter, or a word of the wire's own."""
    cut_call: bool = False
    """Half of the last call's arguments is missing: the output limit came."""
    count: Count | None = field(default_factory=Count)
    failure: Failure | None = None
    """Instead of the reply; with `after` in the middle of it."""
    after: int | None = None
    """So many pieces of content come, then the failure; without a failure the connection just ends."""
    then: str = ""
    """What comes after those pieces when it is no failure: "garbage", "silence", "" = the end."""
    piece: int = 4
    """Characters in one piece."""


@dataclass(frozen=True)
class Event:
    """One event of a stream; its data is JSON unless it is a string."""

    data: Any
    name: str = ""


@dataclass
class Memory:
    """What a server knows of its own earlier replies."""

    issued: dict[str, str] = field(default_factory=dict)
    """Signatures, encrypted or plain reasoning → the model that wrote it. Nothing else may come back."""
    bound: dict[str, Any] = field(default_factory=dict)
    """The same, with what stood before them where a vendor wants that unchanged."""
    body: dict = field(default_factory=dict)
    """The request that is being answered."""
    replies: int = 0
    vision: bool = True
    ids: str = ""
    """A regular expression that ids of calls have to match, where a server is stricter than its wire."""


class Broken(Exception):
    """A request breaks a rule of its wire."""


def need(holds: object, rule: str) -> None:
    if not holds:
        raise Broken(rule)


@dataclass(frozen=True)
class FakeWire:
    name: str
    path: str
    """Below /v1/."""
    check: Callable[[dict, Mapping[str, str], Memory], None]
    """(body, headers in lower case, memory): raises Broken."""
    has_images: Callable[[dict], bool]
    """Whether a request's body has an image in it."""
    events: Callable[[Answer, str, Memory], tuple[list[Event], list[Event], list[Event]]]
    """(answer, model, memory) → the events before the content, those with a piece of it each, those that end it."""
    document: Callable[[Answer, str, Memory], dict]
    failure: Callable[[Failure], tuple[int, dict]]
    """→ (status, body) as the vendor has them."""
    failure_event: Callable[[Failure], Event]
    """A failure in the middle of a stream."""


@dataclass(frozen=True)
class Request:
    wire: str
    body: dict
    headers: Mapping[str, str]


class WireServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self,
        *answers: Answer,
        key: str = "",
        vision: bool = True,
        ids: str = "",
        refuse: Callable[[dict], Failure | None] = lambda body: None,
        lenient: bool = False,
    ):
        """`refuse` looks at requests that are right and may turn them down. `lenient`: broken rules fail no test."""
        self.requests: list[Request] = []
        self.distilled: list[Request] = []
        """Requests to look at a turn that has ended: nothing is found, and no answer is used up."""
        self.violations: list[str] = []
        self.memory = Memory(vision=vision, ids=ids)
        self.stopping = threading.Event()
        self.gone = threading.Event()
        """Set when a client has left in the middle of a reply."""
        self.key = key
        self.refuse = refuse
        self._answers = answers
        self._lenient = lenient
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def bodies(self) -> list[dict]:
        return [request.body for request in self.requests]

    def answer(self, request: Request) -> Answer:
        """What this request gets; a refusal if it breaks a rule. Refused requests use up no answer."""
        wire = wires()[request.wire]
        with self._lock:
            distils = _DISTILS in json.dumps(request.body)
            (self.distilled if distils else self.requests).append(request)
            try:
                wire.check(request.body, request.headers, self.memory)
                if self.key:
                    sent = {request.headers.get("x-api-key"), request.headers.get("authorization")}
                    if not sent & {self.key, f"Bearer {self.key}"}:
                        return Answer(failure=Failure("auth"))
            except Broken as broken:
                self.violations.append(f"{request.wire}: {broken}")
                return Answer(failure=Failure("bad_request", str(broken)))
            if distils:
                return Answer("[]", count=None)
            if not self.memory.vision and wire.has_images(request.body):
                return Answer(failure=Failure("no_images"))
            if refusal := self.refuse(request.body):
                return Answer(failure=refusal)
            self.memory.replies += 1
            self.memory.body = request.body
            return self._answers[min(self.memory.replies, len(self._answers)) - 1]

    def handle_error(self, request, client_address):
        pass

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind, *rest):
        self.stopping.set()
        self.shutdown()
        self.server_close()
        if kind is None and not self._lenient:
            assert not self.violations, "\n".join(self.violations)


def wires() -> dict[str, FakeWire]:
    """The wires by name; new ones add their line."""
    from tests.fakes import wire_anthropic, wire_chat, wire_responses

    return {fake.name: fake for fake in (wire_chat.FAKE, wire_anthropic.FAKE, wire_responses.FAKE)}


def strict_json(raw: bytes) -> Any:
    """Raises ValueError for what some readers of JSON do not take: NaN, halves of surrogate pairs."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    body = json.loads(raw.decode("utf-8"), parse_constant=refuse)
    json.dumps(body, ensure_ascii=False).encode("utf-8")
    return body


def written(call: Call, answer: Answer) -> str:
    """The arguments of a call of `answer` as its model wrote them."""
    text = json.dumps(call.arguments)
    return text[: len(text) // 2] if answer.cut_call and call is answer.calls[-1] else text


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_name(name: object, where: str) -> None:
    need(isinstance(name, str) and _NAME.fullmatch(name), f"{where}: name {name!r}")


def check_schema(schema: object, where: str) -> None:
    need(isinstance(schema, dict) and schema.get("type") == "object", f"{where}: the schema is no object's")


def only_keys(value: Mapping[str, Any], allowed: str, where: str) -> None:
    """Raises Broken for a key that is not among the words of `allowed`."""
    unknown = sorted(set(value) - set(allowed.split()))
    need(not unknown, f"{where}: unknown field {', '.join(unknown)}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # small pieces shall not wait for each other
    server: WireServer

    def log_message(self, *args):
        pass

    def do_GET(self):
        self._json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0].removeprefix("/v1/")
        wire = next((w for w in wires().values() if w.path == path), None)
        if wire is None:
            return self._json(404, {"error": {"message": f"Unknown path {path}"}})
        body = strict_json(raw)
        answer = self.server.answer(Request(wire.name, body, {k.lower(): v for k, v in self.headers.items()}))
        if answer.failure is not None and answer.after is None:
            status, document = wire.failure(answer.failure)
            return self._json(status, document, answer.failure.headers)
        model = body["model"]
        if not body.get("stream"):
            return self._json(200, wire.document(answer, model, self.server.memory))
        try:
            self._stream(wire, answer, model)
        except OSError:
            self.server.gone.set()
            self.close_connection = True
        return None

    def _stream(self, wire: FakeWire, answer: Answer, model: str) -> None:
        before, content, end = wire.events(answer, model, self.server.memory)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in [*before, *content[: answer.after]]:
            self._event(event)
        if answer.after is None:
            for event in end:
                self._event(event)
        elif answer.failure is not None:
            self._event(wire.failure_event(answer.failure))
        elif answer.then == "garbage":
            self._chunk(b'data: {"oops\n\n')
        elif answer.then == "silence":
            while not self.server.stopping.wait(0.02):
                self._chunk(b": still here\n\n")
        self._chunk(b"")

    def _event(self, event: Event) -> None:
        data = event.data if isinstance(event.data, str) else json.dumps(event.data)
        name = f"event: {event.name}\n" if event.name else ""
        self._chunk(f"{name}data: {data}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, status: int, data: Any, headers: Mapping[str, str] = {}) -> None:
        raw = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)
