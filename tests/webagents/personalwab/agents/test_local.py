from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from shell import call, records

from grounding.errors import UserError
from grounding.webagents.personalwab.agents.localmodel import Continuation, LocalModel
from grounding.webagents.personalwab.agents.parameters import ParameterAgent
from grounding.webagents.personalwab.agents.predictions import read_predictions, shared_words
from grounding.webagents.personalwab.agents.trained import trained_as
from grounding.webagents.personalwab.memory import Memory
from grounding.webagents.personalwab.options import ShopOptions, check_options
from grounding.webagents.personalwab.prompts import shop_prompts
from grounding.webagents.personalwab.pumaprompts import puma_prompts
from grounding.webagents.personalwab.records import TaskType
from webagents.personalwab.agents.played import memory_of, names, play, value
from webagents.personalwab.shops import opened, shop, task, write_shop
from webagents.personalwab.test_memory import by_letters


class Writer:
    """A model that always writes the same."""

    identity = "writer"

    def __init__(self, text: str) -> None:
        self.text = text
        self.prompts: list[str] = []

    def count(self, text: str) -> int:
        return len(text)

    def write(self, prompt: str, *, max_new_tokens: int = 256) -> Continuation:  # noqa: ARG002
        self.prompts.append(prompt)
        if self.text == "no memory":
            raise RuntimeError("CUDA out of memory")
        return Continuation(text=self.text, input_tokens=len(prompt), output_tokens=len(self.text))


def agent(model: Writer, predicted: TaskType = "search", seed: int | None = None) -> ParameterAgent:
    return ParameterAgent(
        model, memory_of("task-specific"), shop_prompts(), lambda _: predicted, predictor="test", shuffle_seed=seed
    )


def test_what_is_written_is_the_query() -> None:
    model = Writer(" steel kettle \n")
    episode = play(agent(model))
    assert names(episode) == ["search_product_by_query"]
    assert value(episode, "query") == "steel kettle"
    assert (episode.end, episode.predicted_type) == ("terminal-call", "search")
    assert model.prompts[0].startswith("Below is an instruction that describes a task. Generate a tool parameter")
    assert "### Instruction: something to boil water in" in model.prompts[0]
    assert "Tool: search_product_by_query\n\n### Tool Parameter:\n" in model.prompts[0]
    assert episode.call is not None
    assert episode.call.usage is not None
    assert episode.call.usage.output_tokens == len(" steel kettle \n")


def test_asins_keep_their_order_and_are_told_once() -> None:
    model = Writer("B004, B001,B004, B000")
    episode = play(agent(model, "recommend"))
    assert value(episode, "product_sequence") == ["B004", "B001", "B000"]


def test_the_release_s_order_is_of_a_seed() -> None:
    written = ",".join(f"B{n}" for n in range(20))
    orders = [value(play(agent(Writer(written), "recommend", seed)), "product_sequence") for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(map(str, orders[0] if isinstance(orders[0], list) else [])) == sorted(written.split(","))


def test_a_review_is_of_the_product_that_is_told() -> None:
    model = Writer("Lovely.")
    of = task(type="review", target_asin="B000", instruction="review this")
    episode = play(agent(model, "review"), of)
    assert value(episode, "review") == "Lovely."
    assert "The product is:\nTitle: oak desk\nPrice: 9.5\nStore: Acme\nMain Category: Home" in model.prompts[0]


@pytest.mark.parametrize(("text", "name"), [("Say: Which one?", "respond"), ("stop", "stop"), ("stopping", "stop")])
def test_it_may_talk_and_stop(text: str, name: str) -> None:
    assert names(play(agent(Writer(text)))) == [name]


def test_a_model_that_breaks_is_an_error() -> None:
    episode = play(agent(Writer("no memory")))
    assert episode.failure is not None
    assert (episode.failure.kind, episode.failure.message) == ("error", "the model failed: CUDA out of memory")


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal language model of random weights with a tokenizer of its own, as a folder."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("llama")
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, **{chr(n): n for n in range(32, 127)}}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=model, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=128,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )
    transformers.set_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_real_causal_model_goes_on_with_a_prompt(tiny_llama: Path) -> None:
    model = LocalModel(tiny_llama)
    first, again = model.write("find a lamp"), model.write("find a lamp")
    assert first == again
    assert first.input_tokens == model.count("find a lamp") > 0
    assert 0 < first.output_tokens <= 256
    assert model.identity == LocalModel(tiny_llama).identity
    episode = play(
        ParameterAgent(model, memory_of("task-specific"), shop_prompts(), lambda _: "search", predictor="test")
    )
    assert episode.failure is None
    assert names(episode)[0] in ("search_product_by_query", "respond", "stop")


@pytest.mark.parametrize("what", ["nothing", "empty"])
def test_a_folder_without_a_model_is_said(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "model"
    if what == "empty":
        pytest.importorskip("transformers")
        folder.mkdir()
    with pytest.raises(UserError, match="--model-path"):
        LocalModel(folder)


# --- functions predicted elsewhere -------------------------------------------------------------------------------


def test_predictions_are_read_by_the_words_of_a_task(tmp_path: Path) -> None:
    path = tmp_path / "function_res.json"
    path.write_text('{"something to boil water in": ["add_product_review\\n", "stop"], "other": "x"}')
    found = read_predictions(path, [task()])
    assert found.of(opened()) == "review"
    again = read_predictions(path, [task(id="test/1")])
    assert again.identity == found.identity


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "expected an object"),
        ("{", "expected an object"),
        ('{"other": "stop"}', "1 of 1 tasks are not in it, such as test/0"),
        ('{"something to boil water in": "fly"}', "expected one of search_product_by_query"),
        ('{"something to boil water in": []}', "expected one of search_product_by_query"),
    ],
)
def test_wrong_predictions_are_said(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(content)
    with pytest.raises(UserError, match=words):
        read_predictions(path, [task()])
    with pytest.raises(UserError, match="can't be read"):
        read_predictions(tmp_path / "none.json", [task()])


def test_tasks_with_equal_words_are_counted() -> None:
    assert shared_words([task(), task(id="test/1"), task(id="test/2", instruction="other")]) == 2


def test_an_agent_lets_its_thread_go() -> None:
    one = agent(Writer("x"))
    asyncio.run(one.aclose())
    asyncio.run(one.check())


@pytest.mark.slow
def test_a_folder_s_model_runs_by_the_command_line_and_its_memory_is_cut_by_its_own_tokens(
    tiny_llama: Path, tmp_path: Path
) -> None:
    command = ["--dataset", "personalwab", "--data-dir", write_shop(tmp_path / "shop"), "--agent", "puma-local"]
    command += ["--model-path", tiny_llama, "--memory-tokens", "300", "--limit", "3", "--no-report"]
    done = call(*command, "--log-dir", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    episodes = records(folder / "episodes.jsonl")
    assert len(episodes) == 3
    counted = LocalModel(tiny_llama).count
    assert all(0 < counted(one["memory"]) <= 300 for one in episodes)
    assert all(one["call"]["usage"]["input_tokens"] > 0 for one in episodes)


# --- functions named by the model itself ---------------------------------------------------------------------------


class Names(Writer):
    """A model that answers the question for a function with one text and everything else with another."""

    def __init__(self, function: str, parameter: str) -> None:
        super().__init__(parameter)
        self.function = function
        self.limits: list[int] = []

    def write(self, prompt: str, *, max_new_tokens: int = 256) -> Continuation:
        self.limits.append(max_new_tokens)
        written = super().write(prompt, max_new_tokens=max_new_tokens)
        asked_for_one = prompt.endswith("### Tool:\n")
        return Continuation(text=self.function if asked_for_one else written.text, input_tokens=7, output_tokens=3)


def naming(model: Names) -> ParameterAgent:
    return ParameterAgent(
        model,
        memory_of("task-specific"),
        shop_prompts(),
        lambda _: "search",
        predictor="words",
        names=puma_prompts(),
    )


def test_the_model_itself_names_the_function() -> None:
    model = Names(" add_product_review\n", "Lovely.")
    episode = play(naming(model))
    assert (names(episode), episode.predicted_type) == (["add_product_review"], "review")
    assert model.prompts[0] == (
        "Below is an instruction that describes a task. Choose a tool that appropriately completes the request.\n"
        "### Instruction: something to boil water in\n\n### Tool:\n"
    )
    assert model.limits == [32, 256]
    assert episode.call is not None
    assert episode.call.usage is not None
    # Both questions count.
    assert episode.call.usage.input_tokens == 14
    assert "model;puma.1@" in naming(model).identity


def test_a_model_that_names_no_function_fails_the_task() -> None:
    episode = play(naming(Names("I would rather not", "x")))
    assert episode.failure is not None
    assert (episode.failure.kind, names(episode)) == ("unparsed", [])
    assert "named no function: 'I would rather not'" in episode.failure.message


def test_a_model_that_breaks_at_the_function_is_an_error() -> None:
    episode = play(naming(Names("search_product_by_query", "no memory")))
    assert episode.failure is not None
    assert episode.failure.kind == "error"


def test_what_a_folder_says_of_its_training_is_read(tmp_path: Path) -> None:
    assert trained_as(tmp_path) is None
    (tmp_path / "puma.json").write_text("{}")
    with pytest.raises(UserError, match=r"puma.json: damaged"):
        trained_as(tmp_path)


def test_only_the_own_model_can_be_told_to_name_functions() -> None:
    with pytest.raises(UserError, match="--functions model: only --agent puma-local"):
        check_options(ShopOptions(agent="puma", model="gpt-4o", functions=Path("model")))


def test_pumas_memory_has_no_heading_and_the_newest_first() -> None:
    told = Memory("task-specific", shop(), shop_prompts(), length=3, embed=by_letters, count=len, plain=True).recall(
        opened("what might I like?"), predicted="recommend"
    )
    times = [one.review.timestamp_ms for one in told.chosen]
    assert times == sorted(times, reverse=True)
    assert told.text.startswith("Title:")
    assert len(times) == 3
