"""The file picker in the whole app: what a session changes and a person opens comes first."""

from agent_core import intents
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage


def offered(app):
    answer = app.composer.mention._answer
    return [hit.path for hit in answer.hits] if answer is not None else []


async def test_files_that_were_changed_or_opened_are_offered_first(tmp_path):
    from nanoherm_tui.commands.looking import preview

    write = [("write_file", {"path": "src/新.py", "content": "x = 1\n"})]
    async with Stage(tmp_path, [Reply(calls=write), Reply(text="Done.")]) as stage:
        app = stage.app
        for name in ("a.txt", "b.txt", "z.txt"):
            (tmp_path / "work" / name).write_text("x\n")
        await stage.type("write it")
        await stage.until(lambda: app.view.waiting)
        app.view.session.send(intents.Answer(app.view.waiting[0].question.id, "once"))
        await stage.until(lambda: stage.state == "idle" and "src/新.py" in app.files._recent)
        await stage.pilot.press("at")
        await stage.until(lambda: offered(app)[:1] == ["src/新.py"])
        await stage.pilot.press("backspace")
        preview(app, "z.txt", 0, 0)
        await stage.until(lambda: "z.txt" in app.files._recent)
        preview(app, "none.txt", 0, 0)
        app.composer.focus()
        await stage.pilot.press("at")
        await stage.until(lambda: offered(app)[:2] == ["z.txt", "src/新.py"])
