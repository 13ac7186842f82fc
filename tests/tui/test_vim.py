"""Vim's keys over a text: each case was also put to vim itself, but for the Chinese ones it has no opinion of.

A text is written with its caret as a bar before the character it stands on. In keys "^" is Esc and "®" is Ctrl+R.
"""

from nanoherm_tui.editing.kill_ring import KillRing
from nanoherm_tui.editing.units import after
from nanoherm_tui.editing.vim import Vim
from tests.rows import each_row

NAMES = {"^": "escape", "®": "ctrl+r"}
CHIP = "[\x0e3 lines #1\x0f]"


class Owner:
    """Of a text: makes the changes that the keys ask for, types where they type, and undoes."""

    def __init__(self, marked, ring=None):
        self.caret = self.anchor = marked.index("|")
        self.text = marked.replace("|", "", 1)
        self.vim = Vim(ring or KillRing())
        self.vim.mode = "normal"
        self.asked = []

    def press(self, keys):
        for key in keys:
            key = NAMES.get(key, key)
            if self.vim.mode == "insert" and key != "escape":
                self.text = self.text[: self.caret] + key + self.text[self.caret :]
                self.caret = self.anchor = self.caret + 1
                continue
            done = self.vim.press(key, self.text, self.caret, self.anchor)
            if done is None:
                continue
            for change in done.changes:
                self.text = self.text[: change.start] + change.text + self.text[change.end :]
            self.caret, self.anchor = done.caret, done.anchor
            if done.ask:
                self.asked.append((done.ask, done.times))
        return self

    @property
    def marked(self):
        return f"{self.text[: self.caret]}|{self.text[self.caret :]}"


def after_keys(marked, keys):
    return Owner(marked).press(keys).marked


@each_row(
    ("text", "keys", "after"),
    [
        # characters and lines
        ("a|bc", "h", "|abc"),
        ("|abc", "h", "|abc"),
        ("|abc", "l", "a|bc"),
        ("ab|c", "l", "ab|c"),
        ("|abc", "9l", "ab|c"),
        ("on|e\nt\nthree", "jj", "one\nt\nth|ree"),
        ("one|é\n你好吗", "j", "oneé\n你|好吗"),
        ("one\ntw|o", "k", "on|e\ntwo"),
        ("  a|b", "0", "|  ab"),
        ("  ab| c", "^^", "  ab| c"),
        ("|ab\ncd", "$", "a|b\ncd"),
        ("|abc\nd\nefg", "$jj", "abc\nd\nef|g"),
        ("a\n  |b\nc", "gg", "|a\n  b\nc"),
        ("|a\n  b\n  c", "G", "a\n  b\n  |c"),
        ("|a\n  b\n  c", "2G", "a\n  |b\n  c"),
        # words
        ("|foo bar.baz", "w", "foo |bar.baz"),
        ("foo |bar.baz", "w", "foo bar|.baz"),
        ("|foo bar.baz x", "W", "foo |bar.baz x"),
        ("foo bar.|baz", "bb", "foo |bar.baz"),
        ("foo bar.|baz", "B", "foo |bar.baz"),
        ("|foo bar", "e", "fo|o bar"),
        ("fo|o bar.x", "E", "foo bar.|x"),
        ("foo |bar", "ge", "fo|o bar"),
        ("|你好，世界 hello", "w", "你好|，世界 hello"),
        ("|你好ok世界", "ww", "你好ok|世界"),
        ("a|\n\nb", "w", "a\n|\nb"),
        # in the line
        ("|a.b.c", "f.", "a|.b.c"),
        ("|a.b.c", "2f.", "a.b|.c"),
        ("|a.b.c", "t.;", "a.|b.c"),
        ("a.b.|c", "F.;", "a|.b.c"),
        ("|a.b.c", "f.;,", "a|.b.c"),
        ("|好的。再见", "f。", "好的|。再见"),
        ("|a.b.c", "t.2;", "a.|b.c"),
        ("a\nb\n\n|\nd", "ge", "a\nb\n|\n\nd"),
        ("|a\nb\nc\nd", "50%", "a\n|b\nc\nd"),
        ("a\n\n\n|d", "{", "a\n\n|\nd"),
        ("|a b", "3}", "|a b"),
        ("|a b", "2g_", "|a b"),
        (f"|a{CHIP}]b", "f]", f"a{CHIP}|]b"),
        (f"|{CHIP}(b)", "%", f"{CHIP}(b|)"),
        ("a.b.|c", "T.", "a.b.|c"),
        # brackets, sentences, paragraphs
        ("f|(a, (b)) c", "%", "f(a, (b)|) c"),
        ("f(a, (b)|) c", "%", "f|(a, (b)) c"),
        ("|看（一下）好", "%", "看（一下|）好"),
        ("|One. Two! Three", "))", "One. Two! |Three"),
        ("One. Two! Th|ree", "(", "One. Two! |Three"),
        ("|第一句。第二句", ")", "第一句。|第二句"),
        ("|a\nb\n\nc\n\nd", "}}", "a\nb\n\nc\n|\nd"),
        ("a\n\nb\nc|c", "{", "a\n|\nb\ncc"),
        # a count without a command, and keys that are none
        ("|abc", "2zl", "a|bc"),
        ("|abc", "Zq", "|abc"),
    ],
)  # fmt: skip
def test_motions_lead_where_vims_do(text, keys, after):
    assert after_keys(text, keys) == after


@each_row(
    ("text", "keys", "after"),
    [
        ("foo |bar baz", "dw", "foo |baz"),
        ("|a b c d", "2dw", "|c d"),
        ("|a b c d", "d2w", "|c d"),
        ("foo |bar\nnext", "dw", "foo| \nnext"),
        ("foo |bar baz", "de", "foo | baz"),
        ("foo ba|r", "db", "foo |r"),
        ("a|bc\nd", "D", "|a\nd"),
        ("one\nt|wo\nthree", "dd", "one\n|three"),
        ("one\nt|wo", "dd", "|one"),
        ("|one\ntwo\nthree", "2dd", "|three"),
        ("one|x\ntwo\nthree", "dj", "|three"),
        ("a\n|b\n", "dj", "|a"),
        ("|a.b.c", "dt.", "|.b.c"),
        ("|a.b.c", "df.", "|b.c"),
        ("f(a|b, c)", "di(", "f(|)"),
        ("f(a|b, c)", "da(", "|f"),
        ("f|oo(ab)", "dib", "foo(|)"),
        ('x |"a b" y', 'di"', 'x "|" y'),
        ('x "a| b" y', 'da"', "x |y"),
        ("看（一|下）好", "di（", "看（|）好"),
        ("foo b|ar baz", "daw", "foo |baz"),
        ("foo b|ar", "daw", "fo|o"),
        ("foo b|ar baz", "diw", "foo | baz"),
        ("a\n\nb\nc|c\n\nd", "dap", "a\n\n|d"),
        ("a\n\nb\nc|c\n\nd", "dip", "a\n\n|\nd"),
        ("|今天好，明天", "dw", "|，明天"),
        ("|👨‍👩‍👧b", "x", "|b"),
        ("|e\u0301b", "x", "|b"),
        (f"a|{CHIP}b", "x", "a|b"),
        ("a|b", "X", "|b"),
        ("|abc", "3x", "|"),
        ("foo |bar baz", "cwx^", "foo |x baz"),
        ("fo|o bar", "cwx^", "fo|x bar"),
        ("f|oo", "ccx^", "|x"),
        ("one\nt|wo\nthree", "ccx^", "one\n|x\nthree"),
        ("ab|c", "Cx^", "ab|x"),
        ("|abc", "sx^", "|xbc"),
        ("a|b", "Sx^", "|x"),
        ("a|bc", "rx", "a|xc"),
        ("|abc", "2rx", "x|xc"),
        ("|a", "2rx", "|a"),
        ("|abC", "2~", "AB|C"),
        ("|你好", "r世", "|世好"),
        ("|one\n  two", "J", "one| two"),
        ("|one\ntwo\nthree", "3J", "one two| three"),
        ("|你好\n世界", "J", "你好|世界"),
        ("a|b\ncd", ">>", "    |ab\ncd"),
        ("|ab\ncd", "2>>", "    |ab\n    cd"),
        ("      |ab", "<<", "  |ab"),
        ("\t|ab", "<<", "|ab"),
        ("a|b", "ix^", "a|xb"),
        ("a|b", "ax^", "ab|x"),
        ("  a|b", "Ix^", "  |xab"),
        ("|ab", "Ax^", "ab|x"),
        ("|ab\ncd", "ox^", "ab\n|x\ncd"),
        ("ab\n|cd", "Ox^", "ab\n|x\ncd"),
        ("|ab", "3ix^", "xx|xab"),
        ("|ab", "2ox^", "ab\nx\n|x"),
        # > and < take whole lines, whatever the motion; a count that cannot be had changes nothing
        ("foo b|ar", ">iw", "    |foo bar"),
        ("a |b\nc", ">w", "    |a b\nc"),
        ("    a |b", "<h", "|a b"),
        ("|ab", "2dd", "|ab"),
        ("|ab", "2C", "|ab"),
        ("a |b", "d2{", "a |b"),
        # what stands between brackets on lines of their own is lines; a count goes outwards
        ("f {\n  a|b\n}", "ci{x^", "f {\n|x\n}"),
        ("f {\n  a|b\n  c\n}", "di{", "f {\n|}"),
        ("f {\n|a\n}", ">iB", "f {\n    |a\n}"),
        ("f(a, (|b))", "d2i(", "f(|)"),
        ("f(a) (|b)", "d2i(", "f(a) (|b)"),
        ("|a\n\nb\nc", "de", "|c"),
        ("a|b", "dap", "|"),
        ("|", "ciwx^", "|x"),
        (f"|a{CHIP}3b", "df3", "|b"),
        (f"a|b{CHIP}", "di[", f"a|b{CHIP}"),
    ],
)  # fmt: skip
def test_operators_and_edits_leave_what_vims_leave(text, keys, after):
    assert after_keys(text, keys) == after


@each_row(
    ("text", "keys", "after"),
    [
        ("foo |bar", "ywP", "foo ba|rbar"),
        ("fo|o bar", "yiwwP", "foo fo|obar"),
        ("|ab\ncd", "yyp", "ab\n|ab\ncd"),
        ("ab\n|cd", "yyP", "ab\n|cd\ncd"),
        ("a|b", "yyp", "ab\n|ab"),
        ("|ab", "xp", "b|a"),
        ("|ab", "x3p", "baa|a"),
        ("|one\ntwo", "ddp", "two\n|one"),
        ("|a b", "ywjp", "aa|  b"),
        ("foo |bar x", "yiwlvllp", "foo bba|rx"),
    ],
)  # fmt: skip
def test_what_was_deleted_or_yanked_is_put(text, keys, after):
    assert after_keys(text, keys) == after


@each_row(
    ("text", "keys", "after"),
    [
        ("|abcd", "vld", "|cd"),
        ("ab|cd", "vhd", "a|d"),
        ("|a b c", "vwcx^", "|x c"),
        ("|ab\ncd\nef", "Vjd", "|ef"),
        ("|ab\ncd", "Vcx^", "|x\ncd"),
        ("f|oo bar", "viwU", "|FOO bar"),
        ("|Abc", "v$u", "|abc"),
        ("|abc", "vlrx", "|xxc"),
        ("|ab\ncd\nef", "VjJ", "ab| cd\nef"),
        ("|ab\ncd", "Vj>", "    |ab\n    cd"),
        ("a|bcd", "vlohd", "|d"),
        ("|abc def", "vee^x", "abc d|e"),
        ("|ab", "vVd", "|"),
        ("f(|a)", "vi(d", "f(|)"),
        ("|你好👍🏽吗", "vlld", "|吗"),
        ("foo |bar baz x", "vawawd", "foo |x"),
        ("((|ab) c)", "vi(i(d", "(|)"),
        ("a |b\nc", "Vawd", "|a\nc"),
        ("|a\nb\n\nc", "vapd", "|c"),
        ("f {\n  |a\n}", "vi{d", "f {\n|}"),
        ("o|ne\ntwo", "v$d", "o|two"),
        ("|ab\ncd", "yyjvp", "ab\n\n|ab\nd"),
        ("|a b", "ywwvPP", "a aa|  "),
        ("|one\ntwo", "jVky", "|one\ntwo"),
    ],
)  # fmt: skip
def test_a_selection_is_worked_on_as_vim_does(text, keys, after):
    assert after_keys(text, keys) == after


@each_row(
    ("text", "keys", "after"),
    [
        ("|a b c d", "dw.", "|c d"),
        ("|a b c d e", "dw2.", "|d e"),
        ("|foo bar", "cwx^w.", "x |x"),
        ("|ab cd", "iX^w.", "Xab |Xcd"),
        ("|a\nb\nc", "A!^j.", "a!\nb|!\nc"),
        ("|a\nb", "ox^.", "a\nx\n|x\nb"),
        ("|abcdef", "vld.", "|ef"),
        ("|a\nb\nc\nd\ne", "Vjd.", "|e"),
        ("|a\nb\nc", ">>j.", "    a\n    |b\nc"),
        ("|abc", "~.", "AB|c"),
        ("|xyz", "yl.", "|xyz"),
    ],
)  # fmt: skip
def test_a_dot_does_the_last_change_again(text, keys, after):
    assert after_keys(text, keys) == after


@each_row(
    ("text", "keys", "asked"),
    [
        ("a|b", "u", [("undo", 1)]),
        ("a|b", "3u®", [("undo", 3), ("redo", 1)]),
        ("|a\nb", "k", [("history_previous", 1)]),
        ("a\n|b", "j", [("history_next", 1)]),
        ("|a\nb", "j", []),
        ("|a", "5j", []),
        ("|a", "dj", []),
        ("|a", "vj", []),
    ],
)  # fmt: skip
def test_what_is_not_vims_to_do_is_asked_for(text, keys, asked):
    assert Owner(text).press(keys).asked == asked


def test_while_text_is_typed_only_escape_is_vims():
    owner = Owner("|ab")
    owner.press("i")
    assert owner.vim.mode == "insert"
    assert [owner.vim.press(key, "ab", 0, 0) for key in ("d", "ctrl+r", "up")] == [None] * 3
    owner.press("^")
    assert owner.vim.mode == "normal"
    assert owner.vim.press("escape", "ab", 0, 0) is None, "it is the program's then"


def test_escape_gives_up_a_command_that_is_not_whole_and_a_selection():
    owner = Owner("|ab cd").press("2d")
    assert owner.vim.pending == "2d"
    assert owner.press("^w").marked == "ab |cd"
    owner.press("v^")
    assert (owner.vim.mode, owner.anchor) == ("normal", owner.caret)


def test_what_a_mouse_has_selected_is_a_selection():
    owner = Owner("ab|cdef")
    owner.anchor, owner.caret = 1, 4
    assert owner.press("d").marked == "a|ef"
    owner = Owner("ab|cdef")
    owner.anchor, owner.caret = 4, 1
    assert owner.press("d").marked == "a|ef"


def test_a_selection_shows_what_is_under_both_its_ends_and_whole_lines_when_it_is_of_lines():
    owner = Owner("abc|def").press("vhh")
    assert (owner.anchor, owner.caret) == (4, 1)
    owner = Owner("ab|c\ndef\ng").press("Vj")
    assert (owner.anchor, owner.caret) == (0, 7)
    assert owner.press("k").vim.mode == "visual line"
    assert (owner.anchor, owner.caret) == (0, 3)


def test_no_keys_leave_the_caret_within_a_character():
    text = f"你e\u0301👨‍👩‍👧 {CHIP}\n🇩🇪🇫🇷b"
    edges = {0}
    while (end := after(text, max(edges))) < len(text):
        edges.add(end)
    owner = Owner("|" + text)
    for key in "llllljhhhkwbeE0$wwbbGgg":
        owner.press(key)
        assert owner.caret in edges, (key, owner.caret)
