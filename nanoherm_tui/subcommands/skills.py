"""`nanoherm-tui skills`: what skills there are, what one of them says, and what is wrong with their files."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import names, trust
from agent_core.config.load import load, read_dotenv
from agent_core.config.paths import find_places
from agent_core.errors import SkillFailure
from agent_core.grants_file import GrantsFile
from agent_core.skills import reading
from agent_core.skills.discover import MAIN, Finder, checked, folders, on_disk, tops
from agent_core.skills.frontmatter import parse
from agent_core.skills.library import Skills, said
from agent_core.toolsets import tools_named, tools_of
from nanoherm_tui.subcommands.common import add_command, add_json, ended, print_table, say, short_folder, tell
from nanoherm_tui.text import cut, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_core.config.paths import Places
    from agent_core.knowledge import Skill
    from agent_core.skills.discover import Found

_DESCRIPTION: Final = 60  # cells of one in the list


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} skills",
        description="Skills are folders with a SKILL.md: of this project, once it is trusted, and of your homes "
        "(~/.nanohermes/skills, ~/.hermes/skills, ~/.agents/skills). /skills in the program shows them too.",
        epilog="exit codes: 0 fine; 1 there is no such skill, or check found something wrong; 2 usage",
    )
    commands = p.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = add_command(commands, "list", "all skills, where they are from, and why some cannot be used")
    add_json(listing)
    show = add_command(commands, "show", "what a skill says, and its other files")
    show.add_argument("skill", metavar="NAME")
    add_json(show)
    check = add_command(commands, "check", "what is wrong with the files of skills, by line")
    check.add_argument("paths", nargs="*", metavar="PATH", help="a skill's folder, its SKILL.md, or a folder of skills")
    add_json(check)
    return p


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say. Returns the exit code."""
    args = parser().parse_args(arguments)
    places = find_places(Path(), os.environ)
    runs = {"list": _list, "show": _show, "check": _check}
    return ended(lambda: runs[args.command](args, places))


def _skills(places: Places) -> Skills:
    """All that may be used here; that a project's may not is told."""
    standing = trust.look(places, GrantsFile(places.grants_file))
    if standing.asks and any(file.kind == "skill" for file in standing.offer.files):
        say(standing.line)
    config = load(places, os.environ, {}, standing.config)
    shelf = Finder().look(places, standing, places.folders(config.get("skills.external_dirs")))
    dotenv = read_dotenv(places)
    tools = tools_of("all") - tools_named(config.get("agent.disabled_toolsets"))
    return Skills(
        lambda: shelf,
        lambda: tools,
        lambda: config.get("skills.disabled"),
        lambda name: os.environ.get(name, "") or dotenv.get(name, ""),
        os.environ.get("PATH", ""),
    )


def named(places: Places) -> Iterator[tuple[str, str]]:
    """The names of all skills, each with what it is for."""
    yield from ((skill.name, skill.description) for skill in _skills(places).list())


def _list(args: argparse.Namespace, places: Places) -> int:
    found = _skills(places).list()
    if args.json:
        return tell([asdict(skill) | {"unmet": [one.text for one in skill.unmet]} for skill in found])
    if not found:
        where = short_folder(str(places.skill_homes[0] / names.SKILLS_DIR), str(places.home))
        return say(f"there are no skills. One is a folder with a {MAIN}: {where}/my-skill/{MAIN}.")
    print_table([("NAME", "FROM", "WHAT FOR"), *(_row(skill) for skill in found)])
    return names.EXIT_OK


def _row(skill: Skill) -> tuple[str, str, str]:
    words = cut(one_line(skill.description), _DESCRIPTION)
    return visible(skill.name), skill.place, words + (f"  [{visible(said(skill.unmet))}]" if skill.unmet else "")


def _show(args: argparse.Namespace, places: Places) -> int:
    skills = _skills(places)
    found = skills.get(args.skill)
    body, others = parse(reading.whole(found)).body, reading.files(found)
    unmet = (*skills.closed(found), *skills.missing(found))
    if args.json:
        return tell(_told(found, body) | {"files": others, "unmet": [one.text for one in unmet]})
    print(f"{visible(found.name)}: {visible(found.description)}")
    print(visible(short_folder(str(found.file), str(places.home))))
    for why in unmet:
        print(f"  {visible(why.text)}")
    for name in others:
        print(f"  {visible(name)}")
    print("\n" + "\n".join(visible(line) for line in body.rstrip("\n").split("\n")))
    return names.EXIT_OK


def _told(found: Found, body: str) -> dict[str, Any]:
    return {"name": found.name, "description": found.description, "file": str(found.file), "body": body}


# -- what is wrong ------------------------------------------------------------------------------------------------


def _check(args: argparse.Namespace, places: Places) -> int:
    for given in args.paths:
        path = Path(given)
        if not (path.is_dir() or (path.name == MAIN and path.is_file())):
            return say(f"{given} is no folder, and no {MAIN}.", names.EXIT_USAGE)
    looked_at = list(_chosen([Path(given) for given in args.paths] or _everywhere(places)))
    problems = 0
    told = []
    for found in looked_at:
        wrong = list(checked(found))
        problems += len(wrong)
        if args.json:
            told.append(_told(found, _body(found)) | {"problems": [asdict(problem) for problem in wrong]})
            continue
        for problem in wrong:
            print(f"{visible(str(found.file))}:{problem.line}: {visible(problem.text)}")
        if not wrong:
            print(f"{visible(str(found.file))}: ok ({visible(found.name)})")
    if args.json:
        tell(told)
    elif not looked_at:
        say("there are no skills to check.")
    return names.EXIT_FAILED if problems else names.EXIT_OK


def _body(found: Found) -> str:
    """Empty for a file that cannot be read as one: why is among what is wrong with it."""
    try:
        return parse(reading.whole(found)).body
    except SkillFailure:
        return ""


def _everywhere(places: Places) -> list[Path]:
    standing = trust.look(places, GrantsFile(places.grants_file))
    config = load(places, os.environ, {}, standing.config)
    return list(tops(places, places.folders(config.get("skills.external_dirs"))))


def _chosen(paths: Sequence[Path]) -> Iterator[Found]:
    """The skills at or below these paths, as they are on the disk, accepted or not."""
    for path in paths:
        top = path.parent if path.name == MAIN and not path.is_dir() else path
        yield from (on_disk(folder.absolute(), "yours") for folder, _ in folders(top))
