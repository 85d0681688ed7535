"""Which options make another run, and who may work in one: never two at once, and never over an old one unasked."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path

import shell
from conftest import TinyDataset
from fakes.slow_server import slow_server
from shell import STEPS, Bench


def test_what_can_change_an_answer_makes_another_run_and_speed_does_not(
    tmp_path: Path, tiny_dataset: TinyDataset
) -> None:
    bench = Bench(tmp_path, tiny_dataset())
    (tmp_path / "plans.json").write_text('{"1": {"1": "a"}}')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "plans.json").write_text('{"1": {"1": "b"}}')
    other_card = shell.grounder_card(tmp_path / "other", text="Where is {instruction}?")
    with slow_server() as server, slow_server() as elsewhere:

        def run_id(*more: str | Path) -> str:
            # Where an option is given twice, the later one is meant.
            given = dict(zip(*[iter(bench.args(server))] * 2, strict=True))
            given.update(zip(*[iter(map(str, more))] * 2, strict=True))
            if given["--grounder"] == "center":
                del given["--base-url"]
            done = shell.call(*itertools.chain(*given.items()))
            assert done.returncode in (0, 1), done.stderr
            (line,) = [line for line in done.stdout.splitlines() if line.startswith("run folder ")]
            return Path(line.removeprefix("run folder ")).name

        first = run_id()
        assert server.requests == 6
        same = [
            run_id("--max-connections", "1"),
            run_id("--display", "plain"),
            run_id("--timeout", "7"),
            run_id("--log-dir", tmp_path / "elsewhere"),
            run_id("--scoring", "official"),
            run_id("--seed", "0"),
        ]
        assert set(same) == {first}
        others = {
            "seed": run_id("--seed", "1"),
            "participant": run_id("--participant", "1"),
            "limit": run_id("--limit", "2"),
            "step": run_id("--sample-id", "1/1"),
            "plans": run_id("--plans", tmp_path / "plans.json"),
            "content of plans": run_id("--plans", tmp_path / "other" / "plans.json"),
            "base url": run_id("--base-url", elsewhere.url),
            "prompt": run_id("--grounder", other_card),
            "grounder": run_id("--grounder", "center", "--log-dir", tmp_path / "third"),
        }
        assert len({first, *others.values()}) == len(others) + 1, others
        shutil.copytree(bench.data_dir, tmp_path / "copied")
        assert run_id("--data-dir", tmp_path / "copied") == first
        questions = tmp_path / "copied" / "2" / "questions_with_task_updated.json"
        questions.write_text(questions.read_text().replace("thing 1", "thing one"))
        assert run_id("--data-dir", tmp_path / "copied") != first


def test_fresh_sets_the_old_run_aside_and_asks_everything_again(bench: Bench) -> None:
    with slow_server() as server:
        assert bench.call(server).returncode == 0
        old = (bench.run_folder / "predictions.jsonl").read_bytes()
        name = bench.run_folder.name
        again = bench.call(server, "--fresh")
        assert again.returncode == 0
        assert server.requests == 2 * STEPS
    aside = bench.results / f"{name}.old1"
    assert str(aside) in again.stderr
    assert (aside / "predictions.jsonl").read_bytes() == old
    assert bench.run_folder.name == name


def _files(folder: Path) -> dict[str, bytes]:
    """What a folder holds, without how far the run is, which is written anew every second."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(("progress.json", "."))
    }


def _at_rest(folder: Path) -> dict[str, bytes]:
    """The same as soon as a second goes by without a change: plans are made while answers are waited for."""
    while True:
        before = _files(folder)
        time.sleep(1)
        if before == _files(folder):
            return before


def test_two_processes_never_share_a_run(bench: Bench) -> None:
    with slow_server() as server:
        server.let_go(20)
        process = bench.start(server)
        shell.wait_until(lambda: len(bench.answers()) >= 20, process)
        before = _at_rest(bench.run_folder)
        for more in ((), ("--fresh",)):
            second = bench.call(server, *more)
            assert second.returncode == 2
            assert second.stdout == ""
            assert "another process is at work" in second.stderr
        rescored = shell.call("score", bench.run_folder, module="grounding")
        assert rescored.returncode == 2
        assert "another process is at work" in rescored.stderr
        assert _files(bench.run_folder) == before
        server.let_go(None)
        assert shell.finish(process).returncode == 0
        assert server.requests == STEPS
