"""Bounds of the screen alone, each with its reason. Those of the agent are in agent_core/limits.py."""

from typing import Final

KB: Final = 1024

THEME_FILE: Final = 64 * KB  # a theme is twenty lines; anything larger is another file
