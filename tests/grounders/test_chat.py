"""The grounder of a card, from the reply on the wire to pixels of the original screenshot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import ChatServer, answering, error, reply
from fakes.make import MODELS, grounder, grounder_card, installed, picture_file, query, screenshot

from grounding.cards import GrounderCard, read_card
from grounding.errors import UserError
from grounding.grounders import build_grounder
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.records import Point, Prediction, Query, Screenshot, Size

GTA1 = read_card(MODELS / "grounders" / "gta1-7b-2507.yaml", GrounderCard)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def shot(tmp_path: Path) -> Screenshot:
    return picture_file(tmp_path / "1.png", 1920, 1080)


def ask(card: GrounderCard, server: ChatServer, asked: Query, **options: Any) -> Prediction:
    async def run() -> Prediction:
        made = grounder(card, server.base_url, **options)
        try:
            return await made.ground(asked)
        finally:
            await made.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("size", "said", "point"),
    [
        ((1920, 1080), "(966, 546)", (960, 540)),  # the middle of 1932 x 1092
        ((1920, 1080), "(0,0)", (0, 0)),
        ((1920, 1080), "(1932,1092)", (1920, 1080)),
        ((1920, 1080), "(966.5, 546.25)", (966.5 / 1932 * 1920, 546.25 / 1092 * 1080)),
        ((1280, 720), "(644, 364)", (640, 360)),  # the middle of 1288 x 728
        ((1280, 720), "it is (322, 182).", (320, 180)),
        ((1120, 840), "(560, 420)", (560, 420)),  # fits already: nothing is scaled
        ((1280, 720), "(-10, 2000)", (-10 / 1288 * 1280, 2000 / 728 * 720)),  # outside stays outside
    ],
)
def test_gta1_answers_in_pixels_of_the_original(
    server: ChatServer, tmp_path: Path, size: tuple[int, int], said: str, point: tuple[float, float]
) -> None:
    server.default = reply(said)
    found = ask(GTA1, server, query(picture_file(tmp_path / "1.png", *size), step="3/7"))
    assert found.point is not None
    assert (found.point.x_px, found.point.y_px) == pytest.approx(point)
    assert found.failure is None
    assert (found.step_id, found.key, found.raw, found.box) == ("3/7", "k", said, None)
    assert found.sizes is not None
    assert found.sizes.original == Size(width=size[0], height=size[1])
    assert found.call is not None
    assert found.call.usage is not None


LONG = "I see no such thing. " * 5000


@pytest.mark.parametrize(
    ("behaviour", "raw", "message"),
    [
        (reply("no idea"), "no idea", "no point in the reply"),
        (reply(""), "", "no point in the reply"),
        (reply(None), "", "no point in the reply"),
        (reply(LONG), LONG, "no point in the reply"),
        (reply("(9", finish_reason="length"), "(9", "no point in the reply (finish reason: length)"),
        (reply("", finish_reason="length"), "", "no point in the reply (finish reason: length)"),
        (reply(None, refusal="I can't click (5, 6)"), "I can't click (5, 6)", "the model refused"),
        (reply(f"({'9' * 400}, 1)"), f"({'9' * 400}, 1)", "no point in the reply"),
    ],
    ids=["words", "empty", "null", "long", "cut", "out of tokens", "refusal", "overflow"],
)
def test_a_reply_without_a_place_is_unparsed_and_kept_in_full(
    server: ChatServer, shot: Screenshot, behaviour: Any, raw: str, message: str
) -> None:
    server.default = behaviour
    found = ask(grounder_card(), server, query(shot))
    assert found.point is None
    assert found.box is None
    assert found.failure is not None
    assert (found.failure.kind, found.failure.message) == ("unparsed", message)
    assert found.raw == raw
    assert found.call is not None  # it was paid for
    assert server.count == 1  # and is not asked for again


@pytest.mark.parametrize(
    ("said", "point"), [("960, 540]}", (960, 540)), ('{"at": [960, 540]}', (960, 540)), ("no", None)]
)
def test_a_reply_goes_on_from_its_prefill(
    server: ChatServer, shot: Screenshot, said: str, point: tuple[float, float] | None
) -> None:
    server.default = reply(said)
    found = ask(grounder_card(prefill='{"at": ['), server, query(shot))
    assert found.raw == said
    assert (found.point and (found.point.x_px, found.point.y_px)) == point


def test_what_infrastructure_did_is_an_error(server: ChatServer, shot: Screenshot, tmp_path: Path) -> None:
    server.default = error(500, "out of memory")
    found = ask(grounder_card(), server, query(shot), max_retries=1)
    assert found.point is None
    assert found.failure is not None
    assert found.failure.kind == "error"
    assert "out of memory" in found.failure.message
    assert found.sizes is not None

    gone = ask(grounder_card(), server, query(screenshot(tmp_path / "gone.png")))
    assert gone.failure is not None
    assert gone.failure.kind == "error"
    assert server.count == 2


def test_many_at_once_keep_their_answers(server: ChatServer, shot: Screenshot) -> None:
    server.default = answering(lambda body: f"({body['messages'][0]['content'][1]['text']}, 0)")

    async def run() -> list[Prediction]:
        made = grounder(grounder_card(), server.base_url)
        asked = [query(shot, str(n), step=f"1/{n}") for n in range(100)]
        answers = await asyncio.gather(*(made.ground(each) for each in asked))
        await made.aclose()
        return list(answers)

    for number, found in enumerate(asyncio.run(run())):
        assert found.step_id == f"1/{number}"
        assert found.point == Point(x_px=number, y_px=0)


# --- building by name -------------------------------------------------------------------------------------------------


def build(name: str, *, predictions: Path | None = None, base_url: str | None = "http://127.0.0.1:1") -> Any:
    return build_grounder(
        name,
        predictions=predictions,
        sessions=(),
        seed=3,
        cards=MODELS / "grounders",
        options=ChatOptions(base_url=base_url),
        budget=Budget(None),
        on_retry=lambda: None,
    )


def test_replay_needs_its_file_and_only_replay_takes_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--grounder replay needs the file of recorded answers"):
        build("replay")
    with pytest.raises(UserError, match="--grounder gta1 makes new ones"):
        build("gta1", predictions=tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").touch()
    assert build("replay", predictions=tmp_path / "a.jsonl").grounder.name == "replay:a"


def test_a_grounder_of_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from grounding.grounders.base import Center\nclass Corner(Center):\n    name = identity = 'corner'\n"
    installed(tmp_path, "grounding.grounders", "corner_grounder", "Corner", code)
    monkeypatch.syspath_prepend(str(tmp_path))
    built = build("from-elsewhere")
    assert (built.grounder.name, built.card) == ("corner", None)
    assert asyncio.run(built.grounder.ground(query())).point == Point(x_px=32, y_px=24)
