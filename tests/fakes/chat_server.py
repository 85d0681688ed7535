"""A chat provider on a loopback port that answers as it is told and remembers every request.

It runs in a thread of its own, so that asynchronous and blocking clients can both talk to it::

    with ChatServer(reply("(10, 20)")) as server:      # what it says when nothing else was asked for
        server.script(rate_limited(seconds=0), cut())  # what it does with the next two requests
        ...
        assert server.count == 3
        assert server.bodies[0]["model"] == "m"
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from grounding.cards import ChatCard

Json = dict[str, Any]
Behaviour = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]
"""What the server does with one request, given the request and its body."""


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes = field(repr=False)

    @property
    def body(self) -> Json:
        """The JSON of the request."""
        parsed: Json = json.loads(self.content)
        return parsed


CONVERSATIONS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")

USAGE: Json = {"prompt_tokens": 1000, "completion_tokens": 10}


def completion(
    text: str | None,
    *,
    finish_reason: str = "stop",
    refusal: str | None = None,
    usage: Json | None = USAGE,
    model: str = "served-model",
    tool_calls: Sequence[Json] = (),
) -> Json:
    """The JSON of a complete reply."""
    message: Json = {"role": "assistant", "content": text, "refusal": refusal}
    if tool_calls:
        message["tool_calls"] = list(tool_calls)
    said: Json = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}],
    }
    return said if usage is None else {**said, "usage": usage}


def raw(content: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Behaviour:
    """Exactly these bytes."""

    async def behave(_request: web.Request, _content: bytes) -> web.StreamResponse:
        return web.Response(
            body=content, status=status, headers={"Content-Type": "application/json", **(headers or {})}
        )

    return behave


def reply(text: str | None, **more: Any) -> Behaviour:
    """A normal reply; the keywords are those of :func:`completion`."""
    return raw(json.dumps(completion(text, **more)).encode())


def clicking(card: ChatCard, x: int, y: int) -> Behaviour:
    """A click as the interface of a card has it, in the shapes of openai 3.54.0 and anthropic 2.12.0; or as text."""
    if card.endpoint.interface == "responses":
        call: Json = {"id": "cu_1", "call_id": "call_1", "type": "computer_call", "status": "completed"}
        call |= {"pending_safety_checks": [], "actions": [{"type": "click", "button": "left", "x": x, "y": y}]}
        return raw(json.dumps(response(call)).encode())
    if card.endpoint.interface == "messages":
        use: Json = {"type": "tool_use", "id": "toolu_1", "name": "left_click", "toolset_name": "computer"}
        return raw(json.dumps(claude_message({**use, "input": {"coordinate": [x, y]}})).encode())
    return reply(f"({x}, {y})")


def response(*output: Json, status: str = "completed") -> Json:
    """A reply of OpenAI's Responses."""
    counts: Json = {"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010}
    counts |= {"input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 6}}
    said = {"id": "resp_1", "object": "response", "created_at": 1, "model": "served-model", "status": status}
    return {**said, "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, *output], "usage": counts}


def claude_message(*content: Json, stop_reason: str = "tool_use") -> Json:
    """A reply of Anthropic's Messages."""
    counts = {
        "input_tokens": 900,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 40,
        "output_tokens": 10,
    }
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-model", "stop_reason": stop_reason}
    return {**said, "content": list(content), "usage": counts}


def answering(say: Callable[[Json], str]) -> Behaviour:
    """A normal reply whose text is worked out from the JSON of the request."""

    async def behave(_request: web.Request, content: bytes) -> web.StreamResponse:
        return web.json_response(completion(say(json.loads(content))))

    return behave


def function_call(name: str, arguments: str | Json, *, call_id: str = "call_abc") -> Json:
    """One entry of ``tool_calls``; arguments that are text go out as they are, whatever they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def calling(name: str, arguments: str | Json = "{}", *more: Json, text: str | None = None) -> Behaviour:
    """A reply that calls a function, or several."""
    calls = [function_call(name, arguments), *more]
    return reply(text, finish_reason="tool_calls", tool_calls=calls)


def working_out(make: Callable[[Json], Json]) -> Behaviour:
    """A reply whose whole JSON, as :func:`completion` makes it, is worked out from the JSON of the request."""

    async def behave(_request: web.Request, content: bytes) -> web.StreamResponse:
        return web.json_response(make(json.loads(content)))

    return behave


def error(status: int, message: str = "something is wrong", *, code: str | None = None, **headers: str) -> Behaviour:
    """An error in OpenAI's shape. Headers as keywords: ``retry_after="2"`` becomes ``Retry-After: 2``."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    content = json.dumps({"error": {"message": message, "type": "error", "param": None, "code": code}}).encode()
    return raw(content, status=status, headers=named)


def rate_limited(*, seconds: float | None = None, milliseconds: float | None = None, date: str = "") -> Behaviour:
    """429, with the wait in whichever header is asked for."""
    headers = {}
    if milliseconds is not None:
        headers["retry_after_ms"] = f"{milliseconds:g}"
    if seconds is not None:
        headers["retry_after"] = f"{seconds:g}"
    if date:
        headers["retry_after"] = date
    return error(429, "slow down", code="rate_limit_exceeded", **headers)


def out_of_quota() -> Behaviour:
    """429 of the kind that no waiting mends."""
    return error(429, "You exceeded your current quota", code="insufficient_quota")


def dropped() -> Behaviour:
    """The connection goes away before any answer."""

    async def behave(request: web.Request, _content: bytes) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return behave


def dropped_midway() -> Behaviour:
    """The connection goes away in the middle of the reply's body."""

    async def behave(request: web.Request, _content: bytes) -> web.StreamResponse:
        content = json.dumps(completion("(1, 2)")).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(content))})
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        assert request.transport is not None
        request.transport.close()
        return response

    return behave


def cut() -> Behaviour:
    """Half of the JSON of a reply, as if it were all of it."""
    content = json.dumps(completion("(1, 2)")).encode()
    return raw(content[: len(content) // 2])


def no_choices() -> Behaviour:
    """A reply with an empty list of choices."""
    return raw(json.dumps({**completion("x"), "choices": []}).encode())


def after(seconds: float, then: Behaviour) -> Behaviour:
    """Nothing for a while, then something else."""

    async def behave(request: web.Request, content: bytes) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request, content)

    return behave


def echo(status: int, *, escape_slashes: bool = False) -> Behaviour:
    """An error that says everything back: headers, then body, as careless proxies do."""

    async def behave(request: web.Request, content: bytes) -> web.StreamResponse:
        said = json.dumps({"error": {"headers": dict(request.headers), "you_sent": json.loads(content)}})
        if escape_slashes:
            said = said.replace("/", "\\/")
        return web.Response(text=said, status=status, content_type="application/json")

    return behave


class ChatServer:
    """The provider. ``models`` is what it lists (None: it has no such page); ``base_url`` ends in ``/v1``."""

    def __init__(self, default: Behaviour | None = None, *, models: Sequence[str] | Behaviour | None = ()) -> None:
        self.default = default or reply("(1, 2)")
        self.models = models
        self.requests: list[Received] = []
        self.open = 0
        self.most_open = 0
        self._script: deque[Behaviour] = deque()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None
        self.port = 0

    def script(self, *behaviours: Behaviour) -> None:
        """What to do with the next requests for a completion, one after the other; then the default again."""
        self._script.extend(behaviours)

    @property
    def base_url(self) -> str:
        """The address a client is given."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> list[Received]:
        """The requests for a completion."""
        return [received for received in self.requests if received.path in CONVERSATIONS]

    @property
    def bodies(self) -> list[Json]:
        """The JSON of the requests for a completion."""
        return [received.body for received in self.asked]

    @property
    def count(self) -> int:
        """How many completions were asked for."""
        return len(self.asked)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**28)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            content = await request.read()
            self.requests.append(
                Received(method=request.method, path=request.path, headers=dict(request.headers), content=content)
            )
            return await self._respond(request, content)
        finally:
            self.open -= 1

    async def _respond(self, request: web.Request, content: bytes) -> web.StreamResponse:
        return await self._behaviour(request)(request, content)

    def _behaviour(self, request: web.Request) -> Behaviour:
        if request.method == "POST" and request.path in CONVERSATIONS:
            return self._script.popleft() if self._script else self.default
        if request.method == "GET" and request.path == "/v1/models" and self.models is not None:
            if callable(self.models):
                return self.models
            listed = [{"id": name, "object": "model", "created": 1, "owned_by": "me"} for name in self.models]
            return raw(json.dumps({"object": "list", "data": listed}).encode())
        return error(404, f"no such page: {request.method} {request.path}")
