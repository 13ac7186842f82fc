"""A person does anything at any time, models change over every wire, the program is killed: servers that take only what
their vendors allow never see a wrong request, no text is lost, and no command begins that is not on record as allowed
in the box it runs in."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest

from agent_core import events, intents, names
from agent_core.grants_file import GrantsFile
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.llm.wires import WIRES
from agent_core.messages import ImagePart
from agent_core.mind.compaction import Options
from agent_core.ports.commands import ExecResult
from agent_core.session.services import Connection, Containment
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
    Call("run_command", {"command": "make one"}),
    Call("run_command", {"command": "make two", "needs": "network"}),
    Call("goal_done", {"evidence": "It was looked at."}),
    Call("exit_plan", {"plan": "1. do it"}),
    Call("write_file", {"path": "b.py", "content": "x"}),
    Call("no_such_tool", {"a": 1}),
]
OWN = "echo own"
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


class Backend:
    """Runs nothing; notes what was begun that the store does not know as allowed in that box, before it began."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self.unknown: list[tuple[str, str]] = []
        self.begun: Counter[tuple[str, str]] = Counter()

    def execute(self, command, cwd, *, box, timeout, env, cancel, on_output=None):
        what = (command, box.words)
        if command != OWN:  # what the person runs is their own decision
            self.begun[what] += 1
            if self.begun[what] > self.allowed()[what]:
                self.unknown.append(what)
        return ExecResult(0, "done", "", 0.01)

    def allowed(self) -> Counter[tuple[str, str]]:
        with closing(sqlite3.connect(self._walk.t.store.database.path)) as c:
            rows = c.execute("SELECT what, sandbox FROM decisions WHERE kind = 'command' AND verdict = 'allow'")
            return Counter(rows.fetchall())


class Walk:
    def __init__(self, tmp_path, seed: int, server: WireServer) -> None:
        self.dice = random.Random(seed)
        self.server = server
        self.folder = tmp_path
        self.sent: list[str] = []
        self.back: list[str] = []
        self.t = Table(
            tmp_path,
            compaction=Options(profile=self.dice.choice(("nano", "tokens"))),
            grants=GrantsFile(tmp_path / "grants.json"),
            containment=lambda: Containment(kernel=True),
            mode_confirmed=lambda workspace, mode: True,
        )
        self.backend = Backend(self)
        (self.t.workspace / "a.py").write_text("x = 1\n" * 50)
        # What is taken out for good when something new is said was there all the same.
        self.t.store.database.write(lambda c: c.execute("CREATE TABLE ever (body)"))
        self.t.store.database.write(
            lambda c: c.execute(
                "CREATE TRIGGER ever AFTER INSERT ON messages BEGIN INSERT INTO ever VALUES (new.body); END"
            )
        )
        self.t.services = replace(self.t.services, connect=self.connect, backend=lambda confine: self.backend)
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
        if dice.random() < 0.2:
            return dice.choice(
                (
                    lambda: intents.SetMode(dice.choice(names.MODES), confirmed=dice.random() < 0.5),
                    lambda: intents.SetGoal(dice.choice(("", "reach it"))),
                    lambda: intents.SetPolicy(dice.choice(names.APPROVAL_POLICIES)),
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
                lambda: intents.Shell(OWN, private=dice.random() < 0.3),
            )
        )()

    def answer(self) -> None:
        """Whatever waits for a person gets some answer."""
        for waiting in list(self.t.session._questions._waiting.values()):
            question, decision = waiting.question, self.dice.choice(waiting.question.decisions)
            self.t.session.send(intents.Answer(question.id, decision, pattern=question.pattern))

    def take_back(self) -> None:
        """Grants, of the session or for good."""
        grants, file = self.t.session.grants, self.t.services.grants
        grants.revoke(grants.session())
        for grant in file.read().commands:
            file.remove(grant)

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
        self.backend.begun = self.backend.allowed()
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
            self.answer()
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
            elif what < 0.08:
                walk.take_back()
            elif what < 0.3:
                walk.answer()
            else:
                walk.t.session.send(walk.intent())
            time.sleep(walk.dice.choice((0, 0, 0.02, 0.1)))
        walk.t.session.send(intents.SetGoal(""))
        walk.t.session.send(intents.SetMode("ask"))
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
        assert len(server.requests) > 5
        assert walk.backend.unknown == []
        with closing(sqlite3.connect(walk.t.store.database.path)) as c:
            # The other two servers give ids that one of them gave before.
            twice = "SELECT call_id FROM decisions WHERE call_id LIKE 'toolu%' GROUP BY call_id HAVING COUNT(*) > 1"
            assert c.execute(twice).fetchall() == []
