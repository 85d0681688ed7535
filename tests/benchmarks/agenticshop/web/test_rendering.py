"""Pages as they should be, in a real browser: what is kept of them, and what is taken away before."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json

import pytest
from PIL import Image

from grounding.benchmarks.agenticshop.records import RenderedPage, Segment
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder, load_html
from grounding.benchmarks.agenticshop.web.guard import PageTrouble

from .conftest import World
from .sites import Answer, http

pytestmark = pytest.mark.slow


def page(body: str, head: str = "") -> Answer:
    return http(f"<!doctype html><html><head><title>Oak stool</title>{head}</head><body>{body}</body></html>")


def shown(world: World, body: str, head: str = "") -> RenderedPage:
    found = world.show(page(body, head))
    assert found.failure is None, found.failure
    return found


def picture(world: World, segment: Segment) -> Image.Image:
    return Image.open(io.BytesIO(world.evidence.get(segment.file))).convert("RGB")


SHOP = """
<header style="position:sticky;top:0;height:60px;background:#f00"></header>
<div style="position:fixed;bottom:0;left:0;right:0;height:40px;background:#00f"></div>
<main><h1>Oak stool</h1><p style="margin:0">Price 49,90 €</p><p hidden>never shown</p>
<p style="display:none">nor this</p><my-price></my-price>
<img alt="a stool in oak" width=10 height=10 src="/stool.png">
<div style="height:1500px"></div>
<div id=reviews style="height:400px;background:#0f0">loading</div><img id=late loading=lazy src="/late.png"></main>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Oak stool"}</script>
<script>new IntersectionObserver(async (seen) => { if (seen.some((each) => each.isIntersecting)) {
  const answer = await fetch("/reviews"); reviews.textContent = await answer.text(); } }).observe(reviews);
customElements.define("my-price", class extends HTMLElement { connectedCallback() {
  this.attachShadow({mode: "open"}).innerHTML = "<style>b{color:#111}</style><b>12,00 € in the shade</b>"; }
});</script>
"""


def test_a_page_is_kept_whole_and_alike_in_its_own_pixels(world: World) -> None:
    async def reviews(writer: asyncio.StreamWriter, head: bytes) -> None:
        await asyncio.sleep(0.3)
        await http("Sturdy and quiet. 5 of 5", kind="text/plain")(writer, head)

    image = io.BytesIO()
    Image.new("RGB", (10, 10), (1, 2, 3)).save(image, "PNG")
    drawn = http(image.getvalue(), kind="image/png")
    world.site.pages |= {"/reviews": reviews, "/stool.png": drawn, "/late.png": drawn}
    found, again = (shown(world, SHOP, "<style>body{margin:0;background:#fff}</style>") for _ in range(2))
    assert (found.html_file, found.segments, found.text, found.data) == (
        again.html_file, again.segments, again.text, again.data,
    )  # fmt: skip
    assert (found.status, found.content_type, found.title) == (200, "text/html", "Oak stool")
    assert found.final_url == "http://shop.test/page"
    assert found.fetched_at.endswith("+00:00")
    for said in ("Price 49,90 €", "Sturdy and quiet", "12,00 € in the shade"):
        assert said in found.text
    for hidden in ("loading", "shown", "nor this", "#111"):
        assert hidden not in found.text
    assert "/late.png" in world.site.asked
    assert [json.loads(block.json)["name"] for block in found.data] == ["Oak stool"]
    html = load_html(found, world.evidence)
    assert html.startswith("<!DOCTYPE html>\n<html>")
    assert "Sturdy and quiet" in html
    assert "<b>12,00 € in the shade</b>" in html
    assert [segment.top_px for segment in found.segments][:2] == [0, 720]
    sizes = {picture(world, segment).size for segment in found.segments}
    assert sizes == {(segment.size.width, segment.size.height) for segment in found.segments} == {(1280, 720)}
    last = picture(world, found.segments[-1])
    assert sum(last.getpixel((600, y)) == (0, 255, 0) for y in range(720)) == 400


REVIEWS = 6
GROWING = """<h1>Oak stool</h1><div style="height:600px"></div><p id=mark>Reviews</p><script>
let next = 0;
const watch = new IntersectionObserver(async (seen) => {
  if (!seen.some((each) => each.isIntersecting)) return;
  watch.disconnect();
  const answer = await (await fetch(`/reviews?from=${next}`)).json();
  mark.before(Object.assign(document.createElement("p"), { textContent: answer.review }));
  next = answer.next;
  if (next !== null) watch.observe(mark);
});
watch.observe(mark);</script>"""


def test_what_comes_piece_by_piece_is_waited_for_to_its_end(world: World) -> None:
    async def reviews(writer: asyncio.StreamWriter, head: bytes) -> None:
        number = int(head.split(b" ")[1].partition(b"=")[2])
        await asyncio.sleep(0.2)
        said = {"review": f"Review {number + 1}.", "next": number + 1 if number + 1 < REVIEWS else None}
        await http(json.dumps(said), kind="application/json")(writer, head)

    world.site.pages["/reviews"] = reviews
    found = shown(world, GROWING)
    assert [number for number in range(REVIEWS) if f"Review {number + 1}." not in found.text] == []


def test_a_page_of_an_error_is_a_page(world: World) -> None:
    gone = world.show(http("<h1>Gone for good</h1>", status="404 Not Found"))
    assert (gone.failure, gone.status, len(gone.segments)) == (None, 404, 1)
    assert "Gone for good" in gone.text


def test_a_page_is_loaded_once_whoever_looks_at_it(world: World) -> None:
    world.site.pages["/once"] = page("<h1>Once</h1>")

    async def looked(times: int = 1) -> list[RenderedPage]:
        folder = EvidenceFolder(world.evidence.path)  # As another process, or a later start, would open it.
        return await asyncio.gather(*(world.browser.render("http://shop.test/once", folder) for _ in range(times)))

    found = world.run(looked(2))
    assert found == [found[0]] * 2 == world.run(looked()) * 2
    assert world.site.asked.count("/once") == 1
    (kept,) = world.evidence.path.glob("pages/*/*.json")
    # Where runs of an earlier version have it.
    flat = kept.rename(kept.parents[1] / kept.name)
    assert world.run(looked()) == found[:1]
    assert world.site.asked.count("/once") == 1
    flat.write_bytes(b"{")
    (anew,) = world.run(looked())
    assert (anew.text, anew.segments) == (found[0].text, found[0].segments)
    assert world.site.asked.count("/once") == 2
    assert kept.is_file()


CONSENT = (
    "We use cookies to improve things.", "Wir verwenden Cookies auf der Seite.", "Nous utilisons des cookies.",
    "Utilizamos cookies propias.", "Questo sito utilizza cookie tecnici.", "Wij gebruiken cookies.",
    "当サイトではクッキーを使用しています", "Sign up for our newsletter",
)  # fmt: skip


def test_banners_are_taken_out_of_view_and_nothing_is_pressed(world: World) -> None:
    banners = "".join(
        f'<div style="position:fixed;top:{100 + number * 60}px;left:0;right:0">{text}'
        f"<button onclick=\"document.title = 'pressed'\">Reject all</button></div>"
        for number, text in enumerate(CONSENT)
    )
    kept = """<div style="position:fixed;bottom:0;width:100%">Chocolate cookies 4,90 €
    <button onclick="document.title='bought'">Add to cart</button></div>
    <footer><a href="/cookie-policy">Cookie policy</a></footer>"""
    body = f"<main><h1>Chocolate cookies</h1>Our cookies are baked daily.</main>{kept}{banners}"
    found = shown(world, body)
    assert found.dismissed == ("cookies",) * 7 + ("newsletter",)
    assert found.title == "Oak stool"
    assert not [text for text in CONSENT if text in found.text]
    for said in ("Add to cart", "4,90 €", "baked daily", "Cookie policy"):
        assert said in found.text


def test_the_browser_says_who_it_is_and_web_sockets_reach_the_data_sets_own_hosts(world: World) -> None:
    async def socket(writer: asyncio.StreamWriter, head: bytes) -> None:
        key = head.partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + b"\x81\x05hello"
        )
        await writer.drain()
        await asyncio.sleep(0.3)

    world.site.pages["/socket"] = socket
    found = shown(
        world,
        """<p id=out></p><script>
    new WebSocket("ws://other.test/socket").onmessage = (event) => { out.textContent = event.data }</script>""",
    )
    assert "hello" in found.text
    assert found.blocked_requests == 0
    lines = {line for head in world.site.heads for line in head.split(b"\r\n")}
    (agent,) = {line for line in lines if line.lower().startswith(b"user-agent:")}
    assert b"Chrome/" in agent
    assert b" grounding/" in agent
    assert {line for line in lines if line.lower().startswith(b"accept-language:")} == {b"Accept-Language: en-US"}


def test_an_agents_session_is_under_the_same_rules(world: World) -> None:
    world.site.pages |= {
        "/shop": page("""<h1>Shop</h1><a id=next href="/next">next</a> <a id=out href="http://169.254.169.254/">out</a>
        <a id=new target=_blank href="/new">new</a>
        <button id=ask onclick="document.title = confirm('sure?')">ask</button>"""),
        "/next": page("<h1>Next</h1>"), "/new": page("<h1>New</h1>"),
    }  # fmt: skip

    async def walk() -> None:
        async with world.browser.session() as session:
            assert await session.visit("http://shop.test/shop") == 200
            await session.page.click("#ask")
            assert await session.page.title() == "false"
            await session.page.click("#new")
            await session.still(5.0)
            async with asyncio.timeout(20):
                while not session.popup or len(session.page.context.pages) > 1:
                    await asyncio.sleep(0.05)
            assert session.popup == "http://shop.test/new"
            await session.page.click("#next")
            await session.still(5.0)
            assert session.page.url == "http://shop.test/next"
            inside = f"http://127.0.0.1:{world.canary.port}/"
            odd = ("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "chrome://version", "about:blank")
            for url in (inside, *odd):
                with pytest.raises(PageTrouble) as raised:
                    await session.visit(url)
                assert raised.value.trouble == "refused", url
            assert await session.visit("http://shop.test/shop") == 200
            await session.page.click("#out", no_wait_after=True)
            await session.still(5.0)
            assert "169.254.169.254" in [refusal.place[0] for refusal in session.proxy.refusals]

    world.run(walk())
    assert world.unheard()
