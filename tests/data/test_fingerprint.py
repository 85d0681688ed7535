from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from grounding.data.fingerprint import fingerprint, short_fingerprint
from grounding.data.layouts.realwebassist import load
from grounding.records import Box, GroupLabel, Region, Screenshot, Session, Size, Step

from .helpers import change

if TYPE_CHECKING:
    from conftest import TinyDataset


def changed(session: Session, **fields: Any) -> Session:
    """The session with fields of its first step changed."""
    values = {name: getattr(session.steps[0], name) for name in session.steps[0].__struct_fields__}
    return Session(participant=session.participant, steps=(Step(**{**values, **fields}), *session.steps[1:]))


def test_marks_and_groups_count_only_where_there_are_any(tiny_dataset: TinyDataset) -> None:
    (session, *_) = load(tiny_dataset()).sessions
    plain = fingerprint([session])
    label = GroupLabel(kind="platform", name="web")
    marked = [
        changed(session, target_absent=True),
        changed(session, independent=True),
        changed(session, groups=(label,)),
        changed(session, groups=(label, label)),
    ]
    assert len({plain, *(fingerprint([one]) for one in marked)}) == 5
    assert fingerprint([changed(session, target_absent=False, independent=False, groups=())]) == plain


@pytest.mark.parametrize(
    "edit",
    [
        change(0, task="another"),
        change(0, instruction="click thing 0 "),
        change(0, action="type"),
        change(0, bounding_box=None),
        change(0, bounding_box={"x": 1, "y": 1, "width": 2, "height": 2}),
        change(0, final_image="images/2.png"),
        lambda _, items: items.reverse(),
        lambda _, items: items.pop(),
    ],
)
def test_the_content_counts(tiny_dataset: TinyDataset, edit: Callable[[str, list[dict[str, Any]]], None]) -> None:
    before = load(tiny_dataset("before", participants=1)).fingerprint
    assert load(tiny_dataset("after", participants=1, edit=edit)).fingerprint != before


def test_the_rule_is_kept() -> None:
    """Fingerprints are stored in run folders: the same content must give the same one in every later version."""
    step = Step(
        id="p/1",
        participant="p",
        task=3,
        instruction_index=0,
        instruction="los",
        screenshot=Screenshot(path="anywhere", size=Size(width=1, height=1), sha256="ab" * 32),
        region=Region(boxes=(Box(left_px=1, top_px=2, right_px=3.5, bottom_px=4),)),
    )
    full = fingerprint([Session(participant="p", steps=(step,))])
    line = f'["p","p/1",3,0,"los","",[[1.0,2.0,3.5,4.0]],[],"{"ab" * 32}",null]\n'
    assert full == hashlib.sha256(b"grounding-dataset-1\n" + line.encode()).hexdigest()
    assert short_fingerprint(full) == "f3d0089f1fa7"
