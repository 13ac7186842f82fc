"""What the pictures tell: a small project, a stored session that repaired it, and a model that plays along.

Everything here is invented. It keeps to characters that are one or two cells wide in every terminal, so that whatever
else is found in a picture came from the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.ports.means import TodoItem
from agent_core.store.sessions import Store
from agent_core.text import diff
from nanoherm_tui.i18n import Language
from screenshots.clock import START, Clock
from tests.fakes.model_server import Reply

MINUTE: Final = 60.0
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

# -- the project --------------------------------------------------------------------------------------------------

_HEAD = '''"""When an entry of the ledger happened: instants in UTC, days in the zone of a branch."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Bounds:
    """The first instant of a day, and the first of the next."""

    start: datetime
    end: datetime

    def __contains__(self, instant: datetime) -> bool:
        return self.start <= instant < self.end


def days(first: date, last: date) -> Iterator[date]:
    """Every day from `first` to `last`, both included."""
    while first <= last:
        yield first
        first += ONE_DAY


'''
_TAIL = '''

def same_day(a: datetime, b: datetime, zone: ZoneInfo) -> bool:
    """Whether two instants fall on one local day."""
    return a.astimezone(zone).date() == b.astimezone(zone).date()


def month_of(day: date) -> str:
    """A month as reports name it: 2026-03."""
    return f"{day:%Y-%m}"
'''
DATES_BEFORE: Final = (
    _HEAD
    + '''def parse_date(text: str) -> datetime:
    """Parse ISO 8601; naive means UTC."""
    stamp = text.strip()[:19]
    return datetime.fromisoformat(stamp).replace(tzinfo=None)


def format_date(instant: datetime) -> str:
    """The inverse of parse_date, to the second."""
    return instant.isoformat(timespec="seconds")


def day_bounds(day: date, zone: ZoneInfo) -> Bounds:
    """First and last instant of a local day, in UTC."""
    start = datetime.combine(day, time.min)
    return Bounds(start, start + timedelta(hours=24))
'''
    + _TAIL
)
DATES_AFTER: Final = (
    _HEAD
    + '''def parse_date(text: str) -> datetime:
    """Parse ISO 8601; naive means UTC."""
    value = datetime.fromisoformat(text.strip())
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value.astimezone(UTC)


def format_date(instant: datetime) -> str:
    """The inverse of parse_date, to the second."""
    return instant.isoformat(timespec="seconds")


def day_bounds(day: date, zone: ZoneInfo) -> Bounds:
    """First and last instant of a local day, in UTC."""
    start = datetime.combine(day, time.min, zone)
    end = datetime.combine(day + ONE_DAY, time.min, zone)
    return Bounds(start.astimezone(UTC), end.astimezone(UTC))
'''
    + _TAIL
)
_TESTS_BEFORE = """from datetime import date
from zoneinfo import ZoneInfo

from ledger.dates import day_bounds, parse_date, utc

BERLIN = ZoneInfo("Europe/Berlin")
MARCH_29 = date(2026, 3, 29)


def test_naive_is_utc():
    assert parse_date("2026-03-29") == utc(2026, 3, 29)
"""
_TESTS_NEW = {
    "en": "The clocks go forward: this day has 23 hours in Berlin",
    "zh": "夏令时开始：柏林这一天只有 23 小时",
}
REPORT: Final = '''"""The monthly report: one line a branch."""

from ledger.dates import days, month_of


def lines(entries, first, last):
    """What the report says of every day."""
    for day in days(first, last):
        total = sum(entry.amount for entry in entries if entry.day == day)
        if total == 0:
            continue
        yield f"{day} {total:.2f}"


def title(day):
    """The report's first line."""
    return "Report for " + month_of(day)
'''
REPORT_OLD: Final = (
    "        total = sum(entry.amount for entry in entries if entry.day == day)\n        if total == 0:\n"
    '            continue\n        yield f"{day} {total:.2f}"\n'
)
REPORT_NEW: Final = (
    "        amounts = [entry.amount for entry in entries if entry.day == day]\n        if amounts:\n"
    '            yield f"{day} {sum(amounts):>12,.2f} {len(amounts):>5} entries"\n'
)
_PYTEST: Final = """#!/bin/sh
# Stands for pytest in the pictures: says nothing, and takes its time.
exec sleep 600
"""
FOLDERS: Final = ("work/atlas-api", "work/notes", "work/数据导入")
FAILED_RUN: Final = """exit code 1
============================= test session starts ==============================
collected 16 items

tests/test_dates.py ..F.F...........                                     [100%]

=================================== FAILURES ===================================
_____________________________ test_offset_is_kept ______________________________

    def test_offset_is_kept():
        got = parse_date("2026-03-29T02:30:00+02:00")
>       assert got == utc(2026, 3, 29, 0, 30)
E       assert 02:30 == 00:30

tests/test_dates.py:16: AssertionError
__________________________ test_short_day_in_march _____________________________

    def test_short_day_in_march():
        first, last = day_bounds(MARCH_29, BERLIN)
>       assert last - first == timedelta(hours=23)
E       assert 24:00 == 23:00

tests/test_dates.py:22: AssertionError
=========================== short test summary info ============================
FAILED tests/test_dates.py::test_offset_is_kept
FAILED tests/test_dates.py::test_short_day_in_march
2 failed, 14 passed in 3.07s
"""


def tests_after(language: Language) -> str:
    return f"""{_TESTS_BEFORE}

def test_offset_is_kept():
    got = parse_date("2026-03-29T02:30:00+02:00")
    assert got == utc(2026, 3, 29, 0, 30)


def test_short_day_in_march():
    # {_TESTS_NEW[language]}
    first, last = day_bounds(MARCH_29, BERLIN)
    assert last - first == timedelta(hours=23)
"""


def make_project(home: Path, language: Language) -> Path:
    """The folders of `home`. Returns the one the sessions work in."""
    ledger = home / "work" / "ledger"
    files = {
        ".git/HEAD": "ref: refs/heads/fix/dst\n",
        "README.md": "# ledger\n\nBooks of the branches, reconciled every night.\n",
        "src/ledger/__init__.py": "",
        "src/ledger/dates.py": DATES_AFTER,
        "src/ledger/importer.py": "from ledger.dates import parse_date\n",
        "src/ledger/reconcile.py": "from ledger.dates import day_bounds\n",
        "src/ledger/report.py": REPORT,
        "tests/test_dates.py": tests_after(language),
        "tests/test_report.py": "from ledger import report\n",
        "docs/时区说明.md": "# 时区\n",
    }
    for name, text in files.items():
        path = ledger / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in FOLDERS:
        (home / name).mkdir(parents=True, exist_ok=True)
    pytest = home / "bin" / "pytest"
    pytest.parent.mkdir(exist_ok=True)
    pytest.write_text(_PYTEST)
    pytest.chmod(0o755)
    return ledger


# -- the stored sessions ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """What people and the model say in one language."""

    title: str
    where: str
    where_answer: str
    fix: str
    answer: str
    full_run: str
    steer: str
    queued: str
    question: str
    choices: tuple[str, ...]
    plan: str
    todos: tuple[str, ...]
    report: str
    report_answer: str
    story: str
    history: tuple[str, ...]
    others: tuple[tuple[str, str, float], ...]
    """(title, folder, age in seconds) of the other sessions."""


_CODE = '''```python
def parse_date(text: str) -> datetime:
    """Parse ISO 8601; naive means UTC."""
    value = datetime.fromisoformat(text.strip())
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value.astimezone(UTC)
```'''
EN: Final = Words(
    title="Fix the offset in parse_date",
    where="Where does the reconcile job run? Which modules parse dates?",
    where_answer="`ledger.reconcile` starts it once a day. Dates are parsed in `src/ledger/dates.py` alone; two places "
    "call it (importer.py, report.py).",
    fix="parse_date drops the offset: on the day the clocks change the books are an hour off. Repair it and add tests.",
    answer="## Cause\n`parse_date` reads the first 19 characters, so an offset like `+02:00` is dropped; `day_bounds` "
    "then adds a fixed 24 hours. The day the clocks change has **23 hours**, so an hour is counted twice.\n\n"
    "## Repair\n- The offset is kept; the result is always in UTC, and a time without a zone is read as UTC.\n"
    f"- The bounds of a day come from `ZoneInfo`, no longer from 24 hours.\n\n{_CODE}\n\n"
    "| Input, 29 March | Before | After |\n|---|---|---|\n| `02:30:00+02:00` | 02:30 naive | 00:30 UTC |\n"
    "| `12:00:00Z` | 12:00 naive | 12:00 UTC |\n| `day_bounds` | 24 h | 23 h |\n",
    full_run="Last, all tests: nothing else may rely on the old behaviour.",
    steer="Leave report.py as it is.",
    queued="Then write the entry for the changelog.",
    question="Old entries have no zone. How should they be read?",
    choices=("As UTC, as the importer wrote them", "In the zone of their branch", "Refuse them"),
    plan="## Plan\n1. Read the offset in `parse_date`, naive stays UTC.\n2. Take the bounds of a day from `ZoneInfo`.\n"
    "3. Tests for the two days a year on which the clocks change.\n\nNothing but `src/ledger/dates.py` and its tests "
    "is touched.",
    todos=(
        "Find where dates are parsed",
        "Keep the offset",
        "Take day bounds from the zone",
        "Test both days the clocks change",
        "Tell the people who use the export",
    ),
    report="The report should leave out days without entries and count the others.",
    report_answer="An empty day and a day whose amounts cancel out look the same today. I change the test to the "
    "entries themselves.",
    story="The job walks through the days of a month and asks for the bounds of each. Until now a bound was a naive "
    "time plus 24 hours, so in the night of the change an hour belonged to two days.\n\nWhat follows from that:\n\n"
    "- entries of that hour are summed twice\n- the next day begins an hour late\n- the monthly total is right again, "
    "which is why nobody noticed",
    history=("Where is the total of a month checked?", "Write a test for empty days", "/theme nanoherm-light"),
    others=(
        ("Split the import job", "ledger", 2 * MINUTE),
        ("README 中文版", "ledger", 18 * MINUTE),
        ("Bump the http client", "ledger", DAY),
        ("Refactor the db pool", "atlas-api", HOUR),
        ("Edge cases of paging", "atlas-api", 3 * HOUR),
        ("Explain the retry budget of the gateway", "atlas-api", 2 * DAY),
        ("MCP 服务器笔记", "notes", 4 * DAY),
        ("Draft the release text", "notes", 6 * DAY),
    ),
)
ZH: Final = replace(
    EN,
    title="修复 parse_date 时区",
    where="对账任务在哪里跑？哪些模块会解析日期？",
    where_answer="对账由 `ledger.reconcile` 触发，每天一次；日期只在 `src/ledger/dates.py` 里解析，另外两处"
    "（importer.py、report.py）调用它。",
    fix="parse_date 丢掉了时区：夏令时那天的对账差一个小时。请修好它，并补上测试。",
    answer="## 原因\n`parse_date` 只取前 19 个字符，`+02:00` 这样的偏移被丢掉；"
    "`day_bounds` 再按固定的 24 小时推算下一天。夏令时切换那天只有 **23 小时**，对账于是多出一个小时。\n\n"
    "## 修复\n- 偏移保留，结果统一换算成 UTC；没有时区的输入按 UTC 处理。\n"
    f"- 一天的边界用 `ZoneInfo` 计算，不再加 24 小时。\n\n{_CODE}\n\n"
    "| 输入，3 月 29 日 | 修改前 | 修改后 |\n|---|---|---|\n| `02:30:00+02:00` | 02:30 naive | 00:30 UTC |\n"
    "| `12:00:00Z` | 12:00 naive | 12:00 UTC |\n| `day_bounds` | 24 h | 23 h |\n",
    full_run="最后跑一遍全部测试，确认别处没有依赖旧的行为。",
    steer="report.py 先不要动。",
    queued="然后写更新日志。",
    question="旧条目没有时区，应该怎样读？",
    choices=("按 UTC，导入时就是这样写的", "按各分行的时区", "拒绝"),
    plan="## 计划\n1. `parse_date` 读取偏移，没有时区的仍按 UTC。\n2. 一天的边界由 `ZoneInfo` 给出。\n"
    "3. 为每年两次换时的日子补测试。\n\n只动 `src/ledger/dates.py` 和它的测试。",
    todos=("找到解析日期的地方", "保留偏移", "一天的边界取自时区", "测试两次换时的日子", "告诉使用导出的人"),
    report="报表要略去没有条目的日子，并写出其余各天的条目数。",
    report_answer="没有条目的一天和金额正好抵消的一天，现在看起来一样。我改成看条目本身。",
    story="任务逐日走过一个月，向每一天要边界。以前的边界是没有时区的时间加 24 小时，"
    "所以换时的那一夜，有一个小时属于两天。\n\n"
    "由此而来的是：\n\n- 那一小时的条目被加了两次\n- 下一天晚开始一个小时\n- 月末总数又对了，所以没有人发现",
    history=("月度总数在哪里核对？", "为空的日子写一个测试", "/theme nanoherm-light"),
    others=(
        ("拆分导入任务", "ledger", 2 * MINUTE),
        ("README 中文版", "ledger", 18 * MINUTE),
        ("Bump the http client", "ledger", DAY),
        ("Refactor the db pool", "atlas-api", HOUR),
        ("分页接口的边界测试", "atlas-api", 3 * HOUR),
        ("Explain the retry budget of the gateway", "atlas-api", 2 * DAY),
        ("MCP 服务器笔记", "notes", 4 * DAY),
        ("Draft the release text", "notes", 6 * DAY),
    ),
)
WORDS: Final[dict[Language, Words]] = {"en": EN, "zh": ZH}


def fill_store(store: Store, clock: Clock, home: Path, language: Language) -> str:
    """Store the sessions of the pictures. Returns the id of the one that repaired the project."""
    words = WORDS[language]
    for title, folder, age in reversed(words.others):
        clock.now = START - age
        other = store.create(str(home / "work" / folder), title=title)
        store.append(other.id, _said("user", title, clock.now))
        store.append(other.id, _said("assistant", words.where_answer, clock.now))
    clock.now = START
    main = store.create(str(home / "work" / "ledger"), title=words.title)
    for message in _repair(words, language):
        store.append(main.id, message)
    states = ("completed", "completed", "completed", "in_progress", "pending")
    store.set_todos(main.id, [TodoItem(text, state) for text, state in zip(words.todos, states, strict=True)])
    return main.id


def _said(role: str, text: str, created: float, **more: object) -> Message:
    message = user(text) if role == "user" else Message("assistant", text)
    return replace(message, created=created, **more)


def _repair(words: Words, language: Language) -> list[Message]:
    """The conversation: a question, then the repair, as the tools of the program leave it in the store."""
    asked, began = START - 5 * MINUTE, START - MINUTE
    dates = diff.build("src/ledger/dates.py", DATES_BEFORE, DATES_AFTER)
    tests = diff.build("tests/test_dates.py", _TESTS_BEFORE, tests_after(language))
    calls: list[tuple[str, dict[str, object], ToolResult]] = [
        ("grep", {"pattern": "tzinfo=None", "path": "src/"}, _result("1 match in 1 file", seconds=0.1)),
        ("read_file", {"path": "src/ledger/dates.py"}, _result("53 lines")),
        ("edit_file", {"path": "tests/test_dates.py"}, replace(_result(diff.stat(tests)), diffs=(tests,))),
        (
            "run_command",
            {"command": "pytest -q tests/test_dates.py"},
            ToolResult(
                "", "", FAILED_RUN, False, outcome="2 failed, 14 passed", seconds=3.1,
                preview=(
                    "E       assert 02:30 == 00:30",
                    "FAILED tests/test_dates.py::test_offset_is_kept",
                    "FAILED tests/test_dates.py::test_short_day_in_march",
                ),
            ),
        ),
        ("edit_file", {"path": "src/ledger/dates.py"}, replace(_result(diff.stat(dates)), diffs=(dates,))),
        ("run_command", {"command": "pytest -q tests/test_dates.py"}, _result("16 passed", seconds=2.9)),
    ]  # fmt: skip
    conversation = [
        _said("user", words.where, asked),
        *_step(
            [("grep", {"pattern": "parse_date", "path": "src/"}, _result("9 matches in 3 files", seconds=0.1))],
            asked,
            "a",
        ),
        _said("assistant", words.where_answer, asked),
        _said("user", words.fix, began),
    ]
    thought = {"reasoning": "the offset is read, then thrown away by the slice text[:19]", "reasoning_seconds": 6.0}
    conversation += _step(calls, began, "b", **thought)
    return [*conversation, _said("assistant", words.answer, began)]


def _result(outcome: str, *, seconds: float = 0.0) -> ToolResult:
    return ToolResult("", "", outcome, outcome=outcome, seconds=seconds)


def _step(
    calls: list[tuple[str, dict[str, object], ToolResult]], created: float, key: str, **more: object
) -> list[Message]:
    asked = tuple(ToolCall(f"{key}{number}", name, arguments) for number, (name, arguments, _) in enumerate(calls))
    answers = [
        tool(replace(result, call_id=call.id, name=call.name))
        for call, (_, _, result) in zip(asked, calls, strict=True)
    ]
    return [_said("assistant", "", created, tool_calls=asked, **more), *answers]


# -- the model ----------------------------------------------------------------------------------------------------

FULL_RUN: Final = "pytest -q -n 4"
STALL: Final = 600.0
"""Seconds a reply stands still: longer than any picture takes."""
TOKENS: Final = 13_400
"""What a request takes, all in all."""
_USAGE: Final = {
    "prompt_tokens": 12_300,
    "completion_tokens": 1_100,
    "total_tokens": TOKENS,
    "prompt_tokens_details": {"cached_tokens": 9_800},
    "completion_tokens_details": {"reasoning_tokens": 240},
}
PRICES: Final = {"custom": {"prices": {"coder-30b": {"input": 2, "output": 8}}}}


def model(language: Language) -> Callable[[dict, int], Reply]:
    """Answers a request by its last user message: the n-th step of the turn that message begins."""
    words = WORDS[language]
    run = Reply(text=words.full_run, calls=[("run_command", {"command": FULL_RUN})], usage=_USAGE)
    report = {"path": "src/ledger/report.py", "old_text": REPORT_OLD, "new_text": REPORT_NEW}
    turns: dict[str, list[Reply]] = {
        "run": [run, Reply(text=words.where_answer)],
        "stream": [Reply(text=words.story, stall=STALL, usage=_USAGE)],
        "think": [Reply(reasoning="the offset is read, then thrown away by the slice", stall=STALL)],
        "report": [
            Reply(calls=[("read_file", {"path": "src/ledger/report.py"})], usage=_USAGE),
            Reply(text=words.report_answer, calls=[("edit_file", report)], usage=_USAGE),
        ],
        "write": [Reply(text=words.report_answer, stall=STALL)],
        "ask": [Reply(calls=[("ask_user", {"question": words.question, "choices": list(words.choices)})])],
        "plan": [Reply(calls=[("exit_plan", {"plan": words.plan})])],
        "break": [Reply(status=400)],
        "long": [Reply(text="\n\n".join(f"{n}. {words.where_answer}" for n in range(1, 60)), hang=1.0)],
        "short": [Reply(text=words.where_answer, usage=_USAGE)],
    }

    def reply(body: dict, number: int) -> Reply:
        messages = body["messages"]
        last = max(i for i, message in enumerate(messages) if message["role"] == "user")
        key = next((key for key, prompt in prompts(language).items() if prompt in messages[last]["content"]), "short")
        steps = turns[key]
        done = sum(message["role"] == "assistant" for message in messages[last:])
        return steps[min(done, len(steps) - 1)]

    return reply


def prompts(language: Language) -> dict[str, str]:
    """What is sent to have the model play each of its parts."""
    words = WORDS[language]
    english = language == "en"
    return {
        "run": "Run all the tests." if english else "把测试都跑一遍。",
        "stream": "Why did nobody notice?" if english else "为什么没有人发现？",
        "think": "Are there more places like this?" if english else "还有类似的地方吗？",
        "report": words.report,
        "write": "Write a test for that." if english else "为此写一个测试。",
        "ask": "What about old entries?" if english else "旧条目怎么办？",
        "plan": "Plan the repair." if english else "先做计划。",
        "break": "Try again." if english else "再试一次。",
        "long": "List every caller." if english else "列出每个调用处。",
        "short": "In short?" if english else "简单说呢？",
    }
