"""Worktrees in words. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nanoherm_tui import i18n
from nanoherm_tui.i18n import t
from nanoherm_tui.text import shorten_home, visible

if TYPE_CHECKING:
    from agent_core.git.worktrees import Worktree


def about(one: Worktree, sessions: int) -> str:
    """What is in it, how many sessions are worked in there, and where it lies."""
    return _listed([*_facts(one, sessions), shown(one.folder)])


def state(one: Worktree, sessions: int) -> str:
    """What is in it, and how many sessions are worked in there; "" when there is nothing to say."""
    return _listed(_facts(one, sessions))


def _listed(parts: list[str]) -> str:
    return ("，" if i18n.language() == "zh" else ", ").join(parts)


def _facts(one: Worktree, sessions: int) -> list[str]:
    parts = []
    if one.is_missing:
        parts.append(t("worktree.missing"))
    elif one.changed < 0 or one.unmerged < 0:
        parts.append(t("worktree.unknown"))
    if one.is_locked:
        parts.append(t("worktree.locked"))
    if one.changed > 0:
        parts.append(t("worktree.changed", n=one.changed))
    if one.unmerged > 0:
        parts.append(_count("unmerged", one.unmerged))
    if sessions:
        parts.append(_count("sessions", sessions))
    return parts


def sure_lines(one: Worktree) -> list[str]:
    """What becomes of the work in it when it is removed."""
    parts = [_count("sure_changed", one.changed)] if one.changed > 0 else []
    parts += [_count("sure_unmerged", one.unmerged)] if one.unmerged > 0 else []
    return [*parts, t("worktree.sure_folder", path=shown(one.folder))]


def _count(key: str, n: int) -> str:
    return t(f"worktree.{key}_one") if n == 1 else t(f"worktree.{key}", n=n)


def shown(folder: Path) -> str:
    """A folder as a person reads it."""
    return shorten_home(visible(str(folder)), str(Path.home()))
