"""What the tools of one session work with: its plan, its grants, what the model has seen of files, and the rules."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import events, spill
from agent_core.cancel import CancelScope
from agent_core.events import Event
from agent_core.grants import Grants
from agent_core.messages import ToolCall
from agent_core.names import ApprovalPolicy, Mode
from agent_core.ports import Asker, Decided, TodoItem, ToolContext
from agent_core.services import SessionServices
from agent_core.store.audit import for_the_record, is_worth_a_row

if TYPE_CHECKING:
    from agent_core.safety.shell_trust import TrustContext
    from agent_core.tools.registry import Toolbox


class Kit:
    """Lives as long as its session; each turn gets a toolbox made from it."""

    def __init__(self, services: SessionServices, session_id: str, emit: Callable[[Event], None]) -> None:
        self.todos = Todos(services, session_id, emit)
        self.grants = Grants()
        self.files = SeenFiles()
        self._services = services
        self._session_id = session_id

    def toolbox(
        self,
        workspace: Path,
        scope: CancelScope,
        asker: Asker,
        emit: Callable[[Event], None],
        mode: Callable[[], tuple[Mode, ApprovalPolicy]],
        set_mode: Callable[[str], None],
    ) -> Toolbox:
        """The tools for one turn. `mode` is asked at each call, so that a switched one acts on the next step."""
        # They, and the rules before them, come with the first turn: no start waits for them.
        from agent_core.safety.policy import Situation
        from agent_core.safety.shell_trust import TrustContext, git_config_names_helpers
        from agent_core.tools.registry import Toolbox, toolbox_of

        services = self._services
        confine = services.confinement(self._session_id, workspace)

        def situation() -> Situation:
            now = services.containment()
            return Situation(*mode(), services.unattended, now.sandbox, now.kernel, now.network, now.accepted)

        def trust(cwd: Path) -> TrustContext:
            return TrustContext(
                cwd=cwd,
                path_env=services.command_env.get("PATH", ""),
                home=services.home,
                git_is_plain=not git_config_names_helpers(cwd),
            )

        def record(decided: Decided) -> None:
            if is_worth_a_row(decided):
                keep = services.store.audit.stage if decided.call_id else services.store.audit.add
                keep(self._session_id, str(workspace), for_the_record(decided, services.redact))

        def started(call: ToolCall) -> None:
            emit(events.ToolStarted(call.id))

        def progress(call: ToolCall, text: str) -> None:
            emit(events.ToolProgress(call.id, text))

        return Toolbox(
            tools=toolbox_of(services.tools()),
            context=ToolContext(
                workspace=workspace,
                home=services.home,
                data_home=services.data_home,
                cancel=scope,
                asker=asker,
                backend=services.backend(confine),
                confine=confine,
                todos=self.todos,
                files=self.files,
                env=services.command_env,
                command_timeout=services.command_timeout,
                respect_gitignore=services.respect_gitignore,
                set_mode=set_mode,
                keys=services.keys,
                recall=lambda query, limit: services.recall(query, limit, self._session_id),
                read_paths=(services.data_home / spill.FOLDER,),
                add_dirs=services.add_dirs,
                safe_roots=services.safe_roots,
                hidden=services.hidden(workspace),
                bounds=services.result_bounds,
            ),
            situation=situation,
            grants=self.grants,
            trust=trust,
            redact=services.redact,
            deny=services.deny,
            started=started,
            progress=progress,
            record=record,
            results=spill.Results(services.result_bounds, services.data_home / spill.FOLDER),
        )


class Todos:
    """The session's todo list: in the store, and told to the listeners."""

    def __init__(self, services: SessionServices, session_id: str, emit: Callable[[Event], None]) -> None:
        self._services = services
        self._session_id = session_id
        self._emit = emit
        self._items: tuple[TodoItem, ...] = ()

    def load(self, items: tuple[TodoItem, ...]) -> None:
        """Take over what was stored."""
        self._items = items
        if items:
            self._emit(events.PlanChanged(items))

    def read(self) -> tuple[TodoItem, ...]:
        return self._items

    def write(self, items: tuple[TodoItem, ...]) -> None:
        items = tuple(replace(item, text=self._services.redact(item.text)) for item in items)
        self._services.store.set_todos(self._session_id, items)
        self._items = items
        self._emit(events.PlanChanged(items))


class SeenFiles:
    """Content hashes of what the model has seen in this session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[Path, str] = {}

    def saw(self, path: Path, digest: str) -> None:
        with self._lock:
            self._seen[path] = digest

    def seen(self, path: Path) -> str | None:
        with self._lock:
            return self._seen.get(path)
