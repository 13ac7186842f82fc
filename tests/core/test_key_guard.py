import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.safety.key_guard import KeyGuard
from agent_core.safety.redact import redact

KEY = "sk-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
TEXTS = [
    f"The key is {KEY}, keep it.",
    f"密钥是{KEY}。下一行\nOPENAI_API_KEY={KEY}\n",
    f"curl -H 'Authorization: Bearer {KEY}' https://example.com/{'a' * 40}",
    f"{KEY}",
]


def streamed(text, cuts):
    guard = KeyGuard(redact)
    edges = [0, *sorted(c % (len(text) + 1) for c in cuts), len(text)]
    return [guard.feed(text[a:b]) for a, b in pairwise(edges)] + [guard.flush()]


@pytest.mark.parametrize("text", TEXTS)
def test_a_key_is_never_given_out_however_it_is_cut(text):
    dice = random.Random(7)
    for _ in range(100):
        out = "".join(streamed(text, [dice.randrange(1000) for _ in range(dice.randrange(40))]))
        assert KEY not in out
        assert "[REDACTED]" in out


@given(st.text(st.sampled_from("abc de-f_.12\n一二，`*"), max_size=200), st.lists(st.integers(0, 400), max_size=30))
def test_text_without_a_key_comes_out_as_it_went_in(text, cuts):
    if redact(text) == text:
        assert "".join(streamed(text, cuts)) == text


def test_chinese_and_finished_words_are_not_held_back():
    guard = KeyGuard(redact)
    assert guard.feed("你好，") == "你好，"
    assert guard.feed("wor") == ""
    assert guard.feed("ld and ") == "world and "
    assert guard.feed("这是") == "这是"


def test_a_run_without_an_end_is_given_out_in_time():
    guard = KeyGuard(redact)
    out = "".join(guard.feed("x" * 100) for _ in range(30))
    assert len(out) >= 1_900
