from agent_core import limits
from agent_core.mind.schedule import groups
from agent_core.ports.actions import Effect
from tests.rows import each_row

R = lambda *paths: Effect("read", paths)  # noqa: E731
W = lambda *paths: Effect("write", paths)  # noqa: E731
C = Effect("command")
P = Effect("person")
N = Effect("none")

CASES = {
    "nothing": ([], []),
    "one": ([C], [[0]]),
    "reads go together": ([R("a"), R("b"), R("a")], [[0, 1, 2]]),
    "writes to different files go together": ([W("a"), W("b")], [[0, 1]]),
    "writes to one file go in call order": ([W("a"), W("a"), W("a")], [[0], [1], [2]]),
    "a read waits for the write before it": ([W("a"), R("a")], [[0], [1]]),
    "another spelling of the path is the same path": ([W("a"), R("./a")], [[0], [1]]),
    "a folder overlaps what is in it": ([W("src/a.py"), R("src")], [[0], [1]]),
    "the whole workspace overlaps everything": ([R("."), W("src/a.py")], [[0], [1]]),
    "a longer name is not a folder of it": ([W("src"), R("src2/a")], [[0, 1]]),
    "commands and questions go alone": ([R("a"), C, R("b"), P, R("c")], [[0], [1], [2], [3], [4]]),
    "the todo list runs beside anything": ([N, R("a"), W("b")], [[0, 1, 2]]),
}


@each_row("name", CASES)
def test_calls_are_grouped(name):
    effects, expected = CASES[name]
    assert groups(effects) == expected


def test_a_group_is_no_larger_than_the_worker_cap():
    assert [len(run) for run in groups([R(str(i)) for i in range(20)])] == [
        limits.BATCH_WORKERS, limits.BATCH_WORKERS, 20 - 2 * limits.BATCH_WORKERS
    ]  # fmt: skip
