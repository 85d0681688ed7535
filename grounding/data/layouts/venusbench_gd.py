"""VenusBench-GD: a folder of the release in; a data set out, or everything that is wrong with it.

::

    instruction/element_grounding.json      a JSON list, one item per instruction; a file for each of six tasks
    images/mobile/....png                   the screenshots that img_filename names, in web, mobile and desktop

An item has ``img_filename``, ``instruction``, ``instruction_zh`` and ``bbox``: left, top, right, bottom in pixels.
Where nothing on the screen is meant (the task of refusals), the box is absent or four times -1: then an answer that
says so is right and any point wrong, as by the newest evaluator of its authors. ``platform``, ``application``,
``group`` and ``ui_type`` are read where they are. The layout is that of inclusionAI/VenusBench-GD; the meaning of the
box is that of inclusionAI/UI-Venus (branch VenusBench-GD, ``eval.py``, which has no rule for refusals; UI-Venus 2,
``models/grounding/eval_single_benchmark.py``, has one). Each file is a participant.
"""

from collections.abc import Iterator

from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import Sample

INSTRUCTIONS = {"en": "instruction", "cn": "instruction_zh"}
"""What ``--questions`` chooses: the instructions in English (the default) or in Chinese."""


@samples_layout("venusbench-gd", convention="xyxy", questions=tuple(INSTRUCTIONS))
def load(release: Release) -> Iterator[Sample]:
    for file in release.find("instruction/*.json", what="files of instructions"):
        task = file.stem.removesuffix("_grounding").removesuffix("_spatial")
        pictures = release.pictures(file, "images")
        for fields in release.items(file) if release.wants(task) else ():
            kinds = {kind: fields.optional_text(kind, "correct it") for kind in ("platform", "application", "group")}
            kinds["platform"] = kinds["platform"] or fields.optional_text("img_filename", "").partition("/")[0]
            yield from release.sample(
                fields,
                pictures,
                task,
                image="img_filename",
                instruction=INSTRUCTIONS[release.questions],
                box="bbox",
                absent=fields.values.get("bbox") in (None, [-1, -1, -1, -1]),
                groups={"task type": task, **kinds, "type": fields.optional_text("ui_type", "correct it")},
            )
