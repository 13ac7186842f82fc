"""What is done for the views of the composer's vim keys and snippets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from screenshots.stage import Stage

_SNIPPETS = {
    "en": "review: |\n  Review ${1:path} for ${2:bugs}.\n  Be brief. $0\nrelease: Write the notes of ${1:v1.2}\n",
    "zh": "review: |\n  审查 ${1:路径} 中的${2:错误}。\n  简短一些。$0\nrelease: 写 ${1:v1.2} 的发布说明\n",
}


async def vim_normal(stage: Stage) -> None:
    """A command that waits for its motion."""
    stage.app.composer.vim = True
    await stage.write(stage.words.queued)
    await stage.press("escape", "2", "d")
    await stage.settle()


async def vim_lines(stage: Stage) -> None:
    """Whole lines are selected."""
    stage.app.composer.vim = True
    await stage.write("\n".join(stage.words.todos))
    await stage.press("escape", "k", "V", "k")
    await stage.settle()


async def snippet_names(stage: Stage) -> None:
    (stage.home / ".nanohermes" / "snippets.yaml").write_text(_SNIPPETS[stage.language], encoding="utf-8")
    await stage.write(";re")
    await stage.shown(";release")


async def snippet_places(stage: Stage) -> None:
    await snippet_names(stage)
    await stage.press("down", "tab")
    await stage.settle()
