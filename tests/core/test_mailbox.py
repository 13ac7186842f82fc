import threading

from agent_core.events import Envelope, ErrorRaised, ReasoningDelta, StepStarted, TextDelta, ToolArriving
from agent_core.session.mailbox import Mailbox


def letter(event, seq=1):
    return Envelope("s", seq, 0.0, event)


def test_neighbouring_deltas_are_joined_and_order_is_kept():
    box = Mailbox()
    for event in (
        TextDelta("a"),
        TextDelta("b"),
        StepStarted(2),
        TextDelta("c"),
        ReasoningDelta("d"),
        ReasoningDelta("e"),
    ):
        box.put(letter(event))
    assert [e.event for e in box.drain()] == [TextDelta("ab"), StepStarted(2), TextDelta("c"), ReasoningDelta("de")]
    assert box.drain() == []


def test_deltas_are_not_joined_across_a_drain():
    box = Mailbox()
    box.put(letter(TextDelta("a")))
    assert [e.event for e in box.drain()] == [TextDelta("a")]
    box.put(letter(TextDelta("b")))
    assert [e.event for e in box.drain()] == [TextDelta("b")]


def test_it_wakes_on_the_first_letter_and_on_urgent_ones_only():
    woken = []
    box = Mailbox(woken.append)
    box.put(letter(TextDelta("a")))
    box.put(letter(TextDelta("b")))
    box.put(letter(StepStarted(1)))
    assert woken == [False]
    box.put(letter(ErrorRaised("x", "y")))
    assert woken == [False, True]
    box.drain()
    box.put(letter(TextDelta("a")))
    assert woken == [False, True, False]


def test_a_late_listener_is_told_of_what_waits():
    box = Mailbox()
    box.put(letter(StepStarted(1)))
    woken = []
    box.listen(woken.append)
    assert woken == [False]


def test_its_length_is_bounded_by_kinds_not_by_tokens():
    box = Mailbox()
    for _ in range(100_000):
        box.put(letter(TextDelta("x")))
    for number in range(1000):
        box.put(letter(ToolArriving("write_file", number)))
    *letters, last = box.drain()
    assert last.event == ToolArriving("write_file", 999)
    assert len(letters) == 1
    assert len(letters[0].event.text) == 100_000


def test_nothing_is_lost_or_reordered_between_threads():
    box = Mailbox()
    count = 5_000

    def put():
        for n in range(count):
            box.put(letter(StepStarted(n)) if n % 3 else letter(TextDelta(f"{n} ")))

    thread = threading.Thread(target=put)
    thread.start()
    seen = []
    while thread.is_alive() or len(seen) < count:
        for envelope in box.drain():
            event = envelope.event
            seen += [int(n) for n in event.text.split()] if isinstance(event, TextDelta) else [event.step]
    thread.join()
    assert seen == list(range(count))
