"""The plot of docs/scale.md: seconds over steps on logarithmic axes, and the writer's memory while it asks."""

from __future__ import annotations

from pathlib import Path

from scale_records import Measured, SizeRun

_COLOURS = {"load": "#8a8f98", "ask": "#1f5fa8", "score": "#b3541e", "report": "#6b4fa0"}
_WORDS = {"load": "loading", "ask": "asking", "score": "scoring", "report": "report"}
_MEGABYTES = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def draw(measured: Measured, path: Path) -> None:
    """Write the picture.

    Raises:
        ValueError: no size was measured.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    runs = measured.local()
    if not runs:
        raise ValueError("no size was measured")
    figure, (times, memory) = plt.subplots(1, 2, figsize=(10, 4.6), constrained_layout=True)
    _draw_times(times, runs)
    _draw_memory(memory, runs)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_times(axes, runs: list[SizeRun]) -> None:  # type: ignore[no-untyped-def]
    steps = [run.steps for run in runs]
    for name, words in _WORDS.items():
        timed = [run for run in runs if name != "report" or run.has_report]
        seconds = [next(phase.cpu_s for phase in run.phases if phase.name == name) for run in timed]
        axes.plot([run.steps for run in timed], seconds, "o-", color=_COLOURS[name], label=words, markersize=4)
    resumed = [run for run in runs if run.resumed]
    seconds = [run.resumed.ready_cpu_s for run in resumed if run.resumed]
    label = "until a killed run asks again"
    axes.plot([run.steps for run in resumed], seconds, "s--", color="#2f7d4f", label=label, markersize=4)
    middle = runs[len(runs) // 2]
    unit = middle.phase("ask").cpu_s / middle.steps * 2.5
    axes.plot(steps, [unit * size for size in steps], ":", color="black", linewidth=1, label="in step with the size")
    axes.set(xscale="log", yscale="log", xlabel="steps", ylabel="CPU seconds of the writer", title="Time by size")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3, frameon=False)


def _draw_memory(axes, runs: list[SizeRun]) -> None:  # type: ignore[no-untyped-def]
    shades = [0.35 + 0.6 * place / max(1, len(runs) - 1) for place in range(len(runs))]
    for run, shade in zip(runs, shades, strict=True):
        percents = [0, *(one.until_percent for one in run.windows)]
        megabytes = [run.loaded_mb, *(one.rss_mb for one in run.windows)]
        axes.plot(percents, megabytes, "o-", color=(0.1, 0.3, 0.6, shade), markersize=3)
        label, place = f"{run.steps:,} steps", (100, megabytes[-1])
        axes.annotate(label, place, xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set(xlabel="percent of the steps asked", ylabel="memory of the writer, MB", title="Memory while asking")
    axes.set(yscale="log", xlim=(0, 140), ylim=(50, None))
    axes.set_xticks(range(0, 101, 20))
    ticks = [value for value in _MEGABYTES if value <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{value:,}" for value in ticks])
    axes.set_yticks([], minor=True)
    axes.grid(alpha=0.3, which="both")
