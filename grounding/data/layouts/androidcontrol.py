"""AndroidControl: a folder of the release in; a data set out, or everything that is wrong with it.

::

    android_control-00000-of-00020      TFRecords compressed with gzip, one record per episode
    splits.json                         episode ids of train, validation and test
    test_subsplits.json                 episode ids of IDD, app_unseen, task_unseen, category_unseen

The layout is that of google-research (``android_control``), read without TensorFlow; conversions to JSON that go around
have the touched point only. What is right is the element: of the nodes in the recorded accessibility tree
(``android_env``, ``proto/a11y``) that are visible and hold the point, the smallest. Touches outside all of them, and
steps without a touch (scroll, typing, waiting, opening an app), are not scored.

Only the episodes of the test split are unpacked. An episode is a task, and the split the one participant:
``--questions low`` (the default) says the step's own instruction, ``--questions high`` the episode's goal, for a
planner. Earlier steps make up the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from grounding.data.fields import Four
from grounding.data.layouts import Release, samples_layout
from grounding.data.packed import Unpacker, Value, WireError, fields, messages, read_example, read_records, signed
from grounding.data.samples import Sample, episode_labels, smallest_around
from grounding.errors import UserError
from grounding.records import GroupLabel, HistoryEntry, Record

PARTICIPANT = "test"
TOUCHES = ("click", "long_press", "type")  # Kinds of action with a place; `type` clicks before it writes.
_VERSION = "rows-1"
_BOUNDS, _VISIBLE = 2, 23


class AndroidRow(Record, frozen=True, kw_only=True):
    """One step. ``box`` is left, top, right, bottom of the touched element in pixels, None where there is none."""

    number: int
    episode: int
    index: int
    goal: str
    instruction: str
    kind: str
    action: str
    picture: str
    box: Four | None


@samples_layout("androidcontrol", convention="xyxy", questions=("low", "high"))
def load(release: Release) -> Iterator[Sample]:
    (splits,) = release.find("splits.json", what="the list of splits")
    wanted = frozenset(_ids(splits).get("test", ()))
    subsplits = _ids(splits.with_name("test_subsplits.json"))
    unpacker = Unpacker("androidcontrol")
    asked = f"{_VERSION} {sorted(wanted)}"
    found: list[tuple[Path, AndroidRow]] = []
    for file in release.find("android_control-*-of-*", what="files of records"):
        rows = unpacker.rows(file, asked, AndroidRow, lambda path: _read(path, wanted, unpacker))
        found += [(file, row) for row in rows]
    labels = episode_labels((str(row.episode), row.goal) for _, row in found)
    for file, row in found:
        instruction = row.instruction if release.questions == "low" else row.goal
        yield Sample(
            file=str(file),
            item=row.number,
            field="accessibility_trees",
            id=f"{PARTICIPANT}/{row.episode}-{row.index}",
            participant=PARTICIPANT,
            image=unpacker.picture(row.picture),
            instruction=instruction,
            boxes=() if row.box is None else (row.box,),
            task=labels[str(row.episode)],
            action=row.action,
            history_entry=HistoryEntry(instruction=instruction, action=row.action) if release.with_history else None,
            groups=(
                *(GroupLabel(kind="subsplit", name=each) for each, ids in subsplits.items() if row.episode in ids),
                GroupLabel(kind="action", name=row.kind),
            ),
        )
    missing = len(wanted - {row.episode for _, row in found})
    outside = sum(row.kind in TOUCHES and row.box is None for _, row in found)
    if missing:
        release.warnings.append(f"{missing} of {len(wanted)} test episodes are in none of the files")
    if outside:
        release.warnings.append(f"touches not scored, because they lie outside all recorded elements: {outside}")


def _ids(file: Path) -> dict[str, frozenset[int]]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, frozenset[int]])
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror}); download it beside the records") from error
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise UserError(f"{file}: does not list episode ids by split: {error}; download it again") from error


def _read(file: Path, wanted: frozenset[int], unpacker: Unpacker) -> Iterator[AndroidRow]:
    try:
        for number, record in enumerate(read_records(file)):
            example: dict[str, list[Any]] = dict(read_example(record))
            if int(example["episode_id"][0]) in wanted:
                yield from _episode(example, number, unpacker)
    except (OSError, WireError) as error:
        raise UserError(f"{file}: cannot be read as TFRecords: {error}; download it again") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{file}: holds an episode of another layout: {error!r}; download it again") from error


def _episode(example: Mapping[str, list[Any]], number: int, unpacker: Unpacker) -> Iterator[AndroidRow]:
    goal = example["goal"][0].decode("utf-8")
    # There is one more screenshot than there are actions: the last one shows what the last action led to.
    for index, (written, instruction) in enumerate(zip(example["actions"], example["step_instructions"], strict=True)):
        action = msgspec.json.decode(written)
        kind = str(action["action_type"])
        box = None
        if kind in TOUCHES and "x" in action and "y" in action:
            box = touched(example["accessibility_trees"][index], float(action["x"]), float(action["y"]))
        yield AndroidRow(
            number=number,
            episode=int(example["episode_id"][0]),
            index=index,
            goal=goal,
            instruction=instruction.decode("utf-8"),
            kind=kind,
            action=written.decode("utf-8"),
            picture=unpacker.keep_picture(example["screenshots"][index]),
            box=box,
        )


def touched(forest: bytes, x: float, y: float) -> Four | None:
    """The element under a touch at ``x``, ``y`` in pixels: the smallest visible node that holds it; None without one.

    ``forest`` is an ``AndroidAccessibilityForest`` as it was recorded. Raises WireError: the bytes are no forest.
    """
    found = []
    for window in messages(forest, 1):
        for tree in messages(window, 11):
            for node in messages(tree, 1):
                parts: dict[int, Value] = dict(fields(node))
                bounds = parts.get(_BOUNDS)
                if parts.get(_VISIBLE) and isinstance(bounds, bytes):
                    edges = {number: signed(value) for number, value in fields(bounds)}
                    left, top, right, bottom = (float(edges.get(number, 0)) for number in (1, 2, 3, 4))
                    found += [(left, top, right, bottom)] if right > left and bottom > top else []
    return smallest_around(x, y, found)
