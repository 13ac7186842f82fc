"""Skills of a person who has some, in the language of the screen, and a write to one of them that waits."""

from __future__ import annotations

from pathlib import Path

from agent_core.knowledge import Pending
from agent_core.memory.pending import PendingWrites
from agent_core.skills.discover import on_disk
from agent_core.skills.write import Writer
from nanoherm_tui.i18n import Language

_SKILLS: dict[Language, tuple[tuple[str, str, str, str], ...]] = {
    "en": (
        ("release-notes", "Write the notes of a release from its commits.", "", "Group them by what they change."),
        ("review", "Look through a change as a maintainer would.", "", "Read the tests first."),
        (
            "deploy",
            "Bring a build to the staging servers.",
            "required_environment_variables: [STAGING_TOKEN]\n",
            "Ask.",
        ),
        ("notes", "Keep notes in Apple Notes.", "platforms: [macos]\n", "Use memo."),
    ),
    "zh": (
        ("release-notes", "根据提交记录编写发布说明。", "", "按改动的内容分组。"),
        ("review", "像维护者那样检查一处改动。", "", "先读测试。"),
        ("deploy", "把构建部署到预发布服务器。", "required_environment_variables: [STAGING_TOKEN]\n", "先询问。"),
        ("notes", "在 Apple 备忘录里做笔记。", "platforms: [macos]\n", "使用 memo。"),
    ),
}
_MORE: dict[Language, str] = {
    "en": "Group them by what they change.\nLeave out what nobody will notice.",
    "zh": "按改动的内容分组。\n没有人会注意到的不写。",
}


def make(home: Path, language: Language) -> Pending:
    """Write them into a home; gives what waits."""
    data_home = home / ".nanohermes"
    for name, description, more, body in _SKILLS[language]:
        folder = data_home / "skills" / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    writer = Writer(data_home, home, lambda text: text)
    found = on_disk(data_home / "skills" / "release-notes", "yours")
    plan = writer.patch(found, _SKILLS[language][0][3], _MORE[language])
    return PendingWrites(data_home).add("skill", plan.title, plan.diffs[0], plan.to_json())
