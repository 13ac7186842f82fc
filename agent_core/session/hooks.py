"""A session's hooks: which count, when they run, and what they say told to the model and to the person."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.events import Event, Notice
from agent_core.hooks import Event as HookEvent
from agent_core.hooks import Heard, Hook, Hooks
from agent_core.messages import ToolCall
from agent_core.ports.asking import Asker, Question, Reply
from agent_core.ports.tools import Args, ToolOutput
from agent_core.records import dataclass
from agent_core.session.services import SessionServices

CONTEXT_HEAD = "[A hook of the user adds to this request:]"


class SessionHooks:
    """Which hooks count is read when a turn begins, and holds for that turn. Called on the session's worker, but for
    what a tool's call or a question brings about."""

    def __init__(
        self, services: SessionServices, session_id: str, workspace: Path, emit: Callable[[Event], None]
    ) -> None:
        self._services = services
        self._emit = emit
        self._hooks = Hooks((), workspace, session_id, services.command_env, services.redact)
        self._lock = threading.Lock()
        self._told: set[str] = set()
        """Problems that the person knows of."""
        self._begun = False

    # -- a turn -------------------------------------------------------------------------------------------------

    def look(self, emit: Callable[[Event], None]) -> None:
        """Read which hooks count from now on. `emit` tells what is wrong with the others, once."""
        found = self._services.hooks(self._hooks.workspace)
        self._emit = emit
        self._hooks = replace(self._hooks, hooks=found.hooks)
        for problem in found.problems:
            self._tell_once(Notice(problem.code, problem.text, "warning", problem.params))

    def begin(self, prompt: str, emit: Callable[[Event], None], scope: CancelScope) -> str:
        """A turn begins with what the person wrote. Gives what hooks add to it, for the model. Raises Interrupted."""
        self.look(emit)
        if not self._begun:
            self._begun = True
            self._run("SessionStart", {}, scope)
        heard = self._run("UserPromptSubmit", {"prompt": prompt}, scope)
        return "\n".join((CONTEXT_HEAD, *heard.remarks)) if heard.remarks else ""

    def ended(self, outcome: str, text: str, scope: CancelScope) -> None:
        """The turn is at its end; one that is stopped then is over all the same."""
        try:
            self._run("TurnEnd", {"outcome": outcome, "text": text}, scope)
        except Interrupted:
            pass

    def compacting(self, messages: int, scope: CancelScope) -> None:
        """The older part of the history is about to be summarised. Raises Interrupted."""
        self._run("PreCompact", {"messages": messages}, scope)

    # -- a call -------------------------------------------------------------------------------------------------

    def veto(self, scope: CancelScope) -> Callable[[ToolCall, str, Args], str]:
        """Asks the hooks whether a call may run (Toolbox.veto). Raises Interrupted."""

        def veto(call: ToolCall, name: str, arguments: Args) -> str:
            heard = self._run("PreToolUse", {"call": call.id}, scope, tool=name, arguments=arguments)
            if heard.by is not None:
                self._emit(_vetoed(heard.by, name))
            return heard.veto

        return veto

    def remark(self, scope: CancelScope) -> Callable[[ToolCall, str, Args, ToolOutput], str]:
        """What the hooks say of a result (Toolbox.remark)."""

        def remark(call: ToolCall, name: str, arguments: Args, output: ToolOutput) -> str:
            facts = {"call": call.id, "ok": output.ok, "result": output.text}
            try:
                heard = self._run("PostToolUse", facts, scope, tool=name, arguments=arguments)
            except Interrupted:  # the call has its result all the same
                return ""
            return "\n".join(heard.remarks)

        return remark

    def notifying(self, asker: Asker, scope: CancelScope) -> Asker:
        """`asker`, and hooks are told that a person is waited for; nobody waits for them."""
        if self._services.unattended or not self._hooks.has("Notification"):
            return asker
        return _Notifying(asker, lambda question: self._notify(question, scope))

    def _notify(self, question: Question, scope: CancelScope) -> None:
        facts = {"question": question.kind, "title": question.title, "command": question.command}

        def run() -> None:
            try:
                self._run("Notification", facts, scope)
            except Interrupted:
                pass

        threading.Thread(target=run, name="hook", daemon=True).start()

    # -- the end ------------------------------------------------------------------------------------------------

    @property
    def farewell(self) -> bool:
        """Closing the session runs hooks."""
        return self._begun and self._hooks.has("SessionEnd")

    def close(self) -> None:
        """The session is closed. Takes at most limits.SESSION_END_HOOKS for each hook."""
        if self.farewell:
            self._run("SessionEnd", {}, CancelScope(), at_most=limits.SESSION_END_HOOKS)

    def _run(
        self,
        event: HookEvent,
        facts: Mapping[str, Any],
        scope: CancelScope,
        *,
        tool: str = "",
        arguments: Args | None = None,
        at_most: float = limits.HOOK_TIMEOUT,
    ) -> Heard:
        heard = self._hooks.tell(event, facts, scope, tool=tool, arguments=arguments, at_most=at_most)
        for hook, how in heard.warnings:
            self._tell_once(_failed(hook, how))
        return heard

    def _tell_once(self, notice: Notice) -> None:
        with self._lock:
            if notice.text in self._told:
                return
            self._told.add(notice.text)
        self._emit(notice)


@dataclass(frozen=True, slots=True)
class _Notifying:
    asker: Asker
    notify: Callable[[Question], None]

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        self.notify(question)
        return self.asker.ask(question, cancel)


def _vetoed(hook: Hook, tool: str) -> Notice:
    return Notice(
        "hook_vetoed",
        f"A hook forbade {tool}: {hook.name} ({hook.source}).",
        "warning",
        {"tool": tool, "hook": hook.name, "file": hook.source},
    )


def _failed(hook: Hook, how: str) -> Notice:
    return Notice(
        "hook_failed",
        f"A hook of {hook.event} failed, {how}. It is {hook.name} ({hook.source}).",
        "warning",
        {"event": hook.event, "how": how, "hook": hook.name, "file": hook.source},
    )
