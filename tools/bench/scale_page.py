"""The text of docs/scale.md: every figure in it comes from docs/scale.json or from the arithmetic over it."""

from __future__ import annotations

from collections.abc import Sequence

from scale_daily import daily
from scale_fit import CONFIDENCE
from scale_plan import Assumed, Given, measured_inputs, plan
from scale_records import Measured, Pair, SizeRun
from scale_tables import README_HEADER, SIZE_HEADER, growth_text, growths, readme_cells, size_cells
from scale_words import bullets, percent_text, size_text, table, wrapped


def page(measured: Measured) -> str:
    """The whole page in Markdown.

    Raises:
        ValueError: no size was measured.
    """
    found = plan(Given(), measured_inputs(measured), Assumed())
    parts = [_HEAD, _machine(measured), _sizes(measured), _files(measured), _clients(measured), daily(found)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def readme_table(measured: Measured) -> str:
    """The sizes in short, as README.md shows them."""
    return table(README_HEADER, [readme_cells(run) for run in measured.local()])


_HEAD = """
# Past one machine: what was measured, and what a hundred million steps a day need

This page is written by `python tools/bench/scale.py page` from the figures in [`scale.json`](scale.json); a test holds
the two together. `python tools/bench/scale.py run --steps 10000 30000 100000 --kill-within` and `python
tools/bench/scale.py pair --steps 10000 --latency 0` measure again.
"""


def _machine(measured: Measured) -> str:
    one = measured.machine
    text = (
        f"Measured on {one.day} with Python {one.python} on {one.cores} cores ({one.processor}) and "
        f"{one.memory_gb:.0f} GB of memory, which the server shares. It answers every request at once with one "
        "constant reply, so what is measured is the evaluation and not a model. Every step has a picture of its own, "
        "of about 100 bytes; 64 requests are open at once."
    )
    if one.shared:
        loads = [run.load_average for run in measured.sizes]
        text += (
            f" Other programs ran there too: the load average was {min(loads):.0f} to {max(loads):.0f} when the runs "
            "below began. Seconds by the clock are too long by that; what to read are the CPU seconds of the writing "
            "process, and ratios to a bare client in the same minutes."
        )
    return wrapped(text)


_TENTHS = (0, 4, 5, 9)
"""The first and the last before a kill, the first and the last after it."""


def _sizes(measured: Measured) -> str:
    runs = measured.local()
    tenths = [f"{10 * place + 10} %" for place in _TENTHS]
    cpu = [(run.label, *(f"{run.windows[n].cpu_ms_per_step:.2f}" for n in _TENTHS)) for run in runs]
    memory = [(run.label, f"{run.loaded_mb:,.0f}", *(f"{run.windows[n].rss_mb:,.0f}" for n in _TENTHS)) for run in runs]
    return f"""
## From ten thousand steps to a million

{table(SIZE_HEADER, [size_cells(run) for run in runs])}

{wrapped(_columns_text(runs))}

{wrapped(_GROWTH)}

{bullets([growth_text(growth) for growth in growths(runs, clock=not measured.machine.shared)])}

{wrapped("Does a run slow down as it goes? CPU milliseconds a step, over tenths of the asking that end at:")}

{table(("steps", *tenths), cpu)}

{wrapped("Does it grow? The writer's memory in MB, at the first request and at the end of these tenths:")}

{table(("steps", "at the start", *tenths), memory)}

![Time by size, and memory while asking](scale.png)
"""


_GROWTH = (
    f"Does the work grow faster than the size? Least squares on logarithms, with {percent_text(CONFIDENCE)} "
    "intervals. An exponent of 1 is in step with the size; less has a fixed part in it:"
)


def _columns_text(runs: Sequence[SizeRun]) -> str:
    """What the columns of the table of sizes are."""
    killed = (
        "Every run was killed with SIGKILL when half of its steps had been asked about, and started again: *resume* is "
        "the time from the second start to its first request, *twice* how many steps the server was asked about again "
        "over the whole run, all of which had been in flight."
        if all(run.killed_within for run in runs)
        else "*Resume* is the time from starting a run again that was killed with SIGKILL at half of its steps to its "
        "next request, *twice* how many steps the server was asked about again, all of which had been in flight."
    )
    has_tables = any(file.name.endswith(".parquet") for run in runs for file in run.files)
    tables = ": the page and, above 100,000 steps, the Parquet tables" if has_tables else ""
    shared = (
        ""
        if all(run.distinct_pictures for run in runs)
        else " With a star, the steps share 2,000 pictures, so that loading them is not comparable."
    )
    return (
        "Seconds are by the clock, and in brackets those of the writer's CPU: until the first request (*load*), until "
        f"the last (*ask*), until `summary.json` (*score*), until the end (*report*{tables}). *CPU ms/step* is that of "
        "asking. "
        f"{killed} Re-scoring is `grounding score`, from start to exit.{shared}"
    )


def _files(measured: Measured) -> str:
    run = measured.local()[-1]
    rows = [
        (f"`{file.name}`", f"{file.bytes / run.steps:,.0f}", size_text(file.bytes))
        for file in run.files
        if file.bytes >= run.steps
    ]
    rows.append(("all", f"{run.bytes_of() / run.steps:,.0f}", size_text(run.bytes_of())))
    reading = [run.command(name) for name in ("load_run", "load_run_parquet")]
    words = {"load_run": "from JSON lines", "load_run_parquet": "from Parquet"}
    read = " and ".join(
        f"{words[one.name]} in {one.wall_s:.0f} s ({one.cpu_s:.0f} s of CPU) and {one.peak_mb:,.0f} MB"
        for one in reading
        if one is not None
    )
    whole = run.command("rescore_report")
    report = (
        ""
        if whole is None
        else f" Re-scoring that writes the page, too, takes {whole.wall_s:.0f} s ({whole.cpu_s:.0f} s of CPU) and "
        f"{whole.peak_mb:,.0f} MB."
    )
    packed = (
        "The words and replies are alike at every step, so Parquet packs them far better than it would real ones."
        if any(file.name.endswith(".parquet") for file in run.files)
        else ""
    )
    return f"""
## A folder of {run.steps:,} steps

{table(("file", "bytes a step", "in all"), rows)}

{wrapped(f"`grounding.load_run` reads it {read}.{report} {packed}") if read else ""}
"""


def _clients(measured: Measured) -> str:
    if not measured.pairs:
        return ""
    rows = [cells for pair in measured.pairs for cells in _pair_cells(pair)]
    header = ("client", "steps", "latency", "picture", "open", "steps/s", "of bare", "CPU ms a step")
    return f"""
## Beside a bare client

{wrapped(_CLIENTS)}

{table(header, rows)}
"""


_CLIENTS = (
    "The bare client is the shortest aiohttp program that sends the same requests, in the same minutes: no records, no "
    "retries, no scores, and pictures read where it waits for replies. With `ray`, two workers on a Ray cluster send "
    "the requests. That cluster is this one machine, so workers, writer, client and server share its cores: the "
    "writer's CPU is what it saves, and more machines are what it is for. CPU is that of the client's own process, "
    "between its first and its last request. Without latency the figures are those of overhead alone."
)


def _pair_cells(pair: Pair) -> list[tuple[str, ...]]:
    bare = pair.rate("bare")
    return [
        (
            rate.client,
            f"{pair.steps:,}",
            f"{pair.latency_s:g} s",
            size_text(pair.picture_bytes) if pair.picture_bytes else "tiny",
            f"{pair.connections}",
            f"{rate.steps_per_s:,.0f}",
            "" if bare is None else f"{rate.steps_per_s / bare.steps_per_s:.2f}",
            f"{rate.cpu_s / pair.steps * 1000:.2f}",
        )
        for rate in pair.rates
    ]
