"""The tables of models and data sets in the documents are those that the cards make."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from fakes.make import REPOSITORY, grounder_card


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_docs", REPOSITORY / "tools" / "update_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_row_a_card(tool: ModuleType) -> None:
    image = {"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 8847360}
    answer = {"form": "point", "space": "resized_px"}
    card = grounder_card(name="mine", model="org/mine", system="s", answer=answer, image=image, verified="run")
    assert tool.model_table((card, grounder_card(serving={"how": "recorded", "reason": "x"}))).splitlines()[2:] == [
        "| `mine` | org/mine | pixels as seen | system, image, text | 8.8 M | vLLM | run |",
        "| `g` | m | pixels | image, text | the server's | recorded answers |  |",
    ]


@pytest.mark.parametrize(("block", "page"), [("models", "docs/models.md"), ("datasets", "datasets/README.md")])
def test_the_pages_show_the_cards_as_they_are(tool: ModuleType, block: str, page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    assert f"<!-- {block}:start -->" in text
    assert tool.written(text, block, getattr(tool, block)()) == text, f"run: python tools/update_docs.py {block}"
    assert tool.written(text, block, "new") != text
