"""Every pane and overlay of the program, each in the state a picture should show; a room for each subject."""

from __future__ import annotations

from itertools import chain
from typing import Final

from screenshots.views import (
    approval,
    composer,
    dock,
    dock_lists,
    knowledge,
    overlays,
    permissions,
    search,
    servers,
    sessions,
    start,
    transcript,
    turns,
)
from screenshots.views.view import View

__all__ = ["VIEWS", "View"]

_ROOMS: Final = (
    transcript, approval, dock, dock_lists, composer, sessions, search, turns, overlays, knowledge, servers,
    permissions, start,
)  # fmt: skip
VIEWS: Final[dict[str, View]] = {view.name: view for view in chain.from_iterable(room.VIEWS for room in _ROOMS)}
"""By name."""
