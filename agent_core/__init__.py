"""agent_core: a coding-agent core that knows nothing of any screen.

Importing this package loads the standard library only; httpx and yaml come with their first use. A program begins with
`desk.host.Host`, tells its sessions `intents` and hears `events`: docs/library.md shows a turn.
"""

from agent_core.version import __version__

__all__ = ["__version__"]
