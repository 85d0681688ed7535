"""A chat model that judges products: reads the fenced evidence and the items, and decides by crude means of its own.

It shares nothing with the rule judge: it looks for numbers and for lines that hold most of an item's words. It is right
often and wrong in honest ways: it takes a limit as kept where it is met, forgets what shipping costs, takes a
brand in a title for the maker, and can't see pictures. What it says depends on the request alone, and nothing that
stands inside the fence is an instruction to it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fakes.chat_server import completion

Json = dict[str, Any]

DIMENSIONS = (
    "brand_preferences",
    "price_sensitivity",
    "review_sensitivity",
    "functional_requirements",
    "aesthetic_preferences",
    "purchase_preferences",
)
_OPENING = re.compile(r"PAGE-DATA ([0-9a-f]{16}) BEGIN ADDRESS\n")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_FILLER = frozenset(
    re.findall(
        r"\w+",
        "a an the is of are or and on in at least most product page listing item has shows states by for to with "
        "it its as be must should from under over between within than more less up no not one customer average "
        "including total",
    )
)


def judge_model(body: Json) -> Json:
    """The JSON of the reply to a request."""
    text = prompt_text(body)
    if "CHECK_LIST (user requirements):" in text:
        return completion(json.dumps(_official(text)))
    evidence, items = evidence_of(text), items_of(text)
    verdicts = [_verdict(item["id"], item["item"], evidence) for item in items]
    reply = {"verdicts": verdicts, "page": {"is_product_page": True, "reason": "it names one product"}}
    return completion(f"<think>There are {len(items)} items.</think>\n```json\n{json.dumps(reply, indent=1)}\n```")


def prompt_text(body: Json) -> str:
    """All words of the user's message, in their order; a picture is a line of its own."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "[a picture]") for part in content)


def evidence_of(text: str) -> list[str]:
    """The lines of the evidence: what stands in the fence whose mark the first line has, and nothing else."""
    opening = _OPENING.search(text)
    assert opening is not None, "the request has no fenced evidence"
    mark = re.escape(opening[1])
    pieces = re.findall(rf"^PAGE-DATA {mark} BEGIN (\w+)\n(.*?)\nPAGE-DATA {mark} END$", text, re.DOTALL | re.MULTILINE)
    return [line for name, piece in pieces if name != "DATA" for line in piece.splitlines() if line.strip()]


def items_of(text: str) -> list[Json]:
    """The items: the list of JSON behind the last fence."""
    behind = text.rpartition("PAGE-DATA ")[2]
    at = behind.index('[{"id"')
    found: list[Json] = json.JSONDecoder().raw_decode(behind, at)[0]
    return found


def _verdict(item_id: str, item: str, evidence: list[str]) -> Json:
    satisfied, line = _decide(item, evidence)
    said = {"id": item_id, "reasoning": f"I looked for: {item}", "satisfied": satisfied, "quote": "", "picture": None}
    if line:
        said["quote"] = line[:180]
    return {**said, "box": None}


def _decide(item: str, evidence: list[str]) -> tuple[bool, str]:
    lowered = item.lower()
    limits = [float(number.replace(",", "")) for number in _NUMBER.findall(lowered)]
    for word, field in (("price", "price:"), ("cost", "price:"), ("rating is", "rating:"), ("rated", "rating:")):
        if word in lowered and limits:
            return _compared(lowered, limits, _line(evidence, field))
    for word, field in (("return", "returns:"), ("deliver", "delivery:"), ("warranty", "warranty:")):
        if word in lowered and limits:
            return _compared(lowered, limits, _line(evidence, field))
    if limits and ("ratings" in lowered or "reviews" in lowered):
        return _compared(lowered, limits, _line(evidence, "ratings or reviews:"))
    if "brand" in lowered:
        line = _line(evidence, "brand:")
        names = [each.strip().lower() for each in re.split(r",| or | is |one of:?|:", item) if each.strip()][1:]
        held = any(name in line.lower() or name in _line(evidence, "title:").lower() for name in names)
        return held is not (" not " in lowered), line
    if "stock" in lowered:
        line = _line(evidence, "availability:")
        return "in stock" in line, line
    return _overlap(lowered, evidence)


def _line(evidence: list[str], field: str) -> str:
    return next((line for line in evidence if line.startswith(field)), "")


def _compared(item: str, limits: list[float], line: str) -> tuple[bool, str]:
    numbers = _NUMBER.findall(line)
    if not numbers:
        return False, ""
    value = float(numbers[0].replace(",", ""))
    if "out of 10" in item:
        limits = [limits[0] / 2]
    if len(limits) > 1 and "out of" not in item:
        return limits[0] <= value <= limits[1], line
    upper = any(word in item for word in ("most", "under", "below", "less", "up to", "exceed", "within"))
    return (value <= limits[0] if upper else value >= limits[0]), line


def _overlap(item: str, evidence: list[str]) -> tuple[bool, str]:
    """Whether one line holds most of the item's words."""
    words = {word for word in re.findall(r"[a-z0-9]+", item) if word not in _FILLER}
    best, held = "", 0
    for line in evidence:
        found = len(words & set(re.findall(r"[a-z0-9]+", line.lower())))
        if found > held:
            best, held = line, found
    return bool(words) and held >= 0.6 * len(words), best


def _official(text: str) -> Json:
    response, _, checklist = text.partition("CHECK_LIST (user requirements):")
    shown = json.loads(response.partition("MODEL_RESPONSE (product data):")[2])
    lines = str(shown["available_product_info"]["description"]).splitlines()
    annotated: dict[str, list[Json]] = {}
    for dimension, items in json.loads(checklist).items():
        annotated[dimension] = []
        for item in items:
            held, _ = _overlap(item.lower(), lines)
            entry = {"context": item, "status": "SUCCESS" if held else "FAIL", "reasoning": "so I read it"}
            annotated[dimension].append(entry)
    counts = {name: [each["status"] == "SUCCESS" for each in entries] for name, entries in annotated.items()}
    all_of = [one for each in counts.values() for one in each]
    stats: Json = {
        "is_product_page": bool(lines),
        "total_checklist_items": len(all_of),
        # The real one is no better at sums.
        "satisfaction_percentage": 99.0,
        "satisfied_items": sum(all_of),
        "not_satisfied_items": len(all_of) - sum(all_of),
    }
    stats |= {f"{name}_percentage": f"{sum(each)} / {len(each)}" for name, each in counts.items()}
    return {"stats": stats, "annotated_checklist": annotated}
