"""One session's system prompt and the order of its tools, as they are sent: byte-equal from turn to turn, and after a
resume (LOOP-16). What changes on disk meanwhile is told by a message instead (MISC-13)."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping

from agent_core.errors import StoreError
from agent_core.events import Notice
from agent_core.mind import prompt, view
from agent_core.names import Mode
from agent_core.ports.extras import Guidance
from agent_core.ports.tools import Tool
from agent_core.session.kit import Kit
from agent_core.session.services import SessionServices
from agent_core.store.views import SentPrompt
from agent_core.toolsets import is_off

log = logging.getLogger(__name__)

CONTEXT_CHANGED = (
    "[The guidance files have changed since this conversation began. What follows takes the place of what the system "
    'prompt says under "Guidance from files".]\n\n{context}'
)
CONTEXT_GONE = '[The guidance files are gone; what the system prompt says under "Guidance from files" no longer holds.]'


class SessionPrompt:
    """May be used from any thread; reads files and the store when it is first asked.

    `notice` is told what a person should know of the context files. `key` in its methods is what the prompt also
    depends on: model, provider, the text of the persona.
    """

    def __init__(self, services: SessionServices, session_id: str, kit: Kit, notice: Callable[[Notice], None]) -> None:
        self._services = services
        self._kit = kit
        self._session_id = session_id
        self._workspace = kit.workspace
        self._notice = notice
        self._lock = threading.Lock()
        self._key: tuple[str, ...] | None = None
        self._base = ""
        self._context = ""
        self._told = ""
        """The context files' text that the model knows of: the prompt's, or a later one told by a message."""
        self._order: tuple[str, ...] = ()
        self._unsaved: SentPrompt | None = None
        self._anew = False
        self._noticed: tuple[Notice, ...] = ()
        self._fixed: dict[tuple[Mode, frozenset[str]], Mapping[str, int]] = {}

    def text(self, mode: Mode, key: tuple[str, ...], goal: str = "") -> str:
        """The whole prompt."""
        with self._lock:
            self._make(key)
            return prompt.with_mode(self._base, mode, goal)

    def save(self) -> None:
        """Have what is sent outlive the program; a session that is not stored yet has nowhere to keep it."""
        with self._lock:
            if self._unsaved is None:
                return
            try:
                self._services.store.views.keep_prompt(self._session_id, self._unsaved)
            except StoreError as error:  # a resumed session then makes its prompt anew
                log.warning("the system prompt could not be kept: %s", error.text)
            self._unsaved = None

    def in_order(self, tools: Mapping[str, Tool], key: tuple[str, ...]) -> Mapping[str, Tool]:
        """The tools in the order they were sent in first; others behind them."""
        with self._lock:
            self._make(key)
            names = [*(name for name in self._order if name in tools), *(n for n in tools if n not in self._order)]
            return {name: tools[name] for name in names}

    def let_go(self) -> None:
        """Make it from what the store has, as after a resume: the extras it was made with are gone."""
        self.save()
        with self._lock:
            self._key = None
            self._base = self._context = self._told = ""
            self._fixed.clear()

    def renew(self) -> None:
        """Make it anew the next time: the conversation was compacted, the cache is lost anyway (COMP-18)."""
        with self._lock:
            self._key, self._anew = None, True

    def news(self) -> str:
        """What to tell the model of context files that have changed since it was told of them; "" for nothing."""
        with self._lock:
            if self._key is None:
                return ""
            self._fixed.clear()  # the extras may have other tools now
            context = self._read()
            if context == self._told:
                return ""
            self._told = context
            return CONTEXT_CHANGED.format(context=context) if context else CONTEXT_GONE

    def extras_news(self) -> str:
        """What to tell the model of what has changed with the extras; "" for nothing."""
        with self._lock:
            if self._key is None:
                return ""
            return "\n\n".join(news for extra in self._kit.extras if (news := extra.news()))

    def fixed(self, mode: Mode, key: tuple[str, ...], off: frozenset[str] = frozenset()) -> Mapping[str, int]:
        """About how many tokens every request holds beside the conversation: "system", "context", "tools".

        `off`: the tools that are switched off.
        """
        with self._lock:
            self._make(key)
            if (mode, off) not in self._fixed:
                context = view.token_count(self._context)
                whole = view.token_count(prompt.with_mode(self._base, mode))
                offered = (tool for tool in self._kit.tools() if not is_off(tool.name, tool.toolset, off))
                tools = [tool for tool in offered if not tool.modes or mode in tool.modes]
                counts = {"system": whole - context, "context": context, "tools": view.token_count(_described(tools))}
                self._fixed[mode, off] = counts
            return self._fixed[mode, off]

    def _make(self, key: tuple[str, ...]) -> None:
        if key == self._key:
            return
        services = self._services
        context, environment = self._read(), prompt.look_around(self._workspace)
        identity, persona = services.identity(), key[-1]
        tools, guidance = self._kit.tools(), self._guidance()
        described = _described(sorted(services.tools(), key=lambda tool: tool.name))
        mark = prompt.fingerprint(environment, context, identity, persona, guidance, [*key, described])
        sent = SentPrompt() if self._anew else self._sent()
        if sent.identity != mark:
            base = prompt.base(environment, context, identity, persona, guidance)
            sent = self._unsaved = SentPrompt(base, tuple(tool.name for tool in tools), mark)
        self._base, self._order, self._context, self._told = sent.text, sent.tools, context, context
        self._key, self._anew = key, False
        self._fixed.clear()

    def _guidance(self) -> Guidance:
        """What the extras say, joined."""
        said = [extra.guidance() for extra in self._kit.extras]
        return Guidance(
            "\n\n".join(one.stable for one in said if one.stable), "\n\n".join(one.frozen for one in said if one.frozen)
        )

    def _sent(self) -> SentPrompt:
        try:
            return self._services.store.views.prompt(self._session_id)
        except StoreError as error:
            log.warning("the system prompt that was sent last cannot be read: %s", error.text)
            return SentPrompt()

    def _read(self) -> str:
        context, notices = self._services.context(self._workspace)
        for notice in notices:
            if notice not in self._noticed:
                self._notice(notice)
        self._noticed = notices
        return context


def _described(tools: list[Tool]) -> str:
    """The tools as text: what makes one differ from another, and about as long as they are in a request."""
    plain = [[tool.name, tool.description, tool.parameters] for tool in tools]
    return json.dumps(plain, ensure_ascii=False, default=str)
