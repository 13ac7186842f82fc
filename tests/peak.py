"""The most memory that this process has held. Linux only.

`ru_maxrss` will not do: the kernel hands a new program the peak of the process that started it, so that whatever a
small child of a large program does is hidden below that.
"""

from contextlib import suppress
from pathlib import Path


def peak(*, reset: bool = False) -> int:
    """In bytes, since the program began or since the last reset."""
    if reset:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
