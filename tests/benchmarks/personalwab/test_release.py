"""The release's own code and ours side by side: requests, results and texts as its agents made them over a small shop.

``release/recorded.json.gz`` holds what HongruCai/PersonalWAB at 23ff65c sent to a server that keeps requests, what that
server answered, and what the release's functions returned; ``release/*.json`` is the shop.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.chat_server import ChatServer, reply

from grounding.benchmarks.personalwab.agents.chat import Likings
from grounding.benchmarks.personalwab.agents.puma import parameter_prompt
from grounding.benchmarks.personalwab.benchmark import BENCHMARK, web_of
from grounding.benchmarks.personalwab.embeddings import review_similarity
from grounding.benchmarks.personalwab.episode import view_of
from grounding.benchmarks.personalwab.loader import read_shop
from grounding.benchmarks.personalwab.options import ShopOptions
from grounding.benchmarks.personalwab.prompts import behaviour_text, shop_prompts
from grounding.benchmarks.personalwab.records import Episode, FunctionCall
from grounding.benchmarks.personalwab.scoring import judge_shop, review_pairs
from grounding.benchmarks.personalwab.web import TOOLS
from grounding.llm.budget import Budget
from grounding.run.benchmark import Shared
from grounding.run.journal import Journal

HERE = Path(__file__).parent / "release"
CARD = "name: card\ntitle: C\nmodel: gpt-4o-mini\ntakes: [temperature, seed]\nmax_connections: 1\n"
AGENTS = {
    "fc-none": ("function-calling", "none"),
    "fc-last": ("function-calling", "last"),
    "fc-relevant": ("function-calling", "relevant"),
    "fc-random": ("function-calling", "random"),
    "fc-odd": ("function-calling", "none"),
    "fc-multi": ("function-calling", "last"),
    "recmind": ("recmind", None),
    "recmind-multi": ("recmind", None),
    "interecagent": ("interecagent", None),
    "puma": ("puma", None),
    "puma-multi": ("puma", None),
    "react": ("react", "last"),
    "react-gives-up": ("react", "relevant"),
    "react-multi": ("react", "random"),
    "reflexion": ("reflexion", "last"),
}


@cache
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((HERE / "recorded.json.gz").read_bytes()))
    return found


def cases() -> dict[str, dict[str, Any]]:
    return {case["name"]: case for case in recorded()["cases"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop with a recommender whose weights are a formula, which the release's code was given, too."""
    torch = pytest.importorskip("torch")
    from grounding.benchmarks.personalwab.sasrec import Sasrec

    folder = tmp_path_factory.mktemp("shop")
    for file in HERE.glob("*.json"):
        shutil.copy(file, folder)
    items = max(json.loads((HERE / "product_ids.json").read_text()).values())
    weights = {}
    for place, (name, tensor) in enumerate(sorted(Sasrec(items).state_dict().items())):
        values = np.sin(np.arange(tensor.numel()) * 0.37 + place).reshape(tuple(tensor.shape)) * 0.3
        weights[name] = torch.tensor(values, dtype=torch.float32)
    torch.save(weights, folder / "sasrec.pth")
    return folder


def without_nulls(value: Any) -> Any:
    """JSON whose fields that say nothing are left out: the openai package sends some of a reply back."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def played(case: dict[str, Any], data: Path, tmp_path: Path) -> tuple[list[Any], list[Episode], Any]:
    """What our agent asks where the server says what it said to the release's, the episodes, and what was prepared."""
    agent, memory = AGENTS[case["name"]]
    multi = any("Your Profile:" in json.dumps(each["request"]) for each in case["exchanges"]) or "10, and" in str(case)
    card = tmp_path / "card.yaml"
    card.write_text(CARD)
    functions = tmp_path / "functions.json"
    tasks = json.loads((data / "user_instructions.json").read_text())["test"]
    names = {"search": "search_product_by_query", "recommend": "get_recommendations_by_history"}
    predicted = {one["task"]: [names.get(one["type"], "add_product_review")] for one in tasks}
    functions.write_text(json.dumps(predicted))
    says = [
        reply(each["message"].get("content"), tool_calls=each["message"].get("tool_calls", ()))
        for each in case["exchanges"]
    ]
    with ChatServer(reply("too many requests")) as server:
        server.script(*says)
        options = ShopOptions(
            dataset="personalwab",
            data_dir=data,
            agent=agent,  # type: ignore[arg-type]
            memory=memory,  # type: ignore[arg-type]
            preset="official",
            model=str(card),
            base_url=(server.base_url,),
            track="multi" if multi else "single",
            max_steps=steps_of(case) if multi else None,
            user=str(card) if multi else None,
            user_base_url=server.base_url if multi else None,
            functions=functions if agent == "puma" else None,
        )
        prepared = BENCHMARK.prepare(options, Budget(None), BENCHMARK.progress("none"), Shared())
        if agent == "interecagent":
            known = {"U1": Likings(like=("B000000007",)), "U2": Likings(expect=("boots",))}
            prepared.agent.likings = {**known, "U3": Likings()}  # type: ignore[attr-defined]
        chosen = [prepared.tasks[place] for place in case["tasks"]]
        journal = Journal(tmp_path / "episodes.jsonl", Episode)
        stage = prepared.stage(journal)

        async def run() -> list[Episode]:
            found = [await stage.run(task, None, "k") for task in chosen]
            await prepared.aclose()
            return found

        episodes = asyncio.run(run())
        journal.close()
        return server.bodies, episodes, prepared


def steps_of(case: dict[str, Any]) -> int:
    return {"recmind-multi": 4, "react-multi": 5}.get(case["name"], 10)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_asks_what_the_release_s_agent_asks(name: str, data: Path, tmp_path: Path) -> None:
    case = cases()[name]
    bodies, episodes, prepared = played(case, data, tmp_path)
    theirs = [without_nulls(each["request"]) for each in case["exchanges"]]
    for number, (our, their) in enumerate(zip(bodies, theirs, strict=False)):
        assert without_nulls(our) == their, f"request {number}"
    assert len(bodies) == len(theirs)
    tasks = [prepared.tasks[place] for place in case["tasks"]]
    by_id = {task.id: episode for task, episode in zip(tasks, episodes, strict=True)}
    pairs = review_pairs(tasks, by_id)
    likeness = dict(zip(pairs, review_similarity(pairs), strict=True))
    for task, result in zip(tasks, case["results"], strict=True):
        verdict = judge_shop(task, by_id[task.id], likeness, rule="official")
        attempts = verdict.attempts
        # Talking where nobody listens is an attempt without worth in the release's lists.
        talked = [0] if verdict.end == "responded" else []
        assert [int(one.function) for one in attempts] + talked == result["action_acc"]
        assert [one.outcome for one in attempts] + talked == pytest.approx(result["res_acc"], abs=1e-5)
        assert verdict.steps == result["steps"]
    if case["likings"] is not None:
        likings = prepared.agent.likings
        for user, their in case["likings"].items():
            assert {key: set(getattr(likings[user], key)) for key in their} == {k: set(v) for k, v in their.items()}


@pytest.fixture(scope="module")
def web(data: Path) -> Any:
    options = ShopOptions(dataset="personalwab", data_dir=data)
    return web_of(options, read_shop(data), Shared())


def test_the_functions_are_offered_and_answer_as_the_release_s(web: Any) -> None:
    assert list(TOOLS.values()) == recorded()["tools"]
    for each in recorded()["observations"]:
        call = FunctionCall(name=each["name"], arguments=json.dumps(each["arguments"]))
        assert web.call(call).text == each["text"], each


def test_the_recommender_ranks_as_the_release_s_whatever_was_bought_and_however_short(web: Any) -> None:
    for sequence, ranked in recorded()["rankings"]:
        assert list(web.recommender.recommend(sequence, 10)) == ranked, sequence


def test_texts_of_purchases_and_prompts_are_the_release_s_with_what_is_null_as_none() -> None:
    shop, prompts = read_shop(HERE), shop_prompts()
    templates = {
        "entry": prompts.entry,
        "recmind": prompts.entry_recmind,
        "search": prompts.entry_search,
        "recommend": prompts.entry_recommend,
        "interecagent": prompts.entry_interecagent,
    }
    for name, template in templates.items():
        ours = [
            behaviour_text(template, place, one, shop.products[one.asin])
            for user in shop.users.values()
            for place, one in enumerate(user.behaviours)
        ]
        assert ours == recorded()["texts"][name]
    for number, (task, (_, their)) in enumerate(zip(shop.tasks, recorded()["puma_prompts"], strict=True)):
        view = view_of(task, shop.products[task.target_asin])
        assert parameter_prompt(prompts, view, task.type, "MEMORY" if number % 2 else "none") == their
