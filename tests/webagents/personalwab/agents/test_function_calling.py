from __future__ import annotations

import json

import pytest
from fakes.chat_server import calling, error, function_call, reply

from grounding.webagents.filling import fill
from grounding.webagents.personalwab.agents.predictions import Predictions
from grounding.webagents.personalwab.functions import schemas
from grounding.webagents.personalwab.memory import MEMORIES, MemoryName
from grounding.webagents.personalwab.prompts import shop_prompts
from grounding.webagents.personalwab.users.scripted import ScriptedUser
from webagents.personalwab.agents.played import asked, calling_functions, interec, names, value
from webagents.personalwab.shops import opened, shop, task

PROMPTS = shop_prompts()
REVIEW = task(type="review", target_asin="B000", instruction="Help me write a review")
RECOMMEND = task(type="recommend", instruction="Recommend something")


@pytest.mark.parametrize("kind", [kind for kind in MEMORIES if kind != "interecagent"])
def test_every_memory_plays_every_type_of_task(kind: MemoryName) -> None:
    for each, function in (
        (task(), "search_product_by_query"),
        (RECOMMEND, "get_recommendations_by_history"),
        (REVIEW, "add_product_review"),
    ):
        episode, server = asked(calling_functions(kind), of=each)
        assert names(episode) == [function]
        assert episode.end == "terminal-call"
        assert episode.failure is None
        assert server.count == (2 if kind == "task-specific" else 1)
        assert episode.call is not None
        assert episode.call.usage is not None
        assert episode.call.usage.input_tokens == 1000 * server.count


def test_the_first_request_is_the_release_s_to_the_letter() -> None:
    _, server = asked(calling_functions("last", length=1))
    memory = (
        "\nYour Memory of This User (most recent user past purchases and reviews, sorted by timestamp, most recent "
        "first):\n\n\nMEMORY 0:\n\nProduct:\n- Title: quiet fan\n- Parent Asin: B004\n- Main Category: Home\n"
        "- Average Rating: None\n- Rating Number: None\n- Price: 9.5\n- Store: Acme\n- Details: \n- Description: []\n"
        "- Features: []\n\nReview:\n- Rating: 5.0\n- Text: I like the quiet fan.\n- Timestamp: 400\n\n"
    )
    offered = ("search_product_by_query", "get_recommendations_by_history", "add_product_review", "stop")
    assert server.bodies[0] == {
        "model": "m",
        "messages": [
            {"role": "system", "content": PROMPTS.system_single + memory},
            {"role": "user", "content": "USER u: something to boil water in"},
        ],
        "tools": json.loads(json.dumps([json_tool(name) for name in offered])),
    }


def json_tool(name: str) -> dict[str, object]:
    (schema,) = schemas([name])
    function = {
        "name": name,
        "description": schema.description,
        "parameters": json.loads(bytes(schema.parameters)),
    }
    return {"type": "function", "function": function}


def test_a_review_s_first_message_tells_of_the_product() -> None:
    _, server = asked(calling_functions("none"), of=REVIEW)
    assert server.bodies[0]["messages"][1]["content"] == (
        "USER u: Help me write a review\nHere is the product information: \n- Title: oak desk\n- Parent Asin: B000\n"
        "- Average Rating: None\n- Rating Number: None\n- Price: 9.5\n- Store: Acme\n- Features: []\n"
        "- Description: []\n- Details: \n- Category: Home\n"
    )
    assert server.bodies[0]["messages"][0]["content"] == PROMPTS.system_single


def test_a_conversation_goes_on_with_calls_results_and_what_the_user_says() -> None:
    search = {"query": "kettle"}
    episode, server = asked(
        calling_functions("none"),
        calling("search_product_by_query", search, text="Let me look."),
        reply("The steel one?"),
        calling("stop"),
        user=ScriptedUser(shop()),
        track="multi",
    )
    assert names(episode) == ["search_product_by_query", "respond", "stop"]
    assert episode.end == "stopped"
    first, said, stop = episode.turns
    assert first.thought == "Let me look."
    assert said.user_reply is not None
    assert said.user_reply.startswith("No, that is not it.")
    assert stop.observation is not None
    messages = server.bodies[2]["messages"]
    assert messages[0]["content"] == PROMPTS.system_multi
    call = {"id": "call_0", "type": "function", "function": {"name": first.call.name, "arguments": json.dumps(search)}}
    assert first.observation is not None
    assert messages[2:] == [
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {
            "role": "tool",
            "content": first.observation.text,
            "tool_call_id": "call_0",
            "name": "search_product_by_query",
        },
        {"role": "assistant", "content": "The steel one?"},
        {"role": "user", "content": said.user_reply},
    ]
    assert first.observation.text.startswith("\nProduct 0:\n- Title: steel kettle\n- Parent Asin: B003\n")


def test_of_two_calls_at_once_the_first_counts() -> None:
    more = function_call("get_recommendations_by_history", {"product_sequence": ["B000"]}, call_id="call_2")
    episode, server = asked(
        calling_functions(),
        calling("search_product_by_query", {"query": "fan"}, more),
        calling("stop"),
        user=ScriptedUser(shop()),
        track="multi",
    )
    assert names(episode) == ["search_product_by_query", "stop"]
    assert episode.turns[0].extra_calls == 1
    (assistant,) = [each for each in server.bodies[1]["messages"] if each["role"] == "assistant"]
    assert len(assistant["tool_calls"]) == 1


def test_an_unknown_function_is_told_so_and_does_not_end_a_task() -> None:
    episode, _ = asked(calling_functions(), calling("buy_now", {}))
    assert names(episode) == ["buy_now", "search_product_by_query"]
    assert episode.turns[0].observation is not None
    assert episode.turns[0].observation.error == "unknown-function"
    assert episode.end == "terminal-call"


@pytest.mark.parametrize("written", ["{not json", '"a string"', "[1]", "{" * 5000])
def test_arguments_that_are_no_json_object_are_told_so(written: str) -> None:
    episode, _ = asked(calling_functions(), calling("search_product_by_query", written))
    (turn,) = episode.turns
    assert turn.observation is not None
    assert turn.observation.error == "bad-json"
    assert episode.end == "terminal-call"


def test_a_message_without_a_call_ends_a_task_where_nobody_listens() -> None:
    episode, server = asked(calling_functions(), reply("What do you mean?"))
    assert names(episode) == ["respond"]
    assert value(episode, "content") == "What do you mean?"
    assert (episode.end, episode.failure, server.count) == ("responded", None, 1)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_an_empty_reply_is_no_move(text: str | None) -> None:
    episode, _ = asked(calling_functions(), reply(text))
    assert episode.end == "gave-up"
    assert episode.failure is not None
    assert episode.failure.kind == "unparsed"
    assert episode.call is not None
    assert episode.call.usage is not None


def test_an_endless_talker_is_stopped_by_the_limit() -> None:
    episode, server = asked(
        calling_functions(), *[reply("Hm?")] * 4, user=ScriptedUser(shop()), track="multi", max_steps=4
    )
    assert names(episode) == ["respond"] * 4
    assert episode.end == "step-limit"
    assert server.count == 4


def test_the_limit_is_told_where_the_prompt_has_a_place_for_it() -> None:
    _, server = asked(calling_functions("recmind"), user=ScriptedUser(shop()), track="multi", max_steps=7)
    assert "steps are limited to 7" in server.bodies[0]["messages"][0]["content"]


def test_an_endpoint_that_fails_is_an_error_and_what_was_paid_is_kept() -> None:
    episode, _ = asked(
        calling_functions(),
        calling("search_product_by_query", {"query": "fan"}),
        error(500),
        user=ScriptedUser(shop()),
        track="multi",
        max_retries=0,
    )
    assert names(episode) == ["search_product_by_query"]
    assert episode.end == "failed"
    assert episode.failure is not None
    assert episode.failure.kind == "error"
    assert episode.call is not None
    assert episode.call.usage is not None
    assert episode.call.usage.input_tokens == 1000


def test_recmind_may_look_at_a_product_first() -> None:
    episode, server = asked(calling_functions("recmind"), calling("get_product_details_by_asin", {"asin": "B003"}))
    assert names(episode) == ["get_product_details_by_asin", "search_product_by_query"]
    assert episode.turns[0].observation is not None
    assert episode.turns[0].observation.asins == ("B003",)
    assert len(server.bodies[0]["tools"]) == 5
    assert server.bodies[0]["messages"][0]["content"].startswith(PROMPTS.recmind_single)


def test_a_product_that_is_not_there_is_told_so() -> None:
    episode, _ = asked(calling_functions("recmind"), calling("get_product_details_by_asin", {"asin": "B999"}))
    assert episode.turns[0].observation is not None
    assert episode.turns[0].observation.error == "unknown-product"
    assert episode.end == "terminal-call"


def test_others_may_not() -> None:
    episode, _ = asked(calling_functions("last"), calling("get_product_details_by_asin", {"asin": "B003"}))
    assert episode.turns[0].observation is not None
    assert episode.turns[0].observation.error == "not-allowed"


def test_unknown_products_are_recommended_nothing_for() -> None:
    call = calling("get_recommendations_by_history", {"product_sequence": ["NOPE", "B9"]})
    episode, _ = asked(calling_functions(), call, of=RECOMMEND)
    (turn,) = episode.turns
    assert turn.observation is not None
    assert (turn.observation.text, turn.observation.asins, turn.observation.error) == ("[]", (), "")


# --- PUMA -------------------------------------------------------------------------------------------------------


def test_puma_asks_for_the_function_without_a_memory_and_words_the_memory_for_it() -> None:
    episode, server = asked(calling_functions("task-specific"), of=RECOMMEND)
    assert episode.predicted_type == "recommend"
    first, second = (body["messages"][0]["content"] for body in server.bodies)
    assert first == PROMPTS.system_single
    header = fill(PROMPTS.memory_task_specific, type="recommend", tool="get_recommendations_by_history")
    assert second.startswith(PROMPTS.task_specific_single + header)
    # Oldest first, titles, categories and asins alone, with bars between.
    assert "Asin:" in second
    assert "Rating:" not in second
    assert "|" in second
    assert sum(turn.completions for turn in episode.turns) == 1


def test_puma_takes_a_model_that_only_talks_for_a_search() -> None:
    episode, _ = asked(calling_functions("task-specific"), reply("Which function?"), of=RECOMMEND)
    assert episode.predicted_type == "search"


def test_puma_asks_once_where_the_functions_are_given() -> None:
    given = Predictions(by_text={RECOMMEND.instruction: "review"}, identity="functions=1")
    episode, server = asked(calling_functions("task-specific", predictions=given), of=RECOMMEND)
    assert episode.predicted_type == "review"
    assert server.count == 1
    assert "The task type is review" in server.bodies[0]["messages"][0]["content"]


def test_a_prediction_that_fails_is_an_error_with_its_costs() -> None:
    episode, _ = asked(calling_functions("task-specific"), error(500), max_retries=0)
    assert episode.end == "failed"
    assert episode.failure is not None
    assert episode.failure.kind == "error"


# --- InteRecAgent -------------------------------------------------------------------------------------------------


def test_interecagent_distils_likings_first_and_after_every_reply() -> None:
    wanted = task(instruction="an oak lamp")
    episode, server = asked(interec(), of=wanted, user=ScriptedUser(shop()), track="multi")
    assert names(episode) == ["search_product_by_query", "respond", "stop"]
    start, first, _, update, last = (body["messages"] for body in server.bodies)
    assert start[0]["content"].startswith("Your task is to extract a user profile from the user history.")
    assert "- Your Review Text: I like the quiet fan." in start[0]["content"]
    assert "Like:\n['B000']\nDislike:\n['B002']\nExpect:\n[]" in first[0]["content"]
    conversation = update[0]["content"]
    assert "user:USER u: an oak lamp" in conversation
    assert 'assistant:search_product_by_query({"query": "an oak lamp"})' in conversation
    assert "tool:\nProduct 0:" in conversation
    assert "assistant:Is it the first one?" in conversation
    assert "user:No, that is not it." in conversation
    assert "Like:\n['B000']\nDislike:\n['B002', 'B001']\nExpect:\n['something cheaper']" in last[0]["content"]
    assert sum(turn.completions for turn in episode.turns) == 3


@pytest.mark.parametrize("text", ["no profile at all", '{"like": "B000"}', '{"like": [1, null], "dislike": {}}', "[]"])
def test_a_profile_that_is_none_leaves_it_empty(text: str) -> None:
    _, server = asked(interec(), reply(text))
    assert server.bodies[1]["messages"][0]["content"].endswith("\nLike:\n[]\nDislike:\n[]\nExpect:\n[]")


def test_interecagent_asks_nothing_of_a_user_without_a_past() -> None:
    _, server = asked(interec(), of=task(timestamp_ms=0))
    assert server.count == 1


# --- users --------------------------------------------------------------------------------------------------------


def test_a_view_never_tells_type_or_target() -> None:
    assert "B003" not in repr(opened())
    assert "search" not in repr(opened())
