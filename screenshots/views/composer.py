"""The composer: what is written, offered, waiting."""

from __future__ import annotations

from typing import Final

from textual.events import Paste
from textual.widgets import TextArea

from agent_core import events, intents
from agent_core.events import Envelope
from screenshots import content
from screenshots.stage import Stage
from screenshots.views.dock import chart
from screenshots.views.view import View, stream


async def _image_chips(stage: Stage) -> None:
    view = stage.app.view
    assert view is not None
    await stage.write(stage.words.queued + " ")
    stage.app.composer.add_image(stage.app.host.images.take_file(chart(stage), "docs/chart.png"))
    await stage.settle()


async def _chips(stage: Stage) -> None:
    await stage.write(stage.words.queued + "\n")
    area = stage.app.query_one("#draft", TextArea)
    area.move_cursor(area.document.end)
    area.post_message(Paste(content.FAILED_RUN))
    await stage.settle()
    await stage.press("ctrl+j", *"OK?")
    await stage.settle()


async def _history(stage: Stage) -> None:
    await stage.press("ctrl+r", *("test" if stage.language == "en" else "测试"))
    await stage.settle()


async def _mention(stage: Stage) -> None:
    await stage.write("@da")
    await stage.shown("src/ledger/dates.py")


async def _mention_lines(stage: Stage) -> None:
    await stage.write("@src/ledger/dates.py#30-45")
    await stage.shown("30")


async def _slash(stage: Stage) -> None:
    await stage.write("/re")
    await stage.settle()


async def _slash_own(stage: Stage) -> None:
    """Commands of one's own behind those of the program."""
    (folder := stage.home / ".nanohermes" / "commands" / "deps").mkdir(parents=True)
    (folder / "update.md").write_text(
        "---\ndescription: update one dependency, run the tests\nargument-hint: <name>\n---\n"
        "Update $1 and run the tests.\n"
    )
    await stage.write("/de")
    await stage.until(lambda: bool(stage.app.composer.typed), "what can be typed")
    await stage.settle()


async def _slash_values(stage: Stage) -> None:
    await stage.write("/theme n")
    await stage.settle()


async def _long_draft(stage: Stage) -> None:
    await stage.write("\n".join([stage.words.fix, "", stage.words.where, "", *stage.words.todos] * 2))


async def _held(stage: Stage) -> None:
    """Another program runs a turn in the session."""
    stage.app.view.session.tell(events.HeldElsewhere(4242, stage.clock.now - 240))
    await stage.until(lambda: stage.app.view.held, "who has it")
    await stage.settle()


async def _pending(stage: Stage) -> None:
    await stream(stage)
    session = stage.app.view.session
    session.send(intents.Steer(stage.words.steer))
    session.send(intents.Queue(stage.words.queued))
    await stage.until(lambda: stage.app.view.steers and stage.app.view.queued, "waiting texts")
    await stage.settle()


async def _stopping(stage: Stage) -> None:
    """The moment between Ctrl+C and the end of the turn, which is too short to be caught."""
    await stream(stage)
    stage.app.conversations.deliver([Envelope(stage.app.view.id, 0, 0.0, events.StateChanged("stopping"))])
    await stage.settle()


_SNIPPETS = {
    "en": "review: |\n  Review ${1:path} for ${2:bugs}.\n  Be brief. $0\nrelease: Write the notes of ${1:v1.2}\n",
    "zh": "review: |\n  审查 ${1:路径} 中的${2:错误}。\n  简短一些。$0\nrelease: 写 ${1:v1.2} 的发布说明\n",
}


async def _vim_normal(stage: Stage) -> None:
    """A command that waits for its motion."""
    stage.app.composer.vim = True
    await stage.write(stage.words.queued)
    await stage.press("escape", "2", "d")
    await stage.settle()


async def _vim_lines(stage: Stage) -> None:
    """Whole lines are selected."""
    stage.app.composer.vim = True
    await stage.write("\n".join(stage.words.todos))
    await stage.press("escape", "k", "V", "k")
    await stage.settle()


async def _snippet_names(stage: Stage) -> None:
    (stage.home / ".nanohermes" / "snippets.yaml").write_text(_SNIPPETS[stage.language], encoding="utf-8")
    await stage.write(";re")
    await stage.shown(";release")


async def _snippet_places(stage: Stage) -> None:
    await _snippet_names(stage)
    await stage.press("down", "tab")
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("composer-chips", _chips),
    View("composer-images", _image_chips),
    View("composer-long", _long_draft),
    View("composer-history", _history),
    View("composer-mention", _mention),
    View("composer-lines", _mention_lines),
    View("composer-slash", _slash),
    View("composer-own", _slash_own),
    View("composer-values", _slash_values),
    View("composer-vim", _vim_normal),
    View("composer-vim-lines", _vim_lines),
    View("composer-snippets", _snippet_names),
    View("composer-snippet-places", _snippet_places),
    View("composer-pending", _pending),
    View("composer-held", _held),
    View("composer-stopping", _stopping),
)
