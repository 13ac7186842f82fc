"""What is remembered over sessions and what waits to be: looked at, searched, added, mended, forgotten, decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agent_core.errors import AgentError
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.overlays.memory import Found, MemoryScreen
from nanoherm_tui.overlays.pending import PendingScreen
from nanoherm_tui.text import one_line, visible
from nanoherm_tui.words.kept_titles import kept_title
from nanoherm_tui.words.memory import all_forgotten, forgotten_words

if TYPE_CHECKING:
    from agent_core.knowledge import Memory, Pending
    from agent_core.memory.desk import Forgotten
    from nanoherm_tui.app import NanohermApp

T = TypeVar("T")


def show(app: NanohermApp, argument: str) -> None:
    """Open the view, or do what is typed: "add TEXT", "search WORDS", "forget ID", "pending", "approve ID", ..."""
    if app.view is None:
        return
    word, _, rest = (part.strip() for part in argument.partition(" "))
    if not word:
        _open(app)
    elif word == "search":
        _open(app, rest)
    elif word == "add" and rest:
        app.desk.do(lambda: app.host.memory_desk.remember(rest), lambda kept: _hint_kept(app, kept))
    elif word == "forget" and rest:
        _forget(app, rest)
    elif word == "pending" and not rest:
        _go_through(app)
    elif word in ("approve", "diff", "pending") and rest and rest != "all":
        app.desk.do(lambda: app.host.pending.get(rest, "memory").pending, lambda found: _look_at(app, [found]))
    elif word == "approve" and rest:  # each is shown: nothing is approved that nobody has seen
        _go_through(app)
    elif word == "reject" and rest:
        _answer(app, rest, False)
    elif word == "approval" and rest in ("on", "off"):
        _ask_first(app, rest == "on")
    else:
        app.conversations.tell("memory_usage", t("memory.usage"))


def _hint_kept(app: NanohermApp, kept: Memory | None) -> None:
    words = t("memory.known") if kept is None else t("memory.kept", text=one_line(visible(kept.text)))
    app.hint(words)


def _forget(app: NanohermApp, rest: str) -> None:
    """Of the id in `rest`; "all" behind it means what was made from it too."""
    id, too = rest.removesuffix(" all").strip(), rest.endswith(" all")

    def forget() -> str:
        done = app.host.memory_desk.forget(id)
        return all_forgotten(done, app.host.memory_desk.forget_made_from(done)) if too else forgotten_words(done)

    app.desk.do(forget, app.hint)


def _ask_first(app: NanohermApp, on: bool) -> None:
    app.desk.do(
        lambda: app.host.save_settings({"memory.write_approval": on}),
        lambda _: app.hint(t("memory.approval_on" if on else "memory.approval_off")),
    )


# -- what waits -----------------------------------------------------------------------------------------------------


def _go_through(app: NanohermApp) -> None:
    def listed(found: tuple[Pending, ...]) -> None:
        if found:
            _look_at(app, found)
        else:
            app.hint(t("skills.nothing_waits"))

    app.desk.do(lambda: app.host.pending.list("memory"), listed)


def _look_at(app: NanohermApp, several: Sequence[Pending], then: Callable[[], None] = lambda: None) -> None:
    """Show one after the other, each as its change; Esc leaves the others as they are."""

    def answered(approved: bool | None) -> None:
        if approved is not None:
            _answer(app, several[0].id, approved)
            if several[1:]:
                _look_at(app, several[1:], then)
                return
        then()

    app.open_overlay(PendingScreen(several[0]), answered)


def _answer(app: NanohermApp, id: str, approved: bool) -> None:
    def told(done: Pending) -> None:
        words = t("skills.approved" if approved else "skills.rejected", title=kept_title(done.title))
        app.hint(words)

    app.desk.do(lambda: app.host.memory_desk.answer(id, approved), told)


# -- the view -------------------------------------------------------------------------------------------------------


def _open(app: NanohermApp, query: str = "") -> None:
    assert app.view is not None
    screen = MemoryScreen(query)
    workspace, home = Path(app.view.session.workspace), str(app.host.places.home)

    def look(query: str) -> Found:
        seen = app.host.memory_desk.look(query)
        return Found(query, seen.memories, seen.pending, seen.total, seen.withheld, str(workspace), home)

    def do(work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Do `work` beside the screen; what is refused is told in the view."""

        def tried() -> T | AgentError:
            try:
                return work()
            except AgentError as error:
                return error

        def back(result: T | AgentError) -> None:
            if not screen.is_running:
                return
            if isinstance(result, AgentError):
                screen.tell(tell(result.code, result.params, result.text), problem=True)
            else:
                then(result)

        app.desk.do(tried, back)

    def changed(words: str) -> None:
        screen.kept()
        screen.tell(words)
        screen.ask_again()

    def added(kept: Memory | None) -> None:
        changed(t("memory.known") if kept is None else t("memory.kept", text=one_line(visible(kept.text))))

    def forgotten(done: Forgotten) -> None:
        def forget_too() -> None:
            do(lambda: app.host.memory_desk.forget_made_from(done), forgotten_all)

        def forgotten_all(gone: tuple[Memory, ...]) -> None:
            screen.gone(gone)
            changed(all_forgotten(done, gone))

        screen.gone((done.memory,), forget_too if done.left else None)
        changed(forgotten_words(done))

    screen.on_search = lambda query: do(lambda: look(query), screen.show)
    screen.on_add = lambda text: do(lambda: app.host.memory_desk.remember(text), added)
    screen.on_edit = lambda memory, text: do(
        lambda: app.host.memory_desk.edit(memory.id, text), lambda _: changed(t("memory.mended"))
    )
    screen.on_forget = lambda memory: do(lambda: app.host.memory_desk.forget(memory.id), forgotten)
    screen.on_take_back = lambda memory: do(lambda: app.host.memory_desk.take_back(memory), added)

    def chosen(pending: Pending | None) -> None:
        if pending is not None:
            _look_at(app, [pending])

    app.open_overlay(screen, chosen)
