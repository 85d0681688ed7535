"""Any Qwen-VL card on a tiny checkpoint: prompt, picture, batches, decoding, and every way to fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from fakes.make import grounder_card, query, screenshot
from PIL import Image

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.grounders.hf import HfOptions, open_hf
from grounding.grounders.hf.generation import Generation, Generator, Prompt, generation_for, prepare_prompt
from grounding.grounders.hf.loading import Loaded, ModelFailed, load
from grounding.llm.chat import ChatOptions, request_parameters
from grounding.records import Prediction, Query

from .tiny import write_family, write_plain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SINGLE = HfOptions(dtype="float32", device="cpu")
SIZES = [(301, 199), (64, 48), (199, 420), (500, 120)]
PARAMETERS = {"temperature": 0, "max_tokens": 16}
CARD = grounder_card(
    family="qwen2_5_vl",
    system="A picture of {width}x{height}.",
    image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 60000},
    parameters=PARAMETERS,
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plain(tmp_path_factory.mktemp("plain") / "tiny")


@pytest.fixture(scope="module")
def loaded(checkpoint: Path) -> Loaded:
    return load(checkpoint, CARD, SINGLE)


@pytest.fixture
def queries(tmp_path: Path) -> list[Query]:
    found = []
    for number, (width, height) in enumerate(SIZES):
        path = tmp_path / f"{number}.png"
        noise = np.random.default_rng(number).integers(0, 256, (height, width), dtype=np.uint8)
        Image.fromarray(noise).convert("RGB").save(path)
        found.append(query(screenshot(path, width, height), "click " * (1 + number), step=f"1/{number}"))
    return found


def generator(loaded: Loaded, card: GrounderCard = CARD, **changed: Any) -> Generator:
    parameters = {**request_parameters(card, ChatOptions()), **changed}
    return Generator(loaded, card, generation_for(parameters, card=card.name))


def prompts(queries: Sequence[Query], card: GrounderCard = CARD) -> list[Prompt]:
    return [prepare_prompt(card, each) for each in queries]


def texts(replies: Sequence[Any]) -> list[str]:
    return [reply.completion.text for reply in replies]


def test_a_batch_answers_as_each_alone(loaded: Loaded, queries: list[Query]) -> None:
    ask = generator(loaded)
    asked = prompts(queries)
    alone = [ask([prompt])[0] for prompt in asked]
    together = ask(asked)
    assert texts(together) == texts(alone)
    assert [reply.call.usage for reply in together] == [reply.call.usage for reply in alone]
    assert len(set(texts(alone))) == len(SIZES), "answers that are all equal prove nothing"


@pytest.mark.parametrize(("family", "factor"), [("qwen2_vl", 28), ("qwen2_5_vl", 28), ("qwen3_vl", 32)])
def test_every_family_runs_batched_and_counts_its_own_picture_tokens(
    family: Any, factor: int, queries: list[Query], tmp_path: Path
) -> None:
    card = msgspec.structs.replace(CARD, family=family, image=msgspec.structs.replace(CARD.image, factor=factor))
    loaded = load(write_family(tmp_path / family, family), card, SINGLE)
    ask, asked = generator(loaded, card), prompts(queries, card)
    alone = [ask([prompt])[0] for prompt in asked]
    assert texts(ask(asked)) == texts(alone)
    assert len(set(texts(alone))) > 1
    for prompt, reply in zip(asked, alone, strict=True):
        assert reply.call.usage is not None
        text_tokens = len(loaded.processor.tokenizer(ask.render(prompt))["input_ids"]) - 1
        seen = prompt.sizes.model
        assert reply.call.usage.input_tokens == text_tokens + seen.width * seen.height // factor**2


def test_a_rule_that_does_not_fit_the_processor_is_a_failure(loaded: Loaded, queries: list[Query]) -> None:
    rule = msgspec.structs.replace(CARD.image, factor=32)
    card = msgspec.structs.replace(CARD, image=rule)
    with pytest.raises(ModelFailed, match="the rule doesn't fit this checkpoint"):
        generator(loaded, card)(prompts(queries[:1], card))


def test_the_prompt_is_the_cards_in_the_checkpoints_template(loaded: Loaded, queries: list[Query]) -> None:
    user = [{"text": "Before "}, {"image": "screenshot"}, {"text": " after {instruction}"}]
    card = msgspec.convert({**msgspec.to_builtins(CARD), "user": user, "prefill": "click("}, GrounderCard)
    text = generator(loaded, card).render(prompts(queries[:1], card)[0])
    assert text == (
        "<|im_start|>system\nA picture of 280x196.<|im_end|>\n<|im_start|>user\n"
        "Before <|vision_start|><|image_pad|><|vision_end|> after click <|im_end|>\n<|im_start|>assistant\nclick("
    )
    plain = generator(loaded).render(prompts(queries[:1])[0])
    assert plain.endswith("<|vision_end|>click <|im_end|>\n<|im_start|>assistant\n")


def test_a_checkpoints_generation_config_changes_nothing(
    checkpoint: Path, loaded: Loaded, queries: list[Query], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in checkpoint.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    settings = json.loads((copy / "generation_config.json").read_text(encoding="utf-8"))
    asked = prompts(queries)
    expected = texts(generator(loaded)(asked))
    said = loaded.processor.tokenizer(expected[0])["input_ids"]
    settings.update(repetition_penalty=3.0, do_sample=True, temperature=5.0, top_k=3, suppress_tokens=said)
    (copy / "generation_config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert texts(generator(load(copy, CARD, SINGLE))(asked)) == expected
    assert texts(generator(loaded, repetition_penalty=3.0)(asked)) != expected, "the penalty would have shown"


def reply_of(loaded: Loaded, ids: Sequence[int], **generation: Any) -> Any:
    chosen = Generation(arguments={"max_new_tokens": 16, "do_sample": False}, **generation)
    return Generator(loaded, CARD, chosen)._reply(list(ids), 7, 1.0)


def test_the_end_of_a_reply(loaded: Loaded) -> None:
    tokenizer = loaded.processor.tokenizer
    box, end, pad = (tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in ("box_start", "im_end", "endoftext"))
    words = tokenizer("(1,2)")["input_ids"]
    whole = reply_of(loaded, [box, *words, end, pad, pad])
    assert (whole.completion.text, whole.completion.finish_reason) == ("(1,2)", "stop")
    assert whole.call.usage.output_tokens == 1 + len(words) + 1
    assert whole.call.usage.input_tokens == 7
    kept = reply_of(loaded, [box, *words, end], skip_special_tokens=False)
    assert kept.completion.text == "<|box_start|>(1,2)"
    cut = reply_of(loaded, words)
    assert (cut.completion.finish_reason, cut.call.usage.output_tokens) == ("length", len(words))
    stopped = reply_of(loaded, [*words, pad, pad], stop=(",",))
    assert (stopped.completion.text, stopped.completion.finish_reason) == ("(1", "stop")
    assert stopped.call.usage.output_tokens == len(words)
    half = tokenizer("\u20ac")["input_ids"][:-1]
    unfinished = reply_of(loaded, [*words, *half])
    assert (unfinished.completion.text, unfinished.call.usage.output_tokens) == ("(1,2)", len(words) + len(half))
    assert reply_of(loaded, half).completion.text == ""
    other_end = reply_of(loaded, [*words, words[0], pad], stop_token_ids=(words[0],))
    assert (other_end.completion.text, other_end.call.usage.output_tokens) == ("", 1)


def test_a_penalised_token_is_not_written_twice(
    loaded: Loaded, queries: list[Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[list[int]] = []
    generate = loaded.model.generate

    def recorded(**given: Any) -> Any:
        whole = generate(**given)
        written.append(whole[0, given["input_ids"].shape[1] :].tolist())
        return whole

    monkeypatch.setattr(loaded.model, "generate", recorded)
    for penalty in (0, 1e6):
        generator(loaded, presence_penalty=penalty, max_tokens=150)(prompts(queries[:1]))
    free, penalised_ids = written
    assert len(set(free)) < len(free), "an answer that repeats nothing proves nothing"
    assert len(set(penalised_ids)) == len(penalised_ids)


def grounded(card: GrounderCard, queries: list[Query], options: HfOptions, prepare: Any = None) -> list[Prediction]:
    async def scenario() -> list[Prediction]:
        grounder = open_hf(card, options, ChatOptions())
        if prepare is not None:
            await grounder.check()
            prepare(grounder._model._model._engine._loaded.model)  # type: ignore[attr-defined]
        answers = await asyncio.gather(*(grounder.ground(each) for each in queries))
        await grounder.aclose()
        return answers

    return asyncio.run(scenario())


def options_for(checkpoint: Path, **fields: Any) -> HfOptions:
    return msgspec.structs.replace(SINGLE, model_path=str(checkpoint), wait_ms=200.0, **fields)


def test_answers_are_read_by_the_cards_rule_and_batched(
    checkpoint: Path, loaded: Loaded, queries: list[Query], tmp_path: Path
) -> None:
    batches: list[int] = []

    def count(model: Any) -> None:
        generate = model.generate
        model.generate = lambda **given: (batches.append(len(given["input_ids"])), generate(**given))[1]

    card = msgspec.structs.replace(CARD, prefill="(123, 45)")
    missing = query(screenshot(tmp_path / "nothing.png", 64, 48), step="1/9")
    *answers, lost = grounded(card, [*queries, missing], options_for(checkpoint, batch_size=2), count)
    assert batches == [2, 2]
    expected = texts([generator(loaded, card)([prompt])[0] for prompt in prompts(queries, card)])
    assert [answer.raw for answer in answers] == expected
    assert {(answer.point.x_px, answer.point.y_px) for answer in answers if answer.point} == {(123.0, 45.0)}
    assert all(answer.call and answer.call.usage and answer.sizes for answer in answers)
    assert lost.failure is not None
    assert lost.failure.kind == "error"


def test_a_batch_that_does_not_fit_is_asked_one_by_one(checkpoint: Path, queries: list[Query]) -> None:
    def tight(model: Any) -> None:
        import torch

        generate = model.generate

        def small(**given: Any) -> Any:
            if len(given["input_ids"]) > 1:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return generate(**given)

        model.generate = small

    answers = grounded(CARD, queries, options_for(checkpoint, batch_size=4), tight)
    assert all(answer.raw is not None for answer in answers)


def test_weights_that_are_not_all_there_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for name, change in (("less", "lacks"), ("more", "no place for"), ("other", "of another shape")):
        folder = tmp_path / name
        folder.mkdir()
        for path in checkpoint.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        tensors = load_file(folder / "model.safetensors")
        norm = tensors.pop("model.norm.weight")
        if name != "less":
            tensors["model.norm.weight"] = norm if name == "more" else norm[:3].clone()
        if name == "more":
            tensors["model.extra.weight"] = norm.clone()
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(UserError, match=change):
            load(folder, CARD, SINGLE)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ("qwen3_vl", "is a qwen2_5_vl, and card g is for qwen3_vl"),
        ("aria", "is of the family aria"),
        (None, "none stated"),
    ],
)
def test_a_checkpoint_of_another_family_is_refused(checkpoint: Path, family: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(checkpoint, msgspec.structs.replace(CARD, family=family), SINGLE)  # type: ignore[arg-type]
