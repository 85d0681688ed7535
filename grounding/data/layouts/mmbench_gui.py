"""MMBench-GUI L2, element grounding: a folder of the release in; a data set out, or everything that is wrong with it.

::

    L2_annotations.json                     a JSON list, one item per instruction
    offline_images/os_windows/....png       the screenshots, in a folder per platform (or MMBench-GUI-OfflineImages.zip)

An item has ``index``, ``image_path`` (the name in its platform's folder), ``instruction``, ``bbox``, ``data_type``
(text or icon), ``platform``, ``app_name`` and ``grounding_type`` (basic or advanced). The layout is that of
OpenGVLab/MMBench-GUI; the box is read as by its evaluator (open-compass/MMBench-GUI,
``benchmarks/l2_element_grounding.py``): the two corners, from 0 to 1 where all four numbers are, else in pixels with -1
for 0. Each platform is a participant. The published average is that of basic and advanced: the macro average of levels.
"""

from collections.abc import Iterator

from grounding.data.fields import Four
from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import Sample, are_relative


@samples_layout("mmbench-gui-l2", convention="xyxy")
def load(release: Release) -> Iterator[Sample]:
    (file,) = release.find("L2_annotations.json", what="the annotations of level 2")
    pictures = release.pictures(file, "offline_images", archive="MMBench-GUI-OfflineImages.zip")
    for fields in release.items(file):
        platform = fields.text("platform", "name it, such as os_windows")
        ui_type = fields.text("data_type", "write text or icon")
        level = fields.text("grounding_type", "write basic or advanced")
        fields.values["image_path"] = f"{platform}/{fields.text('image_path', 'name the screenshot')}"
        if release.wants(platform):
            yield from release.sample(
                fields,
                pictures,
                platform,
                image="image_path",
                instruction="instruction",
                box="bbox",
                number=fields.values.get("index", fields.item),
                convention="xyxy_rel" if are_relative(fields.values.get("bbox")) else None,
                mend=_from_zero,
                groups={
                    "level": level,
                    "platform": platform,
                    "platform and level": f"{platform} {level}",
                    "type": ui_type,
                    "application": fields.optional_text("app_name", "correct it"),
                },
            )


def _from_zero(numbers: Four) -> Four:
    left, top, right, bottom = (0.0 if number == -1 else number for number in numbers)
    return left, top, right, bottom
