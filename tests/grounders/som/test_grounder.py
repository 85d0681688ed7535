"""The whole pipeline against a scripted provider: marks out, a number back, a place on the original."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import ChatServer, reply
from fakes.make import MODELS, client, query
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from grounders.som.screens import BUTTON, middle, saved, screen
from grounding.grounders import BUILTIN, build_grounder, card_behind
from grounding.grounders.som.boxes import WidgetProposer
from grounding.grounders.som.card import SomCard, find_som_card
from grounding.grounders.som.grounder import KeptMarks, SomGrounder, file_stem, marked_picture, read_number
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatModel, ChatOptions, request_parameters
from grounding.records import HistoryEntry, Prediction, Query, Screenshot, Size

FOUND = find_som_card("som", MODELS / "pipelines")
assert FOUND is not None
CARD: SomCard = FOUND


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def shot(tmp_path: Path) -> Screenshot:
    return saved(screen(1920, 1080), tmp_path / "7.png")


def number_of(shot: Screenshot, place: tuple[float, float]) -> int:
    """The number of the smallest mark whose point is nearest to a place."""
    marks = marked_picture(shot, WidgetProposer(), CARD.marks).marks
    return min(marks, key=lambda m: (m.point.x_px - place[0]) ** 2 + (m.point.y_px - place[1]) ** 2).number


def ask(
    server: ChatServer, *asked: Query, card: SomCard = CARD, keep_in: Path | None = None, proposer: Any = None
) -> list[Prediction]:
    async def run() -> list[Prediction]:
        grounder = made(card, proposer, base_url=server.base_url)
        if keep_in is not None:
            grounder.keep_in(keep_in)
        try:
            return list(await asyncio.gather(*(grounder.ground(each) for each in asked)))
        finally:
            await grounder.aclose()

    return asyncio.run(run())


def test_the_right_number_is_a_click_on_the_target(server: ChatServer, shot: Screenshot) -> None:
    server.default = reply(str(number_of(shot, middle(BUTTON))))
    (found,) = ask(server, query(shot, "press search", step="1/7"))
    assert found.point is not None
    assert (found.point.x_px, found.point.y_px) == pytest.approx(middle(BUTTON), abs=4)
    assert found.box is not None
    assert found.box.center == found.point
    assert (found.step_id, found.key, found.failure) == ("1/7", "k", None)
    assert found.raw == str(number_of(shot, middle(BUTTON)))
    assert found.sizes is not None
    assert found.sizes.original == Size(width=1920, height=1080)
    assert found.sizes.sent == found.sizes.model == Size(width=1777, height=1000)
    assert found.call is not None
    assert found.call.cost_usd == pytest.approx((1000 * 2.5 + 10 * 10) / 1e6)


@pytest.mark.parametrize(
    "said", ["0", "-1", "1000", "I can't tell", "3 or 4", "2.5", "3/4", "1e1", "7 of 20", "\u0667", ""]
)
def test_nonsense_is_unparsed_and_kept(server: ChatServer, shot: Screenshot, said: str) -> None:
    server.default = reply(said)
    (found,) = ask(server, query(shot))
    assert (found.point, found.box, found.raw) == (None, None, said)
    assert found.failure is not None
    assert found.failure.kind == "unparsed"
    assert "no mark from 1 to" in found.failure.message
    assert found.call is not None


def test_the_request_is_that_of_the_script(server: ChatServer, shot: Screenshot) -> None:
    history = (HistoryEntry(instruction="go home", action="Clicked home"),)
    ask(server, query(shot, "press {history} 100%", history=history))
    (body,) = server.bodies
    assert set(body) == {"messages", "model"}
    assert body["model"] == "gpt-4o"
    (message,) = body["messages"]
    first, picture, last = message["content"]
    assert first["text"] == (
        "Which is the correct mark corresponding to the instruction: press {history} 100%? "
        "Respond with only the number and nothing else."
    )
    assert last["text"] == "Here is some history: 1. Instruction: go home\n   Action: Clicked home"
    kind, _, content = picture["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(content))).size == (1777, 1000)


def test_marked_pictures_are_kept_one_per_step(server: ChatServer, tmp_path: Path) -> None:
    shots = [saved(screen(dark=dark), tmp_path / f"{dark}.png") for dark in (False, True)]
    run = tmp_path / "run"
    run.mkdir()
    server.default = reply("2")
    steps = ("1/7", "1/7#2", "2/7")
    found = ask(server, *(query(shots[n % 2], step=step) for n, step in enumerate(steps)), keep_in=run)
    names = sorted(path.name for path in (run / "marks").iterdir())
    assert names == ["1_7#2.json", "1_7#2.png", "1_7.json", "1_7.png", "2_7.json", "2_7.png"]
    sent = {body["messages"][0]["content"][1]["image_url"]["url"].partition(",")[2] for body in server.bodies}
    assert sent == {base64.b64encode((run / "marks" / f"{n}.png").read_bytes()).decode() for n in ("1_7", "1_7#2")}
    for prediction, name in zip(found, ("1_7", "1_7#2", "2_7"), strict=True):
        kept = msgspec.json.decode((run / "marks" / f"{name}.json").read_bytes(), type=KeptMarks)
        assert kept.step_id == prediction.step_id
        assert [mark.number for mark in kept.marks] == list(range(1, len(kept.marks) + 1))
        assert kept.marks[1].point == prediction.point
        assert kept.marks[1].box == prediction.box


@pytest.mark.parametrize("content", [None, b"", b"no picture", b"\x89PNG\r\n\x1a\nbroken"])
def test_a_broken_screenshot_is_an_error_of_its_step(server: ChatServer, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "1.png"
    if content is not None:
        path.write_bytes(content)
    (found,) = ask(server, query(Screenshot(path=str(path), size=Size(width=1, height=1), sha256="")))
    assert found.failure is not None
    assert found.failure.kind == "error"
    assert str(path) in found.failure.message
    assert server.count == 0


def made(card: SomCard, proposer: Any = None, base_url: str = "http://127.0.0.1:9/v1", **options: Any) -> SomGrounder:
    parameters = request_parameters(card, ChatOptions(**options))
    return SomGrounder(card, ChatModel(card, client(base_url, card), parameters), proposer)


class _Other(WidgetProposer):
    identity = "other"


def test_the_identity_covers_what_changes_an_answer() -> None:
    usual = made(CARD).identity
    assert made(CARD).identity == usual
    replace = msgspec.structs.replace
    for other in (
        made(CARD, _Other()),
        made(CARD, seed=1),
        made(replace(CARD, model="gpt-5")),
        made(replace(CARD, user=CARD.user[:2])),
        *(made(replace(CARD, marks=replace(CARD.marks, **field))) for field in ({"alpha": 0.2}, {"most": 5})),
    ):
        assert other.identity != usual
    assert made(replace(CARD, title="T", notes="N", max_connections=1)).identity == usual


def build(name: str, base_url: str | None) -> Any:
    return build_grounder(
        name,
        predictions=None,
        sessions=(),
        seed=0,
        cards=MODELS / "grounders",
        options=ChatOptions(base_url=base_url),
        budget=Budget(None),
        on_retry=lambda: None,
    )


@pytest.mark.parametrize("name", ["som", "set-of-mark", str(MODELS / "pipelines" / "som.yaml")])
def test_it_is_built_by_name_and_by_card(name: str, server: ChatServer) -> None:
    assert card_behind(name, MODELS / "grounders") is None
    built = build(name, server.base_url)
    assert isinstance(built.grounder, SomGrounder)
    assert built.base_url == server.base_url
    assert "history" in built.reads
    assert "som" in BUILTIN


PIPELINES = MODELS / "pipelines"


@pytest.mark.parametrize("name", ["som", "set-of-mark"])
def test_the_card_is_the_baseline(name: str) -> None:
    card = find_som_card(name, PIPELINES)
    assert isinstance(card, SomCard)
    assert [part.text for part in card.user] == [
        "Which is the correct mark corresponding to the instruction: {instruction}? "
        "Respond with only the number and nothing else.",
        None,
        "Here is some history: {history}",
    ]
    assert (card.model, card.marks.short_side, card.marks.alpha, card.marks.sam) == ("gpt-4o", 1000, 0.1, None)
    assert card.uses_history
    assert card.parameters == {}
    assert card.price is not None
    assert (card.price.input_usd, card.price.cached_input_usd, card.price.output_usd) == (2.5, 1.25, 10.0)


ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=120)


@given(ids, ids, ids, ids)
def test_different_steps_have_different_files(one: str, stem: str, other: str, other_stem: str) -> None:
    first, second = f"{one.replace('/', '')}/{stem}", f"{other.replace('/', '')}/{other_stem}"
    assert (file_stem(first) == file_stem(second)) == (first == second)
    assert len(file_stem(first)) <= 150
    assert "/" not in file_stem(first)
    assert "\0" not in file_stem(first)


@given(st.text(max_size=200), st.integers(0, 500))
def test_any_text_gives_a_mark_that_exists_or_none(said: str, count: int) -> None:
    number = read_number(said, count)
    assert number is None or 1 <= number <= count
