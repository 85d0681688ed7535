"""``grounding curation construct`` as a user has it: raw histories in, a data set that is loaded out."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from aiohttp import web
from fakes.chat_server import ChatServer, after, error, working_out
from fakes.construction_model import construction_model, part_of

from grounding.benchmarks.agenticshop.construction import (
    ConstructionPrompts,
    Made,
    Need,
    Subject,
    product_name,
    questions_of,
    read_part,
    subjects_of,
)
from grounding.benchmarks.agenticshop.loader import check_pairing, load_curation, read_raw_users
from grounding.benchmarks.agenticshop.records import DIMENSIONS, UserContext
from grounding.benchmarks.calls import read_wording
from grounding.records import Failure

Json = dict[str, Any]
REAL = Path(__file__).parents[4] / "shared" / "data" / "agenticshop" / "raw"
GROCERY = "Grocery_and_Gourmet_Food"


def review(title: str, *, brand: str = "Acme", kind: str = "Tea", text: str = "Nice.", **more: Any) -> Json:
    product = {
        "description": ["A thing."],
        "categories": ["Grocery & Gourmet Food", kind],
        "main_category": "Grocery",
        "store": brand,
        "details": json.dumps({"Brand": brand, "Item Form": "Loose Leaves"}),
        "title": title,
        "average_rating": 4.4,
        "features": [],
        "price": "8.99",
        "rating_number": 120,
    }
    return {"user_review_title": "T", "user_rating": 5.0, "user_review": text, "product": product, **more}


def user(name: str, *titles: str, kind: str = "Tea", brand: str = "Acme", target: int = 0) -> tuple[str, list[Json]]:
    reviews = [review(title, kind=kind, brand=brand) for title in titles]
    stats = {"stats": {"main_category": kind, "number_of_purchases": len(reviews), "average_rating": 5.0}}
    return name, [stats, {"most_frequent_category": [kind], "target": reviews[target], "review": reviews}]


def open_user(name: str, *titles: str) -> tuple[str, list[Json]]:
    reviews = [review(title, domain="Electronics" if place % 2 else GROCERY) for place, title in enumerate(titles)]
    stats: Json = {"stats": {"number_of_purchases": {GROCERY: 1}, "average_rating": {GROCERY: 4.0}}}
    return name, [stats, {"review": reviews}]


def write(folder: Path, *users: tuple[str, list[Json]], name: str = GROCERY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(dict(users)), encoding="utf-8")
    return folder


def several(count: int = 6) -> list[tuple[str, list[Json]]]:
    """Users who buy different kinds of different brands."""
    kinds = ("Tea", "Coffee", "Taffy", "Cocoa", "Honey", "Rice", "Salt", "Oats")
    return [
        user(
            f"U{number}",
            *(f"Brand{number} {kinds[number % 8]} number {place}" for place in range(12)),
            kind=kinds[number % 8],
            brand=f"Brand{number}",
        )
        for number in range(count)
    ]


# --- who is written about, and with what ------------------------------------------------------------------------------

PROMPTS = read_wording("agenticshop", "construction", ConstructionPrompts)
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="AgenticShop's raw users are not here")


def made(folder: Path, **options: Any) -> tuple[Subject, ...]:
    return subjects_of(folder, **options)[1]


def test_the_drawn_item_and_all_that_was_said_of_it_stay_out(tmp_path: Path) -> None:
    write(tmp_path, user("U", "Tea", "TEA ", "Cake", "Tea"), user("ONE", "Tea", "tea"))
    drawn = set()
    for seed in range(8):
        _, (one,), skipped = subjects_of(tmp_path, seed=seed)
        assert skipped == {f"{GROCERY}/ONE": "reviews of fewer than 2 products"}
        assert one.seed is not None
        drawn.add(product_name(one.seed))
        assert product_name(one.seed) not in {product_name(said) for said in one.history}
    assert drawn == {"tea", "cake"}


def test_a_draw_hangs_on_nobody_else(tmp_path: Path) -> None:
    first = made(write(tmp_path / "a", *several(1)))[0]
    assert made(write(tmp_path / "b", *several(4)))[0] == first
    assert made(write(tmp_path / "c", *reversed(several(4))))[-1] == first


@pytest.mark.parametrize(
    ("name", "length"), [("context", 3773), ("open_context", 3931), ("query", 4023), ("checklist", 3000)]
)
def test_the_texts_have_the_releases_length(name: str, length: int) -> None:
    """As they stand in the release, with the places for values written in this project's way."""
    assert len(getattr(PROMPTS, name)) == length


@needs_real
@pytest.mark.parametrize("name", [GROCERY, "open_curation"])
def test_histories_stand_in_prompts_as_python_writes_the_files_own_lists(name: str) -> None:
    path = REAL / f"{name}.json"
    files = json.loads(path.read_bytes())
    for one in read_raw_users(path)[:5]:
        entry = files[one.id][1]
        subject = Subject(domain=name, user=one.id, history=one.reviews, seed=one.target)
        known: dict[str, Any] = {"context": {subject.id: Made(context=UserContext())}, "need": {}}
        (question,) = questions_of([subject], PROMPTS, "context", known)
        assert f"purchase_history:\n{entry['review']}\n" in question.prompt
        for need in questions_of([subject], PROMPTS, "need", known):
            assert f"product_information: {entry['target']}\n" in need.prompt


def test_a_checklist_is_asked_for_without_the_query() -> None:
    need = Need(situation="Out of tea.", budget="under $9", explicit_title="SECRET <USER BUDGET>", categorical="SECRET")
    context, one = (
        UserContext(brand_preferences="Likes {user_budget} <USER BUDGET>."),
        Subject(domain="d", user="u", history=()),
    )
    known: dict[str, Any] = {"context": {one.id: Made(context=context)}, "need": {one.id: Made(need=need)}}
    ((question,),) = [questions_of([one], PROMPTS, "checklist", known)]
    assert question.prompt.startswith("\nYou are an expert product evaluator")
    assert "user_situation: Out of tea.\nuser_budget: under $9\n" in question.prompt
    assert "Likes {user_budget} <USER BUDGET>." in question.prompt
    assert "SECRET" not in question.prompt


# --- replies ---------------------------------------------------------------------------------------------------------

CONTEXT = {name: f"About {name}." for name in DIMENSIONS}
OPEN_NAMES = {"functional_requirements": "performance_standards", "aesthetic_preferences": "design_sensibility"}
QUERIES = {name: f"say {name}" for name in ("explicit_title", "attribute_specific", "brand_categorical", "categorical")}
NEED: dict[str, Any] = {"situation": "s", "budget_range": "b", "query": QUERIES}
LISTS = {name: [f"The {name} is there.", "Two."] for name in DIMENSIONS}


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{json.dumps(CONTEXT, indent=2)}\n```",
        f"Here: {json.dumps({'user_profile': CONTEXT})} done",
        json.dumps({OPEN_NAMES.get(name, name): said for name, said in CONTEXT.items()}),
    ],
)
def test_a_context_is_read_in_every_usual_form(text: str) -> None:
    found = read_part("context", text)
    assert not isinstance(found, Failure)
    assert found["context"].functional_requirements == "About functional_requirements."


@pytest.mark.parametrize(
    ("part", "said", "why"),
    [
        ("context", "I can't.", "no JSON"),
        ("context", {**CONTEXT, "price_sensitivity": " "}, "price_sensitivity"),
        ("need", {**NEED, "query": {**QUERIES, "categorical": ""}}, "categorical"),
        ("checklist", {**LISTS, "price_sensitivity": [" "]}, "$.price_sensitivity"),
        ("checklist", {**LISTS, "price_sensitivity": ["x"] * 13}, "$.price_sensitivity"),
    ],
)
def test_what_is_not_whole_is_unparsed(part: str, said: object, why: str) -> None:
    found = read_part(part, said if isinstance(said, str) else json.dumps(said))
    assert isinstance(found, Failure)
    assert (found.kind, why in found.message) == ("unparsed", True)


# --- the command -----------------------------------------------------------------------------------------------------

USERS = 6
PRICE = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
COST_USD = (1000 * 10 + 10 * 100) / 1e6  # Of one request, by what the fake counts.


class Bench:
    def __init__(self, folder: Path) -> None:
        self.raw = write(folder / "raw", *several(USERS))
        self.card = shell.planner_card(folder, "writer")
        self.card.write_text(self.card.read_text() + PRICE)
        self.out = folder / "users"

    def construct(self, *more: str | Path, url: str = "http://127.0.0.1:9/v1") -> subprocess.CompletedProcess[str]:
        model = ("--writer", self.card, "--base-url", url, "--max-retries", "0")
        arguments = ("construct", "--raw", self.raw, "--out", self.out, *model, *more)
        return shell.call("curation", *arguments, module="grounding")

    @property
    def made(self) -> Json:
        found: Json = json.loads((self.out / "made-with.json").read_bytes())
        return found

    def users(self, key: str) -> list[Json]:
        found: list[Json] = json.loads((self.out / f"{key}_user_profile.json").read_bytes())
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(working_out(construction_model)) as running:
        yield running


def parts(server: ChatServer) -> Counter[str]:
    return Counter(part_of(body) for body in server.bodies)


def test_a_model_writes_and_nothing_is_asked_twice(bench: Bench, server: ChatServer) -> None:
    done = bench.construct(url=server.base_url)
    assert done.returncode == 0, done.stderr
    assert parts(server) == {"context": USERS, "need": USERS, "checklist": USERS}
    again = bench.construct(url=server.base_url)
    assert again.returncode == 0
    assert server.count == 3 * USERS
    assert "asked now     0" in again.stdout
    assert bench.made["cost_usd"] == pytest.approx(3 * USERS * COST_USD)
    loaded = load_curation("agenticshop", bench.out)
    scenarios = ("explicit_title", "attribute_specific", "brand_categorical")
    assert Counter(task.scenario for task in loaded.tasks) == dict.fromkeys(scenarios, USERS)
    of_one = {task.scenario: task for task in loaded.tasks if task.user == "U2"}
    assert len({task.checklist for task in of_one.values()}) == 1
    assert of_one["explicit_title"].target is not None
    assert of_one["explicit_title"].target.brand == "Brand2"
    # Another draw is another data set.
    assert "made otherwise (seed)" in bench.construct("--seed", "3", url=server.base_url).stderr
    bench.out.joinpath("made-with.json").unlink()
    bench.out.joinpath("replies.jsonl").unlink()
    assert "holds something else" in bench.construct(url=server.base_url).stderr


def test_who_only_looks_around_has_no_product_type_and_no_budget(bench: Bench, server: ChatServer) -> None:
    write(bench.raw, open_user("O", *(f"thing {place}" for place in range(20))), name="open_curation")
    assert bench.construct("--scenario", "casual_browsing", url=server.base_url).returncode == 0
    assert parts(server) == {"context": 1, "checklist": 1}
    (task,) = load_curation("agenticshop", bench.out).tasks
    assert (task.product_type, task.budget, task.target) == (None, None, None)
    assert task.query.startswith("curate a list of products")


def test_whatever_order_answers_come_in_everything_stays_with_its_user(bench: Bench, server: ChatServer) -> None:
    chance = random.Random(4)

    async def in_any_order(_request: web.Request, content: bytes) -> web.StreamResponse:
        await asyncio.sleep(chance.random() * 0.05)
        return web.json_response(construction_model(json.loads(content)))

    server.default = in_any_order
    assert bench.construct(url=server.base_url).returncode == 0
    for key in ("grocery_explicit_title", "grocery_attribute_specific", "grocery_brand_categorical"):
        users = bench.users(key)
        assert [one["user"] for one in users] == [f"U{number}" for number in range(USERS)]
        for number, one in enumerate(users):
            assert f"Brand{number}" in one["user_query"]
            assert f"Brand{number}" in one["user_context"]["brand_preferences"]
            assert one["check_list"]["brand_preferences"] == [f"The brand is Brand{number}."]
    assert bench.made["doubts"] == []
    # No review of the item of the query is shown for the context.
    shown = [body["messages"][1]["content"] for body in server.bodies if part_of(body) == "context"]
    for one in bench.users("grocery_explicit_title"):
        (prompt,) = [each for each in shown if f"Brand{one['user'][1:]} " in each]
        assert f"'{one['target']['title']}'" not in prompt
        assert prompt.count("'user_review'") == 10


def test_a_run_that_broke_off_goes_on(bench: Bench, server: ChatServer) -> None:
    server.script(*[working_out(construction_model)] * 4, error(400, "no"), working_out(construction_model))
    broken = bench.construct(url=server.base_url)
    assert broken.returncode == 1
    assert "errors 1" in broken.stdout
    assert "goes on from here" in broken.stderr
    assert len(bench.users("grocery_explicit_title")) == USERS - 1
    before = server.count
    assert bench.construct(url=server.base_url).returncode == 0
    assert server.count - before == 3
    assert len(bench.users("grocery_explicit_title")) == USERS


def test_a_reply_that_can_not_be_read_leaves_that_user_out(bench: Bench, server: ChatServer) -> None:
    def refusing(body: Json) -> Json:
        made = construction_model(body)
        if part_of(body) == "need" and "Brand3" in body["messages"][1]["content"]:
            made["choices"][0]["message"]["content"] = "I'd rather not."
        return made

    server.default = working_out(refusing)
    done = bench.construct(url=server.base_url)
    assert done.returncode == 0
    assert "unparsed 1" in done.stdout
    assert [one["user"] for one in bench.users("grocery_explicit_title")] == ["U0", "U1", "U2", "U4", "U5"]


def test_the_cost_limit_stops_it(bench: Bench, server: ChatServer) -> None:
    bench.card.write_text(bench.card.read_text() + "parameters: {max_tokens: 50}\n")
    limit = str(8 * COST_USD)
    done = bench.construct("--cost-limit", limit, url=server.base_url)
    assert done.returncode == 1
    assert "cost limit" in done.stdout
    assert 0 < server.count <= 8


def test_another_model_can_write_the_queries(bench: Bench, server: ChatServer, tmp_path: Path) -> None:
    other = shell.planner_card(tmp_path, "asker")
    assert bench.construct("--query-writer", other, url=server.base_url).returncode == 0
    assert {part_of(body) for body in server.bodies if body["model"] == "asker"} == {"need"}
    assert bench.made["recipe"]["query_writer"] == "asker (asker)"


@needs_real
def test_fifty_real_users_keep_their_queries(bench: Bench, server: ChatServer) -> None:
    bench.raw = REAL / f"{GROCERY}.json"
    done = bench.construct(url=server.base_url)
    assert done.returncode == 0, done.stderr
    loaded = load_curation("agenticshop", bench.out)
    assert [doubt for report in check_pairing(loaded.tasks) for doubt in report.doubts] == []
    for one, task in zip(made(bench.raw), loaded.tasks, strict=False):
        assert one.seed is not None
        assert task.target is not None
        assert (task.user, task.target.title) == (one.user, one.seed.product.title)
        assert one.seed.product.title.split()[0] in task.query


@pytest.mark.slow
def test_a_process_that_was_killed_goes_on_where_it_was(bench: Bench, server: ChatServer) -> None:
    server.default = after(0.2, working_out(construction_model))
    model = ("--writer", bench.card, "--base-url", server.base_url, "--max-connections", "1")
    arguments = ("curation", "construct", "--raw", bench.raw, "--out", bench.out, *model)
    process = shell.start(*arguments, cwd=bench.raw, module="grounding")
    kept = bench.out / "replies.jsonl"
    shell.wait_until(lambda: kept.exists() and len(shell.lines(kept)) >= 3, process)
    process.send_signal(signal.SIGKILL)
    shell.finish(process)
    before = len(shell.lines(kept))
    server.default = working_out(construction_model)
    asked = server.count
    assert bench.construct(url=server.base_url).returncode == 0
    assert server.count - asked == 3 * USERS - before
    assert [one["user"] for one in bench.users("grocery_explicit_title")] == [f"U{number}" for number in range(USERS)]
