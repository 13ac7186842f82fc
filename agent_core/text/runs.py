"""Where one list of lines stands within another, in linear time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from agent_core import limits


def places(lines: Sequence[str]) -> Mapping[str, list[int]]:
    """The numbers of the lines that read so, from 0, for each line there is."""
    where: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        where[line].append(number)
    return where


def starts(lines: Sequence[str], where: Mapping[str, list[int]], wanted: Sequence[str]) -> list[int]:
    """The places in `lines`, in order, at which `wanted` (one line or more) begins; `where` are their `places`.

    Begins at the line of `wanted` that is rarest: blank lines and braces stand everywhere.
    """
    found: Sequence[int] = range(0)
    rarest, least = 0, len(lines) + 1
    for number, line in enumerate(wanted):
        at = where.get(line, ())
        if len(at) < least:
            rarest, least, found = number, len(at), at
    return among(lines, wanted, [at - rarest for at in found if at >= rarest])


def among(lines: Sequence[str], wanted: Sequence[str], candidates: Sequence[int]) -> list[int]:
    """Those of `candidates` at which `wanted` begins in `lines`."""
    if len(candidates) * len(wanted) <= limits.RUNS_DIRECT:
        wanted = list(wanted)
        return [at for at in candidates if list(lines[at : at + len(wanted)]) == wanted]
    every = _every_start(lines, wanted)
    return [at for at in candidates if at in every]


def _every_start(lines: Sequence[str], wanted: Sequence[str]) -> set[int]:
    """By Knuth, Morris and Pratt: each line is looked at twice at most, however alike they are."""
    back = [0] * len(wanted)
    """For each line of `wanted`: how many of its first lines are the last ones up to here."""
    matched = 0
    for number in range(1, len(wanted)):
        while matched and wanted[number] != wanted[matched]:
            matched = back[matched - 1]
        matched += wanted[number] == wanted[matched]
        back[number] = matched
    found: set[int] = set()
    matched = 0
    for number, line in enumerate(lines):
        while matched and (matched == len(wanted) or line != wanted[matched]):
            matched = back[matched - 1]
        matched += line == wanted[matched]
        if matched == len(wanted):
            found.add(number - len(wanted) + 1)
    return found
