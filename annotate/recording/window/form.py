"""The chosen step's words, action and task, to be corrected; and what the machine heard, which stays as it is."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from tkinter import ttk
from typing import Literal

from annotate.recording import edits
from annotate.recording.window.cut_session import CutSession
from annotate.recording.window.time_view import clock
from annotate.transcripts.marking import mark_all_by_key
from annotate.window.style import ACCENT, INK, LINE, SURFACE, Style

ACTIONS = ("click", "type", "scroll")


class Form(ttk.Frame):
    """The right side of the window."""

    def __init__(
        self, parent: tk.Misc, session: CutSession, style: Style, guarded: Callable[[Callable[[], object]], object]
    ) -> None:
        super().__init__(parent, padding=(style.px(12), style.px(8)))
        self._session, self._guarded = session, guarded
        self._filling = False
        px = style.px
        self._title = ttk.Label(self, style="Title.TLabel")
        self._title.pack(fill="x")
        self._times = ttk.Label(self, style="Soft.TLabel")
        self._times.pack(fill="x", pady=(0, px(8)))
        ttk.Label(self, text="Instruction", style="Heading.TLabel").pack(fill="x")
        self.words = tk.Text(
            self, height=2 if style.low else 5, width=30, wrap="word", undo=True,
            font=style.font, background=SURFACE, foreground=INK,
            relief="flat", highlightthickness=1, highlightbackground=LINE, highlightcolor=ACCENT, padx=px(6),
            pady=px(4),
        )  # fmt: skip
        self.words.pack(fill="x", pady=(px(3), px(4)))
        mark_all_by_key(self.words)
        self._heard_title = ttk.Label(self, text="Heard by the machine", style="Heading.TLabel")
        self._heard_title.pack(fill="x")
        self._heard = ttk.Label(self, style="Soft.TLabel", justify="left", anchor="nw")
        self._heard.pack(fill="x", pady=(px(2), px(4)))
        self._heard.bind("<Configure>", lambda event: self._heard.configure(wraplength=event.width))
        row = ttk.Frame(self)
        row.pack(fill="x", pady=(0, px(12)))
        self._take = ttk.Button(row, text="Take the machine's", command=self._take_heard, takefocus=False)
        self._take.pack(side="left")
        self._shared = ttk.Label(row, style="Soft.TLabel")
        self._shared.pack(side="left", padx=px(8))
        pair = ttk.Frame(self)
        pair.pack(fill="x")
        pair.columnconfigure((0, 1), weight=1, uniform="pair")
        ttk.Label(pair, text="Action", style="Heading.TLabel").grid(row=0, column=0, sticky="w")
        self._action = ttk.Combobox(pair, values=ACTIONS, width=8)
        self._action.grid(row=1, column=0, sticky="ew", pady=(px(3), 0), padx=(0, px(6)))
        ttk.Label(pair, text="Task from here", style="Heading.TLabel").grid(row=0, column=1, sticky="w")
        self.task = ttk.Combobox(pair, width=8)
        self.task.grid(row=1, column=1, sticky="ew", pady=(px(3), 0))
        for widget in (self.words, self._action, self.task):
            widget.bind("<FocusOut>", lambda _event: self._guarded(self.commit))
        for box in (self._action, self.task):
            box.bind("<Return>", lambda _event: self._guarded(self.commit))
            box.bind("<<ComboboxSelected>>", lambda _event: self._guarded(self.commit))
        session.watch(on_plan=self.show, on_step=self.show, before_change=self.commit)
        self.show()

    def show(self) -> None:
        """Show the chosen step."""
        session = self._session
        step, instruction = session.step, session.instruction
        self._filling = True
        state: Literal["normal", "disabled"] = "normal" if step is not None else "disabled"
        self.words.configure(state="normal")
        wording = "" if instruction is None else instruction.wording
        if self.words.get("1.0", "end-1c") != wording:
            self.words.delete("1.0", "end")
            self.words.insert("1.0", wording)
            self.words.edit_reset()
        self.words.configure(state=state)
        self._action.configure(state=state)
        self.task.configure(state=state)
        if step is None:
            self._title.configure(text="No step")
            self._times.configure(text="Put the cursor somewhere and press S")
        else:
            self._title.configure(text=f"Step {session.index + 1} of {len(session.plan.steps)}")
            delay_s = step.action_s - step.screenshot_s
            later = f", action {delay_s:.2f} s later" if delay_s >= 0.005 else ""
            self._times.configure(text=f"Screen at {clock(step.screenshot_s, 2)}{later}")
        self._action.set("" if step is None else step.action)
        self.task.set("" if step is None else step.task)
        self.task.configure(values=list(dict.fromkeys(one.task for one in session.plan.steps if one.task)))
        self._show_heard()
        self._filling = False

    def commit(self) -> None:
        """Put what was typed into the plan.

        Raises:
            SaveFailed: It could not be kept on the disk.
        """
        session, index = self._session, self._session.index
        step = session.step
        if self._filling or step is None:
            return
        text = " ".join(self.words.get("1.0", "end-1c").split())
        action, task = self._action.get().strip(), self.task.get().strip()
        instruction = session.instruction
        if instruction is None and text:
            session.change(edits.write_instruction(session.plan, index, text), "write instruction")
        elif instruction is not None and text != instruction.wording:
            session.change(edits.correct(session.plan, instruction.id, text), "correct instruction")
        if action != step.action:
            session.change(edits.set_action(session.plan, index, action), "change action")
        if task != step.task:
            session.change(edits.set_task(session.plan, index, task), "name task")

    def _show_heard(self) -> None:
        instruction = self._session.instruction
        recogniser = self._session.plan.recogniser
        self._heard_title.configure(text=f"Heard by {recogniser or 'the machine'}")
        if instruction is None:
            words = "Nothing was said before this step."
        elif instruction.heard:
            words = instruction.heard
        elif instruction.end_s <= instruction.start_s:
            words = "Typed by hand: there is no clip."
        else:
            words = "Nothing was heard." if recogniser else "Nobody listened: no recogniser was chosen."
        self._heard.configure(text=words)
        corrected = instruction is not None and instruction.text is not None and bool(instruction.heard)
        self._take.configure(state="normal" if corrected else "disabled")
        steps = (
            []
            if instruction is None
            else [one for one in self._session.plan.steps if one.instruction == instruction.id]
        )
        self._shared.configure(text=f"{len(steps)} steps" if len(steps) > 1 else "")

    def _take_heard(self) -> None:
        instruction = self._session.instruction
        if instruction is not None:
            plan = edits.correct(self._session.plan, instruction.id, instruction.heard)
            self._guarded(lambda: self._session.change(plan, "take the machine's words"))
