"""Commands of one's own in the program itself: known when a slash is typed, told of once, chosen in the palette."""

import pytest

from nanoherm_tui import i18n
from nanoherm_tui.overlays.palette import PaletteScreen
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage


@pytest.fixture(autouse=True)
def _english():
    i18n.set_language("en")


def asked(stage):
    return stage._server.requests[-1]["messages"][-1]["content"]


async def test_a_command_of_ones_own_goes_from_its_file_to_the_model_and_unusable_ones_are_told_once(tmp_path):
    async with Stage(tmp_path, [Reply("ok")]) as stage:
        app, folder = stage.app, stage.host.places.data_home / "commands"
        (folder / "git").mkdir(parents=True)
        (folder / "git" / "commit.md").write_text("---\ndescription: say [b]why[/b]\n---\nWrite why: $1")
        (folder / "clear.md").write_text("never")
        (folder / "two words.md").write_text("never")
        await stage.type("/git:commit because")  # sent before it was known what there is
        await stage.until(lambda: len(stage._server.requests) == 1 and stage.state == "idle")
        assert asked(stage).startswith("/git:commit because\n")
        assert asked(stage).endswith("Write why: because")
        assert "/git:commit because" in stage.transcript()
        assert "Write why" not in stage.transcript()

        (folder / "late.md").write_text("Late $ARGUMENTS")
        await stage.pilot.press("slash", "l", "a", "t")
        await stage.until(lambda: "late" in [one.name for one in app.composer.typed])
        await stage.pilot.press("tab", "enter")
        await stage.until(lambda: len(stage._server.requests) == 2 and stage.state == "idle")
        assert asked(stage).endswith("Late")
        text = stage.transcript()
        assert text.count("clear.md is not used") == 1
        assert text.count("two words.md is no command") == 1

        await stage.pilot.press("ctrl+p")
        await stage.until(lambda: isinstance(app.screen, PaletteScreen))
        await stage.pilot.press(*"git:c")
        await stage.until(lambda: app.screen._list.current and app.screen._list.current.id == "typed:git:commit")
        assert app.screen._list.current.help == "say [b]why[/b]"
        await stage.pilot.press("enter")
        await stage.until(lambda: len(stage._server.requests) == 3)
        assert asked(stage).endswith("Write why:")
