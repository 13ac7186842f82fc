"""What the tools of one session work with: its plan, its grants, what the model has seen of files, and the rules."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import events, spill
from agent_core.after_edit import Checker, Terms
from agent_core.cancel import CancelScope
from agent_core.events import Event
from agent_core.grants import Grants, Scope
from agent_core.grants_file import CommandGrant, Grant, covers_host
from agent_core.intents import Intent
from agent_core.jobs.registry import Runner
from agent_core.messages import ToolCall
from agent_core.names import ApprovalPolicy, Mode
from agent_core.ports.actions import ReadAction, WebAction
from agent_core.ports.asking import Asker, Decided
from agent_core.ports.commands import TerminalBackend
from agent_core.ports.extras import EndedTurn, Extra, Learning, Settling
from agent_core.ports.means import ChangeLog, NoChangeLog, TodoItem, Web
from agent_core.ports.tools import Checked, Tool, ToolContext
from agent_core.process.command import LocalBackend
from agent_core.sandbox.env import LentEnv
from agent_core.sandbox.policy import UNCONFINED, Box, SandboxPolicy
from agent_core.session.goal import GoalKeeper
from agent_core.session.services import Connection, Seat, SessionServices, nothing_apart
from agent_core.store.audit import for_the_record, is_worth_a_row
from agent_core.text.printable import printable

if TYPE_CHECKING:
    from agent_core.mind.reviewer import Reviewer
    from agent_core.mind.turn import TurnTools
    from agent_core.safety.policy import Situation
    from agent_core.safety.shell_trust import TrustContext
    from agent_core.tools.toolbox import Toolbox
from agent_core.tools.seen_files import SeenFiles

log = logging.getLogger(__name__)


class Kit:
    """Lives as long as its session; each turn gets a toolbox made from it."""

    def __init__(
        self, services: SessionServices, session_id: str, workspace: Path, emit: Callable[[Event], None]
    ) -> None:
        self.todos = Todos(services, session_id, emit)
        self.goal = GoalKeeper(services, session_id, emit)
        self.grants = Grants(
            Scope(
                workspace,
                session_id,
                path=services.command_env.get("PATH", ""),
                file=services.grants,
                is_trusted=lambda command, folder: is_trusted(services, command, folder),
                redact=services.redact,
                record=self._granted,
                tell=lambda error: emit(events.Notice(error.code, error.text, "warning", error.params)),
            )
        )
        self.files = SeenFiles()
        self.tasks = services.tasks(session_id, emit)
        self._checker = Checker(emit)
        self._env = LentEnv(services.command_env)
        self._services = services
        self._session_id = session_id
        self._emit = emit
        self.workspace = workspace
        self._extras: tuple[Extra, ...] | None = None
        self._extras_lock = threading.Lock()
        self.turn: TurnTools | None = None
        """What the turn that runs works with."""
        self.apart: Callable[[CancelScope, str], AbstractContextManager[TurnTools]] = nothing_apart
        self.come: Callable[[], None] = lambda: None
        """As in Seat; the session says what they do, before there are extras."""
        self.refused: frozenset[str] = frozenset()
        """Tools of extras that a model's server refuses: they are no longer offered (mcp.md R26)."""
        self._heeding: list[Callable[[Intent], None]] = []
        self._reviewer: Reviewer | None = None
        self._web: Web | None = None

    def _granted(self, grant: Grant) -> None:
        where = box = workspace = ""
        if isinstance(grant, CommandGrant):
            where, box, workspace = grant.cwd or grant.workspace, grant.box.words, grant.workspace
        decided = Decided("grant", grant.pattern, "allow", "always", "person", where, box)
        services = self._services
        services.store.audit.add(self._session_id, workspace, for_the_record(decided, services.redact))

    @property
    def extras(self) -> tuple[Extra, ...]:
        """What the session has beside the built-in tools; made when it is first asked for: no start waits for it."""
        with self._extras_lock:
            if self._extras is None:
                self._extras = self._services.extras(
                    Seat(
                        self._session_id,
                        self.workspace,
                        self._emit,
                        lambda: self.turn,
                        self._heeding.append,
                        self.apart,
                        self.come,
                        self._env.lend,
                    )
                )
            return self._extras

    def tools(self) -> tuple[Tool, ...]:
        """The built-in tools, and behind them those of the extras as they are now; a name is there once."""
        found = {tool.name: tool for tool in self._services.tools()}
        for extra in self.extras:
            for tool in extra.tools():
                found.setdefault(tool.name, tool)
        return tuple(found.values())

    def settle(self, cancel: CancelScope) -> None:
        """Wait for tools that a turn is to have. Raises AgentError when it cannot begin, Interrupted."""
        for extra in self.extras:
            if isinstance(extra, Settling):
                extra.settle(cancel)

    @property
    def made(self) -> tuple[Extra, ...]:
        """The extras that were made by now. Does not wait."""
        return self._extras or ()

    @property
    def is_learning(self) -> bool:
        """An extra is still at work for later turns."""
        return any(isinstance(extra, Learning) and extra.is_learning for extra in self.made)

    def refuse(self, name: str) -> None:
        """This tool is not offered any more."""
        self.refused |= {name}

    def heed(self, intent: Intent) -> None:
        """Pass an intent on to the extras that are there. Never blocks."""
        for heeds in tuple(self._heeding):
            heeds(intent)

    def let_go(self) -> None:
        """The session rests: what was made for its turns goes, and is made anew when it is asked for."""
        with self._extras_lock:
            extras, self._extras = self._extras or (), None
            self._heeding.clear()
        self.turn = None
        _close(extras)

    def close(self) -> None:
        """The session is closed."""
        with self._extras_lock:
            extras, self._extras = self._extras or (), ()
        _close(extras)

    def ended(self, turn: EndedTurn) -> None:
        """A turn has ended: tell the extras."""
        for extra in self.extras:
            try:
                extra.ended(turn)
            except Exception:  # what one makes of it is no part of the turn
                log.exception("an extra did not take in the end of a turn")

    def toolbox(
        self,
        workspace: Path,
        scope: CancelScope,
        asker: Asker,
        emit: Callable[[Event], None],
        mode: Callable[[], tuple[Mode, ApprovalPolicy]],
        leave_mode: Callable[[Mode], Mode],
        changes: ChangeLog | None = None,
    ) -> Toolbox:
        """The tools for one turn. `mode` is asked at each call, so that a switched one acts on the next step."""
        # They, and the rules before them, come with the first turn: no start waits for them.
        from agent_core.tools.toolbox import Toolbox, toolbox_of

        services = self._services
        walls = services.confinement(self._session_id, workspace)

        def confine(box: Box) -> SandboxPolicy | None:
            policy = walls.policy(box)
            return policy and replace(policy, hidden=self._still_hidden(policy.hidden, workspace))

        def situation() -> Situation:
            return situation_of(services, *mode(), walls.gap())

        def listed(host: str) -> bool:
            return any(covers_host(pattern, host) for pattern in services.allow_hosts)

        def may_visit(host: str) -> bool:
            now = situation()
            free = now.policy != "always" and (now.network or now.is_free or listed(host))
            return free or self.grants.covers(WebAction("", host))

        def check(paths: Iterable[Path], ctx: ToolContext) -> Checked:
            found = services.checks(workspace)
            if not found.checks and not found.problems:
                return Checked()
            return self._checker.run(found, paths, ctx, self._terms(workspace, situation(), services.backend(confine)))

        reviewer = self._reviewing()

        def record(decided: Decided) -> None:
            if reviewer is not None:
                reviewer.heard(decided)
            if is_worth_a_row(decided):
                keep = services.store.audit.stage if decided.call_id else services.store.audit.add
                keep(self._session_id, str(workspace), for_the_record(decided, services.redact))

        def started(call: ToolCall) -> None:
            emit(events.ToolStarted(call.id))

        def progress(call: ToolCall, text: str) -> None:
            emit(events.ToolProgress(call.id, text))

        return Toolbox(
            tools=toolbox_of(self.tools()),
            context=ToolContext(
                workspace=workspace,
                home=services.home,
                data_home=services.data_home,
                cancel=scope,
                asker=asker,
                backend=self._backend(confine),
                confine=confine,
                todos=self.todos,
                files=self.files,
                env=self._env,
                command_timeout=services.command_timeout,
                respect_gitignore=services.respect_gitignore,
                leave_mode=leave_mode,
                goal_reached=self.goal.reached,
                keys=services.keys,
                recall=lambda query, limit: services.recall(query, limit, self._session_id),
                read_paths=(services.data_home / spill.FOLDER, *services.read_paths),
                add_dirs=services.add_dirs,
                safe_roots=services.safe_roots,
                hidden=services.hidden(workspace),
                bounds=services.result_bounds,
                web=self._the_web(),
                may_visit=may_visit,
                changes=changes or NoChangeLog(),
                after_edit=check,
                tasks=Runner(self.tasks, confine, walls.apart) if self.tasks is not None else None,
            ),
            situation=situation,
            mode=lambda: mode()[0],
            grants=self.grants,
            trust=lambda folder: trust_context(services, folder),
            redact=services.redact,
            deny=services.deny,
            listed=listed,
            started=started,
            progress=progress,
            review=reviewer.review if reviewer is not None else None,
            record=record,
            results=spill.Results(services.result_bounds, services.data_home / spill.FOLDER),
        )

    def _backend(self, confine: Callable[[Box], SandboxPolicy | None]) -> TerminalBackend:
        """Where commands run; what outlives one becomes a task."""
        backend = self._services.backend(confine)
        if self.tasks is not None and isinstance(backend, LocalBackend):
            return replace(backend, adopt=self.tasks.adopt)
        return backend

    def _terms(self, workspace: Path, now: Situation, backend: TerminalBackend) -> Terms:
        """On what terms the project's own checks run: a call was allowed to write, so they may, in the sandbox."""
        from agent_core.tools.command import changing

        services = self._services

        def record(command: str, box: Box) -> None:
            decided = Decided("command", command, "allow", "after_edit", "rules", str(workspace), box.words)
            services.store.audit.add(self._session_id, str(workspace), for_the_record(decided, services.redact))

        box: Box | None = Box(now.sandbox, now.network)
        why_not = now.gap
        if now.is_free or (not now.kernel and now.accepted):
            box = UNCONFINED
        elif not now.kernel or now.gap:
            box, why_not = None, now.gap or "this machine cannot confine commands"
        return Terms(backend, box, why_not, services.deny(), services.redact, record, changing)

    def _still_hidden(self, places: Iterable[Path], workspace: Path) -> tuple[Path, ...]:
        """`places` without the files that the person has let be read: commands may read them then, too."""

        def granted(place: Path) -> bool:
            below = place.relative_to(workspace) if place.is_relative_to(workspace) else None
            return below is not None and self.grants.covers(ReadAction(printable(str(below))))

        return tuple(place for place in places if not granted(place))

    def _the_web(self) -> Web | None:
        """The session's way to the web: it holds the pages that were read."""
        if self._web is None and self._services.web is not None:
            from agent_core.web.session import SessionWeb

            self._web = SessionWeb(self._services.web())
        return self._web

    def _reviewing(self) -> Reviewer | None:
        """The session's reviewer, where the person wants one: it counts over all turns."""
        services, options = self._services, self._services.review
        if options is None or services.unattended:  # alone, what would be asked is refused
            return None
        if self._reviewer is None:
            from agent_core.mind.meter import Meter
            from agent_core.mind.reviewer import Reviewer

            def connect() -> Connection:
                if options.model:
                    return services.connect(options.model, options.provider)
                row = services.store.get(self._session_id)  # which model answers in it now
                return services.connect(row.model, row.provider)

            meter = Meter(services.store.costs, self._session_id, services.price, services.budget)
            stream = services.request.stream
            self._reviewer = Reviewer(connect, meter, services.redact, self._emit, stream=stream)
        return self._reviewer


def _close(extras: Iterable[Extra]) -> None:
    for extra in extras:
        try:
            extra.close()
        except Exception:  # the others have to be closed too
            log.exception("an extra could not be closed")


def trust_context(services: SessionServices, folder: Path) -> TrustContext:
    """What decides whether a command in this folder only reads."""
    from agent_core.safety.shell_trust import TrustContext, git_config_names_helpers

    return TrustContext(
        cwd=folder,
        path_env=services.command_env.get("PATH", ""),
        home=services.home,
        git_is_plain=not git_config_names_helpers(folder),
    )


def is_trusted(services: SessionServices, command: str, folder: Path) -> bool:
    """Whether a command only reads, by its text."""
    from agent_core.safety.shell_trust import is_trusted_command

    return is_trusted_command(command, trust_context(services, folder)).ok


def situation_of(services: SessionServices, mode: Mode, policy: ApprovalPolicy, gap: str = "") -> Situation:
    """What holds now for a session in this mode, under this approval policy; `gap` as in Situation."""
    from agent_core.safety.policy import Situation

    now = services.containment()
    return Situation(mode, policy, services.unattended, now.sandbox, now.kernel, now.network, now.accepted, gap)


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
