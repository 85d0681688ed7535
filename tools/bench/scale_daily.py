"""The part of docs/scale.md that is calculated: what so many steps a day need, and where it breaks."""

from __future__ import annotations

from scale_plan import FILES, LINK, SENDING_WRITER, Plan
from scale_words import bullets, count_text, numbered, percent_text, size_text, table, wrapped

_REMEDIES = {
    FILES: "`ulimit -n 65536`, or more writers",
    SENDING_WRITER: "more runs side by side, each with a writer of its own, or workers that send the pictures "
    "(`--executor ray`)",
    LINK: "workers beside the servers that read the pictures themselves, from a bucket or a shared disk",
}
_RAY_TESTS = "https://github.com/ray-project/ray/blob/master/release/benchmarks/README.md"
_PLACES = ("First", "Second", "Third")


def daily(found: Plan) -> str:
    """The section in Markdown."""
    given = found.given
    intro = (
        f"That is {given.steps_per_s:,.0f} steps a second, day and night. `python tools/bench/scale.py plan --per-day "
        "1e9 --grounder-steps-per-s 2` calculates it for other numbers."
    )
    unseen = (
        "No GPU was there: what a replica does is arithmetic. No more than one machine was there: a network between "
        "writer and workers, and the disks of a cluster, are not in these figures. Plans by a language model were not "
        "asked for: their pace and price are the provider's."
    )
    return f"""
## {count_text(given.steps_per_day).capitalize()} steps a day

{wrapped(intro)}

{_inputs(found)}

{table(("what", "one does a day", "needed"), _need_rows(found))}

{bullets(sums(found))}

### Where it breaks

{wrapped("One run on one machine, asking a cluster of servers, meets these bounds in this order:")}

{numbered(_breaks(found))}

### What was not measured

{wrapped(unseen)}
"""


def _inputs(found: Plan) -> str:
    one, it, model = found.inputs, found.assumed, found.assumed.model
    picture_s = one.picture_cpu_s_per_mb
    arithmetic = (
        f"arithmetic: a 7B model reads {model.picture_tokens:,} tokens of a 1920x1080 screenshot at "
        f"{percent_text(model.share)} of the {model.peak_flops / 1e12:.0f} Tflop/s (bf16) that an H100 has on paper"
    )
    rows = [
        ("writer's CPU a step, tiny picture", f"{one.cpu_s * 1000:.2f} ms", f"measured at {one.largest_steps:,} steps"),
        (
            "on top for each MB of picture",
            "taken as nothing" if picture_s is None else f"{picture_s * 1000:.2f} ms",
            "not measured" if picture_s is None else "measured: pictures of 1 MB less tiny ones",
        ),
        (
            "writer's CPU a step, workers on a cluster",
            "" if one.cluster_cpu_s is None else f"{one.cluster_cpu_s * 1000:.2f} ms",
            "not measured" if one.cluster_cpu_s is None else "measured",
        ),
        ("run folder a step, without the report", f"{one.folder_bytes:,.0f} bytes", "measured"),
        (
            "writer's memory a step of the run",
            f"{one.memory_bytes:,.0f} bytes",
            "measured at the end of the asking: a large run less a small one",
        ),
        (
            "steps a second of a replica",
            f"{found.replica_steps_per_s:.1f}",
            arithmetic if found.given.replica_steps_per_s is None else "given",
        ),
        ("a screenshot", size_text(it.picture_bytes), "assumed: a PNG of 1920x1080, as in the README's benchmark"),
        ("how busy anything is kept", percent_text(it.busy), "assumed: the rest is room for unevenness and restarts"),
        ("requests open at each replica", f"{it.in_flight_per_replica}", "assumed: enough to fill its batches"),
        ("GPUs of a host", f"{it.gpus_per_host}", "assumed: the usual build"),
        ("network of a host", f"{it.host_bytes_per_s * 8 / 1e9:.0f} Gbit/s", "assumed"),
        ("open files of a process", f"{it.open_files:,}", "Linux's usual soft bound; `ulimit -n` raises it"),
        ("steps of one run", count_text(it.run_steps), "the largest size that the run folder is tested at"),
    ]
    return table(("input", "value", "where from"), rows)


def _need_rows(found: Plan) -> list[tuple[str, str, str]]:
    needs = [found.replicas, *found.limits, *([found.cluster_writers] if found.cluster_writers else [])]
    rows = [(need.what, count_text(need.each_per_day), f"{need.count:,}") for need in needs]
    rows.insert(1, (f"host of {found.assumed.gpus_per_host} GPUs", "", f"{found.hosts:,}"))
    return [*rows, ("run folder", count_text(found.assumed.run_steps), f"{found.runs:,}")]


def sums(found: Plan) -> list[str]:
    """What follows for requests, network, disks and memory, a sentence or two each."""
    it = found.assumed
    held = size_text(found.run_memory_mb * 1e6)
    memory = f"A writer of {count_text(it.run_steps)} steps, each with a picture of its own, holds {held} of memory."
    if found.resume_s is not None:
        memory += f" Killed, it asks again after {found.resume_s:,.0f} s of CPU."
    if found.rescore_s is not None:
        memory += f" Its run is re-scored in {found.rescore_s:,.0f} s of CPU."
    return [
        f"Requests open at once, all replicas together: {found.in_flight:,}.",
        f"Pictures: {size_text(found.picture_bytes_per_s)} a second to read, and a third more on the way to a server, "
        "because base64 makes four bytes of three.",
        f"Run folders: {size_text(found.folder_bytes)} a day, written at {size_text(found.folder_bytes_per_s)} a "
        f"second by all writers together; a disk of {size_text(it.disk_bytes)} holds {found.disk_days:.1f} days "
        "of them.",
        memory,
        f"Plan store, if every step has a plan of its own: {count_text(found.plan_files)} files a day, which take "
        f"{size_text(found.plan_bytes)} in blocks of 4 KiB. ext4 as it is usually made has an inode for every 16 KiB: "
        f"a disk of {size_text(it.disk_bytes)} has none left after {found.plan_inode_days:.1f} days.",
        f"Ray: {found.replicas.count:,} replicas are as many actors. Ray's own [scalability tests]({_RAY_TESTS}) go to "
        f"more than {it.ray_actors:,} actors and 250 nodes.",
    ]


def _breaks(found: Plan) -> list[str]:
    lines = [
        f"{place}: the **{need.what}**, at {count_text(need.each_per_day)} steps a day. "
        f"What to do: {_REMEDIES[need.what]}."
        for place, need in zip(_PLACES, found.limits, strict=True)
    ]
    if found.cluster_writers:
        each, runs = found.cluster_writers, f"{found.runs:,} runs of {count_text(found.assumed.run_steps)}"
        enough = "one is enough here" if each.count == 1 else f"{each.count:,} runs at a time"
        lines.append(
            f"Then the **writer that sends nothing itself**, at {count_text(each.each_per_day)} steps a day, because a "
            f"run has one writer. What to do: {enough}, and {count_text(found.given.steps_per_day)} steps are {runs} "
            "anyway."
        )
    if found.steps_in_memory < found.given.steps_per_day:
        lines.append(
            f"The **size of one run**: {size_text(found.assumed.host_memory_mb * 1e6)} of memory are full at "
            f"{count_text(found.steps_in_memory)} steps, because the data set and the place of every answer are held "
            "in memory. What to do: several runs, over parts of the data or with `--participant`."
        )
    lines.append(
        "The **plan store**: one small file for each plan, in 256 folders, each with "
        f"{count_text(found.plan_files / 256)} more after a day. What to do: `--no-plan-store` (a run keeps its plans "
        "in its own folder anyway), or a store for each run."
    )
    return lines


def plan_text(found: Plan) -> str:
    """The plan in plain text, for the terminal."""
    lines = [f"{count_text(found.given.steps_per_day)} steps a day: {found.given.steps_per_s:,.0f} a second", ""]
    for what, each, count in _need_rows(found):
        lines.append(f"{count:>10}  {what}" + (f", {each} steps a day each" if each else ""))
    return "\n".join([*lines, "", bullets(sums(found))])
