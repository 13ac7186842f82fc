"""Asks the models that advise, all at once, before the acting model of a mixture is asked. Source: SUB-13.

Each is asked as any model is: with its own server and keys, tries and clocks. Who fails, or does not answer in time, is
left out and named; a stop ends all of them. What was advised counts until the view of the conversation changes.

Advice stands behind the message that was the newest when it was given, and stays there in later requests: what a
request begins with stays as it was, for the server's cache, and for models that take their thoughts back only then. It
is kept here alone. When it has grown too long in all, only the newest stays.
"""

from __future__ import annotations

import hashlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, BudgetReached, ConfigError, Interrupted, crash
from agent_core.llm import advice_words, advisory
from agent_core.llm.advisory import Advice
from agent_core.llm.mixtures import Mixture, Slot
from agent_core.messages import Message
from agent_core.ports.model import Delta, DeltaSink, LlmClient, LlmReply, LlmRequest
from agent_core.records import dataclass

log = logging.getLogger(__name__)

Open = Callable[[Slot], LlmClient]
"""A client for one model of a preset. Raises ConfigError where it cannot be asked as things are."""

Key = tuple[str, str, tuple[str, ...]]
"""The preset, the hash of the view, and who is asked."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What came of asking one."""

    slot: Slot
    text: str = ""
    error: AgentError | None = None
    paid: tuple[LlmReply, ...] = ()
    """What is to be booked: a try that broke off after it had begun has no figures."""


@dataclass(frozen=True, slots=True)
class _Given:
    """What was advised for one view."""

    message: Message | None
    """None: nobody gave advice."""
    turn: str = ""
    """In which turn that was: nobody's failure lasts longer."""
    anchor: str = ""
    """The id of the message that it stands behind."""

    @property
    def size(self) -> int:
        return len(self.message.text) if self.message is not None else 0


@dataclass(slots=True)
class _Adviser:
    slot: Slot
    client: LlmClient
    scope: CancelScope
    paid: list[LlmReply] = field(default_factory=list)
    """Tries that broke off after they had begun."""
    begun: bool = False
    """The newest try has come to words or thoughts."""

    def spent(self) -> tuple[LlmReply, ...]:
        """What it has cost so far, if it comes to no more."""
        return (*self.paid, _unknown(self.slot)) if self.begun else tuple(self.paid)


_Came = queue.SimpleQueue[tuple[int, _Asked] | None]
"""What comes back of the threads, by the place in the preset; None: a stop."""


class Panel:
    """Of one connection; used by one thread at a time, but for `close`."""

    def __init__(
        self,
        open_: Open,
        redact: Callable[[str], str],
        window: Callable[[Mixture], int | None] = lambda mixture: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`window`: how many tokens the acting model takes, where that is known."""
        self._open = open_
        self._redact = redact
        self._window = window
        self._clock = clock
        self._clients: dict[tuple[int, Slot], LlmClient] = {}
        """By the place in the preset too: a model that is named twice is asked twice, at once."""
        self._given: dict[Key, _Given] = {}

    def advised(self, mixture: Mixture, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmRequest:
        """`request` as the acting model of `mixture` is to get it: with the advice that was given in it.

        Raises Interrupted within limits.MOA_STOP of a stop, when nobody is asked any more, and what `sink` raises when
        use is booked.
        """
        acting = mixture.aggregator
        if acting is not None:
            temperature = mixture.aggregator_temperature
            request = replace(
                request,
                reasoning_effort=acting.effort or request.reasoning_effort,
                temperature=request.temperature if temperature is None else temperature,
            )
        if not (request.advised and mixture.references):
            return request
        seen = advisory.view(request.messages, mixture.every, self._redact, request.aside)
        key = (
            mixture.name,
            hashlib.sha256(seen.encode("utf-8", "replace")).hexdigest(),
            tuple(slot.label for slot in mixture.references),
        )
        given = self._given.pop(key, None)
        if given is None or (given.message is None and given.turn != request.turn):
            given = self._new(seen, mixture, request, sink, cancel)
        if all(message.id != given.anchor for message in request.messages):
            given = replace(given, anchor=request.messages[-1].id)  # the same was said again
        self._keep(key, given, self._room(mixture))
        return replace(request, messages=self._placed(request.messages))

    def close(self) -> None:
        """Close all connections. Requests in flight end with an error."""
        for client in tuple(self._clients.values()):
            client.close()

    def _room(self, mixture: Mixture) -> int:
        """Characters of advice that requests hold: about an eighth of a small window."""
        window = self._window(mixture)
        return limits.MOA_KEPT if window is None else min(limits.MOA_KEPT, window // 2)

    def _keep(self, key: Key, given: _Given, room: int) -> None:
        """Keep the newest, and what was given before it unless that has become too much. It goes all at once: each time
        some of it goes, caches are lost."""
        size = given.size + sum(one.size for one in self._given.values())
        if size > room or len(self._given) >= limits.MOA_CACHE:
            self._given.clear()
        self._given[key] = given

    def _placed(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """`messages` with what was advised, each where it was given; what it was given for may be gone by now."""
        behind = {given.anchor: given.message for given in self._given.values()}
        placed: list[Message] = []
        for message in messages:
            placed.append(message)
            advice = behind.get(message.id)
            if advice is not None:
                placed.append(advice)
        return tuple(placed)

    def _new(self, seen: str, mixture: Mixture, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> _Given:
        """Ask for advice on what is `seen`, and tell of it."""
        began = self._clock()
        came = self._ask(mixture, _wanted(seen, mixture, request), sink, cancel)
        for one in came:
            for reply in one.paid:
                sink(Delta("paid_beside", params={"reply": reply}))
        cancel.check()
        advice = [Advice(one.slot.label, one.text) for one in came if one.error is None]
        failed = [(one.slot.label, one.error) for one in came if one.error is not None]
        names = [one.label for one in advice]
        sink(advice_words.told(mixture, names, failed, self._clock() - began, self._redact))
        room = self._room(mixture)
        message = Message("user", advisory.guidance(advice, self._redact, room), origin="note") if advice else None
        return _Given(message, request.turn, request.messages[-1].id)

    def _ask(self, mixture: Mixture, wanted: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> Sequence[_Asked]:
        """What each reference came to, in their order. Does not raise for a stop: what was paid for is to be booked."""
        out: dict[int, _Asked] = {}
        asked: dict[int, _Adviser] = {}
        for index, slot in enumerate(mixture.references):
            try:
                client = self._client(index, slot)
                sink(Delta("ask_beside", params={"provider": slot.provider, "model": slot.model, "request": wanted}))
            except (ConfigError, BudgetReached) as error:
                out[index] = _Asked(slot, error=error)
            else:
                asked[index] = _Adviser(slot, client, cancel.child())
        came: _Came = queue.SimpleQueue()
        for index, adviser in asked.items():
            args = (index, adviser, replace(wanted, reasoning_effort=adviser.slot.effort or None), came)
            threading.Thread(target=_work, args=args, name=f"advice-{index + 1}", daemon=True).start()
        with cancel.closing(lambda: came.put(None)):
            out |= self._awaited(asked, mixture.timeout, came, sink)
        for index, adviser in asked.items():
            adviser.scope.close()
            found = out.get(index)
            if found is None:  # given up: its connection ends with it
                adviser.client.close()
                self._clients.pop((index, adviser.slot), None)
                found = _Asked(adviser.slot, error=Interrupted(), paid=adviser.spent())
            if isinstance(found.error, Interrupted):
                out[index] = replace(found, error=advice_words.late(mixture.timeout))
        return [out[index] for index in range(len(mixture.references))]

    def _awaited(
        self, asked: Mapping[int, _Adviser], seconds: float, came: _Came, sink: DeltaSink
    ) -> dict[int, _Asked]:
        """What came within `seconds`; then, and at a stop, those that are still asked are stopped and end in a moment.

        A program that was stopped itself does not take its own absence for theirs. Who waits long is told for whom.
        """
        out: dict[int, _Asked] = {}
        begun = self._clock()
        until, stopped, told = begun + seconds, False, False
        while len(out) < len(asked):
            before = self._clock()
            look = before + limits.STREAM_LOOK if told else begun + limits.MOA_LOOK
            wait = max(0.0, min(until, look) - before)
            try:
                got = came.get(timeout=wait)
            except queue.Empty:
                late = self._clock() - before - wait
                until += late if late > limits.STOPPED_FROM else 0.0
                if self._clock() < until:
                    if not (told or stopped):
                        told = True
                        sink(advice_words.waits([one.slot.label for index, one in asked.items() if index not in out]))
                    continue
                if stopped:
                    break
                got = None
            if got is not None:
                out[got[0]] = got[1]
            elif not stopped:  # a stop, or their time is up
                stopped, until = True, self._clock() + limits.MOA_STOP
                for adviser in asked.values():
                    adviser.scope.cancel()
        return out

    def _client(self, index: int, slot: Slot) -> LlmClient:
        """The client of a slot, kept for what it has learned of its server. Raises ConfigError."""
        client = self._clients.get((index, slot))
        if client is None:
            client = self._clients[index, slot] = self._open(slot)
        return client


def _wanted(seen: str, mixture: Mixture, request: LlmRequest) -> LlmRequest:
    """What each adviser is asked: no tools, nothing of the session but the view."""
    return LlmRequest(
        (
            Message("system", advisory.SYSTEM, id="advice-system", created=0.0),
            Message("user", advisory.ASKED.replace("{view}", seen), id="advice-view", created=0.0),
        ),
        stream=request.stream,
        temperature=mixture.reference_temperature,
        cache_ttl="",
        turn=request.turn,
    )


def _work(index: int, adviser: _Adviser, request: LlmRequest, out: _Came) -> None:
    """Ask one; whatever comes of it is handed back."""
    slot = adviser.slot

    def sink(delta: Delta) -> None:
        if delta.kind in ("text", "reasoning"):
            adviser.begun = True
        elif delta.kind == "reset":
            adviser.begun = False
            adviser.paid.append(_unknown(slot))

    try:
        reply = adviser.client.complete(request, sink, adviser.scope)
        paid = LlmReply(usage=reply.usage, provider=reply.provider or slot.provider, model=reply.model or slot.model)
        error = None if reply.text.strip() else AgentError("empty_advice", "The answer was empty.")
        came = _Asked(slot, reply.text, error, (*adviser.paid, paid))
    except AgentError as error:
        came = _Asked(slot, error=error, paid=adviser.spent())
    except Exception as error:  # nobody else would hear of it
        log.exception("asking %s for advice crashed", slot.label)
        came = _Asked(slot, error=crash(error), paid=adviser.spent())
    out.put((index, came))


def _unknown(slot: Slot) -> LlmReply:
    """It was paid for, but nobody says how much."""
    return LlmReply(provider=slot.provider, model=slot.model)
