from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.functions.texts import product_text
from grounding.webagents.personalwab.prompts import opening_text, profile_text, shop_prompts, user_text
from grounding.webagents.personalwab.records import Review
from webagents.personalwab.shops import PRODUCTS, PROFILE

PROMPTS = shop_prompts()


@given(st.text(), st.text())
def test_what_is_filled_in_is_never_filled_again(first: str, second: str) -> None:
    assert fill("<TITLE>|{History}|<OTHER>", title=first, history=second) == f"{first}|{second}|<OTHER>"
    assert fill("<TITLE>", title="<PRICE>", price="9") == "<PRICE>"


def test_the_texts_end_as_the_release_has_them() -> None:
    assert PROMPTS.entry.endswith("- Timestamp: <TIMESTAMP>\n\n")
    assert PROMPTS.entry_recmind.endswith("- Timestamp: <TIMESTAMP>\n")
    assert PROMPTS.entry.startswith("\nMEMORY <NUM>:\n\nProduct:\n")
    assert PROMPTS.react.startswith("\n# Instruction:\n")
    assert "'stop' call. \n" in PROMPTS.task_specific_multi
    assert "'stop' call.\n" in PROMPTS.system_multi


def test_a_user_is_told_who_it_is() -> None:
    told = profile_text(PROMPTS, PROFILE)
    assert "- You are A Price-Conscious Shopper who is very sensitive" in told
    assert "- You are A Minimalist Interactor" in told
    assert "<" not in told
    product = product_text(PRODUCTS["B003"])
    search = user_text(PROMPTS, "search", PROFILE, product, None)
    assert "You are looking for this product:\n\n- Title: steel kettle\n" in search
    review = user_text(PROMPTS, "review", PROFILE, product, Review(asin="B003", timestamp_ms=1, text="Fine <PRODUCT>."))
    assert "Your review is as follows:\nFine <PRODUCT>.\n" in review


def test_a_review_task_opens_with_its_product() -> None:
    assert opening_text("u", "find it", None) == "USER u: find it"
    assert opening_text("u", "review it", "- Title: x\n").endswith("product information: \n- Title: x\n")


def test_wordings_of_ones_own_must_be_whole(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no wording of PersonalWAB is called 'other': there are release"):
        shop_prompts("other")
    (tmp_path / "mine.yaml").write_text("name: mine\nversion: 1\n")
    with pytest.raises(UserError, match=r"mine\.yaml: Object missing required field"):
        shop_prompts(str(tmp_path / "mine.yaml"))
