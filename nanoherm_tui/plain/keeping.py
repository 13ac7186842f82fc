"""Commands about MCP servers, memory and skills. Each is a function of the face and its argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, Interrupted
from nanoherm_tui.i18n import t
from nanoherm_tui.plain.diffs import diff_lines
from nanoherm_tui.plain.line import tell_copied, to_clipboard
from nanoherm_tui.plain.questions import Choice
from nanoherm_tui.plain.words import head, pair
from nanoherm_tui.text import one_line, visible
from nanoherm_tui.words.kept_titles import kept_title
from nanoherm_tui.words.memory import all_forgotten, forgotten_words
from nanoherm_tui.words.servers import lines as server_lines
from nanoherm_tui.words.servers import problems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_core.knowledge import Memory, Pending
    from nanoherm_tui.plain.face import Face

ACTS = ("restart", "login", "logout", "on", "off")


def servers(face: Face, argument: str) -> None:
    """The list, or what is typed: "restart git", "login issues", "off git"."""
    word, _, name = argument.partition(" ")
    desk, workspace, name = face.host.servers, face.session.workspace, name.strip()
    if not word:
        _list_servers(face)
    elif word not in ACTS or not name:
        face.say(t("servers.usage"))
    elif word == "restart":
        desk.restart(workspace, name)
        face.say(t("servers.restarting", name=visible(name)))
    elif word == "logout":
        key = "logged_out" if desk.log_out(workspace, name, CancelScope()) else "was_not_in"
        face.say(t(f"servers.{key}", name=visible(name)))
    elif word == "login":
        _log_in(face, name)
    else:
        desk.enable(workspace, name, word == "on")
        face.say(t(f"servers.is_{word}", name=visible(name)))


def _list_servers(face: Face) -> None:
    desk, workspace = face.host.servers, face.session.workspace
    found = server_lines(desk.views(workspace), face.home)
    for line in found:
        side = f", {line.side}" if line.side else ""
        face.say(pair(visible(line.name), f"{line.words}{side}"), *(f"  {one}" for one in line.detail))
        face.say(*(f"    {small.words}" for small in line.below))
    wrong = problems(desk.problems(workspace), face.home)
    if wrong:
        face.say(head(t("servers.problems")), *(f"  {line.words}" for line in wrong))
    if not found and not wrong:
        face.say(t("servers.none"), t("servers.how"))


def _log_in(face: Face, name: str) -> None:
    """Have the person log in: the address is put before them like any other question."""
    session, workspace = face.session, face.session.workspace

    def work() -> str:
        from agent_core.mcp.login import asking, opener

        def copy(url: str) -> None:
            try:
                copied = to_clipboard(face, url)
            except AgentError as error:  # the address stands in the question too
                failed = error
                face.soon(lambda: face.say_error(failed))
            else:
                face.soon(lambda: tell_copied(face, copied))

        browser = asking(session.asker, opener(face.host.launch.env), copy)
        try:
            face.host.servers.log_in(workspace, name, browser, CancelScope())
        except Interrupted:
            return "login_stopped"
        return "logged_in"

    face.say(t("servers.looking", name=visible(name)))
    face.beside(work, lambda words: face.say(t(f"servers.{words}", name=visible(name))))


# -- memory -----------------------------------------------------------------------------------------------------------


def memory(face: Face, argument: str) -> None:
    """The list, or what is typed: "add TEXT", "search WORDS", "forget ID", "pending", "approve ID", ..."""
    word, _, rest = (part.strip() for part in argument.partition(" "))
    desk = face.host.memory_desk
    if not word or (word == "search" and rest):
        _list_memories(face, rest)
    elif word == "add" and rest:
        kept = desk.remember(rest)
        face.say(t("memory.known") if kept is None else t("memory.kept", text=one_line(visible(kept.text))))
    elif word == "forget" and rest:
        done = desk.forget(rest.removesuffix(" all").strip())
        too = rest.endswith(" all")
        face.say(all_forgotten(done, desk.forget_made_from(done)) if too else forgotten_words(done))
    elif (word == "pending" and not rest) or (word == "approve" and rest == "all"):
        _go_through(face, face.host.pending.list("memory"), desk.answer)
    elif word in ("approve", "diff", "pending") and rest:
        _go_through(face, [face.host.pending.get(rest, "memory").pending], desk.answer)
    elif word == "reject" and rest:
        _decided(face, desk.answer(rest, False), False)
    elif word == "approval" and rest in ("on", "off"):
        face.host.save_settings({"memory.write_approval": rest == "on"})
        face.say(t(f"memory.approval_{rest}"))
    else:
        face.say(t("memory.usage"))


def _list_memories(face: Face, query: str) -> None:
    seen = face.host.memory_desk.look(query)
    if not seen.memories:
        face.say(t("memory.nothing", query=visible(query)) if query else t("plain.no_memories"))
    face.say(*(_memory_line(one) for one in seen.memories))
    if seen.pending:
        face.say(t("plain.memories_wait", n=len(seen.pending)))
    face.say(t("memory.usage"))


def _memory_line(one: Memory) -> str:
    return f"{one.id}  {pair(t(f'memory.{one.kind}'), one_line(visible(one.text)))}"


# -- what waits for a person ------------------------------------------------------------------------------------------


def _go_through(face: Face, several: Sequence[Pending], answer: Callable[[str, bool], Pending]) -> None:
    """Show each as its change: nothing is approved that nobody has seen."""
    if not several:
        face.say(t("skills.nothing_waits"))
        return
    first, *others = several

    def take(said: str) -> bool:
        if said.lower() in ("y", "yes", "r", "reject"):
            yes = said.lower().startswith("y")
            face.do(lambda: _decided(face, answer(first.id, yes), yes))
        elif said.lower() not in ("n", "no"):
            return False
        if others:
            _go_through(face, others, answer)
        return True

    keys = (f"  y: {t('pending.approve')}", f"  r: {t('pending.reject')}", f"  n: {t('pending.later')}")
    lines = ("", kept_title(first.title), *diff_lines((first.diff,)), *keys)
    face.ask(Choice(lines, f"{t('plain.ask')} (y/r/n): ", take))


def _decided(face: Face, done: Pending, approved: bool) -> None:
    face.say(t("skills.approved" if approved else "skills.rejected", title=kept_title(done.title)))


# -- skills -----------------------------------------------------------------------------------------------------------


def skills(face: Face, argument: str) -> None:
    """The list, or what is typed: "pending", "diff 3f9a", "approve 3f9a", "reject 3f9a"."""
    word, _, id = (part.strip() for part in argument.partition(" "))
    if not word:
        found = face.host.skills.of(face.session.workspace).list()
        for skill in found:
            unmet = [t(f"skills.unmet_{one.kind}", what=visible(one.what)) for one in skill.unmet]
            facts = "; ".join([t(f"skills.place_{skill.place}"), *unmet])
            face.say(pair(f"/{visible(skill.name)} ({facts})", one_line(skill.description)))
        waiting = len(face.host.pending.list("skill"))
        face.say(*([] if found else [t("skills.none")]), *([t("plain.skills_wait", n=waiting)] if waiting else []))
    elif word == "pending" and not id:
        _go_through(face, face.host.pending.list("skill"), face.host.skills.answer)
    elif word in ("diff", "approve") and id:
        _go_through(face, [face.host.pending.get(id, "skill").pending], face.host.skills.answer)
    elif word == "reject" and id:
        _decided(face, face.host.skills.answer(id, False), False)
    else:
        face.say(t("skills.usage"))
