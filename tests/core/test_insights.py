"""What was used over days: every figure is the one that plain SQL gives, and the lines say it."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from datetime import date, timedelta

import pytest

from agent_core.messages import USAGE_FIELDS, Message, ToolCall, ToolResult, Usage, usage_to_json, user
from agent_core.mind.budget import Budget
from agent_core.mind.meter import SessionUsage
from agent_core.store.insights import insights
from agent_core.store.sessions import Store
from agent_core.store.usage import FORK, Booking, Costs
from nanoherm_tui import symbols
from nanoherm_tui.i18n import set_language, texts
from nanoherm_tui.panes.context import context_rows
from nanoherm_tui.subcommands import insights as command
from nanoherm_tui.text import Cost, count, money
from nanoherm_tui.words.context import plain_context
from nanoherm_tui.words.insights import insight_lines
from nanoherm_tui.words.usage import table
from tests.core.session_support import Table, call, say

DAY = 86_400.0


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "state.db")
    yield store
    store.close()


@pytest.fixture
def english():
    set_language("en")
    yield
    set_language()


def noon(days_ago: int) -> float:
    return time.mktime((date.today() - timedelta(days=days_ago)).timetuple()) + 12 * 3600


def day(days_ago: int) -> str:
    return (date.today() - timedelta(days=days_ago)).isoformat()


def sql(store, query, *values):
    with store.database.read() as c:
        return c.execute(query, values).fetchall()


def change(store, query, *values):
    store.database.write(lambda c: c.execute(query, values))


def test_sums_are_those_of_the_database_whoever_used_it(store):
    """Random requests of sessions, their sub-agents and forks, some long ago, some of deleted ones."""
    dice = random.Random(7)
    made = []
    for _ in range(40):
        session = store.create(dice.choice(["/w", "/other"])).id
        source = dice.choice(["", "", "child", FORK]) if made else ""
        parent = dice.choice(made) if source else None
        for _ in range(dice.randrange(4)):
            usage = Usage(*(dice.choice([None, dice.randrange(10**6)]) for _ in range(6)))
            model = dice.choice(["a", "b", "c/d"])
            costs = Costs(store.database, lambda: noon(dice.choice([0, 1, 6, 7, 8, 29, 30, 40])))
            costs.book(session, Booking(model, usage, dice.choice([None, dice.random()])), dice.random() * 90)
            costs.add_seconds(session, 1.5)
        change(
            store,
            "UPDATE sessions SET source = ?, parent_session_id = ?, updated = ?, deleted_at = ? WHERE id = ?",
            source, parent, noon(dice.choice([0, 3, 6, 7, 8, 40])), dice.choice([None, None, 1.0]), session,
        )  # fmt: skip
        made.append(session)
    for days, since in ((0, ""), (7, day(6)), (30, day(29)), (1, day(0))):
        found = insights(store.database, days)
        used = "FROM session_day_usage u WHERE u.day >= ?"
        sums = "sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(requests), sum(unpriced_requests)"
        [(sent, got, cached, requests, unpriced, cost)] = sql(
            store, f"SELECT {sums.replace('sum(', 'sum(u.')}, sum(u.estimated_cost_usd) {used}", since
        )
        spent = found.spent
        assert (spent.usage.prompt_tokens, spent.usage.completion_tokens, spent.usage.cached_tokens) == (
            sent,
            got,
            cached,
        )
        assert spent.requests == requests
        assert sum(model.unpriced for model in spent.models) == unpriced
        assert spent.cost == pytest.approx(cost)
        assert {m.model: m.requests for m in spent.models} == dict(
            sql(store, f"SELECT u.model, sum(u.requests) {used} GROUP BY u.model", since)
        )
        [(seconds,)] = sql(
            store,
            "SELECT sum(d.run_seconds) FROM session_day_time d JOIN sessions s ON s.id = d.session_id "
            "WHERE s.source != 'child' AND d.day >= ?",
            since,
        )
        assert spent.seconds == pytest.approx(seconds)
        assert sum(one.tokens for one in found.by_day) == (sent or 0) + (got or 0)
        assert sum(one.cost for one in found.by_day) == pytest.approx(cost)
        assert sum(one.prompt for one in found.by_day) == (sent or 0)
        assert sum(one.cached for one in found.by_day) == (cached or 0)
        assert sum(folder.tokens for folder in found.folders) == (sent or 0) + (got or 0)
        assert sum(folder.cost for folder in found.folders) == pytest.approx(cost)
        assert sum(folder.unpriced for folder in found.folders) == unpriced
        assert {folder.folder: folder.sessions for folder in found.folders} == dict(
            sql(
                store,
                "SELECT s.workspace, count(DISTINCT CASE WHEN s.source != 'child' THEN s.id END) "
                "FROM session_day_usage u JOIN sessions s ON s.id = u.session_id WHERE u.day >= ? GROUP BY 1",
                since,
            )
        )
    # The days of a session are its sums, and a window that holds them all tells the same as they do.
    fields = ("requests", "unpriced_requests", "estimated_cost_usd", *USAGE_FIELDS)
    sums = ", ".join(f"sum({field})" for field in fields)
    rows = [
        sql(store, f"SELECT session_id, model, {sums} FROM {table} GROUP BY session_id, model ORDER BY 1, 2")
        for table in ("session_day_usage", "session_model_usage")
    ]
    assert len(rows[0]) > 30
    assert [row[:4] + row[5:] for row in rows[0]] == [row[:4] + row[5:] for row in rows[1]]
    assert [row[4] for row in rows[0]] == pytest.approx([row[4] for row in rows[1]])
    ran = "SELECT session_id, sum(run_seconds) FROM session_day_time GROUP BY 1"
    assert dict(sql(store, ran)) == pytest.approx(
        dict(sql(store, "SELECT id, run_seconds FROM sessions WHERE run_seconds > 0"))
    )
    assert insights(store.database, 41).spent == insights(store.database).spent


def test_what_a_session_used_on_two_days_counts_on_each_of_them(store):
    session = store.create("/w").id
    for ago, tokens in ((3, 100), (0, 7)):
        Costs(store.database, lambda: noon(ago)).book(session, Booking("m", Usage(tokens, 1), 0.25), 60.0)  # noqa: B023
    found = insights(store.database, 7)
    assert [(one.tokens, one.cost) for one in found.by_day] == [(101, 0.25), (0, 0.0), (0, 0.0), (8, 0.25)]
    assert (found.spent.tokens, found.spent.cost, found.spent.seconds, found.sessions) == (109, 0.5, 120.0, 1)
    today = insights(store.database, 1).spent
    assert (today.tokens, today.cost, today.seconds, today.requests) == (8, 0.25, 60.0, 1)


def test_what_a_session_shows_and_what_all_show_agree(store):
    """The usage of the only tree of sessions is the usage of everything."""
    root = store.create("/w").id
    child = store.create("/w").id
    change(store, "UPDATE sessions SET source = 'child', parent_session_id = ? WHERE id = ?", root, child)
    store.costs.book(root, Booking("a", Usage(10, 5), 0.5), 3.0)
    store.costs.book(child, Booking("a", Usage(7, 1), None), 2.0)
    store.costs.book(child, Booking("b", Usage(1, 1), 0.1))
    ours, all_ = store.costs.spent(root), insights(store.database).spent
    assert set(ours.models) == set(all_.models)
    assert (ours.tokens, ours.cost, ours.seconds, ours.is_partial) == (25, pytest.approx(0.6), 3.0, True)
    assert (all_.tokens, all_.cost, all_.seconds, all_.is_partial) == (25, pytest.approx(0.6), 3.0, True)


def test_usage_context_and_insights_tell_of_a_session_what_the_database_sums(tmp_path, english):
    """Three requests of a real session: one that calls a tool, two answers, on one of which the server is silent."""
    looks = replace(call(("list_dir", {"path": "."})), usage=Usage(1_200, 30, 1_230))
    table_ = Table(tmp_path, looks, say("one", Usage(1_300, 40, 1_340, 900, 8)), say("two"))
    table_.turn("What is here?")
    table_.turn("And now?", count=2)
    store, session = table_.store, table_.session
    last = (
        "SELECT json_extract(body, '$.usage') FROM messages WHERE role = 'assistant' AND position IS NOT NULL {} DESC"
    )
    counted = [json.loads(u) for (u,) in sql(store, last.format("ORDER BY position")) if u is not None]
    sums = "sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(reasoning_tokens), sum(requests)"
    [figures] = sql(store, f"SELECT {sums} FROM session_model_usage WHERE session_id = ?", session.id)
    # What is booked is what the answers say.
    assert figures == (2_500, 70, 900, 8, 3)
    assert figures[0] == sum(one["prompt_tokens"] for one in counted)
    for spent in (store.costs.spent(session.id), insights(store.database, 1).spent):
        used = spent.usage
        told = (used.prompt_tokens, used.completion_tokens, used.cached_tokens, used.reasoning_tokens, spent.requests)
        assert told == figures
    [line] = table(SessionUsage(store.costs.spent(session.id), Budget()))
    assert (line["requests"], line["in"], line["cached"]) == ("3", count(figures[0]), count(figures[2]))
    assert ["in", count(figures[0])] in [row.split() for row in insight_lines(insights(store.database, 1))]
    # /context: the newest figures of the server are the newest that are stored; messages are those that are stored.
    report = session.context()
    assert usage_to_json(report.counted) == counted[0]
    assert report.messages == sql(store, "SELECT count(*) FROM messages WHERE position IS NOT NULL")[0][0]
    shown = [row.left[0].text for row in context_rows(report, 80) if isinstance(row.left, tuple) and row.left]
    assert "The server counted 1,300 tokens for the last answer, 900 of them cached." in shown
    assert "counted 1,300" in plain_context(report)
    assert report.total == sum(part.tokens for part in report.parts)
    session.close()


def turn(store, session, when, *results, origin="", booked=True):
    if booked:
        Costs(store.database, lambda: when).book(session, Booking("m", Usage(100, 10), None))
    store.append(session, Message("user", "do it", created=when, origin=origin))
    calls = tuple(ToolCall(f"{when}-{n}", name, {}) for n, (name, _) in enumerate(results))
    store.append(session, Message("assistant", "x", created=when, tool_calls=calls, usage=Usage(100, 10)))
    for one, (name, ok) in zip(calls, results, strict=True):
        result = ToolResult(one.id, name, "told", ok)
        store.append(session, Message("tool", "told", created=when, result=result))


def test_days_hours_and_tools_count_each_message_once_though_a_fork_copied_it(store):
    session = store.create("/w").id
    turn(store, session, noon(3), ("grep", True), ("run_command", False))
    turn(store, session, noon(1), ("run_command", True))
    turn(store, session, noon(1) + 3600, origin="queue")
    store.append(session, user("steer", origin="steer"))
    store.fork(session)
    found = insights(store.database, 7)
    assert [(one.turns, one.tokens) for one in found.by_day] == [(1, 110), (0, 0), (2, 220), (0, 0)]
    assert found.by_day[-1].day == date.today().isoformat()
    assert (found.turns, found.by_hour[12], found.by_hour[13], sum(found.by_hour)) == (3, 2, 1, 3)
    assert [(one.name, one.calls, one.failed) for one in found.tools] == [("run_command", 2, 1), ("grep", 1, 0)]
    assert [one.turns for one in insights(store.database, 2).by_day] == [2, 0]
    assert insights(store.database, 1).turns == 0


def test_a_spoiled_message_spoils_no_sum(store):
    session = store.create("/w").id
    turn(store, session, noon(0), ("grep", True))
    change(store, "UPDATE messages SET body = '{nonsense' WHERE role = 'assistant'")
    found = insights(store.database)
    assert [(one.turns, one.tokens) for one in found.by_day] == [(1, 110)]
    assert found.tools[0].name == "grep"


def test_the_lines_say_the_figures(store, english):
    session = store.create("/w").id
    turn(store, session, noon(0), ("grep", True), ("grep", False), booked=False)
    store.costs.book(session, Booking("a/b", Usage(123_456, 789, cached_tokens=456), 1.25), 75.0)
    store.costs.book(session, Booking("dear", Usage(1, 1), None))
    symbols.set_ascii(True)
    lines = insight_lines(insights(store.database, 7))
    symbols.set_ascii(None)
    rows = [line.split() for line in lines]
    assert lines[0] == "The last 7 days"
    assert ["in", count(123_457)] in rows
    assert ["cost", money(Cost(1.25, at_least=True))] in rows
    assert "The price of 1 requests is not known: it cost more." in lines
    assert ["a/b", "1", "123k", "456", "789", "$1.25"] in rows
    assert ["dear", "1", "1", "?", "1", "$?"] in rows
    assert ["grep", "2", "1", "50%"] in rows
    assert [date.today().isoformat(), "1", count(123_457 + 790), "|" * 16] in rows
    assert "By day (tokens in and out)" in lines
    assert ["12:00", "1", "|" * 16] in rows


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_used_is_said_in_both_languages(store, language):
    set_language(language)
    assert insight_lines(insights(store.database, 3))[-1] == texts(language)["insights.nothing"]
    set_language()


def test_the_command_prints_lines_or_json(tmp_path, monkeypatch, capsys, english):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NANOHERMES_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".nanohermes").mkdir()
    store = Store.open(tmp_path / ".nanohermes" / "state.db")
    store.costs.book(store.create("/w").id, Booking("m", Usage(10, 5), 0.5))
    store.close()
    assert command.main(["--json", "--days", "7"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tokens"], told["cost"], told["at_least"], told["sessions"]) == (15, 0.5, False, 1)
    assert command.main([]) == 0
    assert "All that is stored" in capsys.readouterr().out


def test_what_a_session_shows_is_the_sum_over_its_children_and_never_over_forks(store, english):
    """Random trees: the figures of the table, model by model, are those of plain SQL over the sessions that count."""
    dice = random.Random(11)
    parents: dict[str, tuple[str, str]] = {}
    for _ in range(30):
        session = store.create("/w").id
        parents[session] = (dice.choice(list(parents)), dice.choice(["child", "child", FORK])) if parents else ("", "")
        change(store, "UPDATE sessions SET parent_session_id = ?, source = ? WHERE id = ?", *parents[session], session)
        for _ in range(dice.randrange(4)):
            usage = Usage(*(dice.choice([None, dice.randrange(10**4)]) for _ in range(6)))
            store.costs.book(session, Booking(dice.choice("ab"), usage, dice.choice([None, dice.random()])))

    def chain(session, root):
        """`session` is `root`, or a sub-agent of it at any depth."""
        if session == root:
            return True
        parent, source = parents[session]
        return bool(parent) and source != FORK and chain(parent, root)

    for root in parents:
        tree = [session for session in parents if chain(session, root)]
        marks = ", ".join("?" * len(tree))
        wanted = sql(
            store,
            "SELECT model, sum(requests), sum(prompt_tokens), sum(cached_tokens), sum(unpriced_requests), "
            f"sum(estimated_cost_usd) FROM session_model_usage WHERE session_id IN ({marks}) "
            "GROUP BY model ORDER BY model",
            *tree,
        )
        lines = table(SessionUsage(store.costs.spent(root), Budget()))
        shown = [(line["model"], line["requests"], line["in"], line["cached"], line["cost"]) for line in lines]
        assert shown[: len(wanted)] == [
            (
                model,
                str(requests),
                "?" if sent is None else count(sent),
                "?" if cached is None else count(cached),
                money(Cost(None if unpriced == requests else cost, bool(unpriced))),
            )
            for model, requests, sent, cached, unpriced, cost in wanted
        ]
        if len(wanted) > 1:
            assert shown[-1][:2] == ("together", str(sum(row[1] for row in wanted)))


def test_sessions_are_counted_by_their_turns_and_sub_agents_and_old_ones_are_left_out(store):
    for turns, days_ago, source in ((0, 0, ""), (1, 0, ""), (3, 0, ""), (2, 9, ""), (4, 0, "child"), (500, 0, FORK)):
        session = store.create("/w").id
        change(store, "UPDATE sessions SET turn_count = ?, updated = ?, source = ? WHERE id = ?",
               turns, noon(days_ago), source, session)  # fmt: skip
    assert insights(store.database, 7).lengths == (1, 1, 0, 0, 0, 0, 1)
    assert insights(store.database).lengths == (1, 2, 0, 0, 0, 0, 1)
