"""What every agent gives back, and agents of one's own."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.agenticshop.agents.small_shop import VIEW
from grounding.benchmarks.agenticshop.agents import base
from grounding.benchmarks.agenticshop.agents.base import find_agent, made, registered
from grounding.benchmarks.agenticshop.records import Curated, TraceStep
from grounding.cli import app
from grounding.errors import UserError
from grounding.records import Failure


def test_texts_are_cut_off_and_a_failure_has_no_products() -> None:
    long = "x" * 50_000
    products = tuple(Curated(rank=rank, url=long, name=long, reasoning=long) for rank in range(30))
    step = TraceStep(action=long, url=long, thought=long, observation=long, cited_urls=(long,) * 100)
    curation = made(VIEW, "k", products=products, trace=(step,) * 1000, raw=long)
    assert (len(curation.products), len(curation.trace)) == (base.MAX_PRODUCTS, base.MAX_TRACE_STEPS)
    assert len(msgspec.json.encode(curation.products[0])) < 7_000
    assert len(msgspec.json.encode(curation.trace[0])) < 120_000
    failed = made(VIEW, "k", products=products, failure=Failure(kind="unparsed", message="none"))
    assert (failed.products, failed.step_id, failed.key) == ((), VIEW.task_id, "k")


OWN = """
from grounding.benchmarks.agenticshop.agents.base import CurationAgent, agent, made
from grounding.benchmarks.agenticshop.records import Curated

class Doors(CurationAgent):
    name = identity = "doors"
    async def curate(self, view, key):
        return made(view, key, products=tuple(Curated(rank=0, url=site.home_url) for site in view.sites[:1]))

@agent("doors", "the front page of the first shop")
def doors(given):
    return Doors()

def wrong(given):
    return 3

nothing = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with an agent, which is forgotten after."""
    (tmp_path / "own_doors.py").write_text(OWN)
    monkeypatch.setattr(base, "_AGENTS", dict(registered()))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "own_doors.py"  # type: ignore[misc]
    registered.cache_clear()


def test_an_agent_of_a_file(own: Path, tmp_path: Path) -> None:
    def run(agent: str, *more: str) -> int:
        command = ["eval", "--dataset", "sample-mall", "--limit", "2", "--log-dir", str(tmp_path / "runs"), "--dry-run"]
        return app([*command, "--agent", agent, *more])

    entry = find_agent(f"{own}:doors")
    assert entry is not None
    assert entry.make(None).identity.endswith("|doors")  # type: ignore[arg-type]
    assert run(f"{own}:doors") == 0
    for agent, more, said in (
        ("nobody", (), "expected site-search, browsing, search, agent-e"),
        (f"{own}:nothing", (), "has no function nothing"),
        (f"{own}:wrong", (), "made int; expected a CurationAgent"),
        (f"{own}x.py:doors", (), "can't be read"),
        (f"{own}:doors", ("--model", "gpt-4o"), "asks no model"),
        (f"{own}:doors", ("--curations", str(own)), "--curations is what the agents agent-e, browser-use"),
    ):
        with pytest.raises(UserError, match=said):
            run(agent, *more)
