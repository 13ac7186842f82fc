"""What is said of a command in the background: to the model, and to the person when one has ended."""

from __future__ import annotations

import time

from agent_core import limits
from agent_core.background import Task
from agent_core.events import Notice
from agent_core.text.ansi import clean


def how_it_is(task: Task) -> str:
    """A task's state in a sentence, for the model."""
    name = f"Task {task.id} ({clean(task.command, '')[: limits.PROBLEM_CHARS]})"
    took = f"{(task.ended or time.time()) - task.started:.0f} s"
    if task.state == "running":
        return f"{name} is running, for {took} now."
    if task.state == "killed":
        return f"{name} was ended after {took}."
    if task.state == "closed":
        return f"{name} was ended after {took}, together with the program."
    if task.state == "lost":
        return f"{name} went away while nobody watched it; how it ended is not known."
    if task.signal is not None:
        return f"{name} was ended by signal {task.signal} after {took}."
    how = f" with exit code {task.exit_code}" if task.exit_code is not None else ""
    return f"{name} ended{how} after {took}."


def ended_notice(task: Task) -> Notice:
    params = {"task": task.id, "command": " ".join(task.command.split())[: limits.SUBJECT_CHARS]}
    if task.state == "lost":
        return Notice("task_lost", f"A task was lost: {params['command']}", "warning", params)
    if task.signal is not None:
        text = f"A task was ended by signal {task.signal}: {params['command']}"
        return Notice("task_signal", text, "warning", params | {"n": task.signal})
    if task.exit_code:
        text = f"A task ended with exit code {task.exit_code}: {params['command']}"
        return Notice("task_failed", text, "warning", params | {"n": task.exit_code})
    return Notice("task_ended", f"A task has ended: {params['command']}", "info", params)
