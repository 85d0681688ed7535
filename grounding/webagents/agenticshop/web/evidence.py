"""The folder in which a run keeps what it saw: each file is named after its content, so nothing is ever changed."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tempfile
from pathlib import Path

from grounding.errors import UserError
from grounding.webagents.agenticshop.records import RenderedPage

_NAME = re.compile(r"[0-9a-f]{64}(\.[a-z0-9]{1,8}){1,2}")
_SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}")
HTML_SUFFIX = ".html.gz"
PICTURE_SUFFIX = ".png"
MAX_UNPACKED_BYTES = 64 << 20


class EvidenceFolder:
    """Files of one run, named by the sha256 of their bytes. Several programs may write at once."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def put(self, content: bytes, suffix: str) -> str:
        """Keep a file and return its name; the same content twice is one file.

        Args:
            content: The bytes.
            suffix: The ending, such as ``.png`` or ``.html.gz``.

        Raises:
            ValueError: The suffix is not one or two short endings.
            OSError: The folder can't be written.
        """
        if not _SUFFIX.fullmatch(suffix):
            raise ValueError(f"not the ending of a file of evidence: {suffix!r}")
        name = hashlib.sha256(content).hexdigest() + suffix
        target = self.path / name
        if target.is_file() and target.stat().st_size == len(content):
            return name
        self.path.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=self.path, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(partial).chmod(0o644)
            Path(partial).replace(target)
        finally:
            Path(partial).unlink(missing_ok=True)
        return name

    def get(self, name: str) -> bytes:
        """The bytes of a kept file.

        Raises:
            UserError: The name is none of ours, the file is missing, or its content is not what its name says.
        """
        if not _NAME.fullmatch(name):
            raise UserError(f"{name!r} is no name of a file of evidence: expected 64 hex digits and an ending")
        path = self.path / name
        if path.is_symlink() or not path.is_file():
            raise UserError(f"the evidence {name} is not in {self.path}: take the run's whole folder, or render again")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != name.partition(".")[0]:
            raise UserError(f"the evidence {path} was changed: its content is not the one that it was named after")
        return content


def put_html(html: str, evidence: EvidenceFolder) -> tuple[str, str]:
    """Keep a document, packed; its name and the sha256 of the bytes before packing.

    The packed form says nothing of when or where it was made, so that equal documents are one file.
    """
    raw = html.encode("utf-8", "replace")
    return evidence.put(gzip.compress(raw, compresslevel=6, mtime=0), HTML_SUFFIX), hashlib.sha256(raw).hexdigest()


def load_html(page: RenderedPage, evidence: EvidenceFolder) -> str:
    """The rendered document of a page; "" where none was kept.

    Raises:
        UserError: The file is missing, was changed, or is not the document that the page was made of.
    """
    if not page.html_file:
        return ""
    packed = evidence.get(page.html_file)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            raw = file.read(MAX_UNPACKED_BYTES + 1)
    except (OSError, EOFError) as error:
        raise UserError(f"the evidence {page.html_file} can't be unpacked: {error}") from None
    if len(raw) > MAX_UNPACKED_BYTES:
        raise UserError(f"the evidence {page.html_file} unpacks to more than {MAX_UNPACKED_BYTES} bytes")
    if hashlib.sha256(raw).hexdigest() != page.html_sha256:
        raise UserError(f"the evidence {page.html_file} is not the document of {page.url}: the hashes differ")
    return raw.decode("utf-8")
