"""Long texts: whatever is not looked at costs nothing, and whatever is looked at is what would be there in full."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.limits import TEXT_PAGE
from nanoherm_tui import limits
from nanoherm_tui.panes.bodies import Place, Row, RowList, Span, text_between
from nanoherm_tui.panes.find import Find
from nanoherm_tui.panes.pages import Book, BookRows
from nanoherm_tui.panes.wrapped import code_rows
from nanoherm_tui.text import clean
from tests.rows import each_row

LONG = "".join(f"line {n} {'and more words ' * (n % 9)}\n" for n in range(8_000))
MIXED = "\n".join(["短", "", "x" * 90, "中文输出，折行。" * 12, "\ttab", "\x1b[1mbold"] * 3_000)
TEXTS = {"long": LONG, "mixed": MIXED, "one line": "猫 x" * 70_000, "short": "one\ntwo", "ends": "\n" * 70_000 + "x"}


def in_full(text, cells):
    """All rows at once, as `BookRows` would have them, page borders aside."""
    return [line[p.start : p.end] for line in clean(text.rstrip("\n")).split("\n") for p in code_rows(line, cells)]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_rows_of_all_pages_are_those_of_the_text(text):
    rows = BookRows(Book(text), 40)
    shown = [row.text for row in rows]
    if len(text.split("\n")) > 1:
        assert shown == in_full(text, 40)
    assert "".join(shown) == "".join(in_full(text, 40))


@pytest.mark.parametrize("start", [0.0, 0.3, 0.8, 1.0])
def test_a_window_anywhere_is_made_without_the_rest(start):
    book = Book(LONG * 20)
    rows = BookRows(book, 30)
    assert book.pages > limits.PAGES_KEPT * 3
    top = rows.settle(max(0, int(len(rows) * start) - 20), 20)
    assert all(row.text for row in (rows[top + n] for n in range(20)))
    assert len(book._kept) <= 4


@given(st.floats(0, 1), st.lists(st.floats(0, 1), max_size=6))
@settings(max_examples=30, deadline=None)
def test_what_is_found_out_elsewhere_does_not_move_the_row_that_is_read(where, others):
    rows = BookRows(Book(LONG), 24)
    top = rows.settle(int((len(rows) - 1) * where), 10)
    key, text, place = rows.key(top), rows[top].text, rows.place(top)
    for other in others:
        rows.settle(int((len(rows) - 1) * other), 10)
        now = rows.index(key)
        assert (rows[now].text, rows.key(now), rows.place(now), rows.row_at(place)) == (text, key, place, now)


def test_a_place_is_the_same_at_another_width():
    book = Book(LONG)
    narrow = BookRows(book, 20, [Row((Span("head"),))])
    wide = BookRows(book, 100)
    top = narrow.settle(9_000, 10)
    place = narrow.place(top)
    assert narrow[top].text.strip() in wide[wide.row_at(place)].text
    assert narrow.row_at(narrow.place(0)) == 0


def test_text_is_selected_whole_over_wrapped_rows_and_page_borders():
    text = LONG.rstrip("\n")
    rows = BookRows(Book(text), 33)
    assert text_between(rows, Place(0, 0, 0), Place(rows.pages - 1, 10**9, 0)) == text
    long_line = "x" * (3 * TEXT_PAGE)
    rows = BookRows(Book(long_line), 33)
    assert rows.pages == 3
    assert text_between(rows, Place(0, 0, 5), Place(2, 0, 7)) == long_line[5 : 2 * TEXT_PAGE + 7]


def test_a_list_of_rows_has_places_too():
    rows = RowList([Row((Span("a b"),)), Row((Span("  c"),), margin=2, join=" "), Row((Span("d"),))])
    assert rows.lines(0) == ["a b c", "d"]
    assert [rows.place(n) for n in range(3)] == [(0, 0, 0), (0, 0, 4), (0, 1, 0)]
    assert [rows.row_at(Place(0, *at)) for at in ((0, 0), (0, 3), (0, 4), (1, 0), (7, 7))] == [0, 0, 1, 2, 2]
    assert text_between(rows, Place(0, 0, 2), Place(0, 1, 1)) == "b c\nd"


# -- a file whose pages come one by one ---------------------------------------------------------------------------


def come(book, rows, text, page, top):
    book.put(page, Book(text)._cut(page), len(text), continues=False)
    return rows.came(page, top)


def test_pages_that_have_not_come_are_blank_and_asked_for_and_the_rest_stays_where_it_is():
    book = Book(file="f")
    rows = BookRows(book, 40)
    assert rows.missing(0, 20) == [0]
    assert rows[0].text == ""
    top = come(book, rows, LONG, 0, 0)
    rows.settle(top, 20)
    assert (rows[0].text, rows.missing(0, 20)) == ("line 0 ", [1])
    assert book.pages > 3
    last = book.pages - 1
    top = rows.settle(len(rows) - 20, 20)
    assert set(rows.missing(top, 20)) >= {last}
    for page in rows.missing(top, 20):
        top = come(book, rows, LONG, page, top)
    rows.settle(top, 20)
    assert rows[len(rows) - 1].text == in_full(LONG, 40)[-1]


def test_of_a_file_only_some_pages_are_kept():
    text = LONG * 20
    book = Book(file="f")
    rows = BookRows(book, 40)
    for page in range(-(-len(text) // TEXT_PAGE)):
        come(book, rows, text, page, 0)
    assert len(book._kept) == limits.PAGES_KEPT
    assert rows.missing(0, 10) == [0, 1]


# -- finding ------------------------------------------------------------------------------------------------------


def found(text, query, start=(0, 0, 0), steps=()):
    """Where each step leads, as words around the hit; and the numbers told."""
    rows = BookRows(Book(text), 40)
    find = Find(query, rows.pages, Place(*start))
    out = []
    for step in (None, *steps):
        if step:
            find.step(step)
        place = None
        while (page := find.to_count) is not None or find.next_page is not None:
            if (ready := find.next_page) is not None:
                place = find.go(ready, rows.lines(ready)) or place
                if place is not None and find.to_count is None:
                    break
            else:
                find.count(page, rows.lines(page))
        out.append(place and (find.position, rows.lines(place.page)[place.line][place.at :][:12]))
    return find.total, out


@each_row(
    ("text", "query", "total", "first"),
    [
        ("a.b\nA.B\naxb", "a.b", 2, "a.b"),
        ("a.b\nA.B\naxb", "A.B", 1, "A.B"),
        ("时区不对\n对", "对", 2, "对"),
        ("aaaa", "aa", 2, "aaaa"),
        ("[x] (y)", "(y", 1, "(y)"),
        ("İstanbul i", "i", 2, "İstanbul i"),
        ("nothing", "zzz", 0, None),
        ("STRASSE straße", "straße", 1, "straße"),
    ],
)
def test_words_are_found_literally_and_case_counts_when_it_is_typed(text, query, total, first):
    count, places = found(text, query)
    assert (count, places[0] and places[0][1]) == (total, first)


def test_steps_go_over_pages_and_around_the_ends_and_each_hit_has_its_number():
    text = "start needle 1\n" + "x\n" * 100_000 + "needle 2\n" + "y\n" * 100_000 + "needle 3 needle 4"
    total, places = found(text, "needle", (0, 0, 0), (1, 1, 1, 1, -1, -1))
    assert total == 4
    assert [number for number, _ in places] == [1, 2, 3, 4, 1, 4, 3]
    assert places[1] == (2, "needle 2")
    total, places = found(text, "needle", (1, 5, 0), (-1,))
    assert [number for number, _ in places] == [2, 1]
    total, places = found(text, "needle", (0, 3, 0))
    assert places == [(2, "needle 2")]
    assert found("one needle", "needle", (0, 0, 5), (1, -1)) == (1, [(1, "needle")] * 3)


@given(
    st.lists(st.sampled_from(["ab", "b", "时", "\n", "xx"]), max_size=60).map("".join),
    st.sampled_from(["b", "ab", "时"]),
)
def test_as_many_are_found_as_there_are_and_painted_where_they_are(text, query):
    rows = BookRows(Book(text), 8)
    total, _ = found(text, query)
    assert total == text.count(query)
    find = Find(query, rows.pages, Place(0, 0, 0))
    lines = rows.lines(0)
    spans = [(line, span) for line, all in find.spans(0, lines).items() for span in all]
    assert [span.number for _, span in spans] == list(range(total))
    assert all(lines[line][span.start : span.end] == query for line, span in spans)
