"""What goes through the pipes, and what never shows."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.executors.ray import frames
from grounding.executors.ray.actor import Variables

SECRET = "sk-very-secret"


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(1, 7))
def test_frames_are_read_however_the_pipe_cuts_them(contents: list[bytes], piece: int) -> None:
    sent = [frames.Said(worker="w", contents=(content,)) for content in contents]
    stream = b"".join(frames.framed(message) for message in sent)

    async def read() -> list[frames.FromBridge]:
        reader = asyncio.StreamReader()
        got = []

        async def feed() -> None:
            for start in range(0, len(stream), piece):
                reader.feed_data(stream[start : start + piece])
                await asyncio.sleep(0)
            reader.feed_eof()

        feeding = asyncio.create_task(feed())
        while (body := await frames.read_body(reader)) is not None:
            got.append(frames.from_bridge(body))
        await feeding
        return got

    assert asyncio.run(read()) == sent


def test_a_frame_that_breaks_off_is_the_end() -> None:
    async def read(content: bytes) -> bytes | None:
        reader = asyncio.StreamReader()
        reader.feed_data(content)
        reader.feed_eof()
        return await frames.read_body(reader)

    assert asyncio.run(read(frames.framed(frames.Beat())[:-1])) is None
    with pytest.raises(ValueError, match="expected a frame"):
        asyncio.run(read(b"Traceback (most recent call last)"))


def test_no_key_is_in_a_repr() -> None:
    variable = frames.Variable(name="KEY", value=SECRET)
    hire = frames.Hire(worker="w", recipe=SECRET.encode(), cpus=1.0, gpus=0.0, variables=(variable,))
    for shown in (repr(variable), repr(hire), str(hire), f"{(hire,)}", repr(Variables({"KEY": SECRET}))):
        assert "KEY" in shown
        assert SECRET not in shown
    assert frames.to_bridge(frames.framed(hire)[4:]) == hire
