"""All checks, one after the other.

A check that fails in a way nobody thought of is a failed check, never the end of the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from agent_core.doctor import brought, files, model, programs, sandbox
from agent_core.doctor.check import Case, Check, Examination, Patient
from agent_core.errors import AgentError

log = logging.getLogger(__name__)


def examine(patient: Patient, more: Iterable[tuple[str, Examination]] = ()) -> Iterator[Check]:
    """All checks one after the other, each as soon as it is known. `more`: those of a face, by title."""
    case = Case(patient)
    for title, look in _CHECKS:
        yield from _safely(title, partial(look, case))
    for title, examination in more:
        yield from _safely(title, examination)


def _safely(title: str, look: Examination) -> Iterator[Check]:
    id_ = title.lower().replace(" ", "_")
    try:
        yield from look()
    except AgentError as error:
        yield Check(id_, title, "fail", error.text)
    except Exception as error:  # one check that crashes must not hide what the others find
        log.exception("check %s crashed", id_)
        yield Check(id_, title, "fail", f"The check itself failed: {type(error).__name__}: {error}", "Report this.")


_CHECKS: Final[tuple[tuple[str, Callable[[Case], Iterable[Check]]], ...]] = (
    ("Python", programs.python),
    ("Packages", programs.packages),
    ("Tools", programs.tools),
    ("Home", files.home),
    ("Private files", files.private_files),
    ("Sessions", files.sessions),
    ("Search", files.search),
    ("Config", model.config_files),
    ("Model", model.provider),
    ("Sandbox", sandbox.sandbox),
    ("This folder", brought.project),
    ("MCP servers", brought.servers),
    ("Hooks", brought.hooks),
    ("Skills", brought.skills),
    ("Sub-agents", brought.sub_agents),
)
