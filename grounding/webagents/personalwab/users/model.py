"""A user played by a chat model, told profile, product and review (release, ``envs/user.py``; paper, figure 15)."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.chat import NO_PICTURES, ChatModel
from grounding.records import Failure
from grounding.webagents.personalwab.agents.conversation import said as spoken
from grounding.webagents.personalwab.agents.conversation import text_message
from grounding.webagents.personalwab.functions.texts import product_text
from grounding.webagents.personalwab.prompts import ShopPrompts, user_text
from grounding.webagents.personalwab.records import Profile, ShopDataset, ShopTask, Turn
from grounding.webagents.personalwab.users.base import UserReply
from grounding.wire import Message

MAX_REPLY_CHARS = 4_000


class ModelUser:
    """A chat model that plays the user: the agent is its user, and its replies are the assistant's."""

    def __init__(self, model: ChatModel, dataset: ShopDataset, prompts: ShopPrompts) -> None:
        self._model = model
        self._dataset = dataset
        self._prompts = prompts
        self.identity = f"model-user:1|{model.identity}|{prompts.label}"

    async def reply(self, task: ShopTask, turns: Sequence[Turn], said: str) -> UserReply:
        """Ask the model for the user's next line."""
        asked = await self._model.send(lambda: self._messages(task, turns, said), NO_PICTURES)
        if asked.completion is None:
            failure = asked.failure or Failure(kind="error", message="no reply")
            return UserReply(call=asked.call, failure=failure)
        return UserReply(text=asked.completion.text[:MAX_REPLY_CHARS], call=asked.call)

    def _messages(self, task: ShopTask, turns: Sequence[Turn], said: str) -> list[Message]:
        user = self._dataset.users.get(task.user_id)
        profile = user.profile if user and user.profile else Profile()
        product = product_text(self._dataset.products[task.target_asin])
        messages = [
            text_message("system", user_text(self._prompts, task.type, profile, product, task.target_review)),
            text_message("user", self._prompts.user_greeting),
            text_message("assistant", task.instruction),
        ]
        for turn in turns:
            if turn.call.name == "respond":
                messages.append(text_message("user", spoken(turn.call)))
                messages.append(text_message("assistant", turn.user_reply or ""))
        return [*messages, text_message("user", said)]

    async def check(self) -> None:
        """Fail early when the endpoint is not there."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close connections."""
        await self._model.aclose()
