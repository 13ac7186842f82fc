"""edit_file: replace parts of a file that are quoted, exactly or nearly so."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.messages import clean_surrogates
from agent_core.names import EDIT_FILE
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext
from agent_core.records import dataclass
from agent_core.safety.redact import MARK
from agent_core.text import match

from . import base, change


@dataclass(frozen=True, slots=True)
class _Edit:
    old: str
    new: str
    every: bool


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    verdict = base.judged("write", base.text(args, "path"), ctx)
    edits = _edits(args)
    file = base.read_text(verdict, base.rules(ctx))
    notes = [base.check_seen(file, ctx, quotes=True)]
    text, only_returns = file.decoded.text, file.decoded.newline == "\r"
    if only_returns:  # the ladder's lines end in line feeds: they stand for carriage returns, there and back
        text, edits = _fed(text), [_Edit(_fed(edit.old), _fed(edit.new), edit.every) for edit in edits]
    for number, edit in enumerate(edits, 1):
        which = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        found = match.find(text, edit.old, edit.new, edit.every)
        if isinstance(found, match.NoMatch):
            raise _failure(found, edit, verdict.shown, which, len(edits) > 1)
        changed = match.apply(text, found)
        if changed == text:
            raise ToolFailure(
                f"{which}new_text leaves {verdict.shown} as it is. Nothing was changed.", outcome="no change"
            )
        if found.how != "exact":
            notes.append(_forgiven(found, text, changed, which))
        elif len(found.spans) > 1:
            notes.append(f"\n{which}{len(found.spans)} places.")
        text = changed
    made = change.edit(file, text.replace("\n", "\r") if only_returns else text)
    if made is None:
        raise ToolFailure(f"The edits leave {verdict.shown} as it is. Nothing was changed.", outcome="no change")
    return change.prepared([made], ctx, "".join(notes))


def _fed(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _edits(args: Args) -> list[_Edit]:
    """The edits of a call, given as a list or as one pair; both together are all of them."""
    pairs = args.get("edits") or []
    if not isinstance(pairs, Sequence) or isinstance(pairs, str) or not all(isinstance(p, dict) for p in pairs):
        raise ToolFailure('"edits" must be a list of {old_text, new_text}.', outcome="invalid arguments")
    every = base.flag(args, "replace_all")
    edits = [_edit(pair, every) for pair in pairs]
    if args.get("old_text") is not None or args.get("new_text") is not None or not edits:
        edits.insert(0, _edit(args, every))
    return edits


def _edit(args: Args, every: bool) -> _Edit:
    missing = [f'"{name}"' for name in ("old_text", "new_text") if args.get(name) is None]
    if missing:
        raise ToolFailure(
            f"edit_file was not run: {' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing. Give "
            "old_text and new_text (an empty one takes the old text out), or a list of such pairs as edits.",
            code="invalid_arguments",
            outcome="invalid arguments",
        )
    new = clean_surrogates(base.text(args, "new_text"))
    return _Edit(base.text(args, "old_text"), new, every or base.flag(args, "replace_all"))


def _forgiven(found: match.Match, before: str, after: str, which: str) -> str:
    """A note on an edit whose old text was not quoted exactly, with what stands there now, to be checked."""
    start = found.spans[0].start
    first = before.count("\n", 0, start)
    new_lines = found.spans[0].new.count("\n") + 1
    lines = after.split("\n")[first : first + min(new_lines, limits.MATCH_PLACE_LINES)]
    shown = "\n".join(
        f"{number}\t{base.cut_line(line.removesuffix(chr(13)), limits.MATCH_LINE_CHARS)}"
        for number, line in enumerate(lines, first + 1)
    )
    places = f", {len(found.spans)} places" if len(found.spans) > 1 else ""
    return f"\n{which}old_text differed from the file in {found.how}{places}. It now reads:\n{shown}"


def _failure(found: match.NoMatch, edit: _Edit, shown: str, which: str, several: bool) -> ToolFailure:
    nothing = "Nothing was changed" + (", by none of the edits." if several else ".")
    places = "\n".join(f"line {place.line}:\n{place.text}" for place in found.places)
    if found.reason == "empty":
        text = f"{which}old_text is empty. Quote the text to replace; write_file writes a whole file. {nothing}"
        return ToolFailure(text, outcome="invalid arguments")
    if found.reason == "same":
        return ToolFailure(f"{which}old_text and new_text are the same. {nothing}", outcome="no change")
    if found.reason == "several" and found.count > limits.MATCH_MOST:
        text = f"{which}old_text stands more than {limits.MATCH_MOST:,} times in {shown}. {nothing} Use a command."
        return ToolFailure(text, code="edit_ambiguous", outcome="too many places")
    if found.reason == "several":
        lines = ", ".join(str(place.line) for place in found.places)
        more = " and more" if found.count > len(found.places) else ""
        return ToolFailure(
            f"{which}old_text stands {found.count} times in {shown}: lines {lines}{more}. {nothing} "
            "Quote more lines around the place you mean, or pass replace_all=true.",
            code="edit_ambiguous",
            outcome="ambiguous",
        )
    hint = f"The nearest places are\n{places}" if places else "Nothing in the file is like it; read it again."
    if MARK in edit.old:
        hint = f"{MARK} stands for a key you are not shown; quote only what stands around it. {hint}"
    return ToolFailure(
        f"{which}old_text is not in {shown}. {nothing} {hint}", code="edit_not_found", outcome="text not found"
    )


_PAIR = {
    "old_text": base.prop("string", "Text as it stands in the file, enough of it to be unique"),
    "new_text": base.prop("string"),
}

TOOL = Tool(
    EDIT_FILE,
    "Replace text in a file you have read. Give old_text and new_text, or edits for several changes at once, "
    "made in order, all or none.",
    base.schema(
        ["path"],
        path=base.prop("string"),
        **_PAIR,
        replace_all=base.prop("boolean", "Replace every occurrence"),
        edits=base.prop(
            "array",
            items=base.schema(["old_text", "new_text"], old_text={"type": "string"}, new_text={"type": "string"}),
        ),
    ),
    lambda args: base.paths_effect("write", args),
    lambda args: base.subject(args, "path"),
    _prepare,
)
