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

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from grounding.data.fields import Four
from grounding.data.layouts import Release, samples_layout
from grounding.data.packed import Unpacker
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
    for window in _message("Forest", forest).windows:
        for node in window.tree.nodes:
            bounds = node.bounds
            if node.is_visible and bounds.right > bounds.left and bounds.bottom > bounds.top:
                found.append((float(bounds.left), float(bounds.top), float(bounds.right), float(bounds.bottom)))
    return smallest_around(x, y, found)


# --- TFRecords ------------------------------------------------------------------------------------------------------
# Read without TensorFlow. A record is its length (8 bytes, little-endian), 4 bytes of checksum, the content, and 4 more
# bytes; the checksums are not looked at: gzip has its own.

MAX_RECORD_BYTES = 2**30
# The parts of messages that are read, as example.proto and feature.proto of TensorFlow and the protocol buffers of
# android_env number them; a star marks what may be there several times.
_MESSAGES = {
    "Example": {"features": (1, "Features")},
    "Features": {"feature": (1, "Entry*")},
    "Entry": {"key": (1, "string"), "value": (2, "Feature")},
    "Feature": {"bytes_list": (1, "BytesList"), "int64_list": (3, "Int64List")},
    "BytesList": {"value": (1, "bytes*")},
    "Int64List": {"value": (1, "int64*")},
    "Forest": {"windows": (1, "Window*")},
    "Window": {"tree": (11, "Tree")},
    "Tree": {"nodes": (1, "Node*")},
    "Node": {"bounds": (_BOUNDS, "Rect"), "is_visible": (_VISIBLE, "bool")},
    "Rect": {"left": (1, "int32"), "top": (2, "int32"), "right": (3, "int32"), "bottom": (4, "int32")},
}


class WireError(ValueError):
    """The bytes are not what they should be."""


@cache
def _classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds: Any = descriptor_pb2.FieldDescriptorProto
    file: Any = descriptor_pb2.FileDescriptorProto(name="recorded.proto", package="recorded", syntax="proto3")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            label = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
            field = described.field.add(name=name, number=number, label=label)
            if (plain := kind.rstrip("*")) in _MESSAGES:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".recorded.{plain}"
            else:
                field.type = kinds.Type.Value(f"TYPE_{plain.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"recorded.{name}")) for name in _MESSAGES}


def _message(name: str, content: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return _classes()[name].FromString(content)
    except DecodeError as error:
        raise WireError(str(error)) from error


def read_records(path: Path) -> Iterator[bytes]:
    """The records of a TFRecord file compressed with gzip, one after the other. Raises WireError: The file is cut off,
    not compressed, or not made of records. Raises OSError: It can't be read.
    """
    try:
        with gzip.open(path, "rb") as file:
            while header := file.read(12):
                length = struct.unpack("<Q", header[:8])[0] if len(header) == 12 else 0
                if length > MAX_RECORD_BYTES:
                    raise WireError(f"a record of {length} bytes: these are no TFRecords")
                content = file.read(length + 4)
                if len(header) < 12 or len(content) < length + 4:
                    raise WireError("the file ends inside a record")
                yield content[:-4]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WireError(f"not a whole gzip file: {error}") from error


def read_example(record: bytes) -> dict[str, list[bytes] | list[int]]:
    """The features of a ``tf.train.Example`` by name: lists of bytes or of whole numbers; floats are passed over.
    Raises WireError: the record is no example.
    """
    features = _message("Example", record).features.feature
    return {one.key: list(one.value.bytes_list.value) or list(one.value.int64_list.value) for one in features}
