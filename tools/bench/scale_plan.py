"""What so many steps a day need: measured figures and stated assumptions in, machines out. Pure arithmetic.

Bytes and bits are decimal; a day has 86,400 seconds of even work.
"""

from __future__ import annotations

import math

from scale_records import Measured, Pair, SizeRun

from grounding.coordinates import smart_resize
from grounding.records import Record, Size

DAY_S = 86_400
LARGE_PICTURE_BYTES = 500_000
"""A comparison with pictures of at least this size says what a byte of picture costs."""


REPLICA = "GPU replica of the grounder"
SENDING_WRITER = "writer that sends the pictures itself"
CLUSTER_WRITER = "writer with workers on a cluster"
LINK = "network link of the writer's host"
FILES = "process with the usual bound on open files"


class Given(Record, frozen=True, kw_only=True):
    """What is asked for. ``replica_steps_per_s`` is None for what the arithmetic of :class:`Model` gives."""

    steps_per_day: float = 1e8
    replica_steps_per_s: float | None = None

    @property
    def steps_per_s(self) -> float:
        """The same by the second."""
        return self.steps_per_day / DAY_S


class Model(Record, frozen=True, kw_only=True):
    """A grounder of 7 billion parameters on one GPU, as arithmetic: 2 operations for each parameter and token.

    The sizes are those of Qwen2.5-VL-7B: 6.5e9 parameters besides the embeddings read 28x28 pixels a token, 0.67e9 of
    the picture's encoder read 14x14. ``share`` of the GPU's peak is what is left after waiting for memory, attention
    and the tokens of the reply, which come one by one.
    """

    text_parameters: float = 6.5e9
    encoder_parameters: float = 0.67e9
    screen: Size = Size(width=1920, height=1080)
    most_pixels: int = 12_845_056
    prompt_tokens: int = 150
    peak_flops: float = 989e12
    share: float = 0.25

    @property
    def picture_tokens(self) -> int:
        """The tokens of one screenshot."""
        seen = smart_resize(self.screen, factor=28, min_pixels=3136, max_pixels=self.most_pixels)
        return seen.width * seen.height // 28**2

    @property
    def steps_per_s(self) -> float:
        """How many steps a replica does in a second."""
        text = 2 * self.text_parameters * (self.picture_tokens + self.prompt_tokens)
        encoder = 2 * self.encoder_parameters * 4 * self.picture_tokens
        return self.peak_flops * self.share / (text + encoder)


class Assumed(Record, frozen=True, kw_only=True):
    """What was not measured here. The page says why each of these."""

    model: Model = Model()
    picture_bytes: float = 1e6
    busy: float = 0.7
    gpus_per_host: int = 8
    in_flight_per_replica: int = 16
    host_bytes_per_s: float = 10e9 / 8
    open_files: int = 1024
    host_memory_mb: float = 64_000
    disk_bytes: float = 1e12
    inode_bytes: float = 16_384
    block_bytes: float = 4_096
    run_steps: int = 1_000_000
    ray_actors: int = 10_000


class Inputs(Record, frozen=True, kw_only=True):
    """What was measured, by the step unless the name says otherwise.

    ``cpu_s`` is the writer's, with a picture of hardly any bytes; ``picture_cpu_s_per_mb`` comes on top where it sends
    pictures itself. ``cluster_cpu_s`` is the writer's where workers on a cluster send them. Both are None where that
    was not measured.
    """

    largest_steps: int
    cpu_s: float
    picture_cpu_s_per_mb: float | None
    cluster_cpu_s: float | None
    folder_bytes: float
    report_bytes: float
    memory_base_mb: float
    memory_bytes: float
    load_cpu_s: float
    resume_cpu_s: float | None
    rescore_cpu_s: float | None


class Need(Record, frozen=True, kw_only=True):
    """One thing that is needed: how many steps one of it does in a day, and how many of it that makes."""

    what: str
    each_per_day: float
    count: int


class Plan(Record, frozen=True, kw_only=True):
    """What :func:`plan` found. Rates are by the second, sizes by the day unless the name says otherwise."""

    given: Given
    assumed: Assumed
    inputs: Inputs
    replica_steps_per_s: float
    replicas: Need
    hosts: int
    in_flight: int
    writers: Need
    cluster_writers: Need | None
    links: Need
    files: Need
    runs: int
    run_memory_mb: float
    steps_in_memory: float
    picture_bytes_per_s: float
    folder_bytes: float
    folder_bytes_per_s: float
    disk_days: float
    plan_files: float
    plan_bytes: float
    plan_inode_days: float
    resume_s: float | None
    rescore_s: float | None

    @property
    def limits(self) -> tuple[Need, ...]:
        """What one run on one machine meets, the tightest first."""
        return tuple(sorted((self.files, self.writers, self.links), key=lambda need: need.each_per_day))


def measured_inputs(measured: Measured) -> Inputs:
    """The inputs, from the largest run and the comparisons.

    Raises:
        ValueError: no run was measured.
    """
    runs = measured.local()
    if not runs:
        raise ValueError("no size was measured: python tools/bench/scale.py run --steps 10000 30000")
    largest, smallest = runs[-1], runs[0]
    # Steps that share pictures share a part of their memory too.
    alike = [run for run in runs if run.distinct_pictures == smallest.distinct_pictures]
    memory_bytes = _memory_slope(smallest, alike[-1])
    return Inputs(
        largest_steps=largest.steps,
        cpu_s=_asking_cpu_s(largest),
        picture_cpu_s_per_mb=_picture_cpu_s_per_mb(measured),
        cluster_cpu_s=_cluster_cpu_s(measured),
        folder_bytes=(largest.bytes_of() - _report_bytes(largest)) / largest.steps,
        report_bytes=_report_bytes(largest) / largest.steps,
        memory_base_mb=max(0.0, _memory_mb(smallest) - memory_bytes * smallest.steps / 1e6),
        memory_bytes=memory_bytes,
        load_cpu_s=largest.phase("load").cpu_s / largest.steps,
        resume_cpu_s=None if largest.resumed is None else largest.resumed.ready_cpu_s / largest.steps,
        rescore_cpu_s=None if (found := largest.command("rescore")) is None else found.cpu_s / largest.steps,
    )


def _asking_cpu_s(run: SizeRun) -> float:
    return run.phase("ask").cpu_s / run.steps


def _memory_mb(run: SizeRun) -> float:
    """The writer's memory at the end of the asking."""
    return run.windows[-1].rss_mb


def _memory_slope(smallest: SizeRun, largest: SizeRun) -> float:
    """Bytes of memory that one more step takes, over the sizes; 0 for a single size."""
    if largest.steps == smallest.steps:
        return 0.0
    return (_memory_mb(largest) - _memory_mb(smallest)) * 1e6 / (largest.steps - smallest.steps)


def _report_bytes(run: SizeRun) -> int:
    return sum(file.bytes for file in run.files if file.name.startswith("report"))


def _cpu_s(pair: Pair, client: str) -> float | None:
    rate = pair.rate(client)
    return None if rate is None else rate.cpu_s / pair.steps


def _picture_cpu_s_per_mb(measured: Measured) -> float | None:
    """CPU seconds of the writer for each megabyte of picture: a large picture's step less a tiny one's."""
    large = [pair for pair in measured.pairs if pair.picture_bytes >= LARGE_PICTURE_BYTES]
    tiny = [pair for pair in measured.pairs if pair.picture_bytes == 0 and pair.latency_s == 0]
    if not large or not tiny:
        return None
    with_picture, without = _cpu_s(large[-1], "local"), _cpu_s(tiny[-1], "local")
    if with_picture is None or without is None:
        return None
    return max(0.0, with_picture - without) / (large[-1].picture_bytes / 1e6)


def _cluster_cpu_s(measured: Measured) -> float | None:
    runs = [run for run in measured.sizes if run.executor == "ray"]
    if runs:
        return _asking_cpu_s(max(runs, key=lambda run: run.steps))
    pairs = [pair for pair in measured.pairs if pair.latency_s == 0 and pair.rate("ray")]
    return None if not pairs else _cpu_s(pairs[-1], "ray")


def _need(what: str, given: Given, each_per_s: float) -> Need:
    each = each_per_s * DAY_S
    return Need(what=what, each_per_day=each, count=math.ceil(given.steps_per_day / each))


def plan(given: Given, inputs: Inputs, assumed: Assumed) -> Plan:
    """Divide what is asked for by what one of each does."""
    replica = given.replica_steps_per_s or assumed.model.steps_per_s
    replicas = _need(REPLICA, given, replica * assumed.busy)
    latency_s = assumed.in_flight_per_replica / replica
    picture_mb = assumed.picture_bytes / 1e6
    sending_s = inputs.cpu_s + (inputs.picture_cpu_s_per_mb or 0.0) * picture_mb
    sent_bytes = assumed.picture_bytes * 4 / 3
    folder_bytes = given.steps_per_day * inputs.folder_bytes
    cluster = inputs.cluster_cpu_s
    plan_files_per_disk = assumed.disk_bytes / assumed.inode_bytes
    return Plan(
        given=given,
        assumed=assumed,
        inputs=inputs,
        replica_steps_per_s=replica,
        replicas=replicas,
        hosts=math.ceil(replicas.count / assumed.gpus_per_host),
        in_flight=math.ceil(given.steps_per_s * latency_s),
        writers=_need(SENDING_WRITER, given, assumed.busy / sending_s),
        cluster_writers=None if cluster is None else _need(CLUSTER_WRITER, given, assumed.busy / cluster),
        links=_need(LINK, given, assumed.busy * assumed.host_bytes_per_s / sent_bytes),
        files=_need(FILES, given, assumed.busy * assumed.open_files / latency_s),
        runs=math.ceil(given.steps_per_day / assumed.run_steps),
        run_memory_mb=inputs.memory_base_mb + inputs.memory_bytes * assumed.run_steps / 1e6,
        steps_in_memory=math.inf
        if inputs.memory_bytes <= 0
        else (assumed.host_memory_mb * assumed.busy - inputs.memory_base_mb) * 1e6 / inputs.memory_bytes,
        picture_bytes_per_s=given.steps_per_s * assumed.picture_bytes,
        folder_bytes=folder_bytes,
        folder_bytes_per_s=folder_bytes / DAY_S,
        disk_days=assumed.disk_bytes / folder_bytes,
        plan_files=given.steps_per_day,
        plan_bytes=given.steps_per_day * assumed.block_bytes,
        plan_inode_days=plan_files_per_disk / given.steps_per_day,
        resume_s=None if inputs.resume_cpu_s is None else inputs.resume_cpu_s * assumed.run_steps,
        rescore_s=None if inputs.rescore_cpu_s is None else inputs.rescore_cpu_s * assumed.run_steps,
    )
