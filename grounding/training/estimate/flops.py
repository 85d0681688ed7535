"""Floating-point operations of one sequence, from the shapes: a multiplication and an addition are two. Pure."""

from __future__ import annotations

from grounding.records import Record
from grounding.training.estimate.load import ExampleShape
from grounding.training.estimate.modules import modules
from grounding.training.estimate.shapes import ModelShape, VisionShape


class PassFlops(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Operations of one forward pass over one sequence, by part.

    ``text`` are the language model's linear layers, ``attention`` its products of queries, keys and values (the half
    that a causal mask leaves), ``head`` the output layer over the scored tokens, ``tower`` all of the vision tower.
    ``last`` is the part of ``text`` in the last linear layer of each layer.
    """

    text: float
    attention: float
    head: float
    tower: float
    last: float

    @property
    def forward(self) -> float:
        """One pass without gradients."""
        return self.text + self.attention + self.head + self.tower

    def learning(self, *, whole: bool, checkpointing: bool, tower: bool, tower_whole: bool) -> float:
        """A pass with gradients.

        A linear layer's backward pass is one product of the forward's size for the gradient of its input, and one more
        where its weights are trained; attention's takes 2.5 forward passes (it calculates the scores again). Gradient
        checkpointing adds a forward pass over all layers, without the last linear layer of each where nothing after
        it has to be made again (weights trained whole). TRL's output layer works out each tile again: one more.
        Adapters are small beside what they adapt and are left out.

        Args:
            whole: The language model's weights are trained themselves.
            checkpointing: Layers are calculated again.
            tower: Gradients pass through the vision tower.
            tower_whole: Its weights are trained themselves.
        """
        again = 1.0 if checkpointing else 0.0
        linear = self.text * ((3.0 if whole else 2.0) + again) - (self.last * again if whole else 0.0)
        attention = self.attention * (3.5 + again)
        head = self.head * ((3.0 if whole else 2.0) + 1.0)
        seen = self.tower * ((3.0 if tower_whole else 2.0) + again if tower else 1.0)
        return linear + attention + head + seen


def pass_flops(shape: ModelShape, example: ExampleShape) -> PassFlops:
    """The operations of one forward pass.

    Language model: 2 x weights of its linear layers x tokens; attention 2 x 2 x query width x tokens^2 / 2 a layer;
    output layer 2 x width x vocabulary x scored tokens. Vision tower: 2 x weights x patches (those of the part that
    merges patches x tokens); attention 4 x width x patches x those that a patch looks at: its picture's, or its
    window's.
    """
    text, tokens = shape.text, example.tokens
    linear = sum(module.weight for module in modules(shape) if module.part == "layers" and module.kind == "linear")
    return PassFlops(
        text=2.0 * linear * tokens,
        attention=2.0 * text.layers * text.query_width * tokens**2,
        head=2.0 * text.width * text.vocabulary * example.completion_tokens,
        last=2.0 * text.layers * text.inner * text.width * tokens,
        tower=_tower(shape, shape.vision, example) if shape.vision is not None and example.patches else 0.0,
    )


def _tower(shape: ModelShape, vision: VisionShape, example: ExampleShape) -> float:
    patches, merged = example.patches, example.patches // vision.merge**2
    total = 0.0
    for module in modules(shape):
        if module.part == "vision" and module.kind in ("linear", "convolution"):
            total += 2.0 * module.weight * (merged if "merger" in module.name else patches)
    picture = patches / max(1, example.pictures)
    window = (vision.window_px / vision.patch_px) ** 2 if vision.window_px else picture
    looked = vision.whole_attention * picture + (vision.layers - vision.whole_attention) * min(window, picture)
    return total + 4.0 * vision.width * patches * looked
