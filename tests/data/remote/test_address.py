"""What is an address, what it is called here, and that no secret of it is shown or part of its key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.data.address import Address, parse_address
from grounding.errors import UserError

SECRETS = st.text(alphabet="abcXYZ0123456789", min_size=8, max_size=20).map("S3CR".__add__)


def parsed(text: str) -> Address:
    found = parse_address(text)
    assert found is not None
    return found


def test_what_is_here_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parsed("owner/name").shown == "hf://datasets/owner/name"
    assert parse_address(Path("owner/name")) is None
    (tmp_path / "owner").mkdir()
    assert parse_address("owner/name") is None
    (tmp_path / "data.zip").mkdir()
    assert parse_address("data.zip") is None
    assert (parsed("other.zip").kind, parsed("other.zip").url) == ("zip", str(tmp_path / "other.zip"))


@pytest.mark.parametrize(
    ("text", "kind", "inner", "name", "url"),
    [
        ("s3://bucket/a/realwebassist", "folder", "", "realwebassist", "s3://bucket/a/realwebassist"),
        ("s3://bucket", "folder", "", "bucket", "s3://bucket"),
        ("gs://bucket/x.tar.gz", "tar", "", "x", "gs://bucket/x.tar.gz"),
        ("https://h.org/d/data.ZIP?download=1", "zip", "", "data", "https://h.org/d/data.ZIP?download=1"),
        ("https://h.org/", "folder", "", "h.org", "https://h.org/"),
        ("https://h.org/my%20data/", "folder", "", "my data", "https://h.org/my%20data/"),
        ("zip::s3://b/x.bin", "zip", "", "x.bin", "s3://b/x.bin"),
        ("zip://in/3::s3://b/x.zip", "zip", "in/3", "3", "s3://b/x.zip"),
        ("tar://in::/d/x.tgz", "tar", "in", "in", "/d/x.tgz"),
        ("filecache::s3://b/x", "folder", "", "x", "filecache::s3://b/x"),
        ("s3://b/ä ö/..", "folder", "", "data", "s3://b/ä ö/.."),
        ("hf://datasets/o/n@refs/pr/3", "hub", "", "n", "hf://datasets/o/n@refs/pr/3"),
        ("hf://datasets/o/n@main/a/b", "hub", "", "b", "hf://datasets/o/n@main/a/b"),
        ("hf://datasets/o/n/a.zip", "zip", "", "a", "hf://datasets/o/n/a.zip"),
        ("s3://bucket/a@b?c#d/e", "folder", "", "e", "s3://bucket/a@b?c#d/e"),
    ],
)
def test_what_an_address_is_taken_for(text: str, kind: str, inner: str, name: str, url: str) -> None:
    found = parsed(text)
    assert (found.kind, found.inner, found.name, found.url, found.shown) == (kind, inner, name, url, found.shown)
    assert found.has_secrets == ("?download" in text)


@given(user=SECRETS, password=SECRETS, signature=SECRETS)
def test_secrets_are_neither_shown_nor_in_the_key(user: str, password: str, signature: str) -> None:
    query = f"id=7&X-Amz-Signature={signature}&Expires=9&sig={signature}"
    found = parsed(f"https://{user}:{password}@h.org/a/x.zip?{query}#{signature}")
    assert found.shown == "https://…@h.org/a/x.zip?…"
    assert found.key == parsed("https://h.org/a/x.zip?id=7").key != parsed("https://h.org/a/x.zip?id=8").key
    chained = parsed(f"zip://in::https://{user}:{password}@h.org/a/x.zip?{query}")
    for one in (found, chained, parsed(f"sftp://{user}:{password}@h.org/a")):
        assert one.has_secrets
        for secret in (user, password, signature):
            assert secret not in one.shown + one.name + str(one.data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://h.org/x/", "use https"),
        ("zip::HTTP://10.0.0.1/x.zip", "use https"),
        ("http://localhost.evil.org/", "use https"),
        ("https:///x", "no host"),
        ("zip::x y::s3://b/x", "no file system"),
        ("https://[::1/x", "--data-dir"),
        ("hf://owner/name", "expected hf://datasets/OWNER/NAME"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_address(text)
    assert parsed("http://127.8.8.8:80/x/").kind == parsed("http://localhost:9/").kind == "folder"
