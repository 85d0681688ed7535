"""The data sets that other tests are built on are as their description says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image

from grounding.loaders.realwebassist import check, load

if TYPE_CHECKING:
    from conftest import TinyDataset


def test_the_default(tiny_dataset: TinyDataset) -> None:
    sessions = load(tiny_dataset(), history="auto").sessions
    steps = [step for session in sessions for step in session.steps]
    assert [step.id for step in steps] == ["1/1", "1/2", "1/3", "1/4", "2/1", "2/2", "2/3", "2/4"]
    assert sum(step.region is not None for step in steps) == 6
    assert sum(len(session.tasks()) for session in sessions) == 4
    assert len({step.screenshot.sha256 for step in steps}) == 8


def test_the_arguments(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(
        participants=["ann"], steps=30, size=(640, 480), unscored=(), steps_per_task=10, history=None
    )
    assert check(data_dir) == []
    (session,) = load(data_dir).sessions
    assert [len(task.steps) for task in session.tasks()] == [10, 10, 10]
    for step in session.steps:
        assert step.region is not None
        with Image.open(step.screenshot.path) as image:
            center = step.region.boxes[0].center
            assert image.getpixel((int(center.x_px), int(center.y_px))) == (255, 255, 255)
            assert image.getpixel((0, 0)) != (255, 255, 255)


def test_two_in_one_test(tiny_dataset: TinyDataset) -> None:
    one = tiny_dataset("one", edit=lambda _, items: items[0].update(bounding_box=None))
    assert load(one).sessions[0].steps[0].region is None
    assert load(tiny_dataset("two")).sessions[0].steps[0].region is not None
