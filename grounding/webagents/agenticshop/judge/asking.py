"""One question to a model judge: the conversation for a product and some items, with its pictures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from grounding.cards import ImageRule
from grounding.chat import NO_PICTURES
from grounding.pictures import picture_sizes, prepare_picture
from grounding.records import ImageSizes, Screenshot
from grounding.webagents.agenticshop.judge.base import JudgedProduct, StoredEvidence
from grounding.webagents.agenticshop.judge.evidence import ShownEvidence
from grounding.webagents.agenticshop.judge.prompts import JudgePrompt
from grounding.webagents.agenticshop.records import DIMENSIONS, ChecklistItem, Condition, Segment
from grounding.webagents.agenticshop.release.extractions import extraction_json
from grounding.webagents.filling import fill
from grounding.wire import ImagePart, Message, TextPart

Render = Callable[[], Sequence[Message]]


def evidence_question(
    prompt: JudgePrompt,
    condition: Condition,
    shown: ShownEvidence,
    items: Sequence[ChecklistItem],
    folder: StoredEvidence,
    rule: ImageRule,
    *,
    one: bool,
) -> Render:
    """The conversation in this project's own wording.

    Args:
        prompt: The wording.
        condition: What is shown.
        shown: The evidence, fenced.
        items: What is asked about.
        folder: Where the pictures lie.
        rule: How the model takes pictures.
        one: Ask for one verdict.

    Returns:
        What makes it; called in a worker thread, it raises OSError or ValueError for a picture that can't be sent and
        UserError for one that is not in the folder.
    """

    def render() -> Sequence[Message]:
        lead = {"full": prompt.full, "no-info": prompt.no_info, "url-only": prompt.url_only}[condition]
        opening = [fill(lead, evidence=shown.fenced)]
        if condition != "url-only":
            told = prompt.pictures if shown.pictures else prompt.no_pictures
            opening.append(fill(told, shown=str(len(shown.pictures)), all=str(shown.pictures_all)))
        parts: list[TextPart | ImagePart] = [TextPart(text="\n\n".join(each.strip() for each in opening if each))]
        for number, segment in enumerate(shown.pictures, start=1):
            parts.append(TextPart(text=fill(prompt.picture, number=str(number)).strip()))
            parts.append(_image(segment, folder, rule))
        asked = fill(prompt.one if one else prompt.all, items=items_json(items), count=str(len(items))).strip()
        if shown.pictures:
            parts.append(TextPart(text=asked))
        else:
            parts = [TextPart(text="\n\n".join([*(part.text for part in parts if isinstance(part, TextPart)), asked]))]
        return (
            Message(role="system", parts=(TextPart(text=prompt.system.strip()),)),
            Message(role="user", parts=tuple(parts)),
        )

    return render


def official_question(prompt: JudgePrompt, subject: JudgedProduct) -> Render:
    """The conversation as the release has it: what was extracted and the checklist, both as JSON."""

    def render() -> Sequence[Message]:
        checklist: dict[str, list[str]] = {dimension: [] for dimension in DIMENSIONS}
        for item in subject.checklist:
            checklist[item.dimension].append(item.text)
        response = json.dumps(extraction_json(subject.extraction), ensure_ascii=False, indent=2)
        text = fill(prompt.full, response=response, checklist=json.dumps(checklist, ensure_ascii=False, indent=2))
        return (
            Message(role="system", parts=(TextPart(text=prompt.system),)),
            Message(role="user", parts=(TextPart(text=text),)),
        )

    return render


def items_json(items: Sequence[ChecklistItem]) -> str:
    """Items as JSON, one a line, so that no item's words can look like another item."""
    lines = [msgspec.json.encode({"id": item.id, "item": item.text}).decode() for item in items]
    return "[" + ",\n ".join(lines) + "]"


def largest_sizes(pictures: Sequence[Segment], rule: ImageRule) -> ImageSizes:
    """The sizes of the largest picture of a question.

    Raises:
        ValueError: the model refuses a picture of that shape.
    """
    sizes = [picture_sizes(segment.size, rule) for segment in pictures]
    return max(sizes, key=lambda each: each.sent.width * each.sent.height, default=NO_PICTURES)


def _image(segment: Segment, folder: StoredEvidence, rule: ImageRule) -> ImagePart:
    # Reading it by its name checks that it is what was kept.
    folder.get(segment.file)
    shot = Screenshot(path=str(folder.path / segment.file), size=segment.size, sha256=segment.file.partition(".")[0])
    return ImagePart(url_json=prepare_picture(shot, rule).url_json)
