"""Turns that go in circles: what is warned about, what is blocked, what ends a turn."""

from dataclasses import replace

from agent_core import limits
from agent_core.messages import ToolCall, ToolResult
from agent_core.mind import guard
from agent_core.mind.guard import GuardRules
from tests.rows import each_row

HARD = GuardRules(hard_stop=True)


def observed(steps, rules=guard.USUAL):
    """Takes (tool, arguments, ok, text[, progress]) in; gives the history and what was found after each."""
    history, found = (), []
    for tool, arguments, ok, text, *progress in steps:
        call, result = ToolCall("c", tool, arguments), ToolResult("c", tool, text, ok)
        history = guard.observe(history, call, tool, result, bool(progress and progress[0]))
        found.append(guard.look(history, rules))
    return history, found


def rules_of(found):
    return ["" if one is None else one.rule.removeprefix("loop_") for one in found]


def fails(tool="edit_file", n=1, **arguments):
    return [(tool, arguments or {"path": "a"}, False, f"no match {i}") for i in range(n)]


WORKS = ("write_file", {"path": "b"}, True, "written", True)

CASES = {
    "one failure is no loop": (fails(), [""]),
    "the same arguments fail twice": (fails(n=3), ["", "same_call", "same_call"]),
    "arguments in another order are the same": (
        [("t", {"a": 1, "b": 2}, False, "x"), ("t", {"b": 2, "a": 1}, False, "y")], ["", "same_call"]
    ),
    "a tool fails however it is called": (
        [*fails(path="a"), *fails(path="b"), *fails(path="c")], ["", "", "same_tool"]
    ),
    "another tool's failures are not added": ([*fails("t", path="a"), *fails("u", path="b"), *fails("t", path="c")],
                                              ["", "", ""]),
    "once it works the count begins anew": (
        [*fails(), ("edit_file", {"path": "a"}, True, "done"), *fails(n=2)], ["", "", "", "same_call"]
    ),
    "after a change what failed is worth another try": ([*fails(), WORKS, *fails(), WORKS, *fails()], [""] * 5),
    "a change that failed is no progress": (
        [*fails(), ("write_file", {"path": "b"}, False, "refused", True), *fails()], ["", "", "same_call"]
    ),
    "a busy server is no failure of the call": (
        [("web_fetch", {"url": "u"}, False, "HTTP 429 Too Many Requests")] * 4, [""] * 4
    ),
    "the same result three times in a row": (
        [("read_file", {"path": "a"}, True, "text")] * 4, ["", "", "repeated", "repeated"]
    ),
    "another result is no repetition": ([("task", {}, True, str(i)) for i in range(9)], [""] * 9),
    "a command takes another time each time": (
        [("run_command", {"command": "x"}, True, f"exit code 0 (0.{i} s)\nsame") for i in range(3)],
        ["", "", "repeated"],
    ),
    "a round of two, three times": (
        [("a", {}, True, "1"), ("b", {}, True, "2")] * 3, ["", "", "", "", "", "cycle"]
    ),
    "a round of four, three times": ([(t, {}, True, t) for t in "abcd"] * 3, [""] * 11 + ["cycle"]),
    "a round of five is not looked for": ([(t, {}, True, t) for t in "abcde"] * 4, [""] * 20),
}  # fmt: skip


@each_row("name", CASES)
def test_what_is_noticed(name):
    steps, expected = CASES[name]
    assert rules_of(observed(steps)[1]) == expected


def test_the_figures_are_those_of_the_rule():
    assert (HARD.warn_same_call, HARD.block_same_call, HARD.warn_same_tool, HARD.halt_same_tool) == (2, 5, 3, 8)
    assert (limits.GUARD_REPEATS, limits.GUARD_PERIOD, limits.GUARD_WINDOW) == (3, 4, 64)


def test_a_person_is_told_once_and_the_model_each_time():
    found = observed(fails(n=4))[1]
    assert [one is not None and one.new for one in found] == [False, True, False, False]
    assert all(str(one.count) in one.text and str(one.count) in one.told for one in found[1:])


def test_the_fifth_failure_blocks_the_call_and_the_eighth_ends_the_turn():
    for n in range(1, 10):
        history = observed(fails(n=n))[0]
        same = ToolCall("c", "edit_file", {"path": "a"})
        assert bool(guard.blocked(history, "edit_file", same, HARD)) == (n >= 5), n
        assert not guard.blocked(history, "edit_file", replace(same, arguments={"path": "b"}), HARD)
        assert (guard.halt(history, HARD) is not None) == (n >= 8), n


def test_where_a_person_watches_nothing_is_blocked_and_no_turn_is_ended():
    history = observed(fails(n=20))[0]
    assert guard.blocked(history, "edit_file", ToolCall("c", "edit_file", {"path": "a"}), GuardRules()) == ""
    assert guard.halt(history, GuardRules()) is None


@each_row("tool", ["run_command", "web_fetch", "execute_code", "process", "browser_navigate", "terminal"])
def test_tools_that_may_fail_for_good_reason_are_only_warned_about(tool):
    history, found = observed(fails(tool, n=20))
    assert guard.blocked(history, tool, ToolCall("c", tool, {"path": "a"}), HARD) == ""
    assert guard.halt(history, HARD) is None
    assert found[-1].rule == "loop_same_call"


def test_only_the_last_64_calls_are_looked_back_on():
    long_ago = fails(n=4)
    since = [("glob", {"pattern": str(i)}, True, str(i)) for i in range(61)]
    history = observed([*long_ago, *since])[0]
    assert len(history) == 64
    found = observed([*long_ago, *since, *fails()])[1][-1]
    assert found.count == 3, "two of the four are beyond the window, and one is new"


def test_warnings_can_be_switched_off():
    assert rules_of(observed(fails(n=9), GuardRules(warnings=False))[1]) == [""] * 9


def test_a_stop_is_no_failure():
    call = ToolCall("c", "t", {})
    for outcome in ("stopped", "not started", "abandoned"):
        assert guard.observe((), call, "t", ToolResult("c", "t", "x", False, outcome=outcome), False) == ()


def test_a_remark_fits_into_the_bound_of_the_result():
    result = guard.remark(ToolResult("c", "t", "中" * 20_000), "words", limits.TOOL_RESULT)
    assert len(result.text.encode()) <= limits.TOOL_RESULT
    assert result.text.endswith("\n[words]")
