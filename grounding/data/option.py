"""The type of every ``--data-dir``: text becomes a local folder before anything takes it for a path.

``pathlib`` would make ``s3:/bucket`` of ``s3://bucket``, and what a URL holds of secrets must not travel through
options. So the option's value is from the start the folder in the cache that the data will lie in. Nothing
is fetched for that: :func:`ready` does, when the data are about to be read.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, overload

import msgspec
from cyclopts import Parameter

from grounding.data.address import Address, parse_address
from grounding.data.fetch import fetch

_known: dict[Path, tuple[Address, str]] = {}
"""What each folder of the cache stands for in this process: the address, and the text as the user wrote it."""
_ready: set[Path] = set()
_lock = threading.Lock()


def local_folder(text: str | Path, wanted: str = "") -> Path:
    """The folder of this machine that a ``--data-dir`` stands for; it may not be there before :func:`ready`.

    Of a repository of the hub only files that match ``wanted`` are fetched, where it is not "". Raises UserError: it is
    a URL that data can't be read from, or there is no cache folder for it.
    """
    if isinstance(text, Path) and text in _known:
        return text
    address = parse_address(text)
    if address is None:
        return Path(text)
    _known[address.data] = (msgspec.structs.replace(address, wanted=wanted), str(text))
    return address.data


@overload
def ready(folder: Path) -> Path: ...
@overload
def ready(folder: None) -> None: ...
def ready(folder: Path | None) -> Path | None:
    """See that a folder holds what its address holds now; once for each process. Other folders are left alone. Raises
    UserError: the data can't be read or kept; says what to do.
    """
    if folder is not None and folder in _known:
        with _lock:
            if folder not in _ready:
                fetch(_known[folder][0])
                _ready.add(folder)
    return folder


def url_behind(folder: Path | None) -> str:
    """The URL that a folder's files are read from, without secrets; "" for a folder that was never anywhere else."""
    return "" if folder is None or folder not in _known else _known[folder][0].shown


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words of a command with what is secret of its URLs left out, for files that say how they were made."""
    cleaned = list(words)
    for address, text in _known.values():
        if address.has_secrets:
            cleaned = [word.replace(text, address.shown) for word in cleaned]
    return cleaned


def _convert(_: Any, tokens: Sequence[Any]) -> Path:
    return local_folder(tokens[0].value)


DataDir = Annotated[Path, Parameter(converter=_convert)]
"""A folder, an archive (.zip, .tar.gz …), the URL of either (s3://, gs://, https://, zip::URL), or a data set on the
Hugging Face hub (owner/name, hf://datasets/owner/name@revision/folder)."""
