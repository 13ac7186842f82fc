"""Results that are too long lie in a file: the message keeps a block, and the model reads the rest back."""

import re

import pytest

from agent_core import events, limits, spill
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.tools import Prepared, ResultBounds, Tool, ToolOutput
from agent_core.spill import HERMES, NANO, Results, find_note, read_all
from agent_core.tools.builtin import builtin_tools
from tests.core.session_support import call, say
from tests.core.tool_support import call as call_tool
from tests.core.tool_support import context

BLOCK = re.compile(r'^<persisted-output path="(/.*/spill/([^/"]+))" bytes="(\d+)"( kept="\d+")?>\n')


def gives(text, name="give"):
    def prepare(args, ctx):
        return Prepared(NoAction(), lambda box: ToolOutput(text))

    schema = {"type": "object", "properties": {}, "required": []}
    return Tool(name, "gives", schema, lambda args: Effect("read"), lambda args: "", prepare)


LONG = "".join(f"line {n} 中文\n" for n in range(5_000))


def last_results(t):
    return [m.result for m in t.model.requests[-1].messages if m.role == "tool"]


def test_any_tools_long_result_is_kept_in_a_file_that_the_model_reads_without_being_asked(table):
    def look(request, sink, cancel):
        path = BLOCK.match(request.messages[-1].text)[1]
        return call(("read_file", {"path": path, "offset": 2_501, "limit": 1}),
                    ("grep", {"path": path, "pattern": "line 4999"}))  # fmt: skip

    t = table(call(("give", {})), look, say("ok"), tools=(*builtin_tools(), gives(LONG)))
    assert t.turn("go").outcome == "completed"
    given, read, found = last_results(t)
    block = BLOCK.match(given.text)
    assert int(block[3]) == len(LONG.encode())
    assert block[4] is None
    assert len(given.text.encode()) <= limits.TOOL_RESULT
    assert "\nline 0 中文\n" in given.text
    assert given.text.endswith("\nline 4999 中文\n\n</persisted-output>")
    assert f"of {len(LONG.encode())} bytes]" in given.text
    assert read.text.startswith("2501\tline 2500")
    assert "line 4999" in found.text
    assert t.of(events.QuestionAsked) == []
    assert read_all(t.services.data_home / spill.FOLDER, find_note(given.text).name) == LONG


def test_what_fits_stays_whole_and_makes_no_file(tmp_path):
    text = "x" * limits.TOOL_RESULT
    assert Results(NANO, tmp_path).fit(text, "give") == text
    assert list(tmp_path.iterdir()) == []


def test_what_read_file_gives_is_only_cut_never_kept_again(tmp_path):
    text = Results(NANO, tmp_path).fit("x" * 50_000, "read_file")
    assert "truncated" in text
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_cannot_take_it_costs_the_file_only(tmp_path):
    (tmp_path / "spill").write_text("no folder")
    text = Results(NANO, tmp_path / "spill").fit(LONG, "give")
    assert len(text.encode()) <= limits.TOOL_RESULT
    assert text.startswith("line 0")


def test_what_is_longer_than_a_file_may_be_says_how_much_was_kept(tmp_path):
    text = Results(NANO, tmp_path).fit("word and word\n" * (limits.SPILL_FILE // 10), "give")
    block = re.match(r'<persisted-output path="[^"]+" bytes="(\d+)" kept="(\d+)">', text)
    assert int(block[1]) == 14 * (limits.SPILL_FILE // 10)
    assert limits.SPILL_FILE - 14 <= int(block[2]) <= limits.SPILL_FILE
    assert find_note(text).cut


@pytest.mark.parametrize("text", ["中" * 9_000, "\ud83d" * 30_000, "a\n" * 20_000, "x" * (limits.TOOL_RESULT + 1)])
def test_no_result_is_larger_than_the_bound(tmp_path, text):
    assert len(Results(NANO, tmp_path).fit(text, "give").encode("utf-8", "surrogatepass")) <= limits.TOOL_RESULT


# -- the profile hermes -------------------------------------------------------------------------------------------


def test_its_figures():
    assert (HERMES.most, HERMES.mcp, HERMES.turn, HERMES.preview) == (100_000, 50_000, 200_000, 1_500)


@pytest.mark.parametrize(
    ("tool", "size", "kept"),
    [
        ("give", 100_000, False),
        ("give", 100_001, True),
        ("mcp_files_read", 50_000, False),
        ("mcp_files_read", 50_001, True),
        ("read_file", 100_000, False),
    ],
)
@pytest.mark.parametrize("letter", ["x", "中"])
def test_one_result_counts_in_characters(tmp_path, tool, size, kept, letter):
    text = Results(HERMES, tmp_path).fit(letter * size, tool)
    assert (text == letter * size) != kept
    if kept:
        inside = text.partition("tail:]\n")[2].removesuffix("\n</persisted-output>")
        assert len(inside) <= 1_500


def test_what_comes_after_200000_characters_of_a_turn_is_previewed(tmp_path):
    results = Results(HERMES, tmp_path)
    shown = [results.fit("x" * 60_000, "give") for _ in range(5)]
    assert [len(text) == 60_000 for text in shown] == [True, True, True, False, False]
    assert results.fit("short", "give") == "short", "no file for what is no longer than its preview"
    assert len(results.fit("y" * 60_000, "read_file")) == 60_000, "it can always be read back"


def test_a_turn_begins_with_all_its_room(table):
    t = table(*[call(("give", {}), ("give", {})), say("ok")] * 2, tools=(*builtin_tools(), gives("x" * 90_000)),
              result_bounds=HERMES)  # fmt: skip
    for count in (1, 2):
        t.turn("go", count=count)
        assert [len(r.text) for r in last_results(t)] == [90_000, 90_000] * count


def test_a_command_in_that_profile_has_more_room_and_then_a_preview(tmp_path):
    ctx = context(tmp_path, bounds=HERMES)
    short = call_tool(ctx, "run_command", command="seq 1 15000").text
    long = call_tool(ctx, "run_command", command="seq 1 60000").text
    assert "\n7000\n" in short
    assert "persisted-output" not in short
    assert "<persisted-output" in long
    assert len(long) < 3_000
    assert "\n1\n2\n" in long
    assert "60000\n" in long


def test_a_remark_of_the_loop_guard_stands_behind_the_block(table):
    t = table(*[call(("give", {}))] * 3, say("ok"), tools=(*builtin_tools(), gives(LONG)))
    t.turn("go")
    # Three files: the names differ, but what came back is the same.
    third = last_results(t)[-1]
    assert len(third.text.encode()) <= limits.TOOL_RESULT
    assert third.text.endswith("go on with what you know.]")
    assert BLOCK.match(third.text)


def test_bounds_count_what_they_say():
    assert ResultBounds(5, 5).size("中文") == 6
    assert ResultBounds(5, 5, characters=True).size("中文") == 2
