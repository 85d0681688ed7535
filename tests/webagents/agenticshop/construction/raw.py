"""Small files of raw users of the real shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
REAL = Path(__file__).parents[5] / "shared" / "data" / "agenticshop" / "raw"
GROCERY = "Grocery_and_Gourmet_Food"


def review(title: str, *, brand: str = "Acme", kind: str = "Tea", text: str = "Nice.", **more: Any) -> Json:
    product = {
        "description": ["A thing."],
        "categories": ["Grocery & Gourmet Food", kind],
        "main_category": "Grocery",
        "store": brand,
        "details": json.dumps({"Brand": brand, "Item Form": "Loose Leaves"}),
        "title": title,
        "average_rating": 4.4,
        "features": [],
        "price": "8.99",
        "rating_number": 120,
    }
    return {"user_review_title": "T", "user_rating": 5.0, "user_review": text, "product": product, **more}


def user(name: str, *titles: str, kind: str = "Tea", brand: str = "Acme", target: int = 0) -> tuple[str, list[Json]]:
    reviews = [review(title, kind=kind, brand=brand) for title in titles]
    stats = {"stats": {"main_category": kind, "number_of_purchases": len(reviews), "average_rating": 5.0}}
    return name, [stats, {"most_frequent_category": [kind], "target": reviews[target], "review": reviews}]


def open_user(name: str, *titles: str) -> tuple[str, list[Json]]:
    reviews = [review(title, domain="Electronics" if place % 2 else GROCERY) for place, title in enumerate(titles)]
    stats: Json = {"stats": {"number_of_purchases": {GROCERY: 1}, "average_rating": {GROCERY: 4.0}}}
    return name, [stats, {"review": reviews}]


def write(folder: Path, *users: tuple[str, list[Json]], name: str = GROCERY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(dict(users)), encoding="utf-8")
    return folder


def several(count: int = 6) -> list[tuple[str, list[Json]]]:
    """Users who buy different kinds of different brands."""
    kinds = ("Tea", "Coffee", "Taffy", "Cocoa", "Honey", "Rice", "Salt", "Oats")
    return [
        user(
            f"U{number}",
            *(f"Brand{number} {kinds[number % 8]} number {place}" for place in range(12)),
            kind=kinds[number % 8],
            brand=f"Brand{number}",
        )
        for number in range(count)
    ]
