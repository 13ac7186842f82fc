"""A card's outcome is told in the interface's language, part by part."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import agent_core
from nanoherm_tui import i18n
from nanoherm_tui.i18n import phrase_key, texts
from nanoherm_tui.transcript.outcomes import in_words


@pytest.mark.parametrize(
    ("outcome", "english", "chinese"),
    [
        ("212 lines", "212 lines", "212 行"),
        ("2 failed, 14 passed", "2 failed, 14 passed", "2 失败，14 通过"),
        ("lines 1-40 of 1,200", "lines 1-40 of 1,200", "第 1-40 行，共 1,200 行"),
        ("3 matches in 1 file", "3 matches in 1 file", "1 个文件 3 处匹配"),
        ("200+ matches in 9+ files", "200+ matches in 9+ files", "9+ 个文件 200+ 处匹配"),
        ("new, 3 lines", "new, 3 lines", "新文件，3 行"),
        ("+7 -4", "+7 −4", "+7 −4"),
        ("exit 2", "exit 2", "退出码 2"),
        ("edited, exit 0", "edited, exit 0", "你改过命令，退出码 0"),
        ("1 of 4 done", "1 of 4 done", "完成 1/4"),
        ("timed out", "timed out", "超时"),
        ("something else, 3 lines", "something else, 3 lines", "something else，3 行"),
        ("", "", ""),
    ],
)
def test_outcomes_in_both_languages(outcome, english, chinese):
    assert in_words(outcome) == english
    i18n.set_language("zh")
    assert in_words(outcome) == chinese


def test_every_fixed_outcome_of_the_core_has_its_words():
    outcomes = set()
    for path in sorted(Path(agent_core.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "outcome" and isinstance(node.value, ast.Constant):
                outcomes.add(node.value.value)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ToolOutput":
                outcomes.update(a.value for a in node.args[1:2] if isinstance(a, ast.Constant))
    assert len(outcomes) > 10
    missing = {o for o in outcomes if o and f"outcomes.{phrase_key(o)}" not in texts("zh")}
    assert missing == set()


def test_a_translation_uses_no_number_that_its_outcome_lacks():
    for key, text in texts("zh").items():
        if key.startswith("outcomes."):
            numbers = len(re.findall(r"(?<![a-z])n(?![a-z])", key.removeprefix("outcomes.")))
            assert set(re.findall(r"\{([a-z])\}", text)) == set("abc"[:numbers]), key
