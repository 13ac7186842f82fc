"""What narrows a search down: as it is typed, and in the database, before the best hits are chosen."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core import limits, messages
from agent_core.messages import Message, ShellRun, ToolResult, shell, tool, user
from agent_core.search_filters import Asked, Filters, put, read
from agent_core.store.passages import Passage, snippet
from agent_core.store.query import parse
from agent_core.store.search import Search
from agent_core.store.sessions import Store
from agent_core.store.usage import Booking
from tests.rows import each_row

TODAY = date(2026, 3, 10)


def day(year, month, number):
    return time.mktime((year, month, number, 0, 0, 0, 0, 0, -1))


@each_row(
    ("typed", "asked"),
    [
        ("修复 时区", Asked("修复 时区")),
        ("时区 in:here", Asked("时区", Filters("/w"), (("in", "here"),))),
        ("in:ledger 时区", Asked("时区", Filters(folder="ledger"), (("in", "ledger"),))),
        ("a IN:here in:all-of-it b", Asked("a b", Filters(folder="all-of-it"), (("in", "all-of-it"),))),
        ('in:"my folder" x', Asked("x", Filters(folder="my folder"), (("in", "my folder"),))),
        ("in:/srv/app/ x", Asked("x", Filters(folder="/srv/app"), (("in", "/srv/app/"),))),
        ("x model:qwen", Asked("x", Filters(model="qwen"), (("model", "qwen"),))),
        ("model：通义 x", Asked("x", Filters(model="通义"), (("model", "通义"),))),
        ("since:7d x", Asked("x", Filters(since=day(2026, 3, 4)), (("since", "7d"),))),
        ("since:today x", Asked("x", Filters(since=day(2026, 3, 10)), (("since", "today"),))),
        ("since:yesterday x", Asked("x", Filters(since=day(2026, 3, 9)), (("since", "yesterday"),))),
        ("since:2026-01 before:2026-02-03 x",
         Asked("x", Filters(since=day(2026, 1, 1), before=day(2026, 2, 3)),
               (("since", "2026-01"), ("before", "2026-02-03")))),
        ("before:2025 x", Asked("x", Filters(before=day(2025, 1, 1)), (("before", "2025"),))),
        ("by:TOOL x", Asked("x", Filters(who="tool"), (("by", "TOOL"),))),
        # Half typed, wrong, or meant as words.
        ("x since:", Asked("x")),
        ("x since:2026-1-", Asked("x", unread=("since:2026-1-",))),
        ("x since:2026-02-31", Asked("x", unread=("since:2026-02-31",))),
        ("x since:9999y", Asked("x", unread=("since:9999y",))),
        ("x by:somebody", Asked("x", unread=("by:somebody",))),
        ('"model:qwen" x', Asked('"model:qwen" x')),
        ('"a model:qwen', Asked('"a model:qwen')),
        ("begin:here http://in:80 x", Asked("begin:here http://in:80 x")),
    ],
)  # fmt: skip
def test_words_with_a_colon_narrow_down_and_all_others_are_looked_for(typed, asked):
    assert read(typed, "/w", TODAY) == asked


@each_row(
    ("text", "key", "value", "after"),
    [
        ("时区", "in", "here", "时区 in:here"),
        ("时区 in:here 测试", "in", "", "时区 测试"),
        ("in:here 时区", "in", "my app", '时区 in:"my app"'),
        ("", "since", "7d", "since:7d"),
        ("since:7d", "since", "", ""),
        ('"in:here" x', "in", "there", '"in:here" x in:there'),
    ],
)
def test_a_filter_is_put_into_what_is_typed_in_the_place_of_another(text, key, value, after):
    assert put(text, key, value) == after
    assert put(after, key, value) == after


@given(st.text(st.characters(exclude_categories=("C", "Z"), include_characters=' "“”\\:/'), min_size=1, max_size=20))
def test_whatever_a_folder_is_called_what_is_put_is_read_back(name):
    name = name.strip()
    asked = read(put("a b", "in", name))
    assert (asked.words, asked.typed) == ("a b", (("in", name),) if name else ())


@pytest.fixture(scope="module")
def desk(tmp_path_factory, dictionary):
    """Sessions in two folders with two models, and a message of every kind and age, all with the word marmalade."""
    folder = tmp_path_factory.mktemp("filters")
    store = Store.open(folder / "state.db")
    app = store.create("/srv/app", title="one", model="qwen3-coder").id
    old = store.create("/srv/app-old/App", title="marmalade two", model="deepseek-v3").id
    store.costs.book(old, Booking("Qwen-Max", messages.Usage(1, 1, 2), None))
    talk = {
        "asked": replace(user("marmalade asked"), created=day(2026, 3, 10)),
        "said": replace(Message("assistant", "marmalade said"), created=day(2026, 3, 4)),
        "done": replace(tool(ToolResult("c1", "read_file", "marmalade done")), created=day(2026, 1, 2)),
        "own": replace(shell(ShellRun("echo", ToolResult("s1", "shell", "marmalade own"))), created=day(2025, 5, 5)),
    }
    for message in talk.values():
        store.append(app, message)
    other = replace(user("marmalade other"), created=day(2026, 3, 9))
    store.append(old, other)
    search = Search(store, folder / "cache" / "search.db", dictionary)
    yield search, {message.id: name for name, message in {**talk, "other": other}.items()} | {"": "title"}
    search.close()
    store.close()


EVERYTHING = {"asked", "said", "done", "own", "other", "title"}


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("", EVERYTHING),
        ("in:here", {"asked", "said", "done", "own"}),
        ("in:/srv/app", {"asked", "said", "done", "own"}),
        ("in:APP", EVERYTHING),
        ("in:/srv", EVERYTHING),
        ("in:app-old/", set()),
        ("in:app-old/app", {"other", "title"}),
        ("model:QWEN3", {"asked", "said", "done", "own"}),
        ("model:max", {"other", "title"}),
        ("model:qwen", EVERYTHING),
        ("model:gpt", set()),
        ("since:2026-03-04 before:2026-03-10", {"said", "other"}),
        ("before:2026", {"own"}),
        ("by:user", {"asked", "other"}),
        ("by:model", {"said"}),
        ("by:tool", {"done", "own"}),
        ("by:user in:here since:2026-03-10", {"asked"}),
    ],
)
def test_only_what_fits_is_found_and_counted(desk, typed, names):
    search, named = desk
    asked = read(f"marmalade {typed}", "/srv/app", TODAY)
    found = search.find(asked.words, wait=30.0, filters=asked.filters, count=True)
    assert {named[hit.message_uid] for hit in found.hits} == names
    assert (found.total, found.is_more) == (len(names), False)


def test_what_fits_is_found_behind_any_number_of_better_hits_and_the_rest_is_counted(tmp_path, monkeypatch, dictionary):
    monkeypatch.setattr(limits, "SEARCH_CANDIDATES", 5)
    store = Store.open(tmp_path / "state.db")
    search = Search(store, tmp_path / "search.db", dictionary)
    try:
        session = store.create("/w").id
        for _ in range(12):
            store.append(session, replace(user("plum"), created=day(2026, 3, 9)))
        late = replace(user("plum " + "and much else " * 40), created=day(2026, 3, 10))
        store.append(session, late)
        found = search.find("plum", wait=30.0, filters=read("since:today", "", TODAY).filters, limit=3, count=True)
        assert [hit.message_uid for hit in found.hits] == [late.id]
        assert found.total == 1
        found = search.find("plum", limit=3, count=True)
        assert (len(found.hits), found.total, found.is_more) == (3, 13, False)
        monkeypatch.setattr(limits, "SEARCH_COUNTED", 8)
        found = search.find("plum", limit=3, count=True)
        assert (found.total, found.is_more) == (8, True)
        store.reset(session)
        assert search.find("plum", wait=30.0, count=True).total == 0
    finally:
        search.close()
        store.close()


@pytest.mark.parametrize(
    ("text", "query", "around", "marked"),
    [
        ("one\ntwo\nthree\nhit here\nfive\nsix\nseven", "hit", "two\nthree\nhit here\nfive\nsix", ["hit"]),
        ("def f():\n\tgo\x1b[2J()\n    时区偏移", "时区", "def f():\n    go[2J()\n    时区偏移", ["时区"]),
        ("hit and hit", "hit", "hit and hit", ["hit", "hit"]),
        ("nothing", "hit", "", []),
    ],
)
def test_the_lines_around_a_hit_come_as_they_stand_there(text, query, around, marked):
    shown = snippet([Passage("user", text)], parse(query, lambda runs: None).needles)
    if around:
        assert shown.around == around
    assert [shown.around[start:end] for start, end in shown.around_marks] == marked


def test_a_long_line_is_cut_around_its_hit():
    shown = snippet([Passage("user", "x" * 5_000 + "\n" + "y" * 5_000 + " hit " + "z" * 5_000)],
                    parse("hit", lambda runs: None).needles)  # fmt: skip
    assert len(shown.around) <= 2 * limits.SEARCH_AROUND
    assert [shown.around[start:end] for start, end in shown.around_marks] == ["hit"]
