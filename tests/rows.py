"""A table in one test: to start, name and report a test for each row of a pure function costs more than the row.

For tests that leave nothing behind, as all rows share the test's fixtures. Elsewhere it is `pytest.mark.parametrize`.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence

import pytest


def each_row(names: str | Sequence[str], table: Iterable, ids: Callable | Iterable[str] | None = None) -> Callable:
    """As `pytest.mark.parametrize`, in one test that goes through all rows and names every row that fails."""
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_values(row, len(wanted)) for row in table]
    assert rows, "a table without rows proves nothing"
    labels = list(map(_label, rows)) if ids is None or callable(ids) else list(ids)

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def through_all_rows(*arguments, **fixtures):
            failures = []
            for label, row in zip(labels, rows, strict=True):
                try:
                    test(*arguments, **fixtures, **dict(zip(wanted, row, strict=True)))
                # A row that skips would hide those behind it. The group is that of a table within this one.
                except (Exception, BaseExceptionGroup, pytest.fail.Exception, pytest.skip.Exception) as error:
                    error.add_note(f"in the row {label}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} rows of {test.__name__} failed", failures)

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in wanted]
        through_all_rows.__signature__ = signature.replace(parameters=rest)
        return through_all_rows

    return decorate


def _values(row: object, count: int) -> tuple:
    if type(row) is type(pytest.param()):
        assert not row.marks, "a row of one test has no marks of its own"
        return row.values
    return (row,) if count == 1 else tuple(row)


def _label(row: tuple) -> str:
    return ", ".join(f"{value!r:.200}" for value in row)
