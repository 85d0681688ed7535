"""Whether a stage fits, and a refusal before the start that says what would help."""

from __future__ import annotations

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.estimate.knobs import knobs, way_out
from grounding.training.estimate.machine import Machine
from grounding.training.estimate.memory import MemoryEstimate
from grounding.training.estimate.terms import gib


class Fit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """An estimate held against a machine. ``needed_bytes`` and ``free_bytes`` are those of one device.

    On a CPU all processes share the main memory: both are sums over the processes. ``short`` says what is missing
    besides, "" for nothing: too few devices.
    """

    needed_bytes: int
    free_bytes: int
    device: str
    short: str = ""

    @property
    def fits(self) -> bool:
        """Whether the stage can be started."""
        return not self.short and self.needed_bytes <= self.free_bytes


def assess(estimate: MemoryEstimate, machine: Machine) -> Fit:
    """What is needed and what there is on the device that has least."""
    wanted = estimate.load.sharding.devices
    if machine.kind == "cpu":
        device = machine.devices[0]
        note = f", {machine.note}" if machine.note else ""
        return Fit(
            needed_bytes=estimate.bytes * wanted, free_bytes=device.free_bytes, device=f"{device.name} (CPU{note})"
        )
    used = machine.devices[:wanted]
    least = min(used, key=lambda device: device.free_bytes)
    short = "" if len(used) == wanted else f"{wanted} devices are asked for and {len(used)} are here"
    return Fit(needed_bytes=estimate.bytes, free_bytes=least.free_bytes, device=least.name, short=short)


def check_fits(estimate: MemoryEstimate, machine: Machine) -> Fit:
    """The comparison, where the stage fits. Whether to go on all the same is the caller's to offer.

    Raises:
        UserError: it doesn't fit; says what is needed, what there is, and which changes help by how much.
    """
    fit = assess(estimate, machine)
    if fit.fits:
        return fit
    if fit.short:
        raise UserError(f"{estimate.shape.name}: {fit.short}; take --processes {len(machine.devices)} or fewer")
    raise UserError("\n".join(refusal_lines(estimate, machine, fit)))


def refusal_lines(estimate: MemoryEstimate, machine: Machine, fit: Fit) -> list[str]:
    """Why a stage can't be started, and what would help."""
    load, shape = estimate.load, estimate.shape
    total = machine.devices[0].total_bytes if machine.kind == "cuda" else None
    each = "" if load.sharding.devices == 1 else (" on each device" if machine.kind == "cuda" else " for all processes")
    lines = [
        f"{shape.name}: training ({load.method}) needs about {gib(fit.needed_bytes)}{each}, most of it in "
        f"{estimate.peak.name!r}, and {fit.device} has {gib(fit.free_bytes)} free."
    ]
    processes = load.sharding.devices if machine.kind == "cpu" else 1
    offered = knobs(shape, load, devices=len(machine.devices), device_bytes=total)
    if offered:
        lines.append("What helps, each by itself:")
        for knob in offered:
            enough = ", which is enough" if knob.bytes * processes <= fit.free_bytes else ""
            lines.append(f"  {gib(knob.saved_bytes * processes)} less: {knob.words}{enough}")
    path = way_out(shape, load, fit.free_bytes // processes, devices=len(machine.devices), device_bytes=total)
    if path is None:
        lines.append("All of these together are not enough: a smaller model or a larger device is needed.")
    elif len(path) > 1:
        counted: dict[str, int] = {}
        for knob in path:
            counted[knob.words] = counted.get(knob.words, 0) + 1
        words = [name if times == 1 else f"{name} ({times} times)" for name, times in counted.items()]
        lines.append(f"Enough together, {gib(path[-1].bytes * processes)} in the end: {'; '.join(words)}.")
    return lines
