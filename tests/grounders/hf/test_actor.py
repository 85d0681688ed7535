"""GUI-Actor on tiny checkpoints in the published layout: the head's arithmetic and the patch that it points at."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import MODELS, query, screenshot

from grounding.cards import GrounderCard, find_card
from grounding.errors import UserError
from grounding.grounders.hf import HfOptions, open_hf
from grounding.grounders.hf.actor import PointerEngine, load_actor
from grounding.grounders.hf.generation import Prompt, model_inputs, prepare_prompt
from grounding.llm.chat import ChatOptions
from grounding.records import Prediction

from .tiny import WIDTH, marked_picture, random_head, write_actor, write_plain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BASES = ("qwen2_vl", "qwen2_5_vl")


def small(name: str) -> GrounderCard:
    """A bundled card that doesn't scale small pictures up to 7,000 patches."""
    card = find_card(name, MODELS / "grounders", GrounderCard, builtin=(), kind="grounder")
    return msgspec.structs.replace(card, image=msgspec.structs.replace(card.image, first=None))


CARDS = {"qwen2_vl": small("gui-actor-qwen2-vl"), "qwen2_5_vl": small("gui-actor")}
SINGLE = HfOptions(dtype="float32", device="cpu")


@pytest.fixture(scope="module", params=BASES)
def base(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def random_actor(base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_actor(tmp_path_factory.mktemp(base) / "actor", base, random_head(1))


def prompt_for(card: GrounderCard, path: Path, size: tuple[int, int]) -> Prompt:
    return prepare_prompt(card, query(screenshot(path, *size), "click it"))


def inputs_for(engine: PointerEngine, card: GrounderCard, prompt: Prompt) -> Any:
    return model_inputs(engine._loaded, card, [prompt], [engine.render(prompt)])


def reference_head(head: dict[str, Any]) -> Any:
    """The head built of torch's own modules, loaded strictly: names and shapes must be those of a module."""
    from torch import nn

    def two_layers() -> Any:
        return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))

    modules = nn.ModuleDict(
        {
            "projection_enc": two_layers(),
            "projection_dec": two_layers(),
            "self_attention": nn.MultiheadAttention(WIDTH, 8, dropout=0.1, batch_first=True),
            "layer_norm": nn.LayerNorm(WIDTH),
        }
    ).eval()
    modules.load_state_dict(head, strict=True)
    return modules


@pytest.mark.parametrize("size", [(112, 84), (196, 308)])
def test_scores_are_those_of_generation_with_all_states_kept(
    base: str, random_actor: Path, size: tuple[int, int], tmp_path: Path
) -> None:
    """The authors' way: ``generate`` one token, keep every state, take the vision tower's output by itself."""
    import torch

    card = CARDS[base]
    engine = load_actor(random_actor, card, SINGLE)
    picture = marked_picture(tmp_path / "a.png", size, (10, 10, 60, 50))
    prompt = prompt_for(card, picture, size)
    inputs = inputs_for(engine, card, prompt)
    model = engine._loaded.model
    with torch.inference_mode():
        got = engine.scores(inputs)
        kept = model.generate(
            **inputs, max_new_tokens=1, do_sample=False, return_dict_in_generate=True, output_hidden_states=True
        )
        pad = engine._loaded.processor.tokenizer.convert_tokens_to_ids("<|pointer_pad|>")
        states = kept.hidden_states[0][-1][0][inputs["input_ids"][0] == pad]
        patches = model.model.visual(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"]).pooler_output
        head = reference_head(random_head(1))
        mixed, _ = head["self_attention"](patches[None], patches[None], patches[None], need_weights=False)
        context = head["layer_norm"](patches[None] + mixed)[0]
        products = head["projection_dec"](states) @ head["projection_enc"](context).T / WIDTH**0.5
        expected = torch.softmax(products, dim=-1)
    assert got.shape == (size[0] * size[1] // 28**2,)
    assert expected.shape == (1, len(got))
    torch.testing.assert_close(got, expected[0], rtol=1e-4, atol=1e-7)
    assert got.max() > 2 * got.min(), "scores that differ too little prove nothing"


def head_that_finds_the_mark(folder: Path, card: GrounderCard, tmp_path: Path) -> dict[str, Any]:
    """Weights set by hand: the score grows with how far a patch lies from the ground's towards the mark's.

    No mixing among patches; both projections are kept in the straight part of the GELU by a bias; the pointer's side
    is a constant, so that only the picture decides.
    """
    import torch
    import torch.nn.functional as F

    engine = load_actor(folder, card, SINGLE)
    size = (168, 112)
    prompt = prompt_for(card, marked_picture(tmp_path / "calibration.png", size, (84, 28, 112, 56)), size)
    inputs = inputs_for(engine, card, prompt)
    with torch.inference_mode():
        patches = engine._loaded.model.model.visual(
            inputs["pixel_values"], grid_thw=inputs["image_grid_thw"]
        ).pooler_output
    normed = F.layer_norm(patches, (WIDTH,))
    mark = 1 * 6 + 3
    others = torch.cat([normed[:mark], normed[mark + 1 :]]).mean(0)
    way = normed[mark] - others
    way = way / way.norm() ** 2  # The mark's patch is 1 further along than the mean of the others.
    head = {name: torch.zeros_like(tensor) for name, tensor in random_head(0).items()}
    head["layer_norm.weight"] += 1
    head["projection_enc.0.weight"] += torch.eye(WIDTH)
    head["projection_enc.0.bias"] += 100
    head["projection_enc.2.weight"][0] = way
    head["projection_dec.2.bias"][0] = 30 * WIDTH**0.5
    return head


@pytest.fixture(scope="module")
def finder(base: str, random_actor: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(base)
    return write_actor(folder / "finder", base, head_that_finds_the_mark(random_actor, CARDS[base], folder))


def ask(folder: Path, card: GrounderCard, path: Path, size: tuple[int, int], dtype: str = "float32") -> Prediction:
    async def scenario() -> Prediction:
        options = HfOptions(model_path=str(folder), dtype=dtype, device="cpu")  # type: ignore[arg-type]
        grounder = open_hf(card, options, ChatOptions())
        await grounder.check()
        answer = await grounder.ground(query(screenshot(path, *size), "click it"))
        await grounder.aclose()
        return answer

    return asyncio.run(scenario())


PLACES = [
    ((168, 112), (0, 0)),
    ((168, 112), (5, 3)),
    ((168, 112), (2, 1)),
    ((252, 140), (8, 0)),
    ((252, 140), (1, 4)),
    ((140, 280), (4, 9)),
    ((140, 280), (0, 6)),
]


@pytest.mark.parametrize(("size", "place"), PLACES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_it_points_at_the_middle_of_the_marked_patch(
    base: str, finder: Path, size: tuple[int, int], place: tuple[int, int], dtype: str, tmp_path: Path
) -> None:
    left, top = 28 * place[0], 28 * place[1]
    picture = marked_picture(tmp_path / "a.png", size, (left, top, left + 28, top + 28))
    answer = ask(finder, CARDS[base], picture, size, dtype)
    assert answer.failure is None
    assert answer.point is not None
    assert (answer.point.x_px, answer.point.y_px) == pytest.approx((left + 14, top + 14), abs=0.01)
    assert answer.call is not None
    assert answer.call.usage is not None
    picture_tokens = size[0] * size[1] // 28**2
    assert answer.call.usage.input_tokens > picture_tokens
    assert answer.call.usage.output_tokens == 0


def test_a_larger_screenshot_is_scaled_to_the_cards_limit_and_the_point_back(
    base: str, finder: Path, tmp_path: Path
) -> None:
    card = CARDS[base]
    card = msgspec.structs.replace(card, image=msgspec.structs.replace(card.image, max_pixels=252 * 140))
    picture = marked_picture(tmp_path / "a.png", (756, 420), (252, 168, 336, 252))
    answer = ask(finder, card, picture, (756, 420))
    assert answer.sizes is not None
    assert (answer.sizes.model.width, answer.sizes.model.height) == (252, 140)
    assert answer.point is not None
    # The softened edge of the mark may spill into the neighbours.
    assert (answer.point.x_px, answer.point.y_px) == pytest.approx((294, 210), abs=20)


def test_a_plain_checkpoint_has_no_pointer_head(tmp_path: Path) -> None:
    plain = write_plain(tmp_path / "plain")
    with pytest.raises(UserError, match="has no pointer head"):
        load_actor(plain, CARDS["qwen2_5_vl"], SINGLE)


def test_a_head_of_another_make_is_refused(tmp_path: Path) -> None:
    head = random_head(1)
    head["projection_dec.3.weight"] = head.pop("projection_dec.2.weight")
    folder = write_actor(tmp_path / "actor", "qwen2_5_vl", head)
    with pytest.raises(UserError, match=r"not the one of the published models: .*projection_dec\.2\.weight"):
        load_actor(folder, CARDS["qwen2_5_vl"], SINGLE)
