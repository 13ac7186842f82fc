"""Whatever a person sends, and whenever they stop: every text is stored or back in the composer."""

import json
import queue
import random
import time

import pytest

from agent_core import events, intents, limits
from agent_core.errors import StoreError
from agent_core.messages import user
from agent_core.ports.model import Delta
from agent_core.session.outbox import Outbox
from agent_core.session.waiting import WaitingTexts
from agent_core.session.worker import Worker
from tests.core.session_support import call, say


@pytest.mark.parametrize("abandon", [False, True], ids=["stops", "stops and gives up"])
@pytest.mark.parametrize("seed", range(6))
def test_every_text_is_stored_or_returned_whatever_is_pressed(table, seed, abandon):
    dice = random.Random(seed)

    def reply(request, sink, cancel):
        cancel.wait(dice.choice((0, 0, 0.01, 0.03)))
        cancel.check()
        return call(("list_dir", {"path": "."})) if dice.random() < 0.4 else say("ok")

    t = table(reply)
    sent, commands = [], 0
    for number in range(60):
        text, what = f"text {number}.", dice.random()
        if what < 0.5:
            kind = dice.choice((intents.Submit, intents.Steer, intents.Queue, intents.Redirect))
            sent.append(text)
            t.session.send(kind(text))
        elif what < 0.65:
            commands += 1
            t.session.send(intents.Shell(f"echo {number}"))
        elif what < 0.75:
            t.session.send(intents.TakeBack())
        elif what < 0.9:
            t.session.send(intents.Interrupt(abandon and dice.random() < 0.5))
        if dice.random() < 0.5:
            time.sleep(dice.random() * 0.02)
    end = time.monotonic() + 20
    while t.session.busy and time.monotonic() < end:
        time.sleep(0.01)
    assert t.session.state == "idle"
    t.session.close()
    t.session.join(10)

    stored = t.store.recover(t.session.id)
    kept = [m.text for m in stored if m.role == "user" and m.shell is None]
    returned = [text for event in t.of(events.TextReturned) for text in event.text.split("\n")]
    assert sorted(kept + returned) == sorted(sent), "each in one place, also when a worker was given up while it stored"
    assert sum(m.shell is not None for m in stored) == commands
    waiting = None
    for message in stored:  # every call has its result right behind it
        if waiting:
            assert message.result is not None
            assert message.result.call_id == waiting.pop(0)
        waiting = waiting or [c.id for c in message.tool_calls]
    assert sorted(text for _, text in t.kept[-1].texts) == sorted(returned), "what a crash would lose now"


@pytest.mark.parametrize("text", ["the whole answer", ""], ids=["it becomes one", "it comes to nothing"])
def test_while_a_reply_streams_what_it_has_said_is_on_disk_without_keys_and_then_no_more(table, monkeypatch, text):
    monkeypatch.setattr(limits, "REPLY_KEPT", 0.0)
    monkeypatch.setattr(limits, "REPLY_KEPT_SHARE", 0)
    seen = []

    def kept(t):
        with t.store.database.read() as c:
            return [json.loads(body) for (body,) in c.execute("SELECT body FROM begun_replies")]

    def talks(request, sink, cancel):
        sink(Delta("reasoning", "so sk-very-secret "))
        for word in ("half ", "an ", "sk-very-secret ", "answer"):
            sink(Delta("text", word))
        seen.append(kept(t))
        return say(text)

    def goes_on(request, sink, cancel):
        seen.append(kept(t))
        return say("and on")

    t = table(talks, goes_on)
    t.turn("go")
    t.turn("again", count=2)
    ((message,), *later) = seen
    assert (message["role"], message["text"], message["reasoning"], message["interrupted"]) == (
        "assistant",
        "half an [REDACTED] answer",
        "so [REDACTED] ",
        True,
    )
    assert not any(later), "what came to nothing is none before the next request"
    assert kept(t) == []
    assert not any("half an" in m.text for m in t.store.messages(t.session.id))


@pytest.mark.parametrize("is_full", [True, False], ids=["full", "slow"])
def test_a_disk_that_takes_no_half_reply_does_not_stop_it(table, monkeypatch, is_full):
    monkeypatch.setattr(limits, "REPLY_KEPT", 0.0)
    tried = []

    def fails(*args):
        tried.append(args)
        if is_full:
            raise StoreError("store_failed", "no room")
        time.sleep(0.1)

    def talks(request, sink, cancel):
        for word in ("one ", "two ", "three"):
            sink(Delta("text", word))
        return say("one two three")

    t = table(talks)
    monkeypatch.setattr(t.store, "reply_begun", fails)
    assert t.turn("go").text == "one two three"
    assert len(tried) == 1, "it is not tried again with every word"


def test_a_worker_that_was_given_up_takes_no_history_up_and_is_not_heard():
    outbox = Outbox("s")
    worker = Worker(queue.SimpleQueue(), None, outbox)
    worker.give_up()
    assert not worker.take_up(object())
    assert worker.conversation is None
    worker.emit(events.Notice("late", "It is done."))
    worker.tell_failure(StoreError("store_failed", "no room"))
    assert outbox.mailbox.drain() == []


def test_a_text_whose_turn_was_given_up_waits_until_it_is_known_whether_it_was_stored():
    waiting, said = WaitingTexts(), [user("one"), user("two")]
    for message in said:
        waiting.hand(message)
    waiting.give_up()
    assert waiting.all() == tuple((message.id, message.text) for message in said), "a crash now would lose them"
    assert waiting.return_adrift(lambda uid: uid == said[0].id) == "two"
