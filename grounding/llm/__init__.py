"""The one way to talk to a chat endpoint: a request body in, a reply or a typed failure out.

``endpoint`` is where and with which key; ``wires`` what differs between interfaces; ``client`` sends, within the
connections, the budget and the provider's limits (``ratelimits``, told by ``headers``); ``failures`` says what is worth
another try; ``listing`` asks which models are served; ``redaction`` keeps keys and pictures out of messages.

The chat wire is that of the ``openai`` package. The body is built once, as bytes, and sent by aiohttp, which costs a
third of the CPU time of that package's own client on requests that carry a screenshot.
"""

from grounding.llm.client import ChatClient, ChatReply, ModelClient, Reply
from grounding.llm.endpoint import Endpoint, resolve_endpoint
from grounding.llm.failures import CallFailed
from grounding.llm.listing import only_model
from grounding.llm.wires import Spent, Wire

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
