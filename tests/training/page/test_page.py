"""The page of a training run: what stands in it, for whole, partial, failed and hostile runs."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from grounding.cli import run as command_line
from grounding.errors import UserError
from grounding.training.estimate import ExampleShape, Fit, TrainingLoad, estimate_memory, shape_from_config
from grounding.training.estimate.terms import gib
from grounding.training.folder import TrainingFolder
from grounding.training.grounder.fit import StageFit
from grounding.training.loop.records import StageResult
from grounding.training.page.gather import gather_training
from grounding.training.page.page import training_page, write_training_page
from grounding.training.records import MetricsLine, StageInfo

from .folders import folds_run, grounder_run, puma_run, run_info, write_run, write_stage

HOSTILE = (
    "<script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\"> \u202egnp.exe &amp; </pre>"
    "</script><!--"
)


class Reader(HTMLParser):
    """The tags, and all texts together."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


VOID = {"meta", "link", "br", "img"}


def read(folder: Path) -> Reader:
    found = Reader(write_training_page(folder).read_text(encoding="utf-8"))
    assert found.open == []
    names = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(names) == len(set(names))
    # Every reference within the page leads somewhere, and there is no other kind but data and a run's other pages.
    for tag, attributes in found.tags:
        for name in ("href", "src", "aria-labelledby"):
            value = attributes.get(name)
            if value is None or value.startswith("data:"):
                continue
            if tag == "a" and value.endswith("/report.html"):
                assert (folder / value).is_file()
                continue
            assert value.removeprefix("#") in names, (tag, value)
    return found


def test_a_grounders_page_has_everything(tmp_path: Path) -> None:
    found = read(grounder_run(tmp_path / "run", steps=60, sampled=10))
    for words in (
        "gta1-7b trained on sample-web", "complete", "SFT, then GRPO", "42.7 % before, 48.9 % after",
        "48.9 [40.1, 57.0]", "Stage 1: sft", "Stage 2: grpo", "60 of 60 steps", "2.5 s a step", "3.00 GiB",
        "KL divergence", "Reward term: hit", "1 standard deviation", "examples that are never trained on",
        "Put the 1. thing into the cart", "no point", "left out, over a screenshot that is tested", "178",
        "RealWebAssist tells ten", "grounding eval --grounder", "trl 1.16.0", "sample-web (0123abcd)",
    ):  # fmt: skip
        assert words in found.text, words
    charts = [attributes for tag, attributes in found.tags if tag == "svg" and "data-chart" in attributes]
    assert len(charts) >= 12
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in charts)
    assert all(attributes.get("tabindex") == "0" for attributes in charts)
    # A table stands behind each of them.
    assert sum(tag == "table" for tag, _ in found.tags) >= len(charts)
    # Six steps show one picture each of the whole, and it is there once.
    assert [tag for tag, _ in found.tags].count("use") > [tag for tag, _ in found.tags].count("image")


def test_only_its_own_script_may_run_and_nothing_is_loaded(tmp_path: Path) -> None:
    content = write_training_page(grounder_run(tmp_path / "run", steps=30)).read_text(encoding="utf-8")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', content)[1])  # type: ignore[index]
    scripts = re.findall(r"<script>(.*?)</script>", content, flags=re.DOTALL)
    (script,) = scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'none'" in policy
    assert not re.findall(r"(?:href|src)=\"(?:https?:)?//", content)


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    names = (HOSTILE, "rewards/<b>/mean", "rewards/\"'><i>/mean")
    folder = grounder_run(
        tmp_path / "run", steps=20, instruction=HOSTILE, text=HOSTILE * 50, card=HOSTILE, dataset=HOSTILE,
        split=HOSTILE, recipe_name=HOSTILE, command=HOSTILE, signature=HOSTILE, versions={HOSTILE: HOSTILE},
        edit=lambda lines: [msgspec.structs.replace(line, values=dict.fromkeys(names, 0.5)) for line in lines],
    )  # fmt: skip
    (folder / "recipe.yaml").write_text(HOSTILE, encoding="utf-8")
    found = read(folder)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in found.tags]
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    shown = HOSTILE.replace("\u202e", "[U+202E]")
    assert found.text.count(shown) > 10
    assert "\u202e" not in (folder / "report.html").read_text(encoding="utf-8")
    assert "more characters)" in found.text  # long texts are cut, and say so


def test_a_stage_whose_name_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    write_stage(tmp_path / "outside", [MetricsLine(step=1, epoch=0, loss=123.456)])
    stages = [StageInfo(name=name, method="sft") for name in ("../../outside", str(tmp_path / "outside"), "..")]
    folder = write_run(tmp_path / "run", run_info(stages))
    assert "123.5" not in read(folder).text


@pytest.mark.parametrize("done", [0, 1, 2, 25])
def test_partial_runs(tmp_path: Path, done: int) -> None:
    found = read(grounder_run(tmp_path / "run", steps=50, done=done))
    assert "stopped before the end: stopped by Ctrl-C" in found.text
    assert ("Nothing was measured yet" in found.text) == (done == 0)
    assert "48.9" not in found.text


def test_a_run_that_died_or_has_nothing_yet(tmp_path: Path) -> None:
    stages = (StageInfo(name="grpo", method="grpo", status="running"),)
    folder = write_run(tmp_path / "run", run_info(stages, status="started"))
    (folder / "recipe.yaml").unlink()
    found = read(folder)
    assert "going on, or it died" in found.text
    write_stage(folder / "stages" / "grpo", [MetricsLine(step=3, epoch=0, loss=0.5)])
    with (folder / "stages" / "grpo" / "metrics.jsonl").open("ab") as file:
        file.write(b"{torn\n")
    (folder / "stages" / "grpo" / "result.json").write_text("{")
    found = read(folder)
    assert "Train 0.5." in found.text
    assert "stage grpo: 1 line of metrics.jsonl can't be read" in found.text


def test_gaps_and_spikes_are_said_and_drawn(tmp_path: Path) -> None:
    def edit(lines: list[MetricsLine]) -> list[MetricsLine]:
        changed = []
        for line in lines:
            if line.kind == "train" and 10 <= line.step < 13:
                line = msgspec.structs.replace(line, loss=float("nan"))
            if line.kind == "train" and line.step == 30:
                line = msgspec.structs.replace(line, gradient_norm=1e7)
            changed.append(line)
        return changed

    folder = grounder_run(tmp_path / "run", steps=60, edit=edit)
    found = read(folder)
    assert "Train: 3 values are no finite number (crosses; first at step 10)." in found.text
    assert "Beyond the drawing (triangles): 1 above, up to 1e+07." in found.text
    classes = [attributes.get("class") for _, attributes in found.tags]
    assert classes.count("gap") == 3
    assert classes.count("beyond train") == 1
    page = gather_training(folder)
    (loss,) = [chart for chart in page.stages[1].charts if chart.title == "Loss"]
    assert len(re.findall(r'class="line train"', loss.svg)) == 2
    assert any("no number" in cell for row in loss.rows for cell in row.cells)


def test_ten_thousand_points_are_bins_from_least_to_greatest(tmp_path: Path) -> None:
    lines = [MetricsLine(step=step, epoch=0, loss=float(step % 10), seconds=step) for step in range(1, 10_001)]
    lines[5_000] = msgspec.structs.replace(lines[5_000], loss=31.0)
    stages = (StageInfo(name="sft", method="sft", status="complete", step=10_000, steps=10_000),)
    folder = write_run(tmp_path / "run", run_info(stages))
    write_stage(folder / "stages" / "sft", lines)
    found = read(folder)
    assert (
        "10,000 points in 240 bins, pale from each bin's least to its greatest; line: mean of 501 around." in found.text
    )
    assert (folder / "report.html").stat().st_size < 250_000
    (loss,) = [chart for chart in gather_training(folder).stages[0].charts if chart.title == "Loss"]
    assert max(value for value in loss.lines[0].high if value is not None) == 31.0
    assert "31" in [cell for row in loss.rows for cell in row.cells]


def test_folds_have_a_table_links_and_curves_together(tmp_path: Path) -> None:
    folder = folds_run(tmp_path / "run", folds=3, steps=20)
    write_training_page(folder / "folds" / "participant-2")
    found = read(folder)
    links = [attributes["href"] for tag, attributes in found.tags if tag == "a" and "/" in (attributes["href"] or "")]
    assert links == ["folds/participant-2/report.html"]
    for words in ("Mean of 2 folds", "Step accuracy by fold", "participant=3", "median of 3 folds", "3 of 3 folds"):
        assert words in found.text, words
    # A fold's folder may not lead out of the run.
    text = (folder / "summary.json").read_text().replace("folds/participant-1", "../../participant-1")
    (folder / "summary.json").write_text(text)
    assert "median of 2 folds" in read(folder).text


def test_an_agents_page(tmp_path: Path) -> None:
    found = read(puma_run(tmp_path / "run", steps=40))
    for words in (
        "Web agent (PUMA)", "Preference accuracy", "chance", "Reward margin", "wanted", "blue ceramic mug",
        "0.500 before DPO, 0.786 after", "0.480 [0.380, 0.580]", "no-memory: without memory", "best and worst equal",
        "16 were drawn of 5 tasks; 4 tasks have better and worse ones", "rejected, drawn 3 times",
        "0.857", "left out, tell of a purchase that is tested", "--agent puma-local --model-path",
    ):  # fmt: skip
        assert words in found.text, words


def test_the_estimate_stands_beside_what_was_measured(tmp_path: Path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 512, "tie_word_embeddings": False,
    }  # fmt: skip
    example = ExampleShape(prompt_tokens=100, completion_tokens=20)
    estimate = estimate_memory(shape_from_config(config, name="tiny"), TrainingLoad(method="sft", example=example))
    fit = Fit(needed_bytes=estimate.bytes, free_bytes=8 << 30, device="main memory (CPU)")
    folder = grounder_run(tmp_path / "run", steps=10)
    (folder / "estimate.json").write_bytes(msgspec.json.encode([StageFit(name="sft", estimate=estimate, fit=fit)]))
    measured, terms = gather_training(folder).estimate
    assert measured.rows[0].cells == (
        gib(estimate.bytes), "3.0 GiB", f"{(3 << 30) / estimate.bytes:.0%}", "8.0 GiB (main memory (CPU))",
    )  # fmt: skip
    assert measured.rows[1].cells[0] == "-"
    assert any(row.name == "weights" or "weights" in row.name for row in terms.rows)
    assert "sft, term by term" in read(folder).text


def test_the_measured_memory_stands_without_an_estimate_too(tmp_path: Path) -> None:
    page = gather_training(grounder_run(tmp_path / "run", steps=10))
    (table,) = page.estimate
    assert table.rows[0].cells[:3] == ("-", "3.0 GiB", "-")


def test_a_page_is_the_same_each_time_and_never_half(tmp_path: Path) -> None:
    folder = grounder_run(tmp_path / "run", steps=20)
    path = write_training_page(folder)
    before = path.read_bytes()
    assert write_training_page(folder).read_bytes() == before
    assert [each.name for each in folder.iterdir() if ".new" in each.name] == []
    (folder / "summary.json").write_text("{")
    with pytest.raises(UserError, match=r"summary\.json"):
        write_training_page(folder)
    assert path.read_bytes() == before


def test_a_damaged_run_costs_a_warning_at_its_end_and_a_plain_error_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = grounder_run(tmp_path / "run", steps=5)
    (folder / "run.json").write_text('{"benchmark": "training"}')
    assert training_page(folder) is None
    assert "no report.html was written" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        command_line(["report", str(folder)])
    assert left.value.code == 2
    assert "run.json" in capsys.readouterr().err


def test_the_command_writes_the_page_and_prints_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = grounder_run(tmp_path / "run", steps=20)
    with pytest.raises(SystemExit) as left:
        command_line(["report", str(folder)])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert (folder / "report.html").is_file()
    for words in ("gta1-7b trained on sample-web: complete", "48.9", "Reward", "report.html"):
        assert words in out
    for flags in (["--published"], ["--json"], ["--by", "participant"], [str(tmp_path)]):
        with pytest.raises(SystemExit) as left:
            command_line(["report", str(folder), *flags])
        assert left.value.code == 2
    assert "training run" in capsys.readouterr().err


def test_records_of_the_loop_are_what_is_read(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", run_info((StageInfo(name="sft", method="sft"),)))
    assert TrainingFolder(folder).read_info().stages[0].name == "sft"
    result = StageResult(status="partial", step=1, steps=2, epoch=0.5, wall_s=1.0, output=None, stopped="SIGTERM")
    write_stage(folder / "stages" / "sft", [], result=result)
    (stage,) = gather_training(folder).stages
    assert (stage.stopped, stage.charts) == ("SIGTERM", ())
