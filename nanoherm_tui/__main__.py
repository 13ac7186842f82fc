"""`python -m nanoherm_tui` is the same as `nanoherm-tui`."""

import sys

from nanoherm_tui.cli import program

sys.exit(program())
