"""Every screen test speaks English with the full glyphs, and a word that is missing from the tables fails it.

Tests may be coroutines: Textual's pilot is awaited.
"""

import asyncio
import inspect
import os

import pytest
from textual.css.stylesheet import Stylesheet

from nanoherm_tui import i18n, limits, symbols

# For the modules that load themes when they are imported, whatever terminal the tests are started in.
os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


@pytest.fixture(autouse=True)
def plain_words(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    symbols.set_ascii(False)
    symbols.set_reduced_motion(False)
    i18n.set_language("en")
    i18n.set_strict(True)
    yield
    i18n.set_strict(False)
    i18n.set_language("en")


@pytest.fixture(scope="session", autouse=True)
def sheets_are_parsed_once():
    """The same sheets with the same colours, read anew, were a sixth of the start of every test's app."""
    parse, known = Stylesheet._parse_rules, {}

    def parse_once(sheet, *arguments, **named):
        key = (arguments, tuple(sorted(named.items())), tuple(sorted(sheet._variables.items())))
        if key not in known:
            known[key] = parse(sheet, *arguments, **named)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture
def at_once(monkeypatch):
    """The panel arms almost at once: for tests about what comes after."""
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True
