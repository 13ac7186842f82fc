"""The demo's script decides from what it sees: every way through it ends in words that are true."""

from agent_core.demo.script import CART, FAULT, REPAIR, TEST_COMMAND, next_reply, words_in
from agent_core.names import SHELL_END, SHELL_HEAD
from tests.rows import each_row

EN = words_in("en")
FAULTY = "   1\tdef total(cart):\n" + FAULT
REPAIRED = "   1\tdef total(cart):\n" + REPAIR
FAIL = "exit code 1\nFAILED (failures=1)"
OK = "exit code 0\nRan 6 tests\n\nOK"
REFUSED = "The user refused this call. It was not run."


def play(answers, prompt="fix the failing test", beside=""):
    """Let the script run against `answers`: tool name → list of results, used in turn. Returns (replies, calls).

    `beside` is what the person sends after every step.
    """
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": prompt}]
    left = {name: list(results) for name, results in answers.items()}
    replies, calls = [], []
    for _ in range(12):
        say = next_reply(messages)
        replies.append(say)
        if not say.calls:
            return replies, calls
        ids = [f"c{len(messages)}_{i}" for i in range(len(say.calls))]
        made = [{"id": i, "name": n, "arguments": a} for i, (n, a) in zip(ids, say.calls, strict=True)]
        messages.append({"role": "assistant", "content": say.text, "calls": made})
        for call in made:
            calls.append((call["name"], call["arguments"]))
            results = left.get(call["name"], ["ok"])
            result = results.pop(0) if len(results) > 1 else results[0]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if beside:
            messages.append({"role": "user", "content": beside})
    raise AssertionError("the script does not end")


def test_the_whole_way_reads_fails_edits_and_verifies():
    replies, calls = play(
        {"read_file": [FAULTY, "tests"], "run_command": [FAIL, OK], "edit_file": ["Edited shop/cart.py"]}
    )
    assert replies[-1].text == EN["done"]
    assert [n for n, _ in calls if n != "todo_write"] == [
        "read_file",
        "read_file",
        "run_command",
        "edit_file",
        "run_command",
    ]
    assert ("run_command", {"command": TEST_COMMAND}) in calls
    plans = [[i["status"] for i in a["items"]] for n, a in calls if n == "todo_write"]
    assert plans[0][0] == "in_progress"
    assert plans[-1] == ["completed"] * 4


def test_what_a_command_of_the_person_gave_is_no_new_prompt():
    answers = {"read_file": [FAULTY, "tests"], "run_command": [FAIL, OK], "edit_file": ["Edited shop/cart.py"]}
    command = f"{SHELL_HEAD}\n$ ls\nexit code 0\nREADME.md\n{SHELL_END}"
    alone, _ = play(answers)
    assert play(answers, beside=command)[0] == alone
    assert play(answers, prompt=f"{command}\n\nfix the failing test")[0] == alone
    assert play(answers, prompt=command, beside=command)[0][0].text == EN["about"]


WAYS = {
    "edit refused": ({"read_file": [FAULTY], "run_command": [FAIL], "edit_file": [REFUSED]}, "edit_refused"),
    "nobody there": (
        {"read_file": [FAULTY], "run_command": [FAIL], "edit_file": ["Refused (mode ask): nobody is there"]},
        "edit_unattended",
    ),
    "edit failed": ({"read_file": [FAULTY], "run_command": [FAIL], "edit_file": ["no match"]}, "edit_failed"),
    "second run refused": (
        {"read_file": [FAULTY], "run_command": [FAIL, REFUSED], "edit_file": ["Edited"]}, "done_unverified"),
    "still failing": ({"read_file": [FAULTY], "run_command": [FAIL, FAIL], "edit_file": ["Edited"]}, "still_failing"),
    "another file": ({"read_file": ["def total(): pass"], "run_command": [FAIL]}, "changed"),
    "no sample": ({"read_file": ["No such file"]}, "no_sample"),
}  # fmt: skip


@each_row("name", WAYS)
def test_other_ways_end_in_the_words_that_fit(name):
    answers, key = WAYS[name]
    replies, _ = play(answers)
    assert replies[-1].text == EN[key]


def test_with_the_sample_repaired_it_changes_nothing():
    replies, calls = play({"read_file": [REPAIRED], "run_command": [OK]})
    assert replies[-1].text == EN["already"].format(tests=EN["already_tests"])
    assert not [n for n, _ in calls if n == "edit_file"]


def test_with_the_first_run_refused_it_says_that_it_goes_by_the_code():
    replies, _ = play({"read_file": [FAULTY], "run_command": [REFUSED, OK], "edit_file": ["Edited"]})
    assert any(r.text == EN["found_unrun"] for r in replies)
    assert replies[-1].text == EN["done"]


def test_it_says_what_it_is_when_asked_for_anything_else():
    replies, calls = play({}, "write me a compiler")
    assert "not an AI" in replies[-1].text
    assert calls == []


def test_it_answers_in_the_language_of_the_prompt():
    replies, _ = play({"read_file": ["没有"]}, "修好失败的测试")
    assert replies[-1].text == words_in("zh")["no_sample"]


def test_both_languages_have_the_same_words():
    assert words_in("zh").keys() == EN.keys()


def test_the_fault_is_in_the_sample_exactly_once():
    from importlib import resources

    cart = resources.files("agent_core.demo").joinpath("sample", CART).read_text("utf-8")
    assert cart.count(FAULT) == 1
