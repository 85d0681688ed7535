"""Which of a model's modules get an adapter, how many numbers those hold, and what is trained besides. Pure."""

from __future__ import annotations

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.estimate.modules import Module, modules
from grounding.training.estimate.shapes import ModelShape
from grounding.training.records import LoraRule


class Trained(Record, frozen=True, kw_only=True):
    """What an optimiser moves: counts of numbers and of tensors.

    ``adapters`` are LoRA's two matrices a layer; ``whole`` are weights trained as they are: with LoRA the copies of
    ``also_train`` (PEFT keeps the original beside each), without it the model's own.
    ``head_trained`` and ``embedding_trained`` say whether those two are among ``whole``.
    ``text_adapted`` and ``vision_adapted`` are the names' last parts that got an adapter in a layer of either.
    """

    adapters: int = 0
    adapter_tensors: int = 0
    whole: int = 0
    whole_tensors: int = 0
    head_trained: bool = False
    embedding_trained: bool = False
    vision: int = 0
    text_adapted: tuple[str, ...] = ()
    vision_adapted: tuple[str, ...] = ()

    @property
    def numbers(self) -> int:
        """All that is trained."""
        return self.adapters + self.whole

    @property
    def tensors(self) -> int:
        """In how many tensors."""
        return self.adapter_tensors + self.whole_tensors


def trained(shape: ModelShape, lora: LoraRule | None, *, vision: bool = False) -> Trained:
    """What is trained of a model, by a rule for adapters or (``lora`` None) whole.

    A linear layer of ``inputs`` x ``outputs`` gets ``rank * (inputs + outputs)`` numbers in two matrices. Targets are
    matched as PEFT does it: ``q_proj`` is any module of that name or whose path ends in ``.q_proj``; ``all-linear`` is
    every linear layer but the output layer. The vision tower has adapters only where the rule's ``vision`` is set.
    ``also_train`` is matched with the end of a module's whole path, as PEFT does that.

    Args:
        shape: The model.
        lora: The rule, or None to train the weights themselves.
        vision: Without LoRA: whether the vision tower's weights are trained too.

    Raises:
        UserError: a target or a module of ``also_train`` is not in the model.
    """
    every = modules(shape)
    if lora is None:
        moved = [module for module in every if vision or module.part != "vision"]
        return Trained(
            whole=sum(module.parameters for module in moved),
            whole_tensors=sum(module.tensors for module in moved),
            head_trained=True,
            embedding_trained=True,
            vision=sum(module.parameters for module in moved if module.part == "vision"),
        )
    adapted = [module for module in every if _is_target(module, lora)]
    if isinstance(lora.targets, tuple):
        missing = [end for end in lora.targets if not any(_ends_in(module.name, (end,)) for module in adapted)]
        if missing:
            raise UserError(f"LoRA's targets: no module of the model is called {', '.join(missing)}; {_known(every)}")
    # PEFT looks at the end of the whole path here, without a dot before it: ``norm`` is ``input_layernorm`` too.
    saved = [module for module in every if _within(module.name, lora.also_train)]
    absent = [end for end in lora.also_train if not any(_within(module.name, (end,)) for module in saved)]
    if absent:
        raise UserError(f"also_train: no module's name ends in {', '.join(absent)}; {_known(every)}")
    return Trained(
        adapters=sum(lora.rank * (module.inputs + module.outputs) for module in adapted),
        adapter_tensors=2 * len(adapted),
        whole=sum(_copied(module) for module in saved),
        whole_tensors=sum(max(1, module.tensors) for module in saved),
        head_trained=any(module.part == "head" for module in saved),
        embedding_trained=any(module.part == "embedding" for module in saved),
        vision=sum(lora.rank * (module.inputs + module.outputs) for module in adapted if module.part == "vision")
        + sum(_copied(module) for module in saved if module.part == "vision"),
        text_adapted=_last_parts(adapted, "layers"),
        vision_adapted=_last_parts(adapted, "vision"),
    )


def _copied(module: Module) -> int:
    """The numbers of a copy of a module; that of a tied output layer is a matrix of its own."""
    if module.part == "head" and not module.weight:
        return module.inputs * module.outputs
    return module.parameters


def _is_target(module: Module, lora: LoraRule) -> bool:
    if module.part == "vision" and not lora.vision:
        return False
    if lora.targets == "all-linear":
        return module.kind == "linear" and module.part != "head"
    return module.kind == "linear" and _ends_in(module.name, lora.targets)


def _ends_in(name: str, ends: tuple[str, ...]) -> bool:
    return any(name == end or name.endswith(f".{end}") for end in ends)


def _within(name: str, ends: tuple[str, ...]) -> bool:
    """Whether a module, or one that it is part of, has a path with such an end."""
    parts = name.split(".")
    return bool(ends) and any(".".join(parts[:length]).endswith(ends) for length in range(1, len(parts) + 1))


def _known(every: tuple[Module, ...]) -> str:
    names = sorted({module.name.rpartition(".")[2] for module in every if module.kind == "linear"})
    return f"its linear layers are {', '.join(names)}"


def _last_parts(adapted: list[Module], part: str) -> tuple[str, ...]:
    return tuple(sorted({module.name.rpartition(".")[2] for module in adapted if module.part == part}))
