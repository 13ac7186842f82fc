"""agent_core: a coding-agent core that knows nothing of any screen.

Importing this package loads the standard library only; httpx and yaml come with their first use.
"""

from agent_core.version import __version__

__all__ = ["__version__"]
