"""What is allowed and what was decided, put in words under headings. Pure."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.desk.permissions import NoSandbox
from agent_core.grants_file import HostGrant, ServerGrant
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED, Box
from nanoherm_tui.i18n import phrase, series, t, tell
from nanoherm_tui.text import age, clean, shorten_home, visible
from nanoherm_tui.words.rules import rule_words
from nanoherm_tui.words.sandbox import why_none

if TYPE_CHECKING:
    from agent_core.desk.permissions import Allowed, ConfirmedMode, Permissions, Project
    from agent_core.grants import SessionGrants
    from agent_core.grants_file import Grant
    from agent_core.store.audit import Entry


@dataclass(frozen=True, slots=True)
class Line:
    """One row: what it is, and on the right where or when."""

    words: str
    side: str = ""
    detail: tuple[str, ...] = ()
    """All there is to know, for below the list."""
    warning: bool = False
    mark: str = ""
    """ "allow" or "refuse": how it was decided."""
    allowed: Allowed | None = None
    """What `d` takes back; None: it cannot be."""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    lines: tuple[Line, ...]


def sections(seen: Permissions, home: str) -> list[Section]:
    """The list's parts; those with nothing in them are left out."""
    parts = [
        ("now", _now(seen)),
        ("machine", _machine(seen, home)),
        ("session", [_of_session(one, home) for one in seen.session]),
        ("always", [_of_file(grant, home) for grant in seen.always]),
        (
            "never",
            [Line(visible(pattern), detail=(visible(pattern), t("permissions.never_text"))) for pattern in seen.deny],
        ),
        ("decided", [_decision(entry, home) for entry in seen.decisions]),
    ]
    return [Section(t(f"permissions.{name}"), tuple(lines)) for name, lines in parts if lines]


def _now(seen: Permissions) -> list[Line]:
    held = seen.containment
    lines = [
        Line(
            t("permissions.mode", mode=seen.mode),
            detail=(t("text.pair", name=seen.mode, value=t(f"modes.{seen.mode}")),),
        ),
        Line(
            t("permissions.policy", policy=seen.policy),
            detail=(t(f"permissions.policy_{seen.policy}"), t("permissions.policy_where")),
        ),
    ]
    if held.has_none:
        words = t("status.no_sandbox")
        lines.append(Line(words, detail=(words, why_none(held)), warning=True))
    elif seen.sandbox == UNCONFINED.words:
        words = t("permissions.sandbox", sandbox=held.sandbox)
        lines.append(Line(words, detail=(words, t("approval.free")), warning=True))
    else:
        words = t("permissions.sandbox", sandbox=phrase("questions", seen.sandbox))
        lines.append(Line(words, detail=(words,)))
    if held.missing and held.kernel:
        missing = t("permissions.lacks", what=series(held.missing))
        means = [t("status.no_mounts")] if "mount view" in held.missing else []
        lines.append(Line(missing, detail=(missing, *means, t("permissions.lacks_text")), warning=True))
    if seen.problem is not None:
        problem = tell(seen.problem.code, seen.problem.params, seen.problem.text)
        lines.append(Line(problem, detail=(problem,), warning=True))
    return lines


def _machine(seen: Permissions, home: str) -> list[Line]:
    lines = []
    if seen.no_sandbox:
        words = t("permissions.no_sandbox")
        lines.append(Line(words, detail=(words,), warning=True, allowed=NoSandbox()))
    for confirmed in seen.modes:
        lines.append(_confirmed(confirmed, home))
    return lines + [_project(project, home) for project in seen.projects]


def _confirmed(confirmed: ConfirmedMode, home: str) -> Line:
    folder = _folder(confirmed.workspace, home)
    words = t("permissions.confirmed", mode=confirmed.mode)
    return Line(words, folder, (words, folder), allowed=confirmed)


def _project(project: Project, home: str) -> Line:
    folder = _folder(project.folder, home)
    words = t(f"permissions.project_{project.answer}")
    return Line(words, folder, (words, folder), allowed=project)


def _of_session(one: SessionGrants, home: str) -> Line:
    if one.edits:
        words = t("permissions.edits")
        return Line(words, detail=(words,), allowed=one)
    if one.commands:
        [(command, folder, box)] = one.commands
        return Line(visible(command), _box(box), (visible(command), _folder(folder, home), _box(box)), allowed=one)
    if one.hosts:
        [(host, is_search)] = one.hosts
        words = _host_words(host, is_search)
        return Line(words, detail=(words,), allowed=one)
    if one.servers:
        [(server, tool, _)] = one.servers
        words = _server_words(server, tool)
        return Line(words, detail=(words,), allowed=one)
    path = visible("".join((*one.changed, *one.read)))
    words = t("permissions.changes" if one.changed else "permissions.reads", path=path)
    return Line(words, detail=(words,), allowed=one)


def _host_words(host: str, is_search: bool) -> str:
    return t("permissions.searches_at" if is_search else "permissions.pages_of", host=visible(host))


def _server_words(server: str, tool: str) -> str:
    return t("permissions.calls", server=visible(server), tool=visible(tool))


def _of_file(grant: Grant, home: str) -> Line:
    if isinstance(grant, HostGrant | ServerGrant):
        anywhere = t("permissions.anywhere")
        if isinstance(grant, HostGrant):
            words = _host_words(grant.host, grant.is_search)
        else:
            words = _server_words(grant.server, grant.tool)
        given = datetime.fromtimestamp(grant.when).strftime("%Y-%m-%d %H:%M") if grant.when else ""
        return Line(words, anywhere, tuple(filter(None, (words, given))), allowed=grant)
    where = _folder(grant.cwd or grant.workspace, home) if grant.cwd or grant.workspace else t("permissions.anywhere")
    how = t("approval.holds_all" if grant.prefix else "approval.holds_exact") if grant.workspace or grant.cwd else ""
    when = datetime.fromtimestamp(grant.when).strftime("%Y-%m-%d %H:%M") if grant.when else ""
    facts = "   ".join(filter(None, (where, _box(grant.box), visible(grant.program), when)))
    return Line(visible(grant.pattern), where, tuple(filter(None, (visible(grant.pattern), how, facts))), allowed=grant)


def _decision(entry: Entry, home: str) -> Line:
    decided = entry.decided
    what = clean(decided.what)
    rule = rule_words(decided.rule) if decided.rule else ""
    by = t("permissions.by", who=t(f"permissions.by_{decided.by}"))
    when = datetime.fromtimestamp(decided.when).strftime("%H:%M:%S")
    sandbox = phrase("questions", decided.sandbox) if decided.sandbox else ""
    facts = "   ".join(filter(None, (when, by, clean(rule), clean(sandbox), _folder(decided.cwd, home))))
    return Line(what, age(time.time() - decided.when), (what, facts), mark=decided.verdict)


def _folder(path: str, home: str) -> str:
    return visible(shorten_home(path, home or str(Path.home()))) if path else ""


def _box(box: Box) -> str:
    return phrase("questions", box.words)
