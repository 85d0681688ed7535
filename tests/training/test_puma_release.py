"""The release's data scripts and ours side by side: the examples and pairs that both make of the same made-up users.

``puma_release.json.gz`` holds tasks over the shop in ``benchmarks/personalwab/release``, and what HongruCai/PersonalWAB
at 23ff65c made of them (PUMA/prepare_function_data.py, prepare_param_data.py, prepare_dpo_data.py, with 4 behaviours in
a memory of 150 tokens, a tokenizer of letters, and a chat model that says how long its prompt is).
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab.agents.puma import Tokens
from grounding.benchmarks.personalwab.embeddings import cached_embeddings
from grounding.benchmarks.personalwab.loader import read_shop
from grounding.benchmarks.personalwab.prompts import puma_prompts
from grounding.benchmarks.personalwab.records import ShopTask
from grounding.training.puma.data import Inputs, label_of, sft_examples
from grounding.training.puma.pairs import Drawn, TaskCandidates, make_pairs
from grounding.training.recipes import LabelRule
from training.test_puma_data import Letters

pytestmark = pytest.mark.needs("web")

THEIRS: dict[str, Any] = json.loads(gzip.decompress(Path(__file__).with_name("puma_release.json.gz").read_bytes()))
SHOP = Path(__file__).parents[1] / "benchmarks" / "personalwab" / "release"


def test_prompts_labels_and_pairs_are_the_release_s(tmp_path: Path) -> None:
    for file in SHOP.glob("*.json"):
        shutil.copy(file, tmp_path)
    instructions = {"train": THEIRS["tasks"], "test": []}
    (tmp_path / "user_instructions.json").write_text(json.dumps(instructions))
    shop = read_shop(tmp_path, splits=("train",))
    inputs = Inputs(dataset=shop, tokenizer=Tokens(Letters()), embed=cached_embeddings(), length=4, tokens=150)
    functions = sft_examples(shop.tasks, inputs, lambda _: "", "function")
    assert [[one.prompt, one.chosen] for one in functions] == THEIRS["functions"]

    searches = [task for task in shop.tasks if task.type == "search"]
    asked = {}
    for task in searches:
        memory = inputs.remembered(task, None).text
        asked[task.id] = fill(puma_prompts().search_label, instruction=task.instruction, memory=memory)
    assert [[{"role": "system", "content": text}] for text in asked.values()] == THEIRS["asked"]

    queries = {id_: f"QUERY of {len(text)}" for id_, text in asked.items()}
    rule = LabelRule(recommend="history")
    ours = sft_examples(shop.tasks, inputs, lambda task: label_of(task, inputs, shop.products, rule, queries), "param")

    def in_order(text: str, task: ShopTask) -> str:
        """The release's products stand as in the file of the history, ours in the order of time."""
        return ", ".join(sorted(text.split(", "))) if task.type == "recommend" else text

    said = [[one.prompt, in_order(one.chosen, task)] for one, task in zip(ours, shop.tasks, strict=True)]
    wanted = zip(THEIRS["parameters"], shop.tasks, strict=True)
    assert said == [[prompt, in_order(text.strip(), task)] for (prompt, text), task in wanted]

    drawn = {}
    for task in shop.tasks:
        scores = THEIRS["candidates"][task.instruction].items()
        candidates = tuple(Drawn(text=text, score=score) for text, score in scores)
        drawn[task.id] = TaskCandidates(step_id=task.id, key="k", candidates=candidates)
    pairs, _ = make_pairs(shop.tasks, drawn, inputs.parameter)
    assert [[one.chosen, one.rejected] for one in pairs] == THEIRS["pairs"]
    assert [one.prompt for one in pairs] == [prompt for prompt, _ in THEIRS["parameters"]]
