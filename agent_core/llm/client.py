"""The model client: one reply for one request, from one model server, with retries and with each of its keys.

Nothing is delivered twice: a retry after partial output says "reset" first. No wait of any kind holds up a stop.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.credentials import Secret
from agent_core.errors import Interrupted, ProviderError
from agent_core.llm import failures, ladder, retry
from agent_core.llm.body import BodyReader
from agent_core.llm.encoded import EncodedHistory
from agent_core.llm.exchange import Broken, Exchange, Head, Link, Silence, pieces, tls
from agent_core.llm.history import opened
from agent_core.llm.providers import Endpoint, ProviderOptions, is_loopback, url_of
from agent_core.llm.refusal import IMAGES
from agent_core.llm.resting import KeyRing
from agent_core.llm.wire import Builder, Quirks, Wire
from agent_core.llm.wires import WIRES, wire_asked_for
from agent_core.llm.words import Asked, failure
from agent_core.names import BLIND
from agent_core.ports.model import Delta, DeltaSink, LlmClient, LlmReply, LlmRequest
from agent_core.records import dataclass
from agent_core.version import __version__

if TYPE_CHECKING:
    import httpx

USER_AGENT = f"nanoherm-tui/{__version__}"


def make_client(
    endpoint: Endpoint, options: ProviderOptions, *, transport: httpx.BaseTransport | None = None
) -> LlmClient:
    """A client for `endpoint` alone. `transport` takes the place of the network (the demo); it is not closed here."""
    return ModelClient(endpoint, options, transport)


def request_headers(endpoint: Endpoint) -> dict[str, str]:
    """The headers of every request to `endpoint`, the key among them."""
    headers = {
        **endpoint.preset.headers,
        "user-agent": USER_AGENT,
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",  # compressed streams are held back by what compresses them
        "content-type": "application/json",
    }
    if endpoint.key is not None:
        for name in endpoint.preset.key_headers:
            headers[name] = ("Bearer " if name == "authorization" else "") + endpoint.key.reveal()
    return headers


def asked(endpoint: Endpoint, url: str, model: str = "") -> Asked:
    """Who is asked at `url`, for the words about a failure."""
    key = endpoint.key
    return Asked(endpoint.label, url, model, key.reveal() if key else "", key.source if key else "")


class ModelClient:
    """The client of one server, over the wire it speaks; see ports.LlmClient."""

    def __init__(
        self,
        endpoint: Endpoint,
        options: ProviderOptions,
        transport: httpx.BaseTransport | None = None,
        keys: KeyRing | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._options = options
        self._transport = transport
        self._keys = keys or KeyRing(endpoint.keys)
        self._speak(WIRES[endpoint.preset.wire])
        self._link: Link | None = None

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        """One reply, retries included. Raises ProviderError, Interrupted."""
        model = request.model or self._endpoint.model
        request = replace(request, messages=opened(request.messages))
        key, tries, reloaded = self._keys.begin(), 0, False
        while True:
            cancel.check()
            tries += 1
            self._endpoint = replace(self._endpoint, key=key)
            try:
                reply = self._once(request, model, sink, cancel)
            except ProviderError as error:
                step = self._after(error, key, tries, reloaded)
                reloaded |= step == "reload"
                if step == "reload" and (fresh := self._keys.reload(key)) is not None:
                    key, tries = fresh, 0
                    continue
                if step == "reload":
                    step = self._after(error, key, tries, reloaded)
                if step == "rotate" and key is not None:
                    _void(error, sink)
                    failed, key, tries = key, self._keys.rotate(key, error.retry_after or 0.0), 0
                    sink(ladder.rotation(error, self._endpoint.label, failed.source, key.source))
                    continue
                if step != "again":
                    raise self._final(error, tries) from error
                self._wait(error, tries, sink, cancel)
            else:
                self._keys.succeeded(key)
                return replace(reply, provider=self._endpoint.provider)

    def close(self) -> None:
        """Close the connection. A request in flight, if there is one, ends with an error."""
        link, self._link = self._link, None
        if link is not None:
            link.cut()
            link.close()

    def _after(self, error: ProviderError, key: Secret | None, tries: int, reloaded: bool) -> ladder.Step:
        return ladder.after(
            error,
            tries,
            max(1, self._options.max_attempts),
            others=key is not None and self._keys.others(key),
            reloaded=reloaded,
            longest_wait=self._options.retry_after_max,
        )

    def _final(self, error: ProviderError, tries: int) -> ProviderError:
        """The error to end with."""
        waits = error.retry_after is not None and error.retry_after > self._options.retry_after_max
        who = self._asked()
        if waits and error.retryable and tries < self._options.max_attempts:
            return retry.too_long(error, who)
        return retry.not_opened(error, tries, who) if error.params.get("unopened") and tries > 1 else error

    def _wait(self, error: ProviderError, tries: int, sink: DeltaSink, cancel: CancelScope) -> None:
        """Announce the next try and wait for it. Raises Interrupted."""
        attempts = self._options.max_attempts
        wait = retry.wait_before(self._options.retry_base, tries, error.retry_after)
        _void(error, sink)
        words = retry.announcement(error, tries + 1, attempts, wait)
        params = {
            "code": error.code,
            "case": retry.case(error),
            "attempt": tries + 1,
            "of": attempts,
            "wait_s": round(wait, 1),
        }
        sink(Delta("retry", words, params))
        if cancel.wait(wait):
            raise Interrupted

    def _once(self, request: LlmRequest, model: str, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        """One try; a request refused for one of its fields is asked again without it, one refused because this model
        is asked over another wire goes over that. Both are remembered."""
        preset = self._endpoint.preset
        spoken = {self._wire.name}
        for _ in range(limits.FIELD_REASKS):
            quirks = self._quirks.get(model) or self._first_quirks()
            try:
                reply = self._ask(request, self._history.encode(request, model, quirks), sink, cancel)
            except ProviderError as error:
                refused = error
                wire = wire_asked_for(self._wire, error)
                if wire is not None and wire.name not in spoken:
                    spoken.add(wire.name)
                    self._speak(wire)
                    continue
                changed = self._wire.adapted(quirks, self._wire.body(request, model, quirks, preset), error)
                blind = changed is not None and IMAGES in changed.dropped - quirks.dropped
                if changed is None or (blind and self._options.images == "native"):
                    raise
                self._quirks[model] = changed
                if blind:
                    sink(_blind(model, self._endpoint))
            else:
                return replace(reply, model=model)
        raise refused

    def _first_quirks(self) -> Quirks:
        """What is known before anything was refused."""
        quirks = self._wire.quirks(self._endpoint.preset)
        return replace(quirks, dropped=quirks.dropped | {IMAGES}) if self._options.images == "text" else quirks

    def _speak(self, wire: Wire) -> None:
        self._wire = wire
        self._history = EncodedHistory(wire, self._endpoint.preset)
        self._quirks: dict[str, Quirks] = {}
        """What each model of this server turned out to want."""

    def _asked(self, model: str = "") -> Asked:
        return asked(self._endpoint, url_of(self._endpoint.base_url, self._wire.path), model)

    def _ask(self, request: LlmRequest, body: bytes, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        endpoint = self._endpoint
        who = self._asked(request.model or endpoint.model)
        builder = self._wire.builder(endpoint.label, {t.name: t.parameters for t in request.tools}, who.key)
        try:
            self._link = link = self._link or self._new_link(_Clocks.of(endpoint, self._options).idle)
            http_request = link.http.build_request("POST", who.url, content=body, headers=request_headers(endpoint))
        except Exception as error:  # a proxy, an address or a header that cannot be used
            raise failures.from_exception(error, who) from error
        self._link = None
        clocks = _Clocks.of(endpoint, self._options)  # what was loaded and made before is no silence of the server's
        exchange = Exchange(link, http_request, cancel)
        try:
            with exchange:
                return self._read(exchange, builder, clocks, sink, who)
        except ProviderError as error:
            _add_partial(error, builder)
            raise
        except (Silence, Broken) as stop:
            no_reply = _no_reply(stop, clocks, who, exchange)
            _add_partial(no_reply, builder)
            raise no_reply from stop
        finally:
            if exchange.reusable:
                self._link = link

    def _read(self, exchange: Exchange, builder: Builder, clocks: _Clocks, sink: DeltaSink, who: Asked) -> LlmReply:
        exchange.on_stop = clocks.stood_still
        head = exchange.take(clocks.deadline(builder))
        assert isinstance(head, Head)
        clocks.byte()
        if not 200 <= head.status < 300:
            raise failures.from_response(head.status, head.headers, _error_body(exchange, clocks, builder), who)
        reader = BodyReader(builder, who.who)
        try:
            for piece in pieces(exchange, lambda: clocks.deadline(builder)):
                clocks.byte()
                for delta in reader.feed(piece):
                    sink(delta)
                clocks.content(builder)
                if reader.done:
                    break
            else:
                for delta in reader.end():
                    sink(delta)
                reader.check_end()
        except (Silence, Broken):
            # After the reason to finish the reply is whole, however the connection ends.
            if not builder.finished:
                raise
        exchange.drain(limits.DRAIN)
        reply = builder.finish()
        if builder.late and reply.text:
            sink(Delta("text", builder.late))
        return reply

    def _new_link(self, idle: float) -> Link:
        import httpx

        # The reading thread's own bound, only so that it ends one day if it is left where no socket can be shut.
        # The kernel's clock goes on while this process is stopped: it must not end what `take` still waits for.
        timeout = httpx.Timeout(idle + limits.SOCKET_LEFT, connect=self._options.connect_timeout)
        http = httpx.Client(
            transport=self._transport,
            verify=tls(self._endpoint.base_url.partition(":")[0]),
            timeout=timeout,
            trust_env=not is_loopback(self._endpoint.base_url),  # no proxy stands between a machine and itself
            follow_redirects=False,
            limits=httpx.Limits(keepalive_expiry=limits.KEEP_ALIVE),
        )
        return Link(http, owned=self._transport is None)


@dataclass(slots=True)
class _Clocks:
    """The deadlines of one reply; times are monotonic. Any byte resets `idle`, only content resets `progress`."""

    idle: float
    progress: float
    finish: float
    last_byte: float
    last_content: float
    seen: int = 0
    finished_at: float | None = None

    @classmethod
    def of(cls, endpoint: Endpoint, options: ProviderOptions) -> _Clocks:
        local = endpoint.preset.local
        default_idle = limits.STREAM_IDLE_LOCAL if local else limits.STREAM_IDLE
        idle = default_idle if options.idle_timeout is None else options.idle_timeout
        progress = options.progress_timeout
        if progress is None:
            progress = max(limits.STREAM_PROGRESS, idle) if local else limits.STREAM_PROGRESS
        now = time.monotonic()
        return cls(idle, progress, options.finish_timeout, now, now)

    def byte(self) -> None:
        self.last_byte = time.monotonic()

    def stood_still(self, seconds: float) -> None:
        """This process was stopped for so long, and saw nothing of what the server did."""
        self.last_byte += seconds
        self.last_content += seconds
        if self.finished_at is not None:
            self.finished_at += seconds

    def content(self, builder: Builder) -> None:
        if builder.progress != self.seen:
            self.seen = builder.progress
            self.last_content = time.monotonic()
        if builder.finished and self.finished_at is None:
            self.finished_at = time.monotonic()

    def deadline(self, builder: Builder) -> float:
        if self.finished_at is not None:
            # Content may still come from servers that name a reason with every chunk.
            return max(self.finished_at, self.last_content) + self.finish
        return min(self.last_byte + self.idle, self.last_content + self.progress)

    def is_idle(self) -> bool:
        """True when it was the idle clock that ran out."""
        return self.last_byte + self.idle <= self.last_content + self.progress


def _no_reply(stop: Silence | Broken, clocks: _Clocks, who: Asked, exchange: Exchange) -> ProviderError:
    """The error of an exchange that ended without a reply."""
    if isinstance(stop, Broken):
        error = failures.from_exception(stop.error, who, exchange.peer)
    elif clocks.is_idle():
        error = failure("timeout", who, "timeout_idle", seconds=round(clocks.idle))
    else:
        error = failure("timeout", who, "timeout_progress", seconds=round(clocks.progress))
    error.params["unopened"] = not exchange.opened
    return error


def _error_body(exchange: Exchange, clocks: _Clocks, builder: Builder) -> bytes:
    """The body of a failed response, as much as is kept. What breaks while it is read does not hide the status."""
    body = bytearray()
    deadline = min(clocks.deadline(builder), time.monotonic() + limits.HEALTH_TIMEOUT)
    try:
        for piece in pieces(exchange, lambda: deadline):
            body += piece
            if len(body) >= limits.ERROR_BODY:
                break
    except (Silence, Broken):
        pass
    return bytes(body[: limits.ERROR_BODY])


def _add_partial(error: ProviderError, builder: Builder) -> None:
    """Note in `error` what had been delivered before it."""
    error.partial_text = error.partial_text or builder.partial_text
    error.partial_reasoning = error.partial_reasoning or builder.partial_reasoning
    error.params["delivered"] = builder.progress > 0


def _blind(model: str, endpoint: Endpoint) -> Delta:
    """What to tell when a model turns out to take no images."""
    text = f"{model} takes no images. It is told of them in words, in this session from now on."
    return Delta("retry", text, {"notice": BLIND, "model": model, "provider": endpoint.provider})


def _void(error: ProviderError, sink: DeltaSink) -> None:
    """Take back what was delivered of a failed try."""
    if error.params.get("delivered"):
        sink(Delta("reset"))
