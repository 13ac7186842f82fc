"""The interface's words in two languages.

`t("sessions.empty")` looks a key up in i18n/en.yaml or zh.yaml; `{name}` in a text is filled from the parameters. What
users can type (modes, tools, commands, keys, paths) is never translated and comes in as a parameter.

Errors and notices of the core arrive with a code, parameters and their English text; `tell` translates them by code.
Their English lives in the core alone, so only zh.yaml has the sections `errors` and `notices`, and `setting_docs` by
the names of settings.
Short phrases without a code, a card's outcome say, are translated by `phrase`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, Literal

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

_FIELD = re.compile(r"\{([a-z_]+)\}")
_NUMBER = re.compile(r"\d[\d,]*\+?")
_NOT_A_WORD = re.compile(r"[^a-z]+")

_language: Language = "en"
_texts: dict[Language, dict[str, str]] = {}
_strict = False


def set_language(choice: str = "auto") -> Language:
    """Choose the language; what is none, "auto" above all, follows the locale. Returns the one now in use."""
    global _language
    _language = "en" if choice == "en" else "zh" if choice == "zh" else from_locale(os.environ)
    return _language


def language() -> Language:
    return _language


def from_locale(env: Mapping[str, str]) -> Language:
    """zh for a Chinese LC_ALL, LC_MESSAGES or LANG (the first that is set), else en."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := env.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def set_strict(on: bool) -> None:
    """In strict mode a missing key or parameter raises KeyError: for tests."""
    global _strict
    _strict = on


def t(key: str, /, **params: object) -> str:
    """The text of `key` ("section.name") in the chosen language, with its parameters filled in.

    A missing key gives the key itself and a missing parameter stays as written, so a slip never takes the screen down.
    Parameter values are inserted as they are, several as a `series`, and never read as templates.
    """
    text = texts(_language).get(key)
    if text is None:
        if _strict:
            raise KeyError(key)
        return key
    return _fill(text, params)


def tell(code: str, params: Mapping[str, Any], english: str) -> str:
    """An error or notice of the core in the chosen language: by the case it names, by its code, else its own `english`.

    A translation may use the code's parameters, `{english}`, and `{told}`: of a model server's failure what has
    happened without the way out, which it says in its own words. One that lacks a parameter is passed over.
    """
    if _language == "en":
        return english
    table = texts(_language)
    case = params.get("case")
    given = {"told": english, **params, "english": english}
    given |= {name: _row(value) for name, value in params.items() if isinstance(value, (list, tuple))}
    for key in (f"errors.{case}", f"notices.{case}", f"errors.{code}", f"notices.{code}"):
        text = table.get(key)
        if text is not None and placeholders(text) <= given.keys():
            return _fill(text, given)
    return english


def _row(values: Sequence[Any]) -> str:
    """A parameter that is a list: names, or what went wrong with each of several, with who, code, params and text."""
    if not all(isinstance(value, Mapping) for value in values):
        return series(values)
    said = [
        t("text.pair", name=one["who"], value=tell(one["code"], one["params"], one["text"]).rstrip(".。"))
        for one in values
    ]
    return reduce(lambda row, one: t("text.told_series", said=row, name=one), said) if said else ""


def series(names: Iterable[object]) -> str:
    """Names in a row, as the language puts them: "ask, plan", in Chinese with 、 between them."""
    first, *others = [str(name) for name in names] or [""]
    return reduce(lambda said, name: t("text.series", said=said, name=name), others, first)


def phrase(section: str, english: str) -> str:
    """A short phrase of the core in the chosen language; without a translation, its own English.

    The phrase itself, its numbers taken out, names the translation: "lines 1-40 of 200" is `lines_n_n_of_n` in the
    section of zh.yaml, which may use the numbers as {a}, {b}, {c}.
    """
    template = texts(_language).get(f"{section}.{phrase_key(english)}")
    if template is None:
        return english
    return _fill(template, dict(zip("abcdef", _NUMBER.findall(english), strict=False)))


def phrase_key(english: str) -> str:
    """The name of a phrase's translation: its words and an n for each number, joined by underscores."""
    return _NOT_A_WORD.sub("_", _NUMBER.sub(" n ", english).lower()).strip("_")


def placeholders(text: str) -> frozenset[str]:
    """The parameter names a text asks for."""
    return frozenset(_FIELD.findall(text))


def texts(language: Language) -> Mapping[str, str]:
    """All texts of a language by "section.name", read from its file on first use."""
    if language not in _texts:
        _texts[language] = _read(Path(__file__).with_name("i18n") / f"{language}.yaml")
    return _texts[language]


def _read(path: Path) -> dict[str, str]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data = yaml.load(path.read_text(encoding="utf-8"), loader)
    return {f"{section}.{name}": str(text) for section, entries in data.items() for name, text in entries.items()}


def _fill(text: str, params: Mapping[str, object]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name in params:
            given = params[name]
            return series(given) if isinstance(given, list | tuple) else str(given)
        if _strict:
            raise KeyError(name)
        return found[0]

    return _FIELD.sub(value, text)
