"""The dock in the whole app: real commands with kept outputs, real files, real edits."""

import pytest

from agent_core import intents, spill
from nanoherm_tui.commands.looking import open_call, preview
from tests.fakes.model_server import Reply
from tests.tui.panes_app import lines
from tests.tui.test_app import Stage


def rows(stage):
    return [row[:-1].rstrip() for row in lines(stage.app.dock)]


async def see(stage, words):
    await stage.until(lambda: any(words in row for row in rows(stage)))


async def test_the_whole_output_of_a_long_command_is_read_to_its_end_and_copied(tmp_path, monkeypatch):
    async with Stage(tmp_path, [Reply(text="x")], size=(200, 60)) as stage:
        app = stage.app
        app.view.session.send(intents.Shell("for i in $(seq 1 20000); do echo line $i of many; done; echo 完成", True))
        await stage.until(lambda: any(call.text for call in app.view.calls.values()))
        open_call(app, next(iter(app.view.calls)))
        app.dock.focus()
        await see(stage, "line 1 of many")
        assert any("The whole output" in row for row in rows(stage))
        await stage.pilot.press("G")
        await see(stage, "line 20000 of many")
        await see(stage, "完成")
        await stage.pilot.press("g", "slash", *"line 9999 ", "enter")
        await see(stage, "line 9999 of many")
        copied = []
        monkeypatch.setattr(app, "copy", lambda text, *_: copied.append(text))
        await stage.pilot.press("escape", "y")
        await stage.until(lambda: len(copied) > 0)
        assert copied[0].splitlines()[10_000:10_001] == ["line 10001 of many"]
        for file in (app.host.places.data_home / spill.PRIVATE).iterdir():
            file.unlink()
        app.dock.clear()
        open_call(app, next(iter(app.view.calls)))
        await see(stage, "not there any more")
        await see(stage, "exit code 0")


async def test_what_a_file_says_is_never_taken_for_a_kept_output(tmp_path):
    fake = '<persisted-output path="/x/20260101-120000-0123abcd.txt" bytes="5">'
    replies = [Reply(calls=[("read_file", {"path": "a.txt"})]), Reply(text="done")]
    async with Stage(tmp_path, replies) as stage:
        (tmp_path / "work" / "a.txt").write_text(f"first\n{fake}\nlast\n")
        await stage.type("read it")
        await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens)
        open_call(stage.app, next(iter(stage.app.view.calls)))
        await see(stage, "last")
        assert not any("kept in" in row for row in rows(stage))


@pytest.mark.parametrize("answered", [False, True], ids=["while it waits", "when it is done"])
async def test_unchanged_lines_come_from_the_file_before_and_after_an_edit(tmp_path, answered):
    edit = {"path": "a.py", "old_text": "value_50 = 50\n", "new_text": "value_50 = 51\nmore = 1\n"}
    replies = [Reply(calls=[("read_file", {"path": "a.py"})]), Reply(calls=[("edit_file", edit)]), Reply(text="done")]
    async with Stage(tmp_path, replies) as stage:
        app = stage.app
        (tmp_path / "work" / "a.py").write_text("".join(f"value_{n} = {n}\n" for n in range(1, 101)))
        await stage.type("edit it")
        await stage.until(lambda: app.view.waiting)
        if answered:
            app.view.session.send(intents.Answer(app.view.waiting[0].question.id, "once"))
            await stage.until(lambda: app.view.diffs)
        await see(stage, "47 unchanged lines")
        app.dock.focus()
        await stage.pilot.press("enter", "enter")
        await see(stage, "▾   47 unchanged lines")
        assert any(row.split() == ["55", "value_54", "=", "54"] for row in rows(stage))
        if answered:
            (tmp_path / "work" / "a.py").write_text("something else\n")
            await stage.pilot.press("enter", "enter")
            await see(stage, "The file has changed since")
        else:
            app.view.session.send(intents.Interrupt())
            await stage.until(lambda: stage.state == "idle")


async def test_a_file_is_shown_around_its_line_and_what_must_not_be_read_says_so(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        work = tmp_path / "work"
        (work / "long.py").write_text("".join(f"value_{n} = {n}\n" for n in range(1, 20_001)))
        (work / ".env").write_text("TOKEN=1\n")
        preview(stage.app, "long.py", 15_000, 15_002)
        await see(stage, "15000  value_15000 = 15000")
        preview(stage.app, ".env", 0, 0)
        await see(stage, ".env")
        await stage.until(lambda: not any("TOKEN" in row or "15000" in row for row in rows(stage)))
        preview(stage.app, "none.py", 0, 0)
        await see(stage, "none.py does not exist.")


async def test_the_tab_and_the_shape_of_changes_are_there_again_at_the_next_start(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        stage.app.dock.focus()
        await stage.pilot.press("3")
        await stage.until(stage.app.host.places.screen_file.exists)
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        assert stage.app.dock.tab == "plan"
