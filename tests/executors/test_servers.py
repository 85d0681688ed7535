"""Several servers that a user started: the one that answers otherwise is left out of the run and of its probe."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from fakes.chat_server import ChatServer
from fakes.make import picture_file, query
from probe.models import LIMITS, card, in_seen_pixels, seeing

from grounding.addresses import Addresses
from grounding.budget import Budget
from grounding.building import grounder_of
from grounding.chat import ChatOptions
from grounding.display import Progress
from grounding.executors.probing import probed
from grounding.executors.servers import shared_servers
from grounding.options import EvalOptions
from grounding.probe.gate import eval_probe
from grounding.probe.replicas import ReplicaReport, read_replicas

CARD = card("resized_px")


@pytest.fixture
def servers() -> Iterator[Callable[..., list[ChatServer]]]:
    """Starts servers that shrink what they are shown to so many times the card's pixels."""
    with ExitStack() as running:

        def start(*shares: float) -> list[ChatServer]:
            behaviours = [seeing(in_seen_pixels, max_pixels=int(LIMITS["max_pixels"] * share)) for share in shares]
            return [running.enter_context(ChatServer(each)) for each in behaviours]

        yield start


def compared(folder: Path, started: list[ChatServer], questions: int = 12) -> ReplicaReport | None:
    """What a run does with these addresses: it compares, probes, and asks."""
    named = folder / "card.yaml"
    named.write_bytes(msgspec.yaml.encode(CARD))
    shot = picture_file(folder / "1.png")

    async def scenario() -> None:
        budget = Budget(None)
        built = grounder_of(
            EvalOptions(grounder=str(named)),
            card=CARD,
            base_url=" ".join(server.base_url for server in started),
            sessions=(),
            budget=budget,
            on_retry=lambda: None,
        )
        options = ChatOptions(max_retries=0)
        probe = eval_probe(built, options, wanted=True, budget=budget, on_retry=lambda: None)
        assert probe is not None
        several = shared_servers(built, probe, options, budget=budget, on_retry=lambda: None)
        async with probed(probe, built.grounder, folder, Progress("none"), several=several):
            await asyncio.gather(*(built.grounder.ground(query(shot, step=f"1/{n}")) for n in range(questions)))
        await built.grounder.aclose()

    asyncio.run(scenario())
    return next(iter(read_replicas(folder)), None)


@pytest.mark.slow
def test_the_one_that_sees_other_pictures_is_asked_nothing_more(
    tmp_path: Path, servers: Callable[..., list[ChatServer]], capsys: pytest.CaptureFixture[str]
) -> None:
    started = servers(1.0, 0.3, 1.0)
    report = compared(tmp_path, started)
    assert report is not None
    assert [each.replica.base_url for each in report.left_out] == [started[1].base_url]
    assert report.decided_by == "majority"
    # Twelve pictures each; the probe of the run and its steps are shared by the others.
    assert started[1].count == 12
    assert started[0].count + started[2].count == 24 + 12 + 12
    assert f"grounding: replicas: {started[1].base_url} is left out: " in capsys.readouterr().err
    assert len(read_replicas(tmp_path)) == 1


def test_of_two_the_targets_tell(tmp_path: Path, servers: Callable[..., list[ChatServer]]) -> None:
    started = servers(0.3, 1.0)
    report = compared(tmp_path, started)
    assert report is not None
    assert [each.replica.base_url for each in report.left_out] == [started[0].base_url]
    assert report.decided_by == "targets"
    assert started[0].count == 12


def test_one_address_is_compared_with_nobody(tmp_path: Path, servers: Callable[..., list[ChatServer]]) -> None:
    assert compared(tmp_path, servers(1.0)) is None
    assert read_replicas(tmp_path) == ()


def test_the_last_address_is_never_left_out() -> None:
    addresses = Addresses(["http://a/v1", "http://b/v1"], lambda *_: None)
    addresses.leave_out("http://a/v1")
    assert {addresses.take().base_url for _ in range(3)} == {"http://b/v1"}
    addresses.leave_out("http://b/v1")
    assert addresses.take().base_url == "http://b/v1"
