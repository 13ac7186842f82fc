"""What an empty transcript says: which model answers, and which keys begin."""

from __future__ import annotations

from agent_core.host import ModelState
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap

Line = tuple[tuple[str, str], ...]
"""(words, role) pairs; the role "bold" is the name of something, "bar" a warning's first words."""


def lines(model: ModelState, keymap: Keymap) -> list[Line]:
    """The welcome for the present model, in the interface's language."""
    if not model.settled:
        return [((t("welcome.looking"), "muted"),)]
    if model.problem is not None:
        head: list[Line] = [((t("welcome.no_model"), "warn"),), ((model.problem.text, "text"),)]
    elif model.demo:
        head = [((t("welcome.demo_title"), "warn"), (" " + t("welcome.demo_text"), "text"))]
    else:
        head = [((t("welcome.model", model=model.label), "text"),)]
    hints: list[Line] = []
    if model.demo:
        hints.append((("Enter", "key"), (t("welcome.demo_try"), "text"), (t("welcome.demo_prompt"), "muted")))
    if model.demo or model.problem is not None:
        hints.append((("/setup", "key"), (t("welcome.setup"), "text"), (t("welcome.setup_help"), "muted")))
    for action in ("palette", "help"):
        words = (t(f"welcome.{action}"), "text"), (t(f"welcome.{action}_help"), "muted")
        hints.append(((keymap.label(action), "key"), *words))
    return [*head, (), *hints]
