from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.make import asked
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Box, HistoryEntry, Region, Screenshot, Session, Size, Step
from grounding.run.folder import RunFolder, RunInfo

ASKED = asked()
INFO = RunInfo(
    run_id="r",
    status="started",
    signature="dataset:d",
    asked=ASKED,
    data_dir="",
    command="grounding eval",
    versions={"python": "3"},
    started_at="2026-01-01T00:00:00Z",
)


def step(number: int, participant: str = "1", **fields: Any) -> Step:
    return Step(
        **{
            "id": f"{participant}/{number}",
            "participant": participant,
            "task": "t",
            "instruction_index": 0,
            "instruction": "go",
            "screenshot": Screenshot(path="a.png", size=Size(width=1, height=2), sha256="0"),
            "region": None,
            **fields,
        }
    )


def made(path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.create()
    return folder


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4), label=st.integers())
def test_steps_come_back_whatever_was_said(texts: list[str], label: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        region = Region(boxes=(Box(left_px=0.5, top_px=1, right_px=2, bottom_px=3),))
        sessions = tuple(
            Session(
                participant=participant,
                steps=tuple(
                    step(
                        number,
                        participant,
                        instruction=text,
                        task=label if number % 2 else str(label),
                        region=region if number else None,
                        history_entry=HistoryEntry(instruction=text, action=text),
                    )
                    for number, text in enumerate(texts)
                ),
            )
            for participant in ("2", "10", "1")
        )
        folder = RunFolder(Path(name))
        folder.write_steps(sessions)
        assert folder.read_sessions() == sessions


def test_setting_aside_keeps_everything_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert RunFolder(path).set_aside() is None
    for number in (1, 2, 3):
        folder = made(path)
        (path / "mark").write_text(str(number))
        folder.release()
        aside = folder.set_aside()
        assert aside == tmp_path / f"run.old{number}"
        assert (aside / "mark").read_text() == str(number)
        assert not path.exists()
    made(path)


def test_what_is_no_run_folder_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        RunFolder(tmp_path).read_info()
    with pytest.raises(UserError, match="is not a run folder"):
        RunFolder(tmp_path / "absent").read_info()
    with pytest.raises(UserError, match="can't be opened"):
        RunFolder(tmp_path / "absent").lock()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't be made"):
        RunFolder(tmp_path / "file" / "run").create()


def test_a_file_that_cannot_be_written_is_a_sentence_and_leaves_the_old_one(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (tmp_path / ".run.json.new").mkdir()
    with pytest.raises(UserError, match=r"run\.json: can't be written"):
        folder.write_info(INFO)
    (tmp_path / ".run.json.new").rmdir()
    folder.write_info(INFO)
    assert folder.read_info() == INFO
