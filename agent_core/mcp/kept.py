"""What a server gave and no model can be given, in a file that tools may look at."""

from __future__ import annotations

import mimetypes
import secrets
import time
from pathlib import Path

from agent_core import plain_files, spill


def write(data_home: Path, data: bytes, media_type: str) -> Path:
    """The file that now holds `data`, beside the other long outputs. Raises OSError."""
    ending = mimetypes.guess_extension(media_type.partition(";")[0].strip()) or ".bin"
    path = data_home / spill.FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}{ending}"
    plain_files.atomic_write(path, data)
    return path
