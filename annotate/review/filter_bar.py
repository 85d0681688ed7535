"""The fields that say which cases are gone through."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from tkinter import ttk
from typing import get_args

from annotate.review.cases import LabelState, ReviewFilter, Shown
from grounding.errorsplit.labels import LabelName

_EVERYBODY = "all participants"


class FilterBar(ttk.Frame):
    """Outcome, labels, participant, words and distance.

    Args:
        parent: Where it stands.
        start: What it shows at first.
        participants: Of the run.
        changed: Called with the filter when somebody changed it.
    """

    def __init__(
        self,
        parent: tk.Misc,
        start: ReviewFilter,
        participants: Sequence[str],
        changed: Callable[[ReviewFilter], object],
    ) -> None:
        super().__init__(parent)
        self._tell = changed
        self.columnconfigure(1, weight=1)
        self._shown = self._choice(0, "Show", get_args(Shown), start.shown)
        labels = [*get_args(LabelState), *(name for name in get_args(LabelName) if name != "withdrawn")]
        self._labels = self._choice(1, "Labels", labels, start.label or start.labels)
        self._participant = tk.StringVar(self, start.participant or _EVERYBODY)
        if len(participants) > 1:
            self._choice(2, "Of", [_EVERYBODY, *participants], self._participant.get(), self._participant)
        self._words = self._entry(3, "Words", start.words)
        within = "" if start.within_px is None else f"{start.within_px:g}"
        self._within = self._entry(4, "Within px", within)

    def value(self) -> ReviewFilter:
        """The filter as it stands; a distance that is no number leaves nothing out."""
        chosen = self._labels.get()
        states: tuple[LabelState, ...] = get_args(LabelState)
        names: tuple[LabelName, ...] = get_args(LabelName)
        state = next((state for state in states if state == chosen), None)
        label = next((name for name in names if name == chosen), None)
        participant = self._participant.get()
        return ReviewFilter(
            shown=next(shown for shown in get_args(Shown) if shown == self._shown.get()),
            participant="" if participant == _EVERYBODY else participant,
            labels=state or "any",
            label=label or "",
            words=self._words.get().strip(),
            within_px=_distance(self._within.get()),
        )

    def _choice(
        self, row: int, words: str, values: Sequence[str], value: str, variable: tk.StringVar | None = None
    ) -> tk.StringVar:
        variable = variable or tk.StringVar(self, value)
        ttk.Label(self, text=words, style="Soft.TLabel").grid(row=row, column=0, sticky="w", padx=(0, 8), pady=1)
        box = ttk.Combobox(self, values=list(values), textvariable=variable, state="readonly", takefocus=False)
        box.grid(row=row, column=1, sticky="ew", pady=1)
        box.bind("<<ComboboxSelected>>", lambda _event: self._changed())
        return variable

    def _entry(self, row: int, words: str, value: str) -> tk.StringVar:
        variable = tk.StringVar(self, value)
        ttk.Label(self, text=words, style="Soft.TLabel").grid(row=row, column=0, sticky="w", padx=(0, 8), pady=1)
        entry = ttk.Entry(self, textvariable=variable)
        entry.grid(row=row, column=1, sticky="ew", pady=1)
        entry.bind("<Return>", lambda _event: self._changed())
        entry.bind("<FocusOut>", lambda _event: self._changed())
        return variable

    def _changed(self) -> None:
        self._tell(self.value())


def _distance(text: str) -> float | None:
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        return None
    return found if found >= 0 else None
