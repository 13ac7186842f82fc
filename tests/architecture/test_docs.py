import re

import pytest

from docs import mouse
from docs.generate import HERE, PAGES
from nanoherm_tui.actions import BY_ID
from tests.architecture.test_imports import ROOT

TOPS = ("agent_core", "nanoherm_tui", "tests")


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    assert (HERE / name).read_text("utf-8") == PAGES[name](), "run make docs"


def test_whatever_the_mouse_does_has_a_key():
    tui = ROOT / "nanoherm_tui"
    handler = re.compile(r"def _?on_(?:click|mouse_\w+)\(self")
    handling = {str(path.relative_to(tui)) for path in tui.rglob("*.py") if handler.search(path.read_text("utf-8"))}
    assert {room for deed in mouse.DEEDS for room in deed.rooms} == handling
    for deed in mouse.DEEDS:
        assert deed.actions or deed.keys, deed.what
        for name in deed.actions:
            assert BY_ID[name].keys, f"{deed.what}: {name} has no key"


@pytest.mark.parametrize("page", ["docs/safety.md", "SECURITY.md", "docs/hooks.md"])
def test_each_test_and_room_that_a_page_of_promises_names_is_there(page):
    text = (ROOT / page).read_text("utf-8")
    named = set(re.findall(r"`((?:[\w*]+/)*[\w*]+\.py|\w+\.jsonl)`", text))
    assert named
    for name in named:
        there = any(ROOT.glob(name)) or any(each for top in TOPS for each in (ROOT / top).rglob(name))
        assert there, f"{page} names {name}, which is gone"


def test_every_dependency_is_named_in_the_readme_with_a_reason():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    declared = re.findall(r'^    "([A-Za-z0-9_-]+)(?:\[\w+\])?[=><]', project, re.MULTILINE)
    readme = (ROOT / "README.md").read_text("utf-8")
    table = " ".join(
        line.split("|")[1] for line in readme.splitlines() if line.startswith("| ") and line.count("|") == 3
    )
    runtime = declared[: declared.index("aiohttp") + 1]
    assert len(runtime) == 13
    for name in runtime:
        assert name in table, name


def test_the_textual_pin_is_exact():
    assert '"textual==8.2.8"' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert "textual==8.2.8 " in (ROOT / "requirements.txt").read_text("utf-8")


def test_the_repository_names_no_registry_and_no_path_of_a_machine():
    for path in [*ROOT.glob("*.txt"), ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / ".ci" / "run"]:
        text = path.read_text("utf-8")
        assert "://" not in text, path
        # Flags that keep such an address out are welcome; one that sets it is not.
        assert not re.search(r"(?<!emit-)(?<!extra-)(index-|find-)(url|links)[ =]", text), path
