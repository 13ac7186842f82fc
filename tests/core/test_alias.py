"""Names of Hermes' tools, with arguments as its models send them: which tool is meant, and that they fit it."""

from agent_core import names
from agent_core.names import TOOL_ALIASES
from agent_core.text.coerce import coerce
from agent_core.tools.alias import meant
from agent_core.tools.builtin import builtin_tools
from agent_core.tools.toolbox import toolbox_of
from tests.rows import each_row

TOOLS = toolbox_of(builtin_tools())
OF_EXTRAS = {names.MEMORY_SAVE, names.SUBAGENT, names.AGENT_LIST, names.DELEGATE_TASK, names.SKILL}


@each_row(
    ("name", "arguments", "tool"),
    [
        ("terminal", {"command": "ls", "timeout": 5, "workdir": "src"}, "run_command"),
        ("process", {"action": "list"}, "task_list"),
        ("process", {}, "task_list"),
        ("process", {"action": "poll", "session_id": "t1"}, "task_output"),
        ("process", {"action": "log", "session_id": "t1", "offset": 0, "limit": 200}, "task_output"),
        ("process", {"session_id": "t1"}, "task_output"),
        ("process_manage", {"action": "kill", "session_id": "t1"}, "task_kill"),
        ("process", {"command": "make serve"}, "task_start"),
        ("patch", {"mode": "replace", "path": "a", "old_string": "x", "new_string": "y"}, "edit_file"),
        ("patch", {"path": "a", "old_string": "x", "new_string": "y", "replace_all": True}, "edit_file"),
        ("patch", {"mode": "patch", "patch": "*** Begin Patch"}, "apply_patch"),
        ("patch", {"patch": "*** Begin Patch"}, "apply_patch"),
        ("search_files", {"pattern": "def f", "path": "src", "file_glob": "*.py"}, "grep"),
        ("search_files", {"pattern": "x", "target": "content"}, "grep"),
        ("search_files", {"pattern": "*.py", "target": "files"}, "glob"),
        ("todo", {"todos": [{"content": "a", "status": "pending"}]}, "todo_write"),
        ("todo_list", {}, "todo_read"),
        ("web_extract", {"urls": ["https://example.org"]}, "web_fetch"),
        ("clarify", {"question": "Which?", "choices": ["a", "b"]}, "ask_user"),
        ("search_files", {"pattern": "x", "target": ["files"]}, "grep"),
    ],
)
def test_a_call_by_another_name_means_the_tool_that_its_arguments_are_for(name, arguments, tool):
    found = meant(name, arguments, TOOLS)
    assert found is not None
    assert found.name == tool
    assert coerce(arguments, found.parameters)[1] == ()


def test_every_alias_leads_to_tools_that_are_there():
    named = {target for targets in TOOL_ALIASES.values() for target in targets}
    assert named <= {*TOOLS, *OF_EXTRAS}
    assert all(meant(name, {}, TOOLS) is not None for name, targets in TOOL_ALIASES.items() if {*targets} & {*TOOLS})


def test_what_is_named_but_not_here_is_not_meant():
    assert meant("process", {"action": "kill"}, {"task_list": TOOLS["task_list"]}) is TOOLS["task_list"]
    assert meant("process", {"action": "kill"}, {}) is None
    assert meant("read_file", {}, TOOLS) is None
