"""What a key does to the steps and to their words."""

from __future__ import annotations

from collections.abc import Callable

from annotate.recording import edits
from annotate.recording.records import CutPlan
from annotate.recording.window.cut_session import CutSession

TAKE = "take this screen"


class CutCommands:
    """The changes that the window's keys and buttons make to the cut; each begins by keeping what was half typed.

    All of them raise a UserError where the cut could not be written.
    """

    def __init__(self, session: CutSession) -> None:
        self.session = session

    def edit(self, what: str, edit: Callable[[CutPlan, int], CutPlan]) -> None:
        """Do something to the chosen step; the cursor goes to its screenshot, unless that was just taken from it."""
        session = self.session
        session.finish_typing()
        if session.step is not None:
            session.change(edit(session.plan, session.index), what)
            session.choose(session.index, cursor=what != TAKE)

    def split(self) -> None:
        """Make a step of what the cursor shows."""
        session = self.session
        session.finish_typing()
        time_s = session.cursor_s
        session.change(edits.split_at(session.plan, time_s), "new step")
        times = [step.screenshot_s for step in session.plan.steps]
        session.choose(min(range(len(times)), key=lambda index: abs(times[index] - time_s)))

    def split_words(self) -> None:
        """Split the chosen step's instruction at the cursor."""
        session, instruction = self.session, self.session.instruction
        session.finish_typing()
        if instruction is not None:
            session.change(edits.split_instruction(session.plan, instruction.id, session.cursor_s), "split instruction")

    def join_words(self) -> None:
        """Join the chosen step's instruction with the one before it."""
        session = self.session
        session.finish_typing()
        instruction = session.instruction
        if instruction is None:
            return
        earlier = [one for one in session.plan.instructions if one.start_s < instruction.start_s]
        if earlier:
            session.change(edits.join_instructions(session.plan, earlier[-1].id, instruction.id), "join instructions")

    def same_words(self) -> None:
        """The chosen step carries out what the step before it does."""
        session = self.session
        session.finish_typing()
        if session.step is not None and session.index > 0:
            before = session.plan.steps[session.index - 1].instruction
            session.change(edits.carry_out(session.plan, session.index, before), "same words")

    def move_words(self, *, start: bool) -> None:
        """The instruction's clip starts, or ends, at the cursor."""
        session, instruction = self.session, self.session.instruction
        session.finish_typing()
        if instruction is None:
            return
        start_s = session.cursor_s if start else instruction.start_s
        end_s = instruction.end_s if start else session.cursor_s
        if end_s > start_s:
            plan = edits.retime_instruction(session.plan, instruction.id, start_s, end_s)
            session.change(plan, "start of clip" if start else "end of clip")
