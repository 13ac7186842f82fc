"""Commands about sessions and what was said in them. Each is a function of the face and its argument."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui import limits
from nanoherm_tui.exporting import slug, write_new
from nanoherm_tui.i18n import t
from nanoherm_tui.plain.consents import yes_or_no
from nanoherm_tui.plain.questions import Choice
from nanoherm_tui.plain.words import head, listed, pair
from nanoherm_tui.text import age, clean, one_line, visible
from nanoherm_tui.words.worktrees import about, shown, sure_lines

if TYPE_CHECKING:
    from agent_core.git.worktrees import Worktree, Worktrees
    from agent_core.store.rows import SessionRow
    from agent_core.store.search import SearchHit
    from nanoherm_tui.plain.face import Face


def numbered(face: Face, above: str, rows: Sequence[str], chosen: Callable[[int], object]) -> None:
    """Offer a list; a number chooses, n leaves it as it is."""

    def take(said: str) -> bool:
        if said.lower() in ("n", "no"):
            return True
        number = int(said) if said.isascii() and said.isdecimal() and len(said) < 6 else 0
        if not 1 <= number <= len(rows):
            return False
        face.do(lambda: chosen(number - 1))
        return True

    lines = (above, *(f"  {number}. {row}" for number, row in enumerate(rows, 1)))
    face.ask(Choice(lines, f"{t('plain.choose')} (1-{len(rows)}/n): ", take, consents=False))


def new(face: Face, folder: str) -> None:
    """A fresh session in `folder`, else where the program was started."""
    path = face.host.places.workspace / Path(folder).expanduser() if folder else None
    face.opened.switch(lambda: face.host.new(path))


def sessions(face: Face, title: str) -> None:
    """Open the session with this title or id; without one, offer the newest."""
    if title:
        found = face.host.find(title).id
        face.opened.switch(lambda: face.host.live(found) or face.host.open(found))
        return
    rows = face.host.sessions()[: limits.PLAIN_LISTED]
    if not rows:
        face.say(t("plain.no_sessions"))
        return
    numbered(
        face, head(t("sessions.title")), [session_line(face, row) for row in rows], lambda n: _open(face, rows[n].id)
    )


def session_line(face: Face, row: SessionRow) -> str:
    title = one_line(visible(row.title)) or t("sessions.untitled")
    one = face.opened.all.get(row.id)
    state = ""
    if one is not None and one.view.session.busy:
        state = t("transcript.asks" if one.view.waiting else "transcript.running")
    return listed((title, state, age(time.time() - row.updated), face.shown_path(row.workspace)))


def _open(face: Face, session_id: str) -> None:
    face.opened.switch(lambda: face.host.live(session_id) or face.host.open(session_id))


def fork(face: Face, argument: str) -> None:
    """Go on in a copy."""
    if not face.session.stored:
        face.say(t("app.nothing_to_fork"))
        return
    here, title = face.session.id, one_line(face.view.title)
    face.opened.switch(lambda: face.host.fork(here))
    face.say(t("app.forked", title=title))


def rename(face: Face, title: str) -> None:
    if title:
        face.session.send(intents.Rename(title))
    else:
        face.say(t("plain.title", title=one_line(face.view.title) or t("sessions.untitled")), t("plain.usage_rename"))


def delete(face: Face, argument: str) -> None:
    """Put the session away; /restore brings it back."""
    if not face.session.stored:
        face.say(t("plain.nothing_stored"))
        return
    if face.opened.busy:  # it would be stopped by it
        face.say(t("plain.busy"))
        return
    gone, title = face.session.id, one_line(face.view.title) or t("sessions.untitled")
    face.opened.switch(face.host.new)
    face.opened.forget(gone)
    face.host.delete(gone)
    face.opened.deleted.append(gone)
    face.say(t("app.deleted", title=title, command="/restore"))


def restore(face: Face, argument: str) -> None:
    """Bring the session back that was deleted last."""
    if not face.opened.deleted:
        face.say(t("app.nothing_deleted"))
        return
    back = face.opened.deleted[-1]
    face.host.restore(back)
    face.opened.deleted.pop()
    _open(face, back)


def clear(face: Face, argument: str) -> None:
    """Empty the session, once that is agreed to."""
    if not face.session.stored:
        face.say(t("plain.nothing_stored"))
        return
    here = face.session.id

    def work() -> None:
        def emptied() -> None:
            if face.opened.busy:
                face.say(t("plain.busy"))
                return
            face.opened.forget(here)
            face.opened.switch(lambda: face.host.reset(here))

        face.do(emptied)

    lines = ["", t("app.clear_title"), t("app.clear_text")]
    face.ask(yes_or_no(lines, t("confirm.do"), t("confirm.keep"), work, lambda: None))


def export(face: Face, path: str) -> None:
    """Write the session to `path`, else to a file of its title in the folder of the start."""
    if not face.session.stored:
        face.say(t("app.nothing_to_export"))
        return
    from agent_core.store.exchange import form_of

    target = Path(path).expanduser() if path else Path(f"{slug(face.view.title)}.md")
    target = face.host.places.workspace / target
    face.say(t("app.exported", path=write_new(target, face.host.export(face.session.id, form_of(target.name)))))


def undo(face: Face, number: str) -> None:
    if number and not (number.isdecimal() and int(number) > 0):
        face.say(t("app.undo_number", given=number))
        return
    face.session.send(intents.Undo(int(number or 1)))


def redo(face: Face, argument: str) -> None:
    face.session.send(intents.Redo())


def retry(face: Face, argument: str) -> None:
    face.session.send(intents.Retry())


def rewind(face: Face, argument: str) -> None:
    """Choose a message of one's own: it is taken out with all that followed, and comes into the line."""
    if face.session.busy:
        face.say(t("rewind.busy"))
        return
    said = face.session.said()[-limits.PLAIN_LISTED :][::-1]
    if not said:
        face.say(t("rewind.empty"))
        return

    def chosen(number: int) -> None:
        face.session.send(intents.Rewind(said[number].id))
        face.draft.put(said[number].text)
        face.say(t("rewind.taken_out", command="/redo"))

    numbered(face, head(t("rewind.title")), [one_line(clean(one.text)) for one in said], chosen)


def search(face: Face, query: str) -> None:
    """What was said in any session, the best hits first; a number goes to the session."""
    if not query:
        face.say(t("plain.usage_search"))
        return

    def found(hits: Sequence[SearchHit]) -> None:
        shown = list(hits)[: limits.PLAIN_LISTED]
        if not shown:
            face.say(t("search.none", query=visible(query)))
            return
        numbered(face, t("plain.hits", n=len(shown)), [_hit(hit) for hit in shown], lambda n: _go(shown[n]))

    def _go(hit: SearchHit) -> None:
        _open(face, hit.session.id)
        face.say(_hit(hit))

    face.beside(lambda: face.host.search(query), found)


def _hit(hit: SearchHit) -> str:
    title = one_line(visible(hit.session.title)) or t("sessions.untitled")
    speaker = t(f"search.{hit.speaker}") if hit.speaker in _SPEAKERS else hit.speaker
    return pair(listed((title, age(time.time() - hit.created), speaker)), one_line(visible(hit.snippet)))


_SPEAKERS = ("user", "assistant", "thought", "summary", "title")


# -- worktrees --------------------------------------------------------------------------------------------------------


def worktree(face: Face, argument: str) -> None:
    """`[name]` makes one and begins a session there, `list` offers those there are, `remove NAME` removes one."""
    trees = face.host.worktrees(face.session.workspace)
    word, _, rest = argument.partition(" ")
    if word == "list" and not rest:
        face.beside(trees.list, lambda found: _offer(face, found))
    elif word == "remove":
        _remove(face, trees, rest.strip())
    else:

        def made(result: tuple[Worktree, Path]) -> None:
            one, folder = result
            face.say(t("worktree.made", branch=visible(one.branch), path=shown(one.folder)))
            face.opened.switch(lambda: face.host.new(folder))

        face.say(t("worktree.making"))
        face.beside(lambda: trees.make(argument), made)


def _sessions_in(face: Face, folder: Path) -> list[str]:
    return [row.id for row in face.host.sessions() if Path(row.workspace).is_relative_to(folder)]


def _offer(face: Face, found: Sequence[Worktree]) -> None:
    if not found:
        face.say(t("worktree.none", command="/worktree"))
        return

    def chosen(number: int) -> None:
        inside = _sessions_in(face, found[number].folder)
        if inside:
            _open(face, inside[0])
        else:
            face.opened.switch(lambda: face.host.new(found[number].folder))

    rows = [pair(visible(one.name), about(one, len(_sessions_in(face, one.folder)))) for one in found]
    numbered(face, head(t("palette.ask_worktree")), rows, chosen)


def _remove(face: Face, trees: Worktrees, name: str) -> None:
    """Remove one. What holds work of its own is asked about first, and that work is kept."""
    if not name:
        face.say(t("worktree.needs_name", command="/worktree remove", list="/worktree list"))
        return

    def found(one: Worktree) -> None:
        at_work = [o.view for o in face.opened.all.values() if o.view.session.workspace.is_relative_to(one.folder)]
        if any(view.session.busy for view in at_work):
            face.say(t("worktree.busy", name=visible(one.name)))
        elif one.has_work:
            lines = ["", t("worktree.sure", name=visible(one.name)), *sure_lines(one)]
            yes = t("worktree.remove")
            face.ask(yes_or_no(lines, yes, t("confirm.keep"), lambda: go(one, True), lambda: None))
        else:
            go(one, False)

    def go(one: Worktree, sure: bool) -> None:
        def work() -> tuple[str, Path]:
            main = trees.main()
            removed = face.host.worktrees(main).remove(str(one.folder), sure=sure)
            key = "removed_stash" if removed.stashed else "removed" if removed.branch_deleted else "removed_branch"
            return key, main

        def gone(result: tuple[str, Path]) -> None:
            key, main = result
            face.say(t(f"worktree.{key}", name=visible(one.name)))
            if face.session.workspace.is_relative_to(one.folder):
                face.opened.switch(lambda: face.host.new(main))  # where one was is no more

        face.beside(work, gone)

    face.beside(lambda: trees.find(name), found)
