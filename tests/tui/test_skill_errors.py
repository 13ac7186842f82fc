"""What a skill cannot do, told in Chinese with what helps: the files there are, a near name, why it is closed."""

import pytest

from agent_core.errors import SkillFailure
from agent_core.skills import reading
from agent_core.skills.conditions import Needs
from agent_core.skills.discover import Found, Shelf
from agent_core.skills.library import Skills
from agent_core.skills.write import Writer
from nanoherm_tui.i18n import set_language, tell

CASES = {
    "a near name": (lambda do: do.skills.get("leters"), "letters"),
    "no skill at all": (lambda do: Skills(Shelf).get("a"), "「a」，这里还没有技能"),
    "for another platform": (lambda do: do.skills.expand("mac"), "mac 在这里不能用：只用于 macos"),
    "without its tool": (lambda do: do.skills.expand("term"), "需要工具 run_command"),
    "switched off": (lambda do: do.skills.expand("shut"), "skills.disabled"),
    "another file": (
        lambda do: reading.file(do.letters, "b.md"),
        "没有 b.md。它的文件：references/a.md、references/c.md",
    ),
    "no file but one": (lambda do: do.writer.patch(do.plain, "a", "b", "b.md"), "plain 里没有 b.md，它只有 SKILL.md"),
    "a path out of it": (lambda do: reading.inside("../x"), "「../x」"),
    "a wrong folder": (
        lambda do: do.writer.write_file(do.letters, "b.md", ""),
        "references、scripts、templates、assets",
    ),
    "a text not there": (lambda do: do.writer.patch(do.letters, "nowhere", "b"), "SKILL.md 里没有要替换的文字"),
    "a text there twice": (lambda do: do.writer.patch(do.letters, "Do", "b"), "SKILL.md 里有 2 处"),
    "the same text": (lambda do: do.writer.patch(do.letters, "it", "it"), "新旧文字相同"),
    "a name in use": (lambda do: do.writer.create("mac", "", "", do.skills.look().skills), "已有技能 mac"),
    "nothing new": (
        lambda do: do.writer.write_file(do.letters, "references/a.md", "A\n"),
        "letters/references/a.md 已是",
    ),
}


class Scene:
    def __init__(self, home):
        self.writer = Writer(home / ".nanohermes", home, lambda text: text)
        needs = {"mac": Needs(platforms=("macos",)), "term": Needs(tools=("run_command",))}
        found = []
        for name in ("letters", "mac", "plain", "shut", "term"):
            folder = self.writer.top / name
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\nDo. Do it.\n")
            found.append(Found(name, "d", folder, "yours", needs.get(name, Needs())))
        self.letters, self.plain = found[0], found[2]
        (self.letters.folder / "references").mkdir()
        for name in "ac":
            (self.letters.folder / "references" / f"{name}.md").write_text("A\n")
        shelf = Shelf(tuple(found))
        self.skills = Skills(lambda: shelf, off=lambda: ("shut",), platform="linux")


def test_what_a_skill_cannot_do_is_told_in_chinese_with_what_helps(tmp_path):
    scene = Scene(tmp_path)
    set_language("zh")
    wrong = {}
    for case, (act, words) in CASES.items():
        with pytest.raises(SkillFailure) as failure:
            act(scene)
        told = tell(failure.value.code, failure.value.params, failure.value.text)
        if words not in told or told == failure.value.text:
            wrong[case] = told
    assert wrong == {}
