"""The rules that write without a model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from grounding.webagents.agenticshop.checklist import lint_checklist
from grounding.webagents.agenticshop.construction.facts import brand_of, facts_of
from grounding.webagents.agenticshop.construction.records import Subject
from grounding.webagents.agenticshop.construction.subjects import find_files, subjects_of
from grounding.webagents.agenticshop.construction.template import (
    TemplateWriter,
    template_checklist,
    template_context,
    template_need,
)
from grounding.webagents.agenticshop.construction.wording import construction_prompts
from grounding.webagents.agenticshop.records import DIMENSIONS
from webagents.agenticshop.construction.raw import REAL, open_user, several, write


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    files = find_files(write(tmp_path, *several(1)))
    return subjects_of(files, seed=0, users=None, reviews=10, official=False).subjects[0]


def test_a_context_counts(subject: Subject) -> None:
    context = template_context(facts_of(subject.history))
    assert context.brand_preferences == "Of 10 purchases, the brands are: Brand0 (10, rated 5.0 of 5)."
    assert context.price_sensitivity.endswith("between $8.99 and $8.99, $8.99 in the middle.")
    assert "item form loose leaves (10)" in context.functional_requirements


def test_queries_are_less_and_less_specific(subject: Subject) -> None:
    assert subject.seed is not None
    need = template_need(subject, subject.seed, 0)
    title = subject.seed.product.title
    assert title in need.explicit_title
    assert "Brand0" in need.attribute_specific
    assert title not in need.attribute_specific
    assert need.brand_categorical.lower().replace("brand0", "") != need.brand_categorical.lower()
    assert "Brand0" not in need.categorical
    assert need.budget == "under $15"


def test_a_checklist_has_all_dimensions_and_the_budget(subject: Subject) -> None:
    assert subject.seed is not None
    items = template_checklist(subject, template_need(subject, subject.seed, 0))
    assert {item.dimension for item in items} == set(DIMENSIONS)
    assert "The price is at most $15.00." in {item.text for item in items}
    assert lint_checklist(items) == ()


def test_an_open_user_is_asked_for_nothing_that_only_some_kinds_have(tmp_path: Path) -> None:
    write(tmp_path, open_user("O", *(f"thing {place}" for place in range(20))), name="open_curation")
    (one,) = subjects_of(find_files(tmp_path), seed=0, users=None, reviews=10, official=False).subjects
    need = construction_prompts().open_need
    written = asyncio.run(TemplateWriter(0, need).need(one, template_context(facts_of(one.history))))
    assert written.made == need
    assert "The page lists details of the product." in {item.text for item in template_checklist(one, need)}


@pytest.mark.skipif(not REAL.is_dir(), reason="AgenticShop's raw users are not here")
def test_on_real_users_nothing_is_objected_to_and_titles_are_told_by_one_query_alone() -> None:
    subjects = subjects_of(find_files(REAL), seed=0, users=None, reviews=10, official=False).subjects
    open_need = construction_prompts().open_need
    for one in subjects:
        need = open_need if one.seed is None else template_need(one, one.seed, 0)
        assert lint_checklist(template_checklist(one, need)) == ()
        if one.seed is not None:
            title = one.seed.product.title
            assert all(
                title not in said for said in (need.attribute_specific, need.brand_categorical, need.categorical)
            )
            assert brand_of(one.seed.product) in need.brand_categorical
            assert need.categorical.lower().count(one.product_type.lower()) == 1
