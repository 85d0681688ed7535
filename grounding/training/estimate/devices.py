"""Devices that plans are made for, by their makers' figures. Nothing here was measured."""

from __future__ import annotations

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.estimate.duration import Speed
from grounding.training.estimate.machine import Device, Machine

_GIB = 1024**3


class KnownDevice(Record, frozen=True, kw_only=True):
    """A kind of GPU. ``memory_bytes`` is about what CUDA reports of it, less than its name says.

    ``peak_flops`` are dense bfloat16 operations a second with sums in float32, ``memory_bytes_s`` what its memory
    moves: both from the maker's data sheet.
    """

    name: str
    memory_bytes: int
    peak_flops: float
    memory_bytes_s: float

    def machine(self, count: int = 1) -> Machine:
        """A machine with some of them, empty."""
        device = Device(name=self.name, total_bytes=self.memory_bytes, free_bytes=self.memory_bytes)
        return Machine(kind="cuda", devices=(device,) * count)

    def speed(self) -> Speed:
        """Its speed with the assumed shares of use."""
        return Speed(name=self.name, peak_flops=self.peak_flops, memory_bytes_s=self.memory_bytes_s)


KNOWN: tuple[KnownDevice, ...] = (
    KnownDevice(name="H200 141 GB", memory_bytes=int(139.8 * _GIB), peak_flops=989e12, memory_bytes_s=4.8e12),
    KnownDevice(name="H100 80 GB", memory_bytes=int(79.1 * _GIB), peak_flops=989e12, memory_bytes_s=3.35e12),
    KnownDevice(name="A100 80 GB", memory_bytes=int(79.2 * _GIB), peak_flops=312e12, memory_bytes_s=2.0e12),
    KnownDevice(name="L40S 48 GB", memory_bytes=int(44.4 * _GIB), peak_flops=362e12, memory_bytes_s=0.864e12),
    KnownDevice(name="RTX 4090 24 GB", memory_bytes=int(23.5 * _GIB), peak_flops=165e12, memory_bytes_s=1.008e12),
)
"""Data sheets of NVIDIA: H200 SXM, H100 SXM, A100 SXM, L40S; of the RTX 4090 the white paper on its architecture."""


def known_device(name: str) -> KnownDevice:
    """A device by its name, or the beginning of one.

    Raises:
        UserError: none is called so.
    """
    found = [device for device in KNOWN if device.name.lower().startswith(name.strip().lower())]
    if not found or not name.strip():
        raise UserError(f"no device {name!r} is known; known are {', '.join(device.name for device in KNOWN)}")
    return found[0]


def speed_of(machine: Machine) -> Speed | None:
    """The speed of a machine's GPUs where their kind is known by its name; None elsewhere, and on a CPU."""
    if machine.kind == "cpu":
        return None
    name = machine.devices[0].name
    found = next((device for device in KNOWN if f" {_short(device)} " in f" {name} "), None)
    return None if found is None else found.speed()


def _short(device: KnownDevice) -> str:
    """A name without its memory: ``RTX 4090``, ``H100``."""
    return " ".join(device.name.split()[:-2])
