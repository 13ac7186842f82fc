"""A rule that stopped something, in the interface's language."""

from __future__ import annotations

from nanoherm_tui.i18n import phrase, t


def rule_words(rule: str) -> str:
    """As "mode ask", or a kind of rule, a colon and its name."""
    kind, _, name = rule.partition(": ")
    said = phrase("questions", kind)
    return t("approval.rule_named", kind=said, name=phrase("questions", name)) if name else said
