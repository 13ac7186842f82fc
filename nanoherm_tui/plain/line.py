"""Commands about the line itself and what is put into it. Each is a function of the face and its argument."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import intents
from agent_core.errors import AgentError
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.plain.words import pair
from nanoherm_tui.text import clean, one_line, visible

if TYPE_CHECKING:
    from agent_core.snippets import Snippet, Snippets
    from nanoherm_tui.plain.face import Face
    from nanoherm_tui.terminal.clipboard import Copied


def steer(face: Face, text: str) -> None:
    face.session.send(intents.Steer(text))


def queue(face: Face, text: str) -> None:
    face.session.send(intents.Queue(text))


def redirect(face: Face, text: str) -> None:
    face.session.send(intents.Redirect(text))


def quit(face: Face, argument: str) -> None:
    face.stopping.leave()


def editor(face: Face, argument: str) -> None:
    """Write the message in the user's editor; it comes back into the line."""
    from nanoherm_tui.terminal import editor as program

    if not face.source.edits:
        raise AgentError("editor_no_terminal", "There is no terminal here that an editor could have.")
    face.draft.put(program.edit(face.draft.line, program.command(os.environ)).rstrip("\n"))


def image(face: Face, argument: str) -> None:
    """Put the image of a file into the line. The path may be written as a mention is: @docs/shot.png."""
    path = argument.removeprefix("@").strip("\"'")
    full = face.session.workspace / Path(path).expanduser()
    reference = face.host.images.take_file(full, path)
    face.draft.put(f"{face.draft.line}{reference} ")
    face.say(t("plain.image_taken"))


def snippet(face: Face, name: str) -> None:
    """Put the one of this name into the line; without one, the names there are."""

    def found(snippets: Snippets) -> None:
        face.say(*(t("plain.warning", text=clean(tell(p.code, p.params, p.text))) for p in snippets.problems))
        _insert(face, name, {one.name: one for one in snippets.all})

    here = face.session.id
    face.beside(lambda: face.host.snippets(here), found)


def _insert(face: Face, name: str, known: dict[str, Snippet]) -> None:
    from agent_core.snippets import lay_out

    if name in known:
        face.draft.put(f"{face.draft.line}{lay_out(known[name].text).text}")
    elif name:
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        key = "snippets.unknown_nearest" if near else "snippets.unknown"
        face.say(t(key, name=visible(name), nearest=near[0] if near else ""))
    elif known:
        face.say(*(f"  {pair(f'/snippet {visible(one.name)}', one_line(one.text))}" for one in known.values()))
    else:
        face.say(t("snippets.none", path=face.shown_path(face.host.places.data_home / "snippets.yaml")))


def copy(face: Face, argument: str) -> None:
    """The newest answer, as Markdown."""
    text = face.opened.last_answer
    if not text:
        face.say(t("app.nothing_to_copy"))
        return

    face.beside(lambda: to_clipboard(face, text), lambda copied: tell_copied(face, copied))


def to_clipboard(face: Face, text: str) -> Copied:
    """Put it there, as far as that can be done without the terminal. On a thread; raises AgentError."""
    from nanoherm_tui.terminal import clipboard

    env = dict(os.environ) if face.source.edits else {**os.environ, "TERM": "dumb"}
    return clipboard.copy(text, env, face.host.places.cache_dir)


def tell_copied(face: Face, copied: Copied) -> None:
    if copied.sequence:  # it draws nothing
        sys.stdout.write(copied.sequence)
    key = f"app.copied_{copied.how}" + ("_terminal" if copied.how == "tmux" and copied.detail else "")
    face.say(t(key, n=copied.characters, tool=copied.detail, path=face.shown_path(copied.detail)))


def vim(face: Face, argument: str) -> None:
    """Edit lines with the keys of vi, as readline has them; once more, with those of Emacs."""
    on = face.host.config.get("display.composer_keys") != "vim"
    face.host.save_settings({"display.composer_keys": "vim" if on else "emacs"})
    face.source.use_vi(on)
    face.say(t("composer.vim_on" if on else "composer.vim_off"))
