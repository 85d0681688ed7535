"""The one way to talk to a chat endpoint: a request body in, a reply or a typed failure out.

``endpoint`` is where and with which key, ``wire`` what differs between interfaces; ``client`` sends, within the
connections, the ``budget`` and the provider's limits (``ratelimits``), and ``http`` says what came back.

The chat wire is that of the ``openai`` package. The body is built once, as bytes, and sent by aiohttp, which costs a
third of the CPU time of that package's own client on requests that carry a screenshot.
"""

from grounding.llm.client import ChatClient, ChatReply, ModelClient, Reply
from grounding.llm.endpoint import Endpoint, only_model, resolve_endpoint
from grounding.llm.http import CallFailed
from grounding.llm.wire import Spent, Wire

__all__ = [
    "CallFailed",
    "ChatClient",
    "ChatReply",
    "Endpoint",
    "ModelClient",
    "Reply",
    "Spent",
    "Wire",
    "only_model",
    "resolve_endpoint",
]
