"""When a history is compacted, where it is cut, what the summary is made of, and what stands there without one. Pure.

Two profiles (C23): "nano" counts characters and messages, "tokens" goes by the model's window. A known window that is
smaller than the nano bounds counts in both. Source: COMP-01 to COMP-16.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from agent_core import limits
from agent_core.messages import Covered, Message
from agent_core.mind import view
from agent_core.mind.view import Load
from agent_core.ports.means import TodoItem
from agent_core.records import dataclass

Profile = Literal["nano", "tokens"]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings under `compression`."""

    enabled: bool = True
    """Whether it happens by itself; /compact works without."""
    profile: Profile = "nano"
    threshold: float = 0.50
    """The part of the window that is filled before it happens (COMP-09)."""
    target_ratio: float = 0.20
    """The part of that which stays as it is."""
    protect_first: int = 3
    """Messages at the beginning that are kept word for word; profile tokens."""
    protect_last: int = 20
    """Messages at the end that are kept word for word; profile tokens."""
    keep_tokens: int = 20_000
    """The newest messages are kept up to this many tokens, where the window allows; profile tokens."""
    max_attempts: int = 3
    """Compactions in one turn after the server said that a request was too long."""
    keep_on_failure: bool = False
    """Without a summary leave the conversation as it is, where it can go on like that."""
    model: str = ""
    """The model that writes summaries; empty: the session's."""
    provider: str = ""

    @property
    def keep(self) -> int:
        """How many of the newest messages are kept."""
        return limits.KEEP_RECENT if self.profile == "nano" else self.protect_last


# -- when -----------------------------------------------------------------------------------------------------------


def trigger(options: Options, window: int) -> int:
    """Tokens of a window that are filled before a compaction: small windows wait longer (COMP-09)."""
    share = max(options.threshold, limits.SMALL_WINDOW_SHARE) if window < limits.SMALL_WINDOW else options.threshold
    return int(window * share)


def room(options: Options, window: int | None, fixed: int) -> int | None:
    """Tokens a history may fill beside `fixed` ones (prompt, tools); None where the window sets no bound.

    What is fixed may fill the window by itself: no compaction helps then, so none is due.
    """
    if window is None:
        if options.profile == "nano":
            return None
        window = limits.WINDOW_GUESS
    return max(trigger(options, window) - fixed, (window - fixed) // 2) if window > fixed else None


def due(load: Load, options: Options, room: int | None) -> bool:
    """Whether a history of this size is to be compacted before the next request (COMP-06)."""
    if room is not None and load.tokens > room:
        return True
    return options.profile == "nano" and load.chars > limits.CONTEXT_CHARS and load.messages > options.keep + 1


# -- where ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """How a history is to be compacted."""

    older: tuple[Message, ...]
    """What the new summary stands for, from the last one on; never empty."""
    kept: tuple[str, ...]
    """Ids of messages before the cut that requests hold all the same."""
    taken: int
    """How many messages go out of requests."""
    gain: Load
    """By how much a request shrinks, but for the summary's own text."""

    @property
    def through(self) -> str:
        return self.older[-1].id


def find_cut(
    history: Sequence[Message],
    options: Options,
    room: int | None,
    *,
    forced: bool = False,
    most: int | None = None,
    beside: int = 0,
) -> Cut | None:
    """Where to compact a history, or None when that would take out nothing, or too little to be worth it.

    `forced`: the person asks for it, so it is worth it whenever there are enough messages (COMP-05). `most`: tokens
    the kept end may have at most, whatever the profile keeps (after an overflow, of which no window tells). `beside`:
    tokens of the request that no compaction takes out; they too tell how much is worth it.
    """
    summary, begin = view.boundary(history)
    places = [index for index in range(begin, len(history)) if history[index].origin != "summary"]
    live = [history[index] for index in places]
    weights = [view.load((held,)) if (held := view.shown(message)) else Load() for message in live]
    tails = _tails(weights)
    cuts = _legal(live)
    enough = not forced or len(live) + (summary is not None) > options.keep + 1
    start = _keep_by_number(len(live), cuts, options.keep) if enough else 0
    start = _keep_by_size(start, cuts, tails, options, room, most)
    if start <= 0:
        return None
    kept = _kept(history[: places[start]], history[places[start] :], options)
    through = live[start - 1].id
    now, then = view.held(history), view.held([*history, summary_of("", Covered(through, 0, kept))])
    stay = {message.id for message in then}
    taken = sum(message.id not in stay for message in now if message.origin != "summary")
    before, after = view.load(now), view.load(then)
    gain = Load(before.chars - after.chars, before.tokens - after.tokens, before.messages - after.messages)
    if not taken or (not forced and gain.tokens < (before.tokens + beside) * limits.COMPACTION_GAIN):
        return None
    return Cut(tuple(live[:start]), kept, taken, gain)


def summary_of(text: str, covers: Covered) -> Message:
    """The message that stands for a part of the history, at its end."""
    return Message("user", text, origin="summary", covers=covers)


def _tails(weights: Sequence[Load]) -> list[Load]:
    """How much everything from each place on is."""
    tails = [Load()]
    for weight in reversed(weights):
        tails.append(tails[-1] + weight)
    return tails[::-1]


def _legal(messages: Sequence[Message]) -> list[int]:
    """Indices a history may be cut at, ascending: no call on one side has its result on the other (COMP-02)."""
    cuts: list[int] = []
    at = 0
    for group in view.groups(messages):
        if at:
            cuts.append(at)
        at += len(group)
    return cuts


def _keep_by_number(count: int, cuts: Sequence[int], keep: int) -> int:
    """The first legal place with at most `keep` messages behind it; else the last: one reply is longer (COMP-08)."""
    if count <= keep or not cuts:
        return 0
    return next((cut for cut in cuts if cut >= count - keep), cuts[-1])


def _keep_by_size(
    start: int, cuts: Sequence[int], tails: Sequence[Load], options: Options, room: int | None, most: int | None
) -> int:
    """Keep fewer messages where these would fill what was to be made free, more where a profile has room for them."""
    if not cuts:
        return 0
    if options.profile == "nano" and start and tails[start].chars > limits.CONTEXT_CHARS:
        half = limits.CONTEXT_CHARS // 2
        start = next((cut for cut in cuts if cut >= start and tails[cut].chars <= half), cuts[-1])
    bounds = [tokens for tokens in (room // 2 if room is not None else None, most) if tokens is not None]
    if bounds and tails[start].tokens > min(bounds):
        return next((cut for cut in cuts if cut >= start and tails[cut].tokens <= min(bounds)), cuts[-1])
    if options.profile == "tokens" and room is not None and start:
        wanted = min(max(options.keep_tokens, int(room * options.target_ratio)), *bounds)
        start = next((cut for cut in cuts if cut < start and tails[cut].tokens <= wanted), start)
    return start


def _kept(before: Sequence[Message], behind: Sequence[Message], options: Options) -> tuple[str, ...]:
    """Ids of what is kept word for word of what comes before the cut: what the person asked last, unless it is behind.

    In a long turn that was long ago; what they said while it ran belongs to it.
    """
    kept: list[str] = []
    if options.profile == "tokens":
        told = [message for message in before if message.origin != "summary" and view.shown(message) is not None]
        for group in view.groups(told):
            if len(kept) + len(group) > options.protect_first:
                break
            kept += [message.id for message in group]
    if not any(map(_is_asked, behind)):
        last = next((i for i in range(len(before) - 1, -1, -1) if _is_asked(before[i])), None)
        if last is not None:
            said = (m for m in before[last:] if m.role == "user" and m.origin in ("", "queue", "steer"))
            kept += [m.id for m in said if m.id not in kept]
    return tuple(kept)


# -- what is summarised ---------------------------------------------------------------------------------------------


def to_summarise(cut: Cut, earlier: str, focus: str, chars: int) -> str:
    """The conversation as text for the one who summarises it, fenced, about `chars` characters at most."""
    parts = [_written(message) for message in cut.older if not (message.shell and message.shell.private)]
    share = max(limits.SUMMARY_LEAST, min(limits.SUMMARY_MESSAGE, 2 * chars // max(len(parts), 1)))
    parts = [_shortened(part, share) for part in parts]
    if earlier:
        parts.insert(0, f"[The record of what came before]\n{_shortened(earlier, limits.SUMMARY_TEXT)}")
    size = sum(map(len, parts))
    if size > chars:
        # The beginning says what is wanted and the end where it stands; what is between gives way.
        head, tail = _fitting(parts, chars // 4), _fitting(parts[::-1], chars - chars // 4)
        left_out = len(parts) - head - tail
        parts = [*parts[:head], f"[{left_out} messages left out]", *parts[len(parts) - tail :]]
    text = _FENCE.sub("(conversation)", "\n\n".join(parts))
    wish = f"\n\nKeep above all what has to do with: {focus}" if focus else ""
    return f"<conversation>\n{text}\n</conversation>\n\nWrite the record now.{wish}"


_FENCE: Final = re.compile(r"</?\s*conversation\s*>", re.IGNORECASE)


def _fitting(parts: Sequence[str], chars: int) -> int:
    """How many of the first parts have together at most `chars` characters."""
    for count, part in enumerate(parts):
        chars -= len(part)
        if chars < 0:
            return count
    return len(parts)


def _is_asked(message: Message) -> bool:
    """It began a turn by the person's wish."""
    return message.starts_turn and message.origin != "agents"


def _written(message: Message) -> str:
    held = view.shown(message)
    text = held.text if held is not None else ""
    if message.role == "tool" and message.result is not None:
        result = message.result
        changes = "".join(f"\n{diff.change} {diff.path} +{diff.added} -{diff.removed}" for diff in result.diffs)
        return f"[Result of {result.name}{'' if result.ok else ', failed'}]\n{text}{changes}"
    if message.role == "assistant":
        calls = "".join(f"\n[Call of {call.name}] {_arguments(dict(call.arguments))}" for call in message.tool_calls)
        return f"[Assistant]\n{text}{calls}"
    images = f" [{len(message.parts)} images]" if message.parts else ""
    return f"[{'Program' if message.origin in ('note', 'agents') else 'User'}]{images}\n{text}"


def _arguments(arguments: object) -> str:
    return _shortened(" ".join(view.texts_in(arguments)), limits.SUMMARY_LEAST)


def _shortened(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    head = chars * 2 // 3
    return f"{text[:head]}\n[... {len(text) - chars} characters left out ...]\n{text[len(text) - chars + head :]}"


# -- what stands there ----------------------------------------------------------------------------------------------


_PLAN: Final = "\n\n# The todo list at this point"


def with_plan(summary: str, todos: Sequence[TodoItem]) -> str:
    """A summary with the plan as it is now: the calls that wrote it may be among what is summarised."""
    if not todos:
        return summary
    marks = {"completed": "x", "in_progress": ">", "cancelled": "-", "pending": " "}
    lines = "".join(f"\n[{marks[item.status]}] {item.text}" for item in todos)
    return f"{summary}{_PLAN}{lines}"


def without_plan(summary: str) -> str:
    """A summary as it was before `with_plan`: a plan of then has no place in the next one."""
    before, found, _ = summary.rpartition(_PLAN)
    return before if found else summary


def fallback(cut: Cut, earlier: str) -> str:
    """What stands there when no model could be had: no summary, but what one holds on to (COMP-15).

    At most limits.SUMMARY_FALLBACK characters: the first and the newest words of the person, the files that were
    changed, the commands that were run.
    """
    said = [m.text.strip() for m in cut.older if m.role == "user" and m.origin in ("", "queue", "steer")]
    files: dict[str, tuple[int, int]] = {}
    commands: list[str] = []
    names = {call.id: call for message in cut.older for call in message.tool_calls}
    for message in cut.older:
        if (result := message.result) is None:
            continue
        for diff in result.diffs:
            added, removed = files.pop(diff.path, (0, 0))
            files[diff.path] = (added + diff.added, removed + diff.removed)
        call = names.get(result.call_id)
        if call is not None and isinstance(command := call.arguments.get("command"), str):
            commands.append(f"{_line(command)}: {result.outcome or ('ok' if result.ok else 'failed')}")
    sections = [view.OMITTED]
    earlier = earlier.replace(view.OMITTED, "").strip()
    if earlier:
        sections.append(f"# The record of what came before\n{_shortened(earlier, limits.SUMMARY_FALLBACK // 3)}")
    if said:
        shown = said[:1] + said[max(1, len(said) - 6) :]
        sections.append("# What the user said\n" + "\n".join(f"- {_line(text, 600)}" for text in shown))
    if files:
        lines = [f"- {path} +{added} -{removed}" for path, (added, removed) in list(files.items())[-40:]]
        sections.append("# Files changed\n" + "\n".join(lines))
    if commands:
        sections.append("# Commands run last\n" + "\n".join(f"- {line}" for line in commands[-15:]))
    return _shortened_to("\n\n".join(sections), limits.SUMMARY_FALLBACK)


def _line(text: str, chars: int = 160) -> str:
    return _shortened(" ".join(text.split()), chars).replace("\n", " ")


def _shortened_to(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


# -- how it went ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Record:
    """What a session's compactions came to: when another may be tried by itself. Times are monotonic seconds."""

    clock: Callable[[], float]
    failures: int = 0
    """Summaries in a row that could not be had."""
    useless: int = 0
    """Compactions in a row after which the server counted hardly fewer tokens (COMP-16)."""
    not_before: float = 0.0
    before: int | None = None
    """Tokens the server counted before the last compaction, until it has counted those after it."""

    @property
    def open(self) -> bool:
        return self.clock() >= self.not_before

    def failed(self) -> None:
        """No summary could be had: wait, longer each time (COMP-15)."""
        waits = limits.COMPACTION_COOLDOWN
        self.not_before = self.clock() + waits[min(self.failures, len(waits) - 1)]
        self.failures += 1

    def succeeded(self, tokens: int | None) -> None:
        """The history is compacted; the server counted `tokens` for the last request before that."""
        self.failures = 0
        self.before = tokens

    def counted(self, tokens: int) -> None:
        """The server has counted the tokens of a request."""
        if self.before is None:
            return
        self.useless = self.useless + 1 if tokens >= self.before * limits.COMPACTION_USELESS else 0
        self.before = None
        if self.useless >= 2:
            self.not_before = self.clock() + limits.COMPACTION_REST
