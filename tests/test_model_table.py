"""The README's table of models is the one that the cards make."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from fakes.make import MODELS, REPOSITORY, grounder_card

from grounding.cards import GrounderCard, read_cards


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("model_table", REPOSITORY / "tools" / "model_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_row_a_card(tool: ModuleType) -> None:
    card = grounder_card(
        name="mine",
        model="org/mine",
        system="s",
        answer={"form": "point", "space": "resized_px"},
        image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 8847360},
    )
    assert tool.model_table((card, grounder_card(serving={"how": "recorded", "reason": "x"}))).splitlines()[2:] == [
        "| `mine` | org/mine | pixels as seen | system, image, text | 8.8 M | vLLM |",
        "| `g` | m | pixels | image, text | the server's | recorded answers |",
    ]


def test_the_table_goes_between_its_marks(tool: ModuleType) -> None:
    text = "a\n<!-- models:start -->\nold\n<!-- models:end -->\nb\n"
    written = tool.in_readme(text, "new")
    assert written == "a\n<!-- models:start -->\nnew\n<!-- models:end -->\nb\n"
    assert tool.in_readme(written, "new") == written


@pytest.mark.parametrize("text", ["", "<!-- models:start -->", "<!-- models:end --><!-- models:start -->"])
def test_a_readme_without_the_marks_is_refused(tool: ModuleType, text: str) -> None:
    with pytest.raises(ValueError, match="no block between"):
        tool.in_readme(text, "new")


def test_the_readme_shows_the_cards_as_they_are(tool: ModuleType) -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    if tool.START not in text:
        pytest.skip("README.md has no table of models")
    table = tool.model_table(read_cards(MODELS / "grounders", GrounderCard))
    assert tool.in_readme(text, table) == text, "run: python tools/model_table.py --write"


def test_it_is_printed_or_written(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("<!-- models:start --><!-- models:end -->", encoding="utf-8")
    (tmp_path / "models").symlink_to(MODELS)
    monkeypatch.setattr(tool, "REPOSITORY", tmp_path)

    monkeypatch.setattr("sys.argv", ["model_table.py"])
    tool.main()
    table = capsys.readouterr().out
    assert "| `gta1` | Salesforce/GTA1-7B-2507 |" in table
    assert readme.read_text(encoding="utf-8") == "<!-- models:start --><!-- models:end -->"

    monkeypatch.setattr("sys.argv", ["model_table.py", "--write"])
    tool.main()
    assert readme.read_text(encoding="utf-8") == f"<!-- models:start -->\n{table}<!-- models:end -->"
