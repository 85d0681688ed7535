"""The files of replies: one for each stage, from which the same command goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grounding.journal import Journal
from grounding.records import Call
from grounding.webagents.agenticshop.construction.records import MadeChecklist, MadeContext, MadeNeed


class Journals:
    """All of them, open for appending."""

    def __init__(self, work: Path) -> None:
        self.contexts = Journal(work / "contexts.jsonl", MadeContext)
        self.needs = Journal(work / "queries.jsonl", MadeNeed)
        self.checklists = Journal(work / "checklists.jsonl", MadeChecklist)
        self.again = Journal(work / "checklists-again.jsonl", MadeChecklist)

    def __enter__(self) -> Journals:
        return self

    def __exit__(self, *_: object) -> None:
        for journal in (self.contexts, self.needs, self.checklists, self.again):
            journal.close()

    def calls(self) -> Iterator[Call]:
        """What all replies took, also those that later ones took the place of."""
        for journal in (self.contexts, self.needs, self.checklists, self.again):
            for made in journal.every():
                if made.call is not None:
                    yield made.call
