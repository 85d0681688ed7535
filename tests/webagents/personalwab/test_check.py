from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grounding.errors import UserError
from grounding.loaders.registry import Inspection
from grounding.webagents.personalwab.check import inspect_shop

from .shopfiles import HISTORY_1, INSTRUCTIONS, PROFILES, Change, asked, bought, write_shop

NO_RECOMMENDER = "there is no file of numbers (*_ids.json): get_recommendations_by_history will find nothing"
PROFILE = {
    "Gender": "Female",
    "Age": "25-34",
    "Occupation": "Artist",
    "Price Sensitivity": "High",
    "Shopping Interest": "Mugs",
    "Brand Preference": "Acme",
    "Diversity Preference": "Low",
    "Interaction Complexity": "Medium",
    "Tone and Style": "Brief",
    "Item Reference": "None",
    "Focus Aspect": "Price",
}


def inspect(folder: Path, change: Change | None = None) -> Inspection:
    def whole(files: dict[str, Any]) -> None:
        files[PROFILES] = {user: {"user_profile": dict(PROFILE)} for user in ("ann", "bob", "cy")}
        files[INSTRUCTIONS]["test"].pop()
        if change is not None:
            change(files)

    write_shop(folder, whole)
    return inspect_shop(card(folder))


def card(folder: Path, more: str = "") -> str:
    path = folder / "mine.yaml"
    path.write_text(f"name: mine\ntitle: Mine\nlayout: personalwab\nsource: here\nlicence: MIT\npath: .\n{more}")
    return str(path)


def test_a_sound_shop_is_counted(tmp_path: Path) -> None:
    found = inspect(tmp_path)
    assert found.problems == ()
    assert found.warnings == (NO_RECOMMENDER,)
    assert found.summary == (
        "2 users, 5 purchases, 5 products, 1 train instructions (1 search), 2 test instructions (1 recommend, 1 review)"
    )


def test_both_splits_are_looked_at(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[INSTRUCTIONS]["train"][0]["type"] = "buy"
        files[INSTRUCTIONS]["test"][0]["timestamp"] = "soon"

    assert [problem.field for problem in inspect(tmp_path, change).problems] == ["train[0]", "test[0]"]


def test_a_shop_of_one_split_is_sound(tmp_path: Path) -> None:
    found = inspect(tmp_path, lambda files: files[INSTRUCTIONS].pop("train"))
    assert found.problems == ()
    assert "there is no list train of instructions" in found.warnings


def test_no_list_at_all_is_a_problem(tmp_path: Path) -> None:
    found = inspect(tmp_path, lambda files: files.update({INSTRUCTIONS: {}}))
    assert [problem.field for problem in found.problems] == ["test"]


def test_odd_profiles(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[PROFILES]["ann"]["user_profile"]["Price Sensitivity"] = "very high\x1b[31m"
        del files[PROFILES]["bob"]["user_profile"]["Age"]

    assert inspect(tmp_path, change).warnings[1:] == (
        "1 profiles leave out some of the 11 dimensions",
        "1 entries of profiles are none of High, Medium, Low, such as 'very high\\x1b[31m'",
    )


def test_products_and_reviews_that_do_not_fit(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[HISTORY_1]["ann"].append(bought("OLD", 5))
        files[HISTORY_1]["ann"][0]["review"]["parent_asin"] = "P5"
        files[INSTRUCTIONS]["test"] += [asked("ann", "search", "NEW", 90), asked("ann", "search", "NEW", 90)]

    assert inspect(tmp_path, change).warnings[1:] == (
        "3 tasks share user and words with another; each counts",
        "2 products, 1 of them targets, are in no file of products; they are searched all the same",
        "1 reviews name another product than the one that they stand beside",
    )


def test_the_cards_counts_are_compared(tmp_path: Path) -> None:
    inspect(tmp_path)
    stated = card(tmp_path, "expected: {participants: 2, instructions: 9070}\n")
    assert inspect_shop(stated).warnings == (NO_RECOMMENDER, "3 instructions, where the card says 9,070")


def test_a_file_of_numbers_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x_ids.json").write_text('{"P1": "one"}')
    (tmp_path / "x.pth").touch()
    (problem,) = inspect(tmp_path).problems
    assert str(problem).startswith(f"{tmp_path / 'x_ids.json'}: expected a JSON object of product ids and numbers; ")


def test_numbers_without_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "x_ids.json").write_text('{"P1": 1}')
    assert inspect(tmp_path).warnings[0].startswith("there is no checkpoint (*.pth): ")


def test_a_checkpoint_that_is_none(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "x_ids.json").write_text('{"P1": 1}')
    (tmp_path / "x.pth").write_bytes(b"not tensors")
    (problem,) = inspect(tmp_path).problems
    assert str(problem).startswith(f"{tmp_path / 'x.pth'}: no checkpoint that can be read: ")


def test_numbers_of_another_model(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from grounding.webagents.personalwab.functions.sasrec import Sasrec, SasrecShape

    torch.save(Sasrec(SasrecShape(items=3, hidden=8)).state_dict(), tmp_path / "x.pth")
    numbers = tmp_path / "x_ids.json"
    numbers.write_text(json.dumps({"P1": 1, "P2": 4}))
    (problem,) = inspect(tmp_path).problems
    assert "the product P2 has number 4, and the recommender knows the numbers 1 to 3" in problem.what
    numbers.write_text(json.dumps({"P1": 1, "P2": 3}))
    found = inspect(tmp_path)
    assert found.problems == ()
    assert found.warnings == ("1 recommend tasks have a target without a number, which is never recommended",)


def test_a_set_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no user_instructions\.json"):
        inspect_shop("personalwab", tmp_path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from grounding.cli import app

    inspect(tmp_path)
    words = ["check", "--dataset", card(tmp_path)]
    assert app(words, result_action="return_value") == 0
    told = capsys.readouterr()
    assert told.out.startswith("no problems found: 2 users, 5 purchases, 5 products, ")
    assert told.err == f"grounding: warning: {NO_RECOMMENDER}\n"
    inspect(tmp_path, lambda files: files[INSTRUCTIONS]["test"][0]["target"].pop("review"))
    assert app(words, result_action="return_value") == 2
    told = capsys.readouterr()
    assert "user_instructions.json: test[0].target.review: is missing; " in told.out
    assert told.err == "1 problems\n"


@pytest.mark.parametrize("option", ["--questions", "--history-file"])
def test_options_for_other_data_sets_are_refused(tmp_path: Path, option: str) -> None:
    from grounding.cli import app

    inspect(tmp_path)
    words = ["check", "--dataset", card(tmp_path), option, "x"]
    with pytest.raises(UserError, match="have no meaning for "):
        app(words, result_action="return_value", exit_on_error=False)
