"""What ``grounding curation construct`` prints."""

from __future__ import annotations

from pathlib import Path

from grounding.money import dollars
from grounding.webagents.agenticshop.construction.build import Constructed
from grounding.webagents.agenticshop.construction.recipe import Checked
from grounding.webagents.agenticshop.scenarios import row_of
from grounding.webagents.asking import Tally

MOST_DOUBTS = 5


def constructed_lines(done: Constructed, out: Path) -> list[str]:
    """A few lines on what was made and what the checks found."""
    made = done.made
    lines = [f"{out}: {sum(made.written.values())} tasks"]
    for scenario, users in made.written.items():
        lines.append(f"{'':2}{row_of(scenario).profile_file:<48} {users:>4} users")  # type: ignore[arg-type]
    if made.skipped:
        lines.append(f"left out      {len(made.skipped)} users, such as {made.skipped[0].user}: {made.skipped[0].why}")
    if made.checked is not None:
        lines += _checks(made.checked)
    lines.append(f"written by    {made.recipe.writer}: {made.written_by}")
    lines += [f"{name:<13} {_left(asked)}" for name, asked in made.asked.items() if asked.done < asked.items]
    cost = "" if made.cost_usd is None else f" · {dollars(made.cost_usd)} in all"
    lines.append(f"asked now     {done.asked}{cost} · {done.seconds:.1f} s")
    if done.stopped:
        lines.append(f"stopped before the end: {done.stopped}")
    return lines


def _checks(checked: Checked) -> list[str]:
    lint = checked.lint
    told = f"seed item     in the reviews of the context for {checked.seeds_in_history} of {checked.seeds} users"
    kinds = " · ".join(f"{kind} {count}" for kind, count in sorted(lint.by_kind.items()))
    flagged = f"checklists    {lint.flagged} of {lint.items} items flagged{f' ({kinds})' if kinds else ''}"
    if checked.asked_again:
        flagged += f"; {checked.flagged_before} before {checked.asked_again} lists were written again, "
        flagged += f"{checked.mended} of them for the better"
    lines = [told, f"pairing       {len(checked.doubts)} of {checked.pairs} queries look like another user's", flagged]
    for doubt in checked.doubts[:MOST_DOUBTS]:
        lines.append(f"{'':14}{doubt.task_id} fits {doubt.like} better ({doubt.fit:.2f}, own {doubt.own:.2f})")
    if len(checked.doubts) > MOST_DOUBTS:
        lines.append(f"{'':14}and {len(checked.doubts) - MOST_DOUBTS} more, in made-with.json")
    return lines


def _left(asked: Tally) -> str:
    open_ones = asked.items - asked.done - asked.unparsed - asked.error
    return f"unparsed {asked.unparsed} · errors {asked.error} · not asked yet {open_ones}, of {asked.items}"
