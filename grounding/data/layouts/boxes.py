"""A list of one's own: pictures, instructions and boxes in one file; a data set out, or everything wrong with it.

::

    items.json      [{"image": "shots/1.png", "instruction": "the search field", "bbox": [12, 30, 240, 62]}, ...]
    shots/1.png     where ``image`` says, seen from the file

The file is ``items.json``, ``.jsonl``, ``.csv`` (a box is ``"[12, 30, 240, 62]"``) or ``.parquet``, where ``image`` may
be the picture itself. The name of the box's field says what its numbers are: ``bbox`` or ``bbox_xyxy`` is left, top,
right, bottom in pixels of the picture, edges included; ``bbox_xywh`` is left, top, width, height in pixels;
``bbox_xyxy_rel`` and ``bbox_xywh_rel`` are the same from 0 to 1. An item may have an ``id`` (else its number) and a
``group``, such as an application, by which the scores are broken down. Items stand alone: no step follows another.
"""

from collections.abc import Iterator

from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import WORDS, Convention, Sample
from grounding.errors import UserError

FIELDS: dict[str, Convention] = {"bbox": "xyxy", **{f"bbox_{convention}": convention for convention in WORDS}}


@samples_layout("boxes", convention="xyxy", questions="items.*")
def load(release: Release) -> Iterator[Sample]:
    files = release.find(release.questions, what="the list of items: items.json, .jsonl, .csv or .parquet")
    if len(files) > 1 and {file.suffix for file in files} != {".parquet"}:
        raise UserError(
            f"--data-dir {release.folder}: several lists of items ({', '.join(file.name for file in files)}): choose "
            "one with --questions NAME"
        )
    pictures = release.pictures(files[0])
    for number, fields in enumerate(fields for file in files for fields in release.items(file)):
        field = next((name for name in FIELDS if fields.has(name)), "bbox")
        own, group = (str(fields.values.get(key) or "") for key in ("id", "group"))
        yield from release.sample(
            fields,
            pictures,
            "boxes",
            image="image",
            instruction="instruction",
            box=field,
            convention=FIELDS[field],
            number=own or number,
            groups={"group": group},
        )
