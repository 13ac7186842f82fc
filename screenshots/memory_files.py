"""What somebody has had remembered, in the language of the screen, and a memory that waits."""

from __future__ import annotations

import time
from pathlib import Path

from agent_core.desk.host import Host
from agent_core.knowledge import Memory, MemoryKind
from agent_core.memory import staging
from nanoherm_tui.i18n import Language

_DAY = 86_400
_MEMORIES: dict[Language, tuple[tuple[MemoryKind, str], ...]] = {
    "en": (
        ("fact", "The integration tests need Redis on port 7000; make redis starts it."),
        ("lesson", "The flaky clock test was a frozen time that another test forgot to restore."),
        ("correction", "Weeks begin on Monday in this project, also in the reports."),
        ("preference", "Answer in short sentences, without headings."),
        ("fact", "Releases are made by a tag; the notes come from the commits."),
        ("preference", "Use uv, not pip, wherever a package has to be installed."),
    ),
    "zh": (
        ("fact", "集成测试需要 7000 端口上的 Redis，用 make redis 启动。"),
        ("lesson", "时钟测试不稳定，是因为另一个测试忘了恢复被冻结的时间。"),
        ("correction", "这个项目的一周从星期一开始，报表也一样。"),
        ("preference", "回答用短句，不要标题。"),
        ("fact", "打标签就会发布，发布说明来自提交记录。"),
        ("preference", "安装软件包一律用 uv，不用 pip。"),
    ),
}
_WAITS: dict[Language, str] = {"en": "The staging host is rebuilt every night.", "zh": "预发布主机每晚重建。"}


def make(host: Host, workspace: Path, language: Language, now: float | None = None) -> None:
    """Have them remembered, and one wait."""
    now = time.time() if now is None else now
    first = ""
    for number, (kind, text) in enumerate(_MEMORIES[language]):
        made = Memory(
            "",
            kind,
            text,
            now - (9 - number) * _DAY,
            scope="" if kind == "preference" else str(workspace),
            origin="distilled" if kind == "lesson" else "model",
            verified=kind == "preference",
            derived=(first,) if kind == "lesson" else (),
        )
        kept = host.memory.add(made)
        first = first or (kept.id if kept is not None else "")
    staging.stage(host.pending, Memory("", "fact", _WAITS[language], origin="distilled"))
