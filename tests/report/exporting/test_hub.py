"""``grounding export --format hub``: a folder that the Hugging Face hub, and its library ``datasets``, reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import shell
import yaml

import grounding
from grounding.report.hub import eval_results
from grounding.report.rows import read_rows

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

LOADED = """
import sys
from datasets import get_dataset_config_names, load_dataset
names = get_dataset_config_names(sys.argv[1])
scores = load_dataset(sys.argv[1])["test"]
items = load_dataset(sys.argv[1], names[1])["test"]
print(names[0], scores.num_rows, items.num_rows, items[0]["instruction"])
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[grounding.Run]:
    folder = tmp_path_factory.mktemp("runs")
    return [grounding.evaluate("sample-web", grounder=name, limit=8, log_dir=folder) for name in ("center", "oracle")]


@pytest.fixture(scope="module")
def exported(runs: list[grounding.Run]) -> Path:
    out = runs[0].folder.parent / "hub"
    done = shell.call("export", *(run.folder for run in runs), "--format", "hub", "--out", out, module="grounding")
    assert done.returncode == 0, done.stderr
    return out


def test_the_card_says_what_is_there_and_nothing_of_this_machine(exported: Path, runs: list[grounding.Run]) -> None:
    import pandas as pd
    from huggingface_hub import DatasetCard

    text = (exported / "README.md").read_text()
    configs = DatasetCard(text).data.to_dict()["configs"]
    assert [each["config_name"] for each in configs] == ["scores", *(run.folder.name for run in runs)]
    files = [list(exported.glob(each["data_files"][0]["path"])) for each in configs]
    assert [len(each) for each in files] == [1, 1, 1]
    scores, center, oracle = (pd.read_parquet(each[0]) for each in files)
    assert set(scores["run"]) == {"none + center", "none + oracle"}
    assert oracle["is_hit"].all()
    assert list(center["item_id"]) == list(runs[0].frame()["item_id"])
    assert str(Path.home()) not in text + center.to_csv() + oracle.to_csv()


def test_a_whole_release_that_the_hub_has_gets_a_line_for_the_model(runs: list[grounding.Run]) -> None:
    from huggingface_hub import parse_eval_result_entries

    run = read_rows(runs[1].folder)
    assert eval_results(run) == ""
    run.dataset, run.select = "screenspot-v2", "all"
    (entry,) = parse_eval_result_entries(yaml.safe_load(eval_results(run)))
    assert (entry.dataset_id, entry.value) == ("OS-Copilot/ScreenSpot-v2", 100.0)
    assert run.signature in (entry.notes or "")


@pytest.mark.slow
@pytest.mark.needs("train")
def test_others_load_it(exported: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, exported],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=shell.PATIENCE_S,
        check=True,
    )
    assert done.stdout.startswith("scores 6 8 okay so I need a present")
