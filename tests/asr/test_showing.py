"""An ablation as tables, files, pictures and a page: the right figures, and nothing that anybody says but as text."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console
from scoring.builders import Played

from grounding.asr.ablation import Ablation, ablate
from grounding.asr.drawing import binned, curve_picture, scatter_picture, slope_words
from grounding.asr.page import MOST_TEXT, marked, render_page
from grounding.asr.table import ablation_csv, ablation_markdown, lines, print_ablation, published_rows
from grounding.asr.writing import write_ablation
from grounding.records import Failure

from .heard import Lines, heard_run, run, transcripts

TRUTH: Lines = {"1": {"a": "++ +", "b": "+ -"}, "2": {"c": "+ + +"}}
HEARD: Lines = {"1": {"a": "-+ +", "b": "- +"}, "2": {"c": "u - +"}}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> | \"' open"


@pytest.fixture(scope="module")
def found() -> Ablation:
    levels = (-5, 5, 15)
    runs = [run("truth", TRUTH), heard_run("pocketsphinx", TRUTH, {"1/1": "open a shopping cart now"})]
    runs += [
        heard_run(
            f"pocketsphinx@babble:{level}dB",
            HEARD,
            {"1/1": "hope in the cart", "2/2": "open"},
            failures={"2/1": Failure(kind="missing", message="no transcript: there is no recording of these words")},
        )
        for level in levels
    ]
    return ablate(runs, title="made up · 8 steps")


def shown(found: Ablation, *, published: bool = False) -> str:
    out = io.StringIO()
    print_ablation(Console(file=out, width=160), found, published=published)
    return out.getvalue()


def test_the_table_has_a_row_a_source_in_the_order_given(found: Ablation) -> None:
    text = shown(found)
    rows = [line for line in text.splitlines() if line.startswith("│")]
    assert [row.split("│")[1].strip() for row in rows[:5]] == [one.condition for one in found.rows]
    assert "87.5 [" in rows[0]
    assert "2.9 [" in rows[1]  # One of 35 words.
    assert "-37.5" in rows[6]  # (4 - 7) of 8 steps; the first row of differences is clean speech.
    assert "warning    pocketsphinx@babble:5dB: 1 of 7 instructions have no transcript" in text
    assert "15 outcomes over all conditions" in text
    assert "Table 4" not in text


def test_the_papers_table_stands_beside_where_it_is_asked_for(found: Ablation) -> None:
    rows = published_rows()
    assert [(row.name, row.words, *row.scores) for row in rows] == [
        ("Ground Truth", "", "66.4", "21.7", "10.3"),
        ("Whisper Large-V3", "1.4", "65.5", "20.9", "8.4"),
        ("Whisper Large-V3 (Noise)", "28.1", "63.4", "20.6", "6.5"),
    ]
    assert "Whisper Large-V3 (Noise) │ 28.1 │" in shown(found, published=True)
    assert "| Whisper Large-V3 (Noise) | 28.1 | 63.4 | 20.6 | 6.5 |" in ablation_markdown(found, published=True)


def test_the_csv_has_every_figure(found: Ablation) -> None:
    rows = list(csv.DictReader(io.StringIO(ablation_csv(found))))
    assert [row["transcript"] for row in rows] == [one.condition for one in found.rows]
    truth, clean, noisy = rows[0], rows[1], rows[2]
    assert truth["wer"] == ""
    assert truth["step_accuracy_difference"] == ""
    assert float(clean["wer"]) == pytest.approx(100 / 35)
    assert (clean["substitutions"], clean["deletions"], clean["reference_words"]) == ("1", "0", "35")
    assert (noisy["missing"], noisy["unparsed"], noisy["failed"]) == ("1", "0", "0")
    assert float(noisy["step_accuracy_difference"]) == pytest.approx(-37.5)
    assert (noisy["step_accuracy_k"], noisy["step_accuracy_n"], noisy["lost"], noisy["won"]) == ("4", "8", "4", "1")
    assert all(len(row) == len(rows[0]) and None not in row for row in rows)


def test_markdown_has_as_many_cells_in_each_row(found: Ablation) -> None:
    table = [line for line in ablation_markdown(found).splitlines() if line.startswith("|")]
    assert len({line.count(" | ") for line in table}) == 1
    assert len(table) == 2 + len(found.rows)


def test_bins_hold_every_instruction(found: Ablation) -> None:
    bins = binned(found.spots)
    assert sum(each.n for each in bins) == len(found.spots)
    assert bins[0].word_error_percent == 0
    whole = sum(each.lost_percent * each.n for each in bins)
    assert whole == pytest.approx(sum(spot.lost_percent for spot in found.spots))


def test_pictures_show_every_level_and_condition(found: Ablation) -> None:
    above, below = curve_picture(found).axes
    (line,) = [one for one in below.get_lines() if one.get_label() == "pocketsphinx, babble"]
    assert [round(float(y), 3) for y in line.get_ydata()] == [50.0, 50.0, 50.0]
    assert {label.get_text() for label in below.get_xticklabels()} == {"-5", "5", "15"}
    names = {one.get_label() for one in below.get_lines()}
    assert {"true words", "pocketsphinx, no noise"} <= names
    assert "true words" not in {one.get_label() for one in above.get_lines()}
    (panel,) = scatter_picture(found).axes
    dots = {one.get_label(): len(one.get_xdata()) for one in panel.get_lines()}
    assert dots["pocketsphinx@babble:5dB"] == 7
    assert dots["fit"] == 2


def test_the_slope_is_told_with_its_n(found: Ablation) -> None:
    assert re.fullmatch(
        r"[+-]\d+\.\d \[.*\] points of step accuracy lost .* \(n = 28 instructions .*\)", slope_words(found)
    )
    alone = ablate([run("truth", TRUTH), heard_run("pocketsphinx", TRUTH, {})], title="")
    assert slope_words(alone).startswith("no line")
    assert "changed" not in "\n".join(lines(alone))


# --- the page -----------------------------------------------------------------------------------------------------


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_words_that_only_one_text_has_are_marked_and_the_rest_escaped() -> None:
    assert marked("Open the <b>cart</b>, now!", "open a <b>cart</b> now") == (
        "Open <del>the</del> &lt;b&gt;cart&lt;/b&gt;, now!",
        "open <ins>a</ins> &lt;b&gt;cart&lt;/b&gt; now",
    )
    assert marked("yes", "") == ("<del>yes</del>", "")
    assert len(marked("a" * 10 * MOST_TEXT, "b")[0]) < MOST_TEXT + 20


def test_hostile_texts_are_only_texts(tmp_path: Path) -> None:
    told = transcripts(Played(HEARD), "pocketsphinx", {"1/1": HOSTILE}, said=f"said {HOSTILE}")
    found = ablate([run("truth", TRUTH), run("pocketsphinx", HEARD, told)], title=f"title {HOSTILE}")
    page = render_page(found, pictures={}, audio={}, folder=tmp_path, notes=[HOSTILE])
    seen = _Tags()
    seen.feed(page)
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in seen.tags}
    assert not [name for _, attributes in seen.tags for name in attributes if name.startswith("on")]
    assert "alert(1)" in page
    assert "default-src &#x27;none&#x27;" in page
    markdown = ablation_markdown(found).splitlines()
    assert len({line.count(" | ") for line in markdown if line.startswith("|")}) == 1


def test_players_are_only_where_there_is_something_to_hear(found: Ablation, tmp_path: Path) -> None:
    one = found.changed[0]
    page = render_page(
        found, pictures={}, audio={(one.condition, one.clip_sha256): "speech_files/a.flac"}, folder=tmp_path
    )
    seen = _Tags()
    seen.feed(page)
    players = [attributes for tag, attributes in seen.tags if tag == "audio"]
    own = [each for each in found.changed if each.condition == one.condition]
    assert [player["src"] for player in players] == ["speech_files/a.flac"] * len(own)
    assert page.count("no recording here") == len(found.changed) - len(own)


def test_all_files_are_written_and_what_is_gone_is_counted(found: Ablation, tmp_path: Path) -> None:
    files = write_ablation(tmp_path / "out", found, published=True)
    assert [path.name for path in files] == [
        *("speech.json", "speech.csv", "speech.md", "speech-snr.png", "speech-snr.svg"),
        *("speech-errors.png", "speech-errors.svg", "speech.html"),
    ]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in files}
    page = files[-1].read_text()
    # One recording, which is nowhere, under three conditions.
    assert "3 recordings are not on this page" in page
    assert page.count("data:image/svg+xml;base64,") == 2
