"""What a session is given: its services, and what it has beside the built-in tools, as the config wants it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import context_files, limits, spill
from agent_core.credentials import Secret, find_key
from agent_core.desk import options
from agent_core.desk.house import House
from agent_core.errors import AgentError, MemoryFailure
from agent_core.events import Notice
from agent_core.knowledge import Expansion, Memory, Pending
from agent_core.made_once import made_once
from agent_core.mind.meter import Meter
from agent_core.names import APPROVAL_POLICIES, SKILLS_DIR, ApprovalPolicy
from agent_core.ports.extras import Extra, Opening
from agent_core.ports.means import PastPassage
from agent_core.ports.tools import Tool
from agent_core.process.command import LocalBackend
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import Box, SandboxPolicy
from agent_core.session.services import Seat, SessionServices
from agent_core.trust import Standing

if TYPE_CHECKING:
    from agent_core.desk.typed_commands import TypedCommands
    from agent_core.extras.server_desk import ServerDesk
    from agent_core.memory import Memories
    from agent_core.memory.desk import MemoryDesk
    from agent_core.memory.pending import PendingWrites
    from agent_core.skills.desk import SkillDesk
    from agent_core.skills.discover import Finder, Shelf
    from agent_core.store.search import Search
    from agent_core.web.session import WebOptions


class Supplies(House):
    """Made when it is first asked for, so that no start waits for it."""

    def _services(self) -> SessionServices:
        get = self.config.get
        policy: ApprovalPolicy = next((p for p in APPROVAL_POLICIES if p == get("approvals.policy")), "untrusted")
        return SessionServices(
            store=self.store,
            connect=self.connect,
            tools=tools_built_in,
            tools_off=options.tools_off(self.config),
            backend=LocalBackend,
            home=self.places.home,
            data_home=self.places.data_home,
            command_env=child_env(self.launch.env),
            redact=self.redact,
            keys=self._keys,
            context=self._context,
            identity=lambda: self.redact(context_files.identity(self.places)),
            keep=self._notebook.keep,
            recall=self._recall,
            containment=self.walls.containment,
            confinement=self.walls.of,
            rests=self._rests,
            tasks=self.tasks.of,
            unattended=self.launch.unattended,
            policy=policy,
            deny=self.denied,
            grants=self.grants,
            mode_confirmed=lambda workspace, mode: self.grants.mode_confirmed(str(workspace), mode),
            confirm_mode=self.walls.confirm_mode,
            approval_timeout=get("approvals.timeout"),
            review=options.review(self.config, self.places),
            hooks=self.hooks,
            checks=self.checks,
            command_timeout=get("terminal.timeout"),
            web=self._web,
            allow_hosts=tuple(get("web.allow_hosts")),
            respect_gitignore=get("files.respect_gitignore"),
            read_paths=(
                *(folder / SKILLS_DIR for folder in self.places.skill_homes),
                *self.places.folders(get("skills.external_dirs")),
            ),
            add_dirs=self.places.folders(get("sandbox.add_dirs")),
            safe_roots=self.places.folders(get("files.write_safe_roots")),
            hidden=lambda workspace: lambda: self.files.hidden(workspace),
            compaction=options.compaction(self.config),
            max_steps=get("agent.max_turns") or 0,
            batch_timeout=get("agent.batch_timeout"),
            guard=options.guard(self.config, unattended=self.launch.unattended),
            result_bounds=spill.PROFILES[get("tool_output.profile")],
            request=options.request(self.config),
            model_named=options.is_model_named(self.config),
            personas=self.personas,
            price=self.models.price,
            sees=self.models.sees,
            went_blind=self.models.went_blind,
            attach=self.images.attach,
            window=self.models.window_of,
            budget=lambda: options.budget(self.config),
            checkpoints=lambda: self.checkpoints if self.config.get("checkpoints.enabled") else None,
            expand=self._expand,
            extras=self._extras,
        )

    def _extras(self, seat: Seat) -> tuple[Extra, ...]:
        """What a session has beside the built-in tools, as the config wants it."""
        made: list[Extra] = []
        if self.config.get("skills.enabled"):
            made.append(self._skills_extra(seat))
        if self.config.get("memory.enabled"):
            made.append(self._memory_extra(seat))
        if self.config.get("delegation.enabled"):
            made.append(self._agents_extra(seat))
        if not self.launch.demo:
            made.append(self.servers.extra(seat))
        return tuple(made)

    def _rests(self, session_id: str) -> None:
        """A session goes to rest, on its own thread."""
        self.walls.put_away(session_id)
        if (live := self._sessions.get(session_id)) is not None:
            self._forget_servers(live.workspace, session_id)

    def _forget_servers(self, workspace: Path, leaving: str = "") -> None:
        """End the servers of a workspace in which no session is open and awake any more, but for the one `leaving`."""
        awake = [live for live in tuple(self._sessions.values()) if not live.rests and live.id != leaving]
        if "servers" in self.__dict__ and all(live.workspace != workspace for live in awake):
            self.servers.forget(workspace)

    # -- searching ----------------------------------------------------------------------------------------------------

    @made_once
    def searching(self) -> Search:
        """Search over all sessions, for who wants more than `search` gives."""
        from agent_core.store.search import Search

        return Search(self.store, self.places.search_db, self.places.jieba_dir, self.redact, self._keys)

    def _recall(self, query: str, limit: int, leave_out: str) -> tuple[PastPassage, ...]:
        found = self.searching.find(query, limit=limit, leave_out=leave_out, agents=False, size=limits.RECALL_PASSAGE)
        return tuple(
            PastPassage(hit.session.title, hit.session.workspace, hit.created, hit.speaker, hit.snippet)
            for hit in found.hits
        )

    # -- servers ------------------------------------------------------------------------------------------------------

    @made_once
    def servers(self) -> ServerDesk:
        """The MCP servers: to look at, to start anew, to log in at. Its methods read files."""
        from agent_core.extras.server_desk import Ground, ServerDesk  # no start waits for it

        def walls(workspace: Path) -> SandboxPolicy | None:
            return self.walls.of(f"servers of {workspace}", workspace).policy(Box("workspace-write"))

        return ServerDesk(
            Ground(
                self.places,
                self.launch.env,
                lambda workspace: (self.trusting.places_of(workspace), self.trusting.look(workspace)),
                self._read_keys,
                self.redact,
                self._keys,
                self._hide,
                walls,
                self.launch.unattended,
                self.launch.servers_file,
                self.launch.overrides,
            )
        )

    def begin_servers(self, session_id: str) -> None:
        """Start the MCP servers of whose tools nothing is known, so that they are there with the session's first turn.

        What is wrong with them is told in the session. Does not wait for them; without any it loads nothing.
        """
        live = self._sessions.get(session_id)
        if live is None or self.launch.demo or self._closing.is_set():
            return
        own = (self.places.data_home / "mcp.json").exists() or self.launch.servers_file is not None
        if own or self.config.mapping("mcp_servers") or _may_name_servers(self.trusting.look(live.workspace)):
            for extra in live.extras:
                if isinstance(extra, Opening):
                    extra.opened()

    def _agents_extra(self, seat: Seat) -> Extra:
        from agent_core.extras.agents import AgentsExtra
        from agent_core.subagents import definitions

        def found() -> definitions.Found:
            standing, config = self._settings_in(seat.workspace)
            with_shipped = config.get("delegation.builtin_agents")
            places, file = self.trusting.places_of(seat.workspace), self.launch.subagents_file
            return definitions.counting(places, standing, file, with_shipped=with_shipped)

        return AgentsExtra(self._services(), seat, found, lambda: options.crew(self._settings_in(seat.workspace)[1]))

    # -- what is remembered -------------------------------------------------------------------------------------------

    @made_once
    def memory(self) -> Memories:
        """What is remembered over sessions."""
        if self.config.get("memory.engine") == "markdown":
            from agent_core.memory.markdown import Pages  # no start waits for either

            return Pages(self.places.memories_dir, self.redact, options.memory_room(self.config))
        from agent_core.memory.entries import Entries
        from agent_core.memory.recall import Recall, Words

        wait = limits.MEMORY_WORDS_ALONE if self.launch.unattended else limits.MEMORY_WORDS
        by_words = self.config.get("memory.tokenizer") == "jieba"
        words = Words(self.searching.words, wait) if by_words else None
        return Entries(self.places.memory_file, self.redact, Recall(words))

    def recollect(self) -> None:
        """Look through what is remembered if turns will: to cut 10,000 memories into words takes half a second once."""
        if self.config.get("memory.enabled") and self.config.get("memory.engine") == "bm25":
            with suppress(MemoryFailure):  # a turn tells it
                self.memory.search("", 1)

    @made_once
    def pending(self) -> PendingWrites:
        """Writes to memory and to skills that wait for a person."""
        from agent_core.memory.pending import PendingWrites

        return PendingWrites(self.places.data_home)

    @made_once
    def memory_desk(self) -> MemoryDesk:
        """What a person does with what is remembered."""
        from agent_core.memory.desk import MemoryDesk

        return MemoryDesk(self.memory, self.pending, lambda decided: self._put_on_record(Path(), decided))

    def _memory_extra(self, seat: Seat) -> Extra:
        from agent_core.extras.memory import MemoryOptions, memory_extra
        from agent_core.memory.markdown import Pages
        from agent_core.memory.staging import stage

        get = self.config.get
        attended = not self.launch.unattended and not self.model.settle().demo
        opts = MemoryOptions(
            top=get("memory.top_k"),
            asks=lambda: bool(self.config.get("memory.write_approval")),
            distils=get("memory.distil") == "always" or (get("memory.distil") == "attended" and attended),
            unattended=self.launch.unattended,
        )
        meter = Meter(self.store.costs, seat.session_id, self.models.price, lambda: options.budget(self.config))
        memories = self.memory
        if isinstance(memories, Pages):
            from agent_core.extras.memory_pages import pages_extra

            return pages_extra(seat, memories, opts, self.redact, self.connect, meter, self.pending)

        def put_aside(memory: Memory) -> Pending:
            return stage(self.pending, memory)

        return memory_extra(seat, memories, opts, self.redact, self.connect, meter, put_aside)

    @made_once
    def skills(self) -> SkillDesk:
        """What a person does with skills, and who finds and writes them."""
        from agent_core.skills.desk import SkillDesk, SkillGround
        from agent_core.skills.write import Writer

        def look(finder: Finder, workspace: Path) -> Shelf:
            more = self.places.folders(self.config.get("skills.external_dirs"))
            return finder.look(self.trusting.places_of(workspace), self.trusting.look(workspace), more)

        ground = SkillGround(
            look,
            lambda: tuple(self.config.get("skills.disabled")),
            lambda: tuple(self.config.get("agent.disabled_toolsets")),
            self._for_commands,
            self.launch.env.get("PATH", ""),
        )
        writer = Writer(self.places.data_home, self.places.home, self.redact)
        return SkillDesk(ground, writer, self.pending, lambda decided: self._put_on_record(Path(), decided))

    def _skills_extra(self, seat: Seat) -> Extra:
        from agent_core.extras.skills import SkillOptions, SkillsExtra

        opts = SkillOptions(
            lambda: bool(self.config.get("skills.write_approval")), not self.launch.unattended, self._hide
        )
        return SkillsExtra(seat, self.skills.of(seat.workspace), self.skills.writer, self.pending, opts)

    # -- the web and the project --------------------------------------------------------------------------------------

    def _web(self) -> WebOptions:
        """How sessions reach the web; a key of a search engine that was changed counts from the next search on."""
        from agent_core.web import engines as web_search  # no start waits for it
        from agent_core.web.door import Door
        from agent_core.web.session import WebOptions

        get = self.config.get

        def key_of(names: Sequence[str]) -> Secret | None:
            return find_key(names, self.launch.env, self._read_keys())

        def engine() -> web_search.Chosen:
            return web_search.choose(get("web.search_backend").strip(), get("web.searxng_url").strip(), key_of)

        return WebOptions(Door(proxy=get("web.proxy"), hide=self.redact), engine, self._keys)

    def _context(self, workspace: Path) -> tuple[str, tuple[Notice, ...]]:
        if not self.config.get("context_files.enabled"):
            return "", ()
        loaded = context_files.load(workspace, self.places)
        return self.redact(loaded.text), loaded.notices  # as what the model reads by a tool

    @made_once
    def typed_commands(self) -> TypedCommands:
        """What a person may type after "/" that becomes a message: files of commands/, skills, prompts of servers."""
        from agent_core.desk import init_prompt
        from agent_core.desk.typed_commands import TypedCommands  # no start waits for it

        def init(workspace: Path, wish: str) -> str:
            if self.model.state.demo:
                raise AgentError(
                    "init_needs_model",
                    "The demo is scripted and reads no project. /setup connects a model; then /init writes AGENTS.md.",
                )
            return self.redact(init_prompt.text(workspace, wish, self.files.hidden(workspace)))

        def extras(session_id: str) -> tuple[Extra, ...]:
            live = self._sessions.get(session_id)
            return live.extras if live is not None else ()

        return TypedCommands(lambda w: (self.trusting.places_of(w), self.trusting.look(w)), extras, init)

    def _expand(self, session_id: str, workspace: Path, text: str) -> Expansion | None:
        return self.typed_commands.expand(session_id, workspace, text)


def tools_built_in() -> tuple[Tool, ...]:
    from agent_core.tools.builtin import builtin_tools  # a start does not wait for them

    return builtin_tools()


def _may_name_servers(standing: Standing) -> bool:
    return any(file.kind in ("servers", "config") for file in standing.offer.files)
