"""Secrets that arrive in pieces: not in what streams, not on the card of a running command, not in a kept file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core import limits
from agent_core.safety.key_guard import KeyGuard
from agent_core.safety.redact import Redactor, redact
from agent_core.spill import Spill
from agent_core.tools import command

CORPUS = Path(__file__).parents[1] / "data/corpora/security/secrets.jsonl"
ROWS = [row for row in map(json.loads, CORPUS.read_text("utf-8").splitlines()) if row.get("secrets")]

Way = Callable[[Iterable[str], Path], str]


def through_redactor(pieces: Iterable[str], folder: Path) -> str:
    redactor = Redactor()
    return "".join(map(redactor.feed, pieces)) + redactor.flush()


def through_the_stream(pieces: Iterable[str], folder: Path) -> str:
    guard = KeyGuard(redact)
    return "".join(map(guard.feed, pieces)) + guard.flush()


def through_a_kept_file(pieces: Iterable[str], folder: Path) -> str:
    spill = Spill(folder, room=0)
    for piece in pieces:
        spill.add(piece)
    spill.close()
    return spill.path.read_text("utf-8") if spill.path is not None else ""


def through_a_card(pieces: Iterable[str], folder: Path) -> str:
    shown: list[str] = []
    sink = command._progress(shown.append, Spill(folder).without_keys)
    for piece in [*pieces, "\n"]:
        sink(piece)
    return "\n".join(shown)


def show_of(secret: str, out: str) -> str:
    """The longest piece of the secret itself that is to be seen; the frame of a private key is no secret."""
    body = max(secret.replace("\\n", "\n").split("\n"), key=lambda line: 0 if line.startswith("-----") else len(line))
    if body in out:
        return body
    long = 16
    return next((body[at : at + long] for at in range(len(body) - long + 1) if body[at : at + long] in out), "")


@pytest.mark.parametrize("way", [through_redactor, through_the_stream, through_a_kept_file, through_a_card])
@pytest.mark.parametrize("tries", [50, pytest.param(2_000, marks=pytest.mark.long)])
def test_no_secret_shows_however_its_text_is_cut(tmp_path_factory, monkeypatch_module, way: Way, tries):
    @settings(max_examples=tries, deadline=None)
    @given(data=st.data())
    def no_cut_shows_one(data):
        shows_no_secret(tmp_path_factory, way, data)

    no_cut_shows_one()


def shows_no_secret(tmp_path_factory, way: Way, data):
    row = data.draw(st.sampled_from(ROWS))
    text = row["input"]
    cuts = data.draw(st.lists(st.integers(0, len(text)), min_size=1, max_size=3).map(sorted))
    pieces = [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
    out = way(pieces, tmp_path_factory.mktemp("kept"))
    leaked = [show_of(secret, out) for secret in row["secrets"]]
    if way is through_the_stream:
        # Short values that only their name gives away are left to the redaction of the whole reply.
        leaked = [piece for piece in leaked if len(piece) >= limits.KEY_CHARS]
    assert not any(leaked), (row["id"], out)


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "COMMAND_PROGRESS_EVERY", -1.0)
        yield patch


@pytest.mark.parametrize("newline", ["\n", "\\n"])
@pytest.mark.parametrize("piece", [1, 7, 64, 500])
@pytest.mark.parametrize("way", [through_redactor, through_the_stream, through_a_card])
def test_of_a_long_private_key_no_line_shows(tmp_path, monkeypatch_module, way: Way, piece, newline):
    line = "FAKEfake0+/" * 5 + "FAKEfake0"
    text = (
        f"see -----BEGIN RSA PRIVATE KEY-----{newline}{(line + newline) * 40}-----END RSA PRIVATE KEY-----\nafter it\n"
    )
    out = way([text[at : at + piece] for at in range(0, len(text), piece)], tmp_path)
    assert "FAKEfake" not in out
    assert "after it" in out


def test_a_key_that_escape_sequences_part_does_not_stream():
    key = "sk-" + "FAKE0fake1Test2" * 3
    text = f"\x1b[1m{key[:9]}\x1b[31m{key[9:20]}\x1b[0m{key[20:]} and \x1b[32mmore\x1b[0m."
    for at in range(len(text)):
        out = through_the_stream([text[:at], text[at:]], Path())
        assert show_of(key[3:], out) == ""
        assert out.endswith("and more.")
