"""What the composer says of itself: its placeholder, its sign, and the row below, by what Enter would do now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow
    from agent_core.events import SessionState
    from nanoherm_tui.editing.vim import Mode
    from nanoherm_tui.panes.entered import ShellCommand

Label = Callable[[str], str]
"""An action's key, as a person reads it."""


@dataclass(frozen=True, slots=True)
class Doing:
    """All that decides it."""

    state: SessionState
    written: bool
    """There is a draft."""
    searching: bool
    """The draft is what is looked for in the history."""
    shell: ShellCommand | None
    """The draft is a command of the user's own."""
    instead: bool
    """It takes the place of an earlier message."""
    agent: AgentRow | None
    """Who is told what is written; None: the session itself."""
    who: str
    """That one's number and name."""
    keys: Mode = "insert"
    """What vim's keys do; "insert" without them."""
    pending: str = ""
    """The keys of a vim command that is not whole yet."""
    stops: bool = False
    """Places of a snippet are still to be filled in."""

    @property
    def runs(self) -> bool:
        return self.state in ("running", "asking", "stopping")


@dataclass(frozen=True, slots=True)
class Told:
    """The row below the draft."""

    words: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    short: str = ""
    """Said instead where `words` do not fit."""


def hint(doing: Doing, label: Label) -> Told:
    """What the row below the draft says; nothing where there is nothing to say."""
    if doing.searching:
        return Told(
            keys=(
                (label("send"), t("composer.history_take")),
                (label("history_search"), t("composer.history_older")),
                ("Esc", t("composer.history_leave")),
            )
        )
    if doing.stops:
        return Told(keys=(("Tab", t("composer.snippet_next")), ("Shift+Tab", t("composer.snippet_back"))))
    if doing.shell is not None:
        if doing.shell.private:
            return Told(t("composer.shell_private"), short=t("composer.shell_private_short"))
        return Told(t("composer.shell"), short=t("composer.shell_short"))
    if doing.instead:
        return Told(t("composer.instead"), (("Esc", t("composer.instead_leave")),))
    if doing.agent is not None:
        return Told()  # the row above the draft says what can be done
    if doing.state == "stopping" and doing.written:
        return Told(t("composer.stopping"))
    if doing.runs and doing.written:
        # What ends the turn comes first: on a narrow screen the rest is cut off.
        return Told(
            keys=(
                (label("stop"), t("composer.hint_stop")),
                (label("send"), t("composer.hint_steer")),
                (label("queue"), t("composer.hint_queue")),
            )
        )
    return Told()


def mode(doing: Doing) -> str:
    """Vim's mode and the keys that wait for more, where keys do not type; "" where they do."""
    if doing.keys == "insert":
        return ""
    words = {"normal": t("composer.vim_normal"), "visual": t("composer.vim_visual")}.get(doing.keys)
    words = words or t("composer.vim_visual_line")
    return f"{words} {doing.pending}".rstrip()


def sign(doing: Doing) -> tuple[str, str]:
    """The sign before the draft and its role; "" is that of messages."""
    if doing.shell is not None:
        return "$", "warn"
    if doing.keys != "insert":
        return {"normal": "N", "visual": "V", "visual line": "L"}[doing.keys], "accent"
    return "/" if doing.searching else "", "accent"


def placeholders(doing: Doing, label: Label) -> list[str]:
    """What an empty draft may say, the longest first."""
    if doing.searching:
        return [t("composer.history_ask")]
    if doing.agent is not None:
        if doing.agent.ended is not None:
            return [t("agents.back_first")]
        return [t("agents.tell_it", name=doing.who), t("agents.tell_it_short", name=doing.who)]
    if doing.state == "stopping":
        return [t("composer.stopping"), t("composer.stopping_short")]
    if doing.runs:
        stop, send, queue = label("stop"), label("send"), label("queue")
        return [
            t("composer.running", send=send, queue=queue, stop=stop),
            t("composer.running_short", send=send, stop=stop),
            t("composer.running_least", stop=stop),
        ]
    return [t("composer.placeholder"), t("composer.placeholder_short")]
