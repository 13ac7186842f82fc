"""Splitting bytes into server-sent events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.sse import Event, EventReader, EventTooLarge
from tests.rows import each_row


def read(*pieces: bytes, lenient: bool = False) -> list[Event]:
    reader = EventReader(lenient=lenient)
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


@each_row(
    ("stream", "data"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
        (b": hello\n\ndata: a\n: inside\n\n", ["a"]),
        (b"data: a", ["a"]),
        (b"data:\n\n", [""]),
        (b"data\n\n", [""]),
        (b"event: x\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"nonsense: a\ndata: b\n\n", ["b"]),
        ("data: a\u2028b\u2029c\x85d\x0be\x0cf\n\n".encode(), ["a\u2028b\u2029c\x85d\x0be\x0cf"]),
        (b"data: a\xffb\n\n", ["a\ufffdb"]),
        (b'{"bare": 1}\n\n', []),
    ],
)
def test_the_format_is_read_as_it_is_written(stream, data):
    assert [e.data for e in read(stream)] == data


def test_the_fields_of_an_event_are_kept_and_the_id_lasts():
    events = read(b"event: ping\nid: 7\nretry: 1500\ndata: a\n\ndata: b\n\nid: x\0\nretry: soon\ndata: c\n\n")
    assert events == [Event("a", "ping", "7", 1500), Event("b", "", "7"), Event("c", "", "7")]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n', ['{"a":1}', '{"b":2}', "[DONE]"]),
        (b'data: {\ndata: "a": 1}\n\n', ['{\n"a": 1}']),
        (b'data: {"a":1}\n{"error":"x"}\ndata: [DONE]\n', ['{"a":1}', '{"error":"x"}', "[DONE]"]),
        (b"<html>\n", ["<html>"]),
    ],
)
def test_what_home_grown_gateways_send_is_read_when_asked_to(stream, data):
    assert [e.data for e in read(stream, lenient=True)] == data


def test_an_event_is_given_out_before_the_line_feed_of_its_last_line_end():
    reader = EventReader()
    assert reader.feed(b"data: a\r\n\r") == [Event("a")]
    assert reader.feed(b"\ndata: b\n\n") == [Event("b")]


@given(st.data())
def test_any_split_of_the_bytes_gives_the_same_events(data):
    text = data.draw(st.lists(st.sampled_from(["data: a", "data: 世界😀", ": c", "", "id: 1", "\ufeff"]), max_size=12))
    stream = data.draw(st.sampled_from(["\n", "\r\n", "\r"])).join(text).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(*pieces) == read(stream)


@pytest.mark.parametrize("filler", [b"data: " + b"x" * 64, b"data: x\n"])
def test_an_event_that_never_ends_is_refused_and_not_kept(filler):
    with pytest.raises(EventTooLarge):
        read_limited(filler * 1000)


def read_limited(stream: bytes) -> list[Event]:
    reader = EventReader(limit=1000)
    return [event for byte in stream for event in reader.feed(bytes([byte]))]
