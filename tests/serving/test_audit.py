"""A stored run's replies, read again: the table, the right space, the tokens, and runs that have no replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import Behaviour, ChatServer, reply
from run.probe.models import LIMITS, card, in_seen_pixels, on_grid, seeing

from grounding.cards import GrounderCard
from grounding.cli import run

STEPS = 12


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


Stored = Callable[[GrounderCard, Behaviour], Path]


@pytest.fixture
def stored(tmp_path: Path, tiny_dataset: Callable[..., Path], server: ChatServer) -> Stored:
    """Makes a run of twelve steps on screenshots of 1280 x 720 and returns its folder."""
    data_dir = tiny_dataset(size=(1280, 720), steps=6, unscored=())

    def make(made: GrounderCard, behaviour: Behaviour) -> Path:
        server.default = behaviour
        path = tmp_path / "card.yaml"
        path.write_bytes(msgspec.yaml.encode(made))
        words = ["eval", "--dataset", "realwebassist", "--data-dir", str(data_dir), "--grounder", str(path)]
        words += ["--base-url", server.base_url, "--log-dir", str(tmp_path / "results"), "--no-probe"]
        with pytest.raises(SystemExit) as ended:
            run(words)
        assert ended.value.code == 0
        (folder,) = (tmp_path / "results").iterdir()
        return folder

    return make


def audit(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        run(["audit", str(folder), *more])
    said = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, said.out, said.err


def audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code, out, _ = audit(folder, capsys, "--json")
    found: dict[str, Any] = json.loads(out)
    return code, found


def test_a_run_with_the_right_card_is_ok(
    stored: Stored, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(card("resized_px", "client"), seeing(in_seen_pixels))
    asked = server.count
    code, found = audited(folder, capsys)
    assert (code, found["level"], found["findings"], found["steps"]) == (0, "ok", [], STEPS)
    own = next(fit for fit in found["fits"] if fit["name"] == "resized_px")
    assert (own["hits"], own["parsed"], own["in_range"], own["median_px"]) == (STEPS, STEPS, STEPS, 0.0)
    (tokens,) = found["tokens"]
    assert (tokens["agrees"], tokens["expected_tokens"], tokens["replies"]) == (True, 46 * 26, STEPS)
    assert server.count == asked


def test_a_run_with_a_wrong_card_is_told_the_right_space(stored: Stored, capsys: pytest.CaptureFixture[str]) -> None:
    folder = stored(card("resized_px", "client"), seeing(on_grid(1000)))
    code, out, _ = audit(folder, capsys)
    assert code == 1
    assert "resized_px (the card's)" in out
    assert "read as a grid of 0 to 999 (rel_999) or a grid of 0 to 1000 (rel_1000), 12 of 12 replies hit" in out
    assert f"{STEPS}/{STEPS} (100.0 %)" in out
    assert "verdict    warning" in out


def test_a_server_that_shrank_the_pictures_is_seen_in_its_counts(
    stored: Stored, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(card("resized_px", "client"), seeing(in_seen_pixels, max_pixels=300000))
    code, out, _ = audit(folder, capsys)
    assert code == 1
    assert "at 1280x720 the server saw about" in out
    assert "the card says 1288x728 (1,196)" in out


def test_boxes_and_a_prefill_are_read_as_the_card_reads_them(
    stored: Stored, capsys: pytest.CaptureFixture[str]
) -> None:
    made = card(
        "resized_px", "none", prefill="<box>(", answer={"form": "box", "space": "rel_1000", "within": "<box>(.*)"}
    )
    _, found = audited(stored(made, reply("250, 300, 300, 400)")), capsys)
    own = next(fit for fit in found["fits"] if fit["name"] == "rel_1000")
    assert own["parsed"] == STEPS
    assert own["hits"] == STEPS


def test_a_run_without_raw_replies_says_so(
    tmp_path: Path, tiny_dataset: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["eval", "--dataset", "realwebassist", "--data-dir", str(tiny_dataset()), "--grounder", "center"]
    with pytest.raises(SystemExit):
        run([*words, "--log-dir", str(tmp_path / "results")])
    (folder,) = (tmp_path / "results").iterdir()
    code, out, err = audit(folder, capsys)
    assert (code, out) == (2, "")
    assert "there are no raw replies to audit" in err


def test_a_card_of_another_version_is_not_taken_for_no_card(stored: Stored, capsys: pytest.CaptureFixture[str]) -> None:
    folder = stored(card("rel_1000", "client", image={"resize": "client", **LIMITS}), reply("(300, 400)"))
    info = json.loads((folder / "run.json").read_text())
    identity = json.loads(info["asked"]["grounder_identity"])
    identity["answer"]["space"] = "rel_77"
    info["asked"]["grounder_identity"] = json.dumps(identity)
    (folder / "run.json").write_text(json.dumps(info))
    code, _, err = audit(folder, capsys)
    assert code == 2
    assert "not of this version" in err
    assert "rel_77" in err
