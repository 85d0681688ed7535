"""UI-Vision, element grounding: a folder of the release in; a data set out, or everything that is wrong with it.

::

    annotations/element_grounding/element_grounding_basic.json      a JSON list, one item per instruction
    annotations/element_grounding/element_grounding_functional.json
    annotations/element_grounding/element_grounding_spatial.json
    images/...                                                      the screenshots that image_path names

An item has ``image_path``, ``image_size``, ``prompt_to_evaluate``, ``bbox`` (two corners in pixels, in either order),
``element_type``, ``platform`` (the program) and ``category``. The layout is that of ServiceNow/ui-vision, read as by
its evaluator (uivision/UI-Vision, ``eval/grounding/eval_uivision.py``). Each file is a participant. The published
average is that of the three files: the macro average of task types.
"""

from collections.abc import Iterator

from grounding.data.fields import Four
from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import Sample


@samples_layout("ui-vision", convention="xyxy")
def load(release: Release) -> Iterator[Sample]:
    for file in release.find("element_grounding_*.json", what="annotation files of element grounding"):
        task = file.stem.removeprefix("element_grounding_")
        # The folder of annotations has one of its own for each kind of task.
        pictures = release.pictures(file.parent, "images")
        for fields in release.items(file) if release.wants(task) else ():
            category = fields.optional_text("category", "correct it")
            yield from release.sample(
                fields,
                pictures,
                task,
                image="image_path",
                instruction="prompt_to_evaluate",
                box="bbox",
                mend=_in_order,
                groups={
                    "task type": task,
                    "category": category,
                    "task type and category": category and f"{task} {category}",
                    "type": fields.text("element_type", "write text or icon"),
                    "application": fields.text("platform", "name the program"),
                },
            )


def _in_order(numbers: Four) -> Four:
    left, top, right, bottom = numbers
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)
