"""What PersonalWAB tells agents, simulated users and models in training: its wording, and memories of a user's past.

What is null in the data stands as ``None`` in the release's texts, and lists stand as Python prints them.
"""

import hashlib
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal

import msgspec
import numpy as np

from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab import records
from grounding.benchmarks.personalwab.records import Behaviour, Product, TaskType, TaskView
from grounding.cards.places import models_dir
from grounding.records import Record

FUNCTION_OF: dict[TaskType, str] = {
    "search": "search_product_by_query",
    "recommend": "get_recommendations_by_history",
    "review": "add_product_review",
}  # The function that ends a task of each type.


@cache
def wording(name: str) -> Any:
    """The texts of a file as attributes, and a ``label``: name, version and a hash."""
    texts = msgspec.yaml.decode((models_dir() / "prompts" / "personalwab" / f"{name}.yaml").read_bytes())
    digest = hashlib.sha256(msgspec.json.encode(texts)).hexdigest()[:8]
    return SimpleNamespace(**texts, label=f"{texts['name']}.{texts['version']}@{digest}")


def shop_prompts() -> Any:
    """The release's (``system_*`` for plain memories) and the paper's (``paper_*``)."""
    return wording("release")


def puma_prompts() -> Any:
    """Those of PUMA's training, a file of its own so that the agents' label stays what it is."""
    return wording("puma")


def function_prompt(prompts: Any, instruction: str) -> str:
    return fill(prompts.function, instruction=instruction)


def named_function(text: str) -> TaskType | None:
    said = text.strip()
    return next((kind for kind, name in FUNCTION_OF.items() if said.startswith(name)), None)


def product_text(product: Product) -> str:
    """A product line by line, as the release shows it; searched in place of the released index's text, not public."""
    return (
        f"- Title: {product.title}\n"
        f"- Parent Asin: {product.asin}\n"
        f"- Average Rating: {product.average_rating}\n"
        f"- Rating Number: {product.rating_number}\n"
        f"- Price: {product.price}\n"
        f"- Store: {product.store}\n"
        f"- Features: {list(product.features)}\n"
        f"- Description: {list(product.description)}\n"
        f"- Details: {product.details}\n"
        f"- Category: {product.main_category}\n"
    )


def product_fields(product: Product) -> dict[str, str]:
    fields = msgspec.structs.asdict(product)
    told = {name: str(list(one) if isinstance(one, tuple) else one) for name, one in fields.items()}
    return told | {"parent_asin": product.asin}


def behaviour_text(template: str, number: int, behaviour: Behaviour, product: Product) -> str:
    review = behaviour.review
    said = {"rating": str(review.rating), "text": review.text, "review_text": review.text}
    return fill(template, **product_fields(product), **said, num=str(number), timestamp=str(review.timestamp_ms))


def opening_text(user_id: str, instruction: str, review_product: Product | None) -> str:
    asked = f"USER {user_id}: {instruction}"
    if review_product is None:
        return asked
    return f"{asked}\nHere is the product information: \n{product_text(review_product)}"


def user_text(task: records.ShopTask, profile: records.Profile, product: Product) -> str:
    prompts = shop_prompts()
    known = msgspec.structs.asdict(profile)
    known |= {"interaction_style": profile.interaction_complexity, "focus": profile.focus_aspect}
    for name in ("price_sensitivity", "diversity_preference", "interaction_style"):
        known[name] = getattr(prompts, f"user_{name.split('_')[0]}").get(known[name], known[name])
    told = {"profile": fill(prompts.user_profile, **known), "product": f"\n{product_text(product)}"}
    if task.type == "review" and task.target_review is not None:
        return fill(prompts.user_review, **told, review=task.target_review.text)
    return fill(prompts.user_search, **told)


MemoryName = Literal["none", "random", "last", "relevant", "task-specific", "recmind", "interecagent"]
# Behaviours that are told (paper, section A.3); RecMind is told 400.
PAPER_LENGTHS: dict[str, int] = {"single": 50, "multi": 20}
RECMIND_LENGTH = 400
RELEASE_LENGTH = 10
RELEASE_TOKENS = 768  # Of PUMA's own model (release, ``run.py``).

Embed = Callable[[Sequence[str]], np.ndarray[Any, np.dtype[np.float32]]]


class Recalled(Record, frozen=True, kw_only=True, omit_defaults=False):
    text: str = ""
    chosen: tuple[Behaviour, ...] = ()


NOTHING = Recalled()


@dataclass(frozen=True)
class Memory:
    """Chooses and words at most ``length`` behaviours, all of them before the task's time (as in the release).

    ``embed`` turns texts into rows of length 1. ``cut`` gives the first ``max_tokens`` of PUMA's own model, which is
    told ``task-specific`` as in the release (PUMA/utils.py): cut inside of a behaviour, without a heading, and of
    recommendations the newest first. ``react`` gives the heading of ``last`` as the release's ReAct has it.
    """

    kind: MemoryName
    dataset: records.ShopDataset
    prompts: Any
    _: KW_ONLY
    length: int
    max_tokens: int | None = None
    seed: int = 0
    embed: Embed | None = None
    cut: Callable[[str, int], str] | None = None
    react: bool = False

    @property
    def identity(self) -> str:
        """Canonical text of all that can change a memory."""
        chance = f";seed={self.seed}" if self.kind == "random" else ""
        worded = (";cut" if self.cut else "") + (";react" if self.react else "")
        return f"{self.kind};length={self.length};tokens={self.max_tokens}{chance}{worded};{self.prompts.label}"

    def recall(self, view: TaskView, *, predicted: TaskType | None = None) -> Recalled:
        """The memory for a task; ``task-specific`` needs the type that the agent takes it for."""
        user, prompts, kind = self.dataset.users.get(view.user_id), self.prompts, self.kind
        past = user.before(view.timestamp_ms) if user is not None else []
        if kind == "none" or (kind == "task-specific" and not past):
            return NOTHING
        heading: str = getattr(prompts, f"memory_{kind.replace('-', '_')}", "")
        entry: str = getattr(prompts, f"entry_{kind}", prompts.entry)
        between, chosen = "\n", sorted(past, key=lambda one: one.review.timestamp_ms, reverse=True)
        if kind == "random":
            # By the task's id, too, so that the order of tasks is no matter.
            seeded = hashlib.sha256(f"{self.seed}:{view.task_id}".encode()).digest()
            chosen = random.Random(seeded).sample(chosen, min(self.length, len(past)))
        elif kind in ("relevant", "task-specific") and past:
            assert self.embed is not None, "who makes such a memory gives it embeddings"
            rows = self.embed([view.instruction, *self._worded(prompts.entry, past)])
            chosen = [past[place] for place in np.argsort(-(rows[1:] @ rows[0]), kind="stable")]
        elif kind == "last" and self.react:
            heading = prompts.memory_last_react
        chosen = chosen[: self.length]
        if kind == "task-specific":
            assert predicted is not None, "agents with this memory predict a type first"
            if predicted == "recommend":
                chosen.sort(key=lambda one: one.review.timestamp_ms, reverse=self.cut is not None)
            heading = "" if self.cut else fill(heading, type=predicted, tool=FUNCTION_OF[predicted])
            entry, between = getattr(prompts, f"entry_{predicted}"), "|"
        entries = self._worded(entry, chosen)
        text, kept = heading + between.join(entries), len(entries)
        if self.max_tokens is not None and self.cut is not None:
            text = self.cut(text, self.max_tokens)
            ends = itertools.accumulate(len(one + between) for one in entries)
            kept = sum(end - len(between) <= len(text) for end in ends)
        return Recalled(text=text, chosen=tuple(chosen[:kept]))

    def _worded(self, entry: str, chosen: Sequence[Behaviour]) -> list[str]:
        return [behaviour_text(entry, at, one, self.dataset.products[one.asin]) for at, one in enumerate(chosen)]
