"""Each public set's loader over a small copy of its layout, made from the bundled sample."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import ChatServer, reply
from fakes.make import grounder_card
from scoring.builders import judge_all, summarise

from data.layouts import build
from grounding.cli import run
from grounding.data import DatasetProblems, load_dataset
from grounding.data.packed import Unpacker
from grounding.errors import UserError
from grounding.geometry import is_hit
from grounding.grounders.base import Center, Grounder, Oracle, Random
from grounding.records import Box, Dataset, Query, Step
from grounding.run.probe.command import audit_run
from grounding.scoring.summary import Summary

STEPS = 24
Build = Callable[[Path, Sequence[Step]], None]

LAYOUTS: dict[str, Build] = {
    "screenspot": build.screenspot,
    "screenspot-v2": lambda folder, steps: build.screenspot(folder, steps, suffix="_v2"),
    "screenspot-pro": lambda folder, steps: build.screenspot_pro(folder, steps, negatives=2),
    "osworld-g": build.osworld_g,
    "osworld-g-refined": build.osworld_g,
    "mmbench-gui-l2": build.mmbench_gui,
    "ui-vision": build.ui_vision,
    "venusbench-gd": build.venusbench_gd,
    "omniact": build.omniact,
    "multimodal-mind2web": build.mind2web,
    "androidcontrol": build.androidcontrol,
}
SINGLE = tuple(name for name in LAYOUTS if name not in ("multimodal-mind2web", "androidcontrol"))


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return build.sample_steps(STEPS)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)


def built(name: str, tmp_path: Path, steps: Sequence[Step]) -> Path:
    LAYOUTS[name](tmp_path / name, steps)
    return tmp_path / name


def all_steps(dataset: Dataset) -> list[Step]:
    return [step for session in dataset.sessions for step in session.steps]


def names(dataset: Dataset, kind: str) -> Counter[str]:
    return Counter(label.name for step in all_steps(dataset) for label in step.groups if label.kind == kind)


def played(dataset: Dataset, grounder: Grounder) -> Summary:
    async def ask() -> list[Any]:
        scored = [step for step in all_steps(dataset) if step.region is not None]
        queries = [
            Query(step_id=step.id, key="k", screenshot=step.screenshot, instruction=step.instruction) for step in scored
        ]
        return [await grounder.ground(query) for query in queries]

    verdicts = judge_all(dataset.sessions, (), asyncio.run(ask()))
    return summarise(dataset.sessions, verdicts, status="complete", signature="s", resamples=50)


def close(one: Box, other: Box, *, within_px: float) -> bool:
    fields = Box.__struct_fields__
    return all(abs(getattr(one, name) - getattr(other, name)) <= within_px for name in fields)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_oracle_is_always_right_and_floors_are_not(name: str, tmp_path: Path, steps: list[Step]) -> None:
    dataset = load_dataset(name, built(name, tmp_path, steps), deep=True)
    best, worst = played(dataset, Oracle(dataset.sessions)), played(dataset, Random(0))
    assert best.scores.paper.step_accuracy.value == 100
    assert best.scores.official.average_distance.value == 0
    assert worst.scores.paper.step_accuracy.value is not None
    assert worst.scores.paper.step_accuracy.value < 100
    assert worst.scores.paper.step_accuracy.n == best.scores.paper.step_accuracy.n > 0
    # An absent target has no place, so a point there must not be 1e8 pixels off.
    assert worst.scores.official.average_distance.value < 10_000
    for kind, both in best.averages.items():
        assert both.micro.value == both.macro.value == 100, kind
        assert both.macro.n == len(best.groups[kind])


@pytest.mark.parametrize("name", LAYOUTS)
def test_gold_places_are_those_of_the_sample(name: str, tmp_path: Path, steps: list[Step]) -> None:
    dataset = load_dataset(name, built(name, tmp_path, steps))
    gold = {(step.screenshot.sha256, build.box_of(step).center) for step in steps}
    pictures = {step.screenshot.sha256 for step in steps}
    found = 0
    for step in all_steps(dataset):
        assert step.screenshot.sha256 in pictures
        assert Path(step.screenshot.path).is_file()
        if step.region is None or step.target_absent:
            continue
        centers = [center for sha256, center in gold if sha256 == step.screenshot.sha256]
        assert any(is_hit(step.region, center) for center in centers)
        for box in step.region.boxes:
            # The accessibility trees of Android have whole numbers.
            assert any(
                close(box, build.box_of(one), within_px=1)
                for one in steps
                if one.screenshot.sha256 == step.screenshot.sha256
            )
        found += 1
    assert found >= 14


@pytest.mark.parametrize("name", SINGLE)
def test_single_steps_are_clustered_by_screenshot(name: str, tmp_path: Path, steps: list[Step]) -> None:
    # Two instructions over each picture, at places that land in one participant of every layout.
    doubled = [step for step in steps[:6] for _ in range(2)]
    doubled = [doubled[position // 6 + 2 * (position % 6)] for position in range(12)]
    dataset = load_dataset(name, built(name, tmp_path, doubled))
    found = all_steps(dataset)
    assert all(step.independent and step.history_entry is None for step in found)
    assert all(isinstance(step.task, int) for step in found), "a text would be told to models as the goal"
    tasks = {(step.participant, step.task): step.screenshot.sha256 for step in found}
    assert len(tasks) == len({(step.participant, step.screenshot.sha256) for step in found})
    assert len({label for _, label in tasks}) == len(tasks), "labels of two participants must not be pooled"
    within = Counter((step.participant, step.task, step.instruction_index) for step in found)
    assert set(within.values()) == {1}, "equal words over one screenshot are two samples"
    assert played(dataset, Center()).independent


def test_screenspot_pro_reads_negatives_and_both_languages(tmp_path: Path, steps: list[Step]) -> None:
    folder = built("screenspot-pro", tmp_path, steps)
    dataset = load_dataset("screenspot-pro", folder)
    assert names(dataset, "group") == {"Creative": 12, "Office": 12}
    assert names(dataset, "application") == {"blender": 12, "excel": 12}
    absent = [step.id for step in all_steps(dataset) if step.target_absent]
    assert absent == [f"{name}/{name}_{number}" for name in ("blender_windows", "excel_macos") for number in (0, 1)]
    chinese = load_dataset("screenspot-pro", folder, questions="cn")
    assert all_steps(chinese)[0].instruction == "点击 0"
    assert chinese.fingerprint != dataset.fingerprint
    with pytest.raises(UserError, match="en or cn"):
        load_dataset("screenspot-pro", folder, questions="de")


def test_new_sets_are_read_as_their_own_evaluators_do(tmp_path: Path, steps: list[Step]) -> None:
    """What the released evaluators make of odd boxes; whole runs beside them had the same outcome at every step."""
    folder = built("mmbench-gui-l2", tmp_path, steps)
    file = folder / "L2_annotations.json"
    items = json.loads(file.read_text())
    items[4]["bbox"][:2] = [-1, -1]
    file.write_text(json.dumps(items))
    dataset = load_dataset("mmbench-gui-l2", folder)
    (odd,) = [step for step in all_steps(dataset) if step.id == "os_web/4"]
    assert odd.region is not None
    assert (odd.region.boxes[0].left_px, odd.region.boxes[0].top_px) == (0, 0)
    assert set(names(dataset, "platform and level")) >= {"os_web basic", "os_ios advanced"}
    dataset = load_dataset("ui-vision", built("ui-vision", tmp_path, steps), participants=["spatial"])
    assert {step.id for step in all_steps(dataset)} == {f"spatial/{number}" for number in range(8)}
    assert names(dataset, "task type and category") == {"spatial Creativity": 4, "spatial Education": 4}
    folder = built("venusbench-gd", tmp_path, steps)
    dataset = load_dataset("venusbench-gd", folder)
    absent = {step.participant for step in all_steps(dataset) if step.target_absent}
    assert (absent, names(dataset, "target")) == ({"refusal"}, {"absent": 8})
    assert set(names(dataset, "platform")) == {"web", "mobile", "desktop"}
    assert all_steps(load_dataset("venusbench-gd", folder, questions="cn"))[0].instruction == "点击 0"


def test_copies_in_parquet_are_the_release(tmp_path: Path, steps: list[Step]) -> None:
    gold = {(step.screenshot.sha256, build.box_of(step).center) for step in steps}
    for name, boxes, field in (
        ("screenspot", build.relative, "file_name"),
        ("screenspot-v2", build.xywh, "img_filename"),
        ("screenspot-v2", build.relative, "file_name"),
    ):
        folder = tmp_path / f"{name}-{field}"
        build.screenspot_parquet(folder, steps, boxes=boxes, name=field)
        dataset = load_dataset(name, folder)
        assert names(dataset, "platform") == {"desktop": 8, "mobile": 8, "web": 8}
        for step in all_steps(dataset):
            places = [center for sha256, center in gold if sha256 == step.screenshot.sha256]
            assert step.region is not None
            assert any(is_hit(step.region, place) for place in places)
    build.screenspot_pro_parquet(tmp_path / "pro", steps)
    dataset = load_dataset("screenspot-pro", tmp_path / "pro")
    assert {step.id for step in all_steps(dataset)} == {f"excel_macos/excel_macos_{n}" for n in range(STEPS)}
    assert names(dataset, "group and type") == {"Office icon": 8, "Office text": 16}


def test_parquet_is_unpacked_a_few_rows_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [{"image": {"bytes": os.urandom(1 << 20), "path": f"{number}.png"}} for number in range(64)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "x.parquet", row_group_size=4)
    held, keep, before = list[int](), Unpacker.keep_picture, pyarrow.total_allocated_bytes()

    def counted(unpacker: Unpacker, content: bytes) -> str:
        held.append(pyarrow.total_allocated_bytes() - before)
        return keep(unpacker, content)

    monkeypatch.setattr(Unpacker, "keep_picture", counted)
    assert len(Unpacker("x").parquet(tmp_path / "x.parquet")) == len(held) == 64
    assert max(held) < 40 << 20


def test_pictures_may_stay_in_their_archive(tmp_path: Path, steps: list[Step]) -> None:
    for name, pictures in (("screenspot-v2", "screenspotv2_image"), ("mmbench-gui-l2", "offline_images")):
        folder = built(name, tmp_path, steps)
        before = load_dataset(name, folder)
        packed = "MMBench-GUI-OfflineImages" if "mmbench" in name else pictures
        shutil.make_archive(str(folder / packed), "zip", folder, pictures)
        shutil.rmtree(folder / pictures)
        assert load_dataset(name, folder).fingerprint == before.fingerprint


def test_osworld_g_reads_polygons_refusals_and_refined_instructions(tmp_path: Path, steps: list[Step]) -> None:
    folder = built("osworld-g", tmp_path, steps)
    dataset = load_dataset("osworld-g", folder)
    shapes = [
        (step.target_absent, len(step.region.boxes), len(step.region.polygons))
        for step in all_steps(dataset)
        if step.region
    ]
    assert shapes[:3] == [(False, 1, 0), (False, 0, 1), (True, 0, 0)]
    # Some samples count in two capabilities.
    assert names(dataset, "capability") == {"text matching": 16, "layout understanding": 8, "refusal": 8}
    refined = load_dataset("osworld-g-refined", folder)
    assert all_steps(refined)[0].instruction == f"In detail: {all_steps(dataset)[0].instruction}"
    (folder / "classification_result.json").unlink()
    (warning,) = load_dataset("osworld-g", folder).warnings
    assert "no scores by capability" in warning


def test_omniact_scores_scripts_that_click_in_one_place(tmp_path: Path, steps: list[Step]) -> None:
    folder = built("omniact", tmp_path, steps)
    task = folder / "data/tasks/desktop/app/task_0.1.txt"
    task.write_text("Task: two\nOutput Script:\npyautogui.click(1,2)\npyautogui.click(30.5,40)\n", encoding="utf-8")
    dataset = load_dataset("omniact", folder)
    unscored = [step.id for step in all_steps(dataset) if step.region is None]
    assert unscored == ["desktop/0", "desktop/4", "desktop/14", "web/9", "web/19"]
    assert set(dataset.warnings) == {
        "steps not scored, because the script clicks nowhere: 4",
        "steps not scored, because the script clicks in several places: 1",
    }
    assert names(dataset, "platform") == {"desktop": 12, "web": 12}


def test_mind2web_puts_episodes_in_order(tmp_path: Path, steps: list[Step]) -> None:
    folder = built("multimodal-mind2web", tmp_path, steps)
    dataset = load_dataset("multimodal-mind2web", folder, history="auto")
    first = dataset.sessions[0].tasks()[-1]
    assert (first.label, [step.action for step in first.steps]) == (
        "Buy 0 things",
        ["[link] 0.0 -> CLICK", "[link] 0.1 -> CLICK", "[link] 0.2 -> CLICK"],
    )
    assert [step.region is None for step in first.steps] == [False, False, True], "nothing was drawn at the last"
    assert {step.instruction for step in first.steps} == {"Buy 0 things"}
    assert first.steps[0].history_entry is not None
    assert not any(step.independent for step in first.steps)
    said = load_dataset("multimodal-mind2web", folder, questions="action")
    assert said.sessions[0].tasks()[-1].steps[0].instruction == "[link] 0.0 -> CLICK"


def test_pictures_are_unpacked_once(tmp_path: Path, steps: list[Step]) -> None:
    folder = built("androidcontrol", tmp_path, steps)
    before = load_dataset("androidcontrol", folder)
    records = folder / "android_control-00000-of-00020"
    status = records.stat()
    # What was kept is taken while path, size and time are the same: nothing is read of the file itself.
    records.write_bytes(b"\0" * status.st_size)
    os.utime(records, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert load_dataset("androidcontrol", folder) == before
    os.utime(records)
    with pytest.raises(UserError, match="cannot be read as TFRecords: not a whole gzip file"):
        load_dataset("androidcontrol", folder)


def test_androidcontrol_takes_the_smallest_visible_element_of_test_episodes(tmp_path: Path, steps: list[Step]) -> None:
    dataset = load_dataset("androidcontrol", built("androidcontrol", tmp_path, steps))
    found = all_steps(dataset)
    assert len(dataset.sessions[0].tasks()) == 7, "the eighth episode is of the training split"
    assert [step.region is None for step in found[:3]] == [False, True, False], "a scroll has no place"
    assert found[0].region == msgspec.structs.replace(found[0].region, boxes=found[0].region.boxes[:1])
    assert names(dataset, "subsplit") == {"IDD": 3, "app_unseen": 6}
    assert names(dataset, "action") == {"click": 14, "scroll": 7}
    assert found[0].task == "Do thing 0"
    high = load_dataset("androidcontrol", tmp_path / "androidcontrol", questions="high")
    assert all_steps(high)[0].instruction == "Do thing 0"


@pytest.mark.parametrize(
    ("name", "boxes", "words"),
    [
        ("screenspot", build.xyxy, "left, top, right, bottom in pixels (xyxy)"),
        ("screenspot", build.relative, "left, top, right, bottom from 0 to 1 (xyxy, relative)"),
        ("screenspot-pro", build.xywh, "left, top, width, height in pixels (xywh)"),
    ],
)
def test_a_wrong_box_convention_is_named(
    name: str, boxes: Callable[[Step], list[float]], words: str, tmp_path: Path, steps: list[Step]
) -> None:
    {"screenspot": build.screenspot, "screenspot-pro": build.screenspot_pro}[name](tmp_path, steps, boxes=boxes)
    with pytest.raises(DatasetProblems) as caught:
        load_dataset(name, tmp_path)
    (problem,) = caught.value.problems
    assert "of 24 boxes" in problem.what
    assert f"as {words} none would: that is what they seem to be" in problem.what


def test_everything_that_is_wrong_is_told_with_its_place(tmp_path: Path, steps: list[Step]) -> None:
    folder = built("screenspot", tmp_path, steps)
    file = folder / "screenspot_web.json"
    items = json.loads(file.read_text())
    items[0]["bbox"] = [1, 2, 3]
    items[1]["img_filename"] = "../../etc/passwd.png"
    items[2]["img_filename"] = "absent.png"
    del items[3]["instruction"]
    file.write_text(json.dumps(items))
    with pytest.raises(DatasetProblems) as caught:
        load_dataset("screenspot", folder)
    found = {(problem.item, problem.field) for problem in caught.value.problems}
    assert found == {(0, "bbox"), (1, "img_filename"), (2, ""), (3, "instruction")}


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_empty_folder_is_a_user_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"found none|there is no such folder"):
        load_dataset(name, tmp_path)
    with pytest.raises(UserError, match="there is no such folder"):
        load_dataset(name, tmp_path / "absent")


def test_the_real_command_prints_groups_and_both_averages(
    tmp_path: Path, steps: list[Step], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = built("screenspot-v2", tmp_path, steps)
    words = ["eval", "--dataset", "screenspot-v2", "--data-dir", str(folder), "--grounder", "oracle"]
    with pytest.raises(SystemExit) as ended:
        run([*words, "--log-dir", str(tmp_path / "runs")])
    assert ended.value.code in (0, None)
    said = capsys.readouterr().out
    for part in ("24/24 steps", "platform and type (6)", "mobile icon", "macro: every group once", "n = 6"):
        assert part in said
    (folder_of_run,) = (tmp_path / "runs").iterdir()
    summary = msgspec.json.decode((folder_of_run / "summary.json").read_bytes(), type=Summary)
    assert summary.averages["platform"].macro.n == 3
    assert summary.groups["type"]["icon"].counts.hit == 9


def test_parquet_of_another_layout_is_a_user_error(tmp_path: Path, steps: list[Step]) -> None:
    folder = built("multimodal-mind2web", tmp_path, steps[:3])
    (file,) = folder.rglob("test_task*")
    file.write_bytes(b"no parquet")
    with pytest.raises(UserError, match="cannot be read as parquet"):
        load_dataset("multimodal-mind2web", folder)
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"action_uid": ["a"]}), file)
    with pytest.raises(UserError, match="the column operation is missing"):
        load_dataset("multimodal-mind2web", folder)


@pytest.mark.parametrize(
    ("said", "right"),
    [("[-1, -1]", {"refusal": 4, "bbox": 0, "polygon": 0}), ("[3, 3]", {"refusal": 0, "bbox": 0, "polygon": 0})],
)
def test_a_model_that_declines_is_right_where_the_target_is_absent(
    said: str, right: dict[str, int], tmp_path: Path, steps: list[Step]
) -> None:
    folder = built("osworld-g", tmp_path, steps[:12])
    answer = {"form": "point", "space": "original_px", "refusal": r"\[-1, -1\]"}
    card = tmp_path / "card.yaml"
    card.write_bytes(msgspec.yaml.encode(grounder_card(answer=answer)))
    with ChatServer() as server:
        server.default = reply(said)
        words = ["eval", "--dataset", "osworld-g", "--data-dir", str(folder), "--grounder", str(card)]
        with pytest.raises(SystemExit) as ended:
            run([*words, "--base-url", server.base_url, "--log-dir", str(tmp_path / "runs"), "--no-probe"])
        bodies = server.bodies
    assert ended.value.code in (0, None)
    (made,) = (tmp_path / "runs").iterdir()
    summary = msgspec.json.decode((made / "summary.json").read_bytes(), type=Summary)
    shapes = summary.groups["shape"]
    assert {name: group.counts.hit for name, group in shapes.items()} == right
    assert shapes["bbox"].counts.unparsed == (4 if said == "[-1, -1]" else 0), "declining is wrong where there is one"
    # An audit of where replies lie leaves out steps whose right answer is no place; the rest has none or misses.
    report = audit_run(made)
    assert (report.steps, report.replied) == (12, 8)
    told = {part["text"] for body in bodies for part in body["messages"][-1]["content"] if part["type"] == "text"}
    assert told == {step.instruction for step in steps[:12]}, "a model is not told what is absent"
