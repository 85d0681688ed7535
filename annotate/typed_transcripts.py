"""What was said at a step, typed where there is no recording of it.

It lies in ``transcriptions_GT.json`` as an item with the step's picture and no ``audio``, apart from what any machine
heard, and beside what people corrected in recordings.
"""

from __future__ import annotations

from pathlib import Path

from annotate.heard import CORRECTED
from annotate.transcripts.corrections import Corrected, read_corrected, write_corrected
from grounding.errors import UserError


def keep_typed(folder: Path, image: str, text: str) -> None:
    """Write a person's words for a step's picture; all other items stay.

    Without any words the picture's item goes, and what a recogniser heard counts again.

    Raises:
        UserError: The file cannot be read or written, or its texts belong to steps by their place, so that one more
            would move them.
    """
    items = read_corrected(folder)
    if any(not one.audio and not one.steps for one in items):
        raise UserError(
            f"{folder / CORRECTED}: its texts name neither recordings nor pictures and belong to the steps by their "
            'place: correct it there, or give each item steps, a list such as ["images/1.png"]'
        )
    typed = Corrected(audio="", steps=(image,), text=text, checked=True)
    kept = [one for one in items if one.audio or one.steps != typed.steps]
    if text:
        kept.append(typed)
    if kept:
        write_corrected(folder, kept)
    else:  # A list of nothing is no file of transcripts.
        (folder / CORRECTED).unlink(missing_ok=True)
