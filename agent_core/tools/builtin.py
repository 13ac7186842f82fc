"""The built-in tools, in the order in which a model sees them."""

from __future__ import annotations

from agent_core.ports.tools import Tool

from . import (
    ask,
    command,
    edit,
    git_commit,
    git_diff,
    git_status,
    glob,
    grep,
    listing,
    patch,
    plan,
    read,
    search,
    tasks,
    web,
    write,
)


def builtin_tools() -> tuple[Tool, ...]:
    """Every built-in tool; the order never changes, so that a prompt's beginning stays the same."""
    return (
        read.TOOL,
        write.TOOL,
        edit.TOOL,
        patch.TOOL,
        listing.TOOL,
        grep.TOOL,
        glob.TOOL,
        command.TOOL,
        plan.TODO_WRITE_TOOL,
        plan.TODO_READ_TOOL,
        git_status.TOOL,
        git_diff.TOOL,
        git_commit.TOOL,
        ask.TOOL,
        plan.EXIT_PLAN_TOOL,
        plan.GOAL_DONE_TOOL,
        search.TOOL,
        tasks.START_TOOL,
        tasks.LIST_TOOL,
        tasks.OUTPUT_TOOL,
        tasks.KILL_TOOL,
        web.FETCH_TOOL,
        web.SEARCH_TOOL,
    )
