"""The mall over real HTTP: shops told apart by name, on loopback only, nothing remembered."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from pathlib import Path

import aiohttp
import pytest

from grounding.errors import UserError
from grounding.webagents.agenticshop.mall import open_mall


async def ask(port: int, host: str, path: str, **options: object) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            str(options.pop("method", "GET")), f"http://127.0.0.1:{port}{path}", headers={"Host": host},
            allow_redirects=False, **options,  # type: ignore[arg-type]
        ) as answer,
    ):  # fmt: skip
        return answer.status, await answer.read()


def test_shops_are_told_apart_by_name(folder: Path) -> None:
    async def visit() -> None:
        async with open_mall(folder) as mall:
            assert set(mall.hosts) == {f"{site.name}.mall.test" for site in mall.sites}
            assert {address for address, _ in mall.hosts.values()} == {"127.0.0.1"}
            for title, host in (("Kettle", "kettle.mall.test"), ("Voltera", f"volt.localhost:{mall.port}")):
                status, body = await ask(mall.port, host, "/")
                assert status == 200
                assert title in body.decode()
            status, body = await ask(mall.port, f"127.0.0.1:{mall.port}", "/")
            assert f'href="http://loom.localhost:{mall.port}/"' in body.decode()
            for host in ("evil.example", "volt.mall.test.evil.example", "nobody.mall.test", "nobody.localhost"):
                assert (await ask(mall.port, host, "/"))[0] == 421
            assert (await ask(mall.port, "volt.mall.test", "/", method="DELETE"))[0] == 405

    asyncio.run(visit())


def test_forms_are_answered_and_nothing_is_kept(folder: Path) -> None:
    async def visit() -> None:
        async with open_mall(folder) as mall:
            host = "volt.mall.test"
            before = await ask(mall.port, host, "/")
            one, two = await asyncio.gather(
                ask(mall.port, host, "/results", method="POST", data={"term": "monitor"}),
                ask(mall.port, host, "/results", method="POST", data={"term": "monitor"}),
            )
            assert one == two
            assert b"ClearView" in one[1]
            assert (await ask(mall.port, host, "/results", method="POST", data={"term": "x" * 40_000}))[0] == 413
            files = aiohttp.FormData({"term": "monitor"})
            files.add_field("file", b"x", filename="x.txt")
            assert (await ask(mall.port, host, "/results", method="POST", data=files))[0] == 200
            assert (await ask(mall.port, host, "/results"))[0] == 302
            assert await ask(mall.port, host, "/") == before

    asyncio.run(visit())


def test_a_taken_port_is_told(folder: Path) -> None:
    async def visit(port: int) -> None:
        async with open_mall(folder, port):
            raise AssertionError

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UserError, match="can't be opened"):
        asyncio.run(visit(taken.getsockname()[1]))


def test_a_folder_without_shops_is_told(tmp_path: Path) -> None:
    async def visit() -> None:
        async with open_mall(tmp_path):
            raise AssertionError

    with pytest.raises(UserError, match="shops"):
        asyncio.run(visit())


def test_texts_of_a_shop_are_escaped(folder: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'&{{ 7 * 7 }}</script>"
    for design in ("pantry", "kettle", "volt", "loom"):
        shutil.copytree(folder / "pictures" / design, tmp_path / "pictures" / design)
        shop = json.loads((folder / "shops" / f"{design}.json").read_text())
        goods = shop["goods"][0]
        goods |= {"title": evil, "brand": evil, "description": evil, "features": [evil], "option": evil}
        goods["attributes"] = [{"name": evil, "value": evil}]
        goods["reviews"] = [{"title": evil, "text": evil, "rating": 5.0}]
        shop |= {"title": evil, "tagline": evil, "contact": evil}
        (tmp_path / "shops").mkdir(exist_ok=True)
        (tmp_path / "shops" / f"{design}.json").write_text(json.dumps(shop))

    async def visit() -> None:
        from grounding.webagents.agenticshop.mall import gold

        async with open_mall(tmp_path) as mall:
            for url, truth in gold(tmp_path).items():
                path = url.removeprefix(f"http://{truth.shop}.mall.test")
                _, body = await ask(mall.port, f"{truth.shop}.mall.test", path)
                assert b"<script>alert" not in body, url
            _, body = await ask(mall.port, f"127.0.0.1:{mall.port}", "/")
            assert b"<script>alert" not in body

    asyncio.run(visit())
