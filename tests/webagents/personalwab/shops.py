"""A small shop for the tests of the room."""

from __future__ import annotations

from grounding.webagents.personalwab.records import (
    Behaviour,
    Product,
    Profile,
    Review,
    ShopDataset,
    ShopTask,
    ShopUser,
    TaskView,
)

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
