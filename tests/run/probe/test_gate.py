"""The probe at the start of a run: once, before anything else, and never in the way of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import Behaviour, ChatServer, after, dropped, error, reply

from grounding.cards import GrounderCard
from grounding.cli import run
from run.probe.models import card, in_seen_pixels, on_grid, seeing

PROBES = 12
STEPS = 6


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def evaluated(
    tmp_path: Path, tiny_dataset: Callable[..., Path], server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs ``grounding eval`` over six steps with a card; exit code, standard output and standard error."""
    data_dir = tiny_dataset(size=(640, 480))

    def evaluate(made: GrounderCard, *more: str) -> tuple[int, str, str]:
        path = tmp_path / "card.yaml"
        path.write_bytes(msgspec.yaml.encode(made))
        words = ["eval", "--dataset", "realwebassist", "--data-dir", str(data_dir), "--grounder", str(path)]
        words += ["--base-url", server.base_url, "--log-dir", str(tmp_path / "results"), "--max-retries", "0", *more]
        with pytest.raises(SystemExit) as ended:
            run(words)
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, said.out, said.err

    return evaluate


def folder_of(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "results").iterdir()
    return folder


def read(tmp_path: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder_of(tmp_path) / name).read_text())
    return found


Evaluated = Callable[..., tuple[int, str, str]]


def test_a_run_probes_first_and_only_once(server: ChatServer, evaluated: Evaluated, tmp_path: Path) -> None:
    server.default = seeing(on_grid(1000))
    server.script(*[server.default] * PROBES, error(400))  # One step of the data set goes wrong.
    code, _, err = evaluated(card("rel_1000"))
    assert (code, server.count, "probe" in err) == (1, PROBES + STEPS, False)
    assert read(tmp_path, "probe.json")["level"] == "ok"
    code, _, _ = evaluated(card("rel_1000"))
    assert (code, server.count) == (0, PROBES + STEPS + 1)
    code, _, _ = evaluated(card("rel_1000"))
    assert (code, server.count) == (0, PROBES + STEPS + 1)


def test_the_probe_changes_no_run_id(server: ChatServer, evaluated: Evaluated, tmp_path: Path) -> None:
    server.default = seeing(on_grid(1000))
    assert evaluated(card("rel_1000"), "--no-probe")[0] == 0
    assert server.count == STEPS
    assert not (folder_of(tmp_path) / "probe.json").exists()
    assert evaluated(card("rel_1000"))[0] == 0
    assert server.count == STEPS  # Everything is answered: nothing is left to be warned of.
    assert folder_of(tmp_path).is_dir()


def test_a_card_that_does_not_fit_is_a_warning_and_the_run_goes_on(
    server: ChatServer, evaluated: Evaluated, tmp_path: Path
) -> None:
    server.default = seeing(in_seen_pixels)
    code, out, err = evaluated(card("rel_1000"))
    assert (code, server.count) == (0, PROBES + STEPS)
    assert "grounding: probe: the card says a grid of 0 to 1000 (rel_1000), where" in err
    assert "pixels of the resized picture (resized_px)" in out
    assert out.count("warning    probe: ") == 2  # The range, and the space.
    assert read(tmp_path, "run.json")["asked"]["grounder"] == "g"


def test_a_model_that_says_nothing_readable_stops_before_the_data_set(
    server: ChatServer, evaluated: Evaluated, tmp_path: Path
) -> None:
    server.default = reply("The button is at the top.")
    code, out, err = evaluated(card("rel_1000"))
    assert (code, out, server.count) == (2, "", PROBES)
    assert "none of the 12 replies to the probe holds an answer" in err
    assert "The button is at the top." in err
    assert "--no-probe" in err
    code, _, _ = evaluated(card("rel_1000"))  # What was broken is asked about again.
    assert (code, server.count) == (2, 2 * PROBES)
    assert len(read(tmp_path, "probe.json")["earlier"]) == PROBES
    code, _, _ = evaluated(card("rel_1000"), "--no-probe")
    assert (code, server.count) == (0, 2 * PROBES + STEPS)


def test_what_the_probe_cost_counts(server: ChatServer, evaluated: Evaluated, tmp_path: Path) -> None:
    server.default = reply("(500, 500)")  # 1000 tokens in, 10 out: $0.00101.
    price = {"input_usd": 1.0, "output_usd": 1.0, "date": "2026-01-01"}
    code, _, _ = evaluated(card("rel_1000", price=price))
    assert code == 0
    cost = read(tmp_path, "summary.json")["cost"]
    assert cost["usd"] == pytest.approx(0.00101 * (PROBES + STEPS))
    assert cost["input_tokens"] == 1000 * (PROBES + STEPS)


def test_a_cost_limit_holds_for_the_probe_and_a_resumed_run_remembers_it(
    server: ChatServer, evaluated: Evaluated, tmp_path: Path
) -> None:
    server.default = reply("(500, 500)")
    price = {"input_usd": 1.0, "output_usd": 1.0, "date": "2026-01-01"}
    code, out, _ = evaluated(card("rel_1000", price=price), "--cost-limit", "0.0051")
    assert (code, server.count) == (1, 5)
    assert "cost limit" in out
    for _ in range(2):  # A sixth would pass the limit, also in a run that goes on.
        code, out, _ = evaluated(card("rel_1000", price=price), "--cost-limit", "0.0051")
        assert (code, server.count) == (1, 5)
    assert read(tmp_path, "summary.json")["cost"]["usd"] == pytest.approx(0.00505)


@pytest.mark.parametrize("trouble", [error(400, "not today"), error(500), dropped(), after(30, reply("late"))])
def test_a_probe_that_nobody_answers_stops_before_the_data_set(
    server: ChatServer, evaluated: Evaluated, trouble: Behaviour
) -> None:
    server.default = trouble
    code, out, err = evaluated(card("rel_1000"), "--timeout", "1")
    assert (code, out, server.count) == (2, "", PROBES)
    assert "none of the 12 requests of the probe was answered" in err
    assert "--no-probe" in err
    server.default = seeing(on_grid(1000))
    assert evaluated(card("rel_1000"))[0] == 0


def test_a_built_in_grounder_is_not_probed(
    server: ChatServer, tmp_path: Path, tiny_dataset: Callable[..., Path]
) -> None:
    words = ["eval", "--dataset", "realwebassist", "--data-dir", str(tiny_dataset()), "--grounder", "center"]
    with pytest.raises(SystemExit) as ended:
        run([*words, "--log-dir", str(tmp_path / "results")])
    assert (ended.value.code, server.count) == (0, 0)
    assert not (folder_of(tmp_path) / "probe.json").exists()
