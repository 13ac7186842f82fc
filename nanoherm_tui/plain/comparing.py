"""Two sessions compared in lines: what each is and has used, how far they begin alike, and what follows in each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.compared import Both, names_in, which_two
from nanoherm_tui.i18n import t
from nanoherm_tui.plain.sessions import numbered, session_line
from nanoherm_tui.plain.words import listed, pair
from nanoherm_tui.text import one_line, visible
from nanoherm_tui.words import compare as words

if TYPE_CHECKING:
    from agent_core.messages import Message
    from agent_core.store.compare import Comparison
    from nanoherm_tui.plain.face import Face


def compare(face: Face, argument: str) -> None:
    """Those that are named; the present one and another; or the present one and its fork or its origin."""
    here, names = face.session.id, names_in(argument)
    if not names and not face.session.stored:
        face.say(t("compare.name_two"))
        return

    def known(both: Both | None) -> None:
        if both is None:
            _offer(face, here)
        else:
            _read(face, both)

    face.beside(lambda: which_two(face.host, here, names), known)


def _offer(face: Face, here: str) -> None:
    rows = [row for row in face.host.sessions() if row.id != here][: limits.PLAIN_LISTED]
    if not rows:
        face.say(t("compare.nothing"))
        return
    shown = [session_line(face, row) for row in rows]
    numbered(face, t("plain.compare_with"), shown, lambda n: _read(face, (here, rows[n].id)))


def _read(face: Face, both: Both) -> None:
    from agent_core.store import compare as store

    if both[0] == both[1]:
        face.say(t("compare.same"))
    else:
        face.beside(lambda: store.compare(face.host.store, *both), lambda found: face.say(*compared_lines(found)))


def compared_lines(found: Comparison) -> list[str]:
    """All there is to say of two sessions, A and B."""
    lines = [_side(found, 0), _side(found, 1)]
    rests = [side.messages[found.equal :] for side in (found.left, found.right)]
    if found.equal or not any(rests):
        key = "compare.equal_one" if found.equal == 1 else "compare.equal" if any(rests) else "compare.all_equal"
        lines.append(t(key, n=found.equal) if found.equal else t("compare.empty"))
    for letter, rest in zip("AB", rests, strict=True):
        if rest:
            lines += [t("plain.compare_rest", side=letter), *_told(rest)]
    return lines


def _side(found: Comparison, side: int) -> str:
    session = (found.left, found.right)[side]
    facts = (words.title(session), words.models(session), *words.used(session), *words.changed(found, side))
    return pair("AB"[side], listed(facts))


def _told(messages: Iterable[Message]) -> list[str]:
    """What was said and done, a line each; the whole is in the session."""
    lines = []
    for message in messages:
        said = one_line(visible(message.text))
        if message.role in ("user", "assistant") and said:
            who = t("search.user" if message.role == "user" else "search.assistant")
            lines.append(f"  {pair(who, said)}")
        lines += (f"  {one_line(visible(call.name))}" for call in message.tool_calls)
    more = len(lines) - limits.PLAIN_LISTED
    return lines if more <= 0 else [*lines[: limits.PLAIN_LISTED], f"  {t('compare.long')}"]
