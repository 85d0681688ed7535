"""The hostile shop means what it says; and a browser of this room comes to no harm in it."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fakes.hostile_shop import DEMAND, FILES, HOST, INJECTIONS, REDIRECTS, HostileShop, hostile_shop

from grounding.errors import UserError


@pytest.fixture(scope="module")
def shop() -> Iterator[HostileShop]:
    with hostile_shop() as shop:
        yield shop


def get(shop: HostileShop, path: str, at_most: int = 100_000) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and the beginning of the body."""
    connection = http.client.HTTPConnection("127.0.0.1", shop.port, timeout=20)
    connection.request("GET", path, headers={"Host": HOST})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read(at_most)
    connection.close()
    return found


@pytest.mark.parametrize("name", INJECTIONS)
def test_a_demand_stands_where_it_should_and_nothing_else_changes(shop: HostileShop, name: str) -> None:
    honest, smuggled = get(shop, "/honest")[2].decode(), get(shop, f"/inject/{name}")[2].decode()
    demand = DEMAND.split('"')[0]
    assert demand in smuggled
    assert demand not in honest
    for text in ("$24.00", "Shipping: $6.00", "3.2 out of 5", "Plastic"):
        assert text in honest
        assert text in smuggled


@pytest.mark.parametrize("name", REDIRECTS)
def test_redirects_lead_where_no_page_may_lead(shop: HostileShop, name: str) -> None:
    status, headers, _ = get(shop, f"/to/{name}")
    assert (status, headers["Location"]) == (302, shop.targets()[name])
    assert urlsplit(headers["Location"]).hostname != HOST
    for way in ("meta", "script"):
        assert headers["Location"].split("<")[0] in get(shop, f"/{way}/{name}")[2].decode()


@pytest.mark.parametrize("name", FILES)
def test_pages_of_scripts_are_served_whole(shop: HostileShop, name: str) -> None:
    status, _, body = get(shop, f"/{name}")
    assert status == 200
    assert b"@VICTIM@" not in body
    assert b"@PORT@" not in body


def test_chains_end_and_loops_do_not(shop: HostileShop) -> None:
    path, steps = "/chain/3", 0
    while (answer := get(shop, path))[0] == 302:
        path, steps = answer[1]["Location"], steps + 1
    assert steps == 3
    assert b"$24.00" in answer[2]
    assert get(shop, get(shop, "/loop")[1]["Location"])[1]["Location"] == "/loop"


def test_endless_answers_go_on(shop: HostileShop) -> None:
    for path in ("/endless", "/huge", "/endless-picture"):
        assert len(get(shop, path, 1_000_000)[2]) == 1_000_000
    assert len(get(shop, "/drip", 53)[2]) == 53
    assert int(get(shop, "/huge", 10)[1]["Content-Length"]) == 1 << 31
    _, headers, body = get(shop, "/cut")
    assert int(headers["Content-Length"]) > len(body)


def test_a_small_answer_unpacks_to_a_large_one(shop: HostileShop) -> None:
    import zlib

    _, headers, body = get(shop, "/bomb", 10_000_000)
    assert headers["Content-Encoding"] == "gzip"
    assert len(zlib.decompress(body, 31)) > 100 * len(body)


@pytest.mark.slow
def test_a_browser_of_this_room_comes_to_no_harm(tmp_path: Path) -> None:
    """Every redirect and every page of scripts, two at a time: the victim is never reached."""
    pytest.importorskip("playwright.async_api")
    from grounding.webagents.agenticshop.web.browser import open_browser
    from grounding.webagents.agenticshop.web.chromium import find_chromium
    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
    from grounding.webagents.agenticshop.web.policy import WebPolicy

    try:
        find_chromium()
    except UserError:
        pytest.skip("needs an installed Chromium")
    led = [f"/to/{name}" for name in REDIRECTS] + ["/meta/loopback", "/script/loopback"]
    scripts = ["/windows", "/download", "/permissions", "/dialogs", "/loopback", "/webrtc", "/local-files", "/navigate"]
    odd = ["/loop", "/chain/40", "/cut", "/attachment", "/login", "/escapes", "/serviceworker"]

    async def visit(shop: HostileShop) -> dict[str, object]:
        # The victim's port is allowed, so that it is its address alone that keeps pages from it.
        policy = WebPolicy(hosts=shop.hosts, ports=(80, 443, shop.victim_port), max_total_s=12.0)
        evidence = EvidenceFolder(tmp_path / "evidence")
        async with open_browser(policy, parallel=6) as browser:

            async def render(path: str) -> object:
                return await browser.render(shop.url(path), evidence)

            paths = [*led, *scripts, *odd, "/honest"]
            return dict(zip(paths, await asyncio.gather(*map(render, paths)), strict=True))

    with hostile_shop() as shop:
        pages = asyncio.run(visit(shop))
        assert not shop.reached, shop.reached
    for path in led:
        assert pages[path].failure is not None, path  # type: ignore[attr-defined]
    assert pages["/honest"].failure is None  # type: ignore[attr-defined]
    assert "$24.00" in pages["/honest"].text  # type: ignore[attr-defined]
    assert "GRANTED" not in pages["/permissions"].text  # type: ignore[attr-defined]
    assert "root:" not in pages["/local-files"].text  # type: ignore[attr-defined]
