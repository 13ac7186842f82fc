"""Names that no tool has: which tool is meant, and when none is."""

from agent_core.tools.misnamed import near, same_but_for_style
from tests.rows import each_row

TOOLS = ("read_file", "write_file", "edit_file", "list_dir", "grep", "glob", "run_command", "todo_write", "todo_read",
         "ask_user", "terminal", "patch", "search_files")  # fmt: skip


@each_row(
    ("name", "meant"),
    [
        ("Read_File", "read_file"),
        ("readFile", "read_file"),
        ("ReadFile", "read_file"),
        ("read-file", "read_file"),
        ("read file", "read_file"),
        ("read.file", "read_file"),
        ("functions.read_file", "read_file"),
        ("default_api.read_file", "read_file"),
        ("functions:run_command", "run_command"),
        ("tools/grep", "grep"),
        ("mcp__files__read_file", "read_file"),
        ("multi_tool_use.functions.grep", "grep"),
        ("read_file_tool", "read_file"),
        ("ReadFileTool", "read_file"),
        ("functions.GrepTool", "grep"),
        ("read_file()", "read_file"),
        ("read_file<|channel|>commentary", "read_file"),
        ("  glob ", "glob"),
        ("Terminal", "terminal"),
        ("no_such_tool", ""),
        ("", ""),
        ("tool", ""),
        ("...", ""),
        ("functions.", ""),
        ("\ud83d", ""),
        ("write", ""),
        ("x" * 100_000, ""),
    ],
)
def test_the_same_name_in_another_style(name, meant):
    assert same_but_for_style(name, TOOLS) == meant


def test_two_tools_that_differ_in_style_only_are_not_guessed_between():
    assert same_but_for_style("ReadFile", ("read_file", "readfile")) == ""


@each_row(
    ("name", "meant"),
    [
        ("read_fil", "read_file"),
        ("run_comand", "run_command"),
        ("functions.run_comand", "run_command"),
        ("read_files", "read_file"),
        ("todo_rite", "todo_write"),
        ("file", ""),
        ("delete_file", ""),
        ("execute", ""),
        ("todo", ""),
    ],
)
def test_a_misspelling_is_taken_for_the_only_name_near_it(name, meant):
    assert near(name, TOOLS) == meant
