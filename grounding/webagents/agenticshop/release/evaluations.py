"""The release's ``evaluation_result.json``, read and written, bare and wrapped in ``evaluation_result``.

::

    {"page_accessibility": {"accessible", "status", "is_specific_product_page", "reason"},
     "stats": {"is_product_page", "total_checklist_items", "satisfaction_percentage", "satisfied_items",
               "not_satisfied_items", "DIMENSION_percentage": "x / y", ...},
     "annotated_checklist": {DIMENSION: [{"context", "status": "SUCCESS" | "FAIL", "reasoning"}, ...], ...}}

The pipeline of the release writes it bare, and its collector reads only wrapped ones (protocol D3); both are read here.
A verdict belongs to the item whose words it repeats, else to the item at its place, where a dimension has as many
verdicts as items. An item without a verdict is ``missing``; a status other than SUCCESS is no success. What a verdict
rests on (quote, place) is not in the file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from grounding.records import Failure, Record
from grounding.webagents.agenticshop.records import (
    DIMENSIONS,
    ChecklistItem,
    Dimension,
    Extraction,
    ItemVerdict,
    Judgement,
    Reported,
)
from grounding.webagents.agenticshop.release.files import text_of

JUDGE = "release"
SUCCESS, FAIL = "SUCCESS", "FAIL"
WRAPPER = "evaluation_result"
_SUFFIX = "_percentage"


class ReadEvaluation(Record, frozen=True, kw_only=True):
    """A judgement from a file, whether the file was wrapped, and how many verdicts belong to no item."""

    judgement: Judgement
    wrapped: bool = False
    surplus: int = 0


def read_evaluation(
    product_id: str, decoded: object, checklist: Sequence[ChecklistItem], *, judge: str = JUDGE, key: str = ""
) -> ReadEvaluation:
    """One judgement from a decoded file; a failure of the kind ``unparsed`` where it is none.

    Args:
        product_id: The product's id, ``SCENARIO/USER/RANK``.
        decoded: The content of the file.
        checklist: The items that were judged.
        judge: What the judge is called from now on.
        key: Goes into the record as it comes.
    """
    step_id = f"{product_id}/{judge}"
    wrapped = isinstance(decoded, dict) and WRAPPER in decoded
    inner = decoded[WRAPPER] if wrapped and isinstance(decoded, dict) else decoded
    if not isinstance(inner, dict) or not isinstance(inner.get("annotated_checklist", {}), dict):
        failure = Failure(kind="unparsed", message="expected an object with stats and annotated_checklist")
        return ReadEvaluation(
            judgement=Judgement(step_id=step_id, key=key, judge=judge, failure=failure), wrapped=wrapped
        )
    if "annotated_checklist" not in inner and "stats" not in inner:
        failure = Failure(kind="unparsed", message="neither stats nor annotated_checklist is there")
        return ReadEvaluation(
            judgement=Judgement(step_id=step_id, key=key, judge=judge, failure=failure), wrapped=wrapped
        )
    verdicts, surplus = _verdicts(inner.get("annotated_checklist", {}), checklist)
    judgement = Judgement(step_id=step_id, key=key, judge=judge, verdicts=verdicts, reported=read_reported(inner))
    return ReadEvaluation(judgement=judgement, wrapped=wrapped, surplus=surplus)


def read_reported(evaluation: dict[str, Any]) -> Reported:
    """What the judge says that its verdicts add up to. Texts ``x / y`` stay as they are; a number that is none is None.

    As in the release, true and false are numbers, 1 and 0 (``isinstance(value, (int, float))``).
    """
    stats = evaluation.get("stats")
    stats = stats if isinstance(stats, dict) else {}
    page = evaluation.get("page_accessibility")
    page = page if isinstance(page, dict) else {}
    total = _number(stats.get("total_checklist_items"))
    is_product = stats.get("is_product_page", page.get("is_specific_product_page"))
    return Reported(
        accessible=page["accessible"] if isinstance(page.get("accessible"), bool) else None,
        is_product_page=is_product if isinstance(is_product, bool) else None,
        reason=text_of(page.get("reason")),
        total_items=None if total is None else int(total),
        satisfaction_percentage=_number(stats.get("satisfaction_percentage")),
        satisfied_items=_number(stats.get("satisfied_items")),
        not_satisfied_items=_number(stats.get("not_satisfied_items")),
        dimensions={
            dimension: stats[dimension + _SUFFIX]
            for dimension in DIMENSIONS
            if isinstance(stats.get(dimension + _SUFFIX), str)
        },
    )


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None


def _verdicts(annotated: dict[str, Any], checklist: Sequence[ChecklistItem]) -> tuple[tuple[ItemVerdict, ...], int]:
    found: dict[str, dict[str, Any]] = {}
    surplus = sum(
        len(entries) for name, entries in annotated.items() if name not in DIMENSIONS and isinstance(entries, list)
    )
    for dimension in DIMENSIONS:
        items = [item for item in checklist if item.dimension == dimension]
        entries = annotated.get(dimension)
        entries = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
        given = _given(items, entries)
        surplus += len(entries) - len(given)
        found |= given
    return tuple(_verdict(item, found.get(item.id)) for item in checklist), surplus


def _given(items: list[ChecklistItem], entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entries of one dimension by the id of their item."""
    left = list(items)
    given: dict[str, dict[str, Any]] = {}
    unplaced = []
    for entry in entries:
        words = _plain(text_of(entry.get("context")))
        item = next((one for one in left if _plain(one.text) == words), None)
        if item is None:
            unplaced.append(entry)
            continue
        left.remove(item)
        given[item.id] = entry
    if len(entries) == len(items):
        given |= {item.id: entry for item, entry in zip(left, unplaced, strict=True)}
    return given


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")


def _verdict(item: ChecklistItem, entry: dict[str, Any] | None) -> ItemVerdict:
    if entry is None:
        return ItemVerdict(item=item.id, satisfied=False, flags=("missing",))
    satisfied = text_of(entry.get("status")).strip().upper() == SUCCESS
    return ItemVerdict(item=item.id, satisfied=satisfied, reasoning=text_of(entry.get("reasoning")))


# --- writing -------------------------------------------------------------------------------------------------------


def evaluation_json(
    judgement: Judgement,
    checklist: Sequence[ChecklistItem],
    extraction: Extraction | None = None,
    *,
    wrapped: bool = False,
) -> dict[str, Any]:
    """A judgement as the release writes it.

    ``stats`` are what the judge reported; where it reported nothing, they are counted from its verdicts, over all items
    of the checklist, one without a verdict as not satisfied.

    Args:
        judgement: One without a failure.
        checklist: The items that were judged.
        extraction: The evidence; says whether the page was accessible where the judge doesn't.
        wrapped: Whether to put it below ``evaluation_result``, as the release's collector needs it.
    """
    reported = judgement.reported
    verdicts = {verdict.item: verdict for verdict in judgement.verdicts if "missing" not in verdict.flags}
    result = {
        "page_accessibility": _reported_page(reported) if reported is not None else _page(extraction),
        "stats": _reported_stats(reported) if reported is not None else _stats(verdicts, checklist, extraction),
        "annotated_checklist": {
            dimension: [
                _entry(item, verdicts[item.id])
                for item in checklist
                if item.dimension == dimension and item.id in verdicts
            ]
            for dimension in DIMENSIONS
        },
    }
    return {WRAPPER: result} if wrapped else result


def _entry(item: ChecklistItem, verdict: ItemVerdict) -> dict[str, str]:
    return {
        "context": item.text,
        "status": SUCCESS if verdict.satisfied else FAIL,
        "reasoning": verdict.reasoning,
    }


def _reported_page(reported: Reported) -> dict[str, Any]:
    page: dict[str, Any] = {}
    if reported.accessible is not None:
        page |= {"accessible": reported.accessible, "status": "success" if reported.accessible else "error"}
    if reported.is_product_page is not None:
        page["is_specific_product_page"] = reported.is_product_page
    return page | {"reason": reported.reason}


def _reported_stats(reported: Reported) -> dict[str, Any]:
    numbers = {
        "is_product_page": reported.is_product_page,
        "total_checklist_items": reported.total_items,
        "satisfaction_percentage": reported.satisfaction_percentage,
        "satisfied_items": _whole(reported.satisfied_items),
        "not_satisfied_items": _whole(reported.not_satisfied_items),
    }
    said = {name: value for name, value in numbers.items() if value is not None}
    return said | {dimension + _SUFFIX: text for dimension, text in reported.dimensions.items()}


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value


def _page(extraction: Extraction | None) -> dict[str, Any]:
    if extraction is None:
        return {"accessible": False, "status": "error", "is_specific_product_page": False, "reason": "no evidence"}
    failed = extraction.failure or (extraction.page.failure if extraction.page is not None else None)
    kind = extraction.page_class
    accessible = failed is None and extraction.page is not None and kind not in ("error", "blocked")
    status = {"error": "not_found", "blocked": "restricted"}.get(kind or "", "success" if accessible else "error")
    return {
        "accessible": accessible,
        "status": status,
        "is_specific_product_page": _is_product(extraction),
        "reason": failed.message if failed is not None else extraction.class_reason,
    }


def _is_product(extraction: Extraction | None) -> bool:
    if extraction is None:
        return False
    return extraction.page_class == "product" or (extraction.page_class is None and extraction.facts is not None)


def _stats(
    verdicts: dict[str, ItemVerdict], checklist: Sequence[ChecklistItem], extraction: Extraction | None
) -> dict[str, Any]:
    total = len(checklist)
    satisfied = sum(verdict.satisfied for verdict in verdicts.values())
    return {
        "is_product_page": _is_product(extraction),
        "total_checklist_items": total,
        "satisfaction_percentage": round(100 * satisfied / total, 4) if total else 0.0,
        "satisfied_items": satisfied,
        "not_satisfied_items": total - satisfied,
        **{dimension + _SUFFIX: _fraction(dimension, verdicts, checklist) for dimension in DIMENSIONS},
    }


def _fraction(dimension: Dimension, verdicts: dict[str, ItemVerdict], checklist: Sequence[ChecklistItem]) -> str:
    items = [item.id for item in checklist if item.dimension == dimension]
    satisfied = sum(verdicts[item].satisfied for item in items if item in verdicts)
    return f"{satisfied} / {len(items)}"
