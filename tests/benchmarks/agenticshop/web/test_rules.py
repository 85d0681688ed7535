"""What needs no browser: the rule of addresses, the folder of evidence, and finding the browser."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.records import RenderedPage
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder, load_html, put_html
from grounding.benchmarks.agenticshop.web.guard import (
    PageTrouble,
    WebPolicy,
    check_url,
    read_host,
    refused_address,
    refused_host,
)
from grounding.benchmarks.agenticshop.web.render import segment_tops
from grounding.errors import UserError

OPEN = WebPolicy()
MALL = WebPolicy(hosts={"kettle.mall.test": ("127.0.0.1", 8123)})
CLOSED = WebPolicy(hosts={"kettle.mall.test": ("127.0.0.1", 8123)}, open_web=False)

SPECIAL_4 = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
    "240.0.0.0/4",
]  # fmt: skip
SPECIAL_6 = [
    "::/128", "::1/128", "::ffff:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32",
    "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip


FLAGS = ("is_private", "is_loopback", "is_link_local", "is_multicast", "is_reserved", "is_unspecified")
CARRIED = ("ipv4_mapped", "sixtofour", "teredo")


@given(st.ip_addresses())
def test_what_is_let_through_is_public_by_all_accounts(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if not refused_address(str(address)):
        assert address.is_global
        assert not [flag for flag in (*FLAGS, "is_site_local") if getattr(address, flag, False)]
        assert not [form for form in CARRIED if getattr(address, form, None) is not None]


@given(st.sampled_from(SPECIAL_4 + SPECIAL_6).flatmap(lambda network: st.ip_addresses(network=network)))
def test_all_of_the_special_networks_is_refused(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert refused_address(str(address))
    assert refused_address(address.exploded)
    assert refused_host(str(address), OPEN)


@given(st.ip_addresses(v=4))
def test_no_form_that_carries_another_address_gets_through(inner: ipaddress.IPv4Address) -> None:
    number = int(inner)
    for text in (
        f"::ffff:{inner}", f"::{inner}", f"64:ff9b::{inner}",
        str(ipaddress.IPv6Address((0x2002 << 112) | (number << 80) | 1)),
        str(ipaddress.IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF))),
        str(ipaddress.IPv6Address((0x2A00_1450 << 96) | (0x5EFE << 32) | number)),
    ):  # fmt: skip
        assert refused_address(text), text


@given(st.ip_addresses(network="127.0.0.0/8"))
def test_no_spelling_of_loopback_gets_through(address: ipaddress.IPv4Address) -> None:
    number, parts = int(address), address.packed
    spellings = (
        str(number), hex(number), f"0{number:o}", ".".join(hex(part) for part in parts),
        ".".join(f"0{part:o}" for part in parts), f"{parts[0]}.{number & 0xFFFFFF}", f"{address}.",
        f"0{parts[0]:o}.{parts[1]}.{parts[2]}.{parts[3]}", ".".join(f"{part:03d}" for part in parts),
    )  # fmt: skip
    for spelling in spellings:
        assert refused_host(read_host(spelling), OPEN), spelling
        with pytest.raises(PageTrouble):
            check_url(f"http://{spelling}/", OPEN)


def test_public_addresses_and_names_get_through() -> None:
    for text in ("93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2a00:1450:4001:81b::200e"):
        assert refused_address(text) == ""
        assert refused_host(text, OPEN) == ""
    for host in ("example.com", "www.shop.example", "xn--bcher-kva.example", "a-b_c.example.co.uk", "1.example.com"):
        assert refused_host(host, OPEN) == ""


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "router", "a.localhost", "printer.local", "db.internal", "nas.lan", "x.home.arpa", "",
        "hidden.onion",
        "a..b.com", "-a.com", "a-.com", "a b.com", "a/b.com", "a@b.com", "ä.com", "x" * 64 + ".com", "fe80::1%eth0",
        "1.2.3.4.5", "256.1.1.1", "0x", "example.0x7f", "1.2.3", "metadata.google.internal", "168.63.129.16",
    ],
)  # fmt: skip
def test_names_of_the_own_network_and_no_names_are_refused(host: str) -> None:
    assert refused_host(host, OPEN)


def test_a_mapped_host_is_right_and_nothing_else_without_the_open_web() -> None:
    assert refused_host("kettle.mall.test", MALL) == ""
    assert refused_host("example.com", MALL) == ""
    assert refused_host("kettle.mall.test", CLOSED) == ""
    assert "none of the data set's own shops" in refused_host("example.com", CLOSED)
    assert refused_host("other.kettle.mall.test", CLOSED)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.com/", "javascript:alert(1)", "data:text/html,x", "blob:http://example.com/x",
        "chrome://version", "about:blank", "view-source:http://example.com", "ws://example.com/", "example.com", "",
        "http://", "http:///x", "http://user@example.com/", "http://user:secret@example.com/", "http://example.com:22/",
        "http://example.com:99999/", "http://example.com:x/", "http://exa mple.com/", "http://example.com\\@evil.com/",
        " http://example.com/", "http://example.com/\n", "http://[::1/", "http://[fe80::1%25eth0]/", "http://127.0.0.1/",
        "http://example.com/" + "x" * 5000, "http://127。0。0。1/", "http://①②⑦.0.0.1/", "http://localhost./",
    ],
)  # fmt: skip
def test_addresses_that_may_not_be_asked_for(url: str) -> None:
    with pytest.raises(PageTrouble) as raised:
        check_url(url, OPEN)
    assert raised.value.trouble == "refused"


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"http://example.com{text}"):
        with suppress(PageTrouble):
            check_url(url, OPEN)
            assert url.lower().startswith(("http://", "https://"))
    for url in ("HTTPS://WWW.Example.COM./a?b#c", "http://bücher.example/", "http://[2606:2800:21f:cb07::8b2c]/"):
        check_url(url, OPEN)
    check_url("http://kettle.mall.test:80/", MALL)


# --- evidence ---------------------------------------------------------------------------------------------------------


def kept(html: str, folder: EvidenceFolder) -> RenderedPage:
    return RenderedPage(url="http://shop.test/", html_file=put_html(html, folder))


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=200))
def test_documents_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = EvidenceFolder(tmp_path_factory.mktemp("evidence"))
    page = kept(text, folder)
    assert load_html(page, folder) == text.encode("utf-8", "replace").decode("utf-8")
    assert kept(text, folder) == page
    assert load_html(RenderedPage(url="http://shop.test/"), folder) == ""


def test_files_are_named_after_their_content_and_nothing_else_is_read(evidence: EvidenceFolder, tmp_path: Path) -> None:
    name = evidence.put(b"whole", ".png")
    (evidence.path / name).write_bytes(b"who")  # Half written: it is written again.
    assert (evidence.put(b"whole", ".png"), evidence.get(name)) == (name, b"whole")
    assert [path.name for path in evidence.path.iterdir()] == [name]
    for odd in ("../secret.png", "/etc/passwd", "", "A" * 64 + ".png", "0" * 64, "0" * 64 + ".png/../x"):
        with pytest.raises(UserError, match="no name of a file of evidence"):
            evidence.get(odd)
    (evidence.path / name).write_bytes(b"WHOLE")
    with pytest.raises(UserError, match="was changed"):
        evidence.get(name)
    (evidence.path / name).unlink()
    (tmp_path / "outside").write_bytes(b"whole")
    (evidence.path / name).symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="is not in"):
        evidence.get(name)


# --- small parts ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 50_000), st.integers(1, 12))
def test_segments_leave_no_gap(height: int, most: int) -> None:
    tops = segment_tops(height, most)
    assert tops[0] == 0
    assert len(tops) <= most
    assert list(tops) == sorted(set(tops))
    assert all(later - earlier <= 720 for earlier, later in pairwise(tops))
    if len(tops) < most:
        assert tops[-1] + 720 >= height
    assert tops[-1] == 0 or tops[-1] + 720 <= height
