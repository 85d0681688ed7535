"""The scale benchmark: its data loads, its server counts, its arithmetic is right, and its page tells its figures."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.loaders import realwebassist
from grounding.records import Size

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools" / "bench"))

import scale_records  # noqa: E402  (a folder of scripts, not a package)
from scale_board import Board  # noqa: E402
from scale_data import instruction, make, participants_for, picture  # noqa: E402
from scale_fit import fit  # noqa: E402
from scale_page import page, readme_table  # noqa: E402
from scale_plan import Assumed, Given, Inputs, Model, measured_inputs, plan  # noqa: E402
from scale_processes import Ended, Sample  # noqa: E402
from scale_records import Command, FileSize, Machine, Measured, Pair, Phase, Rate, Resumed, SizeRun, Window  # noqa: E402
from scale_server import reply, step_number  # noqa: E402
from scale_tables import growths, pairs_text, sizes_text  # noqa: E402
from scale_words import count_text, size_text  # noqa: E402

DOCS = ROOT / "docs"


# --- the data set ---


def test_the_data_set_loads_with_as_many_steps_as_were_asked_for(tmp_path: Path) -> None:
    made = make(tmp_path, steps=230)
    dataset = realwebassist.load(tmp_path)
    steps = [step for session in dataset.sessions for step in session.steps]
    assert (made.steps, made.participants, made.pictures) == (230, 10, 230)
    assert len(dataset.sessions) == 10
    assert len(steps) == len({step.id for step in steps}) == len({step.screenshot.sha256 for step in steps}) == 230
    assert {step.instruction for step in steps} == {instruction(number) for number in range(230)}
    assert {step.screenshot.size for step in steps} == {Size(width=320, height=200)}
    assert all(step.region is not None for step in steps)
    assert {len(task.steps) for session in dataset.sessions for task in session.tasks()} <= {3, 10}


def test_pictures_can_be_shared(tmp_path: Path) -> None:
    made = make(tmp_path, steps=100, distinct=False, pictures=30)
    steps = [step for session in realwebassist.load(tmp_path).sessions for step in session.steps]
    assert made.pictures == 30
    assert len({step.id for step in steps}) == 100
    assert len({step.screenshot.sha256 for step in steps}) == 30


def test_a_data_set_is_made_once(tmp_path: Path) -> None:
    first = make(tmp_path, steps=20)
    image = tmp_path / "1" / "images" / "1.png"
    image.unlink()
    assert make(tmp_path, steps=20) == first
    assert not image.exists()
    assert make(tmp_path, steps=30).steps == 30
    assert image.exists()


def test_a_large_picture_can_still_be_read(tmp_path: Path) -> None:
    from PIL import Image

    content = picture(7, 50_000)
    assert 50_000 < len(content) < 51_000
    (tmp_path / "7.png").write_bytes(content)
    with Image.open(tmp_path / "7.png") as image:
        image.load()
        assert image.size == (320, 200)


@pytest.mark.parametrize(("steps", "participants"), [(10, 10), (100_000, 10), (100_001, 11), (1_000_000, 100)])
def test_no_participant_has_more_than_ten_thousand_steps(steps: int, participants: int) -> None:
    assert participants_for(steps) == participants


# --- the server and its board ---


@pytest.mark.parametrize(
    ("body", "number"),
    [(instruction(0), 0), (instruction(1_234_567), 1_234_567), ("entry number ", -1), ("nothing", -1)],
)
def test_the_server_finds_the_step_in_a_request(body: str, number: int) -> None:
    assert step_number(f'{{"text": "{body}"}}'.encode()) == number


def test_the_reply_is_a_whole_response() -> None:
    head, _, body = reply("(1,2)").partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert msgspec.json.decode(body)["choices"][0]["message"]["content"] == "(1,2)"


def test_the_board_counts_what_was_asked_and_when(tmp_path: Path) -> None:
    writer = Board(tmp_path / "board", 200)
    reader = Board(tmp_path / "board")
    assert (reader.requests, reader.distinct, reader.first_s, reader.asked_twice()) == (0, 0, 0.0, 0)
    for number in range(200):
        writer.asked(number, 10.0 + number)
    writer.asked(3, 300.0)
    writer.asked(-1, 301.0)
    assert (reader.requests, reader.distinct, reader.asked_twice()) == (202, 200, 1)
    assert (reader.first_s, reader.last_s) == (10.0, 301.0)
    moments = reader.moments()
    assert (moments[0], moments[1], moments[50], moments[100]) == (10.0, 11.0, 109.0, 209.0)
    reader.forget_first()
    writer.asked(5, 400.0)
    assert reader.first_s == 400.0


@given(st.lists(st.integers(min_value=0, max_value=20), max_size=60))
def test_the_board_counts_like_a_list(tmp_path_factory: pytest.TempPathFactory, numbers: list[int]) -> None:
    board = Board(tmp_path_factory.mktemp("board") / "board", 21)
    for at, number in enumerate(numbers):
        board.asked(number, at + 1.0)
    assert board.requests == len(numbers)
    assert board.distinct == len(set(numbers))
    assert board.asked_twice() == sum(numbers.count(number) > 1 for number in set(numbers))


# --- the arithmetic ---


@given(
    st.floats(min_value=0.2, max_value=2.5),
    st.floats(min_value=1e-6, max_value=1e-1),
    st.lists(st.integers(min_value=10, max_value=10**7), min_size=3, max_size=8, unique=True),
)
def test_the_exponent_of_a_pure_power_is_found(exponent: float, factor_s: float, sizes: list[int]) -> None:
    found = fit(sizes, [factor_s * size**exponent for size in sizes])
    assert found is not None
    assert found.exponent == pytest.approx(exponent, abs=1e-6)
    assert found.factor_s == pytest.approx(factor_s, rel=1e-4)
    assert found.low <= found.high


def test_noise_widens_the_interval() -> None:
    sizes = [10_000, 30_000, 100_000, 300_000]
    found = fit(sizes, [1.0, 3.3, 9.1, 33.0])
    assert found is not None
    assert found.low < 1.0 < found.high
    assert found.high - found.low > 0.05


def test_two_sizes_tell_no_exponent() -> None:
    assert fit([10, 100], [1.0, 10.0]) is None


@pytest.mark.parametrize(("sizes", "seconds"), [([1, 2], [1.0]), ([0, 1, 2], [1.0, 1.0, 1.0]), ([1], [0.0])])
def test_times_that_can_t_be_fitted_are_refused(sizes: list[int], seconds: list[float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        fit(sizes, seconds)


def test_the_time_between_two_looks_is_shared_out() -> None:
    samples = tuple(Sample(at_s=float(n), cpu_s=n * 0.5, rss_mb=100.0 + n) for n in range(1, 5))
    ended = Ended(
        started_s=0.0, ended_s=4.0, cpu_s=2.0, peak_mb=104.0, returncode=0, samples=samples, output=""
    )  # fmt: skip
    assert ended.at(2.5).cpu_s == pytest.approx(1.25)
    assert ended.between(1.5, 3.5) == pytest.approx(1.0)
    assert ended.at(3.0).rss_mb == 102.0
    assert ended.at(9.0).cpu_s == 2.0
    assert ended.at(0.0).cpu_s == 0.0


INPUTS = Inputs(
    largest_steps=1000,
    cpu_s=0.0005,
    picture_cpu_s_per_mb=0.002,
    cluster_cpu_s=0.00025,
    folder_bytes=1000.0,
    report_bytes=100.0,
    memory_base_mb=100.0,
    memory_bytes=2000.0,
    load_cpu_s=0.0001,
    resume_cpu_s=0.0002,
    rescore_cpu_s=0.00002,
)


def test_a_day_is_divided_by_what_one_does() -> None:
    found = plan(Given(steps_per_day=8.64e7, replica_steps_per_s=2.0), INPUTS, Assumed(busy=0.5))
    # 1,000 steps a second: at half use a replica does one of them.
    assert found.given.steps_per_s == pytest.approx(1000.0)
    assert (found.replicas.count, found.hosts) == (1000, 125)
    # A writer has 0.5 ms and 2 ms for its megabyte: 200 steps a second at half use.
    assert found.writers.count == 5
    assert found.cluster_writers is not None
    assert found.cluster_writers.count == 1
    # 1.25 GB/s at half use over 1.33 MB a step.
    assert found.links.each_per_day == pytest.approx(1.25e9 * 0.5 / (4e6 / 3) * 86_400)
    # 16 open at a replica of 2 steps a second are 8 s of waiting; 1,024 files at half use are 64 steps a second.
    assert found.files.each_per_day == pytest.approx(64 * 86_400)
    assert found.in_flight == 8000
    assert [need.each_per_day for need in found.limits] == sorted(need.each_per_day for need in found.limits)
    assert found.run_memory_mb == pytest.approx(2100.0)
    assert found.folder_bytes_per_s == pytest.approx(1e6)
    assert found.resume_s == pytest.approx(200.0)
    assert found.rescore_s == pytest.approx(20.0)


@given(st.floats(min_value=1.0, max_value=1e11), st.floats(min_value=0.01, max_value=1e4))
def test_what_is_needed_is_enough_and_no_more(steps_per_day: float, replica: float) -> None:
    found = plan(Given(steps_per_day=steps_per_day, replica_steps_per_s=replica), INPUTS, Assumed())
    for need in (found.replicas, *found.limits):
        assert need.count * need.each_per_day >= steps_per_day * (1 - 1e-9)
        assert (need.count - 1) * need.each_per_day < steps_per_day
    assert found.hosts * found.assumed.gpus_per_host >= found.replicas.count


def test_a_replica_by_arithmetic() -> None:
    model = Model()
    # 69 x 39 tokens, the sizes that Qwen2.5-VL makes of a 1920x1080 screenshot.
    assert model.picture_tokens == 2691
    assert Model(share=0.5).steps_per_s == pytest.approx(2 * model.steps_per_s)


# --- the figures and the page ---


def size_run(steps: int, executor: str = "local", **changes: object) -> SizeRun:
    seconds = {"load": 1e-4, "ask": 5e-4, "score": 2e-5, "report": 3e-5}
    names: tuple[scale_records.PhaseName, ...] = ("load", "ask", "score", "report")
    run = SizeRun(
        steps=steps,
        distinct_pictures=True,
        executor=executor,
        connections=64,
        requests=steps,
        load_average=1.0,
        phases=tuple(Phase(name=n, wall_s=2 * seconds[n] * steps, cpu_s=seconds[n] * steps) for n in names),
        windows=tuple(
            Window(until_percent=p, steps_per_s=900.0, cpu_ms_per_step=0.5, rss_mb=80 + steps / 1e3)
            for p in range(10, 101, 10)
        ),
        loaded_mb=75 + steps / 1e3,
        peak_mb=100 + steps / 500,
        files=(FileSize(name="predictions.jsonl", bytes=400 * steps), FileSize(name="report.html", bytes=5 * steps)),
        resumed=Resumed(
            killed_at_steps=steps // 2,
            ready_s=3.0,
            ready_cpu_s=1e-4 * steps,
            asked_twice=41,
            watched_steps=steps,
            in_flight_most=64,
            peak_mb=90.0,
        ),
        commands=(Command(name="rescore", wall_s=2.0, cpu_s=2e-5 * steps, peak_mb=80.0),),
    )
    return msgspec.structs.replace(run, **changes)


def pair(latency_s: float, picture_bytes: int, cpu_ms: float) -> Pair:
    rates = (
        Rate(client="bare", steps_per_s=1000.0, cpu_s=1.0, peak_mb=50.0),
        Rate(client="local", steps_per_s=900.0, cpu_s=cpu_ms, peak_mb=90.0),
    )
    return Pair(
        steps=1000,
        latency_s=latency_s,
        picture_bytes=picture_bytes,
        connections=64,
        repeats=2,
        load_average=1.0,
        rates=rates,
    )


MACHINE = Machine(processor="made up", cores=2, memory_gb=16.0, python="3.11.7", day="2026-01-01", shared=True)
MEASURED = Measured(
    machine=MACHINE,
    sizes=(size_run(10_000), size_run(100_000), size_run(1_000_000)),
    pairs=(pair(0.0, 0, 0.5), pair(0.0, 1_000_000, 2.5)),
)


def test_the_inputs_come_from_the_largest_run_and_the_pairs() -> None:
    inputs = measured_inputs(MEASURED)
    assert inputs.largest_steps == 1_000_000
    assert inputs.cpu_s == pytest.approx(5e-4)
    assert inputs.picture_cpu_s_per_mb == pytest.approx(0.002)
    assert inputs.memory_bytes == pytest.approx(1000.0)
    assert inputs.memory_base_mb == pytest.approx(80.0)
    assert inputs.folder_bytes == pytest.approx(400.0)
    assert inputs.report_bytes == pytest.approx(5.0)
    assert inputs.cluster_cpu_s is None


def test_what_was_not_measured_is_said_to_be_so() -> None:
    inputs = measured_inputs(Measured(machine=MACHINE, sizes=(size_run(10_000, resumed=None, commands=()),)))
    assert inputs.picture_cpu_s_per_mb is None
    assert inputs.resume_cpu_s is inputs.rescore_cpu_s is None
    assert inputs.memory_bytes == 0.0
    assert math.isinf(plan(Given(), inputs, Assumed()).steps_in_memory)
    with pytest.raises(ValueError, match="no size was measured"):
        measured_inputs(Measured(machine=MACHINE))


def test_a_run_takes_the_place_of_the_same_size_and_kind(tmp_path: Path) -> None:
    again = size_run(100_000, requests=7)
    changed = scale_records.with_size(scale_records.with_size(MEASURED, again), size_run(100_000, "ray"))
    assert [(run.steps, run.executor, run.requests) for run in changed.sizes] == [
        (10_000, "local", 10_000),
        (100_000, "local", 7),
        (100_000, "ray", 100_000),
        (1_000_000, "local", 1_000_000),
    ]
    assert len(scale_records.with_pair(changed, pair(0.2, 0, 1.0)).pairs) == 3
    assert len(scale_records.with_pair(changed, pair(0.0, 0, 1.0)).pairs) == 2
    scale_records.write(tmp_path / "scale.json", changed)
    assert scale_records.read(tmp_path / "scale.json") == changed
    assert measured_inputs(changed).cluster_cpu_s == pytest.approx(5e-4)


def test_the_page_tells_the_figures() -> None:
    text = page(MEASURED)
    assert (
        "| 1,000,000 | 200 (100) | 1,000 (500) | 40.0 (20.0) | 60.0 (30.0) | 0.50 | 2,100 | 3.0 (100.0) | 41 |" in text
    )
    assert "- asking, CPU: steps^1.00 [1.00, 1.00] over 3 sizes" in text
    assert "2.00 ms" in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 120


def test_the_figures_in_plain_text() -> None:
    text = sizes_text(MEASURED)
    assert "re-scoring, CPU: steps^1.00" in text
    assert "1,000,000" in text
    assert "0.90" in pairs_text(MEASURED)
    assert all(growth.found is None for growth in growths(MEASURED.sizes[:2]))


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 bytes"), (1200, "1.2 kB"), (98.3e9, "98.3 GB"), (2e12, "2 TB"), (0.2, "0 bytes")]
)
def test_sizes_in_words(count: float, text: str) -> None:
    assert size_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(1234.6, "1,235"), (1e8, "100 million"), (2.5e6, "2.5 million"), (1e9, "1 billion")]
)
def test_counts_in_words(count: float, text: str) -> None:
    assert count_text(count) == text


def test_the_page_in_docs_is_the_one_that_its_figures_make() -> None:
    measured = scale_records.read(DOCS / "scale.json")
    again = "run: python tools/bench/scale.py page"
    assert (DOCS / "scale.md").read_text(encoding="utf-8") == page(measured), again
    assert (DOCS / "scale.png").exists()
    assert max(run.steps for run in measured.local()) >= 100_000


def test_the_readme_shows_the_figures() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    if "<!-- scale:start -->" not in text:
        pytest.skip("README.md has no table of sizes")
    table = readme_table(scale_records.read(DOCS / "scale.json"))
    assert f"<!-- scale:start -->\n{table}\n<!-- scale:end -->" in text, "run: python tools/update_readme.py scale"


def test_the_readmes_table() -> None:
    assert readme_table(MEASURED).splitlines()[-1] == (
        "| 1,000,000 | 0.50 | 0.50, 0.50 | 2,100 MB | 100.0 s, 41 asked twice | 20.0 s |"
    )


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    from PIL import Image
    from scale_plot import draw

    draw(MEASURED, tmp_path / "scale.png")
    with Image.open(tmp_path / "scale.png") as image:
        assert image.width > 2 * image.height
    with pytest.raises(ValueError, match="no size"):
        draw(Measured(machine=MACHINE), tmp_path / "none.png")


# --- measuring ---


def test_a_process_is_watched_to_its_end(tmp_path: Path) -> None:
    from scale_processes import Child, completed, python

    before = time.monotonic()
    ended = completed(python("-c", "print(sum(range(3_000_000)))"), tree=tmp_path)
    assert ended.output.strip() == "4499998500000"
    assert before <= ended.started_s <= ended.ended_s
    assert ended.cpu_s > 0
    assert ended.peak_mb > 5
    with pytest.raises(SystemExit, match="ended with 3"):
        completed(python("-c", "raise SystemExit(3)"), tree=tmp_path)
    child = Child(python("-c", "print('gone')"), tree=tmp_path)
    with pytest.raises(SystemExit, match="gone"):
        child.wait_until(lambda: False)


@pytest.mark.slow
def test_a_small_run_is_measured_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import scale
    from scale_measures import TENTHS

    figures = tmp_path / "scale.json"
    common = ["--folder", str(tmp_path), "--into", str(figures), "--connections", "8"]
    for command in (
        ["run", "--steps", "600", "--kill-within", *common],
        ["pair", "--steps", "200", "--latency", "0.01", "--repeats", "1", "--executors", "local", *common],
        ["page", "--into", str(figures)],
    ):
        monkeypatch.setattr(sys, "argv", ["scale.py", *command])
        scale.main()
    measured = scale_records.read(figures)
    (run,) = measured.sizes
    assert run.resumed is not None
    assert run.requests == 600 + run.resumed.asked_twice
    assert run.resumed.asked_twice <= run.resumed.in_flight_most == 8
    assert run.resumed.killed_at_steps >= 300
    assert [window.until_percent for window in run.windows] == list(TENTHS)
    assert all(phase.wall_s >= 0 and phase.cpu_s >= 0 for phase in run.phases)
    assert run.phase("ask").cpu_s > 0
    assert run.bytes_of("predictions.jsonl") > 600 * 100
    assert {command.name for command in run.commands} == set(get_args(scale_records.CommandName))
    assert {rate.client for rate in measured.pairs[0].rates} == {"bare", "local"}
    assert (tmp_path / "scale.md").read_text() == page(measured)
