"""The yardstick: the same requests as a card would send, by the shortest aiohttp program that can send them.

Reads each screenshot, encodes it, posts it, keeps the reply. No retries, no records, no scores. With ``--template`` the
request is that file, with @PICTURE@ and @INSTRUCTION@ in their places.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path

import aiohttp


def requests(data: Path) -> Iterator[tuple[Path, str]]:
    """Screenshot and instruction of each step."""
    for questions in sorted(data.glob("*/questions_with_task_updated.json")):
        for item in json.loads(questions.read_text()):
            yield questions.parent / item["final_image"], item["instruction"]


def body(path: Path, instruction: str, template: bytes) -> bytes:
    """The request as JSON bytes."""
    if template:
        picture = b"data:image/png;base64," + base64.b64encode(path.read_bytes())
        words = json.dumps(instruction)[1:-1].encode()
        return template.replace(b"@INSTRUCTION@", words).replace(b"@PICTURE@", picture)
    url = "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": instruction}]
    messages = [
        {"role": "system", "content": "You answer with the pixel to click."},
        {"role": "user", "content": content},
    ]
    return json.dumps({"messages": messages, "model": "fake", "temperature": 0, "max_tokens": 32}).encode()


async def run(data: Path, base_url: str, connections: int, template: bytes) -> int:
    """Post everything, so many at once; returns how many replies came."""
    slots = asyncio.Semaphore(connections)
    replies = 0

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(path: Path, instruction: str) -> None:
            nonlocal replies
            headers = {"Content-Type": "application/json"}
            async with session.post(
                f"{base_url}/chat/completions", data=body(path, instruction, template), headers=headers
            ) as response:
                answer = await response.json()
                replies += bool(answer["choices"][0]["message"]["content"])
            slots.release()

        async with asyncio.TaskGroup() as group:
            for path, instruction in requests(data):
                await slots.acquire()
                group.create_task(post(path, instruction))
    return replies


def main() -> None:
    """Read the options and post."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("base_url")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--template", type=Path)
    given = parser.parse_args()
    template = given.template.read_bytes() if given.template else b""
    print(asyncio.run(run(given.data, given.base_url, given.connections, template)))


if __name__ == "__main__":
    main()
