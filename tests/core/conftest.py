"""Fixtures that more than one file uses."""

import pytest

from tests.core.session_support import Table


@pytest.fixture
def table(tmp_path):
    made = []

    def make(*replies, **services):
        made.append(Table(tmp_path, *replies, **services))
        return made[-1]

    yield make
    for t in made:
        t.session.close()
        t.session.join(2.0)
        t.store.close()
