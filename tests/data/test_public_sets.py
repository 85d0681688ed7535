"""The cards of public sets say all that a user needs."""

from __future__ import annotations

import pytest

from grounding.data import dataset_cards

PUBLIC = ("androidcontrol", "multimodal-mind2web", "omniact", "osworld-g", "osworld-g-refined")
PUBLIC += ("screenspot", "screenspot-pro", "screenspot-pro-cn", "screenspot-v2")
PUBLIC += ("mmbench-gui-l2", "ui-vision", "venusbench-gd")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_set_says_all_that_a_user_needs(name: str) -> None:
    card = dataset_cards()[name]
    for text in (card.source, card.licence, card.download, card.citation, card.notes, card.boxes, card.benchmark):
        assert text
    assert "--data-dir" in card.download
    assert card.grouping
    assert card.expected.steps
