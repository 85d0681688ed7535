"""The guard without a browser: what passes, what does not, and where connections are really made to."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import wraps
from types import SimpleNamespace
from typing import Any

import pytest

from grounding.benchmarks.agenticshop.web import guard
from grounding.benchmarks.agenticshop.web.guard import Guard, PageProxy, WebPolicy

from .sites import Site, http, serving


def rules(site: Site, **options: Any) -> WebPolicy:
    chosen: dict[str, Any] = {"idle_s": 2.0, "connect_s": 2.0} | options
    return WebPolicy(hosts={"shop.test": ("127.0.0.1", site.port)}, **chosen)


@asynccontextmanager
async def open_proxy(policy: WebPolicy, *, most: int = 1_000_000, **options: Any) -> AsyncIterator[PageProxy]:
    async with Guard(policy, **options).proxy(most) as proxy:
        yield proxy


GET = b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"


def asking(host: str, port: int = 80) -> bytes:
    """A browser's request for a connection, by name."""
    return b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + port.to_bytes(2)


async def ask(proxy: PageProxy, request: bytes, more: bytes = GET) -> tuple[int, bytes]:
    """How the guard answers a request for a connection (0: it is made), and what comes over it; -1: it broke off."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    writer.write(b"\x05\x01\x00" + request + more)
    try:
        whole = await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return -1, b""
    finally:
        writer.close()
    return (whole[3], whole[12:]) if len(whole) > 3 else (-1, b"")


def runs(test: Any) -> Any:
    """The coroutine of a test as the test."""

    @wraps(test)
    def whole(*given: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*given, **named), 60))

    return whole


FORBIDDEN = [
    *((host, 80) for host in ("127.0.0.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "127.1", "::1")),
    *((host, 443) for host in ("::ffff:10.0.0.1", "169.254.169.254", "localhost", "LOCALHOST.", "router.lan", "")),
    ("shop.test", 8080), ("shop.test", 22), ("a b", 80),
]  # fmt: skip
NO_CONNECTIONS = [
    b"\x05\x01\x00\x01" + bytes((127, 0, 0, 1)) + (80).to_bytes(2),
    b"\x05\x01\x00\x04" + bytes(15) + b"\x01" + (80).to_bytes(2),
    *(b"\x05" + how + b"\x09shop.test\x00\x50" for how in (b"\x02\x00\x03", b"\x03\x00\x03", b"\x01\x00\x09")),
]  # By address, to listen, for datagrams, and of no kind.


@runs
async def test_what_the_rules_forbid_is_refused() -> None:
    async with serving({"/": http("in")}) as site, open_proxy(rules(site)) as proxy:
        for number, (host, port) in enumerate(FORBIDDEN):
            assert await ask(proxy, asking(host, port)) == (2, b""), host
            assert (proxy.refused, proxy.refusals[-1].trouble) == (number + 1, "refused")
        for request in NO_CONNECTIONS:
            assert (await ask(proxy, request))[0] == 2
        assert site.connections == 0
        assert (await ask(proxy, asking("Shop.test.")))[1].endswith(b"in")


@runs
async def test_what_is_no_request_breaks_off() -> None:
    async with serving({"/": http("in")}) as site, open_proxy(rules(site)) as proxy:
        for said in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x05\x01\x02", b"\x05\x01\x00\x05\x01"):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
            writer.write(said)
            writer.write_eof()
            assert b"in" not in await reader.read()
            writer.close()
        assert site.connections == 0


@runs
async def test_a_name_is_asked_for_once_and_connected_to_where_it_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"turning.example": [("93.184.215.14",), ("127.0.0.1",)], "mixed.example": [("8.8.8.8", "10.0.0.1")],
               "inside.example": [("::ffff:127.0.0.1",)], "none.example": [()]}  # fmt: skip
    asked: list[str] = []
    reached: list[tuple[str, int]] = []
    open_connection = asyncio.open_connection

    async def resolve(host: str) -> tuple[str, ...]:
        asked.append(host)
        return answers[host].pop(0)

    async with serving({"/": http("public")}) as site, open_proxy(rules(site), resolve=resolve) as proxy:
        own = int(proxy.url.rpartition(":")[2])

        async def connecting(host: str, port: int, **options: Any) -> Any:
            if port == own:
                return await open_connection(host, port, **options)
            reached.append((host, port))
            return await open_connection("127.0.0.1", site.port, **options)

        monkeypatch.setattr(asyncio, "open_connection", connecting)
        for _ in range(2):
            assert (await ask(proxy, asking("turning.example")))[1].endswith(b"public")
        assert asked == ["turning.example"]
        assert reached == [("93.184.215.14", 80)] * 2
        for host in ("mixed.example", "inside.example"):
            assert (await ask(proxy, asking(host, 443)))[0] == 2
        assert (await ask(proxy, asking("none.example")))[0] == 4
        assert proxy.refusals[-1].trouble == "no-such-host"
        assert len(reached) == 2


@runs
async def test_this_machine_has_no_public_address_and_no_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    near = {"8.8.8.8": "8.8.8.8", "2600::2": "2600::9"}
    far = {"2600:0:0:1::2": "2600::9", "8.8.4.4": "10.0.0.5", "9.9.9.9": ""}

    class Probe:
        """A socket that is told from which address of this machine another one is reached."""

        def __init__(self, *_: Any) -> None: ...

        def __enter__(self) -> Probe:
            return self

        def __exit__(self, *_: Any) -> None: ...

        def connect(self, place: tuple[str, int]) -> None:
            self.source = (near | far)[place[0]]
            if not self.source:
                raise OSError("Network is unreachable")

        def getsockname(self) -> tuple[str, int]:
            return self.source, 0

    monkeypatch.setattr(guard, "socket", SimpleNamespace(**vars(socket) | {"socket": Probe}))
    reached: list[str] = []
    open_connection = asyncio.open_connection

    async with serving({"/": http("in")}) as site:

        async def resolve(host: str) -> tuple[str, ...]:
            return ("8.8.4.4", "8.8.8.8") if host == "mixed.example" else ("9.9.9.9",)

        async def connecting(host: str, _port: int) -> Any:
            reached.append(host)
            return await open_connection("127.0.0.1", site.port)

        monkeypatch.setattr(asyncio, "open_connection", connecting)
        found = guard.Guard(rules(site), resolve)
        for host in (*near, "mixed.example"):
            with pytest.raises(guard.PageTrouble, match="neighbour"):
                await found.connect(host, 80)
        assert reached == []
        for host in (*far, "shop.test"):
            (await found.connect(host, 80))[1].close()
        assert reached == [*far, "127.0.0.1"]


@runs
async def test_names_that_nobody_answers_for_keep_no_other_work_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(host: str, *_: Any, **__: Any) -> list[Any]:
        time.sleep(2.0 if host.startswith("slow") else 0.0)
        return [(2, 1, 6, "", ("9.9.9.9", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    waiting = [asyncio.create_task(guard.ask_system(f"slow{number}.example")) for number in range(32)]
    await asyncio.sleep(0.1)
    began = time.monotonic()
    assert await guard.ask_system("quick.example") == ("9.9.9.9",)
    await asyncio.to_thread(int)
    assert time.monotonic() - began < 1.0
    await asyncio.gather(*waiting)


@runs
async def test_connections_pass_both_ways_and_end() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(1000):
            writer.write(piece.upper())
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    policy = WebPolicy(hosts={"shop.test": ("127.0.0.1", server.sockets[0].getsockname()[1])}, idle_s=0.5)
    async with server, open_proxy(policy) as proxy:
        # Nothing more is said, so that the connection ends by itself.
        assert (await ask(proxy, asking("shop.test", 443), b"hello"))[1] in (b"HELLO", b"")
        assert proxy.received_bytes == 5


@runs
async def test_pages_have_a_size_and_a_number_of_connections() -> None:
    async def flood(writer: asyncio.StreamWriter, _head: bytes) -> None:
        for _ in range(10_000):
            writer.write(b"x" * 1000)
            await writer.drain()

    async with serving({"/": flood}) as site, open_proxy(rules(site), most=100_000) as proxy:
        assert len((await ask(proxy, asking("shop.test")))[1]) <= 101_000
        for told in ("http://shop.test/untold#part", "http://somebody:secret@shop.test/untold"):
            refusal = proxy.refusal_of(told)
            assert refusal is not None
            assert refusal.trouble == "too-large"
        assert (await ask(proxy, asking("shop.test")))[0] == 4
        proxy.renew()
        assert proxy.refusal_of("http://shop.test/") is None
    async with serving({"/": http("x")}) as site, open_proxy(rules(site, max_connections=3)) as proxy:
        assert [(await ask(proxy, asking("shop.test")))[0] for _ in range(5)] == [0] * 3 + [2] * 2


@runs
async def test_a_site_that_is_gone_has_a_name_and_a_lane_that_closes_leaves_nothing_open() -> None:
    async def silent(_writer: asyncio.StreamWriter, _head: bytes) -> None:
        await asyncio.sleep(30)

    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with serving({"/": silent}) as site:
        async with open_proxy(rules(site, idle_s=30.0)) as proxy:
            waiting = [asyncio.create_task(ask(proxy, asking("shop.test"))) for _ in range(3)]
            while site.connections < 3:
                await asyncio.sleep(0.01)
        assert all(body == b"" for _, body in await asyncio.gather(*waiting))
        assert not [task for task in asyncio.all_tasks() if "PageProxy" in repr(task)]
        assert not told
        with pytest.raises(OSError):
            await ask(proxy, asking("shop.test"))
    async with open_proxy(rules(site)) as proxy:
        assert (await ask(proxy, asking("shop.test")))[0] == 4
        assert proxy.refusals[0].trouble == "no-answer"
