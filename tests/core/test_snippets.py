"""snippets.yaml: what is read of it, what is wrong with it and where, and the places of a text."""

import time

import pytest

from agent_core import limits
from agent_core.config.paths import find_places
from agent_core.grants_file import GrantsFile
from agent_core.snippets import lay_out, snippets
from agent_core.trust import accept, look
from nanoherm_tui.i18n import texts
from tests.rows import each_row


@pytest.fixture
def places(tmp_path):
    (tmp_path / "ws" / ".git").mkdir(parents=True)
    (tmp_path / "home" / ".nanohermes").mkdir(parents=True)
    (tmp_path / "ws" / ".nanohermes").mkdir()
    return find_places(tmp_path / "ws", {"HOME": str(tmp_path / "home")})


def written(places, text):
    (places.data_home / "snippets.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return snippets(places)


@each_row(
    ("text", "laid", "stops"),
    [
        ("plain", "plain", [(5, 5)]),
        ("a ${1:word} b", "a word b", [(2, 6), (8, 8)]),
        ("${2:two} ${1:one}", "two one", [(4, 7), (0, 3), (7, 7)]),
        ("${1:审查} $0 end", "审查  end", [(0, 2), (3, 3)]),
        ("$1,${2},$1", ",,", [(0, 0), (2, 2), (1, 1), (2, 2)]),
        (r"\$1 costs \\ $5 \}", "$1 costs \\  }", [(11, 11), (13, 13)]),
        (r"${1:a\}b}", "a}b", [(0, 3), (3, 3)]),
        ("$x $ ${x} ${1:open", "$x $ ${x} ${1:open", [(18, 18)]),
        ("${1:a\nb}$0", "a\nb", [(0, 3), (3, 3)]),
        ("${1:a\\\nb}", "a\nb", [(0, 3), (3, 3)]),
        (r"${1:open $2 \}", "${1:open  }", [(9, 9), (11, 11)]),
        ("${1:a ${2:b} c}", "a ${2:b c}", [(0, 7), (10, 10)]),
    ],
)
def test_places_are_taken_out_of_a_text_in_the_order_of_their_numbers(text, laid, stops):
    made = lay_out(text)
    assert (made.text, list(made.stops)) == (laid, stops)


@pytest.mark.parametrize("piece", ["${1:", r"${1:\}", "$1", r"\\"])
def test_a_text_of_many_places_is_laid_out_at_once(piece):
    before = time.process_time()
    lay_out(piece * (limits.SNIPPET_FILE // len(piece)))
    assert time.process_time() - before < 3


def test_a_map_of_names_to_texts_is_read_and_control_characters_are_left_out(places):
    found = written(places, 'b: |\n  two\n  lines\na: "x\\e[31my\\x00"\n修复: 请修复\n')
    assert [(one.name, one.text, one.place) for one in found.all] == [
        ("a", "x[31my", "yours"), ("b", "two\nlines", "yours"), ("修复", "请修复", "yours"),
    ]  # fmt: skip
    assert found.problems == ()
    assert snippets(find_places(places.workspace / "none", {"HOME": "/nowhere"})).all == ()


@pytest.mark.parametrize(
    ("text", "code", "line", "others"),
    [
        ("a: x\nb: [1]\nc: y\n", "snippet_no_text", 2, ["a", "c"]),
        ("a: x\n\ntwo words: y\n", "snippet_name", 3, ["a"]),
        ("a: x\nb: ''\n", "snippet_no_text", 2, ["a"]),
        ("? [a]\n: x\nb: y\n", "snippet_name", 1, ["b"]),
        ("a: x\nb: 'open\n", "snippet_yaml", 3, []),
        ("- a\n", "snippet_no_map", 1, []),
        (b"a: \xff\n", "snippet_not_text", 1, []),
        ("a: " + "x" * limits.SNIPPET_FILE, "snippet_large", 1, []),
        ("".join(f"n{n}: x\n" for n in range(limits.SNIPPETS + 1)), "snippet_many", 1, None),
        ("", "", 0, []),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_the_rest_counts(places, text, code, line, others):
    found = written(places, text)
    assert [(p.code, p.params["line"]) for p in found.problems] == ([(code, line)] if code else [])
    if code:
        assert f"~/.nanohermes/snippets.yaml:{line}: " in found.problems[0].text
        assert f"errors.{code}" in texts("zh")
    assert others is None or [one.name for one in found.all] == others


def test_a_projects_snippets_count_only_as_they_were_accepted_and_before_ones_own(places, tmp_path):
    theirs = places.workspace / ".nanohermes" / "snippets.yaml"
    theirs.write_text("a: theirs\nb: theirs\n")
    (places.data_home / "snippets.yaml").write_text("a: mine\nc: mine\n")
    places = find_places(places.workspace, {"HOME": str(tmp_path / "home")})
    grants = GrantsFile(places.grants_file)

    def texts_now():
        found = snippets(places, look(places, grants).accepted("snippet"))
        return {one.name: one.text for one in found.all}

    assert look(places, grants).asks
    assert texts_now() == {"a": "mine", "c": "mine"}
    accept(look(places, grants), grants)
    assert texts_now() == {"a": "theirs", "b": "theirs", "c": "mine"}
    theirs.write_text("a: other\n")
    assert texts_now() == {"a": "mine", "c": "mine"}
