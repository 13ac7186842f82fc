"""Words and glyphs: two languages with the same keys, none missing, none unused; every glyph one cell."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from rich.cells import cell_len

import agent_core
import nanoherm_tui
from agent_core import confinement, errors
from agent_core.errors import AgentError, ProviderError, ProviderErrorKind
from agent_core.llm import retry
from agent_core.llm.providers import PRESETS, Endpoint
from agent_core.llm.route import switch
from agent_core.mind import reviewer
from agent_core.names import MODES
from agent_core.ports.asking import Question
from agent_core.safety import aimed, danger, paths
from agent_core.sandbox import program
from nanoherm_tui import i18n, symbols
from nanoherm_tui.i18n import from_locale, phrase_key, placeholders, set_language, t, tell, texts
from nanoherm_tui.overlays.question import question_rows
from nanoherm_tui.transcript.outcomes import in_words
from tests.rows import each_row

SOURCES = sorted(Path(nanoherm_tui.__file__).parent.rglob("*.py"))
CORE = sorted(Path(agent_core.__file__).parent.rglob("*.py"))
# Their English lives in the core.
CORE_SECTIONS = ("errors.", "notices.", "outcomes.", "questions.", "left_because.", "providers.", "setting_docs.")


def own(language):
    return {key: text for key, text in texts(language).items() if not key.startswith(CORE_SECTIONS)}


def test_both_languages_have_the_same_keys_with_the_same_parameters():
    en, zh = own("en"), own("zh")
    assert sorted(en) == sorted(zh)
    assert {k: placeholders(v) for k, v in en.items()} == {k: placeholders(v) for k, v in zh.items()}
    assert set(texts("en")) == set(en)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_key_stands_twice(language):
    section, seen = "", []
    for line in (Path(i18n.__file__).with_name("i18n") / f"{language}.yaml").read_text("utf-8").splitlines():
        if found := re.match(r"( {0,2})([\w.-]+):", line):
            seen.append((section if found[1] else "", found[2]))
            section = section if found[1] else found[2]
    assert len(seen) > 500
    assert [key for key in set(seen) if seen.count(key) > 1] == []


HAN = "[\u3400-\u9fff]"

# What no text of a language has, by the house style.
FAULTS = {
    "en": {
        "begs, or speaks of us": re.compile(r"\b(please|sorry|oops|we|us|our)\b", re.IGNORECASE),
        "shouts": re.compile("!(?!shell)"),
        "blanks at an end, or two": re.compile(r"\A\s|\s\Z|  "),
        "three dots": re.compile(r"\.\.\."),
        "capitals inside": re.compile(r"\A[A-Z][a-z]+ [A-Z][a-z]+\Z"),
    },
    "zh": {
        "begs, or speaks of us": re.compile("请(?!求)|抱歉|对不起|不好意思|您|我们|咱们"),
        "shouts": re.compile("！|!(?!shell)"),
        "half-width punctuation beside Chinese": re.compile(rf'{HAN}[,.;:!?()"]|[,;:!?()"]{HAN}'),
        "no blank between Chinese and Latin": re.compile(rf"{HAN}[A-Za-z0-9{{/]|[A-Za-z0-9}}%]{HAN}"),
        "a blank between Chinese": re.compile(rf"{HAN} {HAN}"),
        "a blank beside full-width punctuation": re.compile(r"\s[，。、；：！？（）「」]|[，。、；：！？（）「」]\s"),
        "quotes or dots that some terminals draw in two cells": re.compile("[“”‘’…]|\\.\\.\\."),
    },
}
NARROW = {"text.minutes", "text.hours", "text.days"}  # an age has four cells


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_text_follows_the_house_style(language):
    for key, text in texts(language).items():
        assert text.strip(), key
        for fault, pattern in FAULTS[language].items():
            if key not in NARROW or "between" not in fault:
                assert not pattern.search(text), (key, fault, text)


@each_row(
    ("text", "fault"),
    [
        ("请稍等", "begs, or speaks of us"),
        ("完成！", "shouts"),
        ("还没有,先等等", "half-width punctuation beside Chinese"),
        ("共3项", "no blank between Chinese and Latin"),
        ("共 {n}项", "no blank between Chinese and Latin"),
        ("没有 结果", "a blank between Chinese"),
        ("没有。 再试", "a blank beside full-width punctuation"),
        ("叫“它”", "quotes or dots that some terminals draw in two cells"),
        ("正在读…", "quotes or dots that some terminals draw in two cells"),
        ("叫「它」", ""),
        ("请求没有成功，{n} 秒后重试（{a}/{b}）。", ""),
        ("{path} 的第 3 行：写 true 或 false。", ""),
    ],
)
def test_the_house_style_finds_what_it_is_about(text, fault):
    assert [name for name, pattern in FAULTS["zh"].items() if pattern.search(text)] == [fault] * bool(fault)


@cache
def nodes_of(path):
    """The syntax of a source, each node once."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def strings_of(path):
    """The string constants of a module, and the fixed beginnings of its f-strings."""
    whole, starts = set(), set()
    for node in nodes_of(path):
        if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            starts.add(node.values[0].value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            whole.add(node.value)
    return whole, starts


def called_keys(path):
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name == "t" and isinstance(node.args[0].value, str):
                yield node.args[0].value


def test_every_key_the_code_asks_for_exists_and_no_key_is_unused():
    whole, starts, called = set(), set(), set()
    for path in SOURCES:
        strings, beginnings = strings_of(path)
        whole |= strings
        starts |= {s for s in beginnings if "." in s and s.split(".")[0] in {k.split(".")[0] for k in own("en")}}
        called |= set(called_keys(path))
    assert called - set(own("en")) == set()
    unused = {key for key in own("en") if key not in whole and not any(key.startswith(s) for s in starts)}
    assert unused == set()


def test_a_missing_key_shows_itself_at_run_time_and_is_loud_in_tests():
    with pytest.raises(KeyError):
        t("sessions.no_such_key")
    with pytest.raises(KeyError):
        t("sessions.empty")
    i18n.set_strict(False)
    assert t("sessions.no_such_key") == "sessions.no_such_key"
    assert t("sessions.empty") == "No sessions yet. {key} starts one."


def test_a_parameter_is_data_and_never_a_template():
    assert t("sessions.empty", key="{key}%s{0}[b]") == "No sessions yet. {key}%s{0}[b] starts one."


def test_the_language_can_be_switched_while_running():
    set_language("zh")
    assert t("sessions.empty", key="Ctrl+N") == "还没有会话。Ctrl+N 新建。"
    set_language("en")
    assert t("sessions.empty", key="Ctrl+N") == "No sessions yet. Ctrl+N starts one."


@each_row(
    ("env", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "", "LC_ALL": ""}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses_the_language(env, expected):
    assert from_locale(env) == expected


def test_an_error_of_the_core_is_translated_by_code_and_falls_back_to_its_english(monkeypatch):
    monkeypatch.setitem(i18n._texts, "zh", {"errors.full": "磁盘只剩 {free} MB。{english}", "notices.hi": "你好"})
    set_language("zh")
    assert tell("full", {"free": 3}, "Disk full.") == "磁盘只剩 3 MB。Disk full."
    assert tell("hi", {}, "Hello") == "你好"
    assert tell("full", {}, "Disk full.") == "Disk full."
    assert tell("unknown", {"a": 1}, "As it is.") == "As it is."
    set_language("en")
    assert tell("full", {"free": 3}, "Disk full.") == "Disk full."


ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, AgentError)}
ERRORS -= {"ProviderError", "ToolFailure"}  # one has a kind in place of a code, the other is for the model


@cache
def tellings():
    """What the core raises or tells, as written in its sources: code, and the parameters' names if they are written."""
    return tuple(each for path in CORE for each in tellings_of(path))


def tellings_of(path):
    for node in nodes_of(path):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in ERRORS:
            yield node.args[0].value, [keyword.arg for keyword in node.keywords]
        elif name in ("ErrorRaised", "Notice"):
            given = [*node.args[2:], *(k.value for k in node.keywords if k.arg == "params")]
            tables = [each for each in given if isinstance(each, ast.Dict)]
            known = all(isinstance(each, (ast.Dict, ast.Constant)) for each in given)
            yield node.args[0].value, [k.value for each in tables for k in each.keys] if known else [None]


def codes_of_the_core():
    """Every code that the core raises or tells, but those that are for the model."""
    layers = {f"sandbox_{layer}" for layer in program._WORDS}
    return {*get_args(ProviderErrorKind), "interrupted", *layers, *(code for code, _ in tellings())}


def test_a_translation_asks_only_for_parameters_that_its_error_has():
    table = texts("zh")
    for code, names in tellings():
        text = table.get(f"errors.{code}") or table.get(f"notices.{code}", "")
        if None not in names:  # None: they are in a variable
            assert placeholders(text) <= {"english", *names}, (code, names)


def test_whatever_the_core_can_tell_has_a_translation_under_one_code():
    errors = {key.removeprefix("errors.") for key in texts("zh") if key.startswith("errors.")}
    notices = {key.removeprefix("notices.") for key in texts("zh") if key.startswith("notices.")}
    assert errors & notices == set()
    assert len(codes_of_the_core()) > 30
    assert codes_of_the_core() - errors - notices == set()


def test_why_another_model_answers_is_told_in_the_language_of_the_rest():
    one, two = (
        Endpoint(name, name.upper(), "http://127.0.0.1:1/v1", f"{name}-model", None, PRESETS["custom"])
        for name in ("first", "second")
    )
    set_language("zh")
    for kind in get_args(ProviderErrorKind):
        delta = switch(two, one, ProviderError(kind, "It failed."))
        told = tell(delta.params["notice"], delta.params, delta.text)
        assert {"FIRST", "SECOND", "second-model"} <= set(re.findall(r"[\w-]+", told, re.ASCII)), told
        assert not {"answers", "instead", "turn"} & set(re.findall(r"\w+", told, re.ASCII)), told


def test_why_a_request_is_tried_again_is_told_in_the_language_of_the_rest():
    set_language("zh")
    unreached = ProviderError("network", "Nothing answers.", unreached=True)
    told = {
        kind: tell("retry", {"case": retry.case(error), "wait_s": 1.5, "attempt": 2, "of": 3}, "It failed.")
        for kind, error in (
            *((kind, ProviderError(kind, "It failed.")) for kind in get_args(ProviderErrorKind)),
            ("unreached", unreached),
        )
    }
    for kind in ("rate_limit", "server", "network", "timeout", "truncated", "protocol", "bad_tool_call", "unreached"):
        assert list(told.values()).count(told[kind]) == 1, "each reason has its words"
    assert all(words.endswith("1.5 秒后重试（2/3）。") for words in told.values())


def test_no_translation_is_for_a_code_that_nothing_raises():
    written = {*get_args(ProviderErrorKind), *codes_of_the_core()}
    for path in (*SOURCES, *CORE):
        written |= strings_of(path)[0]
    codes = {key.split(".", 1)[1] for key in texts("zh") if key.startswith(("errors.", "notices."))}
    assert codes - written == set()


# -- glyphs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_glyph_is_one_cell_and_ascii_when_asked(ascii_only):
    symbols.set_ascii(ascii_only)
    for name in symbols.NAMES:
        for frame in range(9):
            glyph = symbols.sym(name, frame)
            assert cell_len(glyph) == 1
            assert glyph.isascii() or not ascii_only
    assert not ascii_only or symbols.sym("thumb") != symbols.sym("rule")  # side by side they would be one thick line


def test_the_running_mark_steps_and_stands_still_with_reduced_motion():
    assert len({symbols.sym("running", n) for n in range(8)}) == 8
    assert symbols.sym("running", 8) == symbols.sym("running", 0)
    symbols.set_reduced_motion(True)
    assert {symbols.sym("running", n) for n in range(8)} == {symbols.STILL}


def test_the_linux_console_gets_ascii(monkeypatch):
    monkeypatch.setenv("TERM", "linux")
    symbols.set_ascii(None)
    assert symbols.sym("done") == "v"


def test_no_text_uses_a_glyph_that_some_terminals_draw_two_cells_wide():
    wide = set("●◐◆·…↑↓→×—│─▌■")
    for language in i18n.LANGUAGES:
        for key, text in texts(language).items():
            assert not wide & set(text), key


def test_a_todo_lists_size_and_a_dangerous_patterns_name_are_said_in_chinese():
    i18n.set_language("zh")
    assert in_words("4 items") == "4 项"
    question = Question("command", "Run", command="rm x", rule="dangerous: found-and-deleted", decisions=("once",))
    assert any("危险：查找并删除" in row.words for row in question_rows(question, 80))


def rules_that_ask():
    """Every rule that may be shown beside a question, as the core writes it."""
    rules = {f"mode {mode}" for mode in MODES} | {"no sandbox", "leaves the sandbox", "policy always"}
    rules |= {confinement.NOT_ALL_KNOWN, confinement.TOO_MANY, confinement.NOT_HIDDEN}
    dangers = {rule.__name__.strip("_").replace("_", "-") for rule in danger._RULES}
    rules |= {f"dangerous: {name}" for name in (*dangers, "hidden-characters", "database", "together", "not-judged")}
    for node in nodes_of(Path(paths.__file__)):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 3:
            verdict, rule, _ = node.value.elts
            if any(isinstance(part, ast.Constant) and part.value == "ask" for part in ast.walk(verdict)):
                rules |= {rule.value} if isinstance(rule, ast.Constant) else set(paths._WHY_HIDDEN)
    for path in (Path(agent_core.__file__).parent / "tools").glob("*.py"):
        rules |= set(re.findall(r'path_rule"?[:=] ?"([^"]+)"', path.read_text(encoding="utf-8")))
    return rules


def dangers():
    """Every word the core has for what a command may do."""
    found = set()
    for function in ast.parse(Path(danger.__file__).read_text(encoding="utf-8")).body:
        for node in ast.walk(function):
            for part in ast.walk(node) if isinstance(node, ast.Return) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value.strip(": "):
                    place = "changes " if getattr(function, "name", "") == "protected_place" else ""
                    found.add(place + part.value.strip(": "))
    return found


def test_every_danger_is_said_in_chinese():
    words = dangers()
    assert {"removes recursively", "changes a system file"} <= words
    assert {w for w in words if f"questions.{phrase_key(w)}" not in texts("zh")} == set()


def reasons_not_to_review():
    """Every reason for which a command goes past the reviewer, or comes back from it undecided."""
    found = set()
    for room in (reviewer, aimed):
        for node in ast.walk(ast.parse(Path(room.__file__).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Return) and getattr(node.value, "value", ""):
                found.add(node.value.value)
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "why":
                found |= {part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)}
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Review" and len(node.args) > 1:
                found |= {part.value for part in ast.walk(node.args[1]) if isinstance(part, ast.Constant)}
    return {words for words in found if isinstance(words, str) and " " in words} - {"no answer within ", " s"}


def test_why_a_person_is_asked_in_place_of_the_reviewer_is_said_in_chinese():
    reasons = reasons_not_to_review() | {"no answer within 30 s"}
    assert {"it names a protected file", "it has a comment", "it holds a key", "the answer was not whole"} <= reasons
    assert {words for words in reasons if f"questions.{phrase_key(words)}" not in texts("zh")} == set()
    set_language("zh")
    question = Question("command", "Run", command="make", text="not reviewed: it has a comment", decisions=("once",))
    assert any("未经审查：带有注释" in row.words for row in question_rows(question, 80))


def test_every_rule_that_asks_is_said_in_chinese():
    rules = rules_that_ask()
    assert "protected: secrets" in rules
    for rule in rules:
        for words in rule.split(": "):
            is_file = words.startswith(".")  # a file's name stays as it is
            assert is_file or f"questions.{phrase_key(words)}" in texts("zh"), rule


def test_what_the_program_says_in_its_own_words_is_not_replaced_by_those_of_an_error():
    """A notice with the code of an error of the core would be told with that error's translation."""
    told = [
        (file.name, code)
        for file in Path(nanoherm_tui.__file__).parent.rglob("*.py")
        for code in re.findall(r"\.tell\(\s*\"(\w+)\",\s*t\(", file.read_text())
    ]
    assert len(told) > 1
    table = texts("zh")
    assert [one for one in told if f"errors.{one[1]}" in table or f"notices.{one[1]}" in table] == []


@pytest.mark.parametrize(
    ("code", "told"),
    [("en", "The effort is one of low, high."), ("zh", "思考强度可以是：low、high。")],
)
def test_names_in_a_row_are_divided_as_the_language_divides_them(code, told):
    i18n.set_language(code)
    given = {"efforts": ("low", "high")}
    assert i18n.tell("bad_effort", given, "The effort is one of low, high.") == told
    assert i18n.series(given["efforts"]) == {"en": "low, high", "zh": "low、high"}[code]
    assert i18n.series([]) == ""
