"""The folder of evidence: named after content, checked when read, and never left."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.webagents.agenticshop.records import RenderedPage
from grounding.webagents.agenticshop.web import evidence as module
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder, load_html, put_html


def kept(html: str, folder: EvidenceFolder) -> RenderedPage:
    name, digest = put_html(html, folder)
    return RenderedPage(url="http://shop.test/", html_file=name, html_sha256=digest)


def test_the_same_content_is_one_file(evidence: EvidenceFolder) -> None:
    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(lambda _: evidence.put(b"picture" * 1000, ".png"), range(40)))
    assert len(names) == 1
    assert [path.name for path in evidence.path.iterdir()] == list(names)
    assert evidence.get(names.pop()) == b"picture" * 1000


def test_a_half_written_file_is_written_again(evidence: EvidenceFolder) -> None:
    name = evidence.put(b"whole", ".png")
    (evidence.path / name).write_bytes(b"who")
    assert evidence.put(b"whole", ".png") == name
    assert evidence.get(name) == b"whole"


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=200))
def test_documents_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = EvidenceFolder(tmp_path_factory.mktemp("evidence"))
    page = kept(text, folder)
    assert load_html(page, folder) == text.encode("utf-8", "replace").decode("utf-8")
    assert kept(text, folder) == page


def test_no_document_is_no_text(evidence: EvidenceFolder) -> None:
    assert load_html(RenderedPage(url="http://shop.test/"), evidence) == ""


@pytest.mark.parametrize(
    "name",
    [
        "../secret.png",
        "/etc/passwd",
        "a.png",
        "",
        "A" * 64 + ".png",
        "0" * 64,
        "0" * 64 + ".png/../x",
        "0" * 64 + ".a/b",
    ],
)
def test_names_that_are_none_are_refused(evidence: EvidenceFolder, name: str) -> None:
    with pytest.raises(UserError, match="no name of a file of evidence"):
        evidence.get(name)


@pytest.mark.parametrize("suffix", ["", "png", "./x", ".png/..", ".PNG", ".a.b.c", "..", "."])
def test_endings_that_are_none_are_refused(evidence: EvidenceFolder, suffix: str) -> None:
    with pytest.raises(ValueError, match="not the ending"):
        evidence.put(b"x", suffix)
    assert not evidence.path.exists()


def test_missing_changed_and_linked_files_are_refused(evidence: EvidenceFolder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not in"):
        evidence.get("0" * 64 + ".png")
    name = evidence.put(b"content", ".png")
    (evidence.path / name).write_bytes(b"CONTENT")
    with pytest.raises(UserError, match="was changed"):
        evidence.get(name)
    (evidence.path / name).unlink()
    (tmp_path / "outside").write_bytes(b"content")
    (evidence.path / name).symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="is not in"):
        evidence.get(name)


def test_a_document_under_a_false_name_is_refused(evidence: EvidenceFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    page = kept("<p>one</p>", evidence)
    other = kept("<p>two</p>", evidence)
    with pytest.raises(UserError, match="is not the document"):
        load_html(msgspec.structs.replace(page, html_file=other.html_file), evidence)
    with pytest.raises(UserError, match="can't be unpacked"):
        load_html(msgspec.structs.replace(page, html_file=evidence.put(b"no gzip", ".html.gz")), evidence)
    cut = evidence.put(gzip.compress(b"x" * 1000)[:-12], ".html.gz")
    with pytest.raises(UserError, match="can't be unpacked"):
        load_html(msgspec.structs.replace(page, html_file=cut), evidence)
    monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 100)
    with pytest.raises(UserError, match="more than 100 bytes"):
        load_html(kept("y" * 101, evidence), evidence)
