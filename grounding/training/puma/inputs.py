"""What PUMA's model is told of a task: the same texts as the agent ``puma-local`` tells it, by the same code."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.webagents.personalwab.agents.parameters import parameter_prompt
from grounding.webagents.personalwab.episode import view_of
from grounding.webagents.personalwab.memory import Count, Embed, Memory, Recalled
from grounding.webagents.personalwab.prompts import shop_prompts
from grounding.webagents.personalwab.pumaprompts import function_prompt, puma_prompts
from grounding.webagents.personalwab.records import Behaviour, ShopDataset, ShopTask, TaskView


class Inputs:
    """Prompts for tasks of one shop.

    Args:
        dataset: The shop.
        count: Tokens of a text, by the model's own tokenizer.
        embed: Turns texts into rows of length 1.
        length: How many behaviours are chosen.
        tokens: How long the memory may be.
        told: Whether the model is told the memory at all; labels are made with it in any case.
    """

    def __init__(
        self, dataset: ShopDataset, *, count: Count, embed: Embed, length: int, tokens: int, told: bool = True
    ) -> None:
        self._dataset = dataset
        self._count = count
        self._embed = embed
        self._length = length
        self._tokens = tokens
        self._told = told
        self._memory = self._memory_of(tokens)
        self.memory_length = length if told else 0
        self.identity = f"{self._memory.identity};told={told};{puma_prompts().label}"

    def function(self, task: ShopTask) -> str:
        """The question for the function."""
        return function_prompt(puma_prompts(), task.instruction)

    def parameter(self, task: ShopTask, *, most_tokens: int | None = None) -> str | None:
        """The prompt for the parameter of a task's own function.

        Args:
            task: The task.
            most_tokens: How long the prompt may be; entries at the end of the memory are left out until it fits.

        Returns:
            None where it doesn't fit even without a memory.
        """
        limit = self._tokens
        while True:
            prompt = self._worded(task, limit)
            over = 0 if most_tokens is None else self._count(prompt) - most_tokens
            if over <= 0:
                return prompt
            if limit == 0:
                return None
            limit = max(0, limit - over)

    def remembered(self, task: ShopTask) -> Recalled:
        """The memory of a task, whether the model is told it or not."""
        return self._memory.recall(self.view(task), predicted=task.type)

    def past(self, task: ShopTask) -> Sequence[Behaviour]:
        """All that the user did before, oldest first."""
        return self._memory.past(self.view(task))

    def view(self, task: ShopTask) -> TaskView:
        """What an agent knows of a task."""
        return view_of(task, self._dataset.products.get(task.target_asin))

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._count(text)

    def _worded(self, task: ShopTask, limit: int) -> str:
        view = self.view(task)
        text = ""
        if self._told and limit > 0:
            memory = self._memory if limit == self._tokens else self._memory_of(limit)
            text = memory.recall(view, predicted=task.type).text
        return parameter_prompt(shop_prompts(), view, task.type, text)

    def _memory_of(self, tokens: int) -> Memory:
        return Memory(
            "task-specific",
            self._dataset,
            shop_prompts(),
            length=self._length,
            max_tokens=tokens,
            embed=self._embed,
            count=self._count,
            plain=True,
        )
