"""The deciding functions of the tools over their corpora: every row that binds must hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus import runner

FOLDER = Path(__file__).parents[1] / "data" / "corpora" / "behaviour"


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("edit_fuzzy", 10),
        ("edit_fuzzy_own", 10),
        ("arg_coerce", 10),
        ("exit_code_meaning", 10),
        ("patch_parse", 10),
        ("patch_apply", 5),
        ("skill_frontmatter", 20),
        ("skill_name_valid", 10),
        ("at_references", 10),
        ("nano_tokenize", 9),
        ("nano_bm25", 20),
    ],
)
def test_every_binding_row_holds(kind, least):
    outcomes = list(runner.outcomes(runner.adapter(kind), FOLDER / f"{kind}.jsonl"))
    assert [(o.id, o.reason) for o in outcomes if o.status not in ("passed", "skipped")] == []
    assert sum(o.status == "passed" for o in outcomes) >= least
