"""A recipe is the same at the other end, and so is what its card's planner or grounder hangs on."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grounding.cards import GrounderCard, PlannerCard, read_card
from grounding.executors.recipe import Beside, DataPlace, Recipe, pack, unpack
from grounding.identity import card_identity
from grounding.options import EvalOptions
from grounding.places import models_dir
from grounding.serving.command import ServerOptions

CARDS: list[tuple[Path, type[GrounderCard] | type[PlannerCard]]] = [
    *((path, GrounderCard) for path in sorted((models_dir() / "grounders").glob("*.yaml"))),
    *((path, PlannerCard) for path in sorted((models_dir() / "planners").glob("*.yaml"))),
]


@pytest.mark.parametrize(("path", "kind"), CARDS, ids=[path.stem for path, _ in CARDS])
def test_every_bundled_card_arrives_with_its_identity(path: Path, kind: type[GrounderCard] | type[PlannerCard]) -> None:
    card: GrounderCard | PlannerCard = read_card(path, kind)
    recipe = Recipe(
        room="grounder" if kind is GrounderCard else "planner",
        options=EvalOptions(data_dir=Path("here"), participant=("1",)),
        identity="x",
        card=card,
        beside=Beside(card=card, options=ServerOptions()) if isinstance(card, GrounderCard) else None,
        data=DataPlace(root="/data", url="s3://bucket/data"),
    )
    came = unpack(pack(recipe))
    assert came == recipe
    assert came.card is not None
    assert card_identity(came.card, parameters={}) == card_identity(card, parameters={})
    assert msgspec.to_builtins(came.card) == msgspec.to_builtins(card)


def test_only_a_recipe_is_taken() -> None:
    import pickle

    with pytest.raises(TypeError, match="expected a recipe, got dict"):
        unpack(pickle.dumps({}))
