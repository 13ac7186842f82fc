"""What commands run in here, and why nothing confines them, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.names import MODES_READ_ONLY
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from agent_core.names import Mode
    from agent_core.session.services import Containment


def sandbox_words(mode: Mode, held: Containment | None) -> str | None:
    """What commands run in, in this mode; empty: nothing confines them, None: that is not known yet."""
    if held is None:
        return None
    if mode in MODES_READ_ONLY and held.kernel:
        return "read-only"
    return held.sandbox if held.kernel or held.sandbox == "danger-full-access" else ""


def why_none(held: Containment) -> str:
    """Why nothing confines commands here."""
    return t("app.no_sandbox_call", why=held.why) if held.why else t("app.no_sandbox_why")
