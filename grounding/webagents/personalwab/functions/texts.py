"""Products as text, in the release's own wording: what a model reads of a product, and what is searched.

The layout is wire format (``Product_Prompt`` and ``pretty_product`` in get_recommendations_by_history.py of
HongruCai/PersonalWAB): lists stand as Python prints them. The text that the released search index holds is not public;
this one is searched in its place.
"""

from __future__ import annotations

from grounding.webagents.personalwab.records import Product


def product_text(product: Product) -> str:
    """A product line by line, without a number."""
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


def result_text(index: int, product: Product) -> str:
    """One entry of a list of results, numbered from 0 as in the release."""
    return f"\nProduct {index}:\n{product_text(product)}"
