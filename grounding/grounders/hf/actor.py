"""GUI-Actor: one forward pass over screenshot, instruction and a pointer token; its pointer head says where.

The head scores how well each picture patch answers the pointer token; patches with high scores that hang together are
the places. Torch is imported in the functions.

Sources, in the repository microsoft/GUI-Actor: ``VisionHead_MultiPatch`` in src/gui_actor/modeling_qwen25vl.py, and
``inference`` and ``get_prediction_region_point`` in src/gui_actor/inference.py.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import msgspec
import numpy as np
import numpy.typing as npt

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.geometry import ModelPoint, point_to_original
from grounding.grounders.hf.generation import Prompt, model_inputs
from grounding.grounders.hf.loading import (
    POINTER_PREFIX,
    HfOptions,
    Loaded,
    ModelFailed,
    checkpoint_identity,
    failures_typed,
    fetch,
    hf_identity,
    load,
    weight_files,
)
from grounding.grounders.hf.local import LocalModel
from grounding.llm.chat import Exchange
from grounding.records import Call, Prediction, Query, Record, Usage

HEADS = 8  # Attention heads among the patches; the authors' default, which no file of a checkpoint repeats.


def read_head(folder: Path, *, width: int, dtype: Any, device: Any) -> Any:
    """The head of a checkpoint folder, sharded or not, as modules of torch. ``width`` is the size of the language
    model's hidden states. Raises UserError: the checkpoint has no pointer head, or not the whole of one of this width.
    """
    from safetensors import SafetensorError, safe_open
    from torch import nn

    files = weight_files(folder, POINTER_PREFIX)
    if not files:
        raise UserError(f"{folder}: the checkpoint has no pointer head ({POINTER_PREFIX}*): not a GUI-Actor model")
    stored: dict[str, Any] = {}
    for path in sorted(set(files.values())):
        try:
            with safe_open(str(path), framework="pt") as tensors:
                for name in (name for name, file in files.items() if file == path):
                    stored[name.removeprefix(POINTER_PREFIX)] = tensors.get_tensor(name)
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path}: can't be read: {error}") from error

    def projection() -> Any:
        return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    head = nn.ModuleDict(
        {
            "projection_enc": projection(),
            "projection_dec": projection(),
            "self_attention": nn.MultiheadAttention(width, HEADS, batch_first=True),
            "layer_norm": nn.LayerNorm(width),
        }
    )
    try:
        head.load_state_dict(stored)
    except RuntimeError as error:
        wrong = " ".join(str(error).split())
        raise UserError(f"{folder}: the pointer head is not the one of the published models: {wrong}") from error
    return head.to(device, dtype).eval()


def pointer_scores(head: Any, patches: Any, pointer: Any) -> Any:
    """The share of attention that each patch gets from the pointer token.

    The patches first attend to each other (8 heads, residual, layer norm); both sides then go through two linear
    layers with a GELU between; the score is the softmax over patches of the products divided by the root of the width.
    ``patches``, shape (patches, width), are what the vision tower gives the language model; ``pointer``, shape
    (width,), is the last hidden state of the pointer token, after the final norm. Gives shape (patches,); sums to 1.
    """
    import torch

    mixed, _ = head["self_attention"](patches[None], patches[None], patches[None], need_weights=False)
    context = head["layer_norm"](patches + mixed[0])
    products = head["projection_enc"](context) @ head["projection_dec"](pointer)
    return torch.softmax(products / patches.shape[1] ** 0.5, dim=-1)


ACTIVE_FROM = 0.3  # A patch takes part when its score is above this share of the highest.


class PointerRegion(Record, frozen=True, kw_only=True):
    """Patches that hang together: their centre as a fraction of the picture, mean score, and number."""

    point: ModelPoint
    score: float
    patches: int


def pointer_regions(scores: npt.ArrayLike, *, columns: int, rows: int) -> tuple[PointerRegion, ...]:
    """The regions of active patches, the one with the highest mean score first; empty if no score is a number.

    Patches with a score above 0.3 of the highest are active. Active patches that share an edge are one region. Its
    point is the mean of the patches' centres, each weighted by its score. Of equal means the one that begins first in
    reading order comes first. ``scores`` has one number per patch, row by row from the top left, shape (rows *
    columns,), after the merging of 2 x 2 patches. Raises ValueError: the number of scores is not rows x columns.
    """
    grid = np.asarray(scores, dtype=np.float64)
    if grid.shape != (rows * columns,):
        raise ValueError(f"{grid.size} scores for a grid of {columns} x {rows} patches")
    if not grid.size or not np.isfinite(grid).all():
        return ()
    active = (grid > grid.max() * ACTIVE_FROM).astype(np.uint8)
    count, labels = cv2.connectedComponents(active.reshape(rows, columns), connectivity=4)
    groups = sorted((np.flatnonzero(labels == label) for label in range(1, count)), key=lambda group: group[0])
    regions = [_region(grid, group, columns, rows) for group in groups]
    return tuple(sorted(regions, key=lambda region: -region.score))  # Sorting is stable: ties stay in reading order.


def _region(grid: npt.NDArray[np.float64], index: npt.NDArray[np.int64], columns: int, rows: int) -> PointerRegion:
    weights = grid[index]
    x = ((index % columns + 0.5) / columns * weights).sum() / weights.sum()
    y = ((index // columns + 0.5) / rows * weights).sum() / weights.sum()
    return PointerRegion(
        point=ModelPoint(space="rel_1", x=float(x), y=float(y)), score=float(weights.mean()), patches=len(index)
    )


# The assistant's turn, given whole, so that one forward pass answers (`use_placeholder` in the authors' code).
ASSISTANT = "<|im_start|>assistant<|recipient|>os\npyautogui.click(<|pointer_start|><|pointer_pad|><|pointer_end|>)"
POINTER_TOKEN = "<|pointer_pad|>"

KEPT_REGIONS = 3  # How many of the best regions the record keeps; the authors report three.


class Pointed(Record, frozen=True, kw_only=True):
    """The regions that the head points at, the best first, and what it took."""

    regions: tuple[PointerRegion, ...]
    call: Call


class PointerEngine:
    """A loaded GUI-Actor checkpoint; answers one question at a time."""

    def __init__(self, loaded: Loaded, head: Any, card: GrounderCard) -> None:
        self._loaded = loaded
        self._head = head
        self._card = card
        tokenizer = loaded.processor.tokenizer
        number = tokenizer.get_vocab().get(POINTER_TOKEN)
        if number is None:
            raise UserError(f"{card.name}: the checkpoint's tokenizer has no {POINTER_TOKEN}: not a GUI-Actor model")
        self._pointer_id = number

    def __call__(self, prompts: Sequence[Prompt]) -> list[Pointed]:
        """Answer one question after the other. Raises ModelFailed: the model can't take it, or it doesn't fit into
        memory.
        """
        return [self._point(prompt) for prompt in prompts]

    def _point(self, prompt: Prompt) -> Pointed:
        import torch

        started = time.perf_counter()
        with failures_typed(), torch.inference_mode():
            inputs = model_inputs(self._loaded, self._card, [prompt], [self.render(prompt)])
            scores = self.scores(inputs).double().cpu().numpy()
        tokens = inputs["input_ids"][0]
        _, down, across = inputs["image_grid_thw"][0].tolist()
        regions = pointer_regions(scores, columns=across // self._loaded.merge, rows=down // self._loaded.merge)
        if not regions:
            raise ModelFailed("the pointer head gave scores that are not numbers; try --dtype bfloat16 or float32")
        usage = Usage(input_tokens=len(tokens), output_tokens=0)
        seconds = time.perf_counter() - started
        return Pointed(regions=regions, call=Call(seconds=seconds, usage=usage, model=self._card.model))

    def scores(self, inputs: Any) -> Any:
        """One score per patch of the picture, row by row, for a batch of one; shape (patches,)."""
        patches, hidden = self._states(inputs)
        places = (inputs["input_ids"][0] == self._pointer_id).nonzero()
        if not len(places):
            raise ModelFailed(f"the prompt came out without {POINTER_TOKEN}")
        # Words of the user's that spell the token come before it: the assistant's turn is the last.
        return pointer_scores(self._head, patches, hidden[places[-1, 0]])

    def render(self, prompt: Prompt) -> str:
        """The whole prompt as text: the checkpoint's template, then the assistant's turn."""
        text = self._loaded.processor.apply_chat_template(prompt.messages, tokenize=False, add_generation_prompt=False)
        return f"{text}{ASSISTANT}"

    def _states(self, inputs: Any) -> tuple[Any, Any]:
        base = self._loaded.model.model
        taken: dict[str, Any] = {}

        def keep(_module: Any, _args: Any, arguments: dict[str, Any]) -> None:
            taken["embeds"] = arguments["inputs_embeds"][0]

        hook = base.language_model.register_forward_pre_hook(keep, with_kwargs=True)
        try:
            hidden = base(**inputs, use_cache=False).last_hidden_state[0]
        finally:
            hook.remove()
        in_picture = inputs["input_ids"][0] == self._loaded.model.config.image_token_id
        return taken["embeds"][in_picture], hidden


def load_actor(folder: Path, card: GrounderCard, options: HfOptions) -> PointerEngine:
    """Load a checkpoint in the published layout: Qwen weights and the pointer head side by side. Raises UserError: it
    is not such a checkpoint, or doesn't fit into memory.
    """
    loaded = load(folder, card, options, extra_weights=POINTER_PREFIX)
    embeddings = loaded.model.get_input_embeddings().weight
    head = read_head(folder, width=embeddings.shape[1], dtype=embeddings.dtype, device=embeddings.device)
    return PointerEngine(loaded, head, card)


class GuiActor:
    def __init__(self, card: GrounderCard, options: HfOptions) -> None:
        self._card = card
        self.name = card.name
        self.identity = hf_identity(card, options, {}, checkpoint_identity(card, options))
        self._model: LocalModel[Pointed] = LocalModel(
            card, lambda: load_actor(fetch(card, options), card, options), batch_size=1, wait_s=0.0
        )
        self.max_concurrency = self._model.max_concurrency
        self.check, self.aclose = self._model.check, self._model.aclose

    async def ground(self, query: Query) -> Prediction:
        answer = await self._model.ask(query)
        if isinstance(answer, Exchange):
            return Prediction(
                step_id=query.step_id, key=query.key, point=None, sizes=answer.sizes, failure=answer.failure
            )
        pointed, sizes = answer
        best = pointed.regions[:KEPT_REGIONS]
        return Prediction(
            step_id=query.step_id,
            key=query.key,
            point=point_to_original(best[0].point, sizes),
            raw=msgspec.json.encode(best).decode(),
            sizes=sizes,
            call=pointed.call,
        )
