"""OmniACT: a folder of the release in; a data set out, or everything that is wrong with it.

::

    test.json                                                an object of items, keyed by number
    data/tasks/desktop/ibooks/task_1.30.txt                  "Task: …" and "Output Script:" with pyautogui calls
    data/data/desktop/ibooks/screen_1.png                    the screenshots
    data/metadata/desktop/boxes/ibooks/screen_1.json         the elements: top_left, bottom_right in pixels, label

An item names its ``task``, ``image`` and ``box`` file. The layout is that of Writer/omniact, whose ``data.zip`` may
stay as it is; for web items the released files are called ``screen1.png`` and ``screen1_boxes.json`` where the items
say ``screen_1``.

OmniACT scores whole scripts. Here a step is scored where its script clicks in exactly one place, and the gold box is
the smallest element that holds the place; scripts without a click, with several, or with one outside all elements are
not scored, which ``Dataset.warnings`` counts. Desktop and web are participants.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from grounding.data.fields import Fields, Four, read_items
from grounding.data.folders import ImageLocator
from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import Sample, smallest_around
from grounding.errors import UserError
from grounding.records import GroupLabel

_PLACES = re.compile(
    r"pyautogui\.(click|doubleClick|rightClick|moveTo|dragTo)\(\s*(?:x\s*=\s*)?(-?\d+(?:\.\d+)?)\s*,"
    r"\s*(?:y\s*=\s*)?(-?\d+(?:\.\d+)?)"
)
_TASK = re.compile(r"Task:\s*(.*?)\s*Output Script:", re.DOTALL)


class Element(msgspec.Struct):
    top_left: tuple[float, float]
    bottom_right: tuple[float, float]


@samples_layout("omniact", convention="xyxy", questions="test.json")
def load(release: Release) -> Iterator[Sample]:
    (file,) = release.find(release.questions, what="the questions file")
    # Items say data/... themselves: their paths begin beside that folder.
    pictures = release.pictures(file, "data/..", archive="data.zip")
    unscored: Counter[str] = Counter()
    elements: dict[Path, list[Four]] = {}
    try:
        listed = msgspec.json.decode(file.read_bytes(), type=dict[str, object])
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise UserError(f"{file}: cannot be read as an object of items: {error}; download it again") from error
    numbers = list(listed)
    for fields in read_items(listed.values(), file, release.problems):
        task, image, boxes = (_located(fields, name, pictures) for name in ("task", "image", "box"))
        said = None if task is None else _said(task, fields)
        if image is None or boxes is None or said is None:
            continue
        if boxes not in elements:
            elements[boxes] = _elements(boxes, fields)
        calls = _PLACES.findall(said[1])
        places = dict.fromkeys((float(x), float(y)) for _, x, y in calls)
        box = smallest_around(*next(iter(places)), elements[boxes]) if len(places) == 1 else None
        if box is None:
            why = "outside all recorded elements" if len(places) == 1 else "in several places" if places else "nowhere"
            unscored[why] += 1
        parts = Path(fields.text("image", "")).parts
        platform = next((part for part in parts if part in ("desktop", "web")), "other")
        yield Sample(
            file=str(file),
            item=fields.item,
            field="box",
            id=f"{platform}/{numbers[fields.item or 0]}",
            participant=platform,
            image=image,
            instruction=said[0],
            boxes=() if box is None else (box,),
            action=said[1],
            groups=(
                GroupLabel(kind="platform", name=platform),
                GroupLabel(kind="application", name=image.parent.name),
                *(GroupLabel(kind="action", name=call) for call in dict.fromkeys(call for call, _, _ in calls)),
            ),
        )
    release.warnings += [f"steps not scored, because the script clicks {why}: {n}" for why, n in unscored.items()]


def _located(fields: Fields, field: str, pictures: ImageLocator) -> Path | None:
    found = pictures.named_by(fields, field, "name the file")
    if found is None:
        return None
    bare = found.with_name(found.name.replace("screen_", "screen"))
    for file in (found, bare, bare.with_name(f"{bare.stem}_boxes{bare.suffix}")):
        if file.is_file():
            return file
    fields.report(field, "there is no such file", "unpack data.zip beside the questions file", fields.values[field])
    return None


def _said(file: Path, fields: Fields) -> tuple[str, str] | None:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fields.report("task", f"the file {file} cannot be read ({error})", "download it again")
        return None
    task = _TASK.search(text)
    if task is None or not task[1]:
        fields.report("task", f"the file {file} has no Task before its Output Script", "download it again")
        return None
    return task[1], text[task.end() :].strip()


def _elements(file: Path, fields: Fields) -> list[Four]:
    try:
        decoded = msgspec.json.decode(file.read_bytes())
        listed: Iterable[Any] = decoded.values() if isinstance(decoded, dict) else decoded
        found = msgspec.convert(list(listed), list[Element], strict=False)
    except (OSError, UnicodeDecodeError, TypeError, msgspec.MsgspecError) as error:
        fields.report("box", f"the file {file} does not list elements ({error})", "download it again")
        return []
    return [(*each.top_left, *each.bottom_right) for each in found]
