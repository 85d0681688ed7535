"""What a training run takes, before it starts: memory of each device and hours, from a checkpoint's config.json alone.

``shapes`` reads the config, ``modules`` and ``adapters`` count, ``load`` says what a stage puts on a device, ``memory``
adds up its terms, ``machine`` finds what there is, ``fits`` compares and refuses, ``duration`` works out the time,
``render`` writes every term as text. Nothing here imports torch.
"""

from grounding.training.estimate.devices import speed_of
from grounding.training.estimate.duration import Duration, Speed, estimate_time
from grounding.training.estimate.fits import Fit, assess, check_fits
from grounding.training.estimate.load import (
    ExampleShape,
    Rollouts,
    Sharding,
    TrainingLoad,
    example_shape,
    training_load,
)
from grounding.training.estimate.machine import Device, Machine, this_machine
from grounding.training.estimate.memory import MemoryEstimate, estimate_memory
from grounding.training.estimate.render import render_estimate
from grounding.training.estimate.shapes import ModelShape, read_shape, shape_from_config

__all__ = [
    "Device",
    "Duration",
    "ExampleShape",
    "Fit",
    "Machine",
    "MemoryEstimate",
    "ModelShape",
    "Rollouts",
    "Sharding",
    "Speed",
    "TrainingLoad",
    "assess",
    "check_fits",
    "estimate_memory",
    "estimate_time",
    "example_shape",
    "read_shape",
    "render_estimate",
    "shape_from_config",
    "speed_of",
    "this_machine",
    "training_load",
]
