"""What can be done in the window of the session cutter, with its keys."""

from __future__ import annotations

from annotate.actions import Action

CUT_ACTIONS: tuple[Action, ...] = (
    Action(name="next-step", words="Next step", keys=("Down", "D", "PageDown"), group="Steps"),
    Action(name="previous-step", words="Step before", keys=("Up", "A", "PageUp"), group="Steps"),
    Action(name="first-step", words="First step", keys=("Home",), group="Steps"),
    Action(name="last-step", words="Last step", keys=("End",), group="Steps"),
    Action(name="merge", words="Merge with the next step", keys=("M",), group="Steps"),
    Action(name="split", words="New step at the cursor", keys=("S",), group="Steps"),
    Action(name="drop", words="Drop the step", keys=("Delete", "Backspace"), group="Steps"),
    Action(name="retime", words="Take the screenshot at the cursor", keys=("T", "Return"), group="Steps"),
    Action(name="split-words", words="Split the instruction at the cursor", keys=("X",), group="Words"),
    Action(name="join-words", words="Join the instruction with the one before", keys=("J",), group="Words"),
    Action(name="same-words", words="Carry out the instruction of the step before", keys=("B",), group="Words"),
    Action(name="start-words", words="The instruction's clip starts at the cursor", keys=("[",), group="Words"),
    Action(name="end-words", words="The instruction's clip ends at the cursor", keys=("]",), group="Words"),
    Action(name="hear-again", words="Let the recogniser hear the clip again", keys=("H",), group="Words"),
    Action(name="edit-words", words="Correct the instruction", keys=("I",), group="Words"),
    Action(name="edit-task", words="Name the task", keys=("K",), group="Words"),
    Action(name="play", words="Play from the cursor, or stop", keys=("Space",), group="Time"),
    Action(name="play-words", words="Play the instruction", keys=("P",), group="Time"),
    Action(name="back", words="Cursor one frame back", keys=("Left",), group="Time"),
    Action(name="forward", words="Cursor one frame on", keys=("Right",), group="Time"),
    Action(name="back-second", words="Cursor one second back", keys=("Shift+Left",), group="Time"),
    Action(name="forward-second", words="Cursor one second on", keys=("Shift+Right",), group="Time"),
    Action(name="zoom-in", words="Zoom into the time line", keys=("+", "="), group="Time"),
    Action(name="zoom-out", words="Zoom out of the time line", keys=("-",), group="Time"),
    Action(name="fit", words="Show all of the recording", keys=("0",), group="Time"),
    Action(name="cancel", words="Leave a text field", keys=("Escape",), group="Window", while_typing=True),
    Action(name="undo", words="Undo", keys=("Mod+Z",), group="Window", while_typing=True),
    Action(name="redo", words="Do again", keys=("Mod+Shift+Z", "Mod+Y"), group="Window", while_typing=True),
    Action(name="write", words="Write the participant's folder", keys=("Mod+S",), group="Window", while_typing=True),
    Action(name="help", words="This list", keys=("?", "F1"), group="Window"),
    Action(name="quit", words="Close the window", keys=("Mod+Q",), group="Window", while_typing=True),
)
