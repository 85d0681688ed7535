"""The probe against servers of every kind, from the command line to the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import ChatServer, error, reply

from grounding.cards import GrounderCard
from grounding.cli import run
from grounding.run.probe.gate import INSTRUCTION, draw_targets
from run.probe.models import LIMITS, card, in_seen_pixels, on_grid, seeing


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


class Probed:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    def texts(self, kind: str) -> list[str]:
        return [finding["text"] for finding in self.report["findings"] if finding["kind"] == kind]


def probe(
    made: GrounderCard, server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> Probed:
    path = tmp_path / "card.yaml"
    path.write_bytes(msgspec.yaml.encode(made))
    words = ["probe", str(path), "--base-url", server.base_url, "--max-retries", "0", *more]
    with pytest.raises(SystemExit) as ended:
        run(words)
    said = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return Probed(ended.value.code, said.out, said.err)


def test_the_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = draw_targets(tmp_path / "a"), draw_targets(tmp_path / "b")
    assert [target.screenshot.sha256 for target in one] == [target.screenshot.sha256 for target in two]
    assert len({target.screenshot.sha256 for target in one}) == len(one) == 12
    for target in one:
        size = target.screenshot.size
        assert 0 <= target.button.left_px < target.button.right_px < size.width
        assert 32 < target.button.top_px < target.button.bottom_px < size.height


@pytest.mark.parametrize("resize", ["client", "server"])
def test_the_right_card_is_ok(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], resize: str
) -> None:
    server.default = seeing(in_seen_pixels)
    found = probe(card("resized_px", resize), server, tmp_path, capsys, "--json")
    assert found.code == 0, found.out
    report = found.report
    assert (report["level"], report["findings"], report["hits"], report["parsed"]) == ("ok", [], 12, 12)
    assert report["median_offset_px"] < 2
    assert len(report["tokens"]) == 6
    assert all(line["agrees"] for line in report["tokens"])
    assert server.count == 12
    assert INSTRUCTION in json.dumps(server.bodies[0])


def test_a_wrong_card_is_told_the_right_space(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = seeing(in_seen_pixels)
    found = probe(card("rel_1000", "client"), server, tmp_path, capsys)
    assert found.code == 1
    assert "rel_1000 (the card's)" in found.out
    assert "warning" in found.out
    assert "pixels of the resized picture (resized_px), 12 of 12 replies hit" in found.out
    assert "verdict    warning" in found.out


def test_a_server_that_shrinks_pictures_is_found_out_by_tokens_and_replies(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = seeing(in_seen_pixels, max_pixels=564480)
    made = card("resized_px", "client", image={"resize": "client", **LIMITS, "max_pixels": 8847360})
    found = probe(made, server, tmp_path, capsys, "--json")
    assert found.code == 1
    (tokens,) = found.texts("tokens")
    assert "at 1920x1080 the server saw about 980x560 (700 image tokens), the card says 1932x1092 (2,691)" in tokens
    small = found.report["tokens"][0]
    assert small["agrees"]
    assert small["original"] == {"width": 320, "height": 240}


def test_replies_without_a_place_are_broken(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = reply("I can't see it.")
    found = probe(card("rel_1000"), server, tmp_path, capsys)
    assert found.code == 1
    assert "verdict    broken" in found.out
    assert "12 of 12 replies hold no answer in the form that the card reads" in found.out


def test_a_server_that_refuses_everything_is_unreachable(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = error(400, "no pictures here")
    found = probe(card("rel_1000"), server, tmp_path, capsys)
    assert (found.code, found.out) == (2, "")
    assert "no request of the probe was answered" in found.err
    assert "no pictures here" in found.err


def test_no_server_is_unreachable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer() as gone:
        pass
    found = probe(card("rel_1000"), gone, tmp_path, capsys)
    assert found.code == 2
    assert "nothing answers at" in found.err


def test_one_failed_request_is_a_warning(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = seeing(on_grid(1000))
    server.script(error(400, "too long"))
    found = probe(card("rel_1000"), server, tmp_path, capsys, "--json")
    assert found.code == 1
    (text,) = found.texts("errors")
    assert text.startswith("1 of 12 requests failed")
    assert "too long" in text
    assert found.report["replied"] == 11


def test_a_card_that_sends_files_is_probed_with_pictures_in_the_request(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = seeing(in_seen_pixels)
    image = {"resize": "server", **LIMITS, "send": "file"}
    found = probe(card("resized_px", image=image), server, tmp_path, capsys, "--json")
    assert found.code == 0, found.out
    assert "file://" not in json.dumps(server.bodies)


def test_numbers_in_a_refusal_are_no_answer(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = reply(None, refusal="I won't click (100, 200).")
    found = probe(card("rel_1000"), server, tmp_path, capsys, "--json")
    assert (found.code, found.report["level"], found.report["parsed"]) == (1, "broken", 0)


def test_a_card_that_resizes_nothing_is_told_what_the_server_saw(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = seeing(on_grid(1000), max_pixels=1003520)
    found = probe(card("rel_1000", "none"), server, tmp_path, capsys, "--json")
    assert (found.code, found.report["level"]) == (0, "ok")
    lines = {(line["original"]["width"], line["original"]["height"]): line for line in found.report["tokens"]}
    assert len(lines) == 6
    assert all(line["expected"] is line["expected_tokens"] is None for line in lines.values())
    seen = {size: (line["seen"]["width"], line["seen"]["height"]) for size, line in lines.items()}
    assert seen[320, 240] == (308, 252)
    assert seen[1280, 720] == (1288, 728)
    assert seen[1920, 1080] == (1316, 728)
    assert seen[1080, 1920] == (728, 1316)
    (note,) = found.texts("tokens")
    assert "at 1920x1080 the server saw about 1316x728 (1,222 image tokens)" in note
    assert "the card leaves the size to the server" in note
    assert "320x240" not in note
