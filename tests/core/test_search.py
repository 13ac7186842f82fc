"""Search over all sessions: what is found, what never is, and that the index says what the database holds."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import zlib
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.knowledge import Memory
from agent_core.memory.recall import Recall, Words
from agent_core.messages import (
    DiffLine,
    FileDiff,
    Hunk,
    Message,
    ShellRun,
    ToolCall,
    ToolResult,
    shell,
    tool,
    user,
)
from agent_core.safety.redact import redact
from agent_core.store import index_child
from agent_core.store import search as search_room
from agent_core.store.children import Birth
from agent_core.store.passages import Passage, passages, snippet
from agent_core.store.query import parse
from agent_core.store.search import Search
from agent_core.store.sessions import Store
from agent_core.text.tokenize import fold, grams, pieces

DIFF = FileDiff(
    "src/dates.py",
    (Hunk(1, 1, (DiffLine("same", "import old", 1, 1), DiffLine("add", "fold_hour = True", None, 2))),),
    1,
    0,
)
TALK = {
    "ask": user("parse_date 丢掉了时区：夏令时那天的对账差一个小时。请修好它，并补上测试。"),
    "answer": Message(
        "assistant",
        "`parseDate` 只取前 19 个字符，这样的时区偏移被丢掉；day_bounds 再按固定的 24 小时推。"
        "上下文压缩 Café in Zürich",
        reasoning="The offset vanishes: think about ambiguity.",
        tool_calls=(ToolCall("c1", "run_command", {"command": "pytest -q -k test_offset", "env": {"TZ": "UTC"}}),),
    ),
    "result": tool(ToolResult("c1", "run_command", "os.path.join HTTPServer GPT4o 2 failed", False, "done")),
    "edit": tool(ToolResult("c2", "edit_file", "changed", diffs=(DIFF,))),
    "other": user("日本語テスト 한국어 검색 ภาษาไทย and straße, naïve; README.zh-CN.md"),
    "own": shell(ShellRun("make wheel", ToolResult("s1", "shell", "exit 0\nbuilt nanoherm wheel"))),
    "secretly": shell(ShellRun("cat diary", ToolResult("s2", "shell", "dear diary"), private=True)),
    "remark": user("the program remarks gibberish", origin="note"),
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A store with one conversation and a search over it, shared: the dictionary takes a second to load."""
    folder = tmp_path_factory.mktemp("search")
    store = Store.open(folder / "state.db")
    session = store.create("/projects/ledger", title="修复月末对账").id
    for message in TALK.values():
        store.append(session, message)
    search = Search(store, folder / "cache" / "search.db", folder / "cache" / "jieba")
    yield search
    search.close()
    store.close()


@pytest.fixture
def room(tmp_path, dictionary):
    """A store and a search of its own."""
    store = Store.open(tmp_path / "state.db")
    search = Search(store, tmp_path / "cache" / "search.db", dictionary, redact)
    yield store, search
    search.close()
    store.close()


def found(search, query, **options):
    """The names in TALK of what is found; "title" for the title."""
    names = {message.id: name for name, message in TALK.items()} | {"": "title"}
    return {names[hit.message_uid] for hit in search.find(query, wait=30.0, **options).hits}


@pytest.mark.parametrize(
    ("query", "where"),
    [
        # Chinese: two characters, one, at a run's end, words that stand apart, more than the dictionary knows.
        ("时区", {"ask", "answer"}),
        ("区", {"ask", "answer"}),
        ("猫", set()),
        ("缩", {"answer"}),
        ("对账", {"ask", "title"}),
        ("上下文压缩", {"answer"}),
        ("下文压", {"answer"}),
        ("丢掉时区", {"ask", "answer"}),
        ("修复对账", {"title"}),
        ("时区 测试", {"ask"}),
        ("时区测试", {"ask"}),
        ('"时区偏移"', {"answer"}),
        ('"时区测试"', set()),
        # Other scripts without blanks.
        ("テスト", {"other"}),
        ("日本語テスト", {"other"}),
        ("한국어", {"other"}),
        ("ภาษา", {"other"}),
        # Latin words: case, accents, width, beginnings; no ends.
        ("PYTEST", {"answer"}),
        ("cafe", {"answer"}),
        ("zurich", {"answer"}),
        ("ｐｙｔｅｓｔ", {"answer"}),
        ("vanish", {"answer"}),
        ("anishes", set()),
        ("straße", {"other"}),
        # Identifiers: by their parts and whole, however they are written.
        ("parse_date", {"ask", "answer"}),
        ("parsedate", {"ask", "answer"}),
        ("parseDate", {"ask", "answer"}),
        ("date parse", {"ask", "answer"}),
        ('"date parse"', set()),
        ("path", {"result"}),
        ("os.path.join", {"result"}),
        ("httpserver", {"result"}),
        ("server", {"result"}),
        ("gpt4o", {"result"}),
        ("test_off", {"answer"}),
        ("zh-cn", {"other"}),
        # All of it, wherever in the message it stands; quoted words together.
        ("offset ambiguity", {"answer"}),
        ("failed vanish", set()),
        ('"2 failed"', {"result"}),
        ('"failed 2"', set()),
        ("“2 failed”", {"result"}),
        # What a tool was given and what it changed, but not what it left as it was.
        ("utc", {"answer"}),
        ("fold_hour", {"edit"}),
        ("dates.py", {"edit"}),
        ("import old", set()),
        # The person's own commands; those that nobody is told of never.
        ("make wheel", {"own"}),
        ("diary", set()),
        ("gibberish", set()),
        # Nothing to look for.
        ("", set()),
        ("  ", set()),
        ('"" * - ( ) : ^ {', set()),
    ],
)
def test_a_query_finds(desk, query, where):
    assert found(desk, query) == where


@pytest.mark.parametrize(
    ("query", "speaker", "call_id", "marked"),
    [
        ("时区", "user", "", ["时区"]),
        ("夏令时 parse", "user", "", ["parse", "夏令时"]),
        ("ambiguity", "thought", "", ["ambiguity"]),
        ("-k test_offset", "run_command", "c1", ["k", "test_offset"]),
        ("failed", "run_command", "c1", ["failed"]),
        ("fold hour", "edit_file", "c2", ["fold", "hour"]),
        ("wheel nanoherm", "shell", "s1", ["wheel", "nanoherm", "wheel"]),
        ("月末", "title", "", ["月末"]),
        ("daybounds", "assistant", "", ["day_bounds"]),
    ],
)
def test_a_hit_says_who_spoke_and_marks_the_words(desk, query, speaker, call_id, marked):
    hits = [hit for hit in desk.find(query, wait=30.0).hits if hit.speaker == speaker]
    assert len(hits) == 1
    hit = hits[0]
    assert hit.call_id == call_id
    assert [hit.snippet[start:end] for start, end in hit.marks] == marked
    assert hit.found == marked[0]
    assert hit.session.workspace == "/projects/ledger"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\"*()^:-+{}AND OR NOT NEAR,时区猫\0'“”")), max_size=40)
)
def test_nothing_that_can_be_typed_is_an_error(text):
    query = parse(text, lambda runs: [list(run) for run in runs])
    if query.match:
        with closing(sqlite3.connect(":memory:")) as c, c:
            c.execute("CREATE VIRTUAL TABLE t USING fts5 (grams, words, content = '', tokenize = 'ascii')")
            c.execute("SELECT rowid FROM t WHERE t MATCH ?", (query.match,)).fetchall()
    row = snippet([Passage("user", text)], query.needles)
    assert all(0 <= start < end <= len(row.text) for start, end in row.marks)
    assert not any(ord(c) < 32 for c in row.text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_folding_keeps_every_character_at_its_place_and_cutting_loses_no_letter(text):
    assert len(fold(text)) == len(text)
    kept = "".join(piece.whole or "".join(gram[0] for gram in grams(piece.text)) for piece in pieces(text))
    letters = "".join(fold(c) for c in text if c.isalnum())
    assert kept == letters or any(not c.isalnum() for c in kept)


def test_the_index_follows_the_conversation(room):
    store, search = room
    session = store.create("/w", title="one").id
    for text in ("alpha first", "beta second"):
        store.append(session, user(text))
        store.append(session, Message("assistant", f"{text} answered"))

    def hits(query):
        return [hit.snippet for hit in search.find(query, wait=30.0).hits]

    assert len(hits("alpha")) == 2
    store.undo(session, 1)
    assert hits("beta") == []
    store.append(session, user("gamma third"))
    assert hits("gamma") == ["gamma third"]
    store.rename(session, "delta title")
    assert hits("delta") == ["delta title"]
    assert hits("one") == []
    copy = store.fork(session).id
    assert {hit.session.id for hit in search.find("alpha", wait=30.0).hits} == {session, copy}
    store.delete(copy)
    assert {hit.session.id for hit in search.find("alpha", wait=30.0).hits} == {session}
    store.restore(copy)
    assert {hit.session.id for hit in search.find("alpha", wait=30.0).hits} == {session, copy}
    store.delete(copy)
    store.purge(time.time() + 1, 0)
    store.reset(session)
    assert hits("alpha") == []
    assert hits("gamma") == []
    assert hits("delta") == ["delta title"]
    index = sqlite3.connect(search._index)
    assert index.execute("SELECT count(*) FROM docs").fetchone() == (1,)
    index.close()


def test_the_index_holds_exactly_what_an_independent_pass_over_the_messages_gives(room):
    store, search = room
    for number in range(3):
        session = store.create("/w", title=f"title {number}").id
        for message in TALK.values():
            store.append(session, message)
    dropped = store.create("/w", title="gone").id
    store.append(dropped, user("words that go"))
    cut = store.create("/w", title="cut off").id
    calls = ToolCall("r", "read_file", {"path": "dropped.py"}), ToolCall("w", "write_file", {"path": "kept.py"})
    store.append(cut, Message("assistant", "two calls", tool_calls=calls))
    search.find("x", wait=30.0)
    assert len(store.recover(cut)[0].tool_calls) == 1, "the message is another one where it stands"
    store.reset(dropped)
    store.append(dropped, user("words that come"))
    with store.database.read() as c:
        assert c.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    search.find("x", wait=30.0)
    # Of each token the rows it is in, and how often: from the messages themselves, then from what FTS5 keeps.
    import jieba

    jieba.setLogLevel(100)
    expected: dict[tuple[str, str], int] = {}
    with store.database.read() as c:
        texts = [
            "\n".join(redact(p.text) for p in passages(index_child.from_json(json.loads(body))))
            for (body,) in c.execute("SELECT body FROM messages")
        ] + [title for (title,) in c.execute("SELECT title FROM sessions")]
    for text in texts:
        for column, words in zip(("grams", "words"), index_child.terms(text, jieba.lcut_for_search), strict=True):
            for word in words.split():
                expected[column, word] = expected.get((column, word), 0) + 1
    index = sqlite3.connect(search._index)
    index.execute("CREATE VIRTUAL TABLE temp.vocab USING fts5vocab (main, messages_fts, col)")
    held = {(column, term): count for term, column, count in index.execute("SELECT term, col, cnt FROM vocab")}
    assert held == expected
    index.close()


def test_an_index_of_another_version_or_a_damaged_one_is_made_anew(room):
    store, search = room
    store.append(store.create("/w").id, user("alpha"))
    assert len(search.find("alpha", wait=30.0).hits) == 1
    search.close()
    for spoil in ("PRAGMA user_version = 99", None):
        if spoil:
            index = sqlite3.connect(search._index)
            index.execute(spoil)
            index.close()
        else:
            search._index.write_bytes(b"no database at all" * 1000)
        again = Search(store, search._index, search._index.parent)
        assert len(again.find("alpha", wait=30.0).hits) == 1
        again.close()


def test_an_index_that_is_spoiled_while_it_is_used_is_made_anew(room):
    store, search = room
    session = store.create("/w").id
    for number in range(200):
        store.append(session, user(f"alpha {number} " + "filler words " * 20))
    assert search.find("alpha", wait=30.0).hits
    search.close()
    with open(search._index, "r+b") as file:
        size = os.path.getsize(search._index)
        for page in range(2, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)
    end = time.monotonic() + 30.0
    while not (hits := search.find("alpha", wait=30.0).hits) and time.monotonic() < end:
        time.sleep(0.05)
    assert len(hits) == limits.SEARCH_HITS


def test_search_answers_while_another_program_holds_the_write_lock(room):
    store, search = room
    session = store.create("/w").id
    store.append(session, user("alpha"))
    other = sqlite3.connect(store.database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert len(search.find("alpha", wait=30.0).hits) == 1
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_two_programs_that_index_at_once_make_one_index(room):
    store, search = room
    session = store.create("/w").id
    for number in range(300):
        store.append(session, user(f"alpha {number}"))
    others = [Search(store, search._index, search._index.parent) for _ in range(2)]
    threads = [threading.Thread(target=one.find, args=("alpha",), kwargs={"wait": 30.0}) for one in (search, *others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in others:
        one.close()
    assert search.find("alpha", wait=30.0).left == 0
    index = sqlite3.connect(search._index)
    rows = index.execute("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'alpha'").fetchone()
    assert rows == (300,)
    index.close()


def test_keys_are_neither_found_nor_shown(room):
    store, search = room
    key = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4f"
    store.append(store.create("/w").id, user(f"my key is {key} and the rest is harmless"))
    assert search.find(key, wait=30.0).hits == ()
    assert search.find("Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4f", wait=30.0).hits == ()
    hits = search.find("harmless", wait=30.0).hits
    assert len(hits) == 1
    assert key not in hits[0].snippet
    index = sqlite3.connect(search._index)
    kept = index.execute("SELECT words FROM docs WHERE words IS NOT NULL").fetchall()
    index.close()
    assert [zlib.decompress(words).split()[:3] for (words,) in kept] == [[b"my", b"key", b"is"]]
    assert b"ab3def6h" not in zlib.decompress(kept[0][0])


def test_a_message_that_cannot_be_read_does_not_stop_the_index(room):
    store, search = room
    session = store.create("/w").id
    store.append(session, user("alpha"))
    store.append(session, user("beta"))
    store.database.write(lambda c: c.execute("UPDATE messages SET body = '{broken' WHERE body LIKE '%alpha%'"))
    assert [hit.snippet for hit in search.find("beta", wait=30.0).hits] == ["beta"]
    assert search.find("alpha", wait=30.0).hits == ()


def test_one_workspace_and_all_but_one_session(room):
    store, search = room
    ids = [store.create(workspace).id for workspace in ("/a", "/b", "/b")]
    for session in ids:
        store.append(session, user("alpha"))
    assert {hit.session.id for hit in search.find("alpha", "/b", wait=30.0).hits} == set(ids[1:])
    assert {hit.session.id for hit in search.find("alpha", leave_out=ids[0], wait=30.0).hits} == set(ids[1:])
    assert len(search.find("alpha", limit=2, wait=30.0).hits) == 2


def test_hits_behind_many_that_are_gone_are_found(room):
    store, search = room
    kept, gone = store.create("/w").id, store.create("/w").id
    store.append(kept, user("alpha and many more words that make this one rank low " * 5))
    for _ in range(limits.SEARCH_CANDIDATES + 50):
        store.append(gone, user("alpha"))
    store.delete(gone)
    assert [hit.session.id for hit in search.find("alpha", wait=60.0).hits] == [kept]


def test_without_fts5_it_says_so_and_the_rest_works(room, monkeypatch):
    store, search = room
    monkeypatch.setattr(search_room, "has_fts5", lambda: False)
    search.warm()
    with pytest.raises(StoreError) as error:
        search.find("alpha")
    assert error.value.code == "search_missing"
    store.append(store.create("/w").id, user("still stored"))


@pytest.mark.parametrize("data", [b"", b"spoiled", b"[\x01\x00\x00\x00N", None], ids=str)
def test_a_cache_of_the_dictionary_that_is_spoiled_is_made_anew(tmp_path, dictionary, data):
    cache = tmp_path / "jieba.cache"
    whole = (dictionary / cache.name).read_bytes()
    cache.write_bytes(whole if data is None else data)
    before = cache.stat().st_ino
    words = index_child.Dictionary(tmp_path).cut("丢掉了时区偏移")
    assert {"丢掉", "时区", "偏移"} <= set(words)
    assert (cache.stat().st_ino == before) == (data is None), "a whole one is used"
    assert cache.read_bytes()[:1] == whole[:1]


def test_an_index_that_cannot_be_made_says_so(tmp_path):
    store = Store.open(tmp_path / "state.db")
    store.append(store.create("/w").id, user("alpha"))
    (tmp_path / "cache").write_text("a file where the folder should be")
    search = Search(store, tmp_path / "cache" / "search.db", tmp_path / "cache" / "jieba")
    with pytest.raises(StoreError) as error:
        search.find("alpha", wait=30.0)
    assert error.value.code == "search_index"
    search.close()
    store.close()


def test_an_index_that_cannot_be_brought_up_to_date_still_finds_and_says_that_it_is_behind(room):
    store, search = room
    session = store.create("/w").id
    store.append(session, user("alpha"))
    assert not search.find("alpha", wait=30.0).behind
    index = sqlite3.connect(search._index, isolation_level=None)
    index.execute("CREATE TRIGGER full BEFORE INSERT ON docs BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    index.close()
    store.append(session, user("beta"))
    found = search.find("beta", wait=30.0)
    assert (found.hits, found.behind) == ((), True)
    assert len(search.find("alpha", wait=30.0).hits) == 1


def test_the_indexing_program_ends_with_its_asker_and_is_started_anew(room):
    store, search = room
    session = store.create("/w").id
    store.append(session, user("alpha"))
    assert len(search.find("alpha", wait=30.0).hits) == 1
    child = search._child._process
    child.kill()
    child.wait()
    store.append(session, user("beta"))
    end = time.monotonic() + 10.0
    while not search.find("beta", wait=10.0).hits and time.monotonic() < end:
        time.sleep(0.02)
    assert len(search.find("beta", wait=10.0).hits) == 1
    second = search._child._process
    assert second.pid != child.pid
    second.stdin.close()
    assert second.wait(10.0) == 0


def test_the_dictionary_also_cuts_for_what_is_remembered(desk):
    words = Words(desk.words, wait=60.0)
    ((found_,), is_whole) = words.of(["上下文压缩在百分之五十触发 and English"])
    assert is_whole
    assert "上下文" in found_
    assert all(len(word) > 1 for word in found_)
    memories = tuple(Memory(text, "fact", text) for text in ("连接 数据 不相干", "数据库连接池的超时"))
    assert Recall(words).find("数据库超时", memories, 5, None)[0].text == "数据库连接池的超时"


def test_what_sub_agents_said_comes_behind_all_else_and_not_at_all_to_a_model(room):
    store, search = room
    parent = store.create("/w", title="parent").id
    child = store.children.begin(parent, Birth("agent-1", "explorer", "Look", "/w", "ask"))
    store.append(child, user("needle needle needle"))
    store.append(parent, user("a long text in which the needle stands once among many other words"))
    found = search.find("needle", wait=30.0).hits
    assert [(hit.session.id, hit.by_agent) for hit in found] == [(parent, False), (child, True)]
    assert [hit.session.id for hit in search.find("needle", limit=1).hits] == [parent]
    assert [hit.session.id for hit in search.find("needle", agents=False).hits] == [parent]
    store.reset(parent)
    assert search.find("needle", wait=30.0).hits == ()


def test_what_one_card_shows_is_one_hit_and_counted_once(room):
    store, search = room
    session = store.create("/w").id
    written = (
        FileDiff("a.py", (Hunk(0, 1, (DiffLine("add", "needle = 1", None, 1),)),), 1, 0),
        FileDiff("b.py", (Hunk(0, 1, (DiffLine("add", "needle = 2", None, 1),)),), 1, 0),
    )
    calls = tuple(
        ToolCall(diff.path, "write_file", {"path": diff.path, "content": diff.hunks[0].lines[0].text})
        for diff in written
    )
    for call in calls:
        store.append(session, Message("assistant", "Written.", tool_calls=(call,)))
    for call, diff in zip(calls, written, strict=True):
        store.append(session, tool(ToolResult(call.id, "write_file", "Created.", diffs=(diff,))))
    found = search.find("needle", wait=30.0, count=True)
    assert sorted(hit.call_id for hit in found.hits) == ["a.py", "b.py"]
    assert (found.total, found.is_more) == (2, False)
    one = search.find("needle", wait=30.0, limit=1, count=True)
    assert len(one.hits) == 1
    assert one.total == 4, "of what is not shown the messages are counted"


def test_who_asks_while_the_index_grows_is_told_how_much_is_left(room):
    store, search = room
    session, slices = store.create("/w").id, 15
    for number in range(slices * limits.SEARCH_SLICE):
        store.append(session, user(f"{number} 夏令时那天的对账差一个小时 alpha beta " * 12))
    first = search._child.ask(sync=True, keys=[])
    told, end = [], time.monotonic() + 60.0
    while "done" not in first.wait(0.01) and time.monotonic() < end:  # each asks anew while the first is not done
        told.append(search.find("alpha", wait=0.1).left)
    known = [left for left in told if left > 1]
    assert len(set(known)) > 1, told
    assert known == sorted(known, reverse=True)
    assert max(known) < slices * limits.SEARCH_SLICE
