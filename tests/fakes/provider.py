"""A fake of the vendors' chat endpoints that behaves like each of them, counts every request and writes a bill.

One server plays all vendors, each under its own path, as the real ones differ::

    with Provider() as provider:
        provider.base_url("openai")                      # http://127.0.0.1:PORT/openai/v1
        provider.faults.extend(["429:0", "cut"])         # what befalls the next two requests
        ...
        assert provider.count == 3
        assert provider.bill_usd == 0.0123

What a request costs is worked out here from the request itself: the words and pictures by
``vendor_counts`` and ``vendor_rules``, the reply as it goes out. As a program:
``python tests/fakes/provider.py --port 9000 --fault 429:1``;
``GET /bill`` is the bill so far, ``POST /faults`` with a JSON list adds faults.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from fakes.chat_server import ChatServer, Received
from fakes.vendor_counts import count_input, count_text, cut_text, made_up_plan, thinking_tokens
from fakes.vendor_rules import MODELS, Model, Vendor

Json = dict[str, Any]

PATHS: dict[Vendor, str] = {
    "openai": "/openai/v1",
    "anthropic": "/anthropic/v1",
    "gemini": "/gemini/v1beta/openai",
    "dashscope": "/dashscope/compatible-mode/v1",
    "vllm": "/vllm/v1",
}
KEY = "sk-right"  # The key that the vendors take; the vLLM server takes any and none.
OPENAI_FIELDS = {
    *(
        "model",
        "messages",
        "temperature",
        "top_p",
        "n",
        "stream",
        "stop",
        "max_tokens",
        "max_completion_tokens",
        "user",
    ),
    *("presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "seed", "reasoning_effort"),
    *("response_format", "store", "metadata", "service_tier"),
}
FAULTS = ("429[:SECONDS]", "500", "503", "401", "404", "400", "cut", "drop", "html", "refusal", "filter", "empty")
FAULTS += ("blank", "slow:SECONDS")


@dataclass(frozen=True)
class Charge:
    """One line of the bill."""

    model: str
    text_tokens: int
    image_tokens: int
    reasoning_tokens: int
    output_tokens: int
    usd: float

    @property
    def input_tokens(self) -> int:
        return self.text_tokens + self.image_tokens


@dataclass(frozen=True)
class _Said:
    text: str | None
    finish_reason: str
    reasoning_tokens: int = 0
    refusal: str | None = None


class Provider(ChatServer):
    """All vendors on one loopback port.

    ``answer`` makes the visible reply from the request's JSON (None: a plan made up from the words). ``faults`` befall
    the next requests, one each; ``every`` is a period and a fault, such as ``(7, "500")``. ``requests_per_minute`` is a
    limit that is really kept, with each vendor's own headers. ``latency_s`` is how long every reply takes.
    """

    def __init__(
        self,
        *,
        answer: Callable[[Json], str] | None = None,
        models: Sequence[Model] = MODELS,
        requests_per_minute: int | None = None,
        latency_s: float = 0.0,
        port: int = 0,
    ) -> None:
        super().__init__()
        self.answer = answer or made_up_plan
        self.known = {(model.vendor, model.name): model for model in models}
        self.requests_per_minute = requests_per_minute
        self.latency_s = latency_s
        self.faults: deque[str] = deque()
        self.every: tuple[int, str] | None = None
        self.charges: list[Charge] = []
        self._sent_at: deque[float] = deque()
        self.port = port
        self._lock = threading.Lock()

    def base_url(self, vendor: Vendor) -> str:  # type: ignore[override]
        """The address of a vendor's endpoint."""
        return f"http://127.0.0.1:{self.port}{PATHS[vendor]}"

    @property
    def asked(self) -> list[Received]:
        """The requests for a completion, refused ones too."""
        return [received for received in self.requests if received.path.endswith("/chat/completions")]

    @property
    def bill_usd(self) -> float:
        """All that was charged."""
        return sum(charge.usd for charge in self.charges)

    async def _respond(self, request: web.Request, content: bytes) -> web.StreamResponse:
        if request.path == "/bill":
            lines = [asdict(charge) for charge in self.charges]
            return web.json_response({"requests": self.count, "usd": self.bill_usd, "charges": lines})
        if request.path == "/faults" and request.method == "POST":
            self.faults.extend(json.loads(content))
            return web.json_response(list(self.faults))
        for vendor, path in PATHS.items():
            if request.path == f"{path}/models" and request.method == "GET":
                return self._list(vendor, request)
            if request.path == f"{path}/chat/completions" and request.method == "POST":
                return await self._complete(vendor, request, json.loads(content))
        return web.Response(status=404, text="<html><body>Not Found</body></html>", content_type="text/html")

    def _list(self, vendor: Vendor, request: web.Request) -> web.Response:
        if vendor == "anthropic":  # A page of the native interface: it wants the key in a header of its own.
            return _problem(vendor, 401, "x-api-key header is required", code="authentication_error")
        refused = _wrong_key(vendor, request)
        if refused is not None:
            return refused
        names = [name for of, name in self.known if of == vendor]
        prefix = "models/" if vendor == "gemini" else ""
        return web.json_response(
            {"object": "list", "data": [{"id": prefix + name, "object": "model"} for name in names]}
        )

    async def _complete(self, vendor: Vendor, request: web.Request, body: Json) -> web.StreamResponse:
        fault = self._next_fault()
        kind, _, value = fault.partition(":")
        if kind == "drop":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if kind == "html":
            return web.Response(text="<html><body>Bad Gateway</body></html>", content_type="text/html")
        if kind in ("400", "401", "404", "429", "500", "503"):
            return _problem(vendor, int(kind), f"fault {kind}", code=_CODES.get(kind), wait=value)
        refused = _wrong_key(vendor, request) or self._limited(vendor) or self._refused(vendor, body)
        if refused is not None:
            return refused
        model = self.known[vendor, body["model"]]
        await asyncio.sleep(self.latency_s + (float(value) if kind == "slow" else 0.0))
        said = self._say(model, body, kind)
        reply = self._reply(model, body, said)
        if kind == "cut":
            whole = json.dumps(reply).encode()
            return web.Response(body=whole[: len(whole) // 2], content_type="application/json")
        return web.json_response(reply, headers=self._limit_headers(vendor))

    def _next_fault(self) -> str:
        if self.faults:
            return self.faults.popleft()
        return self.every[1] if self.every and self.count % self.every[0] == 0 else ""

    def _refused(self, vendor: Vendor, body: Json) -> web.Response | None:
        """The vendor's own reasons to refuse a request."""
        name = str(body.get("model"))
        model = self.known.get((vendor, name))
        if model is None:
            return _problem(vendor, 404, _NO_MODEL[vendor].format(name=name), code="model_not_found")
        for field in sorted(model.refuses & set(body)):
            return _problem(vendor, 400, _unsupported(field, body[field]), code="unsupported_parameter", param=field)
        if vendor == "openai" and set(body) - OPENAI_FIELDS:
            field = min(set(body) - OPENAI_FIELDS)
            said = f"Unrecognized request argument supplied: {field}"
            return _problem(vendor, 400, said, code="unknown_parameter", param=field)
        if body.get("n", 1) != 1 or body.get("stream"):
            return _problem(vendor, 400, "one whole reply at a time", code="invalid_request_error")
        if vendor == "anthropic" and "max_tokens" in body and "max_completion_tokens" in body:
            return _problem(vendor, 400, "max_tokens: given twice", code="invalid_request_error")
        text, pictures = count_input(model, body)
        if text + pictures + (_limit(body) or 0) > model.window:
            said = (
                f"This model's maximum context length is {model.window} tokens. However, you requested "
                f"{text + pictures + (_limit(body) or 0)} tokens. Please reduce the length of the input prompt."
            )
            return _problem(vendor, 400, said, code="context_length_exceeded")
        return None

    def _say(self, model: Model, body: Json, fault: str) -> _Said:
        limit = _limit(body)
        thought = thinking_tokens(model, body)
        if fault == "refusal":
            if model.vendor == "openai":
                return _Said(None, "stop", thought, refusal="I'm sorry, but I can't help with that.")
            return _Said(None, {"anthropic": "refusal", "gemini": "SAFETY"}.get(model.vendor, "content_filter"))
        if fault == "filter":
            return _Said("Click the", "content_filter", thought)
        if fault == "blank":
            return _Said(" \n", "stop", thought)
        if fault == "empty" or (limit is not None and model.thinks and thought >= limit):
            return _Said(None, "length", limit if limit is not None else thought)
        words = self.answer(body)
        room = None if limit is None else limit - thought
        if room is not None and count_text(words) > room:
            return _Said(cut_text(words, room), "length", thought)
        return _Said(words, "stop", thought)

    def _reply(self, model: Model, body: Json, said: _Said) -> Json:
        """The JSON of a reply; what it takes is charged, whether or not it arrives."""
        text, pictures = count_input(model, body)
        visible = count_text(said.text or said.refusal or "")
        output = visible + said.reasoning_tokens
        usd = ((text + pictures) * model.input_usd + output * model.output_usd) / 1_000_000
        with self._lock:
            self.charges.append(Charge(model.name, text, pictures, said.reasoning_tokens, output, usd))
        usage: Json = {"prompt_tokens": text + pictures, "completion_tokens": output}
        usage["total_tokens"] = text + pictures + output
        if model.vendor == "gemini":  # Counts its thinking in the total alone.
            usage["completion_tokens"] = visible
        elif model.vendor in ("openai", "dashscope"):
            usage["completion_tokens_details"] = {"reasoning_tokens": said.reasoning_tokens}
            usage["prompt_tokens_details"] = {"cached_tokens": 0}
        message: Json = {"role": "assistant", "content": said.text}
        if model.vendor == "openai":
            message["refusal"] = said.refusal
        if model.vendor == "vllm":
            message["reasoning_content"] = None
        choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
        made = {"id": f"chatcmpl-{len(self.charges)}", "object": "chat.completion", "created": int(time.time())}
        return {**made, "model": model.name, "choices": [choice], "usage": usage}

    def _limited(self, vendor: Vendor) -> web.Response | None:
        if self.requests_per_minute is None:
            return None
        now = time.monotonic()
        while self._sent_at and self._sent_at[0] <= now - 60:
            self._sent_at.popleft()
        if len(self._sent_at) >= self.requests_per_minute:
            wait = f"{self._sent_at[0] + 60 - now:.3f}"
            return _problem(vendor, 429, "Rate limit reached", code="rate_limit_exceeded", wait=wait)
        self._sent_at.append(now)
        return None

    def _limit_headers(self, vendor: Vendor) -> dict[str, str]:
        if self.requests_per_minute is None or not self._sent_at:
            return {}
        left = str(self.requests_per_minute - len(self._sent_at))
        reset_s = max(0.0, self._sent_at[0] + 60 - time.monotonic())
        if vendor == "anthropic":
            until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + reset_s))
            names = {"limit": str(self.requests_per_minute), "remaining": left, "reset": until}
            return {f"anthropic-ratelimit-requests-{name}": value for name, value in names.items()}
        names = {"limit": str(self.requests_per_minute), "remaining": left, "reset": f"{reset_s:.0f}s"}
        return {f"x-ratelimit-{name}-requests": value for name, value in names.items()} if vendor == "openai" else {}


_CODES = {"401": "invalid_api_key", "404": "model_not_found", "429": "rate_limit_exceeded"}
_NO_MODEL: dict[Vendor, str] = {
    "openai": "The model `{name}` does not exist or you do not have access to it.",
    "anthropic": "model: {name}",
    "gemini": "models/{name} is not found for API version v1main, or is not supported for generateContent.",
    "dashscope": "The model `{name}` does not exist or you do not have access to it.",
    "vllm": "The model `{name}` does not exist.",
}


def _unsupported(field: str, value: object) -> str:
    if field == "max_tokens":
        return (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
    return f"Unsupported value: '{field}' does not support {value} with this model."


def _problem(
    vendor: Vendor, status: int, message: str, *, code: str | None = None, param: str | None = None, wait: str = ""
) -> web.Response:
    """An error in the vendor's own shape."""
    headers = {"Retry-After": wait} if wait else {}
    said: Any
    if vendor == "gemini":
        details = [{"reason": "API_KEY_INVALID"}] if code == "invalid_api_key" else []
        shown = 400 if details else status
        said = [{"error": {"code": shown, "message": message, "status": "INVALID_ARGUMENT", "details": details}}]
        return web.json_response(said, status=shown, headers=headers)
    if vendor == "vllm":
        said = {"object": "error", "message": message, "type": "BadRequestError", "param": param, "code": status}
    elif vendor == "anthropic":
        kind = {404: "not_found_error", 401: "authentication_error", 429: "rate_limit_error"}.get(status, code)
        said = {"error": {"code": kind, "message": message, "type": kind, "param": None}}
    else:
        said = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
    return web.json_response(said, status=status, headers=headers)


def _wrong_key(vendor: Vendor, request: web.Request) -> web.Response | None:
    if vendor == "vllm" or request.headers.get("Authorization") == f"Bearer {KEY}":
        return None
    said = {"anthropic": "invalid x-api-key", "gemini": "API key not valid. Please pass a valid API key."}
    return _problem(vendor, 401, said.get(vendor, "Incorrect API key provided"), code="invalid_api_key")


def _limit(body: Json) -> int | None:
    return body.get("max_completion_tokens") or body.get("max_tokens")


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A fake of the vendors' chat endpoints, on loopback.")
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--fault", action="append", default=[], help=", ".join(FAULTS))
    parser.add_argument("--every", metavar="N=FAULT", help="what befalls every N-th request")
    parser.add_argument("--rpm", type=int, help="requests per minute that are let through")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that a reply takes")
    given = parser.parse_args()
    provider = Provider(requests_per_minute=given.rpm, latency_s=given.latency, port=given.port)
    provider.faults.extend(given.fault)
    if given.every:
        period, _, fault = given.every.partition("=")
        provider.every = (int(period), fault)
    with provider:
        # Who reads the addresses may interrupt before the last of them is out of here.
        try:
            for vendor in PATHS:
                print(f"{vendor:10} {provider.base_url(vendor)}", flush=True)
            print(f"{'bill':10} http://127.0.0.1:{provider.port}/bill   (key: {KEY})", flush=True)
            threading.Event().wait()
        except KeyboardInterrupt:
            print(f"{provider.count} requests, {provider.bill_usd:.6f} US dollars")


if __name__ == "__main__":
    main()
