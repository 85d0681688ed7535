"""What is a URL, what it is called here, and that no secret of it is shown or part of its key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.sources.address import Address, parse_address

SECRETS = st.text(alphabet="abcXYZ0123456789", min_size=8, max_size=20).map("S3CR".__add__)


def parsed(text: str) -> Address:
    found = parse_address(text)
    assert found is not None
    return found


@pytest.mark.parametrize("text", ["data", "/data/x", "./s3", "../a b", "C:x", "a:b", "s3:/one-slash", "."])
def test_paths_are_no_addresses(text: str) -> None:
    assert parse_address(text) is None


def test_a_folder_named_like_an_archive_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data.zip").mkdir()
    assert parse_address(str(tmp_path / "data.zip")) is None
    assert parsed(str(tmp_path / "other.zip")).archive == "zip"


@pytest.mark.parametrize(
    ("text", "archive", "inner", "name", "url"),
    [
        ("s3://bucket/a/realwebassist", None, "", "realwebassist", "s3://bucket/a/realwebassist"),
        ("s3://bucket/a/b/", None, "", "b", "s3://bucket/a/b/"),
        ("s3://bucket", None, "", "bucket", "s3://bucket"),
        ("gs://bucket/x.tar.gz", "tar", "", "x", "gs://bucket/x.tar.gz"),
        ("https://h.org/d/data.ZIP?download=1", "zip", "", "data", "https://h.org/d/data.ZIP?download=1"),
        ("https://h.org/", None, "", "h.org", "https://h.org/"),
        ("https://h.org/my%20data/", None, "", "my data", "https://h.org/my%20data/"),
        ("zip::s3://b/x.bin", "zip", "", "x.bin", "s3://b/x.bin"),
        ("zip://in/3::s3://b/x.zip", "zip", "in/3", "3", "s3://b/x.zip"),
        ("tar://in::https://h.org/x.tgz", "tar", "in", "in", "https://h.org/x.tgz"),
        ("filecache::s3://b/x", None, "", "x", "filecache::s3://b/x"),
        ("memory://a/b", None, "", "b", "memory://a/b"),
    ],
)
def test_what_an_address_is_taken_for(text: str, archive: str | None, inner: str, name: str, url: str) -> None:
    found = parsed(text)
    assert (found.archive, found.inner, found.name, found.url) == (archive, inner, name, url)


def test_names_of_folders_are_plain() -> None:
    assert parsed("s3://b/ä ö/..").name == "data"
    assert parsed("s3://b/ä ö").folder_name.startswith("data-")
    assert parsed("s3://b/a+b c").folder_name.startswith("a-b-c-")
    assert parsed("s3://b/x").folder_name != parsed("s3://c/x").folder_name


@given(user=SECRETS, password=SECRETS, signature=SECRETS)
def test_secrets_are_neither_shown_nor_in_the_key(user: str, password: str, signature: str) -> None:
    query = f"id=7&X-Amz-Signature={signature}&Expires=9&sig={signature}"
    found = parsed(f"https://{user}:{password}@h.org/a/x.zip?{query}#{signature}")
    assert found.shown == "https://…@h.org/a/x.zip?…"
    assert found.has_secrets
    assert found.key == parsed("https://h.org/a/x.zip?id=7").key
    assert found.key != parsed("https://h.org/a/x.zip?id=8").key
    chained = parsed(f"zip://in::https://{user}:{password}@h.org/a/x.zip?{query}")
    for one in (found, chained, parsed(f"sftp://{user}:{password}@h.org/a")):
        for secret in (user, password, signature):
            assert secret not in one.shown + one.name + one.folder_name


def test_an_object_may_have_odd_characters() -> None:
    found = parsed("s3://bucket/a@b?c#d/e")
    assert (found.shown, found.has_secrets) == ("s3://bucket/a@b?c#d/e", False)


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost:9", "127.8.8.8"])
def test_plain_http_from_this_machine(host: str) -> None:
    assert parsed(f"http://{host}/x/").url == f"http://{host}/x/"


@pytest.mark.parametrize(
    "text", ["http://h.org/x/", "zip::http://h.org/x.zip", "HTTP://10.0.0.1/x", "http://localhost.evil.org/"]
)
def test_plain_http_from_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="use https"):
        parse_address(text)


@pytest.mark.parametrize("text", ["https:///x", "zip::x y::s3://b/x", "https://[::1/x"])
def test_what_is_no_url(text: str) -> None:
    with pytest.raises(UserError, match="--data-dir"):
        parse_address(text)
