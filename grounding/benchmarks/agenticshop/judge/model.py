"""A chat model as judge: what it is asked and shown, and its reply, item by item, with quotes that are looked up.

Wordings are files of two styles: ``evidence`` is this project's own, for the paper's three conditions (table 3);
``official`` the release's, which shows the extraction and the checklist as JSON and wants stats back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import msgspec

from grounding.benchmarks.asking import Opened
from grounding.benchmarks.calls import Wording, fill, read_wording
from grounding.errors import UserError
from grounding.llm.wire import ImagePart, Message, TextPart
from grounding.records import Box, Failure

from ..asking import (
    OFFICIAL,
    ask,
    bounded,
    fact_lines,
    fence_mark,
    folded,
    largest_sizes,
    one_line,
    picture_part,
    reply_objects,
    stands_in,
)
from ..loader import checklist_of
from ..records import ChecklistItem, Condition, ItemVerdict, Judgement, PlaceOnPage, Reported, Segment, VerdictFlag
from ..release import extraction_json, read_evaluation, read_reported
from ..web.evidence import EvidenceFolder
from .base import JudgedProduct, no_product, unjudged

VERSION = 2  # Goes up when the same product is shown, or a reply read, otherwise: part of a judge's identity.
MAX_CHARS = {"ADDRESS": 2_000, "FACTS": 20_000, "DATA": 16_000, "TEXT": 40_000}
MAX_PICTURES = 8


class ProductJudgePrompt(Wording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The official style has ``system`` and ``full``, and the schema that the release sends, as JSON text."""

    style: Literal["evidence", "official"]
    system: str
    full: str
    no_info: str = ""
    url_only: str = ""
    pictures: str = ""
    no_pictures: str = ""
    picture: str = ""
    all: str = ""
    schema_name: str = ""
    schema: str = ""


def judge_prompt(name: str | None = None) -> ProductJudgePrompt:
    """The bundled wording of this name, or a YAML file of one's own; raises a UserError where it can't be used."""
    prompt = read_wording("agenticshop", name or "evidence", ProductJudgePrompt, prefix="judge-")
    if prompt.style == "evidence" and not all((prompt.no_info, prompt.url_only, prompt.picture, prompt.all)):
        raise UserError(f"{name}: a wording of the style evidence needs no_info, url_only, picture and all")
    return prompt


def reply_form(prompt: Any) -> dict[str, Any]:
    """What the release's wordings send along: the form of the reply."""
    schema = msgspec.Raw(prompt.schema.strip().encode())
    return {"type": "json_schema", "strict": True, "name": prompt.schema_name, "schema": schema}


class ShownEvidence(NamedTuple):
    """What a judge is shown: the fenced words, and the first of ``pictures_all`` pictures. ``words`` are the pieces
    without their fence, in which quotes are looked for.
    """

    fenced: str = ""
    words: tuple[str, ...] = ()
    pictures: tuple[Segment, ...] = ()
    pictures_all: int = 0


def shown_evidence(subject: JudgedProduct, condition: Condition) -> ShownEvidence:
    """The evidence of a product as a judge is shown it, pictures from the top of the page. ``full`` shows address,
    facts, data, text and pictures, ``no-info`` address and pictures, ``url-only`` the address.
    """
    url, facts, page = subject.extraction.url, subject.extraction.facts, subject.extraction.page
    texts = {"ADDRESS": one_line(url)}
    seen = page if condition == "full" else None
    if seen is not None:
        if seen.final_url not in ("", url):
            texts["ADDRESS"] += f"\nleads to: {one_line(seen.final_url)}"
        if seen.fetched_at:
            texts["ADDRESS"] += f"\nseen on: {one_line(seen.fetched_at[:10])}"
        if facts is not None:
            texts["FACTS"] = "\n".join(f"{name}: {words}" for _, name, words in fact_lines(facts))
        texts["DATA"] = "\n".join(f"{one.source}: {one.json}" for one in seen.data)
        texts["TEXT"] = f"{one_line(seen.title)}\n{seen.text}" if seen.title else seen.text
    pieces = {name: bounded(text, MAX_CHARS[name]) for name, text in texts.items() if text}
    if seen is not None and seen.text_cut:
        pieces["TEXT"] = pieces.get("TEXT", "") + "\n[the page's text was cut off when it was kept]"
    mark = fence_mark(*pieces.values())
    fenced = [f"PAGE-DATA {mark} BEGIN {name}\n{text}\nPAGE-DATA {mark} END" for name, text in pieces.items()]
    segments = () if page is None or condition == "url-only" else page.segments
    return ShownEvidence("\n\n".join(fenced), tuple(pieces.values()), segments[:MAX_PICTURES], len(segments))


def _words(*texts: str) -> TextPart:
    return TextPart(text="\n\n".join(text.strip() for text in texts if text))


def official_messages(prompt: ProductJudgePrompt, subject: JudgedProduct) -> tuple[Message, ...]:
    said = {"response": extraction_json(subject.extraction), "checklist": checklist_of(subject.checklist)}
    # One pass, so that nothing in the extraction is taken for a place to be filled.
    text = fill(prompt.full, **{name: json.dumps(one, ensure_ascii=False, indent=2) for name, one in said.items()})
    system = Message(role="system", parts=(TextPart(text=prompt.system),))
    return system, Message(role="user", parts=(TextPart(text=text),))


_ANSWERS = dict.fromkeys(("true", "yes", "success", "satisfied", "pass", "1"), True) | dict.fromkeys(
    ("false", "no", "fail", "failed", "not satisfied", "not_satisfied", "unsatisfied", "0", "unknown"), False
)


class _Said(msgspec.Struct, frozen=True):
    id: str
    satisfied: bool | str | int
    reasoning: str | None = None
    quote: str | None = None
    picture: int | str | None = None
    box: list[float] | None = None


Read = tuple[tuple[ItemVerdict, ...], Reported | None]
"""The verdicts of a reply, one for each item that was asked about, and what the judge reported beside."""


def reply_object(text: str, key: str) -> dict[str, Any] | None:
    """The last JSON object of a reply, which is what the model came to, that has a certain key; None for none."""
    return next((each for each in reversed(reply_objects(text)) if key in each), None)


def read_verdicts(text: str, items: Sequence[ChecklistItem], shown: ShownEvidence) -> Read | None:
    """Read a reply; None where it holds no verdicts at all.

    A verdict on an item that was not asked about is passed over. An item without a verdict is ``missing``, and so is
    one that has two which differ. Of a reply that breaks off the whole verdicts count.
    """
    found = reply_object(text, "verdicts") or {"verdicts": [one for one in reply_objects(text) if "id" in one]}
    if not isinstance(found["verdicts"], list) or not found["verdicts"]:
        return None
    said: dict[str, list[_Said]] = {}
    for entry in found["verdicts"]:
        with suppress(msgspec.ValidationError):
            one = msgspec.convert(entry, _Said)
            said.setdefault(one.id.strip(), []).append(one)
    page = found.get("page")
    if isinstance(page, dict):
        found = {"page_accessibility": {"is_specific_product_page": page.get("is_product_page"), **page}, **found}
    reported = read_reported(found)
    verdicts = tuple(_verdict(item, said.get(item.id, []), shown) for item in items)
    return verdicts, None if reported == Reported() else reported


def read_official(text: str, items: Sequence[ChecklistItem]) -> Read | None:
    """Read a reply in the release's form, which asks for no evidence and gets none; None where it is none."""
    read = read_evaluation("", reply_object(text, "annotated_checklist"), items)
    if read.failure is not None:
        return None
    bare = (msgspec.structs.replace(one, flags=("no-evidence",)) if one.satisfied else one for one in read.verdicts)
    return tuple(bare), read.reported


def _verdict(item: ChecklistItem, said: list[_Said], shown: ShownEvidence) -> ItemVerdict:
    answers = {_ANSWERS.get(str(one.satisfied).strip().lower()) for one in said}
    if len(answers) != 1 or None in answers:
        why = "the judge says both" if answers == {True, False} else ""
        return ItemVerdict(item=item.id, satisfied=False, reasoning=why, flags=("missing",))
    one, satisfied = said[0], True in answers
    quote, place = (one.quote or "").strip()[:1_000], _place(one, shown.pictures)
    odd: dict[VerdictFlag, bool] = {
        "quote-not-found": quote != "" and not is_quoted(quote, shown.words),
        "region-off-page": one.box is not None and place is None,
        "no-evidence": satisfied and not quote and one.box is None,
    }
    flags, reasoning = tuple(flag for flag, so in odd.items() if so), (one.reasoning or "").strip()[:2_000]
    return ItemVerdict(item=item.id, satisfied=satisfied, reasoning=reasoning, quote=quote, place=place, flags=flags)


def _place(said: _Said, pictures: Sequence[Segment]) -> PlaceOnPage | None:
    """The part of a picture that a model names in thousandths, in pixels; None where there is no such part."""
    named = str(said.picture if said.picture is not None else 1 if len(pictures) == 1 else "").strip()
    known = named in map(str, range(1, len(pictures) + 1))
    if said.box is None or len(said.box) != 4 or not known:
        return None
    left, top, right, bottom = said.box
    if not (0 <= left < right <= 1_000 and 0 <= top < bottom <= 1_000):
        return None
    size = pictures[int(named) - 1].size
    wide, high = size.width / 1_000, size.height / 1_000
    sides = {"left_px": left * wide, "top_px": top * high, "right_px": right * wide, "bottom_px": bottom * high}
    box = Box(**{name: round(side, 2) for name, side in sides.items()})
    return PlaceOnPage(segment=int(named) - 1, box=box)


def is_quoted(quote: str, evidence: Iterable[str]) -> bool:
    """Whether a quote stands in one of the pieces, by whole words; a long part may have been cut within a word.

    Where a quote leaves words out ("..."), its parts have to stand in the same piece in their order. A part of fewer
    than three letters (two digits) is found everywhere and shows nothing.

    >>> is_quoted("4.5 stars", ["Rated 4.5 Stars by 12 people"]), is_quoted("4.5", ["14.5 cm"])
    (True, False)
    """
    bare = folded(quote).strip("' .,;:")
    parts = [part for part in re.split(r"\s*(?:\.{3,}|\[\.\.\.\])\s*", bare) if part]
    if not parts or any(not re.search(r"\d\D*\d|[^\W_]\W*[^\W_]\W*[^\W_]", part) for part in parts):
        return False
    return any(stands_in(parts, folded(piece)) for piece in evidence)


class ModelJudge:
    """A chat model that holds products against checklists.

    ``condition`` is what it is shown (paper, table 3), ``prompt`` the name or path of a wording. ``released``: it is
    asked as the release asks, of any link, and may search the web. Raises a UserError where there is no such wording,
    or it can't be asked this way.
    """

    def __init__(
        self, opened: Opened, *, condition: Condition = "full", prompt: str | None = None, released: bool = False
    ) -> None:
        self._opened, self.card, self._prompt = opened, opened.card, judge_prompt(OFFICIAL if released else prompt)
        if self._prompt.style == "official" and condition != "full":
            shows = f"the wording {self._prompt.name} shows all that was extracted"
            raise UserError(f"{shows}: @{condition} needs evidence")
        self.condition: Condition = condition
        how = OFFICIAL if released else condition
        self.name = opened.card.name if how == "full" else f"{opened.card.name}@{how}"
        shown = f"{condition} pictures.{MAX_PICTURES} reading.{VERSION}"
        self.identity = f"judge model {self._prompt.label} {shown} {opened.model.identity}"
        self.searches, self._tools = released, (reply_form(self._prompt),) if released else ()
        self.max_concurrency = opened.model.max_concurrency
        self.check, self.aclose = opened.model.check, opened.model.aclose

    async def judge(self, subject: JudgedProduct, evidence: EvidenceFolder, key: str) -> Judgement:
        """Judge one product; raises as :class:`ProductJudge`. A page that is no product's satisfies nothing unasked,
        but for judges that don't see what was extracted.
        """
        items, failure, official = subject.checklist, subject.extraction.failure, self._prompt.style == "official"
        sees_facts = self.condition == "full" and not official
        why = no_product(subject.extraction) if sees_facts and failure is None else ""
        if failure is not None or why or not (items or official):
            return unjudged(self, subject, key, why=why, failure=failure)
        shown = ShownEvidence() if official else shown_evidence(subject, self.condition)
        try:
            sizes = largest_sizes(shown.pictures, self.card.image)
        except ValueError as error:
            failure = Failure(kind="error", message=f"{self.card.name} takes no picture of this page: {error}")
            return unjudged(self, subject, key, failure=failure)

        def render() -> tuple[Message, ...]:
            return official_messages(self._prompt, subject) if official else self._messages(shown, items, evidence)

        def read(text: str) -> Read | str:
            found = read_official(text, items) if official else read_verdicts(text, items, shown)
            return found or "the reply holds no verdicts"

        answer = await ask(self._opened, render, sizes, read, tools=self._tools)
        judgement = unjudged(self, subject, key, failure=answer.failure)
        if answer.failure is None:
            judgement = msgspec.structs.replace(judgement, verdicts=answer.found[0], reported=answer.found[1])
        return msgspec.structs.replace(judgement, raw=answer.text, requests=answer.tries, call=answer.call)

    def _messages(
        self, shown: ShownEvidence, items: Sequence[ChecklistItem], folder: EvidenceFolder
    ) -> tuple[Message, ...]:
        prompt = self._prompt
        lead = {"full": prompt.full, "no-info": prompt.no_info, "url-only": prompt.url_only}[self.condition]
        texts = [fill(lead, evidence=shown.fenced)]
        if self.condition != "url-only":
            told = prompt.pictures if shown.pictures else prompt.no_pictures
            texts.append(fill(told, shown=str(len(shown.pictures)), all=str(shown.pictures_all)))
        # Items as JSON, one a line, so that no item's words can look like another item.
        lines = ",\n ".join(msgspec.json.encode({"id": item.id, "item": item.text}).decode() for item in items)
        asked = fill(prompt.all, items=f"[{lines}]", count=str(len(items)))
        parts: list[TextPart | ImagePart] = [_words(*texts, *(() if shown.pictures else (asked,)))]
        for number, segment in enumerate(shown.pictures, start=1):
            picture = picture_part(segment, folder, self.card.image)
            parts += [_words(fill(prompt.picture, number=str(number))), picture]
        parts += [_words(asked)] if shown.pictures else []
        return Message(role="system", parts=(_words(prompt.system),)), Message(role="user", parts=tuple(parts))
