"""A stored run as a tree in the release's layout."""

from __future__ import annotations

import re
from pathlib import Path

from grounding.errors import UserError
from grounding.webagents.agenticshop.release import Exported, write_release
from grounding.webagents.agenticshop.runfiles import CurationFolder
from grounding.webagents.agenticshop.scorebook import headline_of, with_majority
from grounding.webagents.agenticshop.stored import read_run
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

_ODD = re.compile(r"[^A-Za-z0-9_.\-]+")


def export_run(run: Path, to: Path, *, judge: str | None = None, bare: bool = False) -> Exported:
    """Write a run as the release has its own: users, prompts, products, extractions, evaluations and pictures.

    Args:
        run: The run's folder.
        to: A folder that holds nothing yet.
        judge: Whose verdicts; the one that counts in the run where None.
        bare: Write evaluations as the release's pipeline does; its collector reads only wrapped ones.

    Raises:
        UserError: there is no run, the judge is not of it, or a file can't be written.
    """
    folder = CurationFolder(run)
    info = folder.read_info()
    stored = with_majority(read_run(folder, info.judges))
    chosen = judge or headline_of(stored.judgements)
    named = ", ".join(stored.judgements) or "none"
    if chosen not in stored.judgements:
        raise UserError(f"--judge {chosen}: no such judge in {run}; there are: {named}")
    answers = {task.id: stored.answers[task.id] for task in stored.tasks}
    asked = info.asked
    return write_release(
        to,
        stored.tasks,
        model_type="search_llms" if asked.agent == "search" else "web_agents",
        model=_ODD.sub("-", f"{asked.agent}-{asked.model}" if asked.model else asked.agent),
        curations={name: one.curation for name, one in answers.items() if one.curation is not None},
        extractions={each.step_id: each for one in answers.values() for each in one.extractions if each is not None},
        judgements=stored.judgements[chosen],
        evidence=EvidenceFolder(folder.evidence),
        wrapped=not bare,
    )
