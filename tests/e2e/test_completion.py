"""Completion of the command line, tried in each shell: what Tab offers is what the parsers take."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from agent_core.names import APP, MODES
from agent_core.store.rows import SessionRow
from agent_core.store.sessions import Store
from nanoherm_tui import subcommands
from nanoherm_tui.cli import parser as main_parser
from nanoherm_tui.subcommands.completion import SHELLS, program, values
from nanoherm_tui.subcommands.completion_scripts import WRITERS

REPOSITORY = Path(__file__).parents[2]
CASES = [
    ("sess", {"sessions"}, set()),
    ("--mod", {"--mode", "--model"}, {"--demo"}),
    ("--mode ", set(MODES), {"sessions"}),
    ("--mode p", {"plan"}, {"ask"}),
    ("sessions ", {"list", "export", "import"}, {"doctor"}),
    ("sessions list --", {"--here", "--limit", "--json"}, {"--demo", "--show"}),
    ("trust --", {"--show", "--revoke"}, {"--here"}),
    ("completion ", set(SHELLS), {"list"}),
    ("-C ", {"folder/"}, {"file.txt"}),
    ("-i fi", {"file.txt"}, {"folder/"}),
    ("-r ", {"aaaaaaaa"}, {"--demo"}),
    ("--set display.th", {"display.theme="}, {"budget.tokens="}),
    ("config set memory.en", {"memory.engine", "memory.enabled"}, {"memory.distil"}),
    ("config set memory.engine ", {"bm25", "markdown"}, {"memory.distil"}),
    ("mcp test ", {"docs"}, {"plan"}),
    ("skills show ", {"plan"}, {"docs"}),
]
"""What is written behind the program's name; what Tab offers then, and what not."""


def test_every_flag_and_command_of_the_parsers_is_known():
    top = program()
    flags = {flag for option in top.options for flag in option.flags}
    assert flags == {flag for action in main_parser()._actions for flag in action.option_strings}
    assert {command.path[0] for command in top.commands} == set(subcommands.NAMES)
    for write in WRITERS.values():
        text = write(top)
        assert [command.path for command in top.all() if command.path and command.path[-1] not in text] == []
        assert "--values" not in " ".join(flags)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder to complete in, a home with a session, and the program on the PATH."""
    top = tmp_path_factory.mktemp("completion")
    (top / "ws" / "folder").mkdir(parents=True)
    (top / "ws" / "file.txt").write_text("x")
    (top / "bin").mkdir()
    program = top / "bin" / APP
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nanoherm_tui "$@"\n')
    program.chmod(0o755)
    store = Store.open(top / "home" / ".nanohermes" / "state.db")
    row = SessionRow("a" * 32, "mend the date: it's [broken]", str(top / "ws"), "m", "p", "ask", 1.0, 1.0, 0, 0, 0, 0)
    store.adopt("test", row, [])
    store.close()
    home = top / "home" / ".nanohermes"
    (home / "config.yaml").write_text("mcp_servers: {docs: {command: none}}\n")
    (home / "skills" / "plan").mkdir(parents=True)
    (home / "skills" / "plan" / "SKILL.md").write_text("Write a plan.\n")
    env = {
        "PATH": f"{top / 'bin'}:{os.environ['PATH']}",
        "HOME": str(top / "home"),
        "PYTHONPATH": str(REPOSITORY),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }
    for shell in SHELLS:
        done = subprocess.run(
            [str(program), "completion", shell], env=env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        (top / f"script.{shell}").write_text(done.stdout)
    return top, env


def needs(shell):
    return pytest.param(
        shell, marks=pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")
    )


@pytest.fixture(scope="module", params=[needs(shell) for shell in SHELLS])
def complete(request, place):
    top, env = place
    if request.param == "zsh":
        with _Zsh(top, env) as zsh:
            yield zsh.complete
    else:
        run = {"bash": _bash, "fish": _fish}[request.param]
        yield lambda line: run(line, top, env)


def _bash(line, top, env):
    words = [APP, *line.split(" ")]
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f"source {top / 'script.bash'}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; compopt() {{ :; }}\n"
        '_nanoherm_tui; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", code],
        cwd=top / "ws",
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return {f"{word}/" if (top / "ws" / word).is_dir() and word else word for word in done.stdout.split("\n")}


def _fish(line, top, env):
    code = f"source {top / 'script.fish'}; complete -C '{APP} {line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", code],
        cwd=top / "ws",
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return {one.split("\t")[0] for one in done.stdout.split("\n")}


class _Zsh:
    """A zsh at a terminal: its completion works nowhere else."""

    def __init__(self, top, env):
        self._child = pexpect.spawn(
            "zsh", ["-f", "-i"], cwd=str(top / "ws"), env=env, encoding="utf-8", timeout=30, dimensions=(200, 200)
        )
        self._say(
            "unsetopt zle_bracketed_paste 2>/dev/null; PS1='>'; autoload -U compinit; compinit -D -u; "
            "zstyle ':completion:*' list-separator '#'; setopt list_rows_first auto_list no_list_beep; LISTMAX=1000; "
            "offer() { zle list-choices; zle -R; print -n 'the end'' of it' }; zle -N offer; bindkey '^X' offer; "
            f"source {top / 'script.zsh'}"
        )

    def _say(self, line):
        self._child.sendline(f"{line}; echo rea''dy")
        self._child.expect("ready\r\n")

    def complete(self, line):
        """What is listed for a line, which is then thrown away."""
        child = self._child
        child.send(f"\x15{APP} {line}\x18")
        child.expect("the end of it")
        listed = child.before.split("\n", 1)[-1]
        return set(listed.replace("#", " ").split())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._child.close(force=True)


@pytest.mark.parametrize(("line", "offered", "never"), CASES, ids=[line for line, *_ in CASES])
def test_a_shell_offers_what_the_parsers_take(complete, line, offered, never):
    found = complete(line)
    assert offered - found == set()
    assert never & found == set()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_name_with_a_command_in_it_is_offered_quoted_and_not_run(place, tmp_path):
    top, env = place
    program = tmp_path / APP
    program.write_text("#!/bin/sh\nprintf '%s\\tremark\\n' '$(touch ran)' '`touch ran`' '$plain'\n")
    program.chmod(0o755)
    found = _bash("-r ", top, {**env, "PATH": f"{tmp_path}:{env['PATH']}"})
    assert found - {""} == {r"\$\(touch\ ran\)", r"\`touch\ ran\`", r"\$plain"}
    assert not (top / "ws" / "ran").exists()


def test_what_is_asked_for_comes_from_where_it_is(place, monkeypatch):
    top, env = place
    monkeypatch.setenv("HOME", env["HOME"])
    monkeypatch.delenv("NANOHERMES_HOME", raising=False)
    (top / "home" / ".nanohermes" / "profiles" / "work").mkdir(parents=True, exist_ok=True)
    assert dict(values("sessions", top / "ws")) == {"aaaaaaaa": "mend the date: it's [broken]"}
    assert [name for name, _ in values("profiles", top / "ws")] == ["work"]
    assert "display.theme=" in dict(values("settings", top / "ws"))
    assert any(name.startswith("openai/") for name, _ in values("models", top / "ws"))
