"""The dock's context tab, /compact and /context in the whole app."""

from __future__ import annotations

import json

from agent_core import events, intents
from nanoherm_tui.panes.context import item_id
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage

READ = Reply(calls=[("read_file", {"path": "big.py"}), ("read_file", {"path": "small.py"})])
SUMMARY = "# Goal\nMend the parser."


def answers(body, number):
    """Reads two files first, writes a summary when asked to, else answers."""
    if "You write the record" in body["messages"][0]["content"]:
        return Reply(text=SUMMARY)
    return READ if number == 0 else Reply(text=f"Answer {number}.")


def files(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "big.py").write_text("print('a long line')\n" * 400)
    (tmp_path / "work" / "small.py").write_text("print('x')\n" * 100)


def rows(dock):
    return [dock.render_line(y).text.strip("▐ ") for y in range(dock.size.height)]


async def ask(stage, text):
    before = sum(e.kind == "answer" for e in stage.app.view.model.entries)
    stage.app.composer.focus()
    await stage.type(text)
    answered = lambda: sum(e.kind == "answer" for e in stage.app.view.model.entries) > before  # noqa: E731
    await stage.until(lambda: stage.state == "idle" and answered())


async def test_what_fills_the_window_is_shown_dropped_pinned_given_back_and_opened_by_keys(tmp_path):
    files(tmp_path)
    async with Stage(tmp_path, answers, size=(200, 60), **{"model.context_length": 32_000}) as stage:
        app, dock = stage.app, stage.app.dock
        await ask(stage, "look at both")
        await stage.type("/context")
        await stage.until(lambda: dock.report is not None and dock.cursor is not None)
        assert dock.has_focus
        assert "of 32,000 tokens" in rows(dock)[2]
        assert "big.py" in rows(dock)[dock.cursor + 2]
        total = dock.report.total
        sent = len(stage._server.requests)
        await stage.pilot.press("d")
        await stage.until(lambda: dock.report.items[0].view == "dropped")
        gain = dock.report.items[0].gain
        assert dock.report.total == total - gain
        assert f"You dropped 1 message: ~{gain:,} tokens fewer than ~{total:,}." in rows(dock)
        assert "dropped" in rows(dock)[dock.cursor + 2]
        await stage.pilot.press("j", "p")
        await stage.until(lambda: dock.report.items[1].view == "pinned")
        assert item_id(dock.cursor_key) == dock.report.items[1].message_id, "the cursor stays at what it was at"
        assert len(stage._server.requests) == sent, "no model is asked for that"
        await ask(stage, "go on")
        assert "go on" in str(stage._server.requests[-1]["messages"])
        contents = [m["content"] for m in stage._server.requests[-1]["messages"] if m["role"] == "tool"]
        assert "The user took this result out" in contents[0]
        assert "print('x')" in contents[1]
        await stage.type("/context")
        await stage.pilot.press("g", "u")
        await stage.until(lambda: dock.report.items[0].view == "")
        await stage.pilot.press("enter")
        await stage.until(lambda: dock.tab == "result")
        assert "print('a long line')" in "\n".join(rows(dock))
        assert app.view.session.context().items[0].view == ""


async def test_the_window_is_told_before_the_first_request(tmp_path):
    async with Stage(tmp_path, answers, **{"model.context_length": 32_000}) as stage:
        await stage.type("/context")
        await stage.until(lambda: stage.app.dock.report is not None)
        assert "of 32,000 tokens" in rows(stage.app.dock)[2]


async def test_it_follows_what_happens_while_it_is_in_front(tmp_path):
    files(tmp_path)
    async with Stage(tmp_path, answers) as stage:
        dock = stage.app.dock
        await stage.type("/context")
        await stage.until(lambda: dock.report is not None)
        assert "the model's window is not known" in " ".join(rows(dock)[2:4])
        await ask(stage, "look at both")
        await stage.until(lambda: len(dock.report.items) == 5)
        await stage.pilot.press("ctrl+n")
        await stage.until(lambda: dock.report is not None and dock.report.items == ())


async def test_nothing_is_done_to_a_message_that_is_out_of_sight(tmp_path):
    files(tmp_path)
    async with Stage(tmp_path, answers, size=(60, 12)) as stage:
        dock = stage.app.dock
        await ask(stage, "look at both")
        await stage.type("/context")
        await stage.until(lambda: dock.report is not None and dock.cursor is not None)
        assert dock.cursor >= dock.view_height
        await stage.pilot.press("d")
        await stage.pilot.pause(0.1)
        assert {item.view for item in dock.report.items} == {""}
        assert dock.top <= dock.cursor < dock.top + dock.view_height, "it came into view instead"
        await stage.pilot.press("d")
        await stage.until(lambda: dock.report.items[0].view == "dropped")


async def test_a_compaction_is_a_quiet_row_and_the_context_is_unknown_until_the_next_reply(tmp_path):
    files(tmp_path)
    async with Stage(tmp_path, answers, **{"model.context_length": 32_000}) as stage:
        for n in range(6):
            await ask(stage, f"question {n}")
        assert stage.app.view.context_percent is not None
        await stage.type("/compact the parser")
        await stage.until(lambda: "became a summary" in stage.transcript())
        await stage.until(lambda: stage.state == "idle")
        assert stage.app.view.context_percent is None
        asked = next(r for r in stage._server.requests if "You write the record" in json.dumps(r))
        assert asked["messages"][1]["content"].endswith("the parser")
        shown = stage.transcript()
        await ask(stage, "after it")
        assert stage.app.view.context_percent is not None
        assert SUMMARY in stage._server.requests[-1]["messages"][1]["content"]
        assert shown.splitlines()[-1] in stage.transcript()
        view = stage.app.view
        messages = stage.host.store.messages(view.id)
        view.model.apply(events.HistoryChanged(tuple(messages)))
        row = next(e for e in view.model.entries if e.summary)
        assert row.text == SUMMARY
        assert not stage._server.violations


async def test_while_a_turn_runs_a_compaction_is_said_to_come_with_the_next_step(tmp_path):
    async with Stage(tmp_path, [Reply(text="slow", hang=60)]) as stage:
        await stage.type("go")
        await stage.until(lambda: stage.state == "running")
        await stage.type("/compact")
        await stage.until(lambda: "Compacts at the next step." in stage.app.status.render_line(0).text)
        stage.app.view.session.send(intents.Interrupt())
        await stage.until(lambda: stage.state == "idle")


async def test_a_message_that_saves_nothing_can_be_dropped_and_says_only_that(tmp_path):
    async with Stage(tmp_path, [Reply(text="ok")]) as stage:
        dock = stage.app.dock
        await ask(stage, "hi")
        await stage.type("/context")
        await stage.until(lambda: dock.report is not None and dock.cursor is not None)
        foot = rows(dock)[-1]
        assert "d drop" in foot
        assert "saves" not in foot
        await stage.pilot.press("d")
        await stage.until(lambda: any(row.endswith("dropped") for row in rows(dock)))


async def test_too_little_to_compact_is_said(tmp_path):
    files(tmp_path)
    async with Stage(tmp_path, answers) as stage:
        stage.app.view.session.send(intents.Compact())
        await stage.until(lambda: "too short to compact" in stage.transcript())
        assert stage.state == "idle"
