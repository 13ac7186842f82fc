"""Logging in at an MCP server, and out again: for the screen, for a terminal, and for the tools in a turn.

Who is asked is a `Browser` (oauth.py): a question on the screen, or lines on a terminal. Nothing opens a browser before
a person has seen the whole address and said yes (R42, SEP on URL elicitation).
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TextIO

from agent_core.cancel import CancelScope
from agent_core.mcp.oauth import Browser, OAuth, Visit
from agent_core.mcp.token_store import FileStore, MemoryStore
from agent_core.mcp.words import ServerConfig, ServerFailure
from agent_core.messages import new_id
from agent_core.ports.asking import Asker, Question
from agent_core.process.spawner import spawn
from agent_core.safety.redact import redact
from agent_core.servers import FormField
from agent_core.text.printable import printable

Open = Callable[[str], bool]
"""Shows an address in the user's browser; False: there is none here."""

FILE: Final = "credentials.json"


def log_in(
    config: ServerConfig,
    store: MemoryStore,
    browser: Browser,
    cancel: CancelScope,
    *,
    hide: Callable[[str], str] = redact,
) -> None:
    """Have a person log in at a server. Raises ServerFailure, Interrupted."""
    if not config.url:
        raise ServerFailure(
            "mcp_login_none",
            f"{config.name} is a program of this machine: there is no log-in. What it needs stands in its `env`.",
            server=config.name,
        )
    OAuth(config, store, browser, hide=hide).log_in(cancel)


def log_out(config: ServerConfig, store: MemoryStore, cancel: CancelScope) -> bool:
    """Forget the log-in of a server; False: there was none. Raises ServerFailure, Interrupted."""
    had = store.read().of(config.url) is not None
    if had:
        store.change(lambda kept: kept.without(config.url), cancel)
    return had


def store_in(data_home: Path) -> FileStore:
    """The log-ins of the user whose home of ours is `data_home`."""
    return FileStore(data_home / FILE)


# -- who is asked ---------------------------------------------------------------------------------------------------


TO_LOG_IN: Final = "The server wants a log-in there, and the browser comes back by itself."
OPENED: Final = "It comes back by itself. From another machine, paste the address it ended at."
ELSEWHERE: Final = (
    "No browser could be opened here; the address was copied. Open it anywhere, and paste the one it ends at."
)
_PASTED: Final = (FormField("address", "Address"),)


def asking(asker: Asker, show: Open, copy: Callable[[str], None] = lambda url: None) -> Browser:
    """Asks on the screen, shows the address after a yes, then waits there for the browser, or for what is pasted.

    `copy`: gives the address to the person where no browser can be opened.
    """

    def visit(visit: Visit, cancel: CancelScope) -> str:
        asked = Question(
            "visit",
            "Log in",
            url=visit.url,
            host=printable(visit.host),
            server=visit.name,
            text=TO_LOG_IN,
            decisions=("once", "refuse"),
        )
        reply = asker.ask(asked, cancel)
        if reply.decision == "refuse":
            raise _nobody(visit) if reply.by == "unattended" else _declined(visit)
        opened = show(visit.url)
        if not opened:
            copy(visit.url)
        waiting = replace(asked, text=OPENED if opened else ELSEWHERE, form=_PASTED, id=new_id())
        reply = asker.ask(waiting, cancel)
        if reply.decision == "refuse" and reply.by == "person":
            raise _declined(visit)
        return reply.text.strip()

    return visit


def at_terminal(say: Callable[[str], None], read_line: Callable[[CancelScope], str], show: Open) -> Browser:
    """Asks in lines. `read_line`: what is typed next; it raises Interrupted when the browser comes back first."""

    def visit(visit: Visit, cancel: CancelScope) -> str:
        say(f"{visit.name} has its log-in at {printable(visit.host)}:")
        say(visit.url)
        say("Press Enter to open it in a browser here; or open it anywhere, and paste the address it ends at.")
        line = read_line(cancel).strip()
        if line:
            return line
        if show(visit.url):
            say("Waiting for the browser. From another machine, paste the address it ended at.")
        else:
            say("No browser could be opened here. Open the address anywhere, and paste the one it ends at.")
        return read_line(cancel).strip()

    return visit


def typed(stream: TextIO) -> Callable[[CancelScope], str]:
    """Reads lines of a terminal. No thread does: one that waits in a read would be in the way when the program ends."""

    def read_line(cancel: CancelScope) -> str:
        while not select.select([stream], [], [], _LOOK)[0]:
            cancel.check()
        return stream.readline()

    return read_line


_LOOK: Final = 0.1  # seconds between two looks whether the browser has come back


def _nobody(visit: Visit) -> ServerFailure:
    return ServerFailure(
        "mcp_login",
        f"{visit.name} wants a log-in, which needs a person: run `/mcp login {visit.name}`",
        server=visit.name,
    )


def _declined(visit: Visit) -> ServerFailure:
    return ServerFailure(
        "mcp_login_declined",
        f"The log-in at {visit.name} was declined. To log in later: /mcp login {visit.name}",
        server=visit.name,
    )


# -- the browser ----------------------------------------------------------------------------------------------------


def opener(env: Mapping[str, str], platform: str = sys.platform) -> Open:
    """How addresses are shown on this machine. Through SSH there is no browser of the user's but a forwarded one."""

    def show(url: str) -> bool:
        program = _program(env, platform)
        if not program or not url.startswith(("https://", "http://")):
            return False
        try:
            child = spawn((program, url), Path("/"), env)
        except OSError:
            return False
        # It may be the browser itself, which lives on; what it writes is nobody's.
        for stream in (child.stdout, child.stderr):
            assert stream is not None
            threading.Thread(target=_drain, args=(stream.fileno(), child), name="browser", daemon=True).start()
        return True

    return show


def _program(env: Mapping[str, str], platform: str) -> str:
    remote = bool(env.get("SSH_CONNECTION") or env.get("SSH_TTY"))
    path = env.get("PATH", "")
    if platform == "darwin":
        return "" if remote else shutil.which("open", path=path) or ""
    display = env.get("WAYLAND_DISPLAY") or env.get("DISPLAY", "")
    if display and not (remote and display.startswith(":")):
        return shutil.which("xdg-open", path=path) or ""
    return shutil.which("wslview", path=path) or "" if env.get("WSL_DISTRO_NAME") else ""


def _drain(descriptor: int, child: object) -> None:
    """`child` is kept with its pipes until they end."""
    try:
        while os.read(descriptor, 65_536):
            pass
    except OSError:
        pass
