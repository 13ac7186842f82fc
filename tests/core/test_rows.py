"""Many rows in one test: none is passed over, and each that fails is named."""

import pytest

from tests.rows import each_row

GONE_THROUGH = []


@each_row("number, even", [(1, False), (2, True), (3, True), (5, None), (4, True)])
@each_row("way", ["raises", "fails"])
def judged(way, number, even):
    GONE_THROUGH.append(number)
    if even is None:
        pytest.fail("neither") if way == "fails" else pytest.skip("neither")
    assert (number % 2 == 0) is even


def test_every_row_is_gone_through_and_each_that_fails_is_named():
    GONE_THROUGH.clear()
    with pytest.raises(BaseExceptionGroup, match="2 of 5 rows of judged failed") as failed:
        judged()
    assert GONE_THROUGH == [1, 1, 2, 2, 3, 3, 5, 5, 4, 4]
    assert [error.__notes__ for error in failed.value.exceptions] == [["in the row 3, True"], ["in the row 5, None"]]


@each_row("number", [1, 2])
def test_rows_share_the_fixtures_of_their_test(tmp_path, number):
    (tmp_path / str(number)).touch()
    assert len(list(tmp_path.iterdir())) == number


def test_a_table_without_rows_proves_nothing():
    with pytest.raises(AssertionError, match="without rows"):
        each_row("number", [])
