"""The guard without a browser: what passes, what does not, and where connections are really made to."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from grounding.webagents.agenticshop.web.guard import Guard, Lane
from grounding.webagents.agenticshop.web.policy import WebPolicy

from .sites import Site, http, redirect, serving


def rules(site: Site, **options: Any) -> WebPolicy:
    chosen: dict[str, Any] = {"idle_s": 2.0, "connect_s": 2.0, "max_response_bytes": 100_000} | options
    return WebPolicy(hosts={"shop.test": ("127.0.0.1", site.port)}, **chosen)


@asynccontextmanager
async def open_lane(policy: WebPolicy, *, most: int = 1_000_000, **options: Any) -> AsyncIterator[Lane]:
    async with Guard(policy, **options).lane(most) as lane:
        yield lane


async def send(lane: Lane, request: str | bytes, *, credential: bool = True, more: bytes = b"") -> bytes:
    """What the guard says to a request, up to the end of the connection; "" where it broke off."""
    port = int(lane.proxy_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    text = request.encode() if isinstance(request, str) else request
    if credential:
        proof = base64.b64encode(f"{lane.USER}:{lane.secret}".encode())
        first, _, rest = text.partition(b"\r\n")
        text = first + b"\r\nProxy-Authorization: Basic " + proof + b"\r\n" + rest
    writer.write(text + b"\r\n" + more)
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def get(url: str, *fields: str) -> str:
    host = url.split("/")[2] if url.count("/") > 1 else url
    return "\r\n".join((f"GET {url} HTTP/1.1", f"Host: {host}", *fields, ""))


def connect(target: str) -> str:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"


def status(answer: bytes) -> int:
    return int(answer.split(b" ")[1])


def run(work: Any) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


def test_requests_are_passed_on_with_the_host_that_was_checked() -> None:
    async def work() -> None:
        answered = http("hello", "Set-Cookie: a=b", "Connection: Foo", "Foo: hop")
        async with serving({"/a": answered}) as site, open_lane(rules(site)) as lane:
            fields = ("Host: evil.test", "Cookie: x=y", "Proxy-Connection: z")
            answer = await send(lane, get("http://shop.test/a?b=c", *fields))
            assert status(answer) == 200
            assert answer.endswith(b"\r\n\r\nhello")
            assert b"Set-Cookie: a=b" in answer
            assert b"hop" not in answer
            assert lane.received_bytes == 5
            assert lane.refused == 0
        head = site.heads[0]
        assert head.startswith(b"GET /a?b=c HTTP/1.1\r\n")
        assert head.lower().count(b"host:") == 1
        assert b"Host: shop.test\r\n" in head
        assert b"Cookie: x=y" in head
        assert b"proxy" not in head.lower()
        assert lane.secret.encode() not in head

    run(work)


def test_bodies_are_passed_on_and_bounded() -> None:
    async def work() -> None:
        async def take(writer: asyncio.StreamWriter, head: bytes) -> None:
            await http(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])(writer, head)

        async with serving({"/form": take}) as site, open_lane(rules(site)) as lane:
            request = "POST http://shop.test/form HTTP/1.1\r\nContent-Length: {}\r\n"
            assert (await send(lane, request.format(5), more=b"a=b&c")).endswith(b"\r\n\r\n5")
            assert status(await send(lane, request.format(10**9))) == 403
            assert status(await send(lane, request.format("5\r\nContent-Length: 6"))) == 502
            assert (
                status(await send(lane, "POST http://shop.test/form HTTP/1.1\r\nTransfer-Encoding: chunked\r\n")) == 403
            )
            assert len(site.asked) == 1

    run(work)


@pytest.mark.parametrize(
    "request_text",
    [
        get("http://127.0.0.1/"), get("http://2130706433/"), get("http://0x7f.0.0.1/"), get("http://[::1]/"),
        get("http://[::ffff:10.0.0.1]/"), get("http://169.254.169.254/latest"), get("http://localhost/"),
        get("http://shop.test:8080/"), get("https://shop.test/"), get("ftp://shop.test/"), get("file:///etc/passwd"),
        get("/origin-form"), get("http://user:secret@shop.test/"), get("http:///x"), get("http://shop.test:x/"),
        connect("127.0.0.1:443"), connect("shop.test:22"), connect("[::1]:443"), connect("localhost:443"),
        connect("shop.test"), connect(":443"), "TRACE http://shop.test/ HTTP/1.1\r\n", "GET  HTTP/1.1\r\n",
        "GET http://shop.test/ HTTP/2.0\r\n", "nonsense\r\n", "GET http://shop.test/\tx HTTP/1.1\r\n",
    ],
)  # fmt: skip
def test_what_the_rules_forbid_is_answered_with_a_reason(request_text: str) -> None:
    async def work() -> None:
        async with serving({"/": http("in"), "/origin-form": http("in")}) as site, open_lane(rules(site)) as lane:
            answer = await send(lane, request_text)
            assert status(answer) == 403
            assert b"refused: " in answer
            assert lane.refused == 1
            assert lane.refusals[0].trouble == "refused"
            assert site.connections == 0

    run(work)


@pytest.mark.parametrize(
    "head", [b"GET http://shop.test/ HTTP/1.1\r\nA: b\nC: d\r\n", b"GET http://shop.test/ HTTP/1.1\r\nno field\r\n"]
)
def test_heads_that_can_be_read_in_two_ways_are_not_passed_on(head: bytes) -> None:
    async def work() -> None:
        async with serving({"/": http("in")}) as site, open_lane(rules(site)) as lane:
            assert status(await send(lane, head)) == 502
            assert site.connections == 0

    run(work)


def test_only_the_browser_that_it_is_for_can_use_a_lane() -> None:
    async def work() -> None:
        async with serving({"/": http("in")}) as site, open_lane(rules(site)) as lane:
            for request in (get("http://shop.test/"), connect("shop.test:80"), get("http://127.0.0.1/")):
                assert status(await send(lane, request, credential=False)) == 407
            wrong = "Proxy-Authorization: Basic " + base64.b64encode(b"page:guess").decode()
            assert status(await send(lane, get("http://shop.test/", wrong), credential=False)) == 407
            assert site.connections == 0
            assert lane.refused == 0

    run(work)


def test_a_name_is_asked_for_once_and_connected_to_where_it_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        answers = {"turning.example": [("93.184.215.14",), ("127.0.0.1",)], "mixed.example": [("8.8.8.8", "10.0.0.1")],
                   "inside.example": [("::ffff:127.0.0.1",)], "none.example": [()]}  # fmt: skip
        asked: list[str] = []
        reached: list[tuple[str, int]] = []
        open_connection = asyncio.open_connection

        async def resolve(host: str) -> tuple[str, ...]:
            asked.append(host)
            return answers[host].pop(0)

        async with serving({"/": http("public")}) as site:

            async def connecting(host: str, port: int, **options: Any) -> Any:
                if host != "127.0.0.1" or port != site.port:
                    reached.append((host, port))
                return await open_connection("127.0.0.1", site.port, **options)

            async with open_lane(rules(site, ports=(80, 443, site.port)), resolve=resolve) as lane:
                with monkeypatch.context() as patch:
                    request, proof = (
                        get("http://turning.example/"),
                        base64.b64encode(f"{lane.USER}:{lane.secret}".encode()),
                    )
                    head = request.encode() + b"Proxy-Authorization: Basic " + proof + b"\r\n\r\n"
                    lane_port = int(lane.proxy_url.rpartition(":")[2])
                    patch.setattr(asyncio, "open_connection", connecting)
                    for _ in range(2):
                        reader, writer = await open_connection("127.0.0.1", lane_port)
                        writer.write(head)
                        assert (await reader.read()).endswith(b"public")
                        writer.close()
                assert asked == ["turning.example"]
                assert reached == [("93.184.215.14", 80)] * 2
                connections = site.connections
                for host in ("mixed.example", "inside.example"):
                    assert status(await send(lane, get(f"http://{host}:{site.port}/"))) == 403
                    assert status(await send(lane, connect(f"{host}:443"))) == 403 if answers[host] else True
                    answers[host].append(("127.0.0.1",))
                    assert status(await send(lane, connect(f"{host}:{site.port}"))) == 403
                assert status(await send(lane, get("http://none.example/"))) == 502
                assert lane.refusals[-1].trouble == "no-such-host"
                assert site.connections == connections

    run(work)


def test_tunnels_pass_both_ways_and_end() -> None:
    async def work() -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while piece := await reader.read(1000):
                writer.write(piece.upper())
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        policy = WebPolicy(hosts={"shop.test": ("127.0.0.1", server.sockets[0].getsockname()[1])}, idle_s=0.5)
        async with server, open_lane(policy) as lane:
            answer = await send(lane, connect("shop.test:443"), more=b"hello")
            # Nothing more is said, so that the tunnel ends by itself.
            assert answer == b"HTTP/1.1 200 Connection established\r\n\r\nHELLO"
            assert lane.received_bytes == 5

    run(work)


def test_answers_tunnels_and_pages_have_a_size() -> None:
    async def work() -> None:
        async def flood(writer: asyncio.StreamWriter, _head: bytes) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(10_000):
                writer.write(b"x" * 1000)
                await writer.drain()

        pages = {"/told": http(b"x" * 200_000), "/untold": flood, "/fair": http(b"y" * 90_000)}
        async with serving(pages) as site:
            async with open_lane(rules(site)) as lane:
                assert status(await send(lane, get("http://shop.test/told"))) == 403
                assert len(await send(lane, get("http://shop.test/untold"))) <= 101_000
                for told in ("http://shop.test/untold#part", "http://somebody:secret@shop.test/untold"):
                    refusal = lane.refusal_of(told)
                    assert refusal is not None
                    assert refusal.trouble == "too-large"
                await send(lane, connect("shop.test:80"), more=b"GET /untold HTTP/1.1\r\n\r\n")
                refusal = lane.refusal_of("https://shop.test:80/")
                assert refusal is not None
                assert refusal.trouble == "too-large"
            async with open_lane(rules(site), most=200_000) as lane:
                sizes = [len(await send(lane, get("http://shop.test/fair"))) for _ in range(4)]
                assert sizes[0] > 90_000
                assert sizes[3] < 1000
                assert lane.refusals[-1].message == "the page loads more than 200000 bytes in all"

    run(work)


def test_requests_and_connections_are_counted() -> None:
    async def work() -> None:
        async def slow(_writer: asyncio.StreamWriter, _head: bytes) -> None:
            await asyncio.sleep(5)

        async with serving({"/slow": slow, "/": http("x")}) as site:
            async with open_lane(rules(site, max_requests=3)) as lane:
                assert [status(await send(lane, get("http://shop.test/"))) for _ in range(5)] == [200] * 3 + [403] * 2
            async with open_lane(rules(site, max_connections=2, idle_s=0.5)) as lane:
                answers = await asyncio.gather(*(send(lane, get("http://shop.test/slow")) for _ in range(5)))
                assert sorted(map(status, answers)) == [403, 403, 403, 502, 502]

    run(work)


def test_what_goes_wrong_behind_the_guard_has_a_name() -> None:
    async def work() -> None:
        async def nonsense(writer: asyncio.StreamWriter, _head: bytes) -> None:
            writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")

        async def nothing(_writer: asyncio.StreamWriter, _head: bytes) -> None:
            return

        async def endless(writer: asyncio.StreamWriter, _head: bytes) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 200_000 + b"\r\n\r\n")

        async def silent(_writer: asyncio.StreamWriter, _head: bytes) -> None:
            await asyncio.sleep(5)

        async def interim(writer: asyncio.StreamWriter, head: bytes) -> None:
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
            await http("final")(writer, head)

        pages = {"/nonsense": nonsense, "/nothing": nothing, "/endless": endless, "/silent": silent}
        pages |= {"/interim": interim, "/ftp": redirect("ftp://shop.test/"), "/file": redirect("file:///etc/passwd")}
        pages |= {"/on": redirect("/x")}
        async with serving(pages) as site, open_lane(rules(site, idle_s=0.5)) as lane:
            for path, code, trouble in (
                ("/nonsense", 502, "no-answer"), ("/nothing", 502, "no-answer"), ("/endless", 502, "no-answer"),
                ("/silent", 502, "too-slow"), ("/ftp", 403, "refused"), ("/file", 403, "refused"),
            ):  # fmt: skip
                assert status(await send(lane, get(f"http://shop.test{path}"))) == code, path
                refusal = lane.refusal_of(f"http://shop.test{path}")
                assert refusal is not None
                assert refusal.trouble == trouble, path
            assert (await send(lane, get("http://shop.test/interim"))).endswith(b"final")
            assert status(await send(lane, get("http://shop.test/on"))) == 302
        async with open_lane(rules(site)) as lane:  # The site is gone.
            assert status(await send(lane, get("http://shop.test/"))) == 502
            assert lane.refusals[0].trouble == "no-answer"

    run(work)


def test_a_lane_that_closes_leaves_nothing_open() -> None:
    async def work() -> None:
        async def silent(_writer: asyncio.StreamWriter, _head: bytes) -> None:
            await asyncio.sleep(30)

        async with serving({"/": silent}) as site:
            async with open_lane(rules(site, idle_s=30.0)) as lane:
                waiting = [asyncio.create_task(send(lane, get("http://shop.test/"))) for _ in range(3)]
                tunnel = asyncio.create_task(send(lane, connect("shop.test:80")))
                while site.connections < 4:
                    await asyncio.sleep(0.01)
            assert await asyncio.gather(*waiting) == [b""] * 3
            assert await tunnel in (b"", b"HTTP/1.1 200 Connection established\r\n\r\n")
            assert not [task for task in asyncio.all_tasks() if "Lane" in repr(task)]
            with pytest.raises(OSError):
                await send(lane, get("http://shop.test/"))

    run(work)
