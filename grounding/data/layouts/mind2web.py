"""Multimodal-Mind2Web: a folder of parquet files in; a data set out, or everything that is wrong with it.

::

    data/test_task-00000-of-00003-....parquet        one row per action; files whose names begin with test_ are read
    data/test_website-...parquet
    data/test_domain-...parquet

The layout is that of osunlp/Multimodal-Mind2Web. A row has ``annotation_id`` (the task), ``confirmed_task`` (its
words), ``action_uid``, ``operation`` (JSON with ``op``), ``pos_candidates`` (JSON texts; ``attributes``, JSON again,
has ``bounding_box_rect``: left, top, width, height in pixels, all -1 where the element was not drawn), ``screenshot``
(the bytes of a picture), ``action_reprs`` (all actions of the task in words), ``target_action_index``, ``website`` and
``domain``.

A split is a participant, a task an episode: a click in any of the positive candidates is right, rows without a drawn
one are not scored. ``--questions task`` (the default) says the task's words at every step, for a planner to find the
next action; ``--questions action`` says the recorded action, which names the element: a ceiling for planners. Earlier
actions make up the history. Pages are long: screenshots reach over far more than one screen.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grounding.data.fields import Four
from grounding.data.layouts import Release, samples_layout
from grounding.data.packed import ParquetRow, Unpacker
from grounding.data.samples import Sample, episode_labels
from grounding.errors import UserError
from grounding.records import GroupLabel, HistoryEntry, Record

_COLUMNS = (
    "action_uid",
    "operation",
    "pos_candidates",
    "website",
    "domain",
    "annotation_id",
    "confirmed_task",
    "screenshot",
    "action_reprs",
    "target_action_index",
)
_NOT_DRAWN = (-1.0, -1.0, -1.0, -1.0)


class Mind2WebRow(Record, frozen=True, kw_only=True):
    """One action. ``boxes`` are left, top, width, height in pixels; ``picture`` is kept, "" where there is none."""

    number: int
    action_uid: str
    task_id: str
    task: str
    website: str
    domain: str
    op: str
    index: int
    action: str
    picture: str
    boxes: tuple[Four, ...]


@samples_layout("multimodal-mind2web", convention="xywh", questions=("task", "action"))
def load(release: Release) -> Iterator[Sample]:
    unpacker = Unpacker("multimodal-mind2web")
    found: list[tuple[Path, str, Mind2WebRow]] = []
    for file in release.find("test_*.parquet", what="parquet files of a test split"):
        split = file.name.partition("-")[0]
        if release.wants(split):
            rows = unpacker.parquet(file, _COLUMNS)
            found += [(file, split, _row(row, number, file)) for number, row in enumerate(rows)]
    labels = episode_labels((row.task_id, row.task) for _, _, row in found)
    # A task's actions may lie in several files, and need not come in their order.
    first = {row.task_id: position for position, (_, _, row) in reversed(list(enumerate(found)))}
    found.sort(key=lambda one: (one[1], first[one[2].task_id], one[2].index))
    for file, split, row in found:
        if row.picture:
            yield Sample(
                file=str(file),
                item=row.number,
                field="pos_candidates",
                id=f"{split}/{row.action_uid}",
                participant=split,
                image=unpacker.picture(row.picture),
                instruction=row.task if release.questions == "task" else row.action or row.task,
                boxes=row.boxes,
                task=labels[row.task_id],
                action=row.action,
                history_entry=HistoryEntry(instruction=row.task, action=row.action) if release.with_history else None,
                groups=(
                    GroupLabel(kind="split", name=split),
                    GroupLabel(kind="operation", name=row.op),
                    GroupLabel(kind="domain", name=row.domain),
                    GroupLabel(kind="website", name=row.website),
                ),
            )
    if unscored := sum(not row.picture for _, _, row in found):
        release.warnings.append(f"rows left out, because they have no screenshot: {unscored}")


def _row(row: ParquetRow, number: int, file: Path) -> Mind2WebRow:
    values = row.values
    try:
        index = int(values["target_action_index"])
        reprs = values["action_reprs"] or []
        return Mind2WebRow(
            number=number,
            action_uid=values["action_uid"],
            task_id=values["annotation_id"],
            task=values["confirmed_task"],
            website=values["website"] or "",
            domain=values["domain"] or "",
            op=str(msgspec.json.decode(values["operation"])["op"]),
            index=index,
            action=reprs[index].strip() if 0 <= index < len(reprs) else "",
            picture=row.picture,
            boxes=tuple(_boxes(values["pos_candidates"] or ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError, msgspec.DecodeError) as error:
        raise UserError(
            f"{file}: row {number} is not of the data set's own layout: {error!r}; download it again"
        ) from error


def _boxes(candidates: Iterable[str]) -> Iterator[Four]:
    for text in candidates:
        rect = msgspec.json.decode(msgspec.json.decode(text)["attributes"])["bounding_box_rect"]
        left, top, width, height = (float(number) for number in rect.split(","))
        if (left, top, width, height) != _NOT_DRAWN and width > 0 and height > 0:
            yield (left, top, width, height)
