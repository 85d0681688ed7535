from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.training.loop.records import Launch, StageResult, launch_of
from grounding.training.loop.stagefile import StageFile, read_result, read_stage, write_result, write_stage
from grounding.training.records import Optimisation, Saving
from training.loop.builders import make_plan


def test_a_stage_is_read_as_it_was_written(tmp_path: Path) -> None:
    stage = StageFile(plan=make_plan(tmp_path, "sft"), launch=Launch(processes=2))
    write_stage(LockedFolder(tmp_path), stage)
    assert read_stage(tmp_path) == stage
    write_stage(LockedFolder(tmp_path), stage)


def test_another_learning_rate_is_another_stage(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, "sft")
    write_stage(LockedFolder(tmp_path), StageFile(plan=plan, launch=Launch()))
    other = msgspec.structs.replace(
        plan, seed=4, optimisation=msgspec.structs.replace(plan.optimisation, learning_rate=0.5)
    )
    with pytest.raises(UserError, match=r"optimisation\.learning_rate was 0\.01, is 0.5; seed was 3, is 4") as caught:
        write_stage(LockedFolder(tmp_path), StageFile(plan=other, launch=Launch()))
    assert "--fresh" in str(caught.value)
    with pytest.raises(UserError, match=r"launch\.processes was None, is 2"):
        write_stage(LockedFolder(tmp_path), StageFile(plan=plan, launch=Launch(processes=2)))


def test_how_often_it_is_saved_and_where_it_lies_may_change(tmp_path: Path) -> None:
    plan = make_plan(tmp_path / "before", "sft")
    write_stage(LockedFolder(tmp_path), StageFile(plan=plan, launch=Launch()))
    moved = msgspec.structs.replace(plan, folder=str(tmp_path), saving=Saving(every_steps=7), sample_every_steps=9)
    write_stage(LockedFolder(tmp_path), StageFile(plan=moved, launch=Launch()))
    assert read_stage(tmp_path).plan.saving.every_steps == 7


def test_a_result_is_none_before_it_is_written(tmp_path: Path) -> None:
    assert read_result(tmp_path) is None
    result = StageResult(status="partial", step=2, steps=8, epoch=0.5, wall_s=1.0, output=None, stopped="interrupted")
    write_result(make_plan(tmp_path, "sft"), result)
    assert read_result(tmp_path) == result
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(UserError, match=r"result\.json"):
        read_result(tmp_path)


def test_a_launch_is_known_by_what_its_configuration_says(tmp_path: Path) -> None:
    assert launch_of(None, None).is_here
    assert launch_of(1, None).is_here
    assert not launch_of(2, None).is_here
    files = [tmp_path / name for name in ("a.yaml", "b.yaml", "c.yaml")]
    for file, text in zip(files, ("x: 1", "x: 1", "x: 2"), strict=True):
        file.write_text(text)
    launches = [launch_of(None, file) for file in files]
    assert not launches[0].is_here
    write_stage(LockedFolder(tmp_path), StageFile(plan=make_plan(tmp_path, "sft"), launch=launches[0]))
    write_stage(LockedFolder(tmp_path), StageFile(plan=make_plan(tmp_path, "sft"), launch=launches[1]))
    with pytest.raises(UserError, match=r"launch\.accelerate_sha256"):
        write_stage(LockedFolder(tmp_path), StageFile(plan=make_plan(tmp_path, "sft"), launch=launches[2]))
    with pytest.raises(UserError, match="--processes 0"):
        launch_of(0, None)
    with pytest.raises(UserError, match=r"--accelerate-config .*can't be read"):
        launch_of(2, tmp_path / "none.yaml")


def test_optimisation_says_its_own_numbers() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"learning_rate": 0}, Optimisation)
