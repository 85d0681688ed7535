"""Releases that pack pictures and annotations into one file: unpacked once, kept in the user's cache folder.

Models are sent picture files, and gigabytes of packed data take minutes to read. So each packed file is read once: its
pictures go into ``pictures`` in the cache, named by the hash of their bytes, and its rows into ``rows``, under a name
that hangs on the packed file's path, size and time, on what was asked of it and on how it was read.

Parquet is read with pyarrow (extra ``parquet``), a few rows at a time, as each may hold a picture of megabytes.

TFRecord files are read without TensorFlow. A record is its length (8 bytes, little-endian), 4 bytes of checksum, the
content, and 4 more bytes; the checksums are not looked at: gzip has its own. A ``tf.train.Example`` is read by field
number, as ``example.proto`` and ``feature.proto`` of TensorFlow number them.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from grounding.atomic import atomic_write
from grounding.cards.places import cache_dir
from grounding.errors import UserError, install
from grounding.records import Record

_ENDINGS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"RIFF": ".webp"}


class Packed(Protocol):
    """A row of a packed file; ``picture`` is what :meth:`Unpacker.keep_picture` called its picture, "" without one."""

    @property
    def picture(self) -> str: ...


RowT = TypeVar("RowT", bound=Packed)


class ParquetRow(Record, frozen=True, kw_only=True):
    """A row of a parquet file by column; the one with the picture holds the picture's old path instead."""

    values: dict[str, Any]
    picture: str


class Unpacker:
    """Keeps rows and pictures of packed files.

    Raises UserError: there is no cache folder to keep them in, or it can't be written.
    """

    def __init__(self, layout: str) -> None:
        folder = cache_dir()
        if folder is None:
            raise UserError(
                f"{layout}: pictures have to be unpacked and there is no cache folder for them: unset "
                "GROUNDING_NO_CACHE, or set XDG_CACHE_HOME to a folder with room"
            )
        self._layout = layout
        self._pictures, self._rows = folder / "unpacked" / "pictures", folder / "unpacked" / "rows"

    def rows(
        self, source: Path, wanted: str, row_type: type[RowT], read: Callable[[Path], Iterable[RowT]]
    ) -> list[RowT]:
        """The rows of one packed file: those kept from before, else what ``read`` gives, kept for the next time.

        Where a kept picture is gone the file is read again. ``wanted`` is what is read of it, and the version of the
        reading: another text is read anew.
        """
        status = source.stat()
        parts = (self._layout, str(source.resolve()), status.st_size, status.st_mtime_ns, wanted)
        kept = self._rows / f"{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]}.msgpack"
        rows: list[RowT]
        try:
            rows = msgspec.msgpack.decode(kept.read_bytes(), type=list[row_type])  # type: ignore[valid-type]
        except (OSError, msgspec.DecodeError):
            rows = []
        if not rows or not all(self.picture(row.picture).is_file() for row in rows if row.picture):
            rows = list(read(source))
            _write(kept, msgspec.msgpack.encode(rows))
        return rows

    def parquet(self, source: Path, columns: Sequence[str] = ()) -> list[ParquetRow]:
        """The rows of a parquet file, of these columns or of all; pictures are where a column has their ``bytes``.

        Raises UserError: pyarrow is missing, the file is no parquet or has not these columns.
        """
        return self.rows(source, f"parquet-1 {sorted(columns)}", ParquetRow, lambda file: self._parquet(file, columns))

    def _parquet(self, file: Path, columns: Sequence[str]) -> Iterator[ParquetRow]:
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise UserError(
                f"{file.name} is a parquet file, and pyarrow is not installed: {install('parquet')}"
            ) from error
        from pyarrow.lib import ArrowException

        try:
            opened = parquet.ParquetFile(file, pre_buffer=False)  # Else it keeps all of the file.
            schema = opened.schema_arrow
            if absent := [column for column in columns if column not in schema.names]:
                raise UserError(f"{file}: the column {absent[0]} is missing; take the data set's own parquet files")
            shown = next((each.name for each in schema if str(each.type).startswith("struct<bytes: ")), None)
            for batch in opened.iter_batches(batch_size=8, columns=list(columns) or None):
                for values in batch.to_pylist():
                    image = (values.get(shown) if shown else None) or {}
                    picture = self.keep_picture(image["bytes"]) if image.get("bytes") else ""
                    yield ParquetRow(values={**values, shown: image.get("path")} if shown else values, picture=picture)
        except (OSError, ArrowException) as error:
            raise UserError(f"{file}: cannot be read as parquet: {error}; download it again") from error

    def keep_picture(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        ending = next((ending for start, ending in _ENDINGS.items() if content.startswith(start)), ".bin")
        name = f"{digest[:2]}/{digest}{ending}"
        target = self._pictures / name
        if not (target.is_file() and target.stat().st_size == len(content)):
            _write(target, content)
        return name

    def picture(self, name: str) -> Path:
        return self._pictures / name


def _write(target: Path, content: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, content, mode=0o600, shared=True, flush=False)
    except OSError as error:
        raise UserError(
            f"{target}: can't be written ({error.strerror}); make room there, or set XDG_CACHE_HOME to another folder"
        ) from error


# --- TFRecords ----------------------------------------------------------------------------------------------------

MAX_RECORD_BYTES = 2**30
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
Value = int | bytes


class WireError(ValueError):
    """The bytes are not what they should be."""


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


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a protocol buffer message in their order: number, and bytes or a whole number.

    Raises WireError: the message is cut off, or has a wire type that nobody writes any more.
    """
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(message, position)
            yield number, value
            continue
        if wire == _BYTES:
            length, position = _varint(message, position)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise WireError(f"wire type {wire}")
        if position + length > len(message):
            raise WireError("a field reaches over the end of its message")
        yield number, message[position : position + length]
        position += length


def messages(message: bytes, number: int) -> Iterator[bytes]:
    return (value for found, value in fields(message) if found == number and isinstance(value, bytes))


def signed(value: Value) -> int:
    """A number as ``int32`` and ``int64`` are written: negative ones wrap around."""
    if isinstance(value, bytes):
        raise WireError("bytes where a number should be")
    return value - 2**64 if value >= 2**63 else value


def read_example(record: bytes) -> dict[str, list[bytes] | list[int]]:
    """The features of a ``tf.train.Example`` by name: lists of bytes or of whole numbers; floats are passed over.

    Raises WireError: the record is no example.
    """
    found: dict[str, list[bytes] | list[int]] = {}
    try:
        for features in messages(record, 1):
            for entry in messages(features, 1):
                parts = dict(fields(entry))
                name, feature = parts.get(1, b""), parts.get(2, b"")
                if isinstance(name, bytes) and isinstance(feature, bytes):
                    texts = [value for listed in messages(feature, 1) for value in messages(listed, 1)]
                    found[name.decode("utf-8")] = texts or _numbers(feature)
    except UnicodeDecodeError as error:
        raise WireError("a feature's name is not UTF-8") from error
    return found


def _numbers(feature: bytes) -> list[int]:
    numbers: list[int] = []
    for listed in messages(feature, 3):
        for number, value in fields(listed):
            if number == 1 and isinstance(value, int):
                numbers.append(signed(value))
            elif number == 1 and isinstance(value, bytes):
                position = 0
                while position < len(value):
                    found, position = _varint(value, position)
                    numbers.append(signed(found))
    return numbers


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise WireError("a number without an end")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
        shift += 7
