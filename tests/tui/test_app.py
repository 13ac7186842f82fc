"""The whole app over a real Host, a real store and a loopback server; only the terminal is Textual's pilot."""

import asyncio
import threading
import time
from itertools import chain, pairwise

import pytest

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.session.mailbox import Mailbox
from nanoherm_tui import interrupt, limits, symbols
from nanoherm_tui.app import NanohermApp
from nanoherm_tui.bridge import Bridge
from nanoherm_tui.desk import Desk
from nanoherm_tui.layout import Layout, Wish, hidden, lay_out, shown
from nanoherm_tui.opening import Start
from nanoherm_tui.remembered import recall, remember
from tests.fakes.model_server import ModelServer, Reply
from tests.rows import each_row


def in_turn(*replies, slow=0):
    """(replies of a server, an event): the one with the number `slow` does not begin before it is set."""
    go_on = threading.Event()

    def reply(body, number):
        if number == slow:
            go_on.wait(60)
        return replies[number]

    return reply, go_on


LONG = "".join(f"Paragraph {n}: 一二三 four five six seven eight nine ten.\n\n" for n in range(240))


def launch(tmp_path, server=None, **overrides):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    env = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    if server is not None:
        env |= {"NANOHERMES_BASE_URL": server.base_url, "NANOHERMES_MODEL": "test-model"}
    return Launch(work, env, overrides, demo=server is None)


def start(host):
    return Start(host.places, host.config, lambda: (host, None))


class Stage:
    """`async with Stage(tmp_path, replies) as stage`: the app running, with what a test needs at hand.

    The screen has all panes and is no larger: what it costs to draw is a third of what a test costs.
    """

    def __init__(self, tmp_path, replies=None, size=(150, 40), **overrides):
        self._server = ModelServer(replies) if replies else None
        self._tmp_path, self._size, self._overrides = tmp_path, size, overrides

    async def __aenter__(self):
        if self._server:
            self._server.__enter__()
        self.host = Host(launch(self._tmp_path, self._server, **self._overrides))
        self.app = NanohermApp(self.start())
        self._test = self.app.run_test(size=self._size)
        self.pilot = await self._test.__aenter__()
        await self.until(lambda: self.app.view is not None and self.app.view.loaded)
        return self

    def start(self):
        return start(self.host)

    async def __aexit__(self, *exc):
        await self._test.__aexit__(*exc)
        self.host.close()
        if self._server:
            self._server.__exit__(*exc)

    async def until(self, condition, seconds=60.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it never came"
            await asyncio.sleep(0.01)

    async def type(self, text):
        self.app.composer.text = text
        await self.pilot.press("enter")

    @property
    def state(self):
        return self.app.view.state

    def transcript(self):
        return "\n".join(line.row.text for line in self.app.transcript.lines)


@pytest.mark.parametrize("still", [True, False], ids=["reduced motion", "running marks"])
async def test_while_an_answer_streams_nothing_but_its_own_block_is_drawn(tmp_path, still):
    symbols.set_reduced_motion(still)
    reply = Reply(text=LONG, piece=20, gap=0.005, held=threading.Event())  # until it is interrupted
    async with Stage(tmp_path, [Reply(text="First answer."), reply], **{"display.reduced_motion": still}) as stage:
        app = stage.app
        await stage.type("one")
        await stage.until(lambda: stage.state == "idle" and app.view.usage.total_tokens)
        app.view.session.send(intents.Submit("two"))  # the pilot's keys wait until a stream is over
        await stage.until(lambda: "Paragraph 3" in stage.transcript())
        await asyncio.sleep(0.3)
        before = (app.sessions_pane.builds, app.dock.builds, app.title_row.paints, app.dock.paints)
        paints = app.sessions_pane.paints
        rendered = dict(app.transcript.stats["renders"])
        syncs, began = app.transcript.stats["syncs"], time.monotonic()
        await stage.until(lambda: app.transcript.stats["syncs"] - syncs > 10)
        assert stage.state == "running"
        assert (app.sessions_pane.builds, app.dock.builds, app.title_row.paints, app.dock.paints) == before
        # A running mark is a row of its own accord, that of a moment ago may be drawn only now; the stream adds none.
        ticks = 0 if still else (time.monotonic() - began) / limits.TICK_SECONDS + 2
        assert app.sessions_pane.paints - paints <= ticks
        again = app.transcript.stats["renders"]
        assert {key: again[key] for key in rendered if again[key] != rendered[key]} == {} or all(
            key[0] == app.view.model.entries[-1].id for key in rendered if again[key] != rendered[key]
        )
        app.view.session.send(intents.Interrupt())
        await stage.until(lambda: stage.state == "idle")


async def test_batches_are_40_ms_apart_but_for_what_is_urgent(tmp_path):
    async with Stage(tmp_path, [Reply(text=LONG[:6_000], piece=10, gap=0.002)]) as stage:
        stage.app.view.session.send(intents.Submit("go"))
        await stage.until(lambda: stage.state == "running")
        await stage.until(lambda: stage.state == "idle", seconds=30)
        times = stage.app.conversations.bridge.batch_times
        assert len(times) > 5
        for (before, _), (now, urgent) in pairwise(times):
            assert urgent or now - before >= limits.BATCH_SECONDS - 0.002


async def test_an_idle_app_has_no_timer_of_the_bridge_and_paints_nothing(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.type("go")
        await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens)
        await stage.pilot.pause(0.3)
        app = stage.app
        counted = (app.transcript.stats["paints"], app.sessions_pane.paints, app.dock.paints, app.status.paints)
        batches = len(app.conversations.bridge.batch_times)
        await asyncio.sleep(0.6)
        assert (app.transcript.stats["paints"], app.sessions_pane.paints, app.dock.paints, app.status.paints) == counted
        assert len(app.conversations.bridge.batch_times) == batches
        assert not app.ticking.runs


async def test_every_mode_and_theme_is_reached_by_keys_and_the_theme_survives(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")], size=(80, 24)) as stage:
        await stage.pilot.press("shift+tab")
        await stage.until(lambda: stage.app.view.mode == "plan")
        themes = {"ansi": "ansi", "high": "high-contrast", "dark": "nanoherm-dark", "light": "nanoherm-light"}
        for typed, theme in themes.items():
            await stage.pilot.press("ctrl+p", *typed, "enter")
            await stage.until(lambda theme=theme: stage.app.theme == theme)
        for mode in ("ask", "plan"):
            await stage.pilot.press("ctrl+p", *f"mode {mode}", "enter")
            await stage.until(lambda mode=mode: stage.app.view.mode == mode)
        await stage.until(lambda: stage.host.config.get("display.theme") == "nanoherm-light")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        assert stage.app.theme == "nanoherm-light"


async def test_a_preview_of_a_theme_goes_when_it_is_not_chosen(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.type("/theme")
        await stage.pilot.press("down")
        await stage.until(lambda: stage.app.theme != "nanoherm-dark")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.theme == "nanoherm-dark")
        assert not stage.app.look.behind


async def test_ctrl_c_closes_an_overlay_and_only_then_speaks_of_quitting(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.pilot.press("f1", "ctrl+c")
        await stage.until(lambda: len(stage.app.screen_stack) == 1)
        await stage.pilot.press("ctrl+c")
        assert "again quits" in stage.app._hint
        await stage.pilot.press("ctrl+c")
        await stage.until(lambda: stage.app.return_value == 0)


async def test_two_sessions_run_at_once_and_the_one_out_of_sight_is_marked_unread(tmp_path):
    reply, go_on = in_turn(Reply(text="A slow one."), Reply(text="A quick one."))
    async with Stage(tmp_path, reply) as stage:
        await stage.type("first")
        first = stage.app.view
        await stage.until(lambda: first.state == "running")
        await stage.pilot.press("ctrl+n")
        await stage.until(lambda: stage.app.view is not first)
        await stage.type("second")
        await stage.until(lambda: "A quick one." in stage.transcript())
        go_on.set()
        await stage.until(lambda: first.state == "idle")
        assert first.unread
        second = stage.app.view
        await stage.type("/resume first")
        await stage.until(lambda: stage.app.view is first)
        assert "A slow one." in stage.transcript()
        assert not first.unread
        # It was in view when it ended.
        assert [item.state for item in stage.app.sessions_pane._items if item.id == second.id] == ["idle"]


async def test_slash_commands_change_the_session(tmp_path):
    async with Stage(tmp_path, [Reply(text="An answer.")]) as stage:
        await stage.type("hello")
        await stage.until(lambda: stage.state == "idle" and "An answer." in stage.transcript())
        await stage.type("/rename 新的标题")
        await stage.until(lambda: stage.app.view.title == "新的标题")
        await stage.type("/export out.md")
        await stage.until((tmp_path / "work" / "out.md").exists)
        assert "An answer." in (tmp_path / "work" / "out.md").read_text()
        await stage.type("/undo")
        await stage.until(lambda: "An answer." not in stage.transcript())
        await stage.type("/mode fast")
        await stage.until(lambda: "No mode fast." in stage.transcript())
        await stage.type("/language zh")
        await stage.pilot.pause(0.1)
        await stage.type("/language en")


async def test_enter_steers_and_tab_queues_while_a_turn_runs(tmp_path):
    reply, go_on = in_turn(Reply(calls=[("list_dir", {"path": "."})]), Reply(text="Steered."), Reply(text="Queued."))
    async with Stage(tmp_path, reply) as stage:
        await stage.type("go")
        await stage.until(lambda: stage.state == "running")
        await stage.type("a steer")
        stage.app.composer.text = "a queued one"
        await stage.pilot.press("tab")
        await stage.until(lambda: stage.app.view.steers == ("a steer",) and stage.app.view.queued == ("a queued one",))
        go_on.set()
        await stage.until(lambda: "Queued." in stage.transcript())
        shown = stage.transcript()
        assert shown.index("a steer") < shown.index("Steered.") < shown.index("a queued one")


EARLY = {
    "a message": (["early"], ["early"], ""),
    "two messages": (["one", "two"], ["one\n\ntwo"], ""),
    "a command": (["/rename Early"], [], "/rename Early"),
    "a command of the shell": (["!ls"], [], "!ls"),
}


@pytest.mark.parametrize(("typed", "sent", "draft"), EARLY.values(), ids=EARLY)
async def test_what_is_sent_before_the_first_session_is_ready_is_not_lost(tmp_path, typed, sent, draft):
    opened = threading.Event()
    with ModelServer([Reply(text="Answered.")]) as server:
        host = Host(launch(tmp_path, server))
        app = NanohermApp(Start(host.places, host.config, lambda: opened.wait(10) and (host, None)))
        async with app.run_test(size=(120, 36)) as pilot:
            for text in typed:
                app.composer.text = text
                await pilot.press("enter")
            opened.set()
            end = time.monotonic() + 10
            while not (app.view and app.view.loaded and (not sent or server.requests)):
                assert time.monotonic() < end, "it never came"
                await asyncio.sleep(0.02)
            await pilot.pause(0.1)
            assert [m["content"] for request in server.requests for m in request["messages"][1:2]] == sent
            assert app.composer.text == draft
        host.close()


class Letters:
    """Stands for a session: its mailbox holds what a test puts into it."""

    id = "s"

    def __init__(self):
        self.mailbox = Mailbox()

    def put(self, *happened):
        for event in happened:
            self.mailbox.put(events.Envelope(self.id, 1, 0.0, event))


async def test_the_bridge_joins_what_comes_within_40_ms_and_hands_urgent_things_on_at_once():
    batches = []
    bridge = Bridge(asyncio.get_running_loop(), lambda batch: batches.append([e.event for e in batch]), batches.append)
    bridge.interval = 60.0  # over before no look of this test, however busy the machine is
    session = Letters()
    bridge.watch(session)
    session.put(events.TextDelta("a"), events.TextDelta("b"))
    await asyncio.sleep(0.05)
    assert batches == [[events.TextDelta("ab")]]
    session.put(events.TextDelta("c"))
    await asyncio.sleep(0.05)
    assert len(batches) == 1
    session.put(events.ErrorRaised("x", "y"))
    await asyncio.sleep(0.05)
    assert batches[1:] == [[events.TextDelta("c"), events.ErrorRaised("x", "y")]]
    bridge.interval = limits.BATCH_SECONDS
    session.put(events.ErrorRaised("x", "z"))  # looks again after what is the interval now
    session.put(events.TextDelta("d"))
    await asyncio.sleep(0.2)
    assert [*chain(*batches[2:])] == [events.ErrorRaised("x", "z"), events.TextDelta("d")]
    bridge.close()
    told = len(batches)
    session.put(events.TextDelta("e"))
    await asyncio.sleep(0.1)
    assert len(batches) == told


async def test_a_batch_that_cannot_be_shown_ends_the_program_rather_than_freezing_it():
    crashes = []

    def deliver(batch):
        raise ZeroDivisionError

    bridge = Bridge(asyncio.get_running_loop(), deliver, crashes.append)
    session = Letters()
    bridge.watch(session)
    session.put(events.TextDelta("a"))
    await asyncio.sleep(0.05)
    assert [type(e) for e in crashes] == [ZeroDivisionError]
    desk = Desk(asyncio.get_running_loop(), crashes.append, crashes.append)
    desk.do(lambda: 1, lambda result: result / 0)
    desk.do(lambda: 1 / 0)
    await asyncio.sleep(0.2)
    assert [type(e).__name__ for e in crashes[1:]] == ["ZeroDivisionError", "AgentError"]


async def test_what_comes_while_the_screen_is_taken_down_is_no_crash(tmp_path):
    async with Stage(tmp_path, [Reply(text="Hello.")]) as stage:
        await stage.type("one")
        await stage.until(lambda: stage.state == "idle" and "Hello." in stage.transcript())
        app = stage.app
        done, told, slow = [], [], threading.Event()
        app.desk.do(lambda: (slow.wait(10), done.append("saved")), told.append)
        asyncio.get_running_loop().call_later(0.05, slow.set)
    app.conversations.deliver([events.Envelope(app.view.id, 99, 0.0, events.TitleChanged("late"))])
    await asyncio.sleep(0.2)
    assert (done, told) == (["saved"], [])


# -- pure rooms ---------------------------------------------------------------------------------------------------

STEPS = [
    ("running", {}, "stop"),
    ("running", {"selection": True, "draft": True}, "stop"),
    ("asking", {}, "stop"),
    ("stopping", {}, "stop"),
    ("stopping", {"last": 9.0, "last_step": "stop"}, "abandon"),
    ("stopping", {"last": 1.0, "last_step": "stop"}, "stop"),
    ("idle", {"selection": True, "draft": True}, "copy"),
    ("idle", {"draft": True}, "clear_draft"),
    ("idle", {}, "hint"),
    ("idle", {"last": 9.0, "last_step": "hint"}, "quit"),
    ("idle", {"last": 1.0, "last_step": "hint"}, "hint"),
    ("idle", {"last": 9.9, "last_step": "stop"}, "hint"),
    ("idle", {"last": 9.9, "last_step": "clear_draft"}, "hint"),
    ("failed", {}, "hint"),
]


@each_row(("state", "more", "step"), STEPS)
def test_what_ctrl_c_does(state, more, step):
    assert interrupt.ctrl_c(interrupt.Moment(state, 10.0, **more)) == step


@each_row(
    ("width", "height", "wish", "expected"),
    [
        (200, 60, Wish(), Layout("side", 28, "side", 76, True)),
        (140, 40, Wish(), Layout("side", 28, "side", 53, True)),
        (120, 36, Wish(), Layout("hidden", 24, "side", 54, True)),
        (120, 36, Wish(sessions=True), Layout("side", 24, "side", 54, True)),
        (120, 36, Wish(dock=False), Layout("hidden", 24, "hidden", 54, True)),
        (100, 30, Wish(), Layout("hidden", 24, "hidden", 45, True)),
        (100, 30, Wish(over="dock"), Layout("hidden", 24, "over", 45, True)),
        (79, 24, Wish(over="sessions"), Layout("over", 24, "hidden", 36, False)),
        (79, 24, Wish(over="dock"), Layout("hidden", 24, "over", 36, False)),
        (79, 24, Wish(sessions=True, dock=True), Layout("hidden", 24, "hidden", 36, False)),
        (120, 36, Wish(dock=False, over="dock"), Layout("hidden", 24, "side", 54, True)),
        (40, 10, Wish(), Layout("hidden", 24, "hidden", 18, False)),
        (1, 1, Wish(), Layout("hidden", 24, "hidden", 0, False)),
    ],
)
def test_panes_follow_the_size_and_the_wish(width, height, wish, expected):
    assert lay_out(width, height, wish) == expected


@each_row("size", [(200, 60), (120, 36), (100, 30), (79, 24), (40, 10)])
@each_row("pane", ["sessions", "dock"])
def test_a_pane_is_shown_and_hidden_at_every_size_and_covers_nothing_at_another(size, pane):
    wish = shown(Wish(), pane, *size)
    assert lay_out(*size, wish).place(pane) != "hidden"
    wish = hidden(wish, pane, *size)
    assert lay_out(*size, wish).place(pane) == "hidden"
    wide = shown(Wish(), pane, 200, 60)
    assert lay_out(79, 24, wide).transcript


def test_what_the_screen_remembers_is_read_back_and_a_broken_file_costs_nothing(tmp_path):
    path = tmp_path / "cache" / "screen.json"
    assert recall(path) == {}
    remember(path, {"dock": False, "recent": ["theme:纸"]})
    assert recall(path) == {"dock": False, "recent": ["theme:纸"]}
    for broken in (b"{", b"[1]", b"\xff"):
        path.write_bytes(broken)
        assert recall(path) == {}
    (tmp_path / "file").write_text("")
    remember(tmp_path / "file" / "screen.json", {})


async def test_the_layout_and_the_latest_choices_survive_a_restart(tmp_path):
    async with Stage(tmp_path, size=(160, 40)) as stage:
        assert stage.app.panes.dock == "side"
        await stage.pilot.press("f3")
        stage.app.kept_look.chose("details")
        await stage.until(lambda: recall(stage.app._start.places.screen_file).get("recent") == ["details"])
    async with Stage(tmp_path, size=(160, 40)) as stage:
        assert stage.app.panes.dock == "hidden"
        assert stage.app.kept_look.recent == ["details"]


def test_urgent_events_are_those_a_person_waits_for():
    assert set(events.URGENT) == {
        events.QuestionAsked, events.QuestionClosed, events.ErrorRaised, events.ToolStarted, events.TurnFinished
    }  # fmt: skip


@pytest.mark.parametrize(("size", "shown_then"), [((200, 60), "side"), ((100, 30), "hidden")])
async def test_a_hidden_dock_shows_the_changes_that_wait_and_hides_again(tmp_path, size, shown_then):
    replies = [Reply(calls=[("write_file", {"path": "a.txt", "content": "one\n"})]), Reply(text="Done.")]
    async with Stage(tmp_path, replies, size=size) as stage:
        app = stage.app
        if app.panes.dock != "hidden":
            await stage.pilot.press("f3")
        assert app.panes.dock == "hidden"
        await stage.type("write")
        await stage.until(lambda: stage.state == "asking")
        await stage.until(lambda: app.panes.dock == shown_then)
        app.view.session.send(intents.Answer(app.view.waiting[0].question.id, "once"))
        await stage.until(lambda: stage.state == "idle")
        await stage.until(lambda: app.panes.dock == "hidden")
