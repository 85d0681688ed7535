"""The folder in which a run keeps what it saw: each file is named after its content, so nothing is ever changed."""

import gzip
import hashlib
import io
import re
import zlib
from pathlib import Path

from grounding.atomic import atomic_write
from grounding.cache import Cache
from grounding.errors import UserError

from ..records import RenderedPage

_NAME = re.compile(r"[0-9a-f]{64}(\.[a-z0-9]{1,8}){1,2}")
MAX_UNPACKED_BYTES = 64 << 20


class EvidenceFolder:
    """Files of one run, named by the sha256 of their bytes, and ``pages``, the records of those rendered so far.

    Several programs may write at once.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.pages = Cache(self.path, "rendered pages")

    def put(self, content: bytes, suffix: str) -> str:
        """Keep a file with an ending such as ``.html.gz``; its name."""
        name = hashlib.sha256(content).hexdigest() + suffix
        target = self.path / name
        if not target.is_file() or target.stat().st_size != len(content):
            self.path.mkdir(parents=True, exist_ok=True)
            atomic_write(target, content, shared=True)
        return name

    def get(self, name: str) -> bytes:
        """The bytes of a kept file; a UserError where the name is none of ours, or the file is missing or changed."""
        path = self.path / name
        if not _NAME.fullmatch(name):
            raise UserError(f"{name!r} is no name of a file of evidence: expected 64 hex digits and an ending")
        if path.is_symlink() or not path.is_file():
            raise UserError(f"the evidence {name} is not in {self.path}: take the run's whole folder, or render again")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != name.partition(".")[0]:
            raise UserError(f"the evidence {path} was changed: its content is not the one that it was named after")
        return content


def put_html(html: str, evidence: EvidenceFolder) -> str:
    """Keep a document, packed; its name. Equal documents are one file."""
    return evidence.put(gzip.compress(html.encode("utf-8", "replace"), compresslevel=6, mtime=0), ".html.gz")


def load_html(page: RenderedPage, evidence: EvidenceFolder) -> str:
    """The rendered document of a page, "" where none was kept; a UserError where it is missing or changed."""
    if not page.html_file:
        return ""
    packed = evidence.get(page.html_file)
    try:
        with gzip.open(io.BytesIO(packed)) as file:
            raw = file.read(MAX_UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"the evidence {page.html_file} can't be unpacked: {error}") from None
    if len(raw) > MAX_UNPACKED_BYTES:
        raise UserError(f"the evidence {page.html_file} has more than {MAX_UNPACKED_BYTES:,} bytes when it is unpacked")
    return raw.decode("utf-8", "replace")
