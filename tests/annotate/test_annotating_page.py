"""The page on annotating: its commands run, and its words for keys, kinds and formats are the program's own."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
from shell import run

import annotate
from annotate.__main__ import COMMANDS
from annotate.core.keys import ACTIONS
from annotate.formats.convert import read_labels
from annotate.formats.labels import FindingKind, FormatName

PAGE = Path(annotate.__file__).parent.parent / "docs" / "annotating.md"
NEED_MORE = ("segment", "transcribe", "--annotator")  # Commands that need a recording, or a display.


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_it_names_every_command_format_and_kind(page: str) -> None:
    assert all(f"grounding annotate {command}" in page for command in COMMANDS)
    assert all(f"| `{name}` |" in page for name in get_args(FormatName))
    assert all(f"`{kind}`" in page for kind in get_args(FindingKind))


def test_its_keys_are_the_programs(page: str) -> None:
    keys = {key for action in ACTIONS for key in action.keys}
    for name in ("D", "A", "J", "W", "N", "I", "R", "G", "Y", "C", "F", "Space", "Delete", "Left", "Down"):
        assert name in keys
        assert f"`{name}`" in page
    named = set(re.findall(r"`(Mod\+[A-Z0-9])`", page))
    assert named
    assert named <= keys


def test_its_file_can_be_read(page: str, tmp_path: Path) -> None:
    from PIL import Image

    (step,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (tmp_path / "images").mkdir()
    Image.new("RGB", (200, 100)).save(tmp_path / "images" / "12.png")
    (tmp_path / "questions_with_task_updated.json").write_text(f"[{step}]")
    reading = read_labels(tmp_path)
    (item,) = reading.sheets[0].items
    assert reading.findings == ()
    assert item.entry.boxes[0].kind == json.loads(step)["bounding_box"][0]["type"]
    assert (item.entry.verified, item.entry.annotator) == (True, "ann")


@pytest.mark.slow
def test_its_commands_run(page: str, tiny_dataset, tmp_path: Path) -> None:
    tiny_dataset("DATA")
    commands = [line for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    ready = [line for line in commands if not any(word in line for word in NEED_MORE)]
    assert len(ready) == 7
    for line in ready:
        arguments = shlex.split(line.removeprefix("grounding annotate "))
        done = run(*arguments, cwd=tmp_path, module="annotate")
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
