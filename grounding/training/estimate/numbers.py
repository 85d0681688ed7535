"""How many bytes the numbers of a stage take: weights, what is trained of them, gradients, what flows between layers.

One device, or several with a copy each (DDP): everything lies as it was loaded, and autocast calculates in other
numbers where asked. Split over devices with 16-bit numbers, a float32 of everything trained is kept: FSDP (as
accelerate prepares it) makes the trained weights themselves float32 and gathers them in 16 bits, DeepSpeed keeps the
model in 16 bits and float32 copies beside it. Pure.
"""

from __future__ import annotations

from grounding.records import Record
from grounding.training.estimate.adapters import Trained
from grounding.training.estimate.load import DTYPE_BYTES, TrainingLoad


class Group(Record, frozen=True, kw_only=True):
    """Trained numbers of one type. Bytes of one of them as it is ``stored``, as the optimiser moves it (``moved``: a
    copy of its own where the two differ), and of its ``gradient``. ``name``: adapters, or weights trained whole.
    """

    name: str
    numbers: int
    tensors: int
    stored: int
    moved: int
    gradient: int

    @property
    def has_copy(self) -> bool:
        """Whether the optimiser's number is another than the model's."""
        return self.stored != self.moved


def is_split(load: TrainingLoad) -> bool:
    """Whether weights or states are spread over devices."""
    return load.sharding.devices > 1 and load.sharding.strategy != "ddp"


def by_deepspeed(load: TrainingLoad) -> bool:
    """Whether DeepSpeed does it."""
    return load.sharding.devices > 1 and load.sharding.strategy in ("zero2", "zero3")


def weight_bytes(load: TrainingLoad) -> int:
    """Bytes of one frozen weight, or of any with DeepSpeed."""
    return DTYPE_BYTES[load.compute if by_deepspeed(load) else load.weights]


def flow_bytes(load: TrainingLoad) -> int:
    """Bytes of one number between two layers: of the weights, whose numbers the embedding gives out."""
    return DTYPE_BYTES[load.compute if is_split(load) else load.weights]


def autocasts(load: TrainingLoad) -> bool:
    """Whether weights are cast for calculating, and the casts kept."""
    return not is_split(load) and load.weights != load.compute


def groups(load: TrainingLoad, trained: Trained) -> tuple[Group, ...]:
    """What is trained, by type of number; nothing where there is none of a type."""
    found = []
    if trained.adapters:
        found.append(_group("adapters", trained.adapters, trained.adapter_tensors, DTYPE_BYTES[load.adapters], load))
    if trained.whole:
        own = weight_bytes(load) if load.lora is None else DTYPE_BYTES[load.copies or load.weights]
        name = "weights" if load.lora is None else "modules trained whole"
        found.append(_group(name, trained.whole, trained.whole_tensors, own, load))
    return tuple(found)


def _group(name: str, numbers: int, tensors: int, own: int, load: TrainingLoad) -> Group:
    moved = DTYPE_BYTES["float32"] if is_split(load) and load.compute != "float32" else own
    stored = DTYPE_BYTES[load.compute] if by_deepspeed(load) else moved
    gradient = stored if by_deepspeed(load) else moved
    return Group(name=name, numbers=numbers, tensors=tensors, stored=stored, moved=moved, gradient=gradient)
