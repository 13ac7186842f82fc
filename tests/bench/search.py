"""Search over 100,000 messages: how long an answer takes, how long the index takes to be made, and what it weighs."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.store.bodies import body_of, insert
from agent_core.store.rows import recount
from agent_core.store.search import Search
from agent_core.store.sessions import Store
from tests.bench.bars import Bar
from tests.bench.liveness import percentile

if TYPE_CHECKING:
    from tests.bench.lab import Lab

MESSAGES = 100_000
SESSIONS = 500
SEED = 11
QUERIES = (
    "时区", "修复 时区", "上下文压缩", "解析器丢掉了偏移", "猫", "测试", '"夏令时 那天"', "会话 search", "the",
    "parse_date", "parseDate", "os.path.join", "par", "ledger export", '"close the month"', "pytest -q",
    "error timeout retry", "x", "src/ledger/dates.py", "zzqx", "README",
)  # fmt: skip
"""Chinese of every length, words that are everywhere and nowhere, identifiers, beginnings of words, phrases."""
ENGLISH = (
    "the", "a", "to", "of", "and", "in", "is", "it", "that", "for", "on", "with", "as", "this", "be", "by", "are",
    "not", "from", "or", "an", "at", "if", "was", "file", "test", "function", "error", "value", "line", "return",
    "parse", "date", "month", "ledger", "export", "import", "session", "search", "index", "store", "message",
    "timeout", "retry", "server", "model", "token", "stream", "client", "request", "reply", "close", "open",
    "write", "read", "path",
)  # fmt: skip
CHINESE = (
    "的", "时区", "修复", "测试", "文件", "函数", "错误", "解析器", "偏移", "丢掉", "上下文", "压缩",
    "会话", "搜索",
    "索引", "数据库", "消息", "服务器", "模型", "请求", "超时", "重试", "配置", "默认", "结果", "状态", "屏幕",
    "夏令时", "那天", "对账", "小时", "补上", "问题", "代码", "运行", "命令", "检查", "提交", "分支", "缓存", "线程",
    "中断", "恢复", "猫",
)  # fmt: skip
IDENTIFIERS = ["parse_date", "parseDate", "os.path.join", "day_bounds", "SessionView", "src/ledger/dates.py",
               "HTTPServer", "read_file", "pytest -q", "sha256"]  # fmt: skip


def _words(dice: random.Random, words: Sequence[str], count: int) -> list[str]:
    """As in language: a few are everywhere, most are rare, and there are always new ones."""
    weights = [1 / (n + 1) for n in range(len(words))]
    return [w if dice.random() > 0.1 else f"{w}{dice.randrange(3000)}" for w in dice.choices(words, weights, k=count)]


def _text(dice: random.Random, size: int) -> str:
    parts = []
    for _ in range(size):
        parts.append(" ".join(_words(dice, ENGLISH, dice.randint(4, 12))) + ".")
        parts.append("".join(dice.choices(CHINESE, k=dice.randint(4, 10))) + "。")
        parts.append(dice.choice(IDENTIFIERS))
    return " ".join(parts)


def _turn(dice: random.Random, number: int) -> list[Message]:
    call = ToolCall(f"c{number}", "read_file", {"path": f"src/part{number % 7}/module{number % 13}.py"})
    return [
        user(_text(dice, 1)),
        Message("assistant", "", reasoning=_text(dice, 1), tool_calls=(call,)),
        tool(ToolResult(call.id, call.name, _text(dice, 4), outcome="40 lines", seconds=0.1)),
        Message("assistant", _text(dice, 2)),
    ]


def big_store(lab: Lab) -> Path:
    """A database with MESSAGES messages in SESSIONS sessions, made once."""
    file = lab.folder / "search" / "state.db"
    if file.exists():
        return file
    dice = random.Random(SEED)
    store = Store.open(file)
    ids = [store.create("/projects/ledger", title=" ".join(dice.sample(CHINESE, 2))).id for _ in range(SESSIONS)]

    def fill(c: sqlite3.Connection) -> None:
        for number in range(MESSAGES // 4):
            session = ids[number % SESSIONS]
            for place, message in enumerate(_turn(dice, number), 1 + number // SESSIONS * 4):
                insert(c, session, message, body_of(message), place)
        for session in ids:
            recount(c, session)

    store.database.write(fill)
    store.close()
    return file


@contextlib.contextmanager
def _searching(lab: Lab) -> Iterator[Search]:
    file = big_store(lab)
    store = Store.open(file)
    search = Search(store, file.with_name("search.db"), file.with_name("cache"))
    try:
        yield search
    finally:
        search.close()
        store.close()


@dataclass(frozen=True, slots=True)
class Built:
    seconds: float
    share: float
    """Bytes of the index for each byte of the database."""


def built(lab: Lab) -> Built:
    """The index made from nothing."""
    file = big_store(lab)
    index = file.with_name("search.db")
    index.unlink(missing_ok=True)
    with _searching(lab) as search:
        begun = time.perf_counter()
        if search.find("zzqx", wait=600.0).left:
            raise TimeoutError("the index was not made in 600 s")
        seconds = time.perf_counter() - begun
    return Built(seconds, index.stat().st_size / file.stat().st_size)


@dataclass(frozen=True, slots=True)
class Asked:
    """Milliseconds from a query to its hits."""

    median: float
    slow: float


def asked(lab: Lab) -> Asked:
    lab.once(built)
    waits: list[float] = []
    with _searching(lab) as search:
        search.find("上下文压缩", wait=600.0)  # the dictionary is loaded once a session of searching
        for query in QUERIES * 3:
            begun = time.perf_counter()
            search.find(query)
            waits.append(time.perf_counter() - begun)
    return Asked(1000 * percentile(waits, 0.5), 1000 * percentile(waits, 0.95))


BARS = (
    Bar("search: 100,000 messages, a query to its hits", 100.0, "ms", lambda lab: lab.once(asked).median),
    Bar("search: 100,000 messages, the same, p95", 500.0, "ms", lambda lab: lab.once(asked).slow),
    Bar("search: 100,000 messages, the index made from nothing", 360.0, "s", lambda lab: lab.once(built).seconds),
    Bar("search: the index, for each byte of the database", 1.0, "×", lambda lab: lab.once(built).share),
)
