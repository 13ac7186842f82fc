"""What a project is made of, as found on the disk: languages, manifests, commands, tests, CI. For /init.

A weak model that is told the real commands invents none. Everything here is data that came with the project: bounded,
without control bytes, read without following links, and nothing of it is run.
"""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.plain_files import read_regular
from agent_core.ports.tools import IsHidden
from agent_core.text.clamp import clamp
from agent_core.text.printable import printable
from agent_core.workspace.tree import FileTree, nothing_hidden

GUIDES: Final = ("AGENTS.md", "CLAUDE.md", ".hermes.md", ".cursorrules", ".github/copilot-instructions.md")
_LANGUAGES: Final[Mapping[str, str]] = {
    ending: language
    for language, endings in {
        "Python": "py pyi", "JavaScript": "js mjs cjs jsx", "TypeScript": "ts tsx mts", "Rust": "rs", "Go": "go",
        "C": "c h", "C++": "cc cpp cxx hpp hh", "C#": "cs", "Java": "java", "Kotlin": "kt kts", "Swift": "swift",
        "Ruby": "rb", "PHP": "php", "Scala": "scala", "Shell": "sh bash zsh fish", "Lua": "lua", "R": "r",
        "Elixir": "ex exs", "Erlang": "erl", "Haskell": "hs", "OCaml": "ml mli", "Dart": "dart", "Zig": "zig",
        "SQL": "sql", "HTML": "html htm", "CSS": "css scss less", "Vue": "vue", "Svelte": "svelte", "Perl": "pl pm",
        "Markdown": "md", "YAML": "yaml yml", "TOML": "toml", "JSON": "json",
    }.items()
    for ending in endings.split()
}  # fmt: skip
_TEST: Final = re.compile(r"(?:test_.+|.+_test|.+[.-](?:test|spec)|.+Tests?|.+_spec)\.[A-Za-z]+\Z")
# Blanks only, never \s: a pattern that runs over line ends takes hours for a file of them.
_TARGET: Final = re.compile(r"^([A-Za-z][\w./-]*)(?:[ \t]+[A-Za-z][\w./-]*)*[ \t]*:(?![=:])", re.MULTILINE)
_RECIPE: Final = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t][^:=\n]*)?:(?!=)", re.MULTILINE)
_HOOK: Final = re.compile(r"^[ \t]*-[ \t]+id:[ \t]*(\S+)", re.MULTILINE)
_RUN: Final = re.compile(r"(?P<before>[ \t]*(?:-[ \t]+)?)run:[ \t]*(?P<line>.*)")
_SCRIPT: Final = re.compile(r"^[ \t]*-[ \t]+(?P<line>[^\n:]+)$", re.MULTILINE)


def gather(workspace: Path, hidden: IsHidden = nothing_hidden) -> str:
    """The facts as a list in Markdown, at most limits.FACTS bytes. Takes up to limits.FACTS_SECONDS; never raises for
    what is on disk. `hidden`: what is not to be read."""
    folders, whole = _tree(workspace, hidden)
    lines = [*_layout(folders, whole), *_manifests(workspace, folders), *_ci(workspace, folders)]
    return clamp("\n".join(f"- {printable(line)}" for line in lines), limits.FACTS)


def _tree(workspace: Path, hidden: IsHidden) -> tuple[dict[str, list[str]], bool]:
    """The names in each folder ("" is the top, "src/" one below), and whether these are all."""
    tree = FileTree(str(workspace), hidden=hidden)
    end = time.monotonic() + limits.FACTS_SECONDS
    whole = True
    for _ in tree.read_all():
        if time.monotonic() > end:
            whole = False
            break
    tree.settle()
    return {folder: tree.table.names(folder) for folder in tree.table.below({"", *tree.table.names("")})} | {
        "": tree.table.names("")
    }, whole and not tree.cut


def _layout(folders: Mapping[str, list[str]], whole: bool) -> Iterator[str]:
    files = [(folder, name) for folder, names in folders.items() for name in names if not name.endswith("/")]
    more = "" if whole else "at least "
    yield f"files: {more}{len(files):,} (without what .gitignore names)"
    counts = Counter(_LANGUAGES[end] for _, name in files if (end := name.rpartition(".")[2].lower()) in _LANGUAGES)
    if counts:
        yield "languages by files: " + ", ".join(f"{name} {n:,}" for name, n in counts.most_common(limits.FACTS_NAMES))
    if folders[""]:
        yield "at the top: " + _some(sorted(folders[""]))
    tests = Counter(folder or "./" for folder, name in files if _TEST.match(name))
    if tests:
        yield "test files: " + ", ".join(f"{n} in {folder}" for folder, n in tests.most_common(limits.FACTS_NAMES))
    guides = [guide for guide in GUIDES if _has(folders, guide)]
    if guides:
        yield "guidance that is there: " + ", ".join(guides)


def _has(folders: Mapping[str, list[str]], path: str) -> bool:
    at = path.rfind("/") + 1
    return path[at:] in folders.get(path[:at], ())


# -- manifests ----------------------------------------------------------------------------------------------------


def _manifests(workspace: Path, folders: Mapping[str, list[str]]) -> Iterator[str]:
    """What the manifests say, those nearest to the top first."""
    found = [
        f"{folder}{name}"
        for folder in sorted(folders, key=lambda folder: (folder.count("/"), folder))
        for name in sorted(folders[folder])
        if name in _READERS or (name in _NAMED and not folder)  # below the top such a name may mean anything
    ]
    for path in found[: limits.FACTS_FILES]:
        name = path.rpartition("/")[2]
        if name in _NAMED:
            yield f"{path}: {_NAMED[name]}"
        elif (text := _read(workspace, path)) is not None:
            try:
                said = list(_READERS[name](text))
            except (ValueError, RecursionError, AttributeError, TypeError):  # no JSON, no TOML, or of another shape
                said = ["cannot be read"]
            yield from (f"{path}: {words}" for words in said)
    if len(found) > limits.FACTS_FILES:
        yield f"{len(found) - limits.FACTS_FILES} more manifests, in folders below"


def _package_json(text: str) -> Iterator[str]:
    data = json.loads(text)
    if name := data.get("name"):
        yield f"package {name}"
    if manager := data.get("packageManager"):
        yield f"package manager {manager}"
    yield from _scripts("scripts", data.get("scripts"))
    if data.get("workspaces"):
        yield f"workspaces {json.dumps(data['workspaces'], ensure_ascii=False)}"


def _composer_json(text: str) -> Iterator[str]:
    yield from _scripts("scripts", json.loads(text).get("scripts"))


def _deno_json(text: str) -> Iterator[str]:
    yield from _scripts("tasks", json.loads(text).get("tasks"))


def _pyproject(text: str) -> Iterator[str]:
    data = tomllib.loads(text)
    project = data.get("project", {})
    if name := project.get("name"):
        python = project.get("requires-python")
        yield f"package {name}" + (f", Python {python}" if python else "")
    yield from _scripts("commands it installs", project.get("scripts"))
    if extras := project.get("optional-dependencies"):
        yield "optional dependencies: " + _some(extras)
    if groups := data.get("dependency-groups"):
        yield "dependency groups: " + _some(groups)
    tools = data.get("tool", {})
    if tools:
        yield "tools configured: " + _some(tools)
    for tool in ("poe", "taskipy", "hatch", "pdm"):
        settings = tools.get(tool, {})
        yield from _scripts(f"{tool} tasks", settings.get("tasks") or settings.get("scripts"))
    if paths := tools.get("pytest", {}).get("ini_options", {}).get("testpaths"):
        yield f"pytest looks in {paths}"
    if backend := data.get("build-system", {}).get("build-backend"):
        yield f"built by {backend}"


def _cargo(text: str) -> Iterator[str]:
    data = tomllib.loads(text)
    if package := data.get("package"):
        yield f"crate {package.get('name')}, edition {package.get('edition', '2015')}"
    if workspace := data.get("workspace"):
        yield "workspace of " + _some(workspace.get("members", ()))
    if features := data.get("features"):
        yield "features: " + _some(features)


def _go_mod(text: str) -> Iterator[str]:
    yield ", ".join(line.strip() for line in text.splitlines() if re.match(r"(?:module|go|toolchain)\s", line))


def _makefile(text: str) -> Iterator[str]:
    targets = [name for name in dict.fromkeys(_TARGET.findall(text)) if "." not in name]
    yield "targets: " + _some(targets)


def _justfile(text: str) -> Iterator[str]:
    yield "recipes: " + _some(dict.fromkeys(_RECIPE.findall(text)))


def _tox(text: str) -> Iterator[str]:
    yield "sections: " + _some(re.findall(r"^\[([^\]\n]+)\]", text, re.MULTILINE))


def _pre_commit(text: str) -> Iterator[str]:
    yield "hooks: " + _some(_HOOK.findall(text))


def _scripts(what: str, found: Any) -> Iterator[str]:
    """A table of commands by name."""
    if isinstance(found, Mapping) and found:
        named = [f"{name} = {_short(value)}" for name, value in found.items()]
        yield f"{what}: " + _some(named, "; ")


_READERS: Final[Mapping[str, Callable[[str], Iterable[str]]]] = {
    "package.json": _package_json,
    "composer.json": _composer_json,
    "deno.json": _deno_json,
    "pyproject.toml": _pyproject,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "Makefile": _makefile,
    "GNUmakefile": _makefile,
    "makefile": _makefile,
    "justfile": _justfile,
    "Justfile": _justfile,
    "tox.ini": _tox,
    ".pre-commit-config.yaml": _pre_commit,
}
_NAMED: Final[Mapping[str, str]] = {
    "uv.lock": "uv keeps the dependencies",
    "poetry.lock": "Poetry keeps the dependencies",
    "Pipfile": "Pipenv keeps the dependencies",
    "requirements.txt": "dependencies for pip",
    "setup.py": "a setuptools package",
    "noxfile.py": "sessions of nox",
    "package-lock.json": "npm keeps the dependencies",
    "pnpm-lock.yaml": "pnpm keeps the dependencies",
    "yarn.lock": "Yarn keeps the dependencies",
    "bun.lock": "Bun keeps the dependencies",
    "tsconfig.json": "TypeScript's settings",
    "pom.xml": "a Maven project",
    "build.gradle": "a Gradle project",
    "build.gradle.kts": "a Gradle project",
    "CMakeLists.txt": "a CMake project",
    "meson.build": "a Meson project",
    "Gemfile": "gems by Bundler",
    "mix.exs": "a Mix project",
    "Package.swift": "a Swift package",
    "Dockerfile": "an image of it",
    "compose.yaml": "services by Docker Compose",
    "docker-compose.yml": "services by Docker Compose",
}


# -- CI -----------------------------------------------------------------------------------------------------------


def _ci(workspace: Path, folders: Mapping[str, list[str]]) -> Iterator[str]:
    """The commands that CI runs."""
    names = [f".github/workflows/{name}" for name in sorted(folders.get(".github/workflows/", ()))]
    names += [name for name in (".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml") if _has(folders, name)]
    names = [name for name in names if name.endswith((".yml", ".yaml"))]
    for path in names[: limits.FACTS_FILES]:
        text = _read(workspace, path)
        if text is None:
            continue
        commands = list(dict.fromkeys(_run_lines(text) if path.startswith(".github/") else _script_lines(text)))
        yield f"CI, {path}: " + (_some([_short(line) for line in commands], "; ") if commands else "runs no command")


def _run_lines(text: str) -> Iterator[str]:
    """The commands of `run:`; of a block its lines, which stand deeper than the key."""
    key: int | None = None
    """The column of the `run:` whose block the lines belong to."""
    for line in text.splitlines():
        words = line.strip()
        if key is not None and words:
            if len(line) - len(line.lstrip()) > key:
                if words[0] != "#":
                    yield words
                continue
            key = None
        if (found := _RUN.match(line)) is None:
            continue
        said = found["line"].strip()
        if said and said[0] not in "|>":
            yield said
        else:
            key = len(found["before"])


def _script_lines(text: str) -> Iterator[str]:
    return (found["line"].strip() for found in _SCRIPT.finditer(text) if " " in found["line"].strip())


# -- words --------------------------------------------------------------------------------------------------------


def _read(workspace: Path, path: str) -> str | None:
    try:
        data = read_regular(workspace / path, limits.FACTS_FILE, follow=False)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if data is not None and len(data) <= limits.FACTS_FILE else None


def _some(names: Iterable[object], between: str = ", ") -> str:
    """The first of them, each in few words, and how many more there are."""
    words = [_short(name) for name in names]
    more = len(words) - limits.FACTS_NAMES
    return between.join(words[: limits.FACTS_NAMES]) + (f" and {more} more" if more > 0 else "")


def _short(value: object) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)).split())
    return text if len(text) <= limits.FACTS_WORDS else f"{text[: limits.FACTS_WORDS - 1]}…"
