"""Changes of files as unified text, each hunk with its number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t
from nanoherm_tui.text import TAB, visible

if TYPE_CHECKING:
    from agent_core.messages import FileDiff

_SIGNS: Final = {"same": " ", "add": "+", "remove": "-"}


def diff_lines(diffs: Sequence[FileDiff], refused: Collection[str] = ()) -> list[str]:
    """The whole of `diffs`. Hunks are counted over all files, from 1; `refused` names those that are left out."""
    lines: list[str] = []
    total = sum(len(diff.hunks) for diff in diffs)
    number = 0
    for at, diff in enumerate(diffs):
        lines += _file(diff)
        for place, hunk in enumerate(diff.hunks):
            number += 1
            old = sum(line.kind != "add" for line in hunk.lines)
            new = sum(line.kind != "remove" for line in hunk.lines)
            head = f"@@ -{hunk.old_start},{old} +{hunk.new_start},{new} @@"
            left_out = f", {t('approval.left_out')}" if f"{at}.{place}" in refused else ""
            lines.append(f"{head} {t('dock.hunk', n=number, total=total)}{left_out}")
            for line in hunk.lines:
                lines.append(_SIGNS[line.kind] + visible(line.text, tab_size=TAB))
                if not line.end:
                    lines.append(f"\\ {t('dock.no_end')}")
        if diff.omitted_lines:
            lines.append(t("dock.left_out", n=diff.omitted_lines))
    return lines


def _file(diff: FileDiff) -> Iterable[str]:
    path = visible(diff.path).replace("\n", "\\n")
    old = visible(diff.old_path).replace("\n", "\\n") or path
    yield f"--- {'/dev/null' if diff.change == 'create' and not diff.old_path else old}"
    yield f"+++ {'/dev/null' if diff.change == 'delete' else path}"
