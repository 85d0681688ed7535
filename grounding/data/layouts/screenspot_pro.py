"""ScreenSpot-Pro: a folder of the release in; a data set out, or everything that is wrong with it.

::

    annotations/android_studio_macos.json     a JSON list, one item per instruction
    annotations/...                           one file per application and platform
    images/android_studio_mac/....png         the screenshots that img_filename names

An item has ``id``, ``img_filename``, ``img_size``, ``instruction``, ``instruction_cn``, ``bbox`` (left, top, right,
bottom in pixels), ``application``, ``platform``, ``group`` and ``ui_type`` (text or icon). The layout is that of
likaixin/ScreenSpot-Pro; the meaning of the box is that of its evaluator (likaixin2000/ScreenSpot-Pro-GUI-Grounding,
``eval_screenspot_pro.py``). That evaluator also knows negative targets, of which the release has none: an item of your
own with ``"gt_type": "negative"`` needs no box, and the right answer is that there is no such place. Each annotation
file is a participant. lmms-lab/ScreenSpot-Pro is the same in parquet, with the pictures in ``image``.
"""

from collections import Counter
from collections.abc import Iterator

from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import Sample

INSTRUCTIONS = {"en": "instruction", "cn": "instruction_cn"}
"""What ``--questions`` chooses: the instructions in English (the default) or in Chinese."""


@samples_layout("screenspot-pro", convention="xyxy", questions=tuple(INSTRUCTIONS))
def load(release: Release) -> Iterator[Sample]:
    kept = (release.folder / "annotations").is_dir()
    files = release.find(*(["annotations/*.json"] if kept else ["*.json", "*.parquet"]), what="annotation files")
    counts: Counter[str] = Counter()
    for file in files:
        pictures = release.pictures(file, "images")
        for fields in release.items(file):
            kinds = {
                "group": fields.optional_text("group", "correct it"),
                "application": fields.text("application", "name it"),
                "platform": fields.text("platform", "name it"),
                "type": fields.text("ui_type", "write text or icon"),
            }
            part = f"{kinds['application']}_{kinds['platform']}" if file.suffix == ".parquet" else file.stem
            counts[part] += 1
            if kinds["group"]:
                kinds["group and type"] = f"{kinds['group']} {kinds['type']}"
            if release.wants(part):
                yield from release.sample(
                    fields,
                    pictures,
                    part,
                    image="img_filename",
                    instruction=INSTRUCTIONS[release.questions],
                    box="bbox",
                    number=fields.optional_text("id", "correct it or leave it out") or counts[part] - 1,
                    groups=kinds,
                    absent=fields.optional_text("gt_type", "write positive or negative") == "negative",
                )
