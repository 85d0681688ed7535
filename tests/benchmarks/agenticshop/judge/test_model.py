from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import completion as completion_json
from fakes.chat_server import raw, reply
from fakes.judge_model import prompt_text
from PIL import Image

from grounding.benchmarks.agenticshop.records import Judgement, RenderedPage, Reported, Segment
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.errors import UserError
from grounding.llm.budget import Budget, BudgetReached
from grounding.records import Failure, Size

from .subjects import TEXT, URL, asked, data, items, subject

CHECKLIST = items(
    "Price is at most $50",
    "Average customer rating is at least 4.5 out of 5",
    "Product brand is Brewster Lane",
    "Product pictures show a plain design",
    dimension="price_sensitivity",
)
PRICE = {"input_usd": 10, "output_usd": 10, "date": "2026-11-01"}


def said(*verdicts: dict[str, Any], **more: Any) -> str:
    return json.dumps({"verdicts": list(verdicts), **more})


def verdict(number: int = 0, satisfied: object = True, **more: Any) -> dict[str, Any]:
    return {"id": f"price_sensitivity/{number}", "satisfied": satisfied, "reasoning": "so", **more}


def pictured(folder: Path, *, count: int = 2) -> RenderedPage:
    evidence, size, segments = EvidenceFolder(folder), Size(width=100, height=200), []
    for number in range(count):
        Image.new("RGB", (100, 200), (number * 40, 90, 10)).save(folder / "shot.png")
        file = evidence.put((folder / "shot.png").read_bytes(), ".png")
        segments.append(Segment(file=file, size=size, top_px=200 * number))
    return RenderedPage(url=URL, status=200, text=TEXT, segments=tuple(segments), data=(data('{"name":"Kettle"}'),))


def kind_of(judged: Judgement) -> str:
    return "" if judged.failure is None else judged.failure.kind


def test_all_items_at_once(tmp_path: Path) -> None:
    judged, server = asked(subject(CHECKLIST), tmp_path)
    assert server.count == 1
    assert (judged.step_id, judged.key, judged.judge) == ("explicit_title/u1/0/p", "key", "p")
    assert [one.item for one in judged.verdicts] == [item.id for item in CHECKLIST]
    assert [one.satisfied for one in judged.verdicts] == [True, True, True, False]
    assert (judged.verdicts[0].quote, judged.verdicts[0].flags) == ("price: 48 USD", ())
    assert (judged.reported or Reported()).is_product_page is True
    assert (judged.requests, judged.failure, '"verdicts"' in judged.raw) == (1, None, True)


def test_the_conditions_show_what_they_say(tmp_path: Path) -> None:
    page = pictured(tmp_path)
    product = subject(CHECKLIST, page=page)
    _, full = asked(product, tmp_path)
    _, no_info = asked(product, tmp_path, condition="no-info")
    judged, url_only = asked(product, tmp_path, condition="url-only")
    content = full.bodies[0]["messages"][1]["content"]
    assert [part["type"] for part in content] == ["text", "text", "image_url", "text", "image_url", "text"]
    assert "Brewster Lane" in prompt_text(full.bodies[0])
    assert '{"name":"Kettle"}' in prompt_text(full.bodies[0])
    shown = prompt_text(no_info.bodies[0])
    assert "Brewster Lane" not in shown.partition('[{"id"')[0]
    assert shown.count("[a picture]") == 2
    assert URL in shown
    shown = prompt_text(url_only.bodies[0])
    assert URL in shown
    assert "[a picture]" not in shown
    assert "Copper" not in shown
    assert isinstance(url_only.bodies[0]["messages"][1]["content"], str)
    assert judged.step_id.endswith("/p@url-only")
    assert judged.condition == "url-only"


def test_no_judge_learns_rank_user_or_agent(tmp_path: Path) -> None:
    for options in ({}, {"prompt": "official"}, {"condition": "no-info"}):
        _, server = asked(subject(CHECKLIST), tmp_path, **options)
        sent = json.dumps(server.bodies)
        assert "explicit_title" not in sent
        assert "u1/0" not in sent


def test_long_evidence_is_cut_and_says_so(tmp_path: Path) -> None:
    page = RenderedPage(url=URL, text="word " * 20_000, text_cut=True)
    shown = prompt_text(asked(subject(CHECKLIST, page=page), tmp_path)[1].bodies[0])
    assert "[cut off here: 40000 of 100000 characters are shown]" in shown
    assert "[the page's text was cut off when it was kept]" in shown
    many = subject(CHECKLIST, page=pictured(tmp_path, count=10))
    shown = prompt_text(asked(many, tmp_path)[1].bodies[0])
    assert ("8 of 10" in shown, shown.count("[a picture]")) == (True, 8)


# --- evidence of verdicts -----------------------------------------------------------------------------------------


def test_a_quote_that_is_not_there_is_flagged(tmp_path: Path) -> None:
    answer = said(verdict(0, quote="Price:  48 usd"), verdict(1, quote="rated by kings"), verdict(2), verdict(3, False))
    judged, _ = asked(subject(CHECKLIST), tmp_path, reply(answer))
    assert [one.flags for one in judged.verdicts] == [(), ("quote-not-found",), ("no-evidence",), ()]
    assert [one.satisfied for one in judged.verdicts] == [True, True, True, False]
    # What is not shown is no evidence.
    judged, _ = asked(subject(CHECKLIST), tmp_path, reply(answer), condition="url-only")
    assert judged.verdicts[0].flags == ("quote-not-found",)


def test_places_on_pictures(tmp_path: Path) -> None:
    answer = said(
        verdict(0, picture=2, box=[100, 250, 500, 1000]),
        verdict(1, picture="9" * 5000, box=[0, 0, 10, 10]),
        verdict(2, picture=1, box=[0, 0, 1200, 10]),
        verdict(3, picture=1, box=[10, 10, 5, 20]),
    )
    judged, _ = asked(subject(CHECKLIST, page=pictured(tmp_path)), tmp_path, reply(answer))
    first, *others = judged.verdicts
    assert first.place is not None
    assert first.place.segment == 1
    assert msgspec.structs.astuple(first.place.box) == (10.0, 50.0, 50.0, 200.0)
    assert first.flags == ()
    assert {(one.place, one.flags) for one in others} == {(None, ("region-off-page",))}


# --- replies ------------------------------------------------------------------------------------------------------


def test_strangers_are_passed_over_and_the_missing_are_flagged(tmp_path: Path) -> None:
    answer = said(
        verdict(0),
        {"id": "price_sensitivity/99", "satisfied": True},
        {"id": "price_sensitivity/1"},
        verdict(2),
        verdict(2, False),
        verdict(3, "perhaps"),
    )
    judged, _ = asked(subject(CHECKLIST), tmp_path, reply(answer))
    assert [one.item for one in judged.verdicts] == [item.id for item in CHECKLIST]
    assert [one.satisfied for one in judged.verdicts] == [True, False, False, False]
    assert [one.flags for one in judged.verdicts[1:]] == [("missing",)] * 3
    assert judged.failure is None


@pytest.mark.parametrize("text", ["", "I can't.", "{}", '{"verdicts": []}', '{"verdicts": "all"}', "[1, 2]", "{" * 50])
def test_a_reply_without_verdicts(tmp_path: Path, text: str) -> None:
    judged, _ = asked(subject(CHECKLIST), tmp_path, reply(text), reply(text))
    assert (kind_of(judged), judged.raw) == ("unparsed", text)
    assert {one.flags for one in judged.verdicts} == {("missing",)}


def test_a_reply_that_can_be_read_the_second_time_counts(tmp_path: Path) -> None:
    judged, server = asked(subject(CHECKLIST), tmp_path, reply("I can't."))
    assert (server.count, judged.requests, judged.failure) == (2, 2, None)
    assert judged.call is not None
    assert judged.call.usage is not None
    assert judged.call.usage.input_tokens == 2000
    declined = raw(json.dumps(completion_json("no", finish_reason="content_filter")).encode())
    judged, _ = asked(subject(CHECKLIST), tmp_path, declined, declined)
    assert (kind_of(judged), "declined" in str(judged.failure)) == ("unparsed", True)


def test_percentages_are_kept_and_not_used_and_what_came_of_a_cut_reply_counts(tmp_path: Path) -> None:
    stats = {"satisfaction_percentage": 100.0, "satisfied_items": 4, "total_checklist_items": 4}
    judged, _ = asked(subject(CHECKLIST), tmp_path, reply(said(*(verdict(n, False) for n in range(4)), stats=stats)))
    assert (judged.reported or Reported()).satisfaction_percentage == 100.0
    assert not any(one.satisfied for one in judged.verdicts)
    whole = said(*(verdict(number) for number in range(4)))
    judged, _ = asked(subject(CHECKLIST), tmp_path, reply(whole[: whole.index("price_sensitivity/2") + 30]))
    assert [one.flags for one in judged.verdicts] == [("no-evidence",), ("no-evidence",), ("missing",), ("missing",)]


def test_money_that_is_gone_goes_through(tmp_path: Path) -> None:
    with pytest.raises(BudgetReached):
        asked(subject(CHECKLIST), tmp_path, reply("what?"), budget=Budget(0.000001), card={"price": PRICE})


# --- who is not asked ---------------------------------------------------------------------------------------------


def test_a_page_of_no_product_is_not_asked_about(tmp_path: Path) -> None:
    product = subject(CHECKLIST, page_class="listing", facts=None)
    judged, server = asked(product, tmp_path)
    assert server.count == 0
    assert not any(one.satisfied or one.flags for one in judged.verdicts)
    assert "but listing" in judged.verdicts[0].reasoning
    # Who isn't shown what was extracted doesn't know.
    assert asked(product, tmp_path, condition="url-only")[1].count == 1
    failure = Failure(kind="error", message="the browser is gone")
    judged, server = asked(subject(CHECKLIST, failure=failure), tmp_path)
    assert (server.count, judged.failure) == (0, failure)
    judged, server = asked(subject(()), tmp_path)
    assert (server.count, judged.verdicts) == (0, ())


def test_a_picture_that_is_not_there_is_the_users_matter(tmp_path: Path) -> None:
    page = pictured(tmp_path)
    (tmp_path / page.segments[0].file).unlink()
    with pytest.raises(UserError, match="is not in"):
        asked(subject(CHECKLIST, page=page), tmp_path)


# --- the release's wording ----------------------------------------------------------------------------------------


def test_the_official_wording(tmp_path: Path) -> None:
    judged, server = asked(subject(CHECKLIST), tmp_path, prompt="official")
    system, user = server.bodies[0]["messages"]
    assert system["content"].startswith("\n    You are an expert product evaluation assistant.")
    checklist = json.loads(user["content"].partition("CHECK_LIST (user requirements):\n        ")[2])
    assert checklist["price_sensitivity"] == [item.text for item in CHECKLIST]
    assert [one.item for one in judged.verdicts] == [item.id for item in CHECKLIST]
    assert judged.reported is not None
    assert judged.reported.satisfaction_percentage == 99.0
    assert judged.reported.dimensions["price_sensitivity"].endswith(" / 4")
    assert all(one.flags == ("no-evidence",) for one in judged.verdicts if one.satisfied)
    judged, _ = asked(subject(CHECKLIST), tmp_path, reply("nothing"), reply("nothing"), prompt="official")
    assert kind_of(judged) == "unparsed"
    with pytest.raises(UserError, match="@no-info needs evidence"):
        asked(subject(CHECKLIST), tmp_path, prompt="official", condition="no-info")
