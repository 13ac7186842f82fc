"""What tmux says of its options, of this pane and of the terminal around it. Runs tmux: not on the screen's thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from agent_core.cancel import CancelScope
from agent_core.process.command import run_program
from agent_core.records import dataclass
from nanoherm_tui import limits


@dataclass(frozen=True, slots=True)
class Tmux:
    version: str
    escape_time: str = ""
    extended_keys: str = ""
    set_clipboard: str = ""
    allow_passthrough: str = ""
    """ "on" hands on what a pane that is seen writes, "all" what any does."""
    features: str = ""
    """What it takes the terminal to be able to, comma by comma; empty when it does not say."""
    terminal: str = ""
    """The TERM of the terminal around it."""
    focus_events: str = ""
    name: str = ""
    """What the terminal around it calls itself."""
    attached: str = ""
    """How many terminals show the session."""
    shown: str = ""
    """ "1": the window is the one in view."""
    zoomed: str = ""
    """ "1": one pane of the window hides the others."""
    active: str = ""
    """ "1": of the window's panes this has the keyboard."""

    def has(self, feature: str) -> bool:
        return not self.features or feature in self.features.split(",")

    def before(self, *version: int) -> bool:
        found = re.match(r"\D*(\d+)\.(\d+)", self.version)
        return found is not None and (int(found[1]), int(found[2])) < version

    @property
    def is_seen(self) -> bool:
        """This pane is on somebody's screen."""
        return self.attached not in ("", "0") and self.shown == "1" and (self.zoomed != "1" or self.active == "1")

    @property
    def hands_on(self) -> bool:
        """What is written for the terminal around it reaches that."""
        if self.allow_passthrough == "all":
            return self.attached not in ("", "0")
        return self.allow_passthrough == "on" and self.is_seen


_FIELDS: Final = (
    "version", "escape-time", "extended-keys", "set-clipboard", "allow-passthrough", "client_termfeatures",
    "client_termname", "focus-events", "client_termtype", "session_attached", "window_active", "window_zoomed_flag",
    "pane_active",
)  # fmt: skip

_SWITCHES: Final = ("allow-passthrough", "focus-events")
"""Options that some versions print as numbers."""
_SWITCH: Final = {"1": "on", "0": "off"}


def ask_tmux(find: Callable[[str], str | None], env: Mapping[str, str]) -> Tmux | None:
    """What holds in this pane; None when tmux does not answer. `find` gives the file a program's name means."""
    program = find("tmux")
    if program is None:
        return None
    pane = ("-t", env["TMUX_PANE"]) if env.get("TMUX_PANE") else ()
    argv = (program, "display-message", "-p", *pane, "\n".join(f"#{{{name}}}" for name in _FIELDS))
    try:
        done = run_program(argv, Path("/"), env=env, timeout=limits.TERMINAL_PROGRAM, cancel=CancelScope())
    except OSError:
        return None
    return read(done.stdout) if done.exit_code == 0 else None


def read(told: str) -> Tmux | None:
    """The fields as tmux prints them, one a line; None when some are missing."""
    values = told.split("\n")[: len(_FIELDS)]
    if len(values) < len(_FIELDS):
        return None
    return Tmux(
        *(
            _SWITCH.get(value, value) if name in _SWITCHES else value
            for name, value in zip(_FIELDS, values, strict=True)
        )
    )
