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
from fakes.construction_model import GOOD_ITEM, construction_model, part_of

from grounding.webagents.agenticshop.construction.subjects import find_files, product_name, subjects_of
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.pairing import check_pairing
from webagents.agenticshop.construction.raw import GROCERY, REAL, open_user, several, write

USERS = 6
PRICE = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
COST_USD = (1000 * 10 + 10 * 100) / 1e6
"""Of one request, by what the fake counts."""

Json = dict[str, Any]


class Bench:
    def __init__(self, folder: Path) -> None:
        self.raw = write(folder / "raw", *several(USERS))
        self.card = shell.planner_card(folder, "writer")
        self.card.write_text(self.card.read_text() + PRICE)
        self.out = folder / "users"

    def construct(self, *more: str | Path, url: str = "") -> subprocess.CompletedProcess[str]:
        model = ("--writer", self.card, "--base-url", url, "--max-retries", "0") if url else ()
        arguments = ("construct", "--raw", self.raw, "--out", self.out, *model, *more)
        return shell.call("curation", *arguments, module="grounding.cli")

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


def test_without_a_model_a_data_set_comes_out(bench: Bench) -> None:
    write(bench.raw, open_user("O", *(f"thing {place}" for place in range(20))), name="open_curation")
    done = bench.construct()
    assert done.returncode == 0, done.stderr
    assert "0 of 6 users" in done.stdout
    assert "0 of 18 queries look like another user's" in done.stdout
    assert "no model" in done.stdout
    loaded = load_curation("agenticshop", bench.out)
    assert Counter(task.scenario for task in loaded.tasks) == {
        "explicit_title": USERS,
        "attribute_specific": USERS,
        "brand_categorical": USERS,
        "casual_browsing": 1,
    }
    assert not loaded.warnings
    of_one = {task.scenario: task for task in loaded.tasks if task.user == "U2"}
    assert len({task.checklist for task in of_one.values()}) == 1
    assert of_one["explicit_title"].target is not None
    assert of_one["explicit_title"].target.brand == "Brand2"
    (open_task,) = [task for task in loaded.tasks if task.user == "O"]
    assert (open_task.product_type, open_task.budget, open_task.target) == (None, None, None)
    assert open_task.query.startswith("curate a list of products")


def test_a_model_writes_and_nothing_is_asked_twice(bench: Bench, server: ChatServer) -> None:
    done = bench.construct(url=server.base_url)
    assert done.returncode == 0, done.stderr
    assert parts(server) == {"context": USERS, "need": USERS, "checklist": USERS, "again": USERS}
    again = bench.construct(url=server.base_url)
    assert again.returncode == 0
    assert server.count == 4 * USERS
    assert "asked now     0" in again.stdout
    assert bench.made["cost_usd"] == pytest.approx(4 * USERS * COST_USD)


def test_checklists_that_are_objected_to_are_written_again_once(bench: Bench, server: ChatServer) -> None:
    done = bench.construct(url=server.base_url)
    assert (
        f"checklists    0 of {6 * USERS} items flagged; {USERS} before {USERS} lists were written again" in done.stdout
    )
    checked = bench.made["checked"]
    assert (checked["asked_again"], checked["mended"]) == (USERS, USERS)
    assert bench.users("grocery_explicit_title")[0]["check_list"]["purchase_preferences"] == [GOOD_ITEM]
    bench.construct("--fresh", "--no-mend", url=server.base_url)
    assert parts(server)["again"] == USERS
    assert bench.made["checked"]["lint"]["flagged"] == USERS


def test_a_second_checklist_that_is_no_better_is_not_taken(bench: Bench, server: ChatServer) -> None:
    def worse(body: Json) -> Json:
        made = construction_model(body)
        if part_of(body) == "again":
            message = made["choices"][0]["message"]
            message["content"] = message["content"].replace("The page", "The attractive, reputable page")
        return made

    server.default = working_out(worse)
    assert bench.construct(url=server.base_url).returncode == 0
    assert bench.made["checked"]["asked_again"] == USERS
    items = bench.users("grocery_explicit_title")[0]["check_list"]
    assert items["functional_requirements"] == ["The page lists ingredients."]


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
    assert bench.made["checked"]["doubts"] == []


def test_a_model_is_shown_no_review_of_the_seed_for_the_context(bench: Bench, server: ChatServer) -> None:
    bench.construct(url=server.base_url)
    seeds = {one["user"]: one["target"]["title"] for one in bench.users("grocery_explicit_title")}
    shown = [body["messages"][1]["content"] for body in server.bodies if part_of(body) == "context"]
    for user, title in seeds.items():
        (prompt,) = [one for one in shown if f"Brand{user[1:]} " in one]
        assert f"'{title}'" not in prompt
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
    assert server.count - before == 4
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


def test_the_official_way_says_that_the_seed_leaks(bench: Bench, server: ChatServer) -> None:
    done = bench.construct("--official", url=server.base_url)
    assert f"in the reviews of the context for {USERS} of {USERS} users" in done.stdout
    assert "again" not in parts(server)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--scenario", "home"), "Home_and_Kitchen.json"),
        (("--writer", "no-such-card"), "no-such-card"),
        (("--query-writer", "gpt-4o"), "--query-writer"),
        (("--prompt", "other"), "--prompt other"),
        (("--scenario", "nonsense"), "nonsense"),
    ],
)
def test_what_can_not_be_is_said(bench: Bench, more: tuple[str, ...], said: str) -> None:
    done = bench.construct(*more)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not bench.out.exists()


def test_nothing_else_is_overwritten(bench: Bench) -> None:
    assert bench.construct().returncode == 0
    other = bench.construct("--seed", "3")
    assert other.returncode == 2
    assert "made otherwise (seed)" in other.stderr
    assert bench.construct("--seed", "3", "--fresh").returncode == 0
    bench.out.joinpath("made-with.json").write_text("{}")
    assert "holds something else" in bench.construct().stderr


@pytest.mark.skipif(not REAL.is_dir(), reason="AgenticShop's raw users are not here")
def test_fifty_real_users_keep_their_queries_and_no_seed_is_in_its_context(bench: Bench, server: ChatServer) -> None:
    bench.raw = REAL / f"{GROCERY}.json"
    done = bench.construct("--no-mend", url=server.base_url)
    assert done.returncode == 0, done.stderr
    assert "in the reviews of the context for 0 of 50 users" in done.stdout
    loaded = load_curation("agenticshop", bench.out)
    assert Counter(task.scenario for task in loaded.tasks).most_common(1)[0][1] == 50
    assert [doubt for report in check_pairing(loaded.tasks) for doubt in report.doubts] == []
    subjects = subjects_of(find_files(bench.raw), seed=0, users=None, reviews=10, official=False).subjects
    shown = [body["messages"][1]["content"] for body in server.bodies if part_of(body) == "context"]
    assert len(shown) == 50
    for one, task in zip(subjects, loaded.tasks, strict=False):
        assert one.seed is not None
        assert task.user == one.user
        assert task.target is not None
        assert task.target.title == one.seed.product.title
        assert one.seed.product.title.split()[0] in task.query
        assert product_name(one.seed) not in {product_name(said) for said in one.history}


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_process_that_was_stopped_goes_on_where_it_was(
    bench: Bench, server: ChatServer, sent: signal.Signals, code: int
) -> None:
    server.default = after(0.2, working_out(construction_model))
    model = ("--writer", bench.card, "--base-url", server.base_url, "--max-connections", "1")
    arguments = ("curation", "construct", "--raw", bench.raw, "--out", bench.out, *model)
    process = shell.start(*arguments, cwd=bench.raw, module="grounding.cli")
    kept = bench.out / "work" / "contexts.jsonl"
    shell.wait_until(lambda: kept.exists() and len(shell.lines(kept)) >= 3, process)
    process.send_signal(sent)
    assert shell.finish(process).returncode == code
    before = len(shell.lines(kept))
    server.default = working_out(construction_model)
    asked = server.count
    assert bench.construct(url=server.base_url).returncode == 0
    assert server.count - asked == 4 * USERS - before
    assert [one["user"] for one in bench.users("grocery_explicit_title")] == [f"U{number}" for number in range(USERS)]
