"""A plan in the panel that asks: its Markdown read, its items hanging under their words, nothing left out."""

import pytest
from rich.cells import cell_len

from nanoherm_tui.overlays.plan_text import plan_rows
from nanoherm_tui.transcript.markdown import CODE, MUTED, STRONG

PLAN = """## Plan
1. Keep the `offset`, and **only** that; a time without one stays UTC.
2. 测试两天：夏令时开始和结束的那一天。
   - and the days around them, too

```
call(first_argument, second_argument, third)
```

| day | hours |
|-----|-------|
| 29  | 23    |
"""


def words(rows):
    return ["".join(text for text, _ in row) for row in rows]


@pytest.mark.parametrize(
    ("cells", "rows"),
    [
        (
            40,
            [
                "Plan",
                "1. Keep the offset, and only that; a",
                "   time without one stays UTC.",
                "2. 测试两天：夏令时开始和结束的那一天。",
                "   ∙ and the days around them, too",
                "",
                "call(first_argument, second_argument, ",
                "    third)",
                "",
                "day   hours",
                "29    23",
            ],
        ),
        (
            20,
            [
                "Plan",
                "1. Keep the offset,",
                "   and only that; a",
                "   time without one",
                "   stays UTC.",
                "2. 测试两天：夏令时",
                "   开始和结束的那一",
                "   天。",
                "   ∙ and the days",
                "     around them,",
                "     too",
                "",
                "call(first_argument,",
                "     second_argument",
                "    , third)",
                "",
                "day   hours",
                "29    23",
            ],
        ),
    ],
)
def test_what_goes_on_stands_under_its_words(cells, rows):
    made = [line.rstrip() for line in words(plan_rows(PLAN, cells))]
    assert made == [line.rstrip() for line in rows]
    assert all(cell_len(line) <= cells for line in made)


def test_marks_of_markdown_are_drawn_and_not_shown():
    drawn = {text: bits for row in plan_rows(PLAN, 80) for text, bits in row}
    assert [drawn[words] for words in ("Plan", "only", "day")] == [STRONG] * 3
    assert [drawn[words] for words in ("offset", "1. ")] == [CODE, MUTED]


@pytest.mark.parametrize(
    "source", ["<b>bold</b>", "[here](https://example.org/x)", "\\[bold red]no markup[/]", "&#27;[2J"]
)
def test_nothing_of_a_plan_is_hidden_and_nothing_is_obeyed(source):
    text = "".join(words(plan_rows(source, 60)))
    assert "\x1b" not in text
    for part in ("b", "bold", "https://example.org/x", "no markup"):
        assert part in text or part not in source
