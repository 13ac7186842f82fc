"""Sessions from files, whole and damaged, and from a Hermes database that is not touched."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import StoreError
from agent_core.messages import Message, user
from agent_core.safety.redact import redact
from agent_core.store.exchange import export, export_json, export_nanohermes
from agent_core.store.imports import harmless, read_file, read_text
from agent_core.store.rows import SessionRow
from agent_core.store.sessions import Store
from tests.rows import each_row

from .test_exchange import CONVERSATION
from .test_exchange import row as stored_row

KEY = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4f"


def same(text: str) -> str:
    return text


def without_ids(conversation):
    """What is left when ids, times and what only a server wants back are taken away."""
    plain = []
    for message in conversation:
        calls = tuple(replace(call, id="", extra={}) for call in message.tool_calls)
        result = message.result and replace(message.result, call_id="")
        plain.append(replace(message, id="", created=0.0, tool_calls=calls, result=result, extra={}))
    return plain


def lines(*texts: str) -> bytes:
    return b"".join(json.dumps({"role": "user", "content": text}).encode() + b"\n" for text in texts)


def texts(data: bytes):
    session = read_text(data, "name")
    return [message.text for message in session.messages], session.lost


def test_our_own_export_comes_back_under_new_ids(tmp_path):
    row = stored_row(tmp_path)
    file = tmp_path / "dates.json"
    file.write_text(export_json(row, CONVERSATION))
    (session,) = read_file(file, same)
    cleaned = [replace(m, text=m.text.replace("\x1b[31m", "").replace("\r\n", "\n")) for m in CONVERSATION]
    cleaned = [m if m.result is None else replace(m, result=replace(m.result, text=m.text)) for m in cleaned]
    assert without_ids(session.messages) == without_ids(cleaned)
    assert (session.title, session.workspace, session.model, session.lost) == ("Dates", "/projects/my work", "m", 0)
    assert (session.created, session.updated) == (row.created, row.updated)
    assert not {m.id for m in session.messages} & {m.id for m in CONVERSATION}
    calls = {call.id for m in session.messages for call in m.tool_calls}
    assert calls == {m.result.call_id for m in session.messages if m.result}
    assert not calls & {"1", "2"}


def test_a_nanohermes_array_goes_out_and_comes_in(tmp_path):
    array = json.loads(export_nanohermes(CONVERSATION))
    assert [entry["role"] for entry in array] == ["user", "assistant", "tool", "tool", "user", "assistant", "user"]
    assert array[0]["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    call = array[1]["tool_calls"][0]
    assert (call["type"], json.loads(call["function"]["arguments"])) == ("function", {"path": "src/日期.py"})
    assert array[2] == {"role": "tool", "tool_call_id": "1", "content": "changed"}
    session = read_text(json.dumps([{"role": "system", "content": "be kind"}, *array]).encode(), "old talk")
    assert session.title == "old talk"
    brought = harmless(session, same).messages
    assert [m.role for m in brought] == [m.role for m in CONVERSATION if m.origin != "summary"]
    assert brought[0].parts == CONVERSATION[0].parts
    assert brought[1].reasoning == "where\nis it"
    assert [dict(c.arguments) for c in brought[1].tool_calls] == [dict(c.arguments) for c in CONVERSATION[1].tool_calls]
    assert [m.result.call_id for m in brought if m.result] == [c.id for c in brought[1].tool_calls]


GOOD = ("one", "two 二", "three", "four")
WHOLE = lines(*GOOD)


@each_row(
    ("data", "left", "lost"),
    [
        (WHOLE, GOOD, 0),
        (b"\xef\xbb\xbf" + WHOLE.replace(b"\n", b"\r\n"), GOOD, 0),
        (WHOLE[:60] + b"\0" * 500 + WHOLE[60:], GOOD, 0),
        (WHOLE + b"\0" * 500, GOOD, 0),
        (WHOLE[:-20], GOOD[:3], 1),
        (b"{spoiled\x07" + WHOLE, GOOD[1:], 1),
        (b"\xff\xfe garbage\n" + WHOLE + b'{"half": ', GOOD, 2),
        (lines("a\u2028b\u0085c"), ("a\u2028b\u0085c",), 0),
        (WHOLE + b'{"role": "martian", "content": "x"}\n[1, 2]\n"text"\n', GOOD, 3),
        (WHOLE + b"[" * 100_000, GOOD, 1),
    ],
)
def test_of_damaged_lines_the_good_ones_come_and_the_lost_are_counted(data, left, lost):
    assert texts(data) == (list(left), lost)


def test_of_a_damaged_document_the_good_messages_come(tmp_path):
    row = SessionRow("a" * 32, "Talk", "/w", "m", "p", "ask", 1.0, 2.0, 4, 4, 0, 0)
    document = export_json(row, [user(text) for text in GOOD]).encode()
    assert texts(document) == (list(GOOD), 0)
    cut = read_text(document[:-60], "name")
    assert ([m.text for m in cut.messages], cut.lost) == (list(GOOD[:3]), 1)
    assert (cut.title, cut.workspace) == ("Talk", "/w")
    at = document.index(b"two") - 2
    assert texts(document[:at] + b"\x01\x02" + document[at:]) == (["one", "three", "four"], 1)
    array = json.dumps([{"role": "user", "content": text} for text in GOOD]).encode()
    assert texts(array[:-10]) == (list(GOOD[:3]), 1)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2000), st.binary(max_size=20), st.integers(0, 300))
def test_no_damage_is_an_error(at, spoil, gap):
    row = SessionRow("a" * 32, "Talk", "/w", "m", "p", "ask", 1.0, 2.0, 4, 4, 0, 0)
    for whole in (WHOLE, export_json(row, CONVERSATION).encode(), export_nanohermes(CONVERSATION).encode()):
        session = harmless(read_text(whole[:at] + spoil + whole[at + gap :], "n"), same)
        json.dumps(export_json(row, session.messages))


@each_row(
    "message",
    [
        {"role": "user", "id": "1", "text": 5},
        {"role": "user", "id": "1", "text": "x", "created": "soon"},
        {"role": "user", "id": "1", "text": "x", "origin": "heaven"},
        {"role": "assistant", "id": "1", "tool_calls": [{"id": "c", "name": "n", "arguments": ["x"]}]},
        {"role": "tool", "id": "1", "text": "x"},
        {"role": "tool", "id": "1", "result": {"call_id": "c", "name": "n", "text": None}},
        {"role": "user", "id": "1", "origin": "shell", "text": "x"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
        {"role": "user", "content": 7},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {}}]},
    ],
)
def test_a_message_of_another_shape_is_lost_and_harms_nothing(message):
    assert texts(json.dumps([message, {"role": "user", "content": "kept"}]).encode()) == (["kept"], 1)


def test_an_image_of_a_kind_that_no_server_takes_is_told_of_in_words():
    svg = {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,PHN2Zy8+"}}
    own = {"role": "user", "id": "1", "text": "look", "parts": [{"media_type": "image/tiff", "data": "SUkq"}]}
    given = [{"role": "user", "content": [{"type": "text", "text": "what?"}, svg]}, own]
    session = harmless(read_text(json.dumps(given).encode(), "t"), same)
    assert [(m.text.split(";")[0], m.parts) for m in session.messages] == [
        ("what?\n[image: data:image/svg+xml", ()),
        ("look", ()),
    ]


def test_a_message_of_control_bytes_alone_is_none_and_a_number_beyond_all_is_lost():
    given = [
        {"role": "user", "content": "\x1b[31m"},
        {"role": "assistant", "content": "\x00"},
        {"role": "user", "content": "words"},
        {"id": "1", "role": "user", "text": "a", "created": 10**400},
        {"id": "2", "role": "user", "text": "b", "created": 1, "reasoning_seconds": float("nan")},
    ]
    session = harmless(read_text(json.dumps(given).encode(), "t"), same)
    assert ([m.text for m in session.messages], session.lost) == (["words"], 2)


def test_keys_and_control_bytes_do_not_come_along():
    hostile = [
        {"role": "user", "content": f"\x1b]0;title\x07my key {KEY} \x9b2J\x00\ud800"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "x", "function": {"name": "run\x1b[1m", "arguments": json.dumps({"k\x07": [KEY]})}}],
        },
        {"role": "tool", "tool_call_id": "x", "content": f"token={KEY}\r\n\x1b[2J"},
    ]
    session = harmless(
        read_text(json.dumps(hostile).encode(), f"t\x1b[1m {KEY}"),
        redact,
    )
    everything = export_json(SessionRow("a", session.title, "", "", "", "ask", 0, 0, 0, 0, 0, 0), session.messages)
    assert KEY not in everything
    assert "\\u001b" not in everything
    assert "\\u0007" not in everything
    assert "\\u0000" not in everything
    assert "my key" in everything


def test_a_session_is_brought_in_once_and_again_when_it_was_deleted(tmp_path):
    store = Store.open(tmp_path / "state.db")
    session = harmless(read_text(WHOLE, "lines"), same)

    def bring():
        row = SessionRow(os.urandom(16).hex(), session.title, "/w", "", "", "ask", 5.0, 6.0, 0, 0, 0, 0)
        return store.adopt(session.source, row, [replace(m, id=os.urandom(16).hex()) for m in session.messages])

    first, new = bring()
    assert (new, first.title, first.messages, first.turns, first.updated, first.unread) == (
        True,
        "lines",
        4,
        4,
        6.0,
        False,
    )
    assert [m.text for m in store.messages(first.id)] == list(GOOD)
    again, new = bring()
    assert (new, again.id) == (False, first.id)
    store.delete(first.id)
    third, new = bring()
    assert new
    assert third.id != first.id
    store.append(third.id, user("goes on"))
    assert [m.text for m in store.recover(third.id)] == [*GOOD, "goes on"]
    store.close()


def test_a_file_without_a_session_says_so(tmp_path):
    for number, data in enumerate((b"", b"hello\n", b"{}", b"[]", b"\0" * 100)):
        file = tmp_path / str(number)
        file.write_bytes(data)
        with pytest.raises(StoreError) as error:
            read_file(file)
        assert error.value.code == "import_unknown"
    with pytest.raises(StoreError) as error:
        read_file(tmp_path)
    assert error.value.code == "import_unreadable"


# -- Hermes ---------------------------------------------------------------------------------------------------------

HERMES = (Path(__file__).parents[1] / "data" / "hermes_state.sql").read_text("utf-8")


def hermes(folder, script=HERMES, *, wal=False):
    file = folder / "state.db"
    c = sqlite3.connect(file)
    if wal:
        c.execute("PRAGMA journal_mode = WAL")
    c.executescript(script)
    return file, c


def traces(folder):
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in folder.iterdir()
    }


@pytest.mark.parametrize("wal", [False, True])
def test_a_hermes_database_is_read_and_nothing_of_it_or_beside_it_changes(tmp_path, wal):
    file, c = hermes(tmp_path, wal=wal)
    if not wal:
        c.close()
    before = traces(tmp_path)
    assert ("state.db-wal" in before) == wal
    (session,) = read_file(file, same)
    assert traces(tmp_path) == before
    c.close()
    assert (session.source, session.title, session.workspace) == (
        "hermes:20260101_120000_abc",
        "修复时区",
        "/projects/ledger",
    )
    assert (session.model, session.created, session.updated, session.lost) == (
        "hermes-4",
        1767268800.0,
        1767269800.0,
        1,
    )
    assert [m.role for m in session.messages] == ["user", "user", "assistant", "tool", "assistant"]
    old, ask, call, result, answer = session.messages
    assert old.text == "an older question"
    assert (ask.text, ask.parts[0].data, ask.created) == ("修好它", "AAAA", 1767268801.0)
    assert (call.reasoning, call.tool_calls[0].name, call.tool_calls[0].arguments) == (
        "look first",
        "terminal",
        {"command": "ls"},
    )
    assert result.result.call_id == call.tool_calls[0].id
    assert (result.result.name, result.result.effect) == ("terminal", "unknown")
    assert answer.text == "好了"


def test_an_older_hermes_with_fewer_columns_is_read_too(tmp_path):
    file, c = hermes(
        tmp_path,
        "CREATE TABLE sessions (id TEXT, started_at TEXT);"
        "CREATE TABLE messages (session_id TEXT, role TEXT, content TEXT);"
        "INSERT INTO sessions VALUES ('s1', '2026-01-01T12:00:00+00:00');"
        "INSERT INTO messages VALUES ('s1', 'user', 'hello'), ('s1', 'assistant', CAST(x'68ff' AS TEXT));",
    )
    c.close()
    (session,) = read_file(file, same)
    assert [m.text for m in session.messages] == ["hello", "h\ufffd"]
    assert session.created == 1767268800.0


@pytest.mark.parametrize("depth", [200, 600, 100_000])
def test_a_call_nested_too_deeply_is_counted_as_lost_and_the_rest_comes(tmp_path, depth):
    given = '{"a": ' + "[" * depth + "]" * depth + "}"
    deep = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": given}}],
    }
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in ({"role": "user", "content": "hello"}, deep)))
    file, c = hermes(
        tmp_path,
        "CREATE TABLE sessions (id TEXT); CREATE TABLE messages (session_id TEXT, role TEXT, content TEXT, tool_calls);"
        "INSERT INTO sessions VALUES ('s1'); INSERT INTO messages VALUES ('s1', 'user', 'hello', NULL);",
    )
    c.execute("INSERT INTO messages VALUES ('s1', 'assistant', '', ?)", (json.dumps(deep["tool_calls"]),))
    c.execute("INSERT INTO messages VALUES ('s1', 'user', ?, NULL)", ("[{" + "[" * depth,))
    c.commit()
    c.close()
    for source, said in ((lines, ["hello"]), (file, ["hello", "[{" + "[" * depth])):
        (session,) = read_file(source, same)
        assert ([m.text for m in session.messages], session.lost) == (said, 1)


def test_a_pipe_is_no_file_to_import_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    told = []

    def ask():
        with pytest.raises(StoreError) as error:
            read_file(tmp_path / "pipe")
        told.append(error.value.code)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(10)
    assert told == ["import_unreadable"]


def test_other_databases_are_refused_in_words(tmp_path):
    Store.open(tmp_path / "ours.db").close()
    c = sqlite3.connect(tmp_path / "other.db")
    c.execute("CREATE TABLE t (a)")
    c.close()
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    for name, code in (("ours.db", "import_ours"), ("other.db", "import_unknown"), ("broken.db", "import_unreadable")):
        with pytest.raises(StoreError) as error:
            read_file(tmp_path / name)
        assert error.value.code == code


def test_every_form_is_written(tmp_path):
    row = stored_row(tmp_path)
    assert export("markdown", row, CONVERSATION).startswith("# Dates")
    assert export("html", row, CONVERSATION).startswith("<!DOCTYPE html>")
    assert json.loads(export("json", row, CONVERSATION))["format"] == "nanoherm-tui/session"
    assert isinstance(json.loads(export("nanohermes", row, [*CONVERSATION, Message("assistant", "x")])), list)
