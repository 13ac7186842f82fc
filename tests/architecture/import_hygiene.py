"""What importing the core, and asking for the version, loads. Run as a script in a clean environment.

httpx imports rich, pygments and click where click is installed, so this must run where only the wheel's own
dependencies are.
"""

import subprocess
import sys

CHECKS = {
    "import agent_core": ("textual", "rich", "httpx", "yaml", "asyncio", "nanoherm_tui", "jieba", "rank_bm25", "numpy"),
    "import agent_core.mind.agent, agent_core.session.live": ("textual", "rich", "httpx", "nanoherm_tui", "numpy"),
    "import agent_core.desk.host, agent_core.headless": ("textual", "rich", "httpx", "nanoherm_tui", "numpy"),
    "from nanoherm_tui import cli\ntry: cli.main(['--version'])\nexcept SystemExit: pass": ("textual", "httpx", "yaml"),
    "from nanoherm_tui.plain import commands, comparing, face, keeping, line, looking, sessions, settings, setup": (
        "textual",
        "httpx",
        "yaml",
    ),
}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in sys.modules after `statement`, in a fresh interpreter."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def offences() -> list[str]:
    return [
        f"{statement.splitlines()[0]!r} loads {module}"
        for statement, forbidden in CHECKS.items()
        for module in sorted(loaded_by(statement) & set(forbidden))
    ]


if __name__ == "__main__":
    found = offences()
    print("\n".join(found) or "imports ok")
    sys.exit(1 if found else 0)
