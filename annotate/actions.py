"""What can be done in the window, by name, with the keys that people know for it."""

from __future__ import annotations

from grounding.records import Record


class Action(Record, frozen=True, kw_only=True):
    """Something that a key does.

    ``name`` is what a file of keys calls it, ``words`` what the list of keys shows, under the heading ``group``.
    ``while_typing`` marks an action whose keys also work in a text field, as far as they are not for typing.
    """

    name: str
    words: str
    keys: tuple[str, ...] = ()
    group: str = "Steps"
    while_typing: bool = False


ACTIONS: tuple[Action, ...] = (
    Action(name="next-step", words="Next step", keys=("D", "Mod+Right", "PageDown"), while_typing=True),
    Action(name="previous-step", words="Previous step", keys=("A", "Mod+Left", "PageUp"), while_typing=True),
    Action(name="first-step", words="First step", keys=("Home",)),
    Action(name="last-step", words="Last step", keys=("End",)),
    Action(name="next-todo", words="Next step that is still to do", keys=("J",)),
    Action(name="first-todo", words="First step that is still to do", keys=("Shift+J",)),
    Action(name="verify", words="Verified, or not any more", keys=("Space", "V")),
    Action(name="no-click", words="Not a click, or still to do", keys=("N",)),
    Action(name="filter", words="Search the steps", keys=("F",)),
    Action(name="new-box", words="Draw a new box", keys=("W",), group="Boxes"),
    Action(name="cancel", words="Leave what is going on; leave a text field", keys=("Escape",), group="Boxes",
           while_typing=True),
    Action(name="next-box", words="Select the next box", keys=("Tab", "Alt+."), group="Boxes"),
    Action(name="previous-box", words="Select the box before", keys=("Shift+Tab", "Alt+,"), group="Boxes"),
    Action(name="delete-box", words="Delete the box", keys=("Delete", "Backspace"), group="Boxes"),
    Action(name="duplicate-box", words="Duplicate the box", keys=("Mod+D",), group="Boxes"),
    Action(name="copy-box", words="Copy the box, or all where none is selected", keys=("Mod+C",), group="Boxes"),
    Action(name="paste-box", words="Paste at the same place, into any step", keys=("Mod+V",), group="Boxes"),
    Action(name="copy-to-next", words="Copy the boxes to the next step and go there", keys=("Mod+B",), group="Boxes"),
    Action(name="box-kind", words="Kind of the box: text, icon, not said", keys=("Mod+E",), group="Boxes"),
    Action(name="move-left", words="Move 1 px to the left", keys=("Left",), group="Nudging"),
    Action(name="move-right", words="Move 1 px to the right", keys=("Right",), group="Nudging"),
    Action(name="move-up", words="Move 1 px up", keys=("Up",), group="Nudging"),
    Action(name="move-down", words="Move 1 px down", keys=("Down",), group="Nudging"),
    Action(name="move-left-10", words="Move 10 px to the left", keys=("Shift+Left",), group="Nudging"),
    Action(name="move-right-10", words="Move 10 px to the right", keys=("Shift+Right",), group="Nudging"),
    Action(name="move-up-10", words="Move 10 px up", keys=("Shift+Up",), group="Nudging"),
    Action(name="move-down-10", words="Move 10 px down", keys=("Shift+Down",), group="Nudging"),
    Action(name="right-edge-left", words="Right edge 1 px to the left", keys=("Alt+Left",), group="Nudging"),
    Action(name="right-edge-right", words="Right edge 1 px to the right", keys=("Alt+Right",), group="Nudging"),
    Action(name="bottom-edge-up", words="Bottom edge 1 px up", keys=("Alt+Up",), group="Nudging"),
    Action(name="bottom-edge-down", words="Bottom edge 1 px down", keys=("Alt+Down",), group="Nudging"),
    Action(name="left-edge-left", words="Left edge 1 px to the left", keys=("Mod+Shift+Left",), group="Nudging"),
    Action(name="left-edge-right", words="Left edge 1 px to the right", keys=("Mod+Shift+Right",), group="Nudging"),
    Action(name="top-edge-up", words="Top edge 1 px up", keys=("Mod+Shift+Up",), group="Nudging"),
    Action(name="top-edge-down", words="Top edge 1 px down", keys=("Mod+Shift+Down",), group="Nudging"),
    Action(name="zoom-in", words="Zoom in at the cursor", keys=("Mod++", "Mod+="), group="View"),
    Action(name="zoom-out", words="Zoom out at the cursor", keys=("Mod+-",), group="View"),
    Action(name="zoom-100", words="100 %: one pixel is one pixel", keys=("Mod+0",), group="View"),
    Action(name="fit", words="The whole picture", keys=("Mod+F",), group="View"),
    Action(name="zoom-box", words="Zoom to the box", keys=("E",), group="View"),
    Action(name="keep-zoom", words="Keep the zoom between steps, or not", keys=("K",), group="View"),
    Action(name="toggle-boxes", words="Show or hide the boxes", keys=("T",), group="View"),
    Action(name="crosshair", words="Crosshair on or off", keys=("X",), group="View"),
    Action(name="magnifier", words="Magnifier on or off", keys=("M",), group="View"),
    Action(name="edit-instruction", words="Edit the instruction", keys=("I",), group="Text"),
    Action(name="edit-transcript", words="Edit the transcript", keys=("R",), group="Text"),
    Action(name="edit-task", words="Edit the task", keys=("G",), group="Text"),
    Action(name="edit-action", words="Edit the action", keys=("Y",), group="Text"),
    Action(name="edit-comment", words="Edit the comment", keys=("C",), group="Text"),
    Action(name="undo", words="Undo, in this step", keys=("Mod+Z",), group="Program", while_typing=True),
    Action(name="redo", words="Redo", keys=("Mod+Shift+Z", "Mod+Y"), group="Program", while_typing=True),
    Action(name="save", words="Save now", keys=("Mod+S",), group="Program", while_typing=True),
    Action(name="open", words="Open another folder", keys=("Mod+U",), group="Program", while_typing=True),
    Action(name="help", words="This list", keys=("?", "F1"), group="Program", while_typing=True),
    Action(name="quit", words="Close the window", keys=("Mod+Q",), group="Program", while_typing=True),
)  # fmt: skip
"""What the window can do by itself; panels bring further actions."""
