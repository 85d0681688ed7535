"""Our step ids against the keys under which the authors of RealWebAssist saved their planners' replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grounding.data import dataset_cards
from grounding.data.samples import id_clashes, step_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

REPO = Path(__file__).resolve().parents[2]
SAVED = REPO.parent / "shared" / "data" / "realwebassist" / "gpt_reasoning_10.json"

pytestmark = pytest.mark.skipif(not SAVED.is_file(), reason="the authors' saved replies are not beside the repository")


def saved_replies() -> Mapping[str, Mapping[str, str]]:
    replies: Mapping[str, Mapping[str, str]] = json.loads(SAVED.read_text(encoding="utf-8"))
    return replies


def test_there_is_a_reply_for_every_scored_step() -> None:
    expected = dataset_cards()["realwebassist"].expected
    replies = saved_replies()
    assert len(replies) == expected.participants
    assert sum(len(of_one) for of_one in replies.values()) == expected.scored_steps


def test_keys_are_step_ids() -> None:
    for participant, of_one in saved_replies().items():
        ids = step_ids(participant, [f"images/{number}.png" for number in of_one])
        assert ids == [f"{participant}/{number}" for number in of_one]
        assert id_clashes(ids) == []
