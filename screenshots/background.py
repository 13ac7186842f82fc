"""Commands in the background, sub-agents, and turns that changed files, for the pictures."""

from __future__ import annotations

from typing import Final

from agent_core.background import Task, TaskOutput
from agent_core.delegation import AgentRow
from agent_core.messages import DiffLine, FileDiff, Hunk, Message, ToolCall, ToolResult, tool, user
from agent_core.rollback import REASONS, ChangedFile, Checkpoint, PlannedFile, RollbackPlan
from nanoherm_tui.i18n import Language

_WORDS: Final = {
    "en": (
        "The parser drops the offset; keep it",
        "Write the report for every branch and say in the notes how the totals are made",
        "Set the project up",
    ),
    "zh": ("解析器丢掉了时区偏移，把它留住", "为每个分支写报表，并在说明里写清合计是怎么来的", "建好项目"),
}
_SERVED: Final = "".join(
    f'127.0.0.1 - - [29/Mar/2026 12:{n // 60:02}:{n % 60:02}] "GET /reports/2026-{n % 12 + 1:02}.json HTTP/1.1" 200 -\n'
    for n in range(90)
)


def tasks(session_id: str, now: float, folder: str) -> tuple[Task, ...]:
    """One of each state, the newest last."""

    def task(number: int, command: str, ago: float, **more: object) -> Task:
        box = "workspace-write, network" if number == 1 else "workspace-write"
        return Task(f"t{number}", session_id, command, folder, box, 4_000 + number, now - ago, **more)  # type: ignore[arg-type]

    served = {"output_bytes": len(_SERVED), "newest": _SERVED.splitlines()[-1], "kept": True}
    return (
        task(1, "python -m http.server 8017 --bind 127.0.0.1 --directory reports", 754, **served),
        task(2, "pytest -q tests/slow", 610, state="ended", ended=now - 480, exit_code=1),
        task(3, "make docs", 320, state="ended", ended=now - 311, exit_code=0),
        task(4, "tail -f logs/ledger.log", 300, state="killed", ended=now - 90, signal=15),
        task(5, "ptw --now . -- -q", 42, newest="16 passed in 1.82s", output_bytes=512),
    )


_PARTS: Final = {
    "en": (
        "Where are dates parsed, and who calls that?",
        "Which tests read the ledger's files?",
        "Does anything else drop the offset?",
        "Compare the report's totals with the ledger's",
        "Dates are parsed in src/dates.py:12; the importer and the report call it.",
        "The account has no credit left. Add some, or choose another model.",
        "I look for the places that make a date from text.",
    ),
    "zh": (
        "日期在哪里解析，谁在调用？",
        "哪些测试会读账本文件？",
        "还有别处丢掉时区偏移吗？",
        "把报表的合计与账本核对",
        "日期在 src/dates.py:12 解析，导入器和报表都调用它。",
        "账户没有余额了。充值，或换一个模型。",
        "我找出由文字生成日期的地方。",
    ),
}


def agents(language: Language, now: float) -> tuple[AgentRow, ...]:
    """One of each state, the newest last."""
    first, second, third, fourth, found, failed, _ = _PARTS[language]
    return (
        AgentRow("agent-1", "explorer", first, "done", now - 95, now - 61, "s1", "", 7, 21_480, preview=found),
        AgentRow("agent-2", "reviewer", second, "failed", now - 94, now - 80, "s2", "", 2, 5_210, preview=failed),
        AgentRow("agent-3", "explorer", third, "interrupted", now - 90, now - 52, "s3", "", 4, 9_930),
        AgentRow("agent-4", "explorer", third, "running", now - 34, None, "s4", "", 5, 12_060, "grep fromisoformat"),
        AgentRow("agent-5", "worker", fourth, "waiting", now - 3, group="survey", background=True),
    )


def account(language: Language) -> list[Message]:
    """What the fourth of them has said and done."""
    _, _, third, *_, looks = _PARTS[language]
    calls = (
        ToolCall("a1", "grep", {"pattern": "fromisoformat"}),
        ToolCall("a2", "read_file", {"path": "src/dates.py"}),
    )
    return [
        user(third),
        Message("assistant", looks, tool_calls=calls),
        tool(ToolResult("a1", "grep", "", outcome="3 matches in 2 files")),
        tool(ToolResult("a2", "read_file", "", outcome="41 lines")),
        Message("assistant", "", tool_calls=(ToolCall("a3", "read_file", {"path": "src/report.py"}),)),
    ]


def output(task: Task, start: int, limit: int) -> TaskOutput:
    """A piece of what the first of them has written."""
    piece = _SERVED[start : start + limit]
    return TaskOutput(task, piece, start, start + len(piece))


def turns(language: Language, now: float, message_id: str) -> tuple[Checkpoint, ...]:
    """The newest first, the newest being the one that the message `message_id` began."""
    fix, report, begin = _WORDS[language]
    return (
        Checkpoint(
            message_id,
            fix,
            now - 120,
            (
                ChangedFile("src/ledger/dates.py", "edit", "tool"),
                ChangedFile("tests/test_dates.py", "create", "tool"),
                ChangedFile("build/coverage.sqlite", "edit", "command", "not_kept", REASONS["too_large"]),
            ),
        ),
        Checkpoint("turn-2", report, now - 4_000, (ChangedFile("src/ledger/report.py", "edit", "tool"),)),
        Checkpoint("turn-1", begin, now - 90_000, (ChangedFile("pyproject.toml", "create", "tool", "undone"),)),
    )


def plan(turn_id: str) -> RollbackPlan:
    return RollbackPlan(
        turn_id,
        (
            PlannedFile("src/ledger/dates.py", "restore"),
            PlannedFile("tests/test_dates.py", "remove"),
            PlannedFile("docs/how-the-totals-are-made/notes.md", "recreate", by="command"),
            PlannedFile("build/coverage.sqlite", "leave", REASONS["too_large"], "command"),
            PlannedFile("README.md", "leave", REASONS["changed_since"]),
        ),
    )


def diff() -> FileDiff:
    """What rolling src/ledger/dates.py back would change."""
    lines = (
        DiffLine("same", "def parse_date(text: str) -> datetime:", 32, 32),
        DiffLine("same", '    """Read ISO 8601; without an offset it is UTC."""', 33, 33),
        DiffLine("remove", "    value = datetime.fromisoformat(text.strip())", 34, None),
        DiffLine("remove", "    return value if value.tzinfo else value.replace(tzinfo=UTC)", 35, None),
        DiffLine("add", "    stamp = text.strip()[:19]", None, 34),
        DiffLine("add", "    return datetime.fromisoformat(stamp).replace(tzinfo=UTC)", None, 35),
    )
    return FileDiff("src/ledger/dates.py", (Hunk(32, 32, lines),), 2, 2, lines_after=60)
