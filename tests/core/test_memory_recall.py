"""Which memories a message finds."""

from __future__ import annotations

import math
import random
import threading

import pytest

from agent_core import limits
from agent_core.knowledge import Memory
from agent_core.memory.recall import LABELS, Recall, Words, scores, words_of
from agent_core.text.bm25 import Bm25
from agent_core.text.tokenize import bigrams
from tests import recall
from tests.rows import each_row


def facts(*texts, **more):
    return tuple(Memory(str(number), "fact", text, created=number, **more) for number, text in enumerate(texts))


def found(recall_, query, memories, limit=5, workspace=None):
    return [memory.text for memory in recall_.find(query, memories, limit, workspace)]


def by_the_book(query, texts):
    """MEM-03, as it is written."""
    average = max(sum(map(len, texts)) / len(texts), 1)
    out = []
    for text in texts:
        total = 0.0
        for term in set(query):
            having, often = sum(term in other for other in texts), text.count(term)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            total += idf * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * len(text) / average))
        out.append(total)
    return out


@each_row(
    ("text", "terms"),
    [
        ("用BM25检索 a b2", ["用", "bm25", "检索", "b2"]),
        ("猫，上下文/压缩", ["猫", "上下", "下文", "压缩"]),
        ("コーヒー ﾃｽﾄ ソフト・ウェア", ["コー", "ーヒ", "ヒー", "ﾃｽ", "ｽﾄ", "ソフ", "フト", "ウェ", "ェア"]),
        ("한국어 ㅎㅎ", ["한국", "국어", "ㅎㅎ"]),
        ("人々 〇一 𠮷野家 﨑", ["人々", "〇一", "𠮷野", "野家", "﨑"]),
        ("㍿会社 10㎏", ["㍿会", "会社", "10", "㎏"]),
        ("全角ＡＢ don't v1.2 café 🎉", ["全角", "don", "v1", "caf"]),
    ],
)
def test_a_text_is_cut_into_words_and_pairs(text, terms):
    assert bigrams(text) == terms


def test_fifty_random_collections_are_scored_by_the_book():
    dice = random.Random(3)
    words = [f"w{n}" for n in range(30)]
    for _ in range(50):
        texts = [dice.choices(words, k=dice.randint(0, 12)) for _ in range(dice.randint(1, 40))]
        query = dice.choices([*words, "absent"], k=dice.randint(1, 6))
        assert Bm25(texts).scores(query) == pytest.approx(by_the_book(query, texts), abs=1e-9)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        ([[]], [0.0]),
        ([[], []], [0.0, 0.0]),
        # The average length is 0.5 and counts as 1.
        ([["a"], []], [math.log(1 + 1.5 / 1.5) * 2.2 / (1 + 1.2), 0.0]),
    ],
)
def test_nothing_and_texts_without_words_are_no_case_of_their_own(texts, expected):
    assert Bm25(texts).scores(["a"]) == pytest.approx(expected)


def test_what_has_no_word_of_the_message_is_not_found_and_of_the_rest_the_best_few():
    memories = facts("redis for the tests", "tests take nine minutes", "nothing of it", "tests tests tests")
    assert found(Recall(), "how do the tests run?", memories, limit=2) == ["redis for the tests", "tests tests tests"]
    assert found(Recall(), "zzz", memories) == []
    assert found(Recall(), "", memories) == []
    assert found(Recall(), "tests", ()) == []


def test_of_equal_ones_the_newer_comes_first():
    memories = facts("deploy one", "deploy two", "deploy ten")
    assert found(Recall(), "deploy", memories, limit=2) == ["deploy ten", "deploy two"]


@pytest.mark.parametrize(("workspace", "expected"), [("/a", ["there a", "here"]), ("/c", ["here"]), (None, 3)])
def test_only_what_holds_in_a_workspace_is_found_there(workspace, expected):
    memories = (
        *facts("here"),
        Memory("a", "fact", "there a", 5.0, scope="/a"),
        Memory("b", "fact", "there b", scope="/b"),
    )
    texts = found(Recall(), "there here", memories, workspace=workspace)
    assert len(texts) == expected if isinstance(expected, int) else sorted(texts) == sorted(expected)


@pytest.mark.parametrize("query", ["我之前纠正过什么", "what correction did I make before?"])
def test_asking_for_a_kind_finds_its_memories(query):
    memories = (*facts("use uv", "用中文"), Memory("c", "correction", "weeks begin on Monday"))
    assert found(Recall(), query, memories, limit=1) == ["weeks begin on Monday"]
    assert all(kind in label for kind, label in LABELS.items())


def test_what_was_found_follows_what_is_remembered_now():
    recall_ = Recall()
    before = facts("use pip")
    assert found(recall_, "pip or uv?", before) == ["use pip"]
    assert found(recall_, "pip or uv?", facts("use uv")) == ["use uv"]
    assert found(recall_, "pip or uv?", facts("use pip", "use uv")) == ["use uv", "use pip"]


def test_a_long_message_is_asked_by_its_rarest_words():
    common = [f"common{n}" for n in range(limits.MEMORY_QUERY_TERMS + 8)]
    memories = facts(" ".join(common), " ".join(reversed(common)), "the zebra lives here")
    recall_ = Recall()
    assert "the zebra lives here" in found(recall_, f"{' '.join(common * 9)} zebra", memories)
    telling = Bm25([memory.text.split() for memory in memories]).telling([*common, "zebra"], 32)
    assert (len(telling), telling[0]) == (32, "zebra")
    late = "x" * limits.MEMORY_QUERY + " zebra"
    assert found(Recall(), late, memories) == []


# -- the words of a dictionary ------------------------------------------------------------------------------------


def test_nobody_waits_for_a_dictionary_that_is_slow_and_its_words_count_when_they_have_come():
    may, asked = threading.Event(), []

    def cut(runs, seconds):
        asked.append(list(runs))
        assert may.wait(30)
        return [["压缩包"] if run == "压缩包" else [run] for run in runs]

    recall_ = Recall(Words(cut, wait=0.01))
    memories = facts("压缩包", "压缩 包")
    assert set(found(recall_, "压缩包", memories)) == {"压缩包", "压缩 包"}  # by pairs meanwhile
    may.set()
    recall_.words.settle(30)
    assert found(recall_, "压缩包", memories)[0] == "压缩包"
    asked.clear()
    recall_.words.settle(30)
    found(recall_, "压缩包", memories)
    assert asked == []  # what is known is not asked for again


def test_a_dictionary_that_cannot_be_had_costs_nothing_but_its_words():
    recall_ = Recall(Words(lambda runs, seconds: None, wait=0.01))
    assert found(recall_, "压缩", facts("压缩")) == ["压缩"]


# -- as people ask ------------------------------------------------------------------------------------------------


def test_the_labelled_messages_have_near_misses_and_are_mostly_answered():
    rows = recall.rows()
    asked = [row for row in rows if row.message]
    assert len(asked) >= 200
    terms = [set(bigrams(words_of((row.kind, row.text)))) for row in rows]
    for row in asked:
        words = set(bigrams(row.message))
        near = sum(bool(words & has) for other, has in zip(rows, terms, strict=True) if other is not row)
        assert near >= 3, row
    places = recall.places(Recall(), rows, [(row, row.message) for row in asked])
    assert recall.share(places, 5) >= 90.0
    assert scores(asked[0].message, [(row.kind, row.text) for row in rows])[0] > 0
