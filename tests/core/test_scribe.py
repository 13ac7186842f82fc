"""The scribe: what is handed to it is written soon, in order, and nobody waits."""

import threading
import time

from agent_core.errors import StoreError
from agent_core.scribe import Scribe


class Disk:
    """Takes batches; refuses while `broken`, waits while `gate` is closed."""

    def __init__(self):
        self.batches = []
        self.broken = False
        self.tries = 0
        self.gate = threading.Event()
        self.gate.set()

    def write(self, notes):
        self.gate.wait(10)
        self.tries += 1
        if self.broken:
            raise StoreError("store_full", "The disk is full.")
        self.batches.append(list(notes))

    @property
    def written(self):
        return [note for batch in self.batches for note in batch]


def scribe_on(disk):
    told = []
    return Scribe(disk.write, told.append), told


def test_the_newest_note_of_a_key_is_written_and_the_order_is_that_of_the_newest():
    disk = Disk()
    scribe, _ = scribe_on(disk)
    for key, note in [("a", "a1"), ("b", "b1"), ("a", "a2"), ("c", "c1")]:
        scribe.put(key, note)
    assert scribe.flush(5)
    assert disk.written[-3:] == ["b1", "a2", "c1"]
    scribe.close()


def test_nobody_waits_for_a_slow_disk():
    disk = Disk()
    disk.gate.clear()
    scribe, _ = scribe_on(disk)
    begun = time.monotonic()
    for number in range(1_000):
        scribe.put("draft", number)
    assert time.monotonic() - begun < 15
    disk.gate.set()
    assert scribe.flush(5)
    assert disk.written[-1] == 999
    assert len(disk.written) < 50, "what changes again at once is written once"
    scribe.close()


def test_a_failing_disk_is_told_once_and_tried_again(monkeypatch):
    monkeypatch.setattr("agent_core.limits.SCRIBE_RETRY", (0.01, 0.02))
    disk = Disk()
    disk.broken = True
    scribe, told = scribe_on(disk)
    scribe.put("a", "old")
    scribe.put("b", "kept")
    end = time.monotonic() + 5
    while disk.tries < 3 and time.monotonic() < end:
        time.sleep(0.01)
    scribe.put("a", "new")
    assert not scribe.flush(0.05)
    disk.broken = False
    assert scribe.flush(5)
    assert sorted(disk.written) == ["kept", "new"]
    assert [error.code for error in told] == ["store_full"]
    disk.broken = True
    scribe.put("a", "again")
    end = time.monotonic() + 5
    while len(told) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert len(told) == 2, "a new failure is told anew"
    disk.broken = False
    scribe.close(5)


def test_closing_writes_what_waits_and_takes_nothing_more():
    disk = Disk()
    scribe, _ = scribe_on(disk)
    scribe.put("a", 1)
    scribe.close(5)
    scribe.put("a", 2)
    assert disk.written == [1]


def test_closing_does_not_wait_for_a_disk_that_hangs():
    disk = Disk()
    disk.gate.clear()
    scribe, _ = scribe_on(disk)
    scribe.put("a", 1)
    begun = time.monotonic()
    scribe.close(0.1)
    assert time.monotonic() - begun < 15
    disk.gate.set()


def test_a_scribe_that_never_got_a_note_closes():
    scribe, _ = scribe_on(Disk())
    assert scribe.flush(1)
    scribe.close()
