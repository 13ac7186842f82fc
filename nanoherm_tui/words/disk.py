"""What lies on the disk, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.text import one_line, size

if TYPE_CHECKING:
    from agent_core.desk.disk_report import DiskReport


def parts(report: DiskReport) -> list[tuple[str, str]]:
    """(what, size) of everything that is there, the sum last."""
    return [
        *((t(f"disk.{name}"), size(taken)) for name, taken in report.parts if taken),
        (t("disk.sum"), size(report.total)),
    ]


def sessions(report: DiskReport) -> list[tuple[str, str, str]]:
    """(title, messages, size) of the largest ones, and of all others together."""
    shown, rest = report.sessions[: limits.DISK_SESSIONS], report.sessions[limits.DISK_SESSIONS :]
    rows = []
    for session in shown:
        title = one_line(session.title) or t("sessions.untitled")
        mark = f"  ({t('disk.deleted')})" if session.deleted else ""
        rows.append((title + mark, str(session.messages), size(session.size)))
    if rest:
        rows.append((t("disk.more", n=len(rest)), str(sum(s.messages for s in rest)), size(sum(s.size for s in rest))))
    return rows
