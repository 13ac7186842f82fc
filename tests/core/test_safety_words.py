"""A command line is cut into words as a shell cuts it."""

from __future__ import annotations

import random
import subprocess

from agent_core.safety import hardline, shell_walk, shell_words
from tests.rows import each_row


def words(text: str) -> list[str]:
    """The words of one simple command, by the parser alone."""
    (pipeline,) = shell_words.parse(text).pipelines
    (command,) = pipeline.commands
    assert isinstance(command, shell_words.Simple)
    return ["".join(part.text for part in word.parts if isinstance(part, shell_words.Text)) for word in command.words]


@each_row(
    ("text", "expected"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("a 'b c' \"d e\" f\\ g", ["a", "b c", "d e", "f g"]),
        ("a\\\nb c", ["ab", "c"]),
        ("a \"b\\$c\\d\" '\\'", ["a", "b$c\\d", "\\"]),
        ("a '' \"\"", ["a", "", ""]),
        ("$'a\\tb\\x41\\u00e9'", ["a\tbAé"]),
        ("a b#c #d", ["a", "b#c"]),
        ("a 2>x b >y", ["a", "b"]),
        ("A=1 B='2 3' cmd x=y", ["cmd", "x=y"]),
        ("[[ a < b && (c) ]]", ["[[", "a", "b", "c", "]]"]),
    ],
)
def test_words_are_cut_as_a_shell_cuts_them(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@each_row(
    "text",
    ["a 'b", 'a "b', "a $(b", "a `b", "(a", "{ a;", "if a; then b", "a \\", "a ${b", "for x in", "a )", "cat <<E\nx"],
)
def test_a_syntax_error_is_noted_and_stops_nothing(text: str) -> None:
    assert not shell_words.parse(text).ok
    assert hardline.check(text + "\nls") is None


def test_quoting_the_parser_undoes_is_what_bash_undoes() -> None:
    """The parser against the real thing, on harmless words."""
    chance = random.Random(3)
    pieces = [
        "a",
        "b ",
        "'c d'",
        '"e\\"f"',
        "\\g",
        "$'h\\ti'",
        '""',
        "''",
        "'\"'",
        '"\'"',
        "\\'",
        '\\"',
        "#",
        "=",
        "\\\n",
    ]
    for _ in range(40):
        text = "x" + "".join(chance.choice(pieces) for _ in range(6))
        done = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, timeout=20, check=True)
        assert words(f"printf {text}")[1:] == done.stdout.decode().split("\0")[:-1], text


def test_runs_tell_wrappers_input_and_folder() -> None:
    runs = shell_walk.walk("cd /srv && echo x | sudo -u me tee y").runs
    tee = runs[-1]
    assert (tee.name, tee.args, tee.via) == ("tee", ("y",), ("sudo",))
    assert (tee.stdin, tee.fed) == ("x\n", ("echo",))
    assert tee.path("y") == "/srv/y"
