"""A list of one's own pictures and boxes: read in every form, run, and every fault of it named."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import shell
from PIL import Image

from grounding.data import DatasetProblems, load_dataset
from grounding.errors import UserError

ITEMS = [
    {"image": f"shots/{number}.png", "instruction": "left", "bbox": [0, 0, 39, 60], "group": f"g{number}"}
    for number in range(2)
]


def write(folder: Path, items: Sequence[object] = ITEMS, name: str = "items.json") -> Path:
    (folder / "shots").mkdir(parents=True, exist_ok=True)
    for number in range(2):
        Image.new("RGB", (80, 60 + number)).save(folder / "shots" / f"{number}.png")
    rows: list[Any] = list(items)
    file = folder / name
    if file.suffix == ".csv":
        with file.open("w", newline="") as opened:
            table = csv.DictWriter(opened, rows[0].keys())
            table.writeheader()
            table.writerows(rows)
    elif file.suffix == ".jsonl":
        file.write_text("\n".join(map(json.dumps, rows)))
    elif file.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        file.write_text(json.dumps(rows))
    return folder


def test_a_list_of_ones_own_is_scored_by_group(tmp_path: Path) -> None:
    middle = {"image": "shots/0.png", "instruction": "middle", "bbox": [39, 29, 41, 31]}
    data = write(tmp_path / "data", [*ITEMS, middle])
    place = ("--dataset", "boxes", "--data-dir", str(data))
    done = shell.call(*place, "--grounder", "center", "--log-dir", tmp_path / "runs", "--json")
    assert json.loads(done.stdout)["counts"]["hit"] == 1
    run = shell.run_folder(tmp_path / "runs")
    shown = shell.call("report", run, "--by", "group", module="grounding").stdout
    assert "g0" in shown
    assert "g1" in shown


def test_all_forms_of_the_file_are_one_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    expected = load_dataset("boxes", write(tmp_path / "json")).fingerprint
    for name in ("items.jsonl", "items.csv", "items.parquet"):
        assert load_dataset("boxes", write(tmp_path / name, name=name)).fingerprint == expected
    images = [(tmp_path / "json" / str(item["image"])).read_bytes() for item in ITEMS]
    packed = [{**item, "image": {"bytes": each, "path": None}} for item, each in zip(ITEMS, images, strict=True)]
    (tmp_path / "packed").mkdir()
    write(tmp_path / "json", packed, "items.parquet").joinpath("items.parquet").rename(
        tmp_path / "packed/items.parquet"
    )
    assert load_dataset("boxes", tmp_path / "packed").fingerprint == expected
    write(tmp_path / "packed", name="items.csv")
    with pytest.raises(UserError, match=r"several lists of items \(items.csv, items.parquet\): choose one"):
        load_dataset("boxes", tmp_path / "packed")
    assert load_dataset("boxes", tmp_path / "packed", questions="items.csv").fingerprint == expected


def test_the_field_says_what_the_numbers_are(tmp_path: Path) -> None:
    same: dict[str, list[float]] = {"bbox_xyxy": [8, 6, 40, 30], "bbox_xywh": [8, 6, 32, 24]}
    same |= {"bbox_xyxy_rel": [0.1, 0.1, 0.5, 0.5], "bbox_xywh_rel": [0.1, 0.1, 0.4, 0.4]}
    items = [{"image": "shots/0.png", "instruction": "it", field: numbers} for field, numbers in same.items()]
    steps = load_dataset("boxes", write(tmp_path, items)).steps()
    found = {tuple(map(round, vars_of(step.region.boxes[0]))) for step in steps if step.region}
    assert found == {(8, 6, 40, 30)}
    wrong = [{**item, "bbox": [30, 30, 10, 20]} for item in ITEMS]
    with pytest.raises(DatasetProblems, match=r"\(xywh\) none would.*the field's name says what it is"):
        load_dataset("boxes", write(tmp_path, wrong))


def vars_of(box: Any) -> list[float]:
    return [box.left_px, box.top_px, box.right_px, box.bottom_px]


def test_every_fault_of_the_list_is_named(tmp_path: Path) -> None:
    data = write(tmp_path / "data", [*ITEMS, {"image": "../x.png", "instruction": "", "bbox": [1, 2]}, "word"])
    done = shell.call("check", "--dataset", "boxes", "--data-dir", data, module="grounding")
    assert done.returncode == 2
    assert all(f"item {number}: " in done.stdout + done.stderr for number in (2, 3))
    assert "must be a list of four numbers" in done.stdout + done.stderr
    (data / "items.json").rename(data / "items.csv")
    done = shell.call("check", "--dataset", "boxes", "--data-dir", data, module="grounding")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stdout
