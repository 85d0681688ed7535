"""One hash for the content of a data set of users with needs: tasks, shops and their files in, SHA-256 in hex out.

What is hashed: the line ``grounding-curation-1``, one line of compact JSON for every task in order of their ids, one
for every shop in its order, and one for every file of the shops with its path and the SHA-256 of its bytes. The name of
the data set and where it lies do not count, nor does the order of the users.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from grounding.records import Record
from grounding.webagents.agenticshop.records import CurationTask, Site

_VERSION_LINE = b"grounding-curation-1\n"
_BLOCK_BYTES = 1 << 20


class HashedFile(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A file below a data set's folder, parts of its path parted by ``/``, and the hash of its bytes."""

    path: str
    sha256: str


def curation_fingerprint(
    tasks: Sequence[CurationTask], sites: Sequence[Site] = (), files: Iterable[HashedFile] = ()
) -> str:
    """SHA-256 of the canonical content, 64 hex digits."""
    digest = hashlib.sha256(_VERSION_LINE)
    encoder = msgspec.json.Encoder()
    in_order = sorted(files, key=lambda file: file.path)
    lines: list[Record] = [*sorted(tasks, key=lambda task: task.id), *sites, *in_order]
    for line in lines:
        digest.update(encoder.encode(line))
        digest.update(b"\n")
    return digest.hexdigest()


def hash_files(folder: Path, *, leave_out: Iterable[str] = ()) -> tuple[HashedFile, ...]:
    """The plain files below a folder, in order of their paths; hidden ones and symbolic links are passed over.

    Args:
        folder: Where to look.
        leave_out: Names of files that do not count.

    Raises:
        OSError: A file can't be read.
    """
    unwanted = frozenset(leave_out)
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inside.parts)
        if hidden or path.is_symlink() or not path.is_file() or path.name in unwanted:
            continue
        found.append(HashedFile(path=inside.as_posix(), sha256=_sha256(path)))
    return tuple(found)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
