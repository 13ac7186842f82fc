"""The first step of a window's program, a file that is run by its path: take the pseudo-terminal, then be the program.

The terminal must be this process's own: then the kernel tells it (SIGHUP) when the other end is closed, by the server
or because the server is gone, whatever killed that.
"""

from __future__ import annotations

import fcntl
import sys
import termios
from pathlib import Path


def main() -> int:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    root = str(Path(__file__).resolve().parents[2])
    if root not in sys.path:  # a checkout that is not installed; never the folder one works in
        sys.path.insert(0, root)
    from nanoherm_tui import cli

    return cli.program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
