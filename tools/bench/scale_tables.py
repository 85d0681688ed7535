"""The scale benchmark's figures as text: sizes, exponents, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scale_fit import Exponent, fit
from scale_records import Measured, Pair, SizeRun

from grounding.records import Record

_CLOCK = "asking, clock"


class Growth(Record, frozen=True, kw_only=True):
    """How one time grows with the size; ``found`` is None for too few sizes."""

    what: str
    found: Exponent | None


def growths(runs: Sequence[SizeRun], *, clock: bool = True) -> tuple[Growth, ...]:
    """The exponents of what was measured at several sizes: CPU seconds, and for the asking those of the ``clock``."""
    measures: tuple[tuple[str, Callable[[SizeRun], float | None]], ...] = (
        ("loading, CPU", lambda run: run.phase("load").cpu_s if run.distinct_pictures else None),
        ("asking, CPU", lambda run: run.phase("ask").cpu_s),
        (_CLOCK, lambda run: run.phase("ask").wall_s),
        ("scoring at the end, CPU", lambda run: run.phase("score").cpu_s),
        ("re-scoring, CPU", lambda run: _command_cpu(run, "rescore")),
        ("until a killed run asks again, CPU", _ready_cpu_s),
    )
    found = []
    for what, measure in measures:
        if what == _CLOCK and not clock:
            continue
        points = [(run.steps, value) for run in runs if (value := measure(run)) is not None and value > 0]
        found.append(Growth(what=what, found=fit([one[0] for one in points], [one[1] for one in points])))
    return tuple(found)


def _ready_cpu_s(run: SizeRun) -> float | None:
    """Only where every step has a picture of its own: reading those is a large part of it."""
    return run.resumed.ready_cpu_s if run.resumed and run.distinct_pictures else None


def _command_cpu(run: SizeRun, name: str) -> float | None:
    return next((command.cpu_s for command in run.commands if command.name == name), None)


def growth_text(growth: Growth) -> str:
    """Such as ``asking, CPU: steps^0.99 [0.97, 1.01] over 4 sizes``."""
    if growth.found is None:
        return f"{growth.what}: too few sizes"
    one = growth.found
    return f"{growth.what}: steps^{one.exponent:.2f} [{one.low:.2f}, {one.high:.2f}] over {one.sizes} sizes"


SIZE_HEADER = (
    "steps", "load s", "ask s", "score s", "report s", "CPU ms/step", "peak MB", "resume s", "twice", "re-score s"
)  # fmt: skip


def size_cells(run: SizeRun) -> tuple[str, ...]:
    """One size as cells under ``SIZE_HEADER``: seconds by the clock, and CPU seconds in brackets."""
    rescored, resumed = run.command("rescore"), run.resumed
    phases = [run.phase(name) for name in ("load", "ask", "score")]
    report = run.phase("report")
    return (
        run.label,
        *(_seconds(phase.wall_s, phase.cpu_s) for phase in phases),
        _seconds(report.wall_s, report.cpu_s) if run.has_report else "",
        f"{run.phase('ask').cpu_s / run.steps * 1000:.2f}",
        f"{run.peak_mb:,.0f}",
        "" if resumed is None else _seconds(resumed.ready_s, resumed.ready_cpu_s),
        "" if resumed is None else f"{resumed.asked_twice}",
        "" if rescored is None else _seconds(rescored.wall_s, rescored.cpu_s),
    )


def _seconds(wall_s: float, cpu_s: float) -> str:
    digits = 0 if wall_s >= 100 else 1
    return f"{wall_s:,.{digits}f} ({cpu_s:,.{digits}f})"


README_HEADER = (
    "steps", "asking, CPU ms a step", "first and last tenth", "memory", "a killed run asks again after", "re-scored in"
)  # fmt: skip


def readme_cells(run: SizeRun) -> tuple[str, ...]:
    """One size as cells under ``README_HEADER``; seconds are the CPU's."""
    rescored, resumed = run.command("rescore"), run.resumed
    first, last = run.windows[0], run.windows[-1]
    return (
        run.label,
        f"{run.phase('ask').cpu_s / run.steps * 1000:.2f}",
        f"{first.cpu_ms_per_step:.2f}, {last.cpu_ms_per_step:.2f}",
        f"{run.peak_mb:,.0f} MB",
        "" if resumed is None else f"{resumed.ready_cpu_s:,.1f} s, {resumed.asked_twice} asked twice",
        "" if rescored is None else f"{rescored.cpu_s:,.1f} s",
    )


def window_cells(run: SizeRun) -> tuple[str, ...]:
    """CPU milliseconds a step and memory over the tenths of a run."""
    return tuple(f"{one.cpu_ms_per_step:.2f}/{one.rss_mb:.0f}" for one in run.windows)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text, right-aligned."""
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    return "\n".join(lines)


def sizes_text(measured: Measured) -> str:
    """All sizes, the tenths of each, and the exponents."""
    runs = measured.sizes
    lines = [aligned(("executor", "pictures", *SIZE_HEADER), [(*_kind(run), *size_cells(run)) for run in runs])]
    tenths = tuple(f"{percent} %" for percent in range(10, 101, 10))
    lines.append("\nCPU ms a step / MB over the tenths of the asking")
    lines.append(
        aligned(
            ("executor", "pictures", "steps", *tenths), [(*_kind(r), f"{r.steps:,}", *window_cells(r)) for r in runs]
        )
    )
    for executor in dict.fromkeys(run.executor for run in runs):
        lines.append(f"\n{executor}")
        chosen = [run for run in runs if run.executor == executor]
        lines += [growth_text(growth) for growth in growths(chosen)]
    return "\n".join(lines)


def _kind(run: SizeRun) -> tuple[str, str]:
    return run.executor, "own" if run.distinct_pictures else "shared"


def pairs_text(measured: Measured) -> str:
    """All comparisons."""
    return "\n".join(line for pair in measured.pairs for line in _pair_lines(pair))


def _pair_lines(pair: Pair) -> list[str]:
    head = (
        f"\n{pair.steps:,} steps, latency {pair.latency_s:g} s, {pair.connections} connections, best of {pair.repeats}"
    )
    bare = pair.rate("bare")
    rows = [
        (
            rate.client,
            f"{rate.steps_per_s:.0f}",
            "" if bare is None else f"{rate.steps_per_s / bare.steps_per_s:.2f}",
            f"{rate.cpu_s / pair.steps * 1000:.2f}",
        )
        for rate in pair.rates
    ]
    return [head, aligned(("client", "steps/s", "of bare", "CPU ms/step"), rows)]
