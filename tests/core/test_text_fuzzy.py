"""Finding by a few letters: which way a query is found, which letters it is, and the same in very many paths."""

import random
import string
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core import limits
from agent_core.text.fuzzy import Tier, big, fold, mark_starts, match
from agent_core.text.path_search import Search, places
from agent_core.text.path_table import PathTable
from tests.rows import each_row

# -- one text -----------------------------------------------------------------------------------------------------


@each_row(
    ("query", "text", "tier", "marked"),
    [
        ("date", "date", Tier.EXACT, "date"),
        ("date", "date.py", Tier.EXACT, "date"),
        ("src", "src/", Tier.EXACT, "src"),
        ("dat", "date.py", Tier.START, "dat"),
        ("DAT", "date.py", Tier.START, "dat"),
        ("date", "parse_date.py", Tier.WORD, "date"),
        ("date", "parseDate.ts", Tier.WORD, "Date"),
        ("server", "HTTPServer.java", Tier.WORD, "Server"),
        ("日期", "修复日期.py", Tier.WORD, "日期"),
        ("pd", "parse_date.py", Tier.PIECES, "pd"),
        ("pada", "parse_date.py", Tier.PIECES, "pada"),
        ("hs", "HTTPServer.java", Tier.PIECES, "HS"),
        ("t2", "test_12.py", Tier.PIECES, "t2"),
        ("修期", "修复日期.py", Tier.PIECES, "修期"),
        ("ate", "update.py", Tier.WITHIN, "ate"),
        ("ae", "rare", Tier.SCATTERED, "ae"),
        ("pe", "apple.c", Tier.SCATTERED, "pe"),
        ("ας", "ΑΣ", Tier.EXACT, "ΑΣ"),
        ("İ", "İstanbul", Tier.START, "İ"),
        ("", "anything", Tier.START, ""),
    ],
)
def test_a_query_is_found_this_way(query, text, tier, marked):
    found = match(query, text)
    assert found is not None
    assert (found.tier, "".join(text[at] for at in found.places)) == (tier, marked)


@pytest.mark.parametrize(
    ("query", "text"), [("da", "ad"), ("dd", "date"), ("期日", "日期"), ("date", "dat"), ("/", "a")]
)
def test_letters_that_are_not_there_in_order_are_not_found(query, text):
    assert match(query, text) is None


def test_scattered_letters_are_marked_where_they_stand_closest():
    assert match("ab", "a_xa_xaxb").places == (6, 8)


# What a reader of the docstrings would write: slow, and by itself.


def small(character):
    return character.lower()


def capital(character):
    return character.upper() if len(character.upper()) == 1 else character


def is_start(text, at):
    here, before = text[at], text[at - 1 : at]
    if small(here) == capital(small(here)):
        return True
    if not before or small(before) == capital(small(before)):
        return True
    after = text[at + 1 : at + 2]
    return here.isupper() and (before.islower() or (before.isupper() and after.islower()))


def is_subsequence(query, text):
    letters = iter(text)
    return all(letter in letters for letter in query)


def plain_tier(query, text):
    query, low = "".join(map(small, query)), "".join(map(small, text))
    if not is_subsequence(query, low):
        return None
    if low.startswith(query):
        return Tier.EXACT if low[len(query) : len(query) + 1] in ("", ".", "/") else Tier.START
    starts = [at for at in range(len(text)) if is_start(text, at)]
    if any(low.startswith(query, at) for at in starts):
        return Tier.WORD
    if any(in_pieces(query, low, starts, at) for at in starts):
        return Tier.PIECES
    return Tier.WITHIN if query in low else Tier.SCATTERED


def in_pieces(query, low, starts, at):
    if low[at] != query[0]:
        return False
    for letter in query[1:]:
        further = [start for start in starts if start > at and low[start] == letter]
        if low[at + 1 : at + 2] == letter:
            at += 1
        elif further:
            at = further[0]
        else:
            return False
    return True


LETTERS = st.text("abcABC_.-12日期", max_size=12)


@given(LETTERS.filter(bool), LETTERS)
@settings(max_examples=400, deadline=None)
def test_the_tier_is_the_one_a_plain_reading_gives(query, text):
    found = match(query, text)
    assert (found and found.tier) == plain_tier(query, text)
    if found is not None:
        assert fold("".join(text[at] for at in found.places)) == fold(query)
        assert list(found.places) == sorted(set(found.places))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
@settings(max_examples=300, deadline=None)
def test_folding_and_marking_leave_each_character_at_its_place(text):
    assert len(fold(text)) == len(mark_starts(text)) == len(text)
    assert all(marked in (low, big(low)) for marked, low in zip(mark_starts(text), fold(text), strict=True))


# -- very many paths ----------------------------------------------------------------------------------------------


def table_of(paths):
    content = {"": []}
    for path in paths:
        at = path.rstrip("/").rfind("/") + 1
        for folder in [path[:at], path] if path.endswith("/") else [path[:at]]:
            content.setdefault(folder, [])
        content[path[:at]].append(path[at:])
    table = PathTable()
    table.change(content)
    return table


def best(paths, query, most=20, recent=()):
    return list(filter(None, Search(table_of(paths), query, most, recent).run()))[-1]


@each_row(
    ("query", "paths"),
    [
        ("date", ["src/date.py", "date_utils.py", "parse_date.py", "update.py", "datepath/x.py"]),
        ("date", ["date.py", "a/date.py", "dates.py", "long/way/down/date_range.py"]),
        ("pd", ["pd.py", "pdf.py", "a_pd.py", "parse_date.py", "tpdx.py", "xpxd.py"]),
        ("srcdate", ["src/date.py", "src/datex/y.py"]),
        ("tui/app", ["tui/app.py", "tui/panes/app.py", "tui/webapp.py", "old/tui/app.py", "tui/application/deep.py"]),
        ("tui/", ["tui/a_rather_long_name.py", "tui/b/c.py", "x/tui/d.py"]),
        ("日期", ["日期.py", "修复日期.py", "日历/期末.md", "日期/说明.md"]),
    ],
)
def test_better_paths_come_first(query, paths):
    assert best(paths[::-1], query).paths == tuple(paths)


def test_the_same_capitals_and_lately_used_paths_come_first_among_equals():
    paths = ["a/readme.md", "b/README.md", "c/Readme.md"]
    assert best(paths, "README").paths[0] == "b/README.md"
    assert best(paths, "readme", recent=["c/Readme.md", "gone.md"]).paths[0] == "c/Readme.md"
    assert best(["afb.py", "fb.py", "FooBar.py"], "FB").paths == ("fb.py", "FooBar.py", "afb.py")
    assert best([*paths, "README_notes"], "readme", recent=["README_notes"]).paths[0] == "a/readme.md"


def test_an_empty_query_gives_what_was_used_lately_then_the_top_folder():
    paths = ["b.py", "src/", "src/a.py", "src/deep/", "src/deep/x"]
    found = best(paths, "", recent=["src/deep/x"])
    assert found.paths == ("src/deep/x", "b.py", "src/", "src/a.py", "src/deep/")
    assert found.count == 5


def test_only_so_many_are_given_and_all_are_counted():
    found = best([f"d{n}/file{n}.py" for n in range(500)], "file", most=7)
    assert (len(found.paths), found.count) == (7, 500)


def plain_search(paths, query, most, recent):
    """Each path ranked by itself."""
    inside = query.rfind("/") + 1
    low_query = "".join(map(small, query))
    head, tail = low_query[:inside], low_query[inside:]

    def rank(number, path):
        at = path.rstrip("/").rfind("/") + 1
        folder, name = "".join(map(small, path[:at])), path[at:]
        low_name = "".join(map(small, name))
        depth = 0
        for letter in folder:
            depth += depth < len(low_query) and letter == low_query[depth]
        rest = low_query[depth:]
        place = 0 if folder == head else 1 if folder.startswith(head) else 2
        tier = None if depth < inside else Tier.START if not tail else plain_tier(tail, name)
        if not query and path in recent:
            major = (-1,)
        elif tier is not None:
            major = (place, 0) if not tail else (1 if place < 2 else 2, int(tier))
        elif not is_subsequence(rest, low_name):
            return None
        else:
            major = (3, 0) if rest and low_name.startswith(rest) else (4, 0)
        lately = recent.index(path) if path in recent else len(recent)
        capitals = query[inside:] != tail and query[inside:] not in name
        return (major, lately, capitals, len(name), len(path), number)

    ranked = sorted(r for r in map(rank, range(len(paths)), paths) if r is not None)
    return tuple(paths[r[-1]] for r in ranked[:most]), len(ranked)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 40))])
def test_a_search_gives_what_ranking_each_path_by_itself_gives(seed, monkeypatch):
    monkeypatch.setattr(limits, "INDEX_SHARD", 64)
    dice = random.Random(seed)
    letters = "abcAB_.1日"
    words = ["".join(dice.choices(letters, k=dice.randint(1, 4))) for _ in range(40)]
    folders = sorted({"", *("/".join(dice.choices(words, k=dice.randint(1, 3))) + "/" for _ in range(60))})
    paths = [f"{folder}{name}" for folder in folders for name in sorted({*dice.choices(words, k=dice.randint(0, 20))})]
    content = {}
    for path in paths:
        content.setdefault(path[: path.rfind("/") + 1], []).append(path[path.rfind("/") + 1 :])
    table = PathTable()
    table.change(content)
    assert len(table.shards) > 3
    paths = [shard.path(item) for shard in table.shards for item in range(len(shard))]
    for _ in range(60):
        query = "".join(dice.choices(letters + "/", k=dice.randint(0, 8)))
        recent = dice.sample(paths, dice.randint(0, 3))
        most = dice.choice([3, 20, 2000])
        search = None
        for size in sorted(dice.choices(range(len(query) + 1), k=2)):  # as it is typed, some letters overtaken
            search = Search(table, query[:size], most, recent, search)
            list(islice(search.run(), dice.choice((0, 5, 50, 500))))
        found = list(filter(None, Search(table, query, most, recent, search).run()))[-1]
        expected, count = plain_search(paths, query, most, recent)
        assert (found.count, found.paths) == (count, expected), (query, recent)
        for path in found.paths[:5]:
            marked = places(query, path)
            assert fold("".join(path[at] for at in marked)) == fold(query)


def test_folders_are_changed_without_touching_others(monkeypatch):
    monkeypatch.setattr(limits, "INDEX_SHARD", 8)
    dice = random.Random(1)
    table, expected = PathTable(), {}
    for _ in range(200):
        changes = {}
        for _ in range(dice.randint(1, 4)):
            folder = dice.choice(["", "a/", "a/b/", "c/", "d/e/", "f/"])
            names = [dice.choice(string.ascii_letters) + str(n) for n in range(dice.randint(0, 20))]
            changes[folder] = dice.choice([None, names])
        table.change(changes)
        expected = {f: names for f, names in {**expected, **changes}.items() if names is not None}
        assert {f: sorted(table.names(f)) for f in expected} == {f: sorted(names) for f, names in expected.items()}
        assert len(table) == sum(map(len, expected.values()))
        assert all((folder in table) == (folder in expected) for folder in ["", "a/", "zz/"])
        for folder, names in expected.items():
            for name in names[:2]:
                number, item = table.find(folder + name)
                assert table.shards[number].path(item) == folder + name
    assert table.find("zz/none") is None


def test_a_very_long_query_is_searched_for_in_no_time_to_speak_of():
    paths = [f"{'a_' * 60}{n}/{'a_' * 100}{n}" for n in range(300)]
    assert best(paths, "a" * 160).count == 300
    assert best(paths, "a" * 160 + "b").count == 0
