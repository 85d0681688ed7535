"""Opens the window, once it is known that one can be opened."""

from __future__ import annotations

from pathlib import Path

from annotate.display import require_display
from annotate.recording.records import CutPlan
from annotate.recording.video import Recording
from grounding.asr.recogniser import Recogniser

__all__ = ["open_window", "require_display"]


def open_window(
    plan: CutPlan,
    recording: Recording,
    folder: Path,
    *,
    recogniser: Recogniser | None = None,
    keys: Path | None = None,
    scale: float | None = None,
) -> int:
    """Show a cut until its window is closed; every change is kept in the folder's ``cuts.json``.

    Raises:
        UserError: The file of keys is wrong, or the folder cannot be written.
    """
    import tkinter as tk

    from annotate.keys import Keymap, read_overrides
    from annotate.recording.window.cut_actions import CUT_ACTIONS
    from annotate.recording.window.cut_window import CutWindow
    from annotate.window.style import make_dpi_aware

    keymap = Keymap(CUT_ACTIONS, read_overrides(keys) if keys else None, source=str(keys) if keys else "the keys")
    make_dpi_aware()
    root = tk.Tk(className="Annotate")
    try:
        CutWindow(root, plan, recording, folder, keymap=keymap, recogniser=recogniser, scale=scale)
        root.mainloop()
    finally:
        if _alive(root):
            root.destroy()
    return 0


def _alive(root: object) -> bool:
    import tkinter as tk

    try:
        return bool(root.winfo_exists())  # type: ignore[attr-defined]
    except tk.TclError:
        return False
