"""A small DevTools protocol client over one websocket."""

from __future__ import annotations

import json
from typing import Any

import websocket


class DevToolsError(RuntimeError):
    """The browser answered a command with an error."""


class DevTools:
    """Sends commands and waits for their answers; events are dropped."""

    def __init__(self, url: str, timeout: float = 20.0) -> None:
        self._socket = websocket.create_connection(url, timeout=timeout, suppress_origin=True)
        self._last_id = 0

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Run one command and return its result."""
        self._last_id += 1
        self._socket.send(json.dumps({"id": self._last_id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") != self._last_id:
                continue
            if "error" in message:
                raise DevToolsError(f"{method}: {message['error']}")
            result: dict[str, Any] = message.get("result", {})
            return result

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page and return its value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise DevToolsError(json.dumps(answer["exceptionDetails"])[:800])
        return answer["result"].get("value")

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
