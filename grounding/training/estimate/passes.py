"""What a pass with gradients holds besides weights and states: activations, pictures, working space. Pure."""

from __future__ import annotations

from grounding.training.estimate.activations import (
    backward_bytes,
    text_input_bytes,
    text_layer_bytes,
    text_outside_bytes,
    vision_forward_bytes,
    vision_in_graph,
    vision_input_bytes,
    vision_layer_bytes,
    vision_outside_bytes,
)
from grounding.training.estimate.adapters import Trained
from grounding.training.estimate.load import DTYPE_BYTES, TrainingLoad
from grounding.training.estimate.modules import layer_parameters, modules, parameters
from grounding.training.estimate.numbers import autocasts, groups
from grounding.training.estimate.scores import score_terms
from grounding.training.estimate.shapes import ModelShape, VisionShape
from grounding.training.estimate.terms import Term, term, total


def gradient_terms(load: TrainingLoad, moved: Trained) -> tuple[Term, ...]:
    """The gradients of everything that is trained."""
    return tuple(
        term(
            f"gradients of the {part.name}",
            part.numbers * part.gradient,
            f"{part.numbers:,} x {part.gradient} bytes",
            load.sharding.state_shards,
            exact=True,
        )
        for part in groups(load, moved)
    )


def pass_terms(shape: ModelShape, load: TrainingLoad, moved: Trained) -> tuple[Term, ...]:
    """All terms of the moment in a pass at which most is held.

    The backward pass begins at the output layer, with everything that was kept; goes on with the language model's
    layers from the last to the first, giving back what each kept; and ends in the vision tower, when the language
    model keeps nothing any more. Each of the three has a working space of its own: the largest sum of what is kept
    and what is worked with counts. A tower without gradients works before anything is kept. The gradients are counted
    in full, as they are from the second pass of a step on.
    """
    kept, working = _text(shape, load, moved)
    scores = score_terms(shape, load, moved)
    always = [*gradient_terms(load, moved)]
    if shape.vision is not None and load.example.patches:
        always.append(picture_term(shape.vision, load))
    if autocasts(load):
        every, layer = _cast_terms(shape, load)
        if not load.checkpointing:
            always.append(every)
        else:
            working = [*working, layer]
            # Casts of what is trained are kept until the forward pass is over, those of frozen weights are not.
            scores = [*scores, every] if load.lora is None else scores
    if load.sharding.weight_shards > 1:
        always.append(_gathered(shape, load))
    moments = [[*kept, *scores], [*kept, *working]]
    if shape.vision is not None and load.example.patches:
        tower, inside = _tower(shape.vision, load, moved)
        always += tower
        moments.append(inside)
    return (*always, *max(moments, key=total))


def picture_term(vision: VisionShape, load: TrainingLoad) -> Term:
    """The processor's numbers of all pictures at hand: of one pass, or (GRPO) of all that was generated at once."""
    held = load.sequences if load.rollouts is None else load.generated_at_once
    patches, values = load.example.patches, vision.patch_values
    words = f"{held} x {patches:,} patches x {values:,} values x 4 bytes"
    return term("pictures", held * patches * values * 4, words, exact=True)


def _text(shape: ModelShape, load: TrainingLoad, moved: Trained) -> tuple[list[Term], list[Term]]:
    """What the language model keeps until its layers' turn, and what one of them needs in its turn."""
    tokens, layers = load.sequences * load.example.tokens, shape.text.layers
    # A batch of one has nothing to pad, and with it no mask.
    layer = text_layer_bytes(shape.text, load, moved, padded=load.sequences > 1)
    counted = f"{load.sequences} x {load.example.tokens:,} tokens"
    each, outside = backward_bytes(shape.text, load), text_outside_bytes(shape.text, load, padded=load.sequences > 1)
    rest = term("outside layers", tokens * outside, f"{counted} x {outside:,} bytes")
    working = [term("working space", tokens * each, f"{counted} x {each:,} bytes, gradients inside one layer")]
    if load.lora is None:
        working.append(_new_gradient(shape, load))
    if not load.checkpointing:
        words = f"{counted} x {layers} layers x {layer:,} bytes"
        return [term("activations", tokens * layers * layer, words), rest], working
    between = text_input_bytes(shape.text, load)
    words = f"{counted} x {layers} layers x {between:,} bytes"
    again = term("one layer again", tokens * layer, f"{counted} x {layer:,} bytes, one layer at a time")
    return [term("states between layers", tokens * layers * between, words), rest], [again, *working]


def _tower(vision: VisionShape, load: TrainingLoad, moved: Trained) -> tuple[list[Term], list[Term]]:
    """What the vision tower keeps until its own backward pass, and what it needs while it works."""
    patches = load.sequences * load.example.patches
    counted = f"{load.sequences} x {load.example.patches:,} patches"
    each = vision_forward_bytes(vision, load)
    working = [term("vision working space", patches * each, f"{counted} x {each:,} bytes, inside one block")]
    if not vision_in_graph(load, moved):
        return [], working
    block, between = vision_layer_bytes(vision, load, moved), vision_input_bytes(vision, load)
    for_nothing = "" if moved.vision else " (kept though nothing of the tower is trained)"
    outside = vision_outside_bytes(vision, load)
    rest = term("outside vision blocks", patches * outside, f"{counted} x {outside:,} bytes")
    if not load.checkpointing:
        words = f"{counted} x {vision.layers} blocks x {block:,} bytes"
        return [term("vision activations", patches * vision.layers * block, words), rest], working
    words = f"{counted} x {vision.layers} blocks x {between:,} bytes{for_nothing}"
    again = term("one vision block again", patches * block, f"{counted} x {block:,} bytes, one block at a time")
    return [term("states between vision blocks", patches * vision.layers * between, words), rest], [again, *working]


def _new_gradient(shape: ModelShape, load: TrainingLoad) -> Term:
    """The gradient of a layer's largest matrix before it is added to the others; autocast makes it in two types."""
    each = shape.text.width * shape.text.inner
    size = DTYPE_BYTES[load.compute] + (DTYPE_BYTES[load.weights] if autocasts(load) else 0)
    return term("a new gradient", each * size, f"{each:,} weights of the largest matrix x {size} bytes")


def _cast_terms(shape: ModelShape, load: TrainingLoad) -> tuple[Term, Term]:
    """Weights of the language model's linear layers in the numbers of calculation: all of them, and one layer's."""
    per = DTYPE_BYTES[load.compute]
    cast = sum(module.weight for module in modules(shape) if module.part == "layers" and module.kind == "linear")
    layer = cast // shape.text.layers
    return (
        term("cast weights", cast * per, f"autocast: {cast:,} weights of linear layers x {per} bytes"),
        term("cast weights", layer * per, f"autocast: {layer:,} weights of one layer x {per} bytes"),
    )


def _gathered(shape: ModelShape, load: TrainingLoad) -> Term:
    """What is put together of split weights at any time: two layers (one ahead), and what belongs to no layer."""
    size, layer = DTYPE_BYTES[load.compute], layer_parameters(shape)
    rest = sum(parameters(shape, part) for part in ("embedding", "head", "norm"))
    gathered = (2 * layer + rest) * size
    words = f"(2 layers x {layer:,} + {rest:,} outside layers) x {size} bytes"
    if load.lora is None:
        gathered, words = gathered + layer * size, f"{words} + a layer's gradients before they are split"
    return term("gathered weights", gathered, words)
