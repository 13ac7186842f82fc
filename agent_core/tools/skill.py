"""skills_list, skill, skill_manage: what skills there are, one of them or a file of it, and writing them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from agent_core.errors import MemoryFailure, SkillFailure, ToolFailure
from agent_core.names import MODES, SKILL, SKILL_MANAGE, SKILLS_LIST
from agent_core.ports.actions import Effect, KeepAction, NoAction, ReadAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.skills import index, reading
from agent_core.skills.discover import MAIN, Found
from agent_core.skills.library import Skills, refused
from agent_core.skills.write import FOLDERS, Plan, Writer

from . import base

LENDS: Final = "gives its commands variables of yours"
"""The rule by which a person is asked before a skill is loaded."""


SUBJECTS: Final[Mapping[str, Callable[[Args], str]]] = {
    SKILLS_LIST: lambda args: base.subject(args, "query"),
    SKILL: lambda args: f"{base.subject(args, 'name')} {base.subject(args, 'file', 'file_path')}".strip(),
    SKILL_MANAGE: lambda args: f"{base.subject(args, 'action')} {base.subject(args, 'name')}".strip(),
}
"""What stands behind each name on a screen, also where a session is read again."""


@dataclass(frozen=True, slots=True)
class Shop:
    """What the tools of one session work with."""

    skills: Skills
    writer: Writer
    stage: Callable[[Plan], str]
    """Puts a write aside for a person; gives its id. Raises MemoryFailure."""
    stages: Callable[[], bool]
    """Every write is put aside, also where a person could be asked."""
    lend: Callable[[Mapping[str, str]], None]
    """From now on the session's commands have these variables."""
    lent: Callable[[], Collection[str]]
    """The names of those that they have."""
    suspicious: Callable[[Found, reading.Text], None]
    """A text that was loaded reads like orders to the model: the person is told."""


def tools(shop: Shop, *, some: bool, writes: bool) -> tuple[Tool, ...]:
    """The tools. `some`: there are skills to be loaded; `writes`: they may be written in this run (TOOL-20)."""
    reads = (_list_tool(shop), _view_tool(shop)) if some else ()
    return (*reads, _manage_tool(shop)) if writes else reads


@contextmanager
def _failing() -> Iterator[None]:
    """What a skill cannot do is a result for the model."""
    try:
        yield
    except (SkillFailure, MemoryFailure) as failure:
        raise ToolFailure(failure.text, code=failure.code, **failure.params) from failure


# -- looking ------------------------------------------------------------------------------------------------------


def _list_tool(shop: Shop) -> Tool:
    def prepare(args: Args, ctx: ToolContext) -> Prepared:
        words = base.text(args, "query", "").casefold().split()

        def run() -> ToolOutput:
            every = shop.skills.offered()
            found = [one for one in every if all(word in f"{one.name} {one.description}".casefold() for word in words)]
            lines = [f"{one.name} ({one.place}): {index.short(one)}" for one in found]
            return ToolOutput("\n".join(lines) or "No skill fits.", base.count(len(lines), "skill"))

        return base.prepared(NoAction(), run)

    return Tool(
        SKILLS_LIST,
        "List the skills there are, or those in whose name and description all words of a query stand.",
        base.schema([], query=base.prop("string")),
        lambda args: Effect("none"),
        SUBJECTS[SKILLS_LIST],
        prepare,
    )


def _view_tool(shop: Shop) -> Tool:
    def prepare(args: Args, ctx: ToolContext) -> Prepared:
        with _failing():
            found = shop.skills.get(base.text(args, "name").strip())
            if why := shop.skills.closed(found):
                raise refused(found.name, why)
            file = base.text(args, "file", "") or base.text(args, "file_path", "")
            name = reading.inside(file) if file else MAIN
        verdict = base.judged("read", str(found.folder / name), ctx)
        more = {} if file else _not_yet(shop, found)
        asks = bool(more) and ctx.can_ask

        def run() -> ToolOutput:
            with _failing():
                if file:
                    return _a_file(shop, found, name)
                if asks:
                    shop.lend(more)
                return _a_body(shop, found, () if asks else tuple(more))

        if not asks:
            return base.prepared(ReadAction(verdict.shown), run, **base.path_verdict(verdict))
        return base.prepared(ReadAction(verdict.shown, tuple(more)), run, path_verdict="ask", path_rule=LENDS)

    return Tool(
        SKILL,
        "Load a skill: the instructions for a kind of work, and the names of its other files. With file, one of those.",
        base.schema(
            ["name"],
            name=base.prop("string"),
            file=base.prop("string", "A path below the skill's folder, such as references/api.md"),
        ),
        lambda args: Effect("read"),
        SUBJECTS[SKILL],
        prepare,
    )


def _not_yet(shop: Shop, found: Found) -> Mapping[str, str]:
    """The variables that loading a skill would give the session's commands."""
    lent = shop.lent()
    return {name: value for name, value in shop.skills.variables(found).items() if name not in lent}


def _a_body(shop: Shop, found: Found, withheld: tuple[str, ...]) -> ToolOutput:
    text = reading.body(found)
    if text.flagged:
        shop.suspicious(found, text)
    notes = [f"Its commands do not have {', '.join(withheld)}: nobody is here to agree to that."] if withheld else []
    return ToolOutput(shop.skills.told(found, text, *notes), _size(text))


def _a_file(shop: Shop, found: Found, name: str) -> ToolOutput:
    text = reading.file(found, name)
    if text.flagged:
        shop.suspicious(found, text)
    warning = f"{reading.WARNING}\n" if text.flagged else ""
    cut = f"\n[The first {len(text.text):,} of {text.size:,} characters; read_file gives the rest of it.]"
    return ToolOutput(
        f"{warning}<skill-file>\n{reading.defused(text.text)}\n</skill-file>{cut if text.is_cut else ''}", _size(text)
    )


def _size(text: reading.Text) -> str:
    return base.count(text.text.count("\n") + bool(text.text), "line")


# -- writing ------------------------------------------------------------------------------------------------------


def _manage_tool(shop: Shop) -> Tool:
    def prepare(args: Args, ctx: ToolContext) -> Prepared:
        with _failing():
            plan = _plan(shop, args)
        if shop.stages() or not ctx.can_ask:

            def stage() -> ToolOutput:
                with _failing():
                    id = shop.stage(plan)
                text = f"{plan.title}: put aside as {id}. It is not done until the user agrees: /skills approve {id}."
                return ToolOutput(text, "waits", diffs=plan.diffs)

            return base.prepared(KeepAction(plan.title, plan.diffs, asks=False), stage)

        def run() -> ToolOutput:
            with _failing():
                shop.writer.carry_out(plan)
            return ToolOutput(f"Done: {plan.title}.", "done", effect="done", diffs=plan.diffs)

        return base.prepared(KeepAction(plan.title, plan.diffs), run)

    return Tool(
        SKILL_MANAGE,
        "Write the user's skills, when they ask for it or when work that will come again has shown how it is done. "
        "create and edit take the whole SKILL.md as content: --- with name and description (one sentence: what for, "
        "when), ---, then short instructions. patch replaces old_string by new_string. write_file and remove_file are "
        f"for other files, below {', '.join(FOLDERS)}. The user is shown each change first.",
        base.schema(
            ["action", "name"],
            action=base.prop("string", enum=[_CREATE, *_PLANS]),
            name=base.prop("string", "Small letters, digits and -"),
            content=base.prop("string"),
            category=base.prop("string", "With create: a folder to put it in"),
            old_string=base.prop("string"),
            new_string=base.prop("string"),
            replace_all=base.prop("boolean"),
            file_path=base.prop("string", "Below the skill's folder; with patch, instead of SKILL.md"),
            file_content=base.prop("string"),
        ),
        lambda args: Effect("write"),
        SUBJECTS[SKILL_MANAGE],
        prepare,
        modes=tuple(mode for mode in MODES if mode != "plan"),
    )


def _plan(shop: Shop, args: Args) -> Plan:
    """What a call would write. Raises SkillFailure, ToolFailure."""
    action = base.text(args, "action")
    if action == _CREATE:
        there = shop.skills.look().skills
        return shop.writer.create(
            base.text(args, "name"), base.text(args, "content"), base.text(args, "category", ""), there
        )
    plan = _PLANS.get(action)
    if plan is None:
        raise ToolFailure(f"action is one of {', '.join((_CREATE, *_PLANS))}.", code="invalid_arguments")
    return plan(shop.writer, shop.skills.get(base.text(args, "name")), args)


_CREATE: Final = "create"
_PLANS: Final[Mapping[str, Callable[[Writer, Found, Args], Plan]]] = {
    "patch": lambda writer, found, args: writer.patch(
        found,
        base.text(args, "old_string"),
        base.text(args, "new_string"),
        base.text(args, "file_path", ""),
        base.flag(args, "replace_all"),
    ),
    "edit": lambda writer, found, args: writer.edit(found, base.text(args, "content")),
    "delete": lambda writer, found, args: writer.delete(found),
    "write_file": lambda writer, found, args: writer.write_file(
        found, base.text(args, "file_path"), base.text(args, "file_content")
    ),
    "remove_file": lambda writer, found, args: writer.remove_file(found, base.text(args, "file_path")),
}
