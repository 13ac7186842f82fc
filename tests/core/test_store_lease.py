"""Two programs and one session: whoever has the lease of its turn writes, others wait, read along or fork."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from agent_core import events, intents, limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted, StoreError, abandoned
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.mind import turn_lease
from agent_core.session.live import LiveSession
from agent_core.store import conversations
from agent_core.store import owner as owners
from agent_core.store.db import Database
from agent_core.store.lease import Holder, Lease, Leases
from agent_core.store.sessions import Store
from tests.core.session_support import Table, call, say


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "state.db")
    yield opened
    opened.close()


@pytest.fixture
def programs(tmp_path, store, clock):
    """The leases of two programs that both live."""
    databases = [Database.open(tmp_path / "state.db") for _ in range(2)]
    names = [owners.new_owner(), owners.new_owner()]
    yield [Leases(d, n, clock, lambda name: "lives") for d, n in zip(databases, names, strict=True)]
    for database in databases:
        database.close()


@pytest.fixture
def others(tmp_path):
    """The stores of two other programs."""
    opened = [Store.open(tmp_path / "state.db") for _ in range(2)]
    yield opened
    for other in opened:
        other.close()


def beat(clock, leases, lease, seconds):
    """The keeper's life for `seconds`: whether each renewal was one."""
    out = []
    for _ in range(int(seconds // limits.LEASE_REFRESH)):
        clock.now += limits.LEASE_REFRESH
        out.append(leases.renew(lease))
    return out


# -- the lease itself, by a clock of the test's (NUM-23) -----------------------------------------------------------


def test_the_figures_are_those_of_the_specification():
    assert (limits.LEASE_TTL, limits.LEASE_REFRESH, limits.LEASE_WAIT) == (300, 60, 1800)


def test_one_program_has_the_lease_and_the_other_is_told_who(programs, clock):
    ours, theirs = programs
    lease = ours.acquire("s")
    assert isinstance(lease, Lease)
    other = theirs.acquire("s")
    assert isinstance(other, Holder)
    assert other.pid == os.getpid()
    assert abs(other.since - time.time()) < 60
    assert theirs.holder("s") == other
    assert ours.holder("s") is None, "its own is no other's"
    ours.release(lease)
    assert theirs.holder("s") is None
    assert isinstance(theirs.acquire("s"), Lease)


def test_a_lease_that_is_renewed_never_ends_and_one_that_is_not_ends_after_its_time(programs, clock):
    ours, theirs = programs
    lease = ours.acquire("s")
    assert beat(clock, ours, lease, 1800) == [True] * 30
    clock.now += limits.LEASE_TTL - 1
    assert isinstance(theirs.acquire("s"), Holder)
    clock.now += 1
    assert isinstance(theirs.acquire("s"), Lease)
    assert not ours.renew(lease), "it has gone to the other one"
    assert not ours.renew(lease), "and does not come back"


def test_a_lease_that_ended_unnoticed_is_renewed_when_nobody_took_it(programs, clock):
    ours, _ = programs
    lease = ours.acquire("s")
    clock.now += 8 * 3600  # the machine slept
    assert ours.renew(lease)


def test_a_database_that_others_hold_is_a_missed_beat_until_the_last_one_that_fits(
    programs, clock, tmp_path, monkeypatch
):
    monkeypatch.setattr(limits, "ACTIVITY_BUDGET", 0.02)
    ours, _ = programs
    lease = ours.acquire("s")
    holder = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert beat(clock, ours, lease, 240) == [True, True, True, False], "at 240 s no other try fits before 300 s"
    holder.execute("ROLLBACK")
    holder.close()
    assert not ours.renew(lease)
    with pytest.raises(StoreError) as refused:
        ours._db.write(lambda c: ours.fence(c, "s"))
    assert refused.value.code == "session_turn_lease_lost", "although nobody has taken it yet"


def test_a_turn_that_was_given_up_while_it_waited_takes_no_lease(programs):
    ours, theirs = programs

    def given_up():
        raise abandoned()

    with pytest.raises(StoreError):
        ours.acquire("s", given_up)
    assert isinstance(theirs.acquire("s"), Lease)


def test_a_lease_that_could_not_be_stored_is_none_and_the_one_before_it_still_is_one(programs):
    ours, theirs = programs

    def full(moment):
        raise StoreError("store_full", "no room")

    def fails():
        ours._db.at_write = full
        with pytest.raises(StoreError, match="no room"):
            ours.acquire("s")
        ours._db.at_write = lambda moment: None

    fails()
    assert not ours.is_ours("s")
    lease = ours.acquire("s")
    fails()
    assert ours.renew(lease)
    assert isinstance(theirs.acquire("s"), Holder)


def test_giving_a_lease_back_leaves_that_of_the_turn_that_has_begun_meanwhile(programs, monkeypatch):
    ours, theirs = programs
    earlier, write = ours.acquire("s"), ours._db.write

    def late(work, budget):
        monkeypatch.undo()
        assert isinstance(ours.acquire("s"), Lease)
        return write(work, budget)

    monkeypatch.setattr(ours._db, "write", late)
    ours.release(earlier)
    assert isinstance(theirs.acquire("s"), Holder)


def test_a_missed_beat_is_made_good_by_the_next(programs, clock, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ACTIVITY_BUDGET", 0.02)
    ours, theirs = programs
    lease = ours.acquire("s")
    holder = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert beat(clock, ours, lease, 120) == [True, True]
    holder.execute("ROLLBACK")
    holder.close()
    assert beat(clock, ours, lease, 60) == [True]
    clock.now += limits.LEASE_TTL - 1
    assert isinstance(theirs.acquire("s"), Holder)


def test_the_clock_of_leases_cannot_be_set(monkeypatch):
    from agent_core.store.lease import machine_seconds

    if not hasattr(time, "CLOCK_BOOTTIME"):
        pytest.skip("this system has no clock that nobody can set")
    before = machine_seconds()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert machine_seconds() >= before


# -- what is behind a lease -----------------------------------------------------------------------------------------

CHANGES = {
    "append": lambda store, sid: store.append(sid, user("mine")),
    "a call begins": lambda store, sid: store.effect_started(sid, "c", "run_command", "command"),
    "a reply streams": lambda store, sid: store.reply_begun(sid, Message("assistant", "half")),
    "undo": lambda store, sid: store.undo(sid),
    "redo": lambda store, sid: store.redo(sid),
    "rewind": lambda store, sid: store.rewind(sid, store.messages(sid)[0].id),
    "reset": lambda store, sid: store.reset(sid),
    "delete": lambda store, sid: store.delete(sid),
    "the plan": lambda store, sid: store.set_todos(sid, ()),
    "views": lambda store, sid: store.views.set(sid, [store.messages(sid)[0].id], "dropped"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_is_changed_while_another_program_runs_a_turn(store, others, change):
    session = store.create("/w").id
    store.append(session, user("first"))
    before = store.messages(session)
    theirs = others[0].leases.acquire(session)
    with pytest.raises(StoreError, match=f"process {os.getpid()}") as refused:
        change(store, session)
    assert refused.value.code == "session_in_use"
    assert store.messages(session) == before
    assert store.get(session).title == ""
    others[0].leases.release(theirs)
    change(store, session)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_turn_that_lost_its_lease_writes_nothing_even_when_the_next_one_has_ended(store, others, change, monkeypatch):
    session = store.create("/w").id
    store.append(session, user("first"))
    before = store.messages(session)
    mine = store.leases.acquire(session)
    with store.database.read() as c:
        assert c.execute("SELECT count(*) FROM session_turn_leases").fetchone() == (1,)
    store.database.write(lambda c: c.execute("UPDATE session_turn_leases SET expires_at = 0"))
    theirs = others[0].leases.acquire(session)
    for _ in range(2):
        with pytest.raises(StoreError) as refused:
            change(store, session)
        assert refused.value.code == "session_turn_lease_lost"
        others[0].leases.release(theirs)
    assert not store.leases.renew(mine)
    assert store.messages(session) == before
    store.leases.release(mine)
    change(store, session)


def test_a_turn_that_was_given_up_cannot_end_the_lease_of_the_next_one(store, others):
    session = store.create("/w").id
    old = store.leases.acquire(session)
    new = store.leases.acquire(session)
    assert isinstance(new, Lease)
    store.leases.release(old)
    assert not store.leases.renew(old)
    store.append(session, user("goes on"))
    assert isinstance(others[0].leases.acquire(session), Holder)


# -- whose holder lives -------------------------------------------------------------------------------------------


def test_what_a_killed_program_held_is_taken_at_once(store, tmp_path):
    session = store.create("/w").id
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from agent_core.store.sessions import Store\n"
            "print(Store.open(Path(sys.argv[1])).leases.acquire(sys.argv[2]), flush=True); input()",
            str(tmp_path / "state.db"),
            session,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout.readline().startswith(b"Lease")
    held = store.leases.acquire(session)
    assert isinstance(held, Holder)
    assert held.pid == child.pid
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # not even cleared away
    assert isinstance(store.leases.acquire(session), Lease)
    child.wait()
    child.stdin.close()
    child.stdout.close()


HERE = owners.place()
BOOT, _, SPACE = HERE.partition("/")


@pytest.mark.skipif(not HERE, reason="no /proc tells where a program runs")
@pytest.mark.parametrize(
    ("name", "life"),
    [
        ("{us}:{here}", "lives"),
        ("{us}", "lives"),  # of an earlier version
        ("{number}:x:1:{here}", "gone"),
        ("{parent}:x", "lives"),
        ("{us}:another-boot/{space}", "gone"),
        ("{us}:{boot}/4026599999", "unknown"),
        ("4194305:x:1:{here}", "gone"),  # above the largest number Linux gives
        ("99999999999999999999:x:1", "gone"),
        ("", "gone"),
        ("nonsense", "gone"),
    ],
    ids=[
        "this one",
        "this one as an earlier version names it",
        "its number, begun at another time",
        "its parent",
        "of another boot",
        "in another space",
        "no such number",
        "a number too large",
        "no name",
        "no number",
    ],
)
def test_a_program_is_known_by_its_number_its_start_and_its_place(name, life):
    number = os.getpid()
    us = f"{number}:x:{owners._began(number)}"
    name = name.format(us=us, number=number, parent=os.getppid(), here=HERE, boot=BOOT, space=SPACE)
    assert owners.life_of(name) == life


# -- the turn ------------------------------------------------------------------------------------------------------


def test_a_turn_waits_for_the_lease_and_gives_it_back(store, others, monkeypatch):
    monkeypatch.setattr(limits, "LEASE_LOOK", 0.02)
    session = store.create("/w").id
    theirs = others[0].leases.acquire(session)
    seen: list[Holder] = []

    def waiting(holder):
        seen.append(holder)
        if len(seen) == 3:
            others[0].leases.release(theirs)

    with turn_lease.held(store.leases, session, CancelScope(), waiting) as lease:
        assert isinstance(others[1].leases.acquire(session), Holder)
        assert not lease.lost
    assert len(seen) == 3
    assert isinstance(others[1].leases.acquire(session), Lease)


def test_waiting_is_ended_by_a_stop_and_by_its_patience(store, others, monkeypatch):
    session = store.create("/w").id
    others[0].leases.acquire(session)
    scope = CancelScope()
    with pytest.raises(Interrupted), turn_lease.held(store.leases, session, scope, lambda holder: scope.cancel()):
        raise AssertionError("it has no lease")
    with (
        pytest.raises(StoreError) as refused,
        turn_lease.held(store.leases, session, CancelScope(), lambda holder: None, 0),
    ):
        raise AssertionError("it has no lease")
    assert refused.value.code == "session_in_use"


def test_a_lease_that_is_lost_stops_the_turn(store, others):
    session = store.create("/w").id
    scope = CancelScope()
    with turn_lease.held(store.leases, session, scope, lambda holder: None, refresh=0.02) as lease:
        store.database.write(lambda c: c.execute("DELETE FROM session_turn_leases"))
        assert scope.wait(10)
        assert lease.lost
        with pytest.raises(StoreError, match="lease lost"):
            store.append(session, user("too late"))
    assert store.messages(session) == []


# -- two copies of the program --------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two programs; `b` has the session open that `a` has made by its first turn."""
    monkeypatch.setattr(limits, "LEASE_LOOK", 0.05)
    go = threading.Event()

    def slowly(request, sink, cancel):
        while not (go.wait(0.02) or cancel.cancelled):
            pass
        cancel.check()
        return say("done by a")

    a = Table(tmp_path, say("hello"), slowly, say("later"))
    a.go = go
    a.turn("first")
    b = Table(tmp_path, say("b answers"))
    b.session = b.open(a.session.id, stored=True)
    yield a, b
    go.set()
    for table in (a, b):
        table.session.close()
        table.session.join(5)
        table.store.close()


def texts(table):
    return [m.text for m in table.of(events.HistoryChanged)[-1].messages]


def until(check, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come about")


def test_a_second_copy_that_opens_reads_along_and_is_told_who_and_since_when(two):
    a, b = two
    a.session.send(intents.Submit("second"))
    until(lambda: len(a.model.requests) == 2)
    b.session.start()
    held = b.wait(events.HeldElsewhere)
    assert (held.pid, abs(held.since - time.time()) < 60) == (os.getpid(), True)
    assert texts(b) == ["first", "hello", "second"]
    a.go.set()
    until(lambda: texts(b)[-1] == "done by a")
    until(lambda: b.of(events.HeldElsewhere)[-1].pid == 0)
    assert b.store.messages(b.session.id) == a.store.messages(a.session.id)
    assert b.session.state == "idle"


def test_what_a_second_copy_sends_waits_and_goes_on_from_what_the_first_has_stored(two):
    a, b = two
    a.session.send(intents.Submit("second"))
    until(lambda: len(a.model.requests) == 2)
    b.session.send(intents.Submit("from b"))
    b.wait(events.HeldElsewhere)
    until(lambda: b.of(events.PendingChanged))
    assert b.of(events.PendingChanged)[-1].queued == ("from b",), "it is seen to wait"
    assert b.model.requests == []
    a.go.set()
    assert b.wait(events.TurnFinished).outcome == "completed"
    assert b.of(events.PendingChanged)[-1].queued == ()
    said = [m.text for m in b.store.messages(b.session.id)]
    assert said == ["first", "hello", "second", "done by a", "from b", "b answers"]
    assert [m.text for m in b.model.requests[0].messages[1:]] == said[:-1]


@pytest.mark.parametrize("intent", [intents.Interrupt(), intents.TakeBack()])
def test_a_stop_ends_the_waiting_and_gives_the_text_back(two, intent):
    a, b = two
    a.session.send(intents.Submit("second"))
    until(lambda: len(a.model.requests) == 2)
    b.session.send(intents.Submit("from b"))
    b.wait(events.HeldElsewhere)
    b.session.send(intent)
    assert b.wait(events.TurnFinished).outcome == "interrupted"
    assert b.wait(events.TextReturned).text == "from b"
    assert b.of(events.PendingChanged)[-1].queued == ()
    a.go.set()
    a.wait(events.TurnFinished, count=2)
    assert [m.text for m in a.store.messages(a.session.id)] == ["first", "hello", "second", "done by a"]


def test_reading_along_that_fails_leaves_a_session_that_works(two, monkeypatch):
    a, b = two
    a.session.send(intents.Submit("second"))
    until(lambda: len(a.model.requests) == 2)
    b.session.start()
    b.wait(events.HeldElsewhere)
    monkeypatch.setattr(b.store, "has_moved", lambda _: {}["unforeseen"])
    b.wait(events.ErrorRaised)
    monkeypatch.undo()
    a.go.set()
    b.turn("from b")
    assert [m.text for m in b.store.messages(b.session.id)][-3:] == ["done by a", "from b", "b answers"]


def test_of_a_long_session_only_the_end_is_read_along(two, monkeypatch):
    a, b = two
    monkeypatch.setattr(limits, "HISTORY_TOLD", 2)
    a.session.send(intents.Submit("second"))
    until(lambda: len(a.model.requests) == 2)
    monkeypatch.setattr(conversations, "load", lambda *_: pytest.fail("all of it was read"))
    b.session.start()
    b.wait(events.HeldElsewhere)
    assert texts(b) == ["second"]
    assert b.of(events.HistoryChanged)[-1].earlier == 2
    monkeypatch.undo()
    a.go.set()
    until(lambda: texts(b)[-1] == "done by a")


def test_an_idle_copy_reads_what_came_meanwhile_before_its_next_turn(two):
    a, b = two
    b.session.start()
    until(lambda: b.of(events.HistoryChanged))
    a.go.set()
    a.turn("second", count=2)
    assert texts(b) == ["first", "hello"]
    b.turn("from b")
    assert texts(b) == ["first", "hello", "second", "done by a"]
    assert [m.text for m in b.model.requests[0].messages[1:]] == ["first", "hello", "second", "done by a", "from b"]
    a.turn("third", count=3)
    assert [m.text for m in a.store.messages(a.session.id)][-4:] == ["from b", "b answers", "third", "later"]


def test_a_copy_that_is_up_to_date_does_not_read_the_history_again(two):
    a, _ = two
    a.go.set()
    a.turn("second", count=2)
    a.turn("third", count=3)
    assert len(a.of(events.HistoryChanged)) == 1


def test_a_change_in_a_second_copy_is_refused_with_the_reason_and_a_fork_is_not(two):
    a, b = two
    a.session.send(intents.Submit("second"))
    until(lambda: len(a.model.requests) == 2)
    b.session.send(intents.Undo())
    assert b.wait(events.ErrorRaised).code == "session_in_use"
    fork = b.store.fork(b.session.id)
    assert [m.text for m in b.store.messages(fork.id)] == ["first", "hello", "second"]
    b.store.append(fork.id, user("mine"))


def test_nobody_waits_where_nobody_is_there(two, tmp_path):
    a, _ = two
    a.session.send(intents.Submit("second"))
    until(lambda: len(a.model.requests) == 2)
    headless = Table(tmp_path, say("never"), unattended=True)
    headless.session = headless.open(a.session.id, stored=True)
    headless.session.send(intents.Submit("from a script"))
    end = headless.wait(events.TurnFinished)
    assert (end.outcome, end.error_code) == ("failed", "session_in_use")
    assert headless.wait(events.TextReturned).text == "from a script"
    headless.session.close()
    headless.session.join(5)
    headless.store.close()


def test_calls_that_another_program_runs_are_not_taken_for_a_crashs(tmp_path, store):
    other = Store.open(tmp_path / "state.db")
    session = store.create("/w").id
    store.append(session, user("go"))
    lease = store.leases.acquire(session)
    store.append(session, Message("assistant", tool_calls=(ToolCall("c", "run_command", {"command": "make"}),)))
    store.effect_started(session, "c", "run_command", "command")
    with pytest.raises(StoreError) as refused:
        other.recover(session)
    assert refused.value.code == "session_in_use"
    assert [m.role for m in other.read_along(session, 50)[0]] == ["user", "assistant"]
    store.append(session, tool(ToolResult("c", "run_command", "made")))
    store.leases.release(lease)
    assert [m.text for m in other.recover(session)] == ["go", "", "made"]
    store.shell_started(session, "s", "sleep 100", False)
    assert len(other.recover(session)) == 3, "a command of the person's own runs without a lease"
    other.close()


def test_a_turn_whose_lease_was_taken_ends_with_the_reason_and_shows_what_is_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(turn_lease, "held", partial(turn_lease.held, refresh=0.05))
    table = Table(tmp_path, call(("run_command", {"command": "echo x >> effect; sleep 30"})))
    session = table.session
    session.send(intents.Submit("go"))
    question = table.wait(events.QuestionAsked).question
    session.send(intents.Answer(question.id, "once"))
    table.wait(events.ToolStarted)
    until((table.workspace / "effect").exists)
    stored = table.store.messages(session.id)
    table.store.database.write(lambda c: c.execute("UPDATE session_turn_leases SET holder = 'nobody:x'"))
    end = table.wait(events.TurnFinished)
    assert (end.outcome, end.error_code) == ("failed", "session_turn_lease_lost")
    assert sum(e.code == "session_turn_lease_lost" for e in table.of(events.ErrorRaised)) == 1
    until(lambda: len(table.of(events.HistoryChanged)) == 2)
    mended = table.store.messages(session.id)
    assert [m.id for m in mended[: len(stored)]] == [m.id for m in stored]
    assert mended[-1].result.effect == "unknown"
    assert (table.workspace / "effect").read_text() == "x\n"
    assert isinstance(session, LiveSession)
    session.close()
    session.join(5)
