from __future__ import annotations

from grounding.webagents.agenticshop.records import Attribute, ProductFacts, Target
from grounding.webagents.agenticshop.scores.matching import has_brand, has_type, is_of_target

FACTS = ProductFacts(
    title="Crème Brûlée Cups by Lark & Pine, 6 pack",
    brand="Lark & Pine",
    categories=("Desserts",),
    attributes=(Attribute(name="Type", value="Baking dishes"),),
)


def test_brands_are_compared_as_words():
    assert has_brand(FACTS, "LARK & PINE")
    assert has_brand(ProductFacts(title="Lark & Pine's creme cups"), "Lark & Pine")
    assert has_brand(FACTS, "Lark & Pine Kitchen Ltd")
    assert not has_brand(FACTS, "Pine")
    # A title that names another's brand beside is no proof: "case for ...".
    assert not has_brand(ProductFacts(title="Case for Ozark phones", brand="Birch"), "Ozark")
    assert not has_brand(FACTS, "")


def test_all_words_of_a_type_must_stand_there():
    assert has_type(FACTS, "Baking Dish")
    assert has_type(FACTS, "desserts")
    assert not has_type(FACTS, "Baking Trays")
    assert not has_type(FACTS, "the of")


def test_a_target_needs_both():
    assert is_of_target(FACTS, Target(brand="Lark & Pine", product_type="Dessert"))
    assert not is_of_target(FACTS, Target(brand="Ozark", product_type="Dessert"))
    assert not is_of_target(FACTS, Target(brand="Lark & Pine", product_type="Kettle"))
