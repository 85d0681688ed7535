"""One run through the stages: what each has made lies in a dictionary by the subject's id."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.options import Display
from grounding.records import Record
from grounding.webagents.agenticshop.checklist import lint_checklist
from grounding.webagents.agenticshop.construction.journals import Journals
from grounding.webagents.agenticshop.construction.records import Checklist, Need, Subject
from grounding.webagents.agenticshop.construction.stages import AgainStage, ChecklistStage, ContextStage, NeedStage
from grounding.webagents.agenticshop.construction.writers import Writer
from grounding.webagents.agenticshop.records import UserContext
from grounding.webagents.asking import Asked, Tally, last_answer, new_progress, run_stage, tally


class Mended(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many checklists were written again, and how many of them for the better."""

    asked: int
    better: int


class Making:
    """The stages over one set of subjects. ``mend`` is whether checklists that are objected to are written again."""

    def __init__(self, subjects: Sequence[Subject], writer: Writer, kept: Journals, *, mend: bool) -> None:
        self._subjects = tuple(subjects)
        self._writer = writer
        self._mend = mend
        self.contexts: dict[str, UserContext] = {}
        self.needs: dict[str, Need] = {}
        self.first: dict[str, Checklist] = {}
        self._context = ContextStage(writer, kept.contexts)
        self._need = NeedStage(writer, self.contexts, kept.needs)
        self._checklist = ChecklistStage(writer, self.contexts, self.needs, kept.checklists)
        self._again = AgainStage(writer, self.contexts, self.needs, self.first, kept.again)
        self.asked = 0
        self.stopped = ""

    async def through(self, display: Display | None) -> None:
        """Take everybody through the stages, each as far as the one before came."""
        check = self._writer.check
        try:
            self._count(await run_stage(self._context, self._subjects, new_progress(display, "users"), check))
            if not self.stopped:
                described = self._with(self.contexts)
                self._count(await run_stage(self._need, described, new_progress(display, "queries"), check))
            if not self.stopped:
                wanting = self._with(self.needs)
                self._count(await run_stage(self._checklist, wanting, new_progress(display, "checklists"), check))
            if self._mend and not self.stopped:
                flagged, progress = self.flagged(), new_progress(display, "checklists again")
                self._count(await run_stage(self._again, flagged, progress, check))
        finally:
            await self._writer.aclose()

    def _count(self, done: Asked) -> None:
        self.asked += done.answers
        self.stopped = done.stopped
        self.collect()

    def collect(self) -> None:
        """Take up what the journals hold to the questions as they are asked now."""
        for one in self._subjects:
            described = last_answer(self._context, one)
            if described is not None and described.context is not None:
                self.contexts[one.id] = described.context
            needed = last_answer(self._need, one) if one.id in self.contexts else None
            if needed is not None and needed.need is not None:
                self.needs[one.id] = needed.need
            listed = last_answer(self._checklist, one) if one.id in self.needs else None
            if listed is not None and listed.checklist:
                self.first[one.id] = listed.checklist

    def flagged(self) -> list[Subject]:
        """Those whose first checklist is objected to."""
        return [one for one in self._with(self.first) if lint_checklist(self.first[one.id])]

    def checklists(self) -> tuple[dict[str, Checklist], Mended]:
        """The checklists that count: the second one where less of it is objected to, else the first."""
        counting = dict(self.first)
        asked = better = 0
        for one in self.flagged() if self._mend else ():
            found = last_answer(self._again, one)
            if found is None or (found.failure is not None and found.failure.kind == "error"):
                continue
            asked += 1
            if found.checklist and len(lint_checklist(found.checklist)) < len(lint_checklist(self.first[one.id])):
                counting[one.id] = found.checklist
                better += 1
        return counting, Mended(asked=asked, better=better)

    def tallies(self) -> dict[str, Tally]:
        """How far each stage is: ``contexts``, ``queries``, ``checklists`` and, where there is one, ``again``."""
        found = {
            "contexts": tally(self._context, self._subjects),
            "queries": tally(self._need, self._with(self.contexts)),
            "checklists": tally(self._checklist, self._with(self.needs)),
        }
        return {**found, "again": tally(self._again, self.flagged())} if self._mend else found

    def _with(self, made: dict[str, UserContext] | dict[str, Need] | dict[str, Checklist]) -> list[Subject]:
        return [one for one in self._subjects if one.id in made]
