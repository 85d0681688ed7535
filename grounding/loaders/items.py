"""One questions file of the RealWebAssist layout: decoded JSON in; one row per step out, or problems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from grounding.loaders.boxes import NamedBox, read_boxes
from grounding.loaders.fields import Fields
from grounding.loaders.problems import Problem, shorten
from grounding.records import Record, TaskLabel

IMAGE_FIELD = "final_image"


class Row(Record, frozen=True, kw_only=True):
    """What one item of a questions file says, before its screenshot is looked at.

    ``image`` is the path inside the participant's folder in its shortest form, "" where the item has none that can be
    used. ``boxes`` is None for a step without a click.
    """

    item: int
    task: TaskLabel
    instruction: str
    action: str
    image: str
    boxes: tuple[NamedBox, ...] | None


def read_rows(items: Sequence[object], file: str, problems: list[Problem]) -> list[Row]:
    """A row for every item; after a problem the row holds stand-ins, and nothing must be built from it.

    Fields as the official evaluator reads them: ``instruction``, ``final_image`` and ``bounding_box`` are needed;
    ``task`` may be absent and is ``unknown_<position>`` then; ``action`` is only passed along, so that its absence
    and null are "" here, and a value that is no text is kept as its JSON text. Other fields are not read.
    """
    return [_read_row(value, item, file, problems) for item, value in enumerate(items)]


def _read_row(value: object, item: int, file: str, problems: list[Problem]) -> Row:
    if not isinstance(value, dict):
        what, fix = "must be an object with instruction, final_image and bounding_box", "correct or remove it"
        problems.append(Problem(file=file, item=item, value=shorten(value), what=what, fix=fix))
        return Row(item=item, task="", instruction="", action="", image="", boxes=None)
    fields = Fields(file, item, value, problems)
    image = fields.text(IMAGE_FIELD, "name the screenshot, like images/12.png")
    return Row(
        item=item,
        task=_read_task(fields, item),
        instruction=fields.text("instruction", "write what the user said"),
        action=fields.json_text("action"),
        image=str(PurePosixPath(image)) if image.strip() else "",
        boxes=read_boxes(fields),
    )


def _read_task(fields: Fields, item: int) -> TaskLabel:
    if not fields.has("task"):
        return f"unknown_{item}"
    value = fields.raw("task", "")
    if isinstance(value, bool) or not isinstance(value, str | int):
        fields.report("task", "must be text or a whole number", "correct it or leave the field out", value)
        return ""
    return value
