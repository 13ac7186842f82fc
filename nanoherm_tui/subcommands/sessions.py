"""`nanoherm-tui sessions ...`: what is stored, for the shell and for scripts. Reading waits for nobody."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import limits, names
from agent_core.config.paths import Places, find_places
from agent_core.errors import AgentError
from agent_core.store.rows import SessionRow
from agent_core.store.sessions import Store
from nanoherm_tui.subcommands.common import (
    GAP,
    add_json,
    day,
    ended,
    opened,
    positive,
    print_table,
    say,
    short_folder,
    tell,
    without_keys,
)
from nanoherm_tui.text import cut, cut_path, fit, one_line, size, visible, width

if TYPE_CHECKING:
    from agent_core.store.check import Report
    from agent_core.store.imports import Incoming

_NARROW: Final = 8  # cells a title or a folder has in the narrowest terminal
_MATCH: Final = "\x1b[1m", "\x1b[0m"  # around a hit, on a terminal


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(f"{names.APP} sessions", description="What is stored, without a screen.")
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, words: str, run: Callable[[argparse.Namespace, Places], int]) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=words, description=words)
        sub.set_defaults(run=run)
        return sub

    named = "a session: its id, the start of one, or its title"
    sub = command("list", "Sessions, the one used last first.", _list)
    sub.add_argument("--here", action="store_true", help="only those of this folder")
    sub.add_argument("--limit", type=positive, default=limits.SESSIONS_LISTED, metavar="N", help="at most so many")
    add_json(sub)
    sub = command("show", "A conversation as text.", _show)
    sub.add_argument("session", metavar="SESSION", help=named)
    add_json(sub)
    sub = command("search", "Messages in which all words stand; what is in quotes stands together.", _search)
    sub.add_argument("query", nargs="+", metavar="WORD", help="words to look for; in:FOLDER, model:NAME, since:7d, "
                     "before:2026-01-31 and by:user|model|tool among them narrow it down")  # fmt: skip
    sub.add_argument("--here", action="store_true", help="only in sessions of this folder")
    sub.add_argument("--limit", type=positive, default=20, metavar="N", help="at most so many (default: 20)")
    add_json(sub)
    sub = command("export", "A conversation as a document.", _export)
    sub.add_argument("session", metavar="SESSION", help=named)
    sub.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="its ending says the form: .md .html .json .nano.json"
    )
    sub.add_argument("--format", choices=("markdown", "html", "json", "nanohermes"), help="the form, whatever the name")
    sub = command("import", "Bring sessions in: an export, a NanoHermes array, JSON lines, a Hermes state.db.", _import)
    sub.add_argument("files", nargs="+", type=Path, metavar="FILE")
    add_json(sub)
    sub = command("delete", "Delete sessions; `restore` brings one back within a week.", _delete)
    sub.add_argument("sessions", nargs="+", metavar="SESSION", help=named)
    sub = command("restore", "Bring a deleted session back.", _restore)
    sub.add_argument("session", metavar="SESSION", help="its id, as `delete` said it")
    sub = command(
        "check", "Say what is damaged or lost, and where. Exit code 1 when something should be mended.", _check
    )
    sub.add_argument("--repair", action="store_true", help="mend it; the file as it was is kept beside it")
    add_json(sub)
    sub = command("disk", "What takes how much room.", _disk)
    add_json(sub)
    return p


def main(arguments: Sequence[str]) -> int:
    """Run one command. Returns the exit code."""
    args = parser().parse_args(arguments)
    return ended(lambda: int(args.run(args, find_places(Path.cwd(), os.environ))))


def _number(n: int, of: str) -> str:
    return f"{n} {of}" if n == 1 else f"{n} {of}s"


# -- reading ----------------------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace, places: Places) -> int:
    with opened(places) as store:
        rows = store.list(args.limit, str(places.workspace) if args.here else None)
    if args.json:
        return tell([_about(row) for row in rows])
    if not rows:
        return say("no sessions yet.")
    home = str(places.home)
    table = [("ID", "USED", "MESSAGES", "TITLE", "FOLDER")]
    table += [
        (row.id[:8], day(row.updated), str(row.messages), _title(row), short_folder(row.workspace, home))
        for row in rows
    ]
    print_table(_fitted(table), right=frozenset({2}))
    return names.EXIT_OK


def _fitted(table: Sequence[tuple[str, str, str, str, str]]) -> list[Sequence[str]]:
    """The list of sessions with titles and folders cut to what the terminal has room for; whole in a file or a pipe."""
    columns = shutil.get_terminal_size((0, 0)).columns  # also what COLUMNS says
    if not columns:
        return list(table)
    widths = [max(width(row[column]) for row in table) for column in range(5)]
    room = max(columns - sum(widths[:3]) - 4 * len(GAP), 2 * _NARROW)
    folder = min(widths[4], max(room - widths[3], room // 3))
    title = min(widths[3], room - folder)
    head, *rows = table
    return [
        (*head[:4], cut(head[4], folder)),
        *((*row[:3], cut(row[3], title), cut_path(row[4], folder)) for row in rows),
    ]


def _show(args: argparse.Namespace, places: Places) -> int:
    return _print_session(places, args.session, "json" if args.json else "markdown")


def _export(args: argparse.Namespace, places: Places) -> int:
    from agent_core.store.exchange import form_of

    form = args.format or form_of(args.file)
    if args.file == "-":
        return _print_session(places, args.session, form)
    text = _text_of(places, args.session, form)
    with open(args.file, "x", encoding="utf-8") as file:
        file.write(text)
    return say(f"written to {args.file}")


def _print_session(places: Places, session: str, form: str) -> int:
    sys.stdout.write(_text_of(places, session, form))
    sys.stdout.flush()
    return names.EXIT_OK


def _text_of(places: Places, session: str, form: str) -> str:
    from agent_core.store.exchange import export

    with opened(places) as store:
        row = store.find(session, str(places.workspace))
        return export(form, row, store.messages(row.id), store.audit.list(row.id, None))


def _search(args: argparse.Namespace, places: Places) -> int:
    from agent_core.search_filters import read
    from agent_core.store.search import Search

    asked = read(" ".join(args.query), str(places.workspace))
    if asked.unread:
        say(f"Passed over, as it says nothing: {visible(' '.join(asked.unread))}")
    cleaned, keys = without_keys(places)
    workspace = str(places.workspace) if args.here else None
    with (
        opened(places) as store,
        closing(Search(store, places.search_db, places.jieba_dir, cleaned, lambda: keys)) as search,
    ):
        found = search.find(asked.words, workspace, args.limit, wait=limits.SEARCH_PATIENT, filters=asked.filters)
    if found.left:
        say(f"Not in the index yet: {_number(found.left, 'message')}. A later search finds them too.")
    if found.behind:
        say("The index could not be brought up to date: the newest messages may be missing. The log says why.")
    if args.json:
        return tell([{**asdict(hit), "session": _about(hit.session)} for hit in found.hits])
    if not found.hits:
        return say("no message has all of these words.")
    bold = _MATCH if sys.stdout.isatty() and "NO_COLOR" not in os.environ else ("", "")
    before = ""
    for hit in found.hits:
        if hit.session.id != before:
            print(f"{'' if not before else chr(10)}{hit.session.id[:8]}  {day(hit.created)}  {_title(hit.session)}")
            before = hit.session.id
        words, at = "", 0
        for start, end in hit.marks:
            words += f"{visible(hit.snippet[at:start])}{bold[0]}{visible(hit.snippet[start:end])}{bold[1]}"
            at = end
        print(f"  {fit(hit.speaker, _SPEAKER)}  {words}{visible(hit.snippet[at:])}")
    return names.EXIT_OK


_SPEAKER: Final = 12  # cells; the longest of the usual names


# -- changing ---------------------------------------------------------------------------------------------------------


def _import(args: argparse.Namespace, places: Places) -> int:
    from agent_core.store.imports import read_file

    cleaned, _ = without_keys(places)
    code, told = names.EXIT_OK, []
    with opened(places) as store:
        for file in args.files:
            try:
                incoming = read_file(file, cleaned)
            except AgentError as error:
                code = say(error.text, names.EXIT_FAILED)
                continue
            for session in incoming:
                told.append(_bring_in(store, places, file, session))
    if args.json:
        tell(told)
        return code
    for one in told:
        lost = f", lost as they could not be read: {one['lost']}" if one["lost"] else ""
        words = "imported" if one["new"] else "is there already"
        print(f"{one['id'][:8]}  {words}: {one_line(one['title'])}, {_number(one['messages'], 'message')}{lost}")
    return code


def _bring_in(store: Store, places: Places, file: Path, session: Incoming) -> dict[str, Any]:
    """Store one session. A folder that this machine does not have becomes the present one, else it could not open."""
    from agent_core.messages import new_id

    there = os.path.isabs(session.workspace) and os.path.isdir(session.workspace)
    workspace = session.workspace if there else str(places.workspace)
    row = SessionRow(new_id(), session.title, workspace, session.model, session.provider, "ask", session.created,
                     session.updated, 0, 0, 0, 0)  # fmt: skip
    stored, new = store.adopt(session.source, row, session.messages)
    return {"file": str(file), "lost": session.lost, "new": new, **_about(stored)}


def _delete(args: argparse.Namespace, places: Places) -> int:
    with opened(places) as store:
        for row in [store.find(text, str(places.workspace)) for text in args.sessions]:
            store.delete(row.id)
            print(f"{row.id}  deleted: {_title(row)}")
    return names.EXIT_OK


def _restore(args: argparse.Namespace, places: Places) -> int:
    with opened(places) as store:
        row = store.restore(args.session)
    print(f"{row.id[:8]}  back: {_title(row)}")
    return names.EXIT_OK


def _check(args: argparse.Namespace, places: Places) -> int:
    from agent_core import spill
    from agent_core.store.check import Where, examine, repair

    home = places.data_home
    where = Where(places.state_db, places.search_db, (home / spill.FOLDER, home / spill.PRIVATE))
    done: list[str] = []
    try:
        if args.repair:
            mended = repair(where)
            done, report = mended.done, mended.report or examine(where)
        else:
            report = examine(where)
    except AgentError as error:
        if error.code != "store_older":
            raise
        Store.open(places.state_db).close()  # brings it up to date
        return _check(args, places)
    code = names.EXIT_OK if report.is_sound else names.EXIT_FAILED
    if args.json:
        tell({**asdict(report), "file": str(report.file), "sound": report.is_sound, "done": done})
        return code
    for words in done:
        print(visible(words))
    _print_report(report)
    return code


def _print_report(report: Report) -> None:
    for problem in report.problems:
        place = "  ".join(part[:8] for part in (problem.session, problem.uid) if part)
        print(f"{problem.code:13}  {visible(problem.text)}{f'  [{place}]' if place else ''}")
    print(f"{report.file}: {_number(report.sessions, 'session')}, {_number(report.messages, 'message')}.")
    if not report.is_sound:
        print(f"`{names.APP} sessions check --repair` mends what can be mended; the file as it is now is kept.")
    elif not report.problems:
        print("Nothing is wrong.")


def _disk(args: argparse.Namespace, places: Places) -> int:
    from agent_core.desk.disk_report import disk_report

    with opened(places) as store:
        report = disk_report(places, store)
    if args.json:
        return tell(asdict(report))
    print_table([(name, size(number)) for name, number in (*report.parts, ("all", report.total))], right=frozenset({1}))
    largest = report.sessions[:10]
    if largest:
        print()
        print_table([(one.id[:8], size(one.size), day(one.updated), one_line(one.title) or "untitled")
                for one in largest], right=frozenset({1}))  # fmt: skip
    return names.EXIT_OK


# -- words ------------------------------------------------------------------------------------------------------------


def _about(row: SessionRow) -> dict[str, Any]:
    return asdict(row)


def _title(row: SessionRow) -> str:
    return one_line(row.title) or "untitled"
