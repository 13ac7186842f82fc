"""/rollback: what would happen is seen before it does; and files in the rewind picker."""

from dataclasses import replace

import pytest

from agent_core import events, intents
from agent_core import limits as core_limits
from agent_core.messages import DiffLine, FileDiff, Hunk, Rollback, from_json, to_json, user
from agent_core.rollback import REASONS, ChangedFile, Checkpoint, PlannedFile, RollbackPlan
from nanoherm_tui import limits
from nanoherm_tui.i18n import phrase_key, set_language, t, texts
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.rollback import Chosen, RollbackScreen
from nanoherm_tui.transcript.model import TranscriptModel
from nanoherm_tui.transcript.render import note_words
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage

NOW = 1_700_000_000.0
EDIT, COMMAND = "tool", "command"
TURNS = (
    Checkpoint("u3", "把 parse_date 改成带时区的", NOW - 60, (ChangedFile("src/date.py", "edit", EDIT),)),
    Checkpoint(
        "u2",
        "write the [docs]",
        NOW - 4_000,
        (
            ChangedFile("docs/a.md", "create", EDIT),
            ChangedFile("build/out.bin", "edit", COMMAND, "not_kept", REASONS["too_large"]),
        ),
    ),
    Checkpoint("u1", "begin", NOW - 90_000, (ChangedFile("src/date.py", "create", EDIT, "undone"),)),
)
PLAN = RollbackPlan(
    "u2",
    (
        PlannedFile("src/date.py", "restore"),
        PlannedFile("docs/a.md", "remove"),
        PlannedFile("a/very/long/way/down/to/notes-中文.txt", "recreate", by=COMMAND),
        PlannedFile("build/out.bin", "leave", REASONS["too_large"], COMMAND),
    ),
)
DIFF = FileDiff(
    "src/date.py", (Hunk(1, 1, (DiffLine("remove", "new = 1", 1, None), DiffLine("add", "old = 0", None, 1))),), 1, 1
)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Nobody types faster than this here: a test waits for nothing but what it says."""
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.0)


class Opened:
    """The screen over a tiny app, with what it asked for."""

    def __init__(self, size=(80, 24), *args, **kwargs):
        self.app, self.size = OverlayApp(), size
        self.screen = RollbackScreen(*(args or (TURNS,)), **kwargs)
        self.asked = []
        self.screen.ask_plan = self.asked.append
        self.screen.ask_diff = lambda turn_id, path: self.asked.append((turn_id, path))

    async def __aenter__(self):
        self._test = self.app.run_test(size=self.size)
        self.pilot = await self._test.__aenter__()
        self.app.push_screen(self.screen, self.app.results.append)
        await self.pilot.pause()
        return self

    async def __aexit__(self, *exc):
        await self._test.__aexit__(*exc)

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.pilot.pause()

    @property
    def rows(self):
        return [row.removeprefix("behi").strip() for row in rows(self.app)]

    @property
    def text(self):
        return shown(self.app)

    async def plan(self):
        """Down to the second turn, and its plan."""
        await self.press("down", "enter")
        self.screen.show_plan(PLAN)
        await self.pilot.pause()


# -- the overlay --------------------------------------------------------------------------------------------------


async def test_while_a_plan_is_on_its_way_that_is_said_and_it_is_asked_for_once():
    async with Opened() as over:
        await over.press("enter", "enter")
        assert over.asked == ["u3"]
        assert t("rollback.looking") in over.text
        over.screen.failed("The disk is full.")
        await over.pilot.pause()
        assert t("rollback.looking") not in over.text
        assert "The disk is full." in over.text
        await over.press("enter")
        assert over.asked == ["u3", "u3"]


async def test_turns_are_listed_newest_first_and_enter_asks_what_would_happen():
    async with Opened() as over:
        lines = [row for row in over.rows if "file" in row or "rolled back" in row]
        assert [words in line for words, line in zip(("parse_date", "[docs]", "begin"), lines[1:4], strict=True)]
        assert "1 file " in lines[1]
        assert "2 files " in lines[2]
        assert "rolled back" in lines[3]
        await over.press("down")
        assert "created docs/a.md" in over.text
        assert "changed build/out.bin (not kept: the file is too big)" in " ".join(over.rows)
        await over.press("enter")
        assert over.asked == ["u2"]
        assert over.app.results == []


async def test_the_plan_says_for_each_file_what_happens_and_why_one_is_left():
    async with Opened() as over:
        await over.plan()
        text = over.text
        assert "Files as before: write the [docs]" in text
        assert "3 files would change. As they are: 1 file." in text
        found = [row for row in over.rows if row.startswith(("▐", "✓", "leave"))]
        assert [row.split()[:3] for row in found if "✓" in row] == [
            ["▐", "✓", "restore"],
            ["✓", "remove", "docs/a.md"],
            ["✓", "recreate", "a/very/long/way/dow⋯/notes-中文.txt"],
        ]
        assert any(row.startswith("leave") and "not kept" in row for row in found)
        assert any("by a command" in row for row in found)
        await over.press("end")
        assert "It stays as it is: not kept: the file is too big" in over.text
        assert "Space" not in over.text, "what is left as it is cannot be left out"


async def test_only_a_second_enter_acts_and_any_other_key_takes_the_first_back():
    async with Opened() as over:
        await over.plan()
        await over.press("enter")
        assert over.app.results == []
        assert "again changes 3 files" in over.text
        await over.press("down")
        assert "again changes" not in over.text
        await over.press("enter")
        assert over.app.results == []
        await over.press("enter")
        assert over.app.results == [Chosen("u2")]


async def test_an_enter_that_follows_at_once_does_not_act(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.5)
    monkeypatch.setattr(Arming.__init__, "__defaults__", (lambda: now[0],))
    async with Opened() as over:
        await over.plan()
        await over.press(*["enter"] * 20)
        assert over.app.results == [], "a key that is held down says nothing"
        now[0] += 1
        await over.press("enter")
        assert over.app.results == [Chosen("u2")]


async def test_a_file_that_is_left_out_stays_and_the_others_are_named():
    async with Opened() as over:
        await over.plan()
        await over.press("down", "space")
        assert "2 files would change. As they are: 2 files." in over.text
        assert "left out" in over.text
        await over.press("enter", "enter")
        assert over.app.results == [Chosen("u2", ("src/date.py", "a/very/long/way/down/to/notes-中文.txt"))]


async def test_with_every_file_left_out_enter_does_nothing():
    async with Opened() as over:
        await over.plan()
        await over.press("space", "down", "space", "down", "space", "enter", "enter")
        assert "Nothing would change." in over.text
        assert over.app.results == []


async def test_d_shows_the_change_of_one_file_and_esc_goes_back_level_by_level():
    async with Opened() as over:
        await over.plan()
        await over.press("down", "space", "up", "d")
        assert over.asked[-1] == ("u2", "src/date.py")
        over.screen.show_diff("docs/a.md", None, "of another file")
        over.screen.show_diff("src/date.py", DIFF)
        await over.pilot.pause()
        assert "− new = 1" in over.text
        assert "+ old = 0" in over.text
        await over.press("enter")
        assert over.app.results == [], "Enter there only goes back"
        assert "left out" in over.text, "what was chosen is still so"
        await over.press("d")
        over.screen.show_diff("src/date.py", None, "The file is gone.")
        await over.pilot.pause()
        assert "The file is gone." in over.text
        await over.press("escape")
        assert "Files as before" in over.text
        await over.press("escape")
        assert "Roll files back to before a turn" in over.text
        await over.press("escape")
        assert over.app.results == [None]


async def test_what_comes_too_late_changes_nothing():
    async with Opened() as over:
        await over.press("enter", "escape")
        over.screen.show_plan(PLAN)
        over.screen.show_diff("src/date.py", DIFF)
        over.screen.failed("too late")
    assert over.app.results == [None]


async def test_a_redo_is_shown_as_a_whole_and_its_first_enter_acts():
    async with Opened((80, 24), (), PLAN, redo=True) as over:
        assert "Take the last rollback back" in over.text
        assert "3 files would change" in over.text
        assert "What the rollback replaced" in over.text
        assert "Changed by" not in over.text
        await over.press("space", "d")
        assert over.asked == []
        assert "left out" not in over.text
        await over.press("enter")
        assert over.app.results == [Chosen("u2")]


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 5), (8, 3), (200, 60)])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_it_fits_every_screen(size, language):
    set_language(language)
    async with Opened(size) as over:
        await over.plan()
        await over.press("enter", "space", "d")
        over.screen.show_diff("src/date.py", DIFF)
        await over.press("pagedown", "escape", "escape", "escape")
    assert over.app.results == [None]


# -- in the transcript --------------------------------------------------------------------------------------------


def told(event):
    model = TranscriptModel()
    model.apply(event)
    return [note_words(entry.note) for entry in model.entries]


def test_a_rollback_is_told_with_its_paths_and_what_was_left_and_why():
    left = (f"b: c.txt: {REASONS['changed_since']}", f"big.bin: {REASONS['too_large']}", "odd")
    event = events.FilesRolledBack("u2", ("a.py", "x\x1b[2J.py"), left)
    done, stayed = told(event)
    assert done.splitlines()[0] == "Rolled back, /rollback redo takes it back:"
    assert done.splitlines()[1] == "  a.py"
    assert "\x1b" not in done
    assert stayed.splitlines()[1:] == [
        "  b: c.txt: changed since",
        "  big.bin: not kept: the file is too big",
        "  odd",
    ]
    set_language("zh")
    assert "之后又有改动" in told(event)[1]
    assert told(events.FilesRolledBack("u2", ("a.py",), redo=True)) == ["已撤销回滚：\n  a.py"]


def test_a_long_list_of_paths_is_counted():
    [words] = told(events.FilesRolledBack("u2", tuple(f"{n}.py" for n in range(400))))
    assert len(words.splitlines()) == limits.NOTE_LINES + 1
    assert words.splitlines()[-1] == f"  and {400 - limits.NOTE_LINES + 1} more"


@pytest.mark.parametrize("redo", [False, True])
def test_a_stored_rollback_reads_as_it_did_when_it_was_made(redo):
    paths, left = tuple(f"{n}.py" for n in range(400)), (f"big.bin: {REASONS['too_large']}",)
    most = core_limits.ROLLED_BACK_NAMED
    done = Rollback(paths[:most], left, redo, (len(paths) - most, 0))
    message = from_json(to_json(replace(user("[Told to the model.]", origin="note"), rollback=done)))
    model = TranscriptModel()
    model.load([message])
    assert [note_words(entry.note) for entry in model.entries] == told(events.FilesRolledBack("u2", paths, left, redo))


def test_every_reason_of_the_core_has_chinese_words():
    assert {why for why in REASONS.values() if f"left_because.{phrase_key(why)}" not in texts("zh")} == set()


# -- the whole app ------------------------------------------------------------------------------------------------


def write(path, text):
    return Reply(calls=[("write_file", {"path": path, "content": text})])


def replies(body, number):
    """Two turns: the first makes a.txt and b.txt, the second writes a.txt anew."""
    said = [m["content"] for m in body["messages"] if m["role"] == "user"]
    results = [m for m in body["messages"][-1:] if m["role"] == "tool"]
    if results:
        return Reply(text="done")
    if "first" in str(said[-1]):
        return Reply(calls=[("write_file", {"path": name, "content": "one\n"}) for name in ("a.txt", "b.txt")])
    if "second" in str(said[-1]):
        return Reply(calls=[("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"})])
    return Reply(text="only words")


class Worked(Stage):
    """Two turns have changed files; a third has not."""

    async def __aenter__(self):
        await super().__aenter__()
        self.work = self.app.view.session.workspace
        self.app.view.session.send(intents.SetMode("auto", confirmed=True))
        await self.until(lambda: self.app.view.mode == "auto")
        for number, text in enumerate(("first", "second", "third"), 1):
            await self.type(text)
            await self.until(lambda n=number: len(self.app.view.session.said()) == n and self.state == "idle", 30)
        assert self.read("a.txt") == "two\n"
        return self

    def read(self, name):
        path = self.work / name
        return path.read_text() if path.exists() else None

    def screen(self):
        return "\n".join(rows(self.app))

    async def overlay(self, name):
        await self.until(lambda: type(self.app.screen).__name__ == name)
        await self.pilot.pause()


async def test_rollback_lists_plans_acts_and_is_redone_exactly(tmp_path):
    async with Worked(tmp_path, replies) as stage:
        await stage.type("/rollback")
        await stage.overlay("RollbackScreen")
        assert "first" in stage.screen()
        listed = [row for row in stage.screen().splitlines() if "file" in row and " now " in row]
        assert [word in row for word, row in zip(("second", "first"), listed, strict=True)] == [True, True]
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: "would change" in stage.screen())
        await stage.pilot.press("down", "d")
        await stage.until(lambda: "− one" in stage.screen() or "− two" in stage.screen())
        await stage.pilot.press("escape", "up", "enter")
        assert (stage.read("a.txt"), stage.read("b.txt")) == ("two\n", "one\n"), "nothing has happened yet"
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.read("a.txt") is None and stage.read("b.txt") is None)
        await stage.until(lambda: "Rolled back" in stage.transcript())
        assert "  a.txt" in stage.transcript()
        await stage.type("/rollback redo")
        await stage.overlay("RollbackScreen")
        await stage.pilot.press("enter")
        await stage.until(lambda: (stage.read("a.txt"), stage.read("b.txt")) == ("two\n", "one\n"))
        await stage.until(lambda: "The rollback is taken back" in stage.transcript())


async def test_a_number_opens_the_plan_of_so_many_turns_and_spares_what_somebody_changed(tmp_path):
    async with Worked(tmp_path, replies) as stage:
        await stage.type("/rollback 3")
        await stage.until(lambda: "Only 2 turns changed files" in stage.screen())
        await stage.type("/rollback x")
        await stage.until(lambda: "not x" in stage.transcript())
        (stage.work / "b.txt").write_text("mine\n")
        await stage.type("/rollback 2")
        await stage.overlay("RollbackScreen")
        assert "1 file would change. As they are: 1 file." in stage.screen()
        await stage.pilot.press("enter", "enter")
        await stage.until(lambda: stage.read("a.txt") is None)
        assert stage.read("b.txt") == "mine\n"
        await stage.until(lambda: "b.txt: changed since" in stage.transcript())


async def test_there_is_nothing_to_roll_back_or_redo_and_never_under_a_turn(tmp_path):
    async with Stage(tmp_path, [Reply(text="slow", hang=60)]) as stage:
        screen = lambda: "\n".join(rows(stage.app))  # noqa: E731
        await stage.type("/rollback")
        await stage.until(lambda: t("rollback.nothing") in screen())
        await stage.type("/rollback redo")
        await stage.until(lambda: t("rollback.nothing_to_redo") in screen())
        await stage.type("go")
        await stage.until(lambda: stage.state == "running")
        await stage.type("/rollback")
        await stage.until(lambda: "Stop it first" in screen())
        stage.app.view.session.send(intents.Interrupt())
        await stage.until(lambda: stage.state == "idle")


async def take_back(stage, downs, a, said):
    """Go back to the second turn by the rewind picker; `downs` leads to what is to go back."""
    await stage.pilot.press("escape", "escape")
    await stage.overlay("RewindScreen")
    await stage.pilot.press("down", "tab")
    await stage.until(lambda: "1 file" in stage.screen())
    assert "What goes back?" in stage.screen()
    await stage.pilot.press("escape", "tab", *["down"] * downs, "enter")
    await stage.until(lambda: stage.read("a.txt") == a)
    await stage.until(lambda: len(stage.app.view.session.said()) == said)
    assert stage.read("b.txt") == "one\n"


async def test_the_rewind_picker_takes_back_files_or_files_and_conversation(tmp_path):
    async with Worked(tmp_path, replies) as stage:
        await take_back(stage, downs=1, a="one\n", said=3)
        await stage.until(lambda: stage.state == "idle")
        await stage.type("/rollback redo")
        await stage.overlay("RollbackScreen")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.read("a.txt") == "two\n" and stage.state == "idle")
        await stage.until(lambda: "The rollback is taken back" in stage.transcript())
        await take_back(stage, downs=2, a="one\n", said=1)


async def test_the_rewind_picker_works_as_ever_without_a_change_and_takes_back_the_conversation_alone(tmp_path):
    async with Worked(tmp_path, replies) as stage:
        await stage.pilot.press("escape", "escape")
        await stage.overlay("RewindScreen")
        await stage.until(lambda: stage.app.screen._turns is not None)
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.composer.text == "third")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.composer.is_empty)
        await take_back(stage, downs=0, a="two\n", said=1)
