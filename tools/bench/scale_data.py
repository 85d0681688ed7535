"""Data sets of any size for the scale benchmark, in the RealWebAssist layout, with tiny PNG screenshots.

What grows is the number of steps, not the pixels: a picture is 320x200 in two colours, about 100 bytes. Every
instruction names the number of its step, so that a server can tell which steps it was asked about.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from pathlib import Path

import msgspec

from grounding.records import Record

QUESTIONS = "questions_with_task_updated.json"
WIDTH, HEIGHT = 320, 200
STEPS_A_TASK = 10
LEAST_PARTICIPANTS = 10
STEPS_A_PARTICIPANT = 10_000
NUMBER_AFTER = b"entry number "
"""What stands before the step's number in its instruction."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 1, 0, 0, 0, 0)
_ROW = b"\x00" + b"\xff" * (WIDTH // 8)


class Made(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was written: ``pictures`` are the files, all different, with at least so many bytes each."""

    steps: int
    participants: int
    pictures: int
    distinct: bool
    picture_bytes: int


def picture(number: int, least_bytes: int = 0) -> bytes:
    """A PNG that differs from that of every other number below 2^64.

    What is to be larger than its few pixels need carries a private chunk of noise, which programs pass over.
    """
    first = b"\x00" + struct.pack(">Q", number) + _ROW[9:]
    pixels = zlib.compress(first + _ROW * (HEIGHT - 1), 1)
    padding = _chunk(b"noIs", random.Random(number).randbytes(least_bytes)) if least_bytes else b""
    return _SIGNATURE + _chunk(b"IHDR", _HEADER) + _chunk(b"IDAT", pixels) + padding + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def instruction(number: int) -> str:
    """What the user says at a step."""
    return f"okay, now open {NUMBER_AFTER.decode()}{number} of the list"


def participants_for(steps: int) -> int:
    """Ten, or as many as keep every participant at 10,000 steps at most."""
    return max(LEAST_PARTICIPANTS, -(-steps // STEPS_A_PARTICIPANT))


def make(folder: Path, *, steps: int, distinct: bool = True, pictures: int = 2000, picture_bytes: int = 0) -> Made:
    """Write a data set, or find the one that is there.

    Args:
        folder: Its place.
        steps: How many, all of them scored.
        distinct: A picture for every step; else ``pictures`` of them are shared by all.
        pictures: How many there are if they are shared, over all participants.
        picture_bytes: The least size of each.
    """
    participants = participants_for(steps)
    each = max(1, pictures // participants)
    made = Made(
        steps=steps,
        participants=participants,
        pictures=steps if distinct else each * participants,
        distinct=distinct,
        picture_bytes=picture_bytes,
    )
    done = folder / "made.json"
    if done.exists() and done.read_bytes() == msgspec.json.encode(made):
        return made
    for participant in range(participants):
        numbers = range(participant, steps, participants)
        _make_participant(folder / str(participant + 1), numbers, len(numbers) if distinct else each, picture_bytes)
    done.write_bytes(msgspec.json.encode(made))
    return made


def _make_participant(folder: Path, numbers: range, pictures: int, picture_bytes: int) -> None:
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    items = []
    for position, number in enumerate(numbers):
        place = position % pictures
        name = f"images/{place + 1}.png"
        if place == position:
            (folder / name).write_bytes(picture(number, picture_bytes))
        items.append(
            {
                "task": f"task {position // STEPS_A_TASK}",
                "instruction": instruction(number),
                "action": "click",
                "final_image": name,
                "bounding_box": [{"x": 100 + number % 50, "y": 60, "width": 80, "height": 30}],
            }
        )
    (folder / QUESTIONS).write_text(json.dumps(items))
