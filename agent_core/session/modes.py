"""A session's mode and approval policy: which modes there are, what entering one needs, and where one leads back to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agent_core import events
from agent_core.errors import AgentError
from agent_core.names import MODES, MODES_ALONE, MODES_WITHOUT_SANDBOX, ApprovalPolicy, Mode
from agent_core.session.kit import situation_of
from agent_core.session.outbox import Outbox
from agent_core.session.services import SessionServices
from agent_core.store.rows import SessionRow

log = logging.getLogger(__name__)

_LED_BACK: Final[frozenset[Mode]] = frozenset({"plan", "goal"})
"""Modes that a tool ends."""


class SessionModes:
    """May be used from any thread; nothing here blocks. `switched` is told the new mode, to store it.

    Whether a mode was confirmed in the workspace is looked up and noted on a thread of its own, as that reads a file.
    """

    def __init__(
        self, services: SessionServices, row: SessionRow, outbox: Outbox, switched: Callable[[Mode], None], *,
        stored: bool,
    ) -> None:  # fmt: skip
        self._services = services
        self._workspace = Path(row.workspace)
        self._outbox = outbox
        self._switched = switched
        self._confirmed: set[Mode] = set()
        self._wanted = 0
        """Counts the wishes for a mode, so that a late answer to an earlier one changes nothing."""
        self._before: dict[Mode, Mode] = {}
        """Where plan and goal lead back to."""
        self.policy: ApprovalPolicy = services.policy
        self.mode: Mode = "ask"
        for mode in self.modes:
            if mode == row.mode and self._may_begin(mode, stored):
                self.mode = mode

    def _may_begin(self, mode: Mode, stored: bool) -> bool:
        """Whether the session may begin in this mode: it was named for this run, or confirmed here before.

        A stored session may have come from another machine or another folder.
        """
        if mode in MODES_ALONE and stored and not self._services.mode_confirmed(self._workspace, mode):
            return False
        self._confirmed |= {mode} & MODES_ALONE
        return True

    @property
    def ways(self) -> tuple[Mode, ApprovalPolicy]:
        return self.mode, self.policy

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes there are; where commands cannot be confined and nobody has accepted that, only some."""
        now = self._services.containment()
        free = now.sandbox == "danger-full-access" or now.accepted
        return MODES if now.kernel or free else MODES_WITHOUT_SANDBOX

    def want(self, mode: Mode, confirmed: bool = False, then: Callable[[], None] = lambda: None) -> None:
        """The person wants this mode. `then` is called once it holds: never when it may not be, or is not confirmed."""
        modes = self.modes
        if mode not in modes:
            self._outbox.emit(
                events.ErrorRaised(
                    "mode_needs_sandbox",
                    f"Mode {mode} needs the kernel sandbox, which this machine does not have. "
                    "Accept for this machine that commands run without one, or start with --yolo. "
                    f"Modes now: {', '.join(modes)}.",
                    {"mode": mode, "modes": list(modes)},
                )
            )
            return
        with self._outbox.lock:
            self._wanted += 1
            wish = self._wanted
            known = mode not in MODES_ALONE or mode in self._confirmed
            if confirmed and not known:
                self._confirmed.add(mode)
        if known or confirmed:
            self._switch(mode)
            then()
        if not known:
            arguments = (mode, wish, confirmed, then)
            threading.Thread(target=self._look_up, args=arguments, name="mode", daemon=True).start()

    def _look_up(self, mode: Mode, wish: int, confirmed: bool, then: Callable[[], None]) -> None:
        """Note that a mode was confirmed here; or find out whether it was, and ask if not."""
        try:
            if confirmed:
                self._services.confirm_mode(self._workspace, mode)
                return
            known = self._services.mode_confirmed(self._workspace, mode)
        except AgentError as error:  # it is then asked again the next time
            log.warning("a confirmed mode: %s", error.text)
            self._outbox.emit(events.ErrorRaised(error.code, error.text, error.params))
            return
        with self._outbox.lock:
            if wish != self._wanted:
                return
            if known:
                self._confirmed.add(mode)
                self._switch(mode)
            else:
                self._outbox.emit(events.ModeToConfirm(mode, self.box_words(mode)))
        if known:
            then()

    def forget(self, mode: Mode) -> None:
        """Entering `mode` is confirmed anew the next time."""
        with self._outbox.lock:
            self._confirmed.discard(mode)

    def box_words(self, mode: Mode) -> str:
        """What a command that nobody trusts would run in there, as a person is told."""
        from agent_core.ports.actions import CommandAction
        from agent_core.safety.policy import box_of

        return box_of(CommandAction("", ""), situation_of(self._services, mode, self.policy), trusted=False).words

    def back(self, left: Mode) -> Mode:
        """Leave plan or goal for the mode before it; gives the mode that holds then.

        `left`: the one to leave. Another one that was chosen meanwhile stays.
        """
        modes = self.modes
        with self._outbox.lock:
            if self.mode == left and left in _LED_BACK:
                before = self._before.get(left, "ask")
                self._switch(before if before in modes else "ask", is_back=True)
            return self.mode

    def _switch(self, mode: Mode, is_back: bool = False) -> None:
        with self._outbox.lock:
            if mode in _LED_BACK and mode != self.mode and not is_back:
                # A plan made for a goal leads back to it; a goal set in place of a plan, to what was before the plan.
                self._before[mode] = self._before.get("plan", "ask") if self.mode == "plan" else self.mode
            self.mode = mode
            self._outbox.emit(events.ModeChanged(mode))
        self._switched(mode)
