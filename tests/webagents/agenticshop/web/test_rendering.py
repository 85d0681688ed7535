"""Pages as they should be, in a real browser: what is kept of them, and what is taken away before."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json

import pytest
from PIL import Image

from grounding.webagents.agenticshop.records import RenderedPage, Segment
from grounding.webagents.agenticshop.web.evidence import load_html
from grounding.webagents.agenticshop.web.visits import Arrived, Refused

from .conftest import World, trouble
from .sites import Answer, http

pytestmark = pytest.mark.slow


def page(body: str, head: str = "") -> Answer:
    return http(f"<!doctype html><html><head><title>Oak stool</title>{head}</head><body>{body}</body></html>")


def picture(world: World, segment: Segment) -> Image.Image:
    return Image.open(io.BytesIO(world.evidence.get(segment.file))).convert("RGB")


SHOP = """
<header style="position:sticky;top:0;height:60px;background:#f00"></header>
<div style="position:fixed;bottom:0;left:0;right:0;height:40px;background:#00f"></div>
<main><h1>Oak stool</h1><p style="margin:0">Price 49,90 €</p><p hidden>never shown</p>
<p style="display:none">nor this</p>
<img alt="a stool in oak" width=10 height=10 src="/stool.png">
<div style="height:1500px"></div>
<div id=reviews style="height:400px;background:#0f0">loading</div><img id=late loading=lazy src="/late.png"></main>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Oak stool"}</script>
<script>new IntersectionObserver(async (seen) => { if (seen.some((each) => each.isIntersecting)) {
  const answer = await fetch("/reviews"); reviews.textContent = await answer.text(); } }).observe(reviews);</script>
"""


def show_shop(world: World) -> RenderedPage:
    async def reviews(writer: asyncio.StreamWriter, head: bytes) -> None:
        await asyncio.sleep(0.3)
        await http("Sturdy and quiet. 5 of 5", kind="text/plain")(writer, head)

    image = io.BytesIO()
    Image.new("RGB", (10, 10), (1, 2, 3)).save(image, "PNG")
    drawn = http(image.getvalue(), kind="image/png")
    world.site.pages |= {"/reviews": reviews, "/stool.png": drawn, "/late.png": drawn}
    return world.show(page(SHOP, "<style>body{margin:0;background:#fff}</style>"))


def test_a_page_is_kept_whole(world: World) -> None:
    shown = show_shop(world)
    assert shown.failure is None
    assert (shown.status, shown.content_type, shown.title) == (200, "text/html", "Oak stool")
    assert shown.final_url == shown.url == "http://shop.test/page"
    assert shown.redirects == ()
    assert shown.fetched_at.endswith("+00:00")
    assert "Price 49,90 €" in shown.text
    assert "Sturdy and quiet" in shown.text
    assert "loading" not in shown.text
    assert "shown" not in shown.text
    assert "nor this" not in shown.text
    assert "/late.png" in world.site.asked
    assert [json.loads(block.json)["name"] for block in shown.data] == ["Oak stool"]

    html = load_html(shown, world.evidence)
    assert html.startswith("<!DOCTYPE html>\n<html>")
    assert "Sturdy and quiet" in html
    assert hashlib.sha256(html.encode()).hexdigest() == shown.html_sha256


def test_segments_are_the_page_in_its_own_pixels(world: World) -> None:
    shown = show_shop(world)
    tops = [segment.top_px for segment in shown.segments]
    # Bars that stay are in the first picture only, and the second begins where the lower one hides the page.
    assert tops[:2] == [0, 680]
    for segment in shown.segments:
        image = picture(world, segment)
        assert image.size == (segment.size.width, segment.size.height) == (1280, 720)
        red = [top + y for y in range(720) if image.getpixel((5, y)) == (255, 0, 0) for top in (segment.top_px,)]
        blue = [y for y in range(720) if image.getpixel((5, y)) == (0, 0, 255)]
        assert red == (list(range(60)) if segment.top_px == 0 else [])
        assert blue == (list(range(680, 720)) if segment.top_px == 0 else [])
    last = picture(world, shown.segments[-1])
    green = [shown.segments[-1].top_px + y for y in range(720) if last.getpixel((600, y)) == (0, 255, 0)]
    assert len(green) == 400


def test_the_same_page_is_kept_alike(world: World) -> None:
    first, second = show_shop(world), show_shop(world)
    assert first.html_sha256 == second.html_sha256
    assert first.segments == second.segments
    assert first.text == second.text
    assert first.data == second.data


def test_a_page_of_an_error_is_a_page_all_the_same(world: World) -> None:
    shown = world.show(http("<h1>Gone for good</h1>", status="404 Not Found"))
    assert shown.failure is None
    assert shown.status == 404
    assert "Gone for good" in shown.text
    assert len(shown.segments) == 1


def test_shadow_trees_are_read_and_kept(world: World) -> None:
    script = """<my-price></my-price><script>
    customElements.define("my-price", class extends HTMLElement { connectedCallback() {
      this.attachShadow({mode: "open"}).innerHTML = "<style>b{color:red}</style><b>12,00 € in the shade</b>";
    } });</script>"""
    shown = world.show(page(f"<h1>Outside</h1>{script}"))
    assert "12,00 € in the shade" in shown.text
    assert "color:red" not in shown.text
    assert "<b>12,00 € in the shade</b>" in load_html(shown, world.evidence)


CONSENT = [
    ("We use cookies to improve things.", ("Accept all", "Reject all", "Settings"), "reject all"),
    (
        "Wir verwenden Cookies auf dieser Seite.",
        ("Alle akzeptieren", "Nur notwendige Cookies"),
        "nur notwendige cookies",
    ),
    ("Nous utilisons des cookies.", ("Tout accepter", "Continuer sans accepter"), "continuer sans accepter"),
    ("Utilizamos cookies propias.", ("Aceptar todo",), "aceptar todo"),
    ("Questo sito utilizza cookie tecnici.", ("Accetta tutti", "Rifiuta"), "rifiuta"),
    ("Wij gebruiken cookies.", ("Alles accepteren", "Weigeren"), "weigeren"),
    ("当サイトではクッキーを使用しています", ("同意する", "拒否"), "拒否"),
]


def test_consent_is_refused_in_many_languages(world: World) -> None:
    banners = []
    for number, (text, buttons, _) in enumerate(CONSENT):
        said = "".join(
            f"<button onclick=\"this.closest('div').remove(); pressed.push(this.textContent)\">{button}</button>"
            for button in buttons
        )
        banners.append(f'<div style="position:fixed;top:{100 + number * 60}px;left:0;right:0">{text}{said}</div>')
    script = "<script>const pressed = []; setInterval(() => { document.title = pressed.join() }, 20)</script>"
    shown = world.show(page(f"<main><h1>Oak stool</h1></main>{script}{''.join(banners)}"))
    assert shown.failure is None, shown.failure
    assert shown.dismissed == tuple(f"cookies: pressed '{pressed}'" for _, _, pressed in CONSENT)
    assert shown.title.lower() == ",".join(pressed for _, _, pressed in CONSENT)
    assert not [text for text, _, _ in CONSENT if text in shown.text]


def test_nothing_that_buys_sends_or_leads_away_is_pressed(world: World) -> None:
    banner = """<div style="position:fixed;top:0;left:0;width:100%;background:#fff;z-index:9" class="cookie-consent">
    We use cookies. <a href="/elsewhere">Reject all</a> <form action="/sent"><button>Accept</button></form>
    <button onclick="document.title='bought'">OK, buy now</button> <button disabled>Decline</button>
    <a href="https://other.test/">Close</a></div>"""
    bar = """<div style="position:fixed;bottom:0;width:100%">Oak stool
    <button onclick="document.title='bought'">Add to cart</button></div>"""
    shown = world.show(page(f"<main><h1>Oak stool</h1></main>{banner}{bar}"))
    assert shown.failure is None, shown.failure
    assert shown.dismissed == ("cookies: hidden",)
    assert shown.title == "Oak stool"
    assert "Add to cart" in shown.text
    assert not {"/elsewhere", "/sent"} & set(world.site.asked)

    # A button that says no and means go is stopped, and the page is still the page.
    sly = """<div style="position:fixed;top:0;width:100%">We use cookies.
    <button onclick="location.href='/elsewhere'">Reject all</button></div>
    <div role=dialog style="position:fixed;bottom:0;width:100%">Join our newsletter
    <button onclick="document.forms[0].submit()">No thanks</button></div><form action="/sent"></form>"""
    shown = world.show(page(f"<main><h1>Oak stool</h1></main>{sly}"))
    assert shown.final_url == "http://shop.test/page"
    assert not {"/elsewhere", "/sent"} & set(world.site.asked)
    assert shown.failure is None, shown.failure
    assert shown.dismissed == (
        "cookies: pressed 'reject all', then hidden",
        "newsletter: pressed 'no thanks', then hidden",
    )


def test_windows_over_the_page_are_closed_and_it_can_be_scrolled_again(world: World) -> None:
    modal = """<div class=backdrop style="position:fixed;inset:0;background:rgba(0,0,0,.6);z-index:8"></div>
    <div role=dialog aria-modal=true
      style="position:fixed;top:100px;left:200px;width:700px;height:400px;background:#fff;z-index:9">
    Get 10% off your first order! <input type=email placeholder="Enter your email"> <button>Subscribe</button>
    <button aria-label="Close" onclick="this.parentElement.remove()"><svg width=10 height=10></svg></button></div>"""
    body = f"<main><h1>Oak stool</h1><div style='height:2000px'></div><p>The very end</p></main>{modal}"
    shown = world.show(page(body, "<style>html,body{overflow:hidden;height:100%;margin:0}</style>"))
    assert shown.failure is None, shown.failure
    assert shown.dismissed == ("newsletter: pressed 'close'",)
    assert len(shown.segments) == 3
    first = picture(world, shown.segments[0])
    assert first.getpixel((5, 700)) == (255, 255, 255)


def test_a_shop_of_cookies_keeps_its_cookies(world: World) -> None:
    body = """<main><h1>Chocolate cookies</h1><p>Our cookies are baked daily. Accept no other cookies.</p></main>
    <div style="position:fixed;bottom:0;width:100%">Chocolate cookies 4,90 € <button>Add to cart</button></div>
    <footer><a href="/cookie-policy">Cookie policy</a></footer>"""
    shown = world.show(page(body))
    assert shown.failure is None, shown.failure
    assert shown.dismissed == ()
    assert "4,90 €" in shown.text
    assert "baked daily" in shown.text


def test_web_sockets_go_through_the_guard_to_the_data_sets_own_hosts(world: World) -> None:
    async def socket(writer: asyncio.StreamWriter, head: bytes) -> None:
        import base64

        key = head.partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + b"\x81\x05hello"
        )
        await writer.drain()
        await asyncio.sleep(0.3)

    world.site.pages["/socket"] = socket
    script = """<p id=out></p><script>
    new WebSocket("ws://other.test/socket").onmessage = (event) => { out.textContent = event.data }</script>"""
    shown = world.show(page(script))
    assert "hello" in shown.text
    assert shown.blocked_requests == 0


def test_the_browser_says_who_it_is(world: World) -> None:
    show_shop(world)
    agents = {
        line for head in world.site.heads for line in head.split(b"\r\n") if line.lower().startswith(b"user-agent:")
    }
    assert len(agents) == 1
    agent = agents.pop()
    assert b"Chrome/" in agent
    assert b" grounding/" in agent
    languages = {
        line
        for head in world.site.heads
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"accept-language:")
    }
    assert languages == {b"Accept-Language: en-US"}
    assert "Chromium/" in world.browser.identity
    assert "rendering-" in world.browser.identity


def test_many_at_once_are_as_many_as_allowed(world: World) -> None:
    world.site.pages["/many"] = page("<h1>One of many</h1>")

    async def all_of_them() -> list[RenderedPage]:
        works = [world.browser.render(f"http://shop.test/many?{number}", world.evidence) for number in range(4)]
        return list(await asyncio.gather(*works))

    pages = world.run(all_of_them())
    assert [trouble(each) for each in pages] == [""] * 4
    assert len({each.html_file for each in pages}) == 1


def test_an_agents_session_is_under_the_same_rules(world: World) -> None:
    world.site.pages |= {
        "/shop": page("""<h1>Shop</h1><a id=next href="/next">next</a> <a id=out href="http://169.254.169.254/">out</a>
        <a id=new target=_blank href="/new">new</a>
        <button id=ask onclick="document.title = confirm('sure?')">ask</button>"""),
        "/next": page("<h1>Next</h1>"), "/new": page("<h1>New</h1>"),
    }  # fmt: skip

    async def walk() -> None:
        async with world.browser.session() as session:
            assert await session.goto("http://shop.test/shop") == Arrived(url="http://shop.test/shop", status=200)
            assert "Shop" in await session.text()
            assert (await session.screenshot()).startswith(b"\x89PNG")
            await session.page.click("#ask")
            assert await session.page.title() == "false"
            await session.page.click("#new")
            await session.settle()
            for _ in range(40):
                popups = session.take_popups()
                if popups:
                    break
                await asyncio.sleep(0.05)
            assert popups == ("http://shop.test/new",)
            assert len(session.page.context.pages) == 1
            await session.page.click("#next")
            await session.settle()
            assert session.page.url == "http://shop.test/next"
            refused = await session.goto(f"http://127.0.0.1:{world.canary.port}/")
            assert isinstance(refused, Refused)
            assert refused.trouble == "refused"
            for url in (
                "file:///etc/passwd",
                "javascript:alert(1)",
                "data:text/html,x",
                "chrome://version",
                "about:blank",
            ):
                assert isinstance(await session.goto(url), Refused), url
            assert await session.goto("http://shop.test/shop") == Arrived(url="http://shop.test/shop", status=200)
            await session.page.click("#out", no_wait_after=True)
            await session.settle()
            assert "http://169.254.169.254/" in [refusal.url for refusal in session.refusals]

    world.run(walk())
    assert world.unheard()
