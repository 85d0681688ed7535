"""Who goes to the cluster, and in how many workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import grounder_card
from hypothesis import given
from hypothesis import strategies as st

from grounding.budget import Budget
from grounding.building import grounder_card as card_of
from grounding.building import grounder_of, planner_of
from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.executors.link import Cluster, Needs, Node
from grounding.executors.recipe import Beside
from grounding.executors.staffing import (
    AskedModel,
    Staff,
    check_reach,
    grounder_staff,
    planner_staff,
    stage_staff,
)
from grounding.grounders import BuiltGrounder
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner
from grounding.serving.command import ServerOptions


def cluster(*sizes: tuple[float, float]) -> Cluster:
    """Nodes of so many processors and GPUs."""
    nodes = tuple(Node(name=str(at), address="a", cpus=cpus, gpus=gpus) for at, (cpus, gpus) in enumerate(sizes))
    return Cluster(address="here", nodes=nodes)


def planner(options: EvalOptions) -> BuiltPlanner:
    return planner_of(options, base_url=options.planner_base_url, budget=Budget(None), on_retry=lambda: None)


def grounder(options: EvalOptions, **how: Any) -> BuiltGrounder:
    return grounder_of(
        options,
        card=card_of(options),
        base_url=" ".join(options.base_url) or how.get("base_url"),
        sessions=(),
        budget=Budget(None),
        on_retry=lambda: None,
    )


TWO = cluster((8.0, 0.0), (4.0, 0.0))


@pytest.mark.parametrize("name", ["center", "random", "oracle"])
def test_what_only_looks_things_up_stays(name: str) -> None:
    options = EvalOptions(grounder=name)
    assert grounder_staff(options, grounder(options), TWO) is None
    assert planner_staff(options, planner(options), TWO) is None


def test_reading_screens_takes_whole_nodes() -> None:
    options = EvalOptions(grounder="ocr")
    built = grounder(options)
    assert grounder_staff(options, built, TWO) == Staff(workers=3, needs=Needs(cpus=4.0))
    assert grounder_staff(options, built, cluster((0.0, 0.0), (2.0, 0.0))) == Staff(workers=1, needs=Needs(cpus=2.0))
    fewer = msgspec.structs.replace(options, workers=6)
    assert grounder_staff(fewer, built, TWO) == Staff(workers=6, needs=Needs(cpus=2.0))


def test_the_connections_to_a_server_are_shared_out() -> None:
    options = EvalOptions(grounder="qwen2.5-vl", base_url=("http://10.0.0.1:8000/v1",), max_connections=10)
    found = grounder_staff(options, grounder(options), cluster(*[(8.0, 0.0)] * 4))
    assert found == Staff(workers=4, needs=Needs(cpus=0.0), max_connections=2)
    one = msgspec.structs.replace(options, max_connections=1, workers=9)
    assert grounder_staff(one, grounder(one), TWO) == Staff(workers=1, needs=Needs(cpus=0.0), max_connections=1)


def test_a_providers_limits_are_kept_by_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    options = EvalOptions(planner="gpt-4o", workers=8)
    found = planner_staff(options, planner(options), TWO)
    assert found == Staff(workers=1, needs=Needs(cpus=0.0))


def beside(*flags: str, command: tuple[str, ...] = ("vllm", "serve")) -> Beside:
    return Beside(card=grounder_card(), options=ServerOptions(command=command, flags=flags))


def own(card: GrounderCard) -> BuiltGrounder:
    options = EvalOptions(grounder="qwen2.5-vl", base_url=("http://127.0.0.1:1/v1",))
    return msgspec.structs.replace(grounder(options), card=card)


def test_a_server_beside_takes_its_gpus() -> None:
    gpus = cluster((8.0, 8.0), (8.0, 3.0), (8.0, 0.0))
    options = EvalOptions(grounder="m")
    two = beside("--tensor-parallel-size", "2")
    built = own(two.card)
    assert grounder_staff(options, built, gpus, beside=two) == Staff(workers=5, needs=Needs(cpus=0.0, gpus=2.0))
    some = msgspec.structs.replace(options, replicas=3)
    found = grounder_staff(some, built, gpus, beside=beside())
    assert found == Staff(workers=3, needs=Needs(cpus=0.0, gpus=1.0))
    with pytest.raises(UserError, match=r"needs 16 GPUs on one node, and no node .* has more than 8"):
        grounder_staff(options, built, gpus, beside=beside("-tp", "16"))
    with pytest.raises(UserError, match=r"no node of the cluster at here has a GPU .* --base-url"):
        grounder_staff(options, built, TWO, beside=beside())
    fake = beside(command=("python", "vllm.py", "serve"))
    assert grounder_staff(options, built, TWO, beside=fake) == Staff(workers=2, needs=Needs(cpus=0.0))


def test_weights_in_a_worker_take_a_gpu_or_a_node() -> None:
    card = grounder_card()
    built = msgspec.structs.replace(own(card), base_url="")
    options = EvalOptions(grounder="m", backend="hf")
    assert grounder_staff(options, built, cluster((8.0, 2.0))) == Staff(workers=2, needs=Needs(cpus=0.0, gpus=1.0))
    assert grounder_staff(options, built, TWO) == Staff(workers=3, needs=Needs(cpus=4.0))


NODES = st.lists(st.tuples(st.integers(0, 64).map(float), st.just(0.0)), min_size=1, max_size=6)


@given(NODES, st.none() | st.integers(1, 20))
def test_at_least_one_worker_always_finds_a_place(sizes: list[tuple[float, float]], workers: int | None) -> None:
    options = EvalOptions(grounder="ocr", workers=workers)
    there = cluster(*sizes)
    found = grounder_staff(options, grounder(options), there)
    assert found is not None
    assert found.workers >= 1
    assert any(node.cpus >= found.needs.cpus for node in there.nodes)
    if workers is None:
        placed = sum(int(node.cpus // found.needs.cpus) for node in there.nodes) if found.needs.cpus else 1
        assert placed >= found.workers


def test_the_pipeline_of_marks_shares_connections_too(tmp_path: Path) -> None:
    from grounding.places import models_dir

    card = (models_dir() / "pipelines" / "som.yaml").read_text(encoding="utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text(card, encoding="utf-8")
    options = EvalOptions(grounder=str(path), base_url=("http://10.0.0.1:8000/v1",), max_connections=6)
    found = grounder_staff(options, grounder(options), TWO)
    assert found == Staff(workers=2, needs=Needs(cpus=0.0), max_connections=3)


# --- stages of benchmarks -----------------------------------------------------------------------------------------


def model(connections: int = 8, *, own: bool = True, limited: bool = False) -> AskedModel:
    return AskedModel(max_connections=connections, own_address=own, limited=limited)


def test_a_stage_without_a_model_takes_whole_nodes() -> None:
    assert stage_staff(None, TWO) == Staff(workers=3, needs=Needs(cpus=4.0))
    assert stage_staff(2, TWO) == Staff(workers=2, needs=Needs(cpus=4.0))


def test_a_stage_shares_the_connections_to_its_narrowest_server() -> None:
    assert stage_staff(3, TWO, models=[model(8), model(7)]) == Staff(
        workers=3, needs=Needs(cpus=1.0), max_connections=2
    )
    assert stage_staff(None, TWO, models=[model(8)], max_connections=1, computes=False) == Staff(
        workers=1, needs=Needs(cpus=0.0), max_connections=1
    )


@pytest.mark.parametrize("other", [model(own=False), model(limited=True)])
def test_one_worker_keeps_the_limits_of_a_stages_provider(other: AskedModel) -> None:
    assert stage_staff(4, TWO, models=[model(), other]).workers == 1


def test_a_stage_with_a_model_in_its_process_takes_gpus_where_there_are_some() -> None:
    assert stage_staff(None, cluster((8.0, 2.0)), gpus=True) == Staff(workers=2, needs=Needs(cpus=0.0, gpus=1.0))
    assert stage_staff(None, TWO, gpus=True).needs.gpus == 0


def test_an_address_of_this_machine_is_refused_for_several_nodes() -> None:
    check_reach("--base-url", "http://127.0.0.1:1/v1", cluster((4.0, 0.0)))
    check_reach("--base-url", "http://10.0.0.1:1/v1", TWO)
    with pytest.raises(UserError, match=r"--base-url http://localhost:1/v1: on each of the 2 nodes"):
        check_reach("--base-url", "http://10.0.0.1:1/v1 http://localhost:1/v1", TWO)
