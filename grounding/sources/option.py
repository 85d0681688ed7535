"""The type of every ``--data-dir``: text becomes a local folder before anything takes it for a path.

``pathlib`` would make ``s3:/bucket`` of ``s3://bucket``, and what a URL holds of secrets must not travel through
options. So the option's value is from the start the folder in the cache that the data will lie in. Nothing
is fetched for that: :func:`ready` does, when the data are about to be read.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, overload

from cyclopts import Parameter

from grounding.records import Record
from grounding.sources.address import Address, parse_address


class _Known(Record, frozen=True, kw_only=True):
    """A folder that stands for an address, as the user wrote it."""

    address: Address
    text: str


_known: dict[Path, _Known] = {}
_ready: set[Path] = set()
_lock = threading.Lock()


def local_folder(text: str | Path) -> Path:
    """The folder of this machine that a ``--data-dir`` stands for; it may not be there before :func:`ready`.

    Raises:
        UserError: it is a URL that data can't be read from, or there is no cache folder for it.
    """
    if isinstance(text, Path) and text in _known:
        return text
    address = parse_address(str(text))
    if address is None:
        return Path(text)
    from grounding.sources.kept import SourceFolder

    folder = SourceFolder(address).data
    _known[folder] = _Known(address=address, text=str(text))
    return folder


@overload
def ready(folder: Path) -> Path: ...
@overload
def ready(folder: None) -> None: ...
def ready(folder: Path | None) -> Path | None:
    """See that a folder holds what its address holds now; once for each process. Other folders are left alone.

    Raises:
        UserError: the data can't be read or kept; says what to do.
    """
    known = None if folder is None else _known.get(folder)
    if folder is None or known is None:
        return folder
    with _lock:
        if folder not in _ready:
            from grounding.sources.syncing import sync

            sync(known.address)
            _ready.add(folder)
    return folder


def url_behind(folder: Path | None) -> str:
    """The URL that a folder's files are read from, without secrets; "" for a folder that was never anywhere else.

    Where it had secrets it can't be read from elsewhere: a worker then asks for its pictures.
    """
    known = None if folder is None else _known.get(folder)
    return "" if known is None else known.address.shown


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words of a command with what is secret of its URLs left out, for files that say how they were made."""
    return [_cleaned(word) for word in words]


def _cleaned(word: str) -> str:
    for known in _known.values():
        if known.address.has_secrets and known.text in word:
            word = word.replace(known.text, known.address.shown)
    return word


def _convert(_: Any, tokens: Sequence[Any]) -> Path:
    return local_folder(tokens[0].value)


DataDir = Annotated[Path, Parameter(converter=_convert)]
"""A folder, an archive (.zip, .tar.gz …), or the URL of either: s3://, gs://, https://, zip::URL."""
