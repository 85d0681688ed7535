from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grounding.benchmarks.agenticshop.benchmark import BENCHMARK
from grounding.benchmarks.agenticshop.preparation import CurationOptions, as_released, check_options
from grounding.errors import UserError

MANY_JUDGES = ("reference", "gpt-4o", "gpt-4o@no-info", "gpt-5-mini@official")


def test_the_usual_options_are_fine():
    check_options(CurationOptions())
    check_options(CurationOptions(agent="browsing", model="gpt-4o", grounder="ocr", max_steps=5, max_seconds=9.5))
    check_options(CurationOptions(agent="replay", curations=Path("x.json"), judge=MANY_JUDGES))
    assert CurationOptions().judges == ("reference",)
    assert CurationOptions(judgements=Path("x")).judges == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"agent": "puma"}, "--agent puma: expected site-search"),
        ({"agent": "browsing"}, "needs a model"),
        ({"base_url": ("http://x",)}, "--base-url http://x"),
        ({"agent": "replay"}, "give both or neither"),
        ({"max_steps": 3}, "--max-steps 3: is for browsing"),
        ({"limit": 0}, "--limit 0: expected 1 or more"),
        ({"timeout": float("nan")}, "--timeout nan: expected seconds"),
        ({"judge": ("reference", "reference")}, "--judge reference: named twice"),
        ({"judge": ("gpt-4o@half",)}, "a condition of full, no-info, url-only, official"),
        ({"judge": ("reference@url-only",)}, "the reference reads what a page says"),
        ({"judge_base_url": "http://x"}, "no judge is a chat model"),
        ({"judge": ("gpt-4o@official",), "judge_prompt": "x"}, "--judge-prompt x: no judge is asked in words"),
        ({"extractor": "gpt-4o", "extractions": Path("x")}, "--extractor gpt-4o: --extractions says what was read"),
    ],
)
def test_what_can_not_be_meant_is_refused_in_words(options: dict[str, Any], words: str):
    with pytest.raises(UserError, match=words.replace("|", r"\|")):
        check_options(CurationOptions(**options))


def test_the_preset_is_what_the_release_uses_where_nobody_says_otherwise():
    assert as_released(CurationOptions()) == CurationOptions()
    found = as_released(CurationOptions(preset="official", agent="search"))
    used = ("gpt-4o-search", "gpt-5-mini@official", ("gpt-5-mini@official",), "official")
    assert (found.model, found.extractor, found.judges, found.scoring) == used
    own = as_released(CurationOptions(preset="official", extractions=Path("x"), judge=("o3@official",)))
    assert (own.extractor, own.judges) == ("structural", ("o3@official",))


def test_the_grounder_keeps_its_address_beside_those_of_models():
    urls = ("m=http://m/v1", "gta1=http://g/v1", "http://other/v1")
    given = {"dataset": "sample-mall", "scenario": (), "agent": ("browsing", "search", "site-search")}
    given |= {"model": ("m", "n"), "grounder": ("gta1",), "base_url": urls}
    found = {(one.agent, one.model): one.agent_urls for one in BENCHMARK.runs(given, ("agent", "model"), "")}
    assert found == {
        ("browsing", "m"): ("http://m/v1", "http://g/v1"),
        ("browsing", "n"): ("http://other/v1", "http://g/v1"),
        ("search", "m"): ("http://m/v1", ""),
        ("search", "n"): ("http://other/v1", ""),
        ("site-search", None): ("", ""),
    }
