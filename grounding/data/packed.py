"""Releases that pack pictures and annotations into one file: unpacked once, kept in the user's cache folder.

Models are sent picture files, and gigabytes of packed data take minutes to read. So each packed file is read once: its
pictures go into ``pictures`` in the cache, named by the hash of their bytes, and its rows into ``rows``, under a name
that hangs on the packed file's path, size and time, on what was asked of it and on how it was read.

Parquet is read with pyarrow (extra ``parquet``), a few rows at a time, as each may hold a picture of megabytes.
"""

import hashlib
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
    """Keeps rows and pictures of packed files. Raises UserError: there is no cache folder to keep them in, or it can't
    be written.
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
