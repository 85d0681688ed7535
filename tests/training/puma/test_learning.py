"""A tiny Llama learns from the sample shop: after SFT and DPO the better parameter of held-out pairs is preferred.

Parameters are made by rules here, since so small a model needs minutes to write any of its own; what each is worth the
shop's own web functions say. The proof with the model's own candidates is ``tools/training_proof/puma.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from grounding.training.puma.inputs import Inputs
from grounding.training.puma.labels import label_of
from grounding.training.puma.learning import Learning
from grounding.training.puma.models import load_tokenizer
from grounding.training.puma.pairs import gather, make_pairs
from grounding.training.puma.records import LabelRule, PreferencePair, TaskCandidates
from grounding.training.puma.scoring import Drawn
from grounding.training.puma.shop import LearntShop, open_learnt_shop
from grounding.training.puma.split import split_tasks
from grounding.webagents.personalwab.records import ShopTask
from tools.training_proof.puma import CHANCE, sign_flip_p
from training.puma import tiny

pytest.importorskip("trl", reason="training needs the extra 'train'")
pytest.importorskip("sentence_transformers", reason="scoring reviews needs the extra 'web'")

SEEDS = 5
TASKS = 120


def test_signs_are_all_tried() -> None:
    assert sign_flip_p([0.1, 0.2, 0.3, 0.1, 0.4]) == 1 / 32
    assert sign_flip_p([0.1, -0.2]) == 3 / 4
    assert sign_flip_p([0.0, 0.0]) == 1.0


def rule_made(tasks: Sequence[ShopTask], shop: LearntShop, inputs: Inputs) -> list[PreferencePair]:
    """Pairs of a label, its first words, and its beginning in letters that are no words."""
    texts = {task.id: _three(label_of(task, inputs, shop.dataset.products, LabelRule(), {})) for task in tasks}
    drawn = [Drawn(task=task, text=text) for task in tasks for text in texts[task.id]]
    worth = {
        (one.task.id, one.text): score for one, score in zip(drawn, shop.scorer("paper").scores(drawn), strict=True)
    }
    found = {
        id_: TaskCandidates(task=id_, key="rules", candidates=gather(made, [worth[id_, text] for text in made]))
        for id_, made in texts.items()
    }
    return make_pairs(tasks, found, inputs.parameter, least_gap=0.05)[0]


def _three(label: str) -> list[str]:
    words = label.split()
    return [label, " ".join(words[: max(1, len(words) // 4)]), "".join(words)[:12][::-1]]


@pytest.mark.slow
def test_preference_on_held_out_pairs_rises(tmp_path: Path) -> None:
    import torch

    torch.set_num_threads(1)
    shop = open_learnt_shop("sample-shop", None)
    rises = []
    for seed in range(SEEDS):
        base = tiny.write_model(tmp_path / f"base-{seed}", seed=seed)
        split = split_tasks(shop.dataset.tasks[:TASKS], shop.test, shop.dataset.users, share=0.4, seed=seed)
        recipe = tiny.learning_recipe()
        learning = Learning(
            stages=tmp_path / f"stages-{seed}",
            base=str(base),
            shop=shop,
            split=split,
            recipe=recipe,
            seed=seed,
            display="none",
            device="cpu",
        )
        tokenizer = load_tokenizer(str(base))
        inputs = learning.inputs(_counter(tokenizer), tokens=30, told=True)
        tuned = learning.tune("sft", inputs, parameters=True)
        train, held = (rule_made(side, shop, inputs) for side in shop.sides(split))
        assert len(train) > 20
        assert len(held) > 10
        assert not {one.user for one in train} & {one.user for one in held}
        output = learning.prefer("dpo", tuned, train, held)
        change = learning.measure("dpo", tuned, output, held)
        assert change.after.reward is not None
        rises.append(change.after.reward - CHANCE)
    assert sign_flip_p(rises) < 0.05, rises
    assert sum(rises) / len(rises) > 0.1, rises


def _counter(tokenizer: Any) -> Callable[[str], int]:
    return lambda text: len(tokenizer(text)["input_ids"])
