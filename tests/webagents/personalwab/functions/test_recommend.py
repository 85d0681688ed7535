from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from grounding.errors import UserError
from grounding.webagents.personalwab.functions.recommend import (
    NoRecommender,
    SasrecRecommender,
    open_recommender,
    read_numbers,
)
from grounding.webagents.personalwab.functions.sasrec import Sasrec, SasrecShape, load_sasrec
from grounding.webagents.personalwab.functions.sasrec_training import SasrecTraining, evaluate_sasrec, train_sasrec


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads wait for each other longer than such small products of matrices take."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


SHAPE = SasrecShape(items=20, max_length=8, hidden=10)
NUMBERS = {f"A{number}": number for number in range(1, 21)}


def model() -> Sasrec:
    torch.manual_seed(0)
    return Sasrec(SHAPE).eval()


def by_hand(network: Sasrec, sequence: list[int]) -> torch.Tensor:
    """The last feature, layer by layer and head by head, with nothing of torch but products of matrices."""
    shape = network.shape
    filled = [0] * (shape.max_length - len(sequence)) + sequence
    weights = network.state_dict()
    known = torch.stack([weights["item_emb.weight"][item] * shape.hidden**0.5 for item in filled])
    known = known + torch.stack([weights["pos_emb.weight"][i + 1 if item else 0] for i, item in enumerate(filled)])

    def normal(rows: torch.Tensor, name: str) -> torch.Tensor:
        centred = rows - rows.mean(-1, keepdim=True)
        scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-8).sqrt()
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    for block in range(shape.blocks):
        query = normal(known, f"attention_layernorms.{block}")
        at = f"attention_layers.{block}"
        w_q, w_k, w_v = weights[f"{at}.in_proj_weight"].chunk(3)
        b_q, b_k, b_v = weights[f"{at}.in_proj_bias"].chunk(3)
        q, k, v = query @ w_q.T + b_q, known @ w_k.T + b_k, known @ w_v.T + b_v
        heads = []
        for part in zip(q.chunk(shape.heads, -1), k.chunk(shape.heads, -1), v.chunk(shape.heads, -1), strict=True):
            scores = part[0] @ part[1].T / part[0].shape[-1] ** 0.5
            later = torch.ones_like(scores).triu(1).bool()
            heads.append(scores.masked_fill(later, -torch.inf).softmax(-1) @ part[2])
        attended = torch.cat(heads, -1) @ weights[f"{at}.out_proj.weight"].T + weights[f"{at}.out_proj.bias"]
        known = normal(query + attended, f"forward_layernorms.{block}")
        fw = f"forward_layers.{block}"
        inner = torch.relu(known @ weights[f"{fw}.conv1.weight"][:, :, 0].T + weights[f"{fw}.conv1.bias"])
        known = known + inner @ weights[f"{fw}.conv2.weight"][:, :, 0].T + weights[f"{fw}.conv2.bias"]
    return normal(known, "last_layernorm")[-1]


@pytest.mark.parametrize("sequence", [[3], [1, 2, 3, 4], [5, 5, 5, 7, 9, 11, 13, 2]])
def test_the_network_is_what_it_says(sequence: list[int]) -> None:
    network = model()
    items = torch.arange(1, 21)
    expected = network.item_emb.weight[items] @ by_hand(network, sequence)
    assert torch.allclose(network.scores(sequence, items), expected, atol=1e-4)


def test_only_the_last_products_of_a_long_sequence_count() -> None:
    network, items = model(), torch.arange(1, 21)
    long = [19, 18, *range(1, 9)]
    assert torch.equal(network.scores(long, items), network.scores(long[-8:], items))


def test_a_checkpoint_has_the_released_names_and_loads_again(tmp_path: Path) -> None:
    network = model()
    torch.save(network.state_dict(), tmp_path / "model.pth")
    roots = {name.split(".")[0] for name in network.state_dict()}
    assert roots == {
        *("item_emb", "pos_emb", "attention_layernorms", "attention_layers"),
        *("forward_layernorms", "forward_layers", "last_layernorm"),
    }
    loaded = load_sasrec(tmp_path / "model.pth")
    assert loaded.shape.items == 20
    assert loaded.shape.max_length == 8
    items = torch.arange(1, 21)
    assert torch.equal(loaded.scores([1, 2, 3], items), network.scores([1, 2, 3], items))


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.pth").write_text("not tensors")
    torch.save({"other": torch.zeros(3)}, tmp_path / "other.pth")
    with pytest.raises(UserError, match="no checkpoint that can be read"):
        load_sasrec(tmp_path / "text.pth")
    with pytest.raises(UserError, match="no checkpoint that can be read"):
        load_sasrec(tmp_path / "none.pth")
    with pytest.raises(UserError, match="not the tensors of a SASRec model"):
        load_sasrec(tmp_path / "other.pth")


def recommender(*, leave_out_bought: bool = False) -> SasrecRecommender:
    return SasrecRecommender(model(), NUMBERS, leave_out_bought=leave_out_bought, source="test")


def test_bought_products_are_kept_or_left_out() -> None:
    sequence = ["A1", "A2", "A3", "A4", "A5"]
    assert len(recommender().recommend(sequence)) == 10
    without = recommender(leave_out_bought=True).recommend(sequence)
    assert not set(without) & set(sequence)
    kept = [asin for asin in recommender().recommend(sequence, 20) if asin not in sequence]
    assert list(without) == kept[:10]


def test_unknown_products_are_dropped_and_short_sequences_led_by_the_first() -> None:
    few = recommender()
    assert few.recommend(["X", "Y"]) == ()
    assert few.recommend([]) == ()
    assert few.recommend(["X", "A7"]) == few.recommend(["A7", "A7", "A7", "A7"])
    assert few.recommend(["A7", "A9"]) == few.recommend(["A7", "A7", "A7", "A7", "A9"])
    assert NoRecommender().recommend(["A7"]) == ()


def test_numbers_of_another_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="belongs to another model"):
        SasrecRecommender(model(), {"A": 21}, leave_out_bought=False, source="test")
    (tmp_path / "numbers.json").write_text('["A"]')
    with pytest.raises(UserError, match="product ids and numbers"):
        read_numbers(tmp_path / "numbers.json")
    torch.save(model().state_dict(), tmp_path / "model.pth")
    (tmp_path / "numbers.json").write_text('{"A": 1, "B": 2}')
    opened = open_recommender(tmp_path / "model.pth", tmp_path / "numbers.json", leave_out_bought=False)
    assert set(opened.recommend(["A"])) == {"A", "B"}


def cycles() -> list[list[int]]:
    """Users who buy in a circle: after each product comes the next number."""
    return [[(start + step) % 20 + 1 for step in range(7)] for start in range(20)]


def test_training_learns_what_comes_next_and_repeats_itself() -> None:
    training = SasrecTraining(epochs=60, learning_rate=0.01)
    shape = SasrecShape(items=20, max_length=8, hidden=16, dropout=0.1)
    losses: list[float] = []
    network = train_sasrec(cycles(), shape, training, on_epoch=lambda _, loss: losses.append(loss))
    before = evaluate_sasrec(Sasrec(shape).eval(), cycles(), range(1, 21))
    after = evaluate_sasrec(network, cycles(), range(1, 21))
    assert before.n == after.n == 20
    # A user's own products are never drawn as wrong ones, so they stay among the best.
    assert after.recall_10 == 1
    assert after.ndcg_10 > before.ndcg_10
    assert losses[-1] < losses[0]
    short = SasrecTraining(epochs=2)
    twice = [train_sasrec(cycles(), shape, short).state_dict() for _ in range(2)]
    assert all(torch.equal(twice[0][name], twice[1][name]) for name in twice[0])
