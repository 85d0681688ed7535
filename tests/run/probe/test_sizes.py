"""Pictures go out as they are where the server is seen to make the card's sizes of them, and resized anywhere else."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import Behaviour, ChatServer, error
from PIL import Image

from grounding.cards import GrounderCard
from grounding.cli import run
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.records import Size
from grounding.run.probe.gate import make_the_sizes
from run.probe.models import LIMITS, card, in_seen_pixels, seeing

AUTO = card("resized_px", "auto")
SHOWN = tuple(Size(width=width, height=height) for width, height in ((640, 480), (1000, 1001), (1920, 1080)))
STEPS = 6


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(seeing(in_seen_pixels)) as running:
        yield running


def passes(shown: Collection[Size], *servers: ChatServer, made: GrounderCard = AUTO) -> bool:
    options = ChatOptions(base_url=" ".join(each.base_url for each in servers), max_retries=0)
    return asyncio.run(make_the_sizes(made, options, shown, budget=Budget(None), on_retry=lambda: None))


def sent_sizes(server: ChatServer, last: int) -> set[tuple[int, int]]:
    """The sizes of the pictures of the last requests."""
    found = set()
    for body in server.bodies[-last:]:
        (url,) = (part["image_url"]["url"] for part in body["messages"][-1]["content"] if part["type"] == "image_url")
        found.add(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size)
    return found


def test_a_server_with_the_cards_limits_is_known_by_its_counts(server: ChatServer) -> None:
    assert passes(SHOWN, server)
    assert server.count == len(SHOWN)
    assert sent_sizes(server, 3) == {(640, 480), (1000, 1001), (1920, 1080)}
    assert {body["max_tokens"] for body in server.bodies} == {1}


@pytest.mark.parametrize("shown", [(), (Size(width=9, height=9000),)])
def test_without_a_picture_nothing_is_known(server: ChatServer, shown: tuple[Size, ...]) -> None:
    assert not passes(shown, server)
    assert server.count == 0


def test_one_size_is_held_against_a_smaller_one(server: ChatServer) -> None:
    assert passes(SHOWN[-1:], server)
    assert sent_sizes(server, 2) == {(1920, 1080), (960, 540)}


@pytest.mark.parametrize(
    "other",
    [
        seeing(in_seen_pixels, max_pixels=LIMITS["max_pixels"] - 60_000),
        seeing(in_seen_pixels, max_pixels=8847360),
        seeing(in_seen_pixels, tokens=False),
        error(400, "too long"),
    ],
    ids=["smaller", "larger", "no counts", "refusing"],
)
def test_any_other_server_is_not_and_one_such_is_enough(server: ChatServer, other: Behaviour) -> None:
    with ChatServer(other) as second:
        assert not passes(SHOWN, second)
        assert not passes(SHOWN, server, second)


def test_nobody_is_asked_for_money_or_for_another_card(server: ChatServer) -> None:
    price = {"input_usd": 1.0, "output_usd": 1.0, "date": "2026-01-01"}
    for made in (card("resized_px", "client"), card("resized_px", "auto", price=price)):
        assert not passes(SHOWN, server, made=made)
    assert server.count == 0


Evaluated = Callable[..., tuple[int, str]]


@pytest.fixture
def evaluated(tmp_path: Path, tiny_dataset: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> Evaluated:
    """Runs ``grounding eval`` over six steps of 1920x1080; exit code and standard error."""
    data_dir = tiny_dataset(size=(1920, 1080))
    path = tmp_path / "card.yaml"
    path.write_bytes(msgspec.yaml.encode(AUTO))

    def evaluate(results: str, *more: str) -> tuple[int, str]:
        words = ["eval", "--dataset", "realwebassist", "--data-dir", str(data_dir), "--grounder", str(path)]
        with pytest.raises(SystemExit) as ended:
            run([*words, "--log-dir", str(tmp_path / results), "--max-retries", "0", *more])
        assert isinstance(ended.value.code, int)
        return ended.value.code, capsys.readouterr().err

    return evaluate


def answers(results: Path) -> dict[str, Any]:
    (folder,) = results.iterdir()
    lines = map(json.loads, (folder / "predictions.jsonl").read_text().splitlines())
    return {line["step_id"]: line for line in lines}


def test_the_same_points_come_either_way(server: ChatServer, evaluated: Evaluated, tmp_path: Path) -> None:
    code, err = evaluated("as-they-are", "--base-url", server.base_url)
    assert (code, err) == (0, "")
    assert sent_sizes(server, STEPS) == {(1920, 1080)}
    code, _ = evaluated("resized", "--base-url", server.base_url, "--no-probe")
    assert (code, sent_sizes(server, STEPS)) == (0, {(1316, 728)})
    one, other = answers(tmp_path / "as-they-are"), answers(tmp_path / "resized")
    assert one.keys() == other.keys()
    for step, answer in one.items():
        assert answer["point"] == pytest.approx(other[step]["point"], abs=1.0)
        assert answer["key"] == other[step]["key"]
        assert answer["sizes"]["model"] == other[step]["sizes"]["model"] == {"width": 1316, "height": 728}
        assert answer["sizes"]["sent"] == answer["sizes"]["original"] == {"width": 1920, "height": 1080}


def test_a_run_goes_on_at_a_server_that_makes_other_sizes(
    server: ChatServer, evaluated: Evaluated, tmp_path: Path
) -> None:
    probes = 2 + 12
    server.script(*[server.default] * probes, error(400))  # One step is left to ask.
    assert evaluated("results", "--base-url", server.base_url)[0] == 1
    server.default = seeing(in_seen_pixels, max_pixels=8847360)
    code, err = evaluated("results", "--base-url", server.base_url)
    assert code == 0
    assert "pictures are resized here" in err
    assert '--mm-processor-kwargs \'{"min_pixels":3136,"max_pixels":1003520}\'' in err
    assert sent_sizes(server, 1) == {(1316, 728)}
    seen = [answer["sizes"]["model"] for answer in answers(tmp_path / "results").values()]
    assert seen == [{"width": 1316, "height": 728}] * STEPS


def test_the_probe_says_how_pictures_are_sent(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "card.yaml").write_bytes(msgspec.yaml.encode(AUTO))
    for behaves, said in ((server.default, "as they are"), (seeing(in_seen_pixels, tokens=False), "resized here")):
        server.default = behaves
        with pytest.raises(SystemExit) as ended:
            run(["probe", str(tmp_path / "card.yaml"), "--base-url", server.base_url])
        assert ended.value.code == 0
        assert f"pictures   {'sent ' * (said == 'as they are')}{said}" in capsys.readouterr().out
