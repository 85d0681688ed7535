"""The release's files and folders: what was written is read again, and what its programs write is understood."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from grounding.benchmarks.agenticshop.records import (
    DIMENSIONS,
    Attribute,
    Curated,
    Curation,
    CustomerReview,
    ItemVerdict,
    Judgement,
    Money,
    ProductFacts,
    RenderedPage,
    Reported,
    Segment,
    Target,
    Variant,
    files_in,
)
from grounding.benchmarks.agenticshop.release import (
    evaluation_json,
    extraction_json,
    input_entry,
    read_eval_results,
    read_evaluation,
    read_extraction,
    read_search_answers,
    search_entry,
    write_release,
)
from grounding.benchmarks.agenticshop.scores import StoredRun
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.errors import UserError
from grounding.records import Failure, Size

from ..made import CHECKLIST, made_curation, made_extraction, made_judgement, made_task

TASK = made_task("u1")
PRODUCT = "explicit_title/u1/0"
words = st.text(max_size=20)


@settings(max_examples=40)
@given(url=words, description=words, details=st.none() | st.text(min_size=1, max_size=20))
def test_an_extraction_of_the_release_is_written_as_it_was(url: str, description: str, details: str | None) -> None:
    file = {
        "source_url": url,
        "available_product_info": {"description": description},
        "reviews": {"available": details is not None, "details": details},
    }
    read = read_extraction(PRODUCT, file)
    assert extraction_json(read) == file
    assert (read.url, read.extractor, read.page_class, read.failure) == (url, "release", None, None)
    assert (read.page is None) == (read.facts is None) == (not description and not details)


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
        "title: Alder tea",
        "price: 12.50 USD",
        "shipping: free",
        "price and shipping together: 12.50 USD",
        "feature: fifty bags",
        "attribute: Weight: 100 g",
        "form: 100 bags, 20 USD, sold out",
    ]
    said = "rating: 4.5 out of 5\nratings or reviews: 12\nreview: 5 out of 5: Yes Good"
    assert written["reviews"] == {"available": True, "details": said}


@settings(max_examples=40)
@given(st.recursive(st.none() | st.integers() | words, lambda inner: st.lists(inner) | st.dictionaries(words, inner)))
def test_anything_else_is_unparsed(junk: Any) -> None:
    judged = read_evaluation(PRODUCT, junk, CHECKLIST)
    for failure in (read_extraction(PRODUCT, junk).failure, judged.failure):
        assert failure is not None
        assert failure.kind == "unparsed"


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
    dimensions=st.dictionaries(st.sampled_from(DIMENSIONS), st.sampled_from(["1 / 2", "2 of 3", "66%", ""])),
)


@settings(max_examples=40)
@given(reports, st.lists(st.tuples(st.booleans(), words, st.booleans()), min_size=4, max_size=4))
def test_a_judgement_is_written_and_read_again(reported: Reported, said: list[tuple[bool, str, bool]]) -> None:
    missing: Any = {"satisfied": False, "flags": ("missing",)}
    verdicts = tuple(
        ItemVerdict(item=item.id, **({"satisfied": yes, "reasoning": reasoning} if there else missing))
        for item, (yes, reasoning, there) in zip(CHECKLIST, said, strict=True)
    )
    judgement = Judgement(step_id=f"{PRODUCT}/release", key="", judge="release", verdicts=verdicts, reported=reported)
    written = json.loads(json.dumps(evaluation_json(judgement, CHECKLIST, made_extraction(TASK, 0, "http://a"))))
    for form in (written, written["evaluation_result"]):
        assert read_evaluation(PRODUCT, form, CHECKLIST) == judgement


def test_a_judge_of_ours_reports_what_its_verdicts_add_up_to() -> None:
    judgement = made_judgement(TASK, 0, ["brand_preferences/0", "price_sensitivity/1"])
    written = evaluation_json(judgement, TASK.checklist, made_extraction(TASK, 0, "http://a"))["evaluation_result"]
    page = {"accessible": True, "status": "success", "is_specific_product_page": True, "reason": ""}
    assert written["page_accessibility"] == page
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
    brand = {"context": "Brand is Alder", "status": "SUCCESS", "reasoning": ""}
    assert written["annotated_checklist"]["brand_preferences"] == [brand]
    assert list(written["annotated_checklist"]) == list(DIMENSIONS)
    # What it says of the page alone, as our wording asks, adds nothing up.
    bare = msgspec.structs.replace(judgement, reported=Reported(accessible=True, reason="seen"))
    extraction = made_extraction(TASK, 0, "http://a")
    assert evaluation_json(bare, TASK.checklist, extraction)["evaluation_result"] == written
    for kind, status in (("blocked", "restricted"), ("error", "not_found")):
        away = made_extraction(TASK, 0, "http://a", page_class=kind, facts=None, class_reason="why")
        said = evaluation_json(judgement, TASK.checklist, away)["evaluation_result"]["page_accessibility"]
        assert said == {"accessible": False, "status": status, "is_specific_product_page": False, "reason": "why"}


@pytest.mark.parametrize(
    ("entries", "satisfied"),
    [
        # By their words, else by their place where there are as many.
        ([("shipping is  free.", "SUCCESS"), ("Costs at most $20", "FAIL")], {"0": False, "1": True}),
        ([("The shipping is free", " success "), ("Costs at most $20", "fail")], {"0": False, "1": True}),
        ([("Something else", "SUCCESS")], {}),
        ([("Costs at most $20", "PARTIAL"), ("Something", "SUCCESS"), ("Other", "SUCCESS")], {"0": False}),
    ],
)
def test_verdicts_find_their_items(entries: list[tuple[str, str]], satisfied: dict[str, bool]) -> None:
    said = [{"context": context, "status": status, "reasoning": "r"} for context, status in entries]
    read = read_evaluation(PRODUCT, {"annotated_checklist": {"price_sensitivity": said}}, CHECKLIST)
    found = {one.item: one.satisfied for one in read.verdicts if not one.flags}
    assert found == {f"price_sensitivity/{name}": one for name, one in satisfied.items()}


def test_numbers_are_those_that_the_release_adds() -> None:
    stats = {"satisfaction_percentage": 0.5, "satisfied_items": True, "not_satisfied_items": "3", "is_product_page": 1}
    stats |= {"total_checklist_items": 20, "price_sensitivity_percentage": " 2 / 3", "brand_preferences_percentage": 5}
    assert read_evaluation(PRODUCT, {"stats": stats}, CHECKLIST).reported == Reported(
        total_items=20, satisfaction_percentage=0.5, satisfied_items=1.0, dimensions={"price_sensitivity": " 2 / 3"}
    )


def test_a_number_that_cannot_be_meant_is_none() -> None:
    stats = {"satisfaction_percentage": 10**400, "satisfied_items": 3}
    assert read_evaluation(PRODUCT, {"stats": stats}, CHECKLIST).reported == Reported(satisfied_items=3.0)


# --- folders -------------------------------------------------------------------------------------------------------

HOME = "web_agents/seeact/Home_and_Kitchen"
EXPLICIT = "web_agents/seeact/Grocery_and_Gourmet_Food/explicit/user_u1"
EXTRACTED = {"source_url": "http://a", "available_product_info": {"description": "d"}, "reviews": {}}
JUDGED = {"stats": {"satisfaction_percentage": 25.0}, "annotated_checklist": {}}


def write(folder: Path, place: str, content: object) -> None:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_tree_of_results(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no results in it"):
        read_eval_results(tmp_path, (TASK,))
    for place, content in {
        f"{EXPLICIT}/result_000/extraction_result.json": EXTRACTED,
        f"{EXPLICIT}/result_000/evaluation_result.json": JUDGED,
        f"{EXPLICIT}/result_002/extraction_result.json": {**EXTRACTED, "source_url": "http://c"},
        f"{EXPLICIT}/result_002/evaluation_result.json": {"evaluation_result": JUDGED},
        f"{HOME}/user_u1/result_000/extraction_result.json": "{",
        f"{HOME}/user_u1/result_000/evaluation_result.json": "",
        f"{HOME}/user_u1/evaluation_summary.json": "{}",
        f"{HOME}/user_stranger/result_000/evaluation_result.json": JUDGED,
    }.items():
        write(tmp_path, place, content)
    tasks = (made_task("u1"), made_task("u1", "low_involvement"), made_task("u2"))
    for folder in (tmp_path, tmp_path / "web_agents", tmp_path / "web_agents" / "seeact"):
        extractions, judgements = read_eval_results(folder, tasks)
        assert [(one.step_id, one.url, one.failure is None) for one in extractions] == [
            ("explicit_title/u1/0", "http://a", True),
            ("explicit_title/u1/2", "http://c", True),
            ("low_involvement/u1/0", "", False),
        ]
        judged = [one.step_id for one in judgements]
        assert judged == ["explicit_title/u1/0/release", "explicit_title/u1/2/release"]
    write(tmp_path, "search_llms/gpt/Electronics/user_u1/result_000/evaluation_result.json", JUDGED)
    with pytest.raises(UserError, match="results of several models"):
        read_eval_results(tmp_path, (TASK,))


def released(folder: Path, extractions: Any, judgements: Any, curation: Any = None, evidence: Any = None) -> Path:
    curations = {} if curation is None else {TASK.id: curation}
    stored = StoredRun(tasks=(TASK,), curations=curations, extractions=extractions, judgements={"one": judgements})
    return write_release(folder, stored, "one", "web_agents/m-1", evidence or EvidenceFolder(folder))


def picture(height: int) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (8, height), (height, 0, 0)).save(target, format="PNG")
    return target.getvalue()


def test_what_failed_is_a_folder_without_a_file_and_no_page_that_is_not_there(tmp_path: Path) -> None:
    kinds: tuple[Any, ...] = ("error", "unparsed", "missing")
    lost = [
        made_extraction(
            TASK, rank, "http://a", page=None, facts=None, page_class=None, failure=Failure(kind=kind, message="why")
        )
        for rank, kind in enumerate(kinds)
    ]
    results = released(tmp_path / "m", {one.step_id: one for one in lost}, {})
    user = results / "Grocery_and_Gourmet_Food" / "explicit" / "user_u1"
    assert {path.name: list(path.iterdir()) for path in user.iterdir()} == {"result_000": [], "result_001": []}
    read, _ = read_eval_results(results, [TASK])
    assert [(one.step_id[-1], one.failure is not None and one.failure.kind) for one in read] == [
        ("0", "unparsed"),
        ("1", "unparsed"),
    ]


def test_pictures_go_there_and_back(tmp_path: Path) -> None:
    evidence, other = EvidenceFolder(tmp_path / "evidence"), EvidenceFolder(tmp_path / "other")
    segments = tuple(
        Segment(file=evidence.put(picture(height), ".png"), size=Size(width=8, height=height), top_px=top)
        for height, top in ((4, 0), (6, 4), (5, 10))
    )
    extraction = made_extraction(TASK, 0, "http://a", page=RenderedPage(url="http://a", segments=segments))
    results = released(tmp_path / "m", {PRODUCT: extraction}, {}, evidence=evidence)
    folder = results / "Grocery_and_Gourmet_Food" / "explicit" / "user_u1" / "result_000" / "artifacts"
    assert sorted(path.name for path in folder.iterdir()) == [f"fullpage_part_{number}.png" for number in (1, 2, 3)]
    for kept in (segments, segments[:1]):
        (found,) = read_eval_results(results, [TASK], evidence=other)[0]
        assert found.page is not None
        assert found.page.segments == kept
        assert other.get(segments[0].file) == picture(4)
        (folder / "fullpage_part_2.png").write_bytes(b"no picture")


@settings(max_examples=40)
@given(st.dictionaries(st.integers(0, 2), st.tuples(st.text(min_size=1, max_size=9), st.booleans()), min_size=1))
def test_results_are_written_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, made: dict[int, tuple[str, bool]]
) -> None:
    files = {f"{TASK.id}/{rank}": {**EXTRACTED, "source_url": text} for rank, (text, _) in made.items()}
    extractions = {product: read_extraction(product, file) for product, file in files.items()}
    judged = [f"{TASK.id}/{rank}" for rank, (_, is_judged) in made.items() if is_judged]
    judgements = {product: read_evaluation(product, JUDGED, CHECKLIST) for product in judged}
    results = released(tmp_path_factory.mktemp("model") / "m", extractions, judgements)
    read, judged_again = read_eval_results(results, [TASK])
    assert {one.step_id: one for one in read} == extractions
    assert {one.step_id.removesuffix("/release"): one for one in judged_again} == judgements


def test_a_whole_tree(tmp_path: Path) -> None:
    curation = made_curation(TASK, ["http://a"])
    judgements = {PRODUCT: made_judgement(TASK, 0, ["brand_preferences/0"])}
    released(tmp_path / "out", {PRODUCT: made_extraction(TASK, 0, "http://a")}, judgements, curation)
    result = "eval_results/web_agents/m-1/Grocery_and_Gourmet_Food/explicit/user_u1/result_000"
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.json")) == [
        "data/user_profiles/grocery_explicit_title_user_profile.json",
        f"{result}/evaluation_result.json",
        f"{result}/extraction_result.json",
        "product_curation_artifacts/inputs/grocery_explicit_title_search_input.json",
        "product_curation_artifacts/web_agents/m-1/grocery_explicit_title_search_output.json",
    ]
    outputs = files_in(tmp_path / "out" / "product_curation_artifacts" / "web_agents" / "m-1", "search_output")
    assert read_search_answers(outputs["explicit_title"])["u1"].products == curation.products
    _, (judged,) = read_eval_results(tmp_path / "out" / "eval_results", [TASK])
    assert [one.satisfied for one in judged.verdicts] == [True, False, False, False]


# --- prompts and products ------------------------------------------------------------------------------------------

texts = st.text(max_size=30)
products = st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=4).map(
    lambda found: tuple(Curated(rank=rank, url=a, name=b, reasoning=c) for rank, (a, b, c) in enumerate(found))
)
failures = st.builds(Failure, kind=st.just("error"), message=st.text(min_size=1, max_size=30))


@settings(max_examples=40)
@given(products | failures)
def test_products_are_written_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, answer: tuple[Curated, ...] | Failure
) -> None:
    failed = isinstance(answer, Failure)
    curation = Curation(step_id=TASK.id, key="", products=() if failed else answer, failure=answer if failed else None)
    file = tmp_path_factory.mktemp("outputs") / "home_search_output.json"
    file.write_text(json.dumps([search_entry(TASK, curation)]))
    read = read_search_answers(file)["u1"]
    assert (read.products, read.failure) == (curation.products, curation.failure)


def test_an_answer_that_names_nothing_is_no_error_and_what_is_not_recorded_is_not_written(tmp_path: Path) -> None:
    kinds: tuple[Any, ...] = ("unparsed", "error", "missing")
    tasks = tuple(made_task(kind) for kind in kinds)
    curations = {
        task.id: made_curation(task, [], failure=Failure(kind=kind, message="why"))
        for kind, task in zip(kinds, tasks, strict=True)
    }
    stored = StoredRun(tasks=tasks, curations=curations, extractions={}, judgements={"one": {}})
    write_release(tmp_path / "out", stored, "one", "web_agents/m", EvidenceFolder(tmp_path))
    folder = tmp_path / "out" / "product_curation_artifacts" / "web_agents" / "m"
    read = read_search_answers(files_in(folder, "search_output")["explicit_title"])
    assert {user: one.failure and one.failure.kind for user, one in read.items()} == {
        "unparsed": "unparsed",
        "error": "error",
    }


def test_the_files_of_products_are_the_releases(tmp_path: Path) -> None:
    assert search_entry(TASK, made_curation(TASK, ["http://a"])) == {
        "user": "u1",
        "search_results": [{"product_name": "Product 0", "product_url": "http://a", "reasoning": ""}],
    }
    entries = [
        {"user": "u1", "search_results": [{"product_url": "http://first"}]},
        {"user": "u1", "search_results": [{"product_url": "http://last", "product_name": None, "reasoning": 3}]},
        {"user": "u2", "search_results": None},
    ]
    file = tmp_path / "home_search_output.json"
    file.write_text(json.dumps(entries))
    found = read_search_answers(file)
    assert found["u1"].products == (Curated(rank=0, url="http://last", name="", reasoning="3"),)
    assert found["u2"].failure == Failure(kind="unparsed", message="the answer holds no products")
    file.write_text("[3]")
    with pytest.raises(UserError, match="item 0"):
        read_search_answers(file)
    entry = input_entry(made_task("u1", target=Target(title="Secret")))
    assert list(entry) == ["user", "seed_product_type", "prompt", "variables", "check_list"]
    assert 'The user says: "alder tea 50 bags".' in entry["prompt"]
    assert "Secret" not in json.dumps(entry)
