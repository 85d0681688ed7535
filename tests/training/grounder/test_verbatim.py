"""What TRL computes from a card's prompt is what the evaluation computes: the same tokens, the same pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.make import MODELS, picture_file
from grounders.hf.tiny import write_family

from grounding.cards import GrounderCard, read_cards
from grounding.errors import UserError
from grounding.grounders.hf.generator import model_inputs
from grounding.grounders.hf.loading import Loaded, load
from grounding.grounders.hf.options import HfOptions
from grounding.records import HistoryEntry, Query
from grounding.training.grounder.dataset import PromptRows, check_marks
from grounding.training.grounder.examples import trained_card
from grounding.training.grounder.verbatim import rendered, verbatim_message, verbatim_processor
from training.grounder.steps import drawn, example, step

pytestmark = pytest.mark.slow
for package in ("torch", "torchvision", "transformers"):
    pytest.importorskip(package, reason=f"no {package} here: pip install 'grounding[hf]'")

CARDS = [
    card
    for card in read_cards(MODELS / "grounders", GrounderCard)
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


def test_all_kinds_of_cards_are_there() -> None:
    assert len(CARDS) >= 15
    assert any(card.prefill is not None for card in CARDS)
    assert any(card.system is None for card in CARDS)
    assert any(card.uses_history for card in CARDS)


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


def test_the_processor_that_is_saved_is_the_checkpoints_own(checkpoints: dict[str, Loaded], tmp_path: Path) -> None:
    from transformers import AutoProcessor

    loaded = checkpoints["qwen2_5_vl"]
    card = next(card for card in CARDS if card.name == "gta1")
    verbatim_processor(loaded.processor, card).save_pretrained(tmp_path)
    saved = AutoProcessor.from_pretrained(tmp_path)
    assert saved.chat_template == loaded.processor.chat_template
    assert saved.image_processor.size == loaded.processor.image_processor.size


def test_a_batch_reads_each_picture_once(
    checkpoints: dict[str, Loaded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grounding.training.grounder import dataset

    loaded = checkpoints["qwen2_5_vl"]
    card = next(card for card in CARDS if card.name == "gta1")
    asked: list[str] = []

    def counted(processor: Any, card: GrounderCard, query: Query) -> Any:
        asked.append(query.step_id)
        return rendered(processor, card, query)

    monkeypatch.setattr(dataset, "rendered", counted)
    rows = PromptRows([example(each) for each in drawn(tmp_path, 3)], card, loaded.processor)
    made = rows({"example": [2, 2, 0, 2]})
    assert asked == ["1/2", "1/0"]
    assert made["image"][0] is made["image"][3]
    assert made["prompt"][0][0]["content"][2]["text"].count("press button 2") == 1


def test_what_cannot_be_asked_is_named(checkpoints: dict[str, Loaded]) -> None:
    loaded = checkpoints["qwen2_5_vl"]
    mark = loaded.processor.image_token
    with pytest.raises(UserError, match=r"step 1/7.*leave the step out"):
        check_marks([example(step(0)), example(step(7, instruction=f"press {mark}"))], mark)
    with pytest.raises(ValueError, match="2 places"):
        verbatim_message(f"{mark} and {mark}", mark)
    with pytest.raises(UserError, match=r"step 1/0: 0\.png"):
        rendered(loaded.processor, CARDS[0], example(step(0)).query)
