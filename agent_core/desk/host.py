"""The desk: the methods that every face calls (UI-05, UI-14).

They read and write files unless they say otherwise; a face calls them off its screen thread.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import limits
from agent_core.desk import options
from agent_core.desk.supplies import Supplies, tools_built_in
from agent_core.errors import AgentError, StoreError
from agent_core.intents import Interrupt, SetMode, Submit
from agent_core.log import write_crash
from agent_core.messages import Comment, FileDiff, Message, new_id
from agent_core.mind.meter import SessionUsage
from agent_core.names import MODES_ALONE, Mode
from agent_core.ports.asking import Decided
from agent_core.process import families
from agent_core.sandbox.env import child_env
from agent_core.session.live import LiveSession
from agent_core.store import exchange
from agent_core.store.audit import Entry, for_the_record
from agent_core.store.changes import no_session
from agent_core.store.notes import Commented, Draft, Seen
from agent_core.store.rows import SessionRow

if TYPE_CHECKING:
    from agent_core.desk.disk_report import DiskReport
    from agent_core.desk.permissions import Allowed, Permissions
    from agent_core.desk.tool_list import ToolEntry
    from agent_core.desk.typed_commands import TypedList
    from agent_core.git.worktrees import Worktrees
    from agent_core.session.mailbox import Mailbox
    from agent_core.snippets import Snippets
    from agent_core.store.insights import Insights
    from agent_core.store.search import SearchHit


class Host(Supplies):
    """Everything one program run has. Close it when done."""

    # -- what was used ----------------------------------------------------------------------------------------------

    def usage(self, session_id: str) -> SessionUsage:
        """What a session and its children have used, and may use. Raises StoreError."""
        return SessionUsage(self.store.costs.spent(session_id), options.budget(self.config))

    def insights(self, days: int = 0) -> Insights:
        """What was used in all sessions of the last `days` days; 0: ever. Raises StoreError."""
        from agent_core.store.insights import insights  # no start waits for it

        return insights(self.store.database, days)

    # -- sessions -----------------------------------------------------------------------------------------------

    def sessions(self) -> list[SessionRow]:
        """Stored sessions, newest first."""
        return self.store.list()

    def live(self, session_id: str) -> LiveSession | None:
        """The open session of this id. Does not block."""
        return self._sessions.get(session_id)

    def _here(self, session_id: str) -> LiveSession:
        """An open session. Raises StoreError "no_session": it was deleted, or the program ends, meanwhile."""
        live = self._sessions.get(session_id)
        if live is None:
            raise no_session(session_id)
        return live

    def new(self, folder: Path | None = None) -> LiveSession:
        """A fresh session in `folder` (else where the program was started; in the demo, a scratch copy of the sample).

        It is stored with its first message. Raises AgentError "not_a_folder".
        """
        if folder is None:
            folder = self._sample_folder() if self.model.state.demo else self.places.workspace
        elif not folder.is_dir():
            raise AgentError(
                "not_a_folder", f"{folder} is no folder, or is closed to you. Choose another one.", path=str(folder)
            )
        now = time.time()
        row = SessionRow(
            id=new_id(),
            title="",
            workspace=str(folder.resolve()),
            model="",
            provider="",
            mode=self._first_mode(folder),
            created=now,
            updated=now,
            messages=0,
            turns=0,
            prompt_tokens=0,
            completion_tokens=0,
        )
        return self._open(row, stored=False)

    def _first_mode(self, folder: Path) -> Mode:
        """The mode that new sessions begin in; to act alone was asked for in the folder of this run only."""
        mode = self.launch.mode or "ask"
        here = folder.resolve() == self.places.workspace or folder in self._samples or self.launch.yolo
        return mode if here or mode not in MODES_ALONE else "ask"

    def open(self, session_id: str) -> LiveSession:
        """The session with this id, loaded by its own worker. Raises StoreError when there is none, or when it is that
        of a sub-agent at work."""
        with self._lock:
            live = self._sessions.get(session_id)
        if live is None and self.store.children.at_work(session_id):
            text = "A sub-agent is at work in this session. Look at it in the dock's tab of tasks until it has ended."
            raise StoreError("agent_at_work", text)
        return live or self._open(self.store.get(session_id), stored=True)

    def find(self, text: str) -> SessionRow:
        """The session meant by an id, the start of one, or a title. Raises StoreError."""
        return self.store.find(text, str(self.places.workspace))

    def latest(self) -> SessionRow | None:
        """The newest session of this workspace."""
        return self.store.latest(str(self.places.workspace))

    def search(self, query: str, workspace: str | None = None, limit: int = limits.SEARCH_HITS) -> list[SearchHit]:
        """Messages of all sessions, or of those of one folder, in which everything stands; the best first.

        Takes up to limits.SEARCH_WAIT when much has been written since the last search. Raises StoreError.
        """
        return list(self.searching.find(query, workspace, limit).hits)

    def _open(self, row: SessionRow, *, stored: bool) -> LiveSession:
        if not Path(row.workspace).is_dir():
            raise StoreError(
                "workspace_gone",
                f"The session's folder {row.workspace} does not exist any more. Make it again, or start a new session.",
                workspace=row.workspace,
            )
        with self._lock:  # two that open it at once have one session: two would both run turns in it
            if (there := self._sessions.get(row.id)) is not None:
                return there
            session = self._sessions[row.id] = LiveSession(self._services(), row, stored=stored)
        session.start()
        return session

    def _sample_folder(self) -> Path:
        """A fresh copy of the demo's sample project, outside everything that belongs to the user."""
        folder = Path(tempfile.mkdtemp(prefix="nanoherm-demo-")) / "shop"
        self._samples.append(folder)
        with resources.as_file(resources.files("agent_core.demo").joinpath("sample")) as sample:
            shutil.copytree(sample, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        return folder

    def submit(self, session_id: str, text: str) -> None:
        """Start a turn (run_task). Does not block."""
        self._here(session_id).send(Submit(text))

    def stop(self, session_id: str) -> None:
        """Stop the running turn (stop_task). Does not block."""
        self._here(session_id).send(Interrupt())

    def set_mode(self, session_id: str, mode: Mode) -> None:
        """Switch the mode from the next step on. Does not block."""
        self._here(session_id).send(SetMode(mode))

    def reset(self, session_id: str) -> LiveSession:
        """Empty a session's history; its id stays. Raises StoreError."""
        live = self._forget(session_id)
        if live is not None:
            live.join(limits.TURN_STOP)  # what it still has to store is of the history that goes
        self.store.reset(session_id)
        return self.open(session_id)

    def delete(self, session_id: str) -> None:
        """Close a session and hide it; `restore` brings it back for limits.DELETED_KEPT. Raises StoreError."""
        live = self._forget(session_id)
        if live is not None:
            live.join(limits.TURN_STOP)  # what it still has to store belongs to it
            if not live.stored:
                return
        self.tasks.delete(session_id)
        self.store.delete(session_id)

    def restore(self, session_id: str) -> SessionRow:
        """Bring a deleted session back. Raises StoreError "no_session" when it is gone for good."""
        return self.store.restore(session_id)

    def fork(self, session_id: str, through: str = "") -> LiveSession:
        """A copy of a session that goes its own way, up to its last whole step.

        With `through`, the uid of a message, only up to the end of that message's turn. Usage is not copied, files
        are shared. Raises StoreError "no_session" or "no_message".
        """
        return self._open(self.store.fork(session_id, through), stored=True)

    def rename(self, session_id: str, title: str) -> None:
        """Give a stored session another title. One that is open is told by an intent instead."""
        self.store.rename(session_id, title)

    def _forget(self, session_id: str) -> LiveSession | None:
        with self._lock:
            live = self._sessions.pop(session_id, None)
        if live is not None:
            live.close()
            self._forget_servers(live.workspace)
        self.tasks.let_go(session_id)
        self.walls.put_away(session_id)
        return live

    # -- what is typed and becomes a message ------------------------------------------------------------------------

    def typed(self, session_id: str) -> TypedList:
        """What can be typed in an open session, and what is wrong with files that should say so. Raises StoreError."""
        return self.typed_commands.list(session_id, self._here(session_id).workspace)

    def snippets(self, session_id: str) -> Snippets:
        """The texts that can be put into a draft of an open session. Reads files. Raises StoreError."""
        from agent_core.snippets import snippets

        workspace = self._here(session_id).workspace
        return snippets(self.trusting.places_of(workspace), self.trusting.look(workspace).accepted("snippet"))

    # -- notes: drafts, what waits, what was seen ---------------------------------------------------------------

    def keep_draft(self, session_id: str, text: str) -> None:
        """Have a session's unsent text written down; "" forgets it. Does not block.

        Until the session is stored its draft belongs to the workspace: the next start there finds it.
        """
        live = self._sessions.get(session_id)
        workspace = str(live.workspace) if live is not None else ""
        self._notebook.keep(Draft(session_id, workspace, text))

    def draft(self, session_id: str) -> str:
        """The unsent text of a session; of a new one, what was left unsent in its workspace. Raises StoreError."""
        live = self._sessions.get(session_id)
        return self.store.notes.draft(session_id, str(live.workspace) if live is not None else "")

    def keep_comments(self, session_id: str, comments: Sequence[Comment]) -> None:
        """Have what is said about hunks, and not sent yet, written down; () forgets it. Does not block."""
        self._notebook.keep(Commented(session_id, tuple(comments)))

    def comments(self, session_id: str) -> tuple[Comment, ...]:
        """What is said about hunks of a session and not sent yet. Raises StoreError."""
        return self.store.notes.comments(session_id)

    def mark_seen(self, session_id: str, message_uid: str) -> None:
        """Have it written down that the person has seen a session up to this message. Does not block."""
        self._notebook.keep(Seen(session_id, message_uid))

    def flush_notes(self, seconds: float) -> bool:
        """Wait until every note is on disk; False when it is not within `seconds`."""
        return self._notebook.flush(seconds)

    def disk_report(self) -> DiskReport:
        """What lies on the disk, and which sessions take how much of it. Raises StoreError."""
        from agent_core.desk.disk_report import disk_report

        return disk_report(self.places, self.store)

    # -- what sessions hold ------------------------------------------------------------------------------------

    def earlier(self, session_id: str, first: str) -> list[Message]:
        """What a session holds before the message `first`, of which a listener was told the number only."""
        return self.store.before(session_id, first)

    def agent_heard(self, session_id: str, agent_id: str) -> Mailbox | None:
        """What a sub-agent of a session has told since it began, and tells from now on; None: it is not at work here.

        For one listener: what was taken out of the mailbox is not told again.
        """
        from agent_core.extras.agents import AgentsExtra  # it is loaded where there is a sub-agent

        live = self.live(session_id)
        extras = live.extras if live is not None else ()
        return next((extra.heard(agent_id) for extra in extras if isinstance(extra, AgentsExtra)), None)

    def agent_said(self, session_id: str) -> tuple[list[Message], int]:
        """What a sub-agent has said and done so far, of a long one the end, and how many messages come before that."""
        return self.store.end(session_id, limits.AGENT_READ)

    def diff(self, session_id: str) -> tuple[FileDiff, ...]:
        """What the session's tools changed, in order (file_diff)."""
        return tuple(d for m in self.store.messages(session_id) if m.result is not None for d in m.result.diffs)

    def decisions(self, session_id: str | None = None, limit: int = limits.DECISIONS_LISTED) -> list[Entry]:
        """What was decided about calls, grants, modes and trust, the newest first. Raises StoreError."""
        return self.store.audit.list(session_id, limit)

    def tools(self, session_id: str = "") -> tuple[ToolEntry, ...]:
        """The tools as a person chooses among them, with those that an open session has beside the built-in ones.

        Looks for programs on the disk.
        """
        from agent_core.desk.tool_list import tool_list  # no start waits for it

        live = self._sessions.get(session_id)
        more = [tool for extra in live.extras for tool in extra.tools()] if live is not None else []
        return tool_list((*tools_built_in(), *more), self.launch.env.get("PATH", ""))

    def permissions(self, session_id: str) -> Permissions:
        """What is allowed in an open session, here and for good, and what was decided in it last. Raises StoreError."""
        from agent_core.desk.permissions import Permissions, allowed_for_good, one_by_one

        live = self._here(session_id)
        always, modes, projects = allowed_for_good(self.grants)
        written = self.grants.read()
        return Permissions(
            *live.ways[:2],
            self.walls.containment(),
            live.ways[2],
            one_by_one(live.grants.session()),
            always,
            modes,
            written.no_sandbox,
            projects,
            self.denied(),
            tuple(self.decisions(session_id)),
            str(self.places.grants_file),
            written.problem,
        )

    def take_back(self, session_id: str, what: Allowed) -> None:
        """From the next call on this asks again. Raises ConfigError, StoreError."""
        from agent_core.desk import permissions

        permissions.take_back(what, self.grants, self._here(session_id).grants)
        if isinstance(what, permissions.ConfirmedMode):
            with self._lock:
                here = [live for live in self._sessions.values() if str(live.workspace) == what.workspace]
            for live in here:
                live.forget_confirmed(what.mode)
        self._note_permission(session_id, permissions.decided(what, False))
        if isinstance(what, permissions.Project):
            self.look_again()

    def give_back(self, session_id: str, what: Allowed) -> None:
        """Undo `take_back`. Raises ConfigError, StoreError."""
        from agent_core.desk import permissions

        self._note_permission(session_id, permissions.decided(what, True))  # first: nothing is allowed without a record
        permissions.give_back(what, self.grants, self._here(session_id).grants)
        if isinstance(what, permissions.Project):
            self.look_again()

    def _note_permission(self, session_id: str, decided: Decided) -> None:
        workspace = str(self._here(session_id).workspace)
        self.store.audit.add(session_id, workspace, for_the_record(decided, self.redact))

    def export(self, session_id: str, form: str = "markdown") -> str:
        """A session as text in one of exchange.FORMS. Raises StoreError."""
        decisions = self.store.audit.list(session_id, None)
        return exchange.export(form, self.store.get(session_id), self.store.messages(session_id), decisions)

    def worktrees(self, workspace: Path) -> Worktrees:
        """Those of the repository that a workspace lies in; what they do belongs on no screen's thread."""
        from agent_core.cancel import CancelScope
        from agent_core.git.worktrees import Worktrees  # no start waits for it

        return Worktrees(workspace, child_env(self.launch.env), CancelScope())

    # -- the end ------------------------------------------------------------------------------------------------

    def report_crash(self, error: BaseException) -> Path | None:
        """Write a crash report, without keys; returns its path when it could be written."""
        return write_crash(self.places.logs_dir, error, self.redact)

    def close(self) -> None:
        """Stop every turn, end every process of ours. Returns within a second; what hangs is left to die with us."""
        self._closing.set()
        ending = threading.Thread(target=self._end_servers, name="end-servers", daemon=True)
        ending.start()
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()
        self.tasks.close()
        farewell = any(session.farewell for session in sessions)
        deadline = time.monotonic() + (limits.SESSION_END_HOOKS if farewell else limits.TURN_STOP / 2)
        for session in sessions:
            session.join(max(0.0, deadline - time.monotonic()))
        ending.join(limits.MCP_END)
        families.kill_all()
        self.walls.close()
        if "searching" in self.__dict__:
            self.searching.close()
        if "checkpoints" in self.__dict__:
            self.checkpoints.close()
        self._notebook.close()
        used = {session.workspace for session in sessions if session.stored}
        for folder in self._samples:
            if folder.resolve() not in used:
                shutil.rmtree(folder.parent, ignore_errors=True)
        self.store.close()

    def _end_servers(self) -> None:
        if "servers" in self.__dict__:
            self.servers.close()
