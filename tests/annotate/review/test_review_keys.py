"""The keys of all tabs together: none stands for two things, and one file of keys does for every window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grounding.errors import UserError
from review.runs import make_run

pytest.importorskip("tkinter", reason="this Python has no tkinter")

from annotate.window.main_window import keymap_for
from annotate.window.panels import WindowOptions, make_panels


def options(folder: Path, **fields: Any) -> WindowOptions:
    return WindowOptions(folder=folder, annotator="ann", **fields)


def test_a_file_of_keys_may_name_actions_of_tabs_that_are_not_there(tmp_path: Path, tiny_dataset: Any) -> None:
    data = tiny_dataset()
    run = make_run(data, tmp_path / "made")
    keys = tmp_path / "keys.yaml"
    keys.write_text('label-reasoning: ["Q"]\nnext-step: ["L"]\n', encoding="utf-8")
    plain = options(data / "1", keys=keys)
    found = keymap_for(plain, make_panels(plain))
    assert found.shown("next-step") == "L"
    with pytest.raises(KeyError):
        found.chords("label-reasoning")
    review = options(data / "1", keys=keys, run=run)
    panels = make_panels(review)
    assert [panel.title for panel in panels][:2] == ["Review", "Proposals"]
    assert keymap_for(review, panels).shown("label-reasoning") == "Q"


def test_a_name_that_no_tab_knows_is_refused_and_so_is_a_conflict_with_a_tab(tmp_path: Path, tiny_dataset: Any) -> None:
    folder = tiny_dataset() / "1"
    keys = tmp_path / "keys.yaml"
    keys.write_text('label-reasonign: ["Q"]\n', encoding="utf-8")
    plain = options(folder, keys=keys)
    with pytest.raises(UserError, match="no action 'label-reasonign'"):
        keymap_for(plain, make_panels(plain))
    keys.write_text('crosshair: ["B"]\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"B stands for both crosshair .* and take-proposal"):
        keymap_for(plain, make_panels(plain))
