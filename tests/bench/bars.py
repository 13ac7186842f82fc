"""A bar: what is measured, and the limit it must not pass. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.bench.lab import Lab


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    limit: float
    unit: str
    """"×" for a ratio."""
    measure: Callable[[Lab], float]
    """One value; called once a round. Raises TimeoutError when the program does not do what it should."""
    strict: bool = False
    """The limit itself is too much already."""
    long: bool = False
    """Takes minutes: measured in the first round alone."""

    def missed(self, value: float) -> bool:
        return value >= self.limit if self.strict else value > self.limit


@dataclass(slots=True)
class Result:
    bar: Bar
    values: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Why a round has no value. Such a round counts as missed."""

    @property
    def misses(self) -> int:
        return len(self.problems) + sum(map(self.bar.missed, self.values))

    @property
    def failed(self) -> bool:
        """Missed in more than half of the rounds: two of three."""
        return 2 * self.misses > len(self.problems) + len(self.values)


def table(results: Sequence[Result]) -> str:
    """The results as a Markdown table, aligned."""
    rows = [("bar", "limit", "median", "rounds", "verdict")]
    for result in results:
        bar = result.bar
        sign = "<" if bar.strict else "≤"
        rows.append(
            (
                bar.name,
                f"{sign} {bar.limit:g} {bar.unit}",
                f"{_figure(statistics.median(result.values))} {bar.unit}" if result.values else "none",
                ", ".join([_figure(value) for value in result.values] + ["none"] * len(result.problems)),
                "MISSED" if result.failed else "held",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    )


def _figure(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
