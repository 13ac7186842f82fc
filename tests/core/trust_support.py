"""Where the command lines of the tests are judged."""

from pathlib import Path

from agent_core.safety.shell_trust import TrustContext

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def trust_context(home: Path) -> TrustContext:
    """A workspace in a home of its own: both empty but for what a test adds."""
    folder = home / "work"
    folder.mkdir()
    return TrustContext(cwd=folder, path_env=SYSTEM_PATH, home=home, git_is_plain=True)
