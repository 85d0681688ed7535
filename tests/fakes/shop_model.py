"""A chat model that shops: reads a conversation of PersonalWAB and says what a sensible model would, without thinking.

It plays every part that a model has there: agents with function calls, agents that write Thought, Action and Arguments,
the simulated user, and whoever distils likings or reflects. What it does depends on the request alone.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fakes.chat_server import completion, function_call

Json = dict[str, Any]

RECOMMEND, SEARCH, REVIEW = "get_recommendations_by_history", "search_product_by_query", "add_product_review"
LIKINGS = {"like": ["B000"], "dislike": ["B002"], "expect": []}
LATER_LIKINGS = {"like": [], "dislike": ["B001"], "expect": ["something cheaper"]}
REFLECTION = "I asked for the wrong thing and shall ask otherwise."
SHOWN = "Is it the first one?"
USER_SAYS = "No, I want something else."

_ASIN = re.compile(r"\b(?:asin|Asin|ASIN):? ?(B\d+)", re.IGNORECASE)


def shop_model(body: Json) -> Json:
    """The JSON of the reply to a request."""
    system = body["messages"][0]["content"]
    if "extract a user profile from the user history" in system:
        return completion("```json\n" + json.dumps(LIKINGS) + "\n```")
    if "extract user profile from the conversation" in system:
        return completion(json.dumps(LATER_LIKINGS))
    if "Your goal is to reflect on the feedback" in system:
        return completion(REFLECTION)
    if "You are an user interacting with" in system:
        return completion(USER_SAYS)
    name, arguments = _wanted(body)
    if "tools" in body:
        if name == "respond":
            return completion(arguments["content"])
        return completion(None, finish_reason="tool_calls", tool_calls=[function_call(name, arguments)])
    written = arguments["content"] if name == "respond" else json.dumps(arguments)
    return completion(f"Thought:\nThis is what helps.\nAction:\n{name}\nArguments:\n{written}")


def _wanted(body: Json) -> tuple[str, Json]:
    """The next call of an agent: what the task needs, then a question, then the end."""
    messages = body["messages"]
    system, opening = messages[0]["content"], messages[1]["content"]
    acted = [json.dumps(message) for message in messages[2:] if message["role"] == "assistant"]
    done = [said for said in acted if any(name in said for name in (RECOMMEND, SEARCH, REVIEW))]
    talks = "interact with the user by" in system or "allowed to interact with the user or" in system
    if not done:
        return _call(system, opening)
    if len(acted) == len(done) and talks and not _is_review(opening):
        return "respond", {"content": SHOWN}
    return "stop", {}


def _call(system: str, opening: str) -> tuple[str, Json]:
    words = opening.partition(": ")[2]
    if _is_review(opening):
        return REVIEW, {"review": "I like it a lot."}
    if "recommend" in words.lower():
        return RECOMMEND, {"product_sequence": list(dict.fromkeys(_ASIN.findall(system)))[:30]}
    return SEARCH, {"query": words}


def _is_review(opening: str) -> bool:
    return "Here is the product information" in opening
