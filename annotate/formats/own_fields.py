"""The fields that COCO and labelme have no place for, under one key of ours that other tools pass over."""

from __future__ import annotations

from typing import Any

import msgspec

from annotate.records import Entry, State
from grounding.errors import UserError
from grounding.records import Record

KEY = "grounding"
"""The key of the image record (COCO) or of the file (labelme)."""


class OwnFields(Record, frozen=True, kw_only=True):
    """What an entry says beside its picture and boxes. ``participant`` is the name of the folder it belongs to."""

    participant: str = ""
    state: State | None = None
    instruction: str = ""
    transcript: str = ""
    task: str | int = ""
    action: str = ""
    comment: str = ""
    verified: bool = False
    annotator: str = ""
    at: str = ""

    def onto(self, entry: Entry) -> Entry:
        """The entry with these words; a state is taken where the boxes allow it."""
        state = entry.state if entry.boxes or self.state in (None, "boxes") else self.state
        return msgspec.structs.replace(
            entry,
            state=state,
            instruction=self.instruction,
            transcript=self.transcript,
            task=self.task,
            action=self.action,
            comment=self.comment,
            verified=self.verified,
            annotator=self.annotator,
            at=self.at,
        )


def own_fields(entry: Entry, participant: str) -> dict[str, Any]:
    """What to write under our key."""
    fields = OwnFields(
        participant=participant,
        state=entry.state,
        instruction=entry.instruction,
        transcript=entry.transcript,
        task=entry.task,
        action=entry.action,
        comment=entry.comment,
        verified=entry.verified,
        annotator=entry.annotator,
        at=entry.at,
    )
    return dict(msgspec.to_builtins(fields))


def read_own_fields(value: object) -> OwnFields:
    """What stands under our key.

    Raises:
        UserError: a field has the wrong type; the message names it.
    """
    try:
        return msgspec.convert(value, type=OwnFields)
    except msgspec.ValidationError as error:
        raise UserError(str(error)) from error
