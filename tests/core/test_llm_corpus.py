"""The recorded and made-up servers of the wire corpus, each a case; and that how a reply is cut makes no difference."""

from __future__ import annotations

import base64
import json
import random
import re
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_core.errors import ProviderError
from agent_core.llm.assemble import ReplyBuilder
from agent_core.llm.body import BodyReader
from agent_core.ports.model import LlmReply
from tests.corpus import llm, runner
from tests.rows import each_row

DATA = Path(__file__).parents[1] / "data"
FOLDERS = {
    folder: {row["id"]: row for row in runner.load(folder)}
    for folder in (DATA / "corpora" / "llm", DATA / "wire_cases")
}
"""The corpus, and more cases of its kinds in its format."""
ROWS = {name: row for rows in FOLDERS.values() for name, row in rows.items()}
TOOLS = {name: {"type": "object"} for name in ("read_file", "write_file", "run_command", "list_dir", "get_time")}


@pytest.fixture(scope="module")
def verdicts():
    """Every case at once: most of the time of a case is waiting."""
    with ExitStack() as stack:
        checks = {folder: stack.enter_context(llm.opened(folder, as_root=False)) for folder in FOLDERS}
        pool = stack.enter_context(ThreadPoolExecutor(24))
        cases = [(checks[folder], row) for folder, rows in FOLDERS.items() for row in rows.values()]
        slow_first = sorted(cases, key=lambda case: "min_read_timeout_s" not in case[1])
        yield {row["id"]: pool.submit(check, row) for check, row in slow_first}


def test_no_case_hides_another():
    assert len(ROWS) == sum(map(len, FOLDERS.values()))


@each_row("case", ROWS)
def test_a_server_is_understood(case: str, verdicts: dict[str, Future[str]]):
    assert verdicts[case].result() == ""


def test_the_adapter_notices_a_wrong_answer():
    row = {**ROWS["sse-baseline"], "expected": {**ROWS["sse-baseline"]["expected"], "text": "Goodbye"}}
    with llm.opened(DATA / "corpora" / "llm", as_root=False) as check:
        assert "Hello world" in check(row)


def body_of(row: dict[str, Any]) -> bytes:
    """The whole body, or b"" for a case that is about more than bytes."""
    chunks = row.get("http", {}).get("chunks", ())
    if row.get("rules") or row["http"].get("status", 200) != 200 or any("disconnect" in c for c in chunks):
        return b""
    return b"".join(
        base64.b64decode(c["b64"]) if "b64" in c else c.get("text", "").encode("utf-8", "surrogatepass") for c in chunks
    )


def outcome(pieces: list[bytes]) -> Any:
    builder = ReplyBuilder("Server", TOOLS)
    reader = BodyReader(builder, "Server")
    shown = ""
    try:
        for piece in pieces:
            shown += "".join(d.text for d in reader.feed(piece) if d.kind == "text")
        shown += "".join(d.text for d in reader.end() if d.kind == "text")
        reader.check_end()
        reply = builder.finish()
    except ProviderError as error:
        return error.kind, str(error), builder.partial_text
    return reply_key(reply), shown + builder.late


def reply_key(reply: LlmReply) -> Any:
    """The reply without what is made up anew each time: ids the server did not give."""
    made_up = re.compile(r"call_[0-9a-f]{24}")
    calls = [(made_up.sub("", c.id), c.name, c.arguments, c.arguments_error) for c in reply.tool_calls]
    return reply.text, reply.reasoning, calls, reply.usage, reply.finish, reply.extra, reply.dropped_tool_calls


BODIES = {name: body for name, row in ROWS.items() if "http" in row and 0 < len(body := body_of(row)) < 20_000}


@each_row("case", BODIES)
def test_any_cut_of_a_reply_gives_the_same_reply(case: str):
    body = BODIES[case]
    whole = outcome([body])
    chance = random.Random(case)
    for _ in range(3):
        cuts = sorted(chance.randrange(len(body) + 1) for _ in range(chance.randrange(1, 12)))
        assert outcome([body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]) == whole
    if len(body) < 3000:
        assert outcome([bytes([b]) for b in body]) == whole


ODD = [
    None,
    0,
    -1,
    True,
    "",
    "x",
    "\ud800",
    "null",
    10**30,
    10**400,
    1e308,
    [],
    {},
    [1],
    [None],
    {"a": 1},
    {"text": 5},
    {"function": 1},
]


def spoilt(value: Any, chance: random.Random) -> Any:
    """`value` with some of what is in it replaced by what nobody expects there."""
    if chance.random() < 0.04:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {k: spoilt(v, chance) for k, v in value.items()}
    return [spoilt(v, chance) for v in value] if isinstance(value, list) else value


def spoilt_line(line: bytes, chance: random.Random) -> bytes:
    prefix = b"data: " if line.startswith(b"data: ") else b""
    try:
        return prefix + json.dumps(spoilt(json.loads(line[len(prefix) :]), chance)).encode()
    except ValueError:
        return line


@each_row("seed", range(20))
def test_whatever_comes_there_is_a_reply_or_an_explained_error_and_all_of_it_can_be_written(seed: int):
    chance = random.Random(seed)
    for _ in range(20):
        body = b"\n".join(spoilt_line(line, chance) for line in BODIES[chance.choice(list(BODIES))].split(b"\n"))
        if chance.random() < 0.3:
            at = chance.randrange(len(body))
            body = body[:at] + bytes([chance.randrange(256)]) + body[at + chance.randrange(9) :]
        json.dumps(outcome([body]), ensure_ascii=False, default=str, allow_nan=False).encode()
