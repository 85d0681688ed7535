"""Pages that mean harm, in a real browser: what they reach for never hears of them, and they come to an end."""

from __future__ import annotations

import asyncio
import gzip
import time

import pytest

from .conftest import World, trouble
from .sites import Answer, http, redirect

pytestmark = pytest.mark.slow


RELATIONS = (
    "stylesheet", "prefetch", "preload", "preconnect", "dns-prefetch", "modulepreload", "icon", "prerender",
)  # fmt: skip


def page(body: str, head: str = "") -> Answer:
    return http(f"<!doctype html><html><head><title>t</title>{head}</head><body><h1>A page</h1>{body}</body></html>")


def test_redirects_never_lead_to_addresses_of_this_machine(world: World) -> None:
    inside = f"127.0.0.1:{world.canary.port}"
    hosts = ("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "localhost",
             "rebinding.example", "mixed.example")  # fmt: skip
    for target in (
        *(f"http://{host}:{world.canary.port}/" for host in hosts),
        "http://169.254.169.254/latest/meta-data/", f"http://{inside}/", f"https://{inside}/", f"http://a:b@{inside}/",
        "http://10.0.0.1/", "file:///etc/passwd", "ftp://shop.test/file", "data:text/html,x", "javascript:alert(1)",
        "chrome://version",
    ):  # fmt: skip
        shown = world.show(redirect(target))
        # To a script no browser goes at all.
        assert trouble(shown) == ("no-answer" if target.startswith("javascript") else "refused"), (
            target,
            shown.failure,
        )
        assert shown.segments == ()
        assert shown.text == ""
        assert shown.html_file == ""
    assert world.unheard()


def test_nothing_within_a_page_reaches_this_machine(world: World) -> None:
    inside = f"127.0.0.1:{world.canary.port}"
    named = f"rebinding.example:{world.canary.port}"
    tried = "".join(
        f"""
        <img src="http://{host}/img"><iframe src="http://{host}/iframe"></iframe><script src="http://{host}/js"></script>
        <video src="http://{host}/video" autoplay></video><object data="http://{host}/object"></object>
        <embed src="http://{host}/embed"><img src="https://{host}/tls">
        """
        for host in (inside, named, f"localhost:{world.canary.port}", f"[::1]:{world.canary.port}")
    )
    links = "".join(f'<link rel="{rel}" href="http://{inside}/{rel}" as="script">' for rel in RELATIONS)
    rules = f'<script type="speculationrules">{{"prefetch":[{{"urls":["http://{inside}/spec"],"eagerness":"immediate"}}]}}</script>'
    script = f"""<script>
    const wait = [];
    for (const host of ["{inside}", "{named}"]) {{
      wait.push(fetch("http://" + host + "/fetch", {{mode: "no-cors"}}).catch(() => 0));
      new WebSocket("ws://" + host + "/ws"); new WebSocket("wss://" + host + "/wss");
      new EventSource("http://" + host + "/events");
      navigator.sendBeacon("http://" + host + "/beacon", "x");
      const request = new XMLHttpRequest(); request.open("GET", "http://" + host + "/xhr"); request.send();
      const work = "fetch('http://" + host + "/worker', {{mode:'no-cors'}})";
      const worker = new Worker(URL.createObjectURL(new Blob([work])));
      try {{ window.open("http://" + host + "/window"); }} catch {{}}
      try {{ new WebTransport("https://" + host + "/wt").ready.catch(() => 0); }} catch {{}}
    }}
    const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:127.0.0.1:{world.udp_port}"}},
      {{urls: "turn:{inside}?transport=tcp", username: "a", credential: "b"}}]}});
    peer.createDataChannel("x"); peer.createOffer().then((offer) => peer.setLocalDescription(offer));
    Promise.allSettled(wait).then(() => {{ document.body.append("all tried"); }});
    </script>
    <form id=f action="http://{inside}/form" target=inner><input name=a></form><iframe name=inner></iframe>
    <script>document.getElementById("f").submit()</script>"""
    local = """<iframe src="file:///etc/passwd"></iframe><object data="file:///etc/passwd"></object><script>
    for (const url of ["file:///etc/passwd", "/etc/passwd"]) fetch(url).then((one) => one.text()).then((text) =>
      document.body.append(text), () => 0);</script>"""
    shown = world.show(page(tried + script + local, links + rules))
    assert shown.failure is None
    assert "all tried" in shown.text
    assert "root:" not in shown.text
    assert shown.blocked_requests > 20
    world.run(asyncio.sleep(0.5))
    assert world.unheard(), (world.canary.asked, world.udp.heard)


@pytest.mark.parametrize(
    "head",
    [
        '<meta http-equiv="refresh" content="0;url=http://{inside}/meta">',
        "<script>location.href = 'http://{inside}/location'</script>",
        "<script>location.replace('http://{inside}/replace')</script>",
    ],
)
def test_pages_that_go_on_by_themselves_are_refused_like_redirects(world: World, head: str) -> None:
    shown = world.show(page("going", head.replace("{inside}", f"127.0.0.1:{world.canary.port}")))
    assert trouble(shown) == "refused"
    assert world.unheard()


@pytest.mark.parametrize(
    "target", ["'about:blank'", "URL.createObjectURL(new Blob(['<h1>x</h1>'], {type: 'text/html'}))"]
)
def test_a_page_that_leaves_the_web_is_no_page(world: World, target: str) -> None:
    shown = world.show(page(f"<script>onload = () => {{ location.href = {target} }}</script>"))
    assert (trouble(shown), shown.text, shown.segments) == ("not-a-page", "", ())


def test_redirects_end(world: World) -> None:
    async def onward(writer: asyncio.StreamWriter, head: bytes) -> None:
        number = int(head.split(b" ")[1].partition(b"=")[2] or b"0") + 1
        await redirect(f"http://shop.test/loop?n={number}")(writer, head)

    world.site.pages["/loop"] = onward
    shown = world.render("/loop?n=0")
    assert trouble(shown) == "too-many-redirects"
    # The browser is some steps ahead of what it tells us; left alone it goes on to its own limit of 20.
    assert len(world.site.asked) <= 20

    world.site.pages["/again"] = page("", "<script>location.href = '/again?' + Math.random()</script>")
    world.site.asked.clear()
    shown = world.render("/again")
    assert trouble(shown) == "too-many-redirects"
    assert len(world.site.asked) <= 500


def test_an_endless_page_ends(world: World) -> None:
    endless = """<script>
    const more = () => { for (let i = 0; i < 20; i++) { const p = document.createElement("p");
      p.style.height = "100px"; p.textContent = "more and more " + i; document.body.append(p); } };
    more(); addEventListener("scroll", more);
    </script>"""
    shown = world.show(page(endless))
    assert shown.failure is None
    assert len(shown.segments) == 4
    assert [segment.top_px for segment in shown.segments] == [0, 720, 1440, 2160]


def test_documents_that_are_too_large_are_no_pages(world: World) -> None:
    told = world.show(http("x" * (3 << 20)))
    assert trouble(told) == "too-large"

    async def untold(writer: asyncio.StreamWriter, _head: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<h1>big</h1>")
        for _ in range(2000):
            writer.write(b"<p>" + b"y" * 60_000)
            await writer.drain()

    began = time.monotonic()
    assert trouble(world.show(untold)) == "too-large"
    assert time.monotonic() - began < 30

    grown = page("<script>document.body.append('z'.repeat(3 << 20))</script>")
    assert trouble(world.show(grown)) == "too-large"


def test_a_document_that_unpacks_to_too_much_is_no_page(world: World) -> None:
    packed = gzip.compress(b"<p>" + b" " * (120 << 20), compresslevel=1)
    assert len(packed) < 1 << 20
    assert trouble(world.show(http(packed, "Content-Encoding: gzip"))) == "too-large"


def test_a_page_may_not_load_without_end(world: World) -> None:
    world.site.pages["/blob"] = http(b"\0" * (1 << 20), kind="application/octet-stream")
    script = (
        "<script>(async () => { for (let i = 0; i < 50; i++) await fetch('/blob?' + i).catch(() => 0) })()</script>"
    )
    shown = world.show(page(script))
    assert world.site.asked.count("/page") == 1
    assert len([path for path in world.site.asked if path.startswith("/blob")]) <= 6
    assert shown.blocked_requests > 0


def test_a_slow_drip_ends(world: World) -> None:
    async def drip(writer: asyncio.StreamWriter, _head: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<h1>slow</h1>")
        for _ in range(200):
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.1)

    with world.in_a_hurry():
        began = time.monotonic()
        assert trouble(world.show(drip)) == "too-slow"
        assert time.monotonic() - began < 15

    async def silent(_writer: asyncio.StreamWriter, _head: bytes) -> None:
        await asyncio.sleep(30)

    with world.in_a_hurry():
        began = time.monotonic()
        assert trouble(world.show(silent)) == "too-slow"
        assert time.monotonic() - began < 15


def test_a_page_that_is_busy_for_ever_ends(world: World) -> None:
    late = "<script>addEventListener('load', () => setTimeout(() => { while (true) {} }, 100))</script>"
    with world.in_a_hurry():
        began = time.monotonic()
        assert trouble(world.show(page("<script>while (true) {}</script>"))) == "too-slow"
        assert trouble(world.show(page(late))) == "too-slow"
        assert time.monotonic() - began < 40


def test_windows_dialogs_and_downloads_come_to_nothing(world: World) -> None:
    world.site.pages["/file"] = http(
        b"MZ" * 500, "Content-Disposition: attachment; filename=x.exe", kind="application/x-msdownload"
    )
    world.site.pages["/popup"] = page("popup")
    script = """<script>
    alert("one"); document.body.append(" confirm:" + confirm("two") + " prompt:" + prompt("three", "default"));
    addEventListener("beforeunload", (event) => { event.preventDefault(); event.returnValue = "stay"; });
    window.open("/popup"); window.open("/popup", "w", "width=100,height=100");
    const a = document.createElement("a"); a.href = "/file"; a.download = "x.exe"; document.body.append(a); a.click();
    const b = document.createElement("a"); b.href = URL.createObjectURL(new Blob(["data"])); b.download = "y";
    b.click();
    </script>"""
    shown = world.show(page(script))
    assert shown.failure is None
    assert "confirm:false prompt:null" in shown.text
    assert trouble(world.render("/file")) == "not-a-page"


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/octet-stream", "application/json"])
def test_files_are_no_pages(world: World, kind: str) -> None:
    shown = world.show(http(b"%PDF-1.7", kind=kind))
    assert trouble(shown) == "not-a-page"
    assert shown.content_type == kind
    assert shown.status == 200


def test_no_page_remembers_another(world: World) -> None:
    script = """<p id=out></p><script>
    out.textContent = "cookie:[" + document.cookie + "] stored:[" + localStorage.getItem("k") + "]";
    document.cookie = "k=v; max-age=10000"; localStorage.setItem("k", "v")</script>"""
    world.site.pages["/memory"] = http(
        f"<!doctype html><body>{script}</body>",
        "Set-Cookie: server=1; Max-Age=10000",
        "ETag: abc",
        "Cache-Control: max-age=9999",
    )
    for _ in range(2):
        shown = world.render("/memory")
        assert "cookie:[server=1] stored:[null]" in shown.text
    assert world.site.asked.count("/memory") == 2
    # A page's own icon comes with the page's own cookies; no page comes with those of another.
    heads = [head.lower() for head in world.site.heads if head.startswith(b"GET /memory")]
    assert not any(b"cookie" in head or b"if-none-match" in head for head in heads)


def test_a_page_whose_names_stand_in_for_the_documents_is_read(world: World) -> None:
    clobbered = """<form name=body></form><form name=title></form><form name=documentElement></form><img name=images>
    <form name=querySelectorAll></form><form name=doctype></form><form><input name=matches><input name=shadowRoot>
    <input name=getAttribute><input name=id></form><p>still read</p>
    <script>Array.prototype.map = String.prototype.slice = JSON.stringify = Promise.race = () => { throw 1 };
    Object.defineProperty(document, "fonts", {get() { throw 2 }});
    Element.prototype.getBoundingClientRect = () => { throw 3 }</script>"""
    shown = world.show(page(clobbered))
    assert shown.failure is None, shown.failure
    assert shown.title == "t"
    assert "still read" in shown.text
    assert shown.dismissed == ()


def test_a_form_whose_fields_are_called_like_its_methods_loses_no_page(world: World) -> None:
    fields = ("matches", "querySelector", "checkVisibility", "innerText", "style", "id", "className", "children")
    forms = "".join(
        f'<form role=dialog style="position:fixed;top:0;width:90vw;height:9vh">We use cookies<input name={name}></form>'
        for name in fields
    )
    shade = """<div id=host></div><script>host.attachShadow({mode: "open"}).innerHTML =
    "<form>in the shade<input name=matches></form>"</script>"""
    shown = world.show(page(forms + shade))
    assert shown.failure is None, shown.failure
    assert "in the shade" in shown.text
    assert "cookies" in shown.dismissed


def test_frames_of_other_sites_are_bounded_and_waited_for(world: World) -> None:
    async def late(writer: asyncio.StreamWriter, head: bytes) -> None:
        await asyncio.sleep(0.6)
        await page("<script>parent.postMessage('the frame is here', '*')</script>")(writer, head)

    world.site.pages["/late"] = late
    shown = world.show(
        page("""<p id=out></p><iframe src="http://other.test/late"></iframe>
    <script>onmessage = (event) => { out.textContent = event.data }</script>""")
    )
    assert "the frame is here" in shown.text

    packed = gzip.compress(b"<p>" + b" " * (200 << 20), compresslevel=1)
    world.site.pages["/bomb"] = http(packed, "Content-Encoding: gzip")
    shown = world.show(page("""<iframe src="http://other.test/bomb"></iframe>"""))
    assert trouble(shown) == "too-large"
