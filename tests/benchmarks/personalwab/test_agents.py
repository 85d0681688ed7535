"""Agents and users where they leave the release's path; what they ask on it is in test_release."""

from __future__ import annotations

import io
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from fakes import make
from fakes.chat_server import Behaviour, ChatServer, calling, error, reply, working_out
from fakes.shop_model import USER_SAYS, shop_model
from hypothesis import given
from hypothesis import strategies as st
from shell import call, records

from benchmarks.personalwab.played import agent_of, asked, memory_of, names, play, value
from benchmarks.personalwab.shops import BEHAVIOURS, opened, shop, task, view, web, write_shop
from grounding.benchmarks.personalwab.agents.chat import Likings, read_likings
from grounding.benchmarks.personalwab.agents.puma import LocalTextModel, Tokens, TrainedAs, read_predictions
from grounding.benchmarks.personalwab.episode import NO, YES, HumanUser, ModelUser, ScriptedUser
from grounding.benchmarks.personalwab.prompts import MemoryName, shop_prompts
from grounding.benchmarks.personalwab.records import Episode, TaskType
from grounding.benchmarks.personalwab.scoring import judge_shop
from grounding.errors import UserError
from grounding.records import Usage

BAD = calling("search_product_by_query", '{"query": ')

# --- chat models ------------------------------------------------------------------------------------------------------


def test_arguments_that_are_no_json_are_asked_for_ten_times_and_paid_ten_times() -> None:
    episode, server = asked("function-calling", *[BAD] * 12)
    assert server.count == 10
    assert episode.failure is not None
    assert (episode.failure.kind, episode.end) == ("unparsed", "gave-up")
    assert "10 times in a row" in episode.failure.message
    assert episode.call is not None
    assert episode.call.usage is not None
    assert episode.call.usage.input_tokens == 10_000
    mended, server = asked("function-calling", BAD, calling("search_product_by_query", {"query": "kettle"}))
    assert (names(mended), server.count) == (["search_product_by_query"], 2)


@pytest.mark.parametrize("name", ["function-calling", "react"])
def test_an_empty_reply_is_asked_for_once_and_a_failed_request_ends_the_task(name: str) -> None:
    episode, server = asked(name, reply(""))
    assert (server.count, episode.end) == (1, "gave-up")
    episode, server = asked(name, error(500), max_retries=0)
    assert episode.failure is not None
    assert (episode.failure.kind, episode.end) == ("error", "failed")


def test_an_unknown_function_costs_a_step_and_no_more_requests() -> None:
    episode, server = asked("function-calling", *[calling("fly", {})] * 3, max_steps=3)
    assert (server.count, episode.end) == (3, "step-limit")
    assert [turn.observation.error for turn in episode.turns if turn.observation] == ["unknown-function"] * 3


def test_puma_chat_asks_the_model_for_the_function_first_and_pays_for_it_as_no_step() -> None:
    says = calling("get_recommendations_by_history", {"product_sequence": []})
    episode, server = asked("puma-chat", says, kind="task-specific", of=task(instruction="something"))
    assert (episode.predicted_type, server.count, len(episode.turns)) == ("recommend", 2, 1)
    assert server.bodies[0]["messages"][0]["content"] == shop_prompts().paper_single
    system = server.bodies[1]["messages"][0]["content"]
    assert system.startswith(shop_prompts().task_specific_single)
    assert "- The task type is recommend\n- Use get_recommendations_by_history tool" in system


def test_likings_are_read_out_of_any_reply_and_the_later_word_counts() -> None:
    assert read_likings("no profile") is None
    assert read_likings('```json\n{"like": ["A", 1], "dislike": "x"}\n```') == Likings(like=("A",))
    known = Likings(like=("A", "B"), expect=tuple(f"{n}" for n in range(30)))
    later = known.updated(Likings(dislike=("A",), expect=("new",)))
    assert (later.like, later.dislike, len(later.expect), later.expect[-1]) == (("B",), ("A",), 30, "new")


# --- rules and the oracle ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "last"])
@pytest.mark.parametrize("instruction", ["find a lamp", "recommend something"])
def test_a_user_without_a_past_gets_a_call_all_the_same(kind: MemoryName, instruction: str) -> None:
    episode = play(agent_of("rules", kind), task(instruction=instruction, user_id="stranger", timestamp_ms=0))
    assert (episode.end, episode.memory_behaviours) == ("terminal-call", 0)
    (turn,) = episode.turns
    assert turn.observation is not None
    assert turn.observation.error == ""


def test_the_rules_search_recommend_and_write_in_the_users_own_way() -> None:
    search = play(agent_of("rules", length=5), task(instruction="Please find me a steel kettle"))
    assert "steel kettle" in str(value(search, "query"))
    recommend = play(agent_of("rules", length=5), task(instruction="Recommend me something new, like an oak desk"))
    assert value(recommend, "product_sequence") == ["B000", "B001", "B002", "B003", "B004"]
    of = task(type="review", target_asin="B000", instruction="Help me write a review. The wood is nice.")
    assert value(play(agent_of("rules", length=5), of), "review") == "I like the oak lamp. The wood is nice."


def test_the_rules_stop_when_the_user_says_yes_and_give_up_after_three_tries() -> None:
    found = play(agent_of("rules"), task(instruction="a steel kettle"), user=ScriptedUser(shop()), track="multi")
    assert names(found) == ["search_product_by_query", "respond", "stop"]
    assert found.turns[1].user_reply == YES
    of = task(instruction="an oak lamp", target_asin="B007")
    lost = play(agent_of("rules"), of, user=ScriptedUser(shop()), track="multi")
    assert names(lost) == [*["search_product_by_query", "respond"] * 3, "stop"]
    for reply_ in (turn.user_reply or "" for turn in lost.turns if turn.call.name == "respond"):
        assert reply_.startswith(NO)
        assert "boots" not in reply_
    short = play(agent_of("rules"), of, user=ScriptedUser(shop()), track="multi", max_steps=3)
    assert len(short.turns) <= 3


@pytest.mark.parametrize(("kind", "target", "worth"), [("search", "B003", 1.0), ("recommend", "B005", 0.9)])
def test_the_oracle_asks_in_the_best_way(kind: TaskType, target: str, worth: float) -> None:
    of = task(type=kind, target_asin=target)
    episode = play(agent_of("oracle", "none", dataset=msgspec.structs.replace(shop(), tasks=(of,))), of)
    assert judge_shop(of, episode, {}, rule="paper").result == worth


# --- memories ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(MemoryName))
@given(st.integers(-10, 900), st.integers(1, 12))
def test_nothing_of_the_future_is_remembered(kind: MemoryName, at: int, length: int) -> None:
    recalled = memory_of(kind, length=length).recall(view(at), predicted="search")
    assert all(one.review.timestamp_ms < at for one in recalled.chosen)
    there = sum(one.review.timestamp_ms < at for one in BEHAVIOURS)
    assert len(recalled.chosen) == (0 if kind == "none" else min(length, there))


# --- users ------------------------------------------------------------------------------------------------------------


def test_a_person_types_the_first_message_and_every_reply(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a steel thing\nyes, that one\n"))
    of = task(instruction="a steel kettle")
    episode = play(agent_of("rules"), of, user=HumanUser(shop()), track="multi")
    assert episode.opening == "a steel thing"
    assert [turn.user_reply for turn in episode.turns if turn.user_reply] == ["yes, that one"]
    shown = capsys.readouterr().err
    assert "a steel kettle" in shown
    assert "Is it one of these?" in shown
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert play(agent_of("rules"), user=HumanUser(shop()), track="multi").failure is not None


def test_a_model_plays_the_user_with_profile_and_product_hears_no_results_and_may_fail() -> None:
    with ChatServer(working_out(shop_model)) as server:

        def played(says: Behaviour) -> Episode:
            server.script(says)
            user = ModelUser(shop(), make.model(make.planner_card(), server.base_url, max_retries=0))
            return play(agent_of("rules"), task(instruction="oak"), user=user, track="multi")

        episode, broken = played(reply("No.")), played(error(500))
    assert [turn.user_reply for turn in episode.turns if turn.call.name == "respond"][:2] == ["No.", USER_SAYS]
    system, *spoken = server.bodies[1]["messages"]
    assert "You are looking for this product:\n\n- Title: steel kettle" in system["content"]
    assert "- Gender: Female" in system["content"]
    assert [each["role"] for each in spoken] == ["user", "assistant"] * 2 + ["user"]
    assert [spoken[at]["content"] for at in (0, 1, 3)] == ["Hi! How can I help you today?", "oak", "No."]
    assert names(broken) == ["search_product_by_query", "respond"]
    assert broken.failure is not None
    assert (broken.failure.kind, broken.turns[-1].user_reply) == ("error", "")


# --- PUMA with a model of one's own -----------------------------------------------------------------------------------


class Writer:
    """A model that always writes the same, and names the function that it was given."""

    identity = "writer"

    def __init__(self, text: str, function: str = "", trained: TrainedAs | None = None) -> None:
        self.text, self.function, self.trained = text, function, trained
        self.prompts: list[str] = []
        self.limits: list[int] = []

    def write(self, prompt: str, max_new_tokens: int = 256) -> tuple[str, Usage]:
        self.prompts.append(prompt)
        self.limits.append(max_new_tokens)
        if self.text == "no memory":
            raise RuntimeError("CUDA out of memory")
        text = self.function if prompt.endswith("### Tool:\n") else self.text
        return text, Usage(input_tokens=7, output_tokens=len(text))


def puma(writer: Writer, predicted: TaskType | None = None, **more: object) -> object:
    given = {"local": writer, "predictions": {task().instruction: predicted} if predicted else None, **more}
    return agent_of("puma-local", "task-specific", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "predicted", "name", "argument", "expected"),
    [
        (" steel kettle \n", "search", "search_product_by_query", "query", "steel kettle"),
        ("A, B,A", "recommend", "get_recommendations_by_history", "product_sequence", ["A", "B"]),
        ("Lovely.", "review", "add_product_review", "review", "Lovely."),
        ("Say: Which one?", "search", "respond", "content", "Which one?"),
        ("stopping", "search", "stop", "", None),
    ],
)
def test_what_is_written_is_the_parameter(
    text: str, predicted: TaskType, name: str, argument: str, expected: object
) -> None:
    writer, of = Writer(text), task(type=predicted)
    episode = play(puma(writer, predicted), of)  # type: ignore[arg-type]
    assert (names(episode), episode.predicted_type) == ([name], predicted)
    assert not argument or value(episode, argument) == expected
    assert writer.prompts[0].startswith("Below is an instruction that describes a task. Generate a tool parameter")
    assert ("The product is:\nTitle: steel kettle\nPrice: 9.5\nStore: Acme" in writer.prompts[0]) == (
        predicted == "review"
    )


def test_the_release_s_order_of_asins_is_of_a_seed() -> None:
    written = ",".join(f"B{n}" for n in range(20))
    agents = (puma(Writer(written), "recommend", preset="official", seed=seed) for seed in (1, 1, 2))
    orders = [value(play(agent), "product_sequence") for agent in agents]  # type: ignore[arg-type]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(map(str, orders[0])) == sorted(written.split(","))  # type: ignore[call-overload]


def test_the_model_itself_names_the_function_where_it_has_learnt_to() -> None:
    trained = TrainedAs(
        variant="x", memory_length=2, memory_tokens=9, predicts_functions=True, stages=(), dataset="", base=""
    )
    writer = Writer("Lovely.", " add_product_review\n", trained)
    episode = play(puma(writer))  # type: ignore[arg-type]
    assert (names(episode), episode.predicted_type, writer.limits) == (["add_product_review"], "review", [32, 256])
    assert writer.prompts[0] == (
        "Below is an instruction that describes a task. Choose a tool that appropriately completes the request.\n"
        "### Instruction: something to boil water in\n\n### Tool:\n"
    )
    assert episode.call is not None
    assert episode.call.usage is not None
    assert episode.call.usage.input_tokens == 14, "both questions count"
    failed = play(puma(Writer("x", "I would rather not", trained)))  # type: ignore[arg-type]
    assert failed.failure is not None
    assert (failed.failure.kind, names(failed)) == ("unparsed", [])
    broken = play(puma(Writer("no memory"), "search"))  # type: ignore[arg-type]
    assert broken.failure is not None
    assert (broken.failure.kind, broken.failure.message) == ("error", "the model failed: CUDA out of memory")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"something to boil water in": ["add_product_review\\n", "stop"], "other": ["x"]}', ""),
        ("[]", "expected an object"),
        ("{", "expected an object"),
        ('{"other": ["stop"]}', "1 of 1 tasks have no function in it, such as test/0"),
        ('{"something to boil water in": ["fly"]}', "each with one of search_product_by_query"),
        ('{"something to boil water in": []}', "each with one of search_product_by_query"),
    ],
)
def test_functions_are_read_by_the_words_of_a_task(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(content)
    if not words:
        assert read_predictions(path, [task()]) == {"something to boil water in": "review"}
        return
    with pytest.raises(UserError, match=words):
        read_predictions(path, [task()])


def test_pumas_memory_has_no_heading_and_the_newest_first() -> None:
    memory = memory_of("task-specific", length=3, cut=Tokens(None).cut)
    told = memory.recall(opened("what might I like?"), predicted="recommend")
    times = [one.review.timestamp_ms for one in told.chosen]
    assert (times, len(times)) == (sorted(times, reverse=True), 3)
    assert told.text.startswith("Title:")


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal language model of random weights with a tokenizer of its own, as a folder."""
    import tokenizers
    import transformers

    folder = tmp_path_factory.mktemp("llama")
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, **{chr(n): n for n in range(32, 127)}}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    model.decoder = tokenizers.decoders.Fuse()
    kept = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=model, **kept).save_pretrained(folder)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=128, num_key_value_heads=2, max_position_embeddings=4096, **sizes)
    transformers.set_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_folder_s_model_runs_by_the_command_line_and_its_memory_is_cut_by_its_own_tokens(
    tiny_llama: Path, tmp_path: Path
) -> None:
    command = ["--dataset", "personalwab", "--data-dir", write_shop(tmp_path / "shop"), "--agent", "puma-local"]
    command += ["--memory-tokens", "300", "--limit", "3", "--no-report", "--log-dir", tmp_path / "results"]
    done = call(*command, "--model-path", tiny_llama)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    episodes = records(folder / "episodes.jsonl")
    assert len(episodes) == 3
    model = LocalTextModel(tiny_llama)
    assert all(0 < model.tokens.count(one["memory"]) <= 300 for one in episodes)
    assert all(one["call"]["usage"]["input_tokens"] > 0 for one in episodes)
    assert model.write("find a lamp") == LocalTextModel(tiny_llama).write("find a lamp")
    (tmp_path / "none").mkdir()
    refused = call(*command, "--model-path", tmp_path / "none")
    assert (refused.returncode, "no model that can be loaded" in refused.stderr) == (2, True)


def test_what_the_web_answers_is_bounded_and_never_raises() -> None:
    from grounding.benchmarks.personalwab.records import FunctionCall

    for arguments in ("[1]", "{", "\ud800", '{"query": 5}', '{"a": 1}', "[" * 200_000):
        assert web().call(FunctionCall(name="search_product_by_query", arguments=arguments)).error == "bad-arguments"
