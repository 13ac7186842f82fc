"""The two ends of a text that is too long to be looked at whole."""

from agent_core.safety.redact import redact
from agent_core.text.ends import ends
from tests.rows import each_row

KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAabcdEFGH12345678\n" * 20 + "-----END RSA PRIVATE KEY-----\n"
)


@each_row(
    ("text", "most", "head", "tail"),
    [
        ("", 4, "", ""),
        ("four", 4, "four", ""),
        ("one two three four", 12, "one", " four"),
        ("日本語日本語日本語", 4, "日本", "本語"),
        ("x" * 9, 4, "xx", "xx"),
        ("a\nb\nc\nd\ne", 6, "a", "\ne"),
    ],
)
def test_a_long_text_has_two_ends_cut_between_words(text, most, head, tail):
    assert ends(text, most) == (head, tail)


@each_row("most", range(100, 1500, 70))
def test_no_end_holds_half_of_a_key_that_would_show(most):
    for text in (KEY + "word " * 400, "word " * 400 + KEY, "w " * 300 + KEY + "w " * 300):
        for end in ends(text, most):
            assert "MIIEpAIBAAKCAQEA" not in redact(end)
