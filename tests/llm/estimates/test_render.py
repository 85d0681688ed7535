"""Requests as files: the very bytes of the pictures, and nothing of others touched."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from grounding.llm.estimates import clear, write_request

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
PARTS = [{"type": "text", "text": "go"}, {"type": "image_url", "image_url": {"url": URL}}]
BODY = {"messages": [{"role": "user", "content": PARTS}], "model": "m", "max_tokens": 5}


def test_a_request_can_be_put_together_again_and_goes_before_the_next_look(tmp_path: Path) -> None:
    name = write_request(tmp_path, "planner-1", json.dumps(BODY).encode())
    written = (tmp_path / name).read_text()
    assert "base64," not in written
    body = json.loads(written)
    picture = body["messages"][0]["content"][1]["image_url"]
    assert (tmp_path / picture["url"]).read_bytes() == PNG
    picture["url"] = URL
    assert body == BODY
    (tmp_path / "notes.md").write_text("mine")
    clear(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]
