"""What is counted from the size of a picture alone is what is counted when the request is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.make import MODELS, model, picture_file, planner_card, query

from grounding.grounders.som.card import find_som_card
from grounding.grounders.som.grounder import SomGrounder
from grounding.llm.budget import Budget
from grounding.llm.chat import AsksByRequest, ChatOptions, open_chat

PRICE = {"input_usd": 1.0, "output_usd": 1.0, "date": "2026-11-21"}
NOWHERE = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    "image",
    [{}, {"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 200_000}],
    ids=["as is", "scaled"],
)
def test_a_chat_model(tmp_path: Path, image: dict[str, Any]) -> None:
    tiles = {"rule": "openai_tiles", "base": 85, "per_tile": 170}
    card = planner_card(price=PRICE, image=image, image_tokens=tiles, parameters={"max_tokens": 9})
    asked = query(picture_file(tmp_path / "1.png", 1300, 700), "the blue button")
    ours = model(card, NOWHERE)
    tokens = ours.request_for(asked).tokens
    assert tokens is not None
    assert tokens == ours.count(asked)
    # 1300 x 700 is six tiles, the 588 x 308 that it is scaled to two.
    assert tokens.images == (85 + 2 * 170 if image else 85 + 6 * 170)


def test_set_of_mark_counts_the_marked_picture(tmp_path: Path) -> None:
    card = find_som_card("som", MODELS / "pipelines")
    assert card is not None
    options = ChatOptions(base_url=NOWHERE)
    opened = open_chat(card, options, flag="--base-url", budget=Budget(None), on_retry=lambda: None)
    som = SomGrounder(card, opened.model)
    assert isinstance(som, AsksByRequest)
    asked = query(picture_file(tmp_path / "1.png", 1600, 1200))
    request = som.request_for(asked)
    assert b"data:image/png;base64," in request.content
    if request.tokens is not None:
        assert request.tokens == som.count(asked)
    assert not list(tmp_path.glob("marks*"))
