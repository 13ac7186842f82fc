"""Whether the message of a run without a screen may be sent: a command that is mistyped, or the screen's, may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_core.cancel import CancelScope
from agent_core.ports.extras import Settling
from nanoherm_tui.actions import SlashProblem, parse_slash

if TYPE_CHECKING:
    from agent_core.desk.host import Host
    from agent_core.session.live import LiveSession

_WAY_OUT: Final = "A blank before the slash sends it as text."


def refusal(prompt: str, host: Host, session: LiveSession) -> str:
    """Why `prompt` is not sent, in words; "" when it is. The rule is the composer's: `actions.parse_slash`.

    Reads files; waits for servers where one of their prompts may be meant. Raises AgentError.
    """
    name = prompt.split(maxsplit=1)[0]
    found = parse_slash(prompt, host.typed(session.id).all)
    if found is not None and ":" in name:
        for extra in session.extras:
            if isinstance(extra, Settling):
                extra.settle(CancelScope())
        found = parse_slash(prompt, host.typed(session.id).all)
    if found is None:
        return ""
    if not (isinstance(found, SlashProblem) and found.is_unknown):
        return f"{name} is a command of the screen: without one it does nothing. {_WAY_OUT}"
    near = f"; the nearest is /{found.params['nearest']}" if "nearest" in found.params else ""
    return f"no command {name}{near}. {_WAY_OUT}"
