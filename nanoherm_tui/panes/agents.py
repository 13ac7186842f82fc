"""The dock's tab of tasks shows sub-agents too: the list of them, and what one has said and done, as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.rows import BLANK, Row, Span
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, duration, one_line, wrap
from nanoherm_tui.transcript.outcomes import in_words

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow
    from agent_core.messages import Message

_TIME: Final = 8  # cells of how long it has run, as on a tool card
_MARK: Final = 2  # cells of the state's symbol and the blank behind it
_ROOM_FOR_COUNTS: Final = 48  # cells from which on steps and tokens stand in the row
_AT_WORK: Final = ("waiting", "running")


def at_work(agent: AgentRow) -> bool:
    """It has not ended."""
    return agent.state in _AT_WORK


def count_at_work(agents: Iterable[AgentRow]) -> int:
    """How many have not ended."""
    return sum(map(at_work, agents))


# -- the list -----------------------------------------------------------------------------------------------------


def agent_row(agent: AgentRow, frame: int, now: float, cells: int, key: str = "") -> Row:
    """State, number (what /agents calls it), name and task; how it ended, what it has used, how long it has run."""
    took = duration((agent.ended or now) - agent.started, running=True)
    right = [Span(took.rjust(_TIME), "muted")]
    if cells >= _ROOM_FOR_COUNTS and agent.steps:
        right.insert(0, Span(f"  {_used(agent)}", "muted"))
    if agent.state in ("waiting", "failed", "interrupted"):
        colour = "fail" if agent.state == "failed" else "muted"
        right.insert(0, Span(t(f"agents.{agent.state}"), colour))
    number, name = agent.id.rpartition("-")[2], one_line(agent.name)
    left = (
        _mark(agent, frame),
        Span(f" {number} ", "muted"),
        Span(name, bold=True),
        Span(f" {one_line(agent.task)}"),
    )
    return Row(left, tuple(right), key=key)


def agent_rows(agents: Sequence[AgentRow], prefix: str, frame: int, now: float, cells: int) -> list[Row]:
    """The newest first; below one that runs what it does, below another the beginning of what it came to."""
    rows: list[Row] = []
    for agent in reversed(agents):
        rows.append(agent_row(agent, frame, now, cells, f"{prefix}{agent.id}"))
        below = agent.doing if at_work(agent) else agent.preview
        if words := one_line(below):
            rows.append(Row((Span(" " * _MARK), Span(words, "muted")), margin=_MARK))
    return rows


def plain_agents(agents: Sequence[AgentRow], now: float) -> str:
    """The list as text."""
    return "".join(
        f"{agent_row(agent, 0, now, _ROOM_FOR_COUNTS).text}\t{t(f'agents.{agent.state}')}\t{one_line(agent.preview)}\n"
        for agent in reversed(agents)
    )


def _used(agent: AgentRow) -> str:
    steps = t("agents.step") if agent.steps == 1 else t("agents.steps", n=agent.steps)
    return f"{steps} {_thousands(agent.tokens)}" if agent.tokens else steps


def _thousands(count: int) -> str:
    return str(count) if count < 1_000 else f"{count / 1_000:.1f}k" if count < 100_000 else f"{count // 1_000}k"


def _mark(agent: AgentRow, frame: int) -> Span:
    if agent.state == "running":
        return Span(sym("running", frame), "accent", bold=True, mark=True)
    if agent.state == "waiting":
        return Span(sym("waiting"), "muted", bold=True, mark=True)
    if agent.state == "done":
        return Span(sym("done"), "ok", bold=True, mark=True)
    return Span(sym("failed"), "fail" if agent.state == "failed" else "muted", bold=True, mark=True)


# -- one of them --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """Something that it was told, said or did."""

    kind: Literal["told", "said", "call"]
    text: str
    """Of a call its tool and subject."""
    ok: bool | None = None
    """Of a call; None: it has no result yet."""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What is shown of one sub-agent."""

    agent_id: str
    lines: tuple[Line, ...] = ()
    earlier: int = 0
    """Messages before them that are not shown."""
    problem: str = ""
    """Why it could not be read."""


def lines_of(messages: Sequence[Message]) -> tuple[Line, ...]:
    """What stored messages come to."""
    from nanoherm_tui.transcript.model import default_subject

    results = {message.result.call_id: message.result for message in messages if message.result is not None}
    lines: list[Line] = []
    for message in messages:
        if message.role == "user" and message.origin != "note":
            lines.append(Line("told", message.text))
        elif message.role == "assistant":
            if message.text.strip():
                lines.append(Line("said", message.text))
            for call in message.tool_calls:
                result = results.get(call.id)
                ok = None if result is None else result.ok
                outcome = "" if result is None else result.outcome
                lines.append(Line("call", f"{call.name} {default_subject(call)}".strip(), ok, outcome))
    return tuple(lines)


def account_rows(account: Account, cells: int, frame: int) -> list[Row]:
    """All of it, wrapped; a blank between what was said and what was done."""
    room, rows = max(cells - _MARK, 1), list[Row]()
    if account.earlier:
        rows.append(Row((Span(f"{sym('cut')} {t('agents.earlier', n=account.earlier)}", "muted"),)))
    before = ""
    for line in account.lines:
        if rows and (line.kind != "call" or before != "call"):
            rows.append(BLANK)
        rows += [_call_row(line, frame)] if line.kind == "call" else _text_rows(line, room)
        before = line.kind
    if account.problem:
        rows += [Row((Span(words, "fail"),)) for words in wrap(account.problem, max(cells, 1))]
    elif not account.lines:
        rows.append(Row((Span(t("agents.nothing_yet"), "muted"),)))
    return rows


def _call_row(line: Line, frame: int) -> Row:
    if line.ok is None:
        mark = Span(sym("running", frame), "accent", bold=True, mark=True)
    else:
        mark = Span(sym("done" if line.ok else "failed"), "ok" if line.ok else "fail", bold=True, mark=True)
    right = (Span(in_words(one_line(line.outcome)), "muted" if line.ok else "fail"),) if line.outcome else ()
    return Row((mark, Span(" "), Span(one_line(line.text), "muted")), right, margin=_MARK)


def _text_rows(line: Line, room: int) -> list[Row]:
    is_told = line.kind == "told"
    rows = []
    for number, words in enumerate(wrap(clean(line.text).strip(), room)):
        head = Span(f"{sym('prompt')} ", "accent", bold=True) if is_told and not number else Span(" " * _MARK)
        rows.append(Row((head, Span(words, bold=is_told)), margin=_MARK))
    return rows


def plain_account(account: Account) -> str:
    """All of it as text."""
    return "".join(f"{clean(line.text)}\n" for line in account.lines)
