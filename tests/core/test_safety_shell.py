"""What command lines are judged to be: the rows of the corpora, any text at all, in a bounded time.

Nothing in the tables is ever run.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.safety import danger, hardline
from agent_core.safety.shell_trust import TrustContext, is_trusted_command
from tests.core.trust_support import trust_context
from tests.corpus import runner


@pytest.fixture(scope="module")
def ctx(tmp_path_factory: pytest.TempPathFactory) -> TrustContext:
    return trust_context(tmp_path_factory.mktemp("home"))


CORPORA = Path(__file__).parents[1] / "data" / "corpora"


@pytest.mark.parametrize(
    ("kind", "place", "binding"),
    [("trusted", "security", 398), ("hardline", "security", 194), ("command_verdicts", "behaviour", 213)],
)
def test_every_binding_row_of_the_corpus_gets_its_verdict(kind: str, place: str, binding: int) -> None:
    outcomes = list(runner.outcomes(runner.adapter(kind), CORPORA / place / f"{kind}.jsonl"))
    assert [outcome for outcome in outcomes if outcome.status in ("failed", "crashed")] == []
    assert sum(outcome.status == "passed" for outcome in outcomes) == binding


FRAGMENTS = [
    *"$`'\"(){}<>|&;\n# \\a=!*[]~\t",
    *("if ", "then ", "fi;", "for x in ", "do ", "done;", "case ", "in ", "esac ", "${", "$((", "))", "<<E\n", "E\n"),
    *("function ", "f()", "[[ ", " ]]", "rm -rf ", "/", "sh -c ", "eval ", "xargs ", "find ", "-exec ", "git ", "cat "),
    *("é", "\u202e", "\x00", "\x1b[", "\ud800", "\ufdd0", "echo ", "ls ", "sudo ", "$(", "-", "--", "0", "python3 -c "),
]


@pytest.mark.parametrize(("seed", "texts"), [(7, 800), pytest.param(8, 5_000, marks=pytest.mark.long)])
def test_no_text_makes_the_judges_fail_and_none_with_a_shell_character_is_trusted(
    ctx: TrustContext, seed: int, texts: int
) -> None:
    chance = random.Random(seed)
    for _ in range(texts):
        text = "".join(chance.choice(FRAGMENTS) for _ in range(chance.randint(0, 30)))
        verdict = is_trusted_command(text, ctx)
        assert not (verdict.ok and set(text) & set("|&;<>$(){}`\n\r\x00")), text
        assert danger.classify(text) in ("refuse", "ask", "pass")


def test_judging_takes_a_bounded_time(ctx: TrustContext) -> None:
    size = limits.SHELL_TRUSTED
    texts = ["cat " + "a" * (size - 4), "cat " + "a " * (size // 2 - 4), "cat " + "''" * (size // 2 - 4), "x" * size]
    texts += ["git log " + "--a " * (size // 5), "é" * (size // 4), "rg " + "\\a" * (size // 2 - 4)]
    for text in texts:
        best = min(_seconds(lambda text=text: is_trusted_command(text, ctx)) for _ in range(5))
        assert best < 0.05, text[:20]  # the aim is 2 ms; this only catches a slip into more than linear time
    calls = "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }}; " for i in range(39, -1, -1))
    for text in (
        "f40() { x=1; }; " + calls + "f0",
        'a=\'eval "$a"; eval "$a"\'; eval "$a"',
        "for i in 1 2 3 4 5 6 7 8; do for j in {1,2}{1,2}{1,2}; do for k in 1 2 3; do ls; done; done; done",
        "ls " + "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} " * 1_000,
        "|".join(f"a{i}" for i in range(9_000)),
        "delete from a " * 8_000 + "where x",
        "python3 -c '" + 'system("' * 9_000 + "'",
    ):
        assert _seconds(lambda text=text: danger.classify(text)) < 10, text[:40]
    for text in ("f()" * 9_000, "((" * 9_000, "`" * 30_000, "<<a\n" * 9_000, "if " * 9_000, "rm $a " * 5_000):
        assert _seconds(lambda text=text: hardline.check(text)) < 10


def _seconds(action: object) -> float:
    start = time.thread_time()
    assert callable(action)
    action()
    return time.thread_time() - start
