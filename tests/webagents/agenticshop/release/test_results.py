from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from grounding.errors import UserError
from grounding.records import Box, Failure, Size
from grounding.webagents.agenticshop.records import (
    DIMENSIONS,
    Attribute,
    ChecklistItem,
    CustomerReview,
    Extraction,
    ItemVerdict,
    Judgement,
    Money,
    PlaceOnPage,
    ProductFacts,
    RenderedPage,
    Reported,
    Segment,
    Variant,
)
from grounding.webagents.agenticshop.release import (
    evaluation_json,
    extraction_json,
    read_eval_results,
    read_evaluation,
    read_extraction,
    read_search_output,
    write_eval_results,
    write_release,
)
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

from ..made import CHECKLIST, made_curation, made_extraction, made_judgement, made_task

TASK = made_task("u1")
PRODUCT = "explicit_title/u1/0"
words = st.text(max_size=20)

# --- extractions ---------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(url=words, description=words, details=st.none() | st.text(min_size=1, max_size=20))
def test_a_file_of_the_release_is_written_as_it_was(url: str, description: str, details: str | None) -> None:
    file = {
        "source_url": url,
        "available_product_info": {"description": description},
        "reviews": {"available": details is not None, "details": details},
    }
    read = read_extraction(PRODUCT, file)
    assert extraction_json(read) == file
    assert read_extraction(PRODUCT, extraction_json(read)) == read
    assert (read.url, read.extractor, read.page_class, read.failure) == (url, "release", None, None)
    assert (read.page is None) == (read.facts is None) == (not description and not details)


def test_what_the_release_throws_away_stays_unknown() -> None:
    file = {"source_url": "http://a", "available_product_info": {"description": "Tea for $12"}, "reviews": {}}
    read = read_extraction(PRODUCT, file)
    assert read.page == RenderedPage(url="http://a", text="Tea for $12")
    assert read.facts is not None
    assert (read.facts.description, read.facts.price, read.facts.rating) == ("Tea for $12", None, None)


def test_facts_are_told_as_a_description() -> None:
    facts = ProductFacts(
        title="Alder tea",
        price=Money(amount=12.5, currency="USD"),
        shipping=Money(amount=0.0),
        rating=4.5,
        rating_count=12,
        features=("fifty bags",),
        attributes=(Attribute(name="Weight", value="100 g"),),
        variants=(Variant(name="100 bags", price=Money(amount=20.0, currency="USD"), availability="sold_out"),),
        reviews=(CustomerReview(text="Good", title="Yes", rating=5.0),),
    )
    written = extraction_json(made_extraction(TASK, 0, "http://a", facts=facts))
    assert written["available_product_info"]["description"].splitlines() == [
        "Title: Alder tea",
        "Price: 12.50 USD",
        "Shipping cost: 0.00",
        "Average rating out of 5: 4.5",
        "Number of ratings: 12",
        "Feature: fifty bags",
        "Weight: 100 g",
        "Variant: 100 bags, 20.00 USD, sold out",
    ]
    assert written["reviews"]["available"] is True
    assert json.loads(written["reviews"]["details"]) == {
        "average_rating": 4.5,
        "rating_count": 12,
        "reviews": [{"title": "Yes", "rating": 5.0, "text": "Good"}],
    }


def test_a_page_that_could_not_be_had_is_an_empty_description() -> None:
    page = RenderedPage(url="http://a", failure=Failure(kind="error", message="no answer"))
    written = extraction_json(made_extraction(TASK, 0, "http://a", page=page, page_class="error", facts=None))
    assert written == {
        "source_url": "http://a",
        "available_product_info": {"description": ""},
        "reviews": {"available": False, "details": None},
    }


@settings(max_examples=40)
@given(st.recursive(st.none() | st.integers() | words, lambda inner: st.lists(inner) | st.dictionaries(words, inner)))
def test_anything_else_is_unparsed(junk: Any) -> None:
    read = read_extraction(PRODUCT, junk)
    assert read.failure is not None
    assert read.failure.kind == "unparsed"
    assert read_evaluation(PRODUCT, junk, CHECKLIST).judgement.failure is not None


# --- evaluations ---------------------------------------------------------------------------------------------------

numbers = st.none() | st.integers(0, 40).map(float) | st.floats(0, 100, allow_nan=False)
reports = st.builds(
    Reported,
    accessible=st.none() | st.booleans(),
    is_product_page=st.none() | st.booleans(),
    reason=words,
    total_items=st.none() | st.integers(0, 40),
    satisfaction_percentage=numbers,
    satisfied_items=numbers,
    not_satisfied_items=numbers,
    dimensions=st.dictionaries(st.sampled_from(DIMENSIONS), st.sampled_from(["1 / 2", "2/2", "2 of 3", "66%", ""])),
)


@settings(max_examples=40)
@given(reports, st.lists(st.tuples(st.booleans(), words, st.booleans()), min_size=4, max_size=4), st.booleans())
def test_a_judgement_is_written_and_read_again(
    reported: Reported, said: list[tuple[bool, str, bool]], wrapped: bool
) -> None:
    verdicts = tuple(
        ItemVerdict(item=item.id, satisfied=satisfied, reasoning=reasoning)
        if there
        else ItemVerdict(item=item.id, satisfied=False, flags=("missing",))
        for item, (satisfied, reasoning, there) in zip(CHECKLIST, said, strict=True)
    )
    judgement = Judgement(step_id=f"{PRODUCT}/release", key="", judge="release", verdicts=verdicts, reported=reported)
    written = json.loads(json.dumps(evaluation_json(judgement, CHECKLIST, wrapped=wrapped)))
    assert ("evaluation_result" in written) is wrapped
    read = read_evaluation(PRODUCT, written, CHECKLIST)
    assert read.judgement == judgement
    assert (read.wrapped, read.surplus) == (wrapped, 0)


def test_a_judge_of_ours_reports_what_its_verdicts_add_up_to() -> None:
    judgement = made_judgement(TASK, 0, ["brand_preferences/0", "price_sensitivity/1"])
    written = evaluation_json(judgement, TASK.checklist, made_extraction(TASK, 0, "http://a"))
    assert written["page_accessibility"] == {
        "accessible": True,
        "status": "success",
        "is_specific_product_page": True,
        "reason": "",
    }
    assert written["stats"] == {
        "is_product_page": True,
        "total_checklist_items": 4,
        "satisfaction_percentage": 50.0,
        "satisfied_items": 2,
        "not_satisfied_items": 2,
        "brand_preferences_percentage": "1 / 1",
        "price_sensitivity_percentage": "1 / 2",
        "review_sensitivity_percentage": "0 / 1",
        "functional_requirements_percentage": "0 / 0",
        "aesthetic_preferences_percentage": "0 / 0",
        "purchase_preferences_percentage": "0 / 0",
    }
    assert written["annotated_checklist"]["brand_preferences"] == [
        {"context": "Brand is Alder", "status": "SUCCESS", "reasoning": ""}
    ]
    assert list(written["annotated_checklist"]) == list(DIMENSIONS)


@pytest.mark.parametrize(
    ("extraction", "accessible", "status", "product"),
    [
        ({"page_class": "error", "facts": None}, False, "not_found", False),
        ({"page_class": "blocked", "facts": None}, False, "restricted", False),
        ({"page_class": "listing", "facts": None}, True, "success", False),
        ({"page": None, "page_class": None, "facts": None}, False, "error", False),
        ({"failure": Failure(kind="error", message="no browser")}, False, "error", True),
    ],
)
def test_what_became_of_the_page(extraction: dict[str, Any], accessible: bool, status: str, product: bool) -> None:
    page = evaluation_json(made_judgement(TASK, 0, []), CHECKLIST, made_extraction(TASK, 0, "u", **extraction))
    page = page["page_accessibility"]
    assert (page["accessible"], page["status"], page["is_specific_product_page"]) == (accessible, status, product)


def test_evidence_of_verdicts_has_no_place_in_the_release() -> None:
    place = PlaceOnPage(segment=0, box=Box(left_px=0, top_px=0, right_px=1, bottom_px=1))
    verdict = ItemVerdict(item="brand_preferences/0", satisfied=True, quote="Alder", place=place)
    written = evaluation_json(Judgement(step_id="x", key="", judge="j", verdicts=(verdict,)), CHECKLIST)
    read = read_evaluation(PRODUCT, written, CHECKLIST).judgement.verdicts[0]
    assert (read.satisfied, read.quote, read.place) == (True, "", None)


def annotated(*entries: tuple[str, str]) -> dict[str, Any]:
    found = [{"context": context, "status": status, "reasoning": "r"} for context, status in entries]
    return {"stats": {}, "annotated_checklist": {"price_sensitivity": found}}


def satisfied(evaluation: dict[str, Any]) -> dict[str, bool]:
    verdicts = read_evaluation(PRODUCT, evaluation, CHECKLIST).judgement.verdicts
    return {one.item: one.satisfied for one in verdicts if not one.flags}


def test_verdicts_find_their_items() -> None:
    turned = annotated(("shipping is  free.", "SUCCESS"), ("Costs at most $20", "FAIL"))
    assert satisfied(turned) == {"price_sensitivity/0": False, "price_sensitivity/1": True}
    reworded = annotated(("The shipping is free of charge", " success "), ("Costs at most $20", "fail"))
    assert satisfied(reworded) == {"price_sensitivity/0": False, "price_sensitivity/1": True}
    fewer = annotated(("Something else", "SUCCESS"))
    assert satisfied(fewer) == {}
    more = annotated(("Costs at most $20", "PARTIAL"), ("Something", "SUCCESS"), ("Other", "SUCCESS"))
    assert satisfied(more) == {"price_sensitivity/0": False}
    assert read_evaluation(PRODUCT, more, CHECKLIST).surplus == 2
    unknown = {"annotated_checklist": {"colour": [{"context": "red", "status": "SUCCESS"}]}}
    assert read_evaluation(PRODUCT, unknown, CHECKLIST).surplus == 1


def test_numbers_are_those_that_the_release_adds() -> None:
    stats = {"satisfaction_percentage": 0.5, "satisfied_items": True, "not_satisfied_items": "3", "is_product_page": 1}
    stats |= {"total_checklist_items": 20, "price_sensitivity_percentage": " 2 / 3", "brand_preferences_percentage": 5}
    read = read_evaluation(PRODUCT, {"stats": stats}, CHECKLIST).judgement.reported
    assert read == Reported(
        total_items=20,
        satisfaction_percentage=0.5,
        satisfied_items=1.0,
        dimensions={"price_sensitivity": " 2 / 3"},
    )


# --- folders -------------------------------------------------------------------------------------------------------


def picture(height: int) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (8, height), (height, 0, 0)).save(target, format="PNG")
    return target.getvalue()


Write = Callable[[str, object], None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(place: str, content: object) -> None:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    return put


HOME = "web_agents/seeact/Home_and_Kitchen/user_u1"
EXPLICIT = "web_agents/seeact/Grocery_and_Gourmet_Food/explicit/user_u1"
EXTRACTED = {"source_url": "http://a", "available_product_info": {"description": "d"}, "reviews": {}}
JUDGED = {"stats": {"satisfaction_percentage": 25.0}, "annotated_checklist": {}}


def test_a_tree_of_results(tmp_path: Path, write: Write) -> None:
    write(f"{EXPLICIT}/result_000/extraction_result.json", EXTRACTED)
    write(f"{EXPLICIT}/result_000/evaluation_result.json", JUDGED)
    write(f"{EXPLICIT}/result_002/extraction_result.json", {**EXTRACTED, "source_url": "http://c"})
    write(f"{EXPLICIT}/result_002/evaluation_result.json", {"evaluation_result": JUDGED})
    write(f"{HOME}/result_000/extraction_result.json", "{")
    write(f"{HOME}/result_000/evaluation_result.json", "")
    write(f"{HOME}/evaluation_summary.json", "{}")
    write("web_agents/seeact/Home_and_Kitchen/user_stranger/result_000/evaluation_result.json", JUDGED)
    tasks = (made_task("u1"), made_task("u1", "low_involvement"), made_task("u2"))
    for folder in (tmp_path, tmp_path / "web_agents", tmp_path / "web_agents" / "seeact"):
        found = read_eval_results(folder, tasks, judge="gpt")
        assert [one.step_id for one in found.extractions] == [
            "explicit_title/u1/0",
            "explicit_title/u1/2",
            "low_involvement/u1/0",
        ]
        assert [one.failure is None for one in found.extractions] == [True, True, False]
        assert [one.step_id for one in found.judgements] == ["explicit_title/u1/0/gpt", "explicit_title/u1/2/gpt"]
        assert (found.wrapped, found.bare) == (1, 1)
        assert [[one.url for one in curation.products] for curation in found.curations] == [
            ["http://a", "http://c"],
            [""],
        ]
        assert found.odd == ("Home_and_Kitchen: 1 users that the data set does not have, such as user_stranger",)


def test_which_model_is_meant(tmp_path: Path, write: Write) -> None:
    with pytest.raises(UserError, match="no results in it"):
        read_eval_results(tmp_path, (TASK,))
    for model in ("gpt", "claude"):
        write(f"search_llms/{model}/Electronics/user_u1/result_000/evaluation_result.json", JUDGED)
    with pytest.raises(UserError, match="results of several models"):
        read_eval_results(tmp_path, (TASK,))


def test_pictures_go_there_and_back(tmp_path: Path) -> None:
    evidence, other = EvidenceFolder(tmp_path / "evidence"), EvidenceFolder(tmp_path / "other")
    heights = (4, 6, 5)
    segments = []
    for height in heights:
        top = segments[-1].top_px + segments[-1].size.height if segments else 0
        name = evidence.put(picture(height), ".png")
        segments.append(Segment(file=name, size=Size(width=8, height=height), top_px=top))
    extraction = made_extraction(TASK, 0, "http://a", page=RenderedPage(url="http://a", segments=tuple(segments)))
    assert write_eval_results(tmp_path / "m", [TASK], {PRODUCT: extraction}, {}, evidence=evidence) == 1
    folder = tmp_path / "m" / "Grocery_and_Gourmet_Food" / "explicit" / "user_u1" / "result_000" / "artifacts"
    assert sorted(path.name for path in folder.iterdir()) == [f"fullpage_part_{number}.png" for number in (1, 2, 3)]
    (found,) = read_eval_results(tmp_path / "m", [TASK], evidence=other).extractions
    assert found.page is not None
    assert found.page.segments == tuple(segments)
    assert other.get(segments[1].file) == picture(6)
    (folder / "fullpage_part_2.png").write_bytes(b"no picture")
    (cut,) = read_eval_results(tmp_path / "m", [TASK], evidence=other).extractions
    assert cut.page is not None
    assert cut.page.segments == tuple(segments[:1])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.text(min_size=1, max_size=9), st.booleans()), max_size=4))
def test_results_are_written_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[int, str, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("model") / "m"
    extractions, judgements = {}, {}
    for rank, text, judged in made:
        product = f"explicit_title/u1/{rank}"
        extractions[product] = read_extraction(
            product, {"source_url": text, "available_product_info": {"description": text}, "reviews": {}}
        )
        judgements.pop(product, None)
        if judged:
            judgements[product] = read_evaluation(product, JUDGED, CHECKLIST).judgement
    assert write_eval_results(folder, [TASK], extractions, judgements) == len(extractions)
    if not extractions:
        return
    found = read_eval_results(folder, [TASK])
    assert {one.step_id: one for one in found.extractions} == extractions
    assert {one.step_id.removesuffix("/release"): one for one in found.judgements} == judgements


def test_a_failed_judgement_has_no_file(tmp_path: Path) -> None:
    failed = Judgement(step_id="x", key="", judge="j", failure=Failure(kind="error", message="m"))
    write_eval_results(tmp_path / "m", [TASK], {PRODUCT: made_extraction(TASK, 0, "http://a")}, {PRODUCT: failed})
    assert [path.name for path in sorted((tmp_path / "m").rglob("*.json"))] == ["extraction_result.json"]


# --- all of it -----------------------------------------------------------------------------------------------------


def test_a_whole_tree(tmp_path: Path) -> None:
    curation = made_curation(TASK, ["http://a"])
    extractions = {PRODUCT: made_extraction(TASK, 0, "http://a")}
    judgements = {PRODUCT: made_judgement(TASK, 0, ["brand_preferences/0"])}
    done = write_release(
        tmp_path / "out",
        [TASK],
        model_type="web_agents",
        model="mine",
        curations={TASK.id: curation},
        extractions=extractions,
        judgements=judgements,
    )
    assert (done.users, done.curations, done.products) == (1, 1, 1)
    files = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.json"))
    result = "eval_results/web_agents/mine/Grocery_and_Gourmet_Food/explicit/user_u1/result_000"
    assert files == [
        "data/user_profiles/grocery_explicit_title_user_profile.json",
        f"{result}/evaluation_result.json",
        f"{result}/extraction_result.json",
        "product_curation_artifacts/inputs/grocery_explicit_title_search_input.json",
        "product_curation_artifacts/web_agents/mine/grocery_explicit_title_search_output.json",
    ]
    outputs = tmp_path / "out" / "product_curation_artifacts" / "web_agents" / "mine"
    assert read_search_output(outputs, [TASK]).curations[0].products == curation.products
    found = read_eval_results(tmp_path / "out" / "eval_results", [TASK])
    assert found.wrapped == 1
    assert [one.satisfied for one in found.judgements[0].verdicts] == [True, False, False, False]


@pytest.mark.parametrize("model", ["", "../x", "a/b", "-x", "a b"])
def test_models_that_can_be_no_folder(tmp_path: Path, model: str) -> None:
    with pytest.raises(UserError, match="can't be the name of a folder"):
        write_release(
            tmp_path / "o", [], model_type="web_agents", model=model, curations={}, extractions={}, judgements={}
        )


def test_results_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        write_release(tmp_path, [], model_type="web_agents", model="m", curations={}, extractions={}, judgements={})


def test_checklists_are_by_place_where_words_repeat() -> None:
    same = tuple(ChecklistItem(dimension="price_sensitivity", number=number, text="Cheap") for number in (0, 1))
    judgement = Judgement(
        step_id=f"{PRODUCT}/release",
        key="",
        judge="release",
        verdicts=(
            ItemVerdict(item="price_sensitivity/0", satisfied=True),
            ItemVerdict(item="price_sensitivity/1", satisfied=False),
        ),
        reported=Reported(),
    )
    assert read_evaluation(PRODUCT, evaluation_json(judgement, same), same).judgement == judgement


def test_extractions_keep_their_type() -> None:
    assert isinstance(read_extraction(PRODUCT, EXTRACTED), Extraction)
