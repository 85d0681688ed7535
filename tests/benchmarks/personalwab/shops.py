"""A small shop for the tests of the room."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from grounding.benchmarks.personalwab.records import (
    Behaviour,
    Product,
    Profile,
    Review,
    ShopDataset,
    ShopTask,
    ShopUser,
    TaskView,
)
from grounding.benchmarks.personalwab.web import Bm25Search, WebFunctions

TITLES = ("oak desk", "oak lamp", "wool coat", "steel kettle", "quiet fan", "green tea", "black tea", "rain boots")
PRODUCTS = {
    f"B00{place}": Product(
        asin=f"B00{place}", title=title, main_category="Home" if place < 5 else "Food", store="Acme", price="9.5"
    )
    for place, title in enumerate(TITLES)
}
BEHAVIOURS = tuple(
    Behaviour(asin=asin, review=Review(asin=asin, timestamp_ms=100 * place, rating=5.0, text=f"I like the {title}."))
    for place, (asin, title) in enumerate(zip(PRODUCTS, TITLES, strict=True))
)
PROFILE = Profile(
    gender="Female", age="25-34", price_sensitivity="High", interaction_complexity="Low", focus_aspect="Price"
)


def view(at: int = 450, instruction: str = "something to boil water in", task_id: str = "test/0") -> TaskView:
    return TaskView(task_id=task_id, user_id="u", instruction=instruction, timestamp_ms=at)


def task(**more: object) -> ShopTask:
    known: dict[str, object] = {
        "id": "test/0",
        "user_id": "u",
        "type": "search",
        "instruction": "something to boil water in",
        "timestamp_ms": 450,
        "target_asin": "B003",
    }
    return ShopTask(**{**known, **more})  # type: ignore[arg-type]


def shop() -> ShopDataset:
    return ShopDataset(
        name="tiny",
        fingerprint="0" * 64,
        users={"u": ShopUser(id="u", profile=PROFILE, behaviours=BEHAVIOURS)},
        products=dict(PRODUCTS),
        tasks=(task(),),
    )


def opened(text: str = "something to boil water in", *, review: bool = False, at: int = 450) -> TaskView:
    """A view of a task of any type; a review is of the first product."""
    product = PRODUCTS["B000"] if review else None
    return TaskView(task_id="test/0", user_id="u", instruction=text, timestamp_ms=at, review_product=product)


def product_info(asin: str) -> dict[str, object]:
    """A product as the release's files have it."""
    product = PRODUCTS[asin]
    return {
        "parent_asin": asin,
        "title": product.title,
        "main_category": product.main_category,
        "store": product.store,
        "price": product.price,
    }


INSTRUCTIONS: tuple[tuple[str, str, str, str], ...] = (
    ("u", "search", "Please find me a steel kettle", "B003"),
    ("u", "recommend", "Recommend something I might like", "B004"),
    ("u", "review", "Help me write a review of this", "B000"),
    ("v", "search", "Please find me rain boots", "B007"),
    ("v", "recommend", "Recommend something I might like", "B005"),
    ("v", "review", "Help me write a review of this", "B002"),
)  # User, type, words and target; v has no history, and two pairs of tasks have the same words.


def write_shop(
    folder: Path, instructions: Sequence[tuple[str, str, str, str]] = INSTRUCTIONS, *, recommends: bool = True
) -> Path:
    """The shop in the release's layout, with a recommender that has learnt nothing; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    history = [
        {
            "product_info": product_info(one.asin),
            "review": {"rating": 5.0, "title": "", "text": one.review.text, "timestamp": one.review.timestamp_ms},
            "split": "history",
        }
        for one in BEHAVIOURS
    ]
    tasks = [
        {
            "user_id": user,
            "task": words,
            "type": kind,
            "timestamp": 10_000,
            "target": {
                "product_info": product_info(asin),
                "review": {"rating": 5.0, "text": f"I love the {PRODUCTS[asin].title}.", "timestamp": 10_000},
            },
        }
        for user, kind, words, asin in instructions
    ]
    profile = {"user_profile": {"Gender": "Female", "Price Sensitivity": "High", "Focus Aspect": "Price"}}
    files: dict[str, object] = {
        "user_instructions.json": {"train": [], "test": tasks},
        "user_history_part_1.json": {"u": history, "v": []},
        "user_profiles.json": {"u": profile},
        "all_products_part_1.json": {asin: product_info(asin) for asin in PRODUCTS},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    if recommends:
        import torch

        from grounding.benchmarks.personalwab.sasrec import Sasrec

        torch.manual_seed(0)
        torch.save(Sasrec(len(PRODUCTS), hidden=8).state_dict(), folder / "sasrec.pth")
        numbers = {asin: place for place, asin in enumerate(PRODUCTS, start=1)}
        (folder / "product_ids.json").write_text(json.dumps(numbers))
    return folder


def web(*, recommended: Sequence[str] = ("B004", "B005")) -> WebFunctions:
    """The functions over the shop, with a recommender that always recommends the same."""
    return WebFunctions(PRODUCTS, Bm25Search(PRODUCTS), FixedRecommender(recommended))


class FixedRecommender:
    """Recommends the same for every history that holds a product of the shop."""

    identity = "fixed"

    def __init__(self, asins: Sequence[str]) -> None:
        self.numbers = {asin: place for place, asin in enumerate(PRODUCTS, start=1)}
        self._always = tuple(asins)

    def recommend(self, sequence: Sequence[str], k: int) -> tuple[str, ...]:
        return self._always[:k] if any(asin in PRODUCTS for asin in sequence) else ()
