"""The table of actions, what a draft with a slash means, and whose a key is."""

import ast
import inspect
import re

import pytest
from textual.keys import _character_to_key

from agent_core.knowledge import Typed
from nanoherm_tui import actions
from nanoherm_tui.actions import ACTIONS, BY_ID, BY_SLASH, Slash, SlashProblem, complete_slash, parse_slash
from nanoherm_tui.i18n import LANGUAGES, set_language, t, texts
from nanoherm_tui.keymap import Keymap, load_keymap, normalise, show
from nanoherm_tui.words.arguments import STANDS_FOR, told, written
from tests.rows import each_row


def test_ids_and_slash_names_are_unique_and_every_default_key_is_one_the_keymap_knows():
    assert len(BY_ID) == len(ACTIONS)
    names = [name for a in ACTIONS if a.slash for name in (a.slash, *a.aliases)]
    assert sorted(names) == sorted(BY_SLASH)
    for action in ACTIONS:
        assert all(normalise(key) == key for key in action.keys), action.id


def test_no_two_defaults_are_heard_at_once():
    """Laying the defaults over themselves finds no key that is taken."""
    config = {a.id: list(a.keys) for a in ACTIONS if not a.fixed}
    keymap, problems = load_keymap(config)
    taken = [p.params for p in problems if p.key == "keymap.taken"]
    # Ctrl+Y yanks in the composer and runs an edited command in the panel: different places.
    assert taken == []
    assert all(keymap.keys(a.id) == a.keys for a in ACTIONS)


def test_every_action_has_words_in_both_languages():
    for language in LANGUAGES:
        set_language(language)
        for action in ACTIONS:
            assert t(action.title)
            assert t(action.help)


def test_the_words_of_actions_are_those_of_the_table():
    words = {key for key in texts("en") if key.startswith("actions.")}
    assert words == {key for a in ACTIONS for key in (a.title, a.help)}


def test_what_an_argument_stands_for_is_in_the_interfaces_language_and_what_is_typed_is_not():
    assert all(written(action.argument) == action.argument for action in ACTIONS)
    set_language("zh")
    assert written("<text>") == "<文字>"
    assert written(BY_ID["worktree"].argument) == "[名称|list|remove 名称]"
    assert told(parse_slash("/steer")) == "/steer 后面要写 <文字>。"
    asked = {word for action in ACTIONS for word in re.findall("[a-z]+", action.argument)}
    assert asked >= STANDS_FOR


def test_no_key_depends_on_what_terminals_and_multiplexers_keep():
    kept = {"ctrl+b", "ctrl+a", "ctrl+s", "ctrl+q", "ctrl+m", "ctrl+i"}
    assert not kept & {key for a in ACTIONS for key in a.keys}


def test_the_table_has_no_textual_in_it():
    imported = [
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(inspect.getsource(actions)))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
    assert not [name for name in imported if name and name.split(".")[0] in ("textual", "rich")]


@each_row(
    ("text", "action_id", "argument"),
    [
        ("/help", "help", ""),
        ("/?", "help", ""),
        ("/NEW", "new", ""),
        ("/exit", "quit", ""),
        ("/quit", "quit", ""),
        ("/sessions", "sessions", ""),
        ("/resume  parse date ", "sessions", "parse date"),
        ("/undo 3", "undo", "3"),
        ("/rename 修复 时区", "rename", "修复 时区"),
        ("/mode plan\n", "mode", "plan"),
    ],
)
def test_a_command_is_read_with_its_argument(text, action_id, argument):
    assert parse_slash(text) == Slash(BY_ID[action_id], argument)


@each_row(
    "text",
    ["", "hello", "/", "//", "// a comment", "/usr/bin/env", "/etc.d", " /help", "a /help", "/usr/bin\n/help", "/1"],
)
def test_what_is_no_command_is_sent_as_it_stands(text):
    assert parse_slash(text) is None


@pytest.mark.parametrize(
    ("text", "key", "named"),
    [
        ("/hlep", "slash.unknown_nearest", "/help"),
        ("/themes now", "slash.unknown_nearest", "/theme"),
        ("/xyzzy", "slash.unknown", "/xyzzy"),
        ("/setup now", "slash.takes_none", "/setup"),
        ("/steer", "slash.needs", "<text>"),
    ],
)
def test_a_command_that_cannot_be_followed_says_why(text, key, named):
    problem = parse_slash(text)
    assert isinstance(problem, SlashProblem)
    assert problem.key == key
    assert named in t(problem.key, **problem.params)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("/检 登录", "检查"),
        ("/检查 登录", ""),
        ("/根目录有什么", ""),
        ("/检查/文件", ""),
        ("/git:comit 甲", "git:commit"),
    ],
)
def test_a_mistyped_name_of_one_s_own_is_named_in_its_own_script(text, nearest):
    found = parse_slash(text, (Typed("检查"), Typed("git:commit")))
    assert (found.params["nearest"] if found is not None else "") == nearest


@each_row(
    ("draft", "first"),
    [("/", "agents"), ("/mo", "mode"), ("/ren", "rename"), ("/re", "redirect"), ("/qu", "exit"), ("/thm", "theme")],
)
def test_completion_offers_prefixes_aliases_and_letters_in_order(draft, first):
    assert complete_slash(draft)[0].slash == first


@each_row("draft", ["", "hello", "//", "/mode ", "/usr/bin", "/xyzzy", "/mode\nx"])
def test_completion_is_silent_where_no_name_is_being_typed(draft):
    assert complete_slash(draft) == ()


@each_row(
    ("written", "key", "shown"),
    [
        ("Ctrl-J", "ctrl+j", "Ctrl+J"),
        ("C-x", "ctrl+x", "Ctrl+X"),
        ("alt+Enter", "alt+enter", "Alt+Enter"),
        ("Shift+Ctrl+N", "ctrl+shift+n", "Ctrl+Shift+N"),
        ("Ctrl+_", "ctrl+underscore", "Ctrl+_"),
        ("ctrl++", "ctrl+plus", "Ctrl++"),
        ("?", "question_mark", "?"),
        ("G", "G", "G"),
        ("PgDn", "pagedown", "PgDn"),
        ("esc", "escape", "Esc"),
        ("F12", "f12", "F12"),
    ],
)
def test_keys_are_read_however_people_write_them(written, key, shown):
    assert normalise(written) == key
    assert show(key) == shown


@each_row("written", ["", "  ", "foo", "ctrl+foo", "hyperspace+x", "f25", "ctrl+", "+ctrl"])
def test_what_is_no_key_is_refused(written):
    assert normalise(written) is None


def test_punctuation_has_textuals_names():
    for character in "?+-_/\\@!#$%&*()[]{}<>=~`'\";:,.|^":
        assert normalise(character) == _character_to_key(character)


def test_the_config_changes_adds_and_removes_keys():
    keymap, problems = load_keymap({"new": "ctrl+shift+n", "newline": ["ctrl+j", "f8"], "redraw": []})
    assert problems == []
    assert keymap.keys("new") == ("ctrl+shift+n",)
    assert keymap.label("new") == "Ctrl+Shift+N"
    assert keymap.action("f8", "composer") == "newline"
    assert keymap.label("redraw") == ""
    assert keymap.action("ctrl+n", "everywhere") == ""


def test_a_letter_may_do_something_where_nothing_is_written():
    assert load_keymap({"fold": "z", "allow_once": "j", "new": ["alt+x", "shift+f5"]})[1] == []


def test_two_actions_may_swap_their_keys():
    keymap, problems = load_keymap({"help": "f2", "toggle_sessions": "f1"})
    assert problems == []
    assert (keymap.label("help"), keymap.label("toggle_sessions")) == ("F2", "F1")


@each_row(
    ("config", "key", "named"),
    [
        ({"nwe": "f9"}, "keymap.unknown_nearest", "new"),
        ({"warp": "f9"}, "keymap.unknown", "warp"),
        ({"steer": "f9"}, "keymap.fixed", "steer"),
        ({"new": "ctrl+foo"}, "keymap.no_key", "ctrl+foo"),
        ({"new": "ctrl+m"}, "keymap.same", "Enter"),
        ({"new": "ctrl+p"}, "keymap.taken", "palette"),
        ({"send": "tab"}, "keymap.taken", "queue"),
        ({"allow_once": "enter"}, "keymap.enter", "Enter"),
        ({"run_edited": "ctrl+enter"}, "keymap.enter", "Enter"),
        ({"fork": "x"}, "keymap.writes", "x"),
        ({"newline": "shift+space"}, "keymap.writes", "shift+space"),
        ({"queue": "?"}, "keymap.writes", "?"),
        ({"new": 5.5}, "keymap.shape", "keymap"),
        (["new"], "keymap.shape", "keymap"),
    ],
)
def test_an_entry_that_cannot_be_followed_is_named_and_the_default_stays(config, key, named):
    keymap, problems = load_keymap(config)
    assert [p.key for p in problems] == [key]
    assert named in t(problems[0].key, **problems[0].params)
    assert all(keymap.keys(a.id) == a.keys for a in ACTIONS)


def test_a_key_to_quit_with_is_left_whatever_the_config_takes_away():
    config = {"send": [], "palette": [], "interrupt": [], "new": "ctrl+d", "quit": []}
    keymap, problems = load_keymap(config)
    assert [(p.key, p.params["action"]) for p in problems] == [("keymap.way_out", "quit"), ("keymap.taken", "new")]
    assert keymap.action("ctrl+d", "everywhere") == "quit"
    assert keymap.keys("send") == keymap.keys("interrupt") == ()


def test_of_two_entries_with_one_key_the_first_holds_it():
    keymap, problems = load_keymap({"new": "f9", "details": "f9"})
    assert [p.params["holder"] for p in problems] == ["new"]
    assert keymap.keys("details") == BY_ID["details"].keys


def test_the_same_key_may_mean_different_things_in_different_places():
    keymap = Keymap()
    assert keymap.action("y", "approval") == "allow_once"
    assert keymap.action("y", "transcript") == "copy_block"
    assert keymap.action("y", "composer") == ""
