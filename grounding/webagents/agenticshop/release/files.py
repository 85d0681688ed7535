"""Bounded reading and tidy writing of the release's JSON files."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError

MAX_BYTES = 64 << 20


def read_json(path: Path, what: str) -> Any:
    """The decoded content of a file; a byte order mark is passed over.

    Args:
        path: The file.
        what: What it should be, for the message.

    Raises:
        UserError: It can't be read, is too large, or is no JSON.
    """
    try:
        size = path.stat().st_size
        content = b"" if size > MAX_BYTES else path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise UserError(f"{path}: {what} can't be read: {error.strerror}") from error
    if size > MAX_BYTES:
        raise UserError(f"{path}: {size:,} bytes are too many for {what}: at most {MAX_BYTES:,}")
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: is no JSON, so it is not {what}: {error}") from error


def write_json(path: Path, value: object, *, indent: int) -> None:
    """Write a file as the release does: UTF-8, indented, in the order of the keys.

    Raises:
        UserError: It can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, ensure_ascii=False, indent=indent), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror}; give another folder") from error


def text_of(value: object) -> str:
    """A text as it is; null as the empty text; anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
