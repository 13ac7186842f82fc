"""A session's title from its first message: what is asked, in words, whatever stands around it."""

import time
import unicodedata

import pytest

from agent_core import limits
from agent_core.text.title import cut_title, title_of
from tests.rows import each_row

TITLES = [
    # plain words stay as they are
    ("fix it", "fix it"),
    ("\n\n  first line \nsecond", "first line"),
    ("go", "go"),
    ("继续", "继续"),
    ("lazy load images", "lazy load images"),
    ("Why is the sky blue? And the grass green?", "Why is the sky blue?"),
    ("修复 parse_date 的时区问题", "修复 parse_date 的时区问题"),
    ("请求超时怎么处理", "请求超时怎么处理"),
    ("帮助文档在哪里", "帮助文档在哪里"),
    ("use the new client (v2) everywhere", "use the new client (v2) everywhere"),
    ("", ""),
    ("  \n ", ""),
    # greetings and polite words alone are better than nothing, before a request they are not
    ("hi", "hi"),
    ("hello!", "hello!"),
    ("你好", "你好"),
    (
        "Hi there, could you please fix the failing test in tests/test_date.py?",
        "fix the failing test in tests/test_date.py?",
    ),
    ("hey claude, add a dark theme", "add a dark theme"),
    ("Hello. I would like you to rename the module. Thanks!", "rename the module"),
    ("Please help me to understand how the parser works.", "understand how the parser works"),
    ("Good morning! can you explain what `parse_date` does?", "explain what parse_date does?"),
    ("I need to parse dates in ISO format", "parse dates in ISO format"),
    ("Question: how do I exit vim?", "how do I exit vim?"),
    ("ok, now run the tests again", "run the tests again"),
    ("Thanks. Now make the button blue.", "make the button blue"),
    ("let's improve error handling", "improve error handling"),
    ("你好，请帮我修复登录页面的错误。谢谢！", "修复登录页面的错误"),
    ("您好！能不能帮我看一下 src/app.py 为什么启动很慢？", "看一下 src/app.py 为什么启动很慢？"),
    ("请问这个函数是做什么的？", "这个函数是做什么的？"),
    ("麻烦你把 README.md 翻译成英文", "把 README.md 翻译成英文"),
    ("在吗？帮我查一下内存泄漏", "查一下内存泄漏"),
    ("好的，继续下一步", "继续下一步"),
    ("给我讲讲这个项目", "讲讲这个项目"),
    # code and what programs wrote
    ("```python\nprint(1)\n```\nWhy does this print 1?", "Why does this print 1?"),
    ("```\nerror\n```\n这是什么错误？", "这是什么错误？"),
    (
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    main()\nValueError: bad date\n\n'
        "why does this happen?",
        "why does this happen?",
    ),
    (
        "2024-01-02 12:00:00 ERROR something failed\n2024-01-02 12:00:01 INFO ok\nfind out what broke here",
        "find out what broke here",
    ),
    ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nreview this change", "review this change"),
    ('{"a": 1,\n "b": 2}\nConvert this JSON to YAML', "Convert this JSON to YAML"),
    ("import os\nimport sys\n\nhow do I use pathlib instead?", "how do I use pathlib instead?"),
    ("<div>\n  <p>hi</p>\n</div>\nmake this accessible", "make this accessible"),
    ("def total(cart):\n    return sum(cart)\n\n这段代码有什么问题", "这段代码有什么问题"),
    # commands, mentions, Markdown
    ("/review the last commit", "the last commit"),
    ("/init", "/init"),
    ("/etc/hosts has a wrong entry", "/etc/hosts has a wrong entry"),
    ("@src/date.py#20-45 simplify this function", "src/date.py simplify this function"),
    (
        "Look at @file:src/app.py and @tests/ and tell me what is missing",
        "Look at src/app.py and tests/ and tell me what is missing",
    ),
    ("@src/日期.py 这里的解析不对", "src/日期.py 这里的解析不对"),
    ("write to nobody@example.org about it", "write to nobody@example.org about it"),
    ("# Refactor the store\n\n- split it\n- test it", "Refactor the store"),
    ("1. read the code\n2. fix it", "read the code"),
    ("See https://www.example.org/docs/page for details.", "See example.org/docs/page for details"),
    ("Update config.yaml and e.g. the docs. Then commit.", "Update config.yaml and e.g. the docs"),
    ("make \x1b[31mit\x1b[0m red", "make it red"),
    ("Read [the notes](https://en.example.org/wiki/A_(b)) and sum them up", "Read the notes and sum them up"),
    # too long
    ("x" * 100, "x" * 59 + "⋯"),
    (
        "Write a function that takes a list of numbers and returns the sum of the squares of all even ones",
        "Write a function that takes a list of numbers and returns⋯",
    ),
    (
        "我想让你重构整个数据库层，把同步的代码改成异步的，并且补上所有缺少的单元测试和文档",
        "重构整个数据库层，把同步的代码改成异步的⋯",
    ),
]


@each_row(("message", "title"), TITLES, ids=range(len(TITLES)))
def test_a_title_says_what_is_asked(message, title):
    assert title_of(message) == title


def cells(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@pytest.mark.parametrize("text", ["word " * 50, "长" * 200, "a长" * 100, "https://example.org/" + "x" * 500, "，" * 90])
def test_no_title_is_wider_than_its_bound(text):
    assert cells(title_of(text)) <= limits.TITLE_CELLS
    assert cells(cut_title(text)) <= limits.TITLE_CELLS


@pytest.mark.parametrize(
    "text",
    ["please " * 50_000, "请" * 100_000, "```\n" * 50_000, "a. " * 100_000, "x(" * 100_000, "\n" * 200_000,
     "[" * 20_000, "a [b](" * 9_000],
)  # fmt: skip
def test_a_huge_message_costs_little(text):
    begun = time.process_time()
    title_of(text)
    assert time.process_time() - begun < 2.0


def test_a_given_title_is_only_brought_to_one_line():
    assert cut_title("  please keep\n\tthese words ") == "please keep these words"
