"""A person does anything at any time, models change over every wire, the program is killed: servers that take only what
their vendors allow never see a wrong request, and no text is lost."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from dataclasses import replace

import pytest

from agent_core import events, intents
from agent_core.compaction import Options
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.llm.wires import WIRES
from agent_core.messages import ImagePart
from agent_core.services import Connection
from agent_core.store.sessions import Store
from tests.core.session_support import Table
from tests.fakes.wire_server import Answer, Call, Failure, WireServer

GONE = "4190000:gone:1:here"
OWNERS = {
    "open_effects": "owner",
    "pending": "owner",
    "drafts": "owner",
    "session_turn_leases": "holder",
    "compression_locks": "holder",
}
CALLS = [
    Call("list_dir", {"path": "."}),
    Call("read_file", {"path": "a.py"}),
    Call("run_command", {"command": "echo x"}),
    Call("write_file", {"path": "b.py", "content": "x"}),
    Call("no_such_tool", {"a": 1}),
]
ASKED_ANEW = ("bound to a different conversation", "Duplicate")
"""Which servers mind old thoughts, and ids that another server gave too, is not known before: the client then asks once
more without them."""


class AnyAnswer:
    """Whatever models and servers do, drawn anew for each request."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, number: int) -> Answer:
        dice, kind = self._dice, self._dice.random()
        thoughts = dice.choice(("", "Hm, well. "))
        if kind < 0.35:
            calls = dice.choices(CALLS, k=dice.choice((1, 1, 2, 4)))
            return Answer(dice.choice(("", "Let me look.")), calls, thoughts, cut_call=dice.random() < 0.1)
        if kind < 0.40:
            return Answer("half of it " * 5, after=dice.randrange(6), failure=dice.choice((None, Failure("server"))))
        if kind < 0.44:
            return Answer(failure=Failure(dice.choice(("server", "overflow", "overloaded", "bad_request"))))
        if kind < 0.48:
            return Answer("", reasoning="nothing but thoughts")
        return Answer(
            dice.choice(("ok", "A longer answer. " * 20)), reasoning=thoughts, finish=dice.choice(("", "length"))
        )


class Walk:
    def __init__(self, tmp_path, seed: int, server: WireServer) -> None:
        self.dice = random.Random(seed)
        self.server = server
        self.folder = tmp_path
        self.sent: list[str] = []
        self.back: list[str] = []
        self.t = Table(tmp_path, compaction=Options(profile=self.dice.choice(("nano", "tokens"))), policy="never")
        (self.t.workspace / "a.py").write_text("x = 1\n" * 50)
        # What is taken out for good when something new is said was there all the same.
        self.t.store.database.write(lambda c: c.execute("CREATE TABLE ever (body)"))
        self.t.store.database.write(
            lambda c: c.execute(
                "CREATE TRIGGER ever AFTER INSERT ON messages BEGIN INSERT INTO ever VALUES (new.body); END"
            )
        )
        self.t.services = replace(self.t.services, connect=self.connect)
        self.use(self.t.store)
        self.t.session = self.t.open(self.t.session.id, stored=False)

    def use(self, store: Store) -> None:
        self.t.store = store
        self.t.services = replace(self.t.services, store=store, keep=lambda note: store.notes.keep([note]))

    def connect(self, name: str, provider: str = "") -> Connection:
        entry = {"base_url": self.server.base_url, "api_mode": name or "chat_completions"}
        settings = ProviderOptions(model="m", provider="mine", providers={"mine": entry}, retry_base=0.01)
        client = make_client(resolve(settings, {}, {}), settings)
        return Connection(client, "mine", name or "chat_completions", "M", self.dice.choice((None, 8_000, 100_000)))

    def new_text(self) -> str:
        self.sent.append(f"text {len(self.sent)}.")
        return self.sent[-1]

    def intent(self) -> intents.Intent:
        dice, session = self.dice, self.t.session
        stored = self.t.store.messages(session.id) if session.stored else []
        if stored and dice.random() < 0.25:
            some = dice.choice(stored).id
            start = dice.choice([m for m in stored if m.starts_turn] or stored).id
            return dice.choice(
                (
                    lambda: intents.Rewind(start),
                    lambda: intents.Resend(start, self.new_text()),
                    lambda: intents.SetView((some,), dice.choice(("dropped", "pinned", ""))),
                )
            )()
        if dice.random() < 0.35:
            kind = dice.choice((intents.Submit, intents.Steer, intents.Queue, intents.Redirect))
            return kind(self.new_text())
        return dice.choice(
            (
                lambda: intents.Submit(self.new_text(), (ImagePart("image/png", "iVBORw0KGgo="),)),
                lambda: intents.Interrupt(abandon=dice.random() < 0.3),
                lambda: intents.Undo(dice.choice((1, 2))),
                intents.Redo,
                intents.Retry,
                intents.Compact,
                intents.TakeBack,
                lambda: intents.SetModel(dice.choice(list(WIRES))),
                lambda: intents.SetOptions(reasoning_effort=dice.choice(("", "high"))),
                lambda: intents.Shell("echo own", private=dice.random() < 0.3),
            )
        )()

    def reopen(self) -> None:
        old = self.t.session
        old.close()
        old.join(10)
        self.collect()
        self.t.session = self.t.open(old.id, stored=old.stored)
        self.t.session.start()

    def kill(self) -> None:
        """What is on the disk at this moment is all that the next program has."""
        old, copy = self.t.session, self.folder / f"{len(list(self.folder.glob('*.db')))}.db"
        with (
            old._lock,
            closing(sqlite3.connect(old._services.store.database.path)) as now,
            closing(sqlite3.connect(copy)) as then,
        ):
            now.backup(then)
            for table, column in OWNERS.items():
                then.execute(f"UPDATE {table} SET {column} = ?", (GONE,))
            then.commit()
        old.send(intents.Interrupt())
        old.close()
        old.join(10)
        old._services.store.close()
        self.t.drain()  # of that nobody is left to tell
        self.t.seen.clear()
        self.use(Store.open(copy))
        self.t.session = self.t.open(old.id, stored=True)
        self.t.session.start()
        self.t.wait(events.HistoryChanged)
        self.no_text_is_lost()

    def collect(self) -> None:
        self.back += [e.text for e in self.t.of(events.TextReturned)]
        self.t.seen.clear()

    def no_text_is_lost(self) -> None:
        def missing() -> list[str]:
            with self.t.store.database.read() as c:
                ever = [body for (body,) in c.execute("SELECT body FROM ever")]
            waiting = [text for _, text in self.t.session._texts._texts.all()]
            back = [e.text for e in self.t.of(events.TextReturned)]
            there = "\n".join([*ever, *self.back, *back, *waiting])
            return [text for text in self.sent if text not in there]

        end = time.monotonic() + 10
        while (
            missing() and time.monotonic() < end
        ):  # a session that begins is told of them when it has read its history
            time.sleep(0.02)
        assert missing() == []

    def settle(self) -> None:
        end = time.monotonic() + 30
        while self.t.session.busy and time.monotonic() < end:
            time.sleep(0.01)
        assert not self.t.session.busy


@pytest.mark.parametrize("seed", [0, 1, 2, 28])
def test_whatever_is_done_requests_stay_valid_and_no_text_is_lost(tmp_path, seed):
    with WireServer(Answer("unused"), lenient=True) as server:
        server._answers = AnyAnswer(random.Random(seed))
        walk = Walk(tmp_path, seed, server)
        for _ in range(60):
            what = walk.dice.random()
            if what < 0.03 and walk.t.session.stored:
                walk.kill()
            elif what < 0.06:
                walk.reopen()
            else:
                walk.t.session.send(walk.intent())
            time.sleep(walk.dice.choice((0, 0, 0.02, 0.1)))
        walk.settle()
        walk.no_text_is_lost()
        server._answers = (Answer("The end."),)
        before = len(walk.t.of(events.TurnFinished))
        end = walk.t.turn(walk.new_text(), count=before + 1)
        assert (end.outcome, end.text) == ("completed", "The end.")
        walk.t.session.close()
        walk.t.session.join(10)
        walk.t.store.close()
        assert [rule for rule in server.violations if not any(words in rule for words in ASKED_ANEW)] == []
        assert len(server.requests) > 10
