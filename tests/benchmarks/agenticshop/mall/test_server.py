"""The mall over real HTTP and as a command: shops told apart by name, on loopback only, nothing remembered."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, get_args

import aiohttp
import pytest

from grounding.benchmarks.agenticshop.mall.pages import ShopPages, open_mall
from grounding.benchmarks.agenticshop.mall.shops import DesignName, read_shops
from grounding.cli import run
from grounding.errors import UserError
from tools.sample_mall.truth import gold

EVIL = "<script>alert(1)</script>\"'&{{ 7 * 7 }}</script>"


async def ask(port: int, host: str, path: str, **options: object) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            str(options.pop("method", "GET")), f"http://127.0.0.1:{port}{path}", headers={"Host": host},
            allow_redirects=False, **options,  # type: ignore[arg-type]
        ) as answer,
    ):  # fmt: skip
        return answer.status, await answer.read()


def visiting(folder: Path, visit: Callable[[int], Awaitable[None]]) -> None:
    async def served() -> None:
        async with open_mall(folder) as hosts:
            assert set(hosts) == {f"{path.stem}.mall.test" for path in (folder / "shops").iterdir()}
            ((address, port),) = set(hosts.values())
            assert address == "127.0.0.1"
            await visit(port)

    asyncio.run(served())


def test_shops_are_told_apart_by_name(folder: Path) -> None:
    async def visit(port: int) -> None:
        for title, host in (("Kettle", "kettle.mall.test"), ("Voltera", f"volt.localhost:{port}")):
            status, body = await ask(port, host, "/")
            assert (status, title in body.decode()) == (200, True)
        for host in ("evil.example", "volt.mall.test.evil.example", "nobody.mall.test", "nobody.localhost"):
            assert (await ask(port, host, "/"))[0] == 421
        assert (await ask(port, "volt.mall.test", "/", method="DELETE"))[0] == 405

    visiting(folder, visit)


def test_texts_of_a_shop_are_escaped(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "pictures", tmp_path / "pictures")
    (tmp_path / "shops").mkdir()
    for path in (folder / "shops").glob("*.json"):
        shop = json.loads(path.read_text())
        shop["goods"][0] |= {name: EVIL for name in ("title", "brand", "description", "option")}
        shop["goods"][0] |= {"features": [EVIL], "attributes": [{"name": EVIL, "value": EVIL}]}
        shop["goods"][0]["reviews"] = [{"title": EVIL, "text": EVIL, "rating": 5.0}]
        shop |= {"title": EVIL, "tagline": EVIL, "contact": EVIL}
        (tmp_path / "shops" / path.name).write_text(json.dumps(shop))

    async def visit(port: int) -> None:
        pages = [(f"{one.shop}.mall.test", url.split(".mall.test")[1]) for url, one in gold(tmp_path).items()]
        for host, path in pages:
            assert b"<script>alert" not in (await ask(port, host, path))[1], (host, path)

    visiting(tmp_path, visit)


def test_the_command_serves_until_it_is_ended() -> None:
    command = [sys.executable, "-m", "grounding", "curation", "mall"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(4)]
        port = int(lines[0].rpartition(":")[2].rstrip("/"))
        names = ("kettle", "loom", "pantry", "volt")
        assert lines == [f"{name}: http://{name}.localhost:{port}/" for name in names]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/p/aria-1", headers={"Host": f"volt.localhost:{port}"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (302, "/p/aria-one-noise-cancelling-headphones")
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.communicate()


def test_what_can_t_be_served_is_a_users_error(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home_user_profile.json").write_bytes((folder / "home_user_profile.json").read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, says in (
            (["--port", port], "can't be used"),
            (["agenticshop", "--data-dir", str(tmp_path)], "no shops of its own"),
        ):
            with pytest.raises(SystemExit) as ended:
                run(["curation", "mall", *options])
            assert ended.value.code == 2
            assert says in capsys.readouterr().err


# --- shops are read strictly ------------------------------------------------------------------------------------------

GOODS = {
    "slug": "cup", "title": "Cup", "brand": "B", "category": "Cups", "description": "",
    "forms": [{"name": "", "price": 2.5}],
}  # fmt: skip
SHOP = {
    "name": "small", "title": "Small", "tagline": "", "design": "grocer", "currency": "USD", "shipping": 1.0,
    "free_above": 5.0, "delivery": "", "returns": "", "contact": "", "categories": ["Cups"], "goods": [GOODS],
}  # fmt: skip


def written(folder: Path, content: Any) -> Path:
    (folder / "shops").mkdir(exist_ok=True)
    (folder / "shops" / "small.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.mark.parametrize("name", ["../secret.svg", "cup.png", "/etc/passwd", "missing.svg"])
def test_pictures_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.svg").write_text("<svg/>")
    (one,) = read_shops(written(tmp_path, SHOP | {"goods": [GOODS | {"pictures": [name]}]}))
    with pytest.raises(UserError, match="expected an SVG file"):
        ShopPages(one, tmp_path)


@pytest.mark.parametrize("design", get_args(DesignName))
def test_a_product_may_be_without_pictures(tmp_path: Path, design: str) -> None:
    bundle = {"path": "/all", "kind": "listing", "title": "All cups", "goods": ["cup"]}
    (one,) = read_shops(written(tmp_path, SHOP | {"design": design, "front": ["cup"], "places": [bundle]}))
    shop = ShopPages(one, tmp_path)
    for path in ("/", "/all", shop.design.category_path("Cups"), shop.design.product_path(one.goods[0])):
        reply = shop.reply("GET", path, {}, {})
        assert reply.status == 200
        assert b"Cup" in reply.body


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ({"front": ["lid"]}, "no goods lid"),
        ({"goods": [{**GOODS, "promotes": "lid"}]}, "no goods lid"),
        ({"places": [{"path": "/all", "kind": "listing", "goods": ["cup", "lid"]}]}, "no goods lid"),
        ({"goods": [{**GOODS, "chosen": 1}]}, "form 1 of 'cup'"),
        ({"title": 5}, "Expected `str`"),
    ],
)
def test_a_shop_that_names_what_it_has_not_is_refused_at_once(tmp_path: Path, odd: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=re.escape(says)):
        read_shops(written(tmp_path, SHOP | odd))
    assert read_shops(written(tmp_path, SHOP | {"title": "", "front": ["cup"]}))
