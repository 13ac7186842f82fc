"""The greeting of an empty session: what it says depends on the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t, tell
from nanoherm_tui.panes.welcome import Greeting
from nanoherm_tui.words.sandbox import why_none

if TYPE_CHECKING:
    from agent_core.desk.model_choice import ModelState
    from agent_core.session.services import Containment
    from nanoherm_tui.keymap import Keymap


def greeting(model: ModelState | None, keymap: Keymap, held: Containment | None = None) -> Greeting:
    """The greeting for the present model (None: not known yet), in the interface's language.

    `held`: how far commands are confined here; that nothing does is said.
    """
    note = ""
    if held is not None and held.has_none and not held.accepted:
        note = t("app.no_sandbox", why=why_none(held))
    if model is None:
        return Greeting("", t("welcome.opening"))
    if not model.settled:
        return Greeting("", t("welcome.looking"))
    keys = tuple(
        (key, t(f"welcome.{name}"), t(f"welcome.{name}_help"))
        for key, name in (
            *([("/setup", "setup")] if model.demo or model.problem is not None else []),
            (keymap.label("palette"), "palette"),
            (keymap.label("help"), "help"),
        )
        if key  # who took it away does not need it
    )
    if model.problem is not None:
        problem = model.problem
        return Greeting(t("welcome.no_model"), tell(problem.code, problem.params, problem.text), True, keys, note)
    if model.demo:
        return Greeting(t("welcome.demo_title"), t("welcome.demo_text"), True, keys, note)
    return Greeting(model.label, t("welcome.ready"), False, keys, note)
