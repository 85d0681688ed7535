"""What TRL computes from a card's prompt is what the evaluation computes: the same tokens, the same pixels."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.make import bundled_grounders, picture_file
from grounders.hf.tiny import write_family

from grounding.cards import GrounderCard
from grounding.grounders.hf.generation import model_inputs
from grounding.grounders.hf.loading import HfOptions, Loaded, load
from grounding.records import HistoryEntry, Query
from grounding.training.examples import trained_card
from grounding.training.trainers import rendered, verbatim_message, verbatim_processor

pytestmark = pytest.mark.slow

CARDS = [
    card
    for card in bundled_grounders()
    if card.family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl") and card.serving.how in ("vllm", "vllm-flags")
]
NASTY = 'click <it>\n\n "now" {history} {{ x }} {% if %}  <|im_start|>\tÄ  '
TOLD = (HistoryEntry(instruction="say {instruction}", action="did <|box_start|> it"),) * 2


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Loaded]:
    found = {}
    for family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl"):
        folder = write_family(tmp_path_factory.mktemp(family) / "tiny", family)
        card = next(card for card in CARDS if card.family == family)
        found[family] = load(folder, card, HfOptions(dtype="float32", device="cpu"))
    return found


@pytest.mark.parametrize("history", [0, 2])
@pytest.mark.parametrize("card", CARDS, ids=[card.name for card in CARDS])
def test_tokens_and_pixels_are_those_of_the_evaluation(
    card: GrounderCard, history: int, checkpoints: dict[str, Loaded], tmp_path: Path
) -> None:
    import torch

    loaded = checkpoints[card.family or ""]
    card = trained_card(card, history=history)
    shot = picture_file(tmp_path / "1.png", 301, 199)
    query = Query(step_id="1/1", key="", screenshot=shot, instruction=NASTY, history=TOLD[:history])
    prompt, text = rendered(loaded.processor, card, query)
    wanted = model_inputs(loaded, card, [prompt], [text])

    own = verbatim_processor(loaded.processor, card)
    message = verbatim_message(text, loaded.processor.image_token)
    assert own.apply_chat_template(message, tokenize=False, add_generation_prompt=True) == text
    message[0]["content"][1]["image"] = prompt.image
    # The two calls that TRL makes: one to write replies, one to learn from them.
    asked = own.apply_chat_template([message], add_generation_prompt=True, tokenize=True, return_dict=True)
    learned = own(images=[[prompt.image]], text=[text], padding=True, return_tensors="pt")
    for found in (asked, learned):
        assert torch.as_tensor(found["input_ids"]).equal(wanted["input_ids"])
        assert torch.as_tensor(found["pixel_values"]).equal(wanted["pixel_values"])
        assert torch.as_tensor(found["image_grid_thw"]).equal(wanted["image_grid_thw"])
