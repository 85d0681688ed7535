"""OSWorld-G: the ``benchmark`` folder of its repository in; a data set out, or everything that is wrong with it.

::

    OSWorld-G.json                  a JSON list, one item per instruction
    OSWorld-G_refined.json          the same items with instructions that describe the target
    classification_result.json      which capabilities an item tests, by id (read where it is there)
    images/....png                  the screenshots that image_path names

An item has ``id``, ``image_path``, ``image_size``, ``instruction``, ``box_type`` and ``box_coordinates``: for ``bbox``
left, top, width, height in pixels, for ``polygon`` its corners one after the other, x before y, and for ``refusal``
nothing that counts: the target is absent, and the right answer says so. The layout is that of xlang-ai/OSWorld-G.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from grounding.data.fields import Fields
from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import Sample
from grounding.errors import UserError
from grounding.records import GroupLabel, Point, Polygon, Region

CLASSIFICATION = "classification_result.json"
PARTICIPANT = "osworld-g"


@samples_layout("osworld-g", convention="xywh", questions="OSWorld-G.json")
def load(release: Release) -> Iterator[Sample]:
    (file,) = release.find(release.questions, what="the annotation file")
    pictures = release.pictures(file, "images")
    capabilities = _capabilities(file.parent / CLASSIFICATION)
    release.warnings += [] if capabilities else [f"{CLASSIFICATION} is not there: no scores by capability"]
    for fields in release.items(file):
        number = fields.text("id", "give the item an id")
        kind = fields.text("box_type", "write bbox, polygon or refusal")
        if kind not in ("bbox", "polygon", "refusal", ""):
            fields.report("box_type", "must be bbox, polygon or refusal", "correct it", kind)
        polygon = _corners(fields) if kind == "polygon" else None
        for sample in release.sample(
            fields,
            pictures,
            PARTICIPANT,
            image="image_path",
            instruction="instruction",
            box="box_coordinates",
            number=number,
            absent=kind != "bbox",
        ):
            labels = [("capability", one) for one in capabilities.get(number, ())] + [("shape", kind)]
            yield msgspec.structs.replace(
                sample,
                region=polygon or sample.region,
                target_absent=kind == "refusal",
                groups=tuple(GroupLabel(kind=of, name=name) for of, name in labels),
            )


def _corners(fields: Fields) -> Region | None:
    numbers = fields.numbers("box_coordinates")
    if numbers is None:
        return None
    if len(numbers) % 2 or len(numbers) < 6:
        what = "must be three corners or more, x and y of each"
        fields.report("box_coordinates", what, "correct it", numbers)
        return None
    corners = (Point(x_px=x, y_px=y) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
    return Region(polygons=(Polygon(points=tuple(corners)),))


class _Classified(msgspec.Struct):
    classified: dict[str, list[dict[str, object] | str]]


def _capabilities(file: Path) -> dict[str, tuple[str, ...]]:
    """The capabilities that each item tests, by its id; an item may test several. Empty where the file is not there.
    Raises UserError: the file cannot be read.
    """
    if not file.is_file():
        return {}
    try:
        named = msgspec.json.decode(file.read_bytes(), type=_Classified).classified
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise UserError(f"{file}: cannot be read: {error}; download it again, or do without it") from error
    found: dict[str, list[str]] = {}
    for capability, entries in named.items():
        for entry in entries:
            number = entry if isinstance(entry, str) else str(entry.get("id", ""))
            found.setdefault(number, []).append(capability.replace("_", " "))
    return {number: tuple(names) for number, names in found.items()}
