"""A model judge asked about one product over real HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fakes import make
from fakes.chat_server import Behaviour, ChatServer, working_out
from fakes.judge_model import judge_model

from grounding.benchmarks.agenticshop.judge.base import JudgedProduct
from grounding.benchmarks.agenticshop.judge.model import ModelJudge
from grounding.benchmarks.agenticshop.records import Judgement
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.asking import Opened
from grounding.llm.budget import Budget


def asked(
    of: JudgedProduct,
    folder: Path,
    *script: Behaviour,
    budget: Budget | None = None,
    card: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Judgement, ChatServer]:
    """The judgement of a product: the server says what is in the script, then what the fake judge says."""

    async def run(server: ChatServer) -> Judgement:
        model_card = make.planner_card(**(card or {}))
        model = make.model(model_card, server.base_url, budget=budget)
        judge = ModelJudge(Opened(model=model, card=model_card), **options)
        try:
            return await judge.judge(of, EvidenceFolder(folder), "key")
        finally:
            await judge.aclose()

    with ChatServer(working_out(judge_model)) as server:
        server.script(*script)
        return asyncio.run(run(server)), server


def judge_of(**options: Any) -> ModelJudge:
    """A judge that nobody asks."""
    card = make.planner_card(**options.pop("card", {}))
    return ModelJudge(Opened(model=make.model(card, "http://127.0.0.1:9/v1"), card=card), **options)
