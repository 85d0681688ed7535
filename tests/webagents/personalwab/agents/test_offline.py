from __future__ import annotations

import asyncio

import pytest
from fakes import make
from fakes.chat_server import ChatServer, error, working_out
from fakes.shop_model import USER_SAYS, shop_model

from grounding.records import Failure
from grounding.webagents.personalwab.agents.conversation import respond, said
from grounding.webagents.personalwab.agents.oracle import Oracle
from grounding.webagents.personalwab.agents.rules import RuleAgent
from grounding.webagents.personalwab.agents.words import meant_type, review_words, search_words
from grounding.webagents.personalwab.memory import MemoryName
from grounding.webagents.personalwab.prompts import shop_prompts
from grounding.webagents.personalwab.records import FunctionCall, ShopTask, TaskType, Turn
from grounding.webagents.personalwab.users.base import UserReply
from grounding.webagents.personalwab.users.model import ModelUser
from grounding.webagents.personalwab.users.scripted import NO, YES, ScriptedUser
from grounding.webagents.personalwab.verdicts import judge_shop
from webagents.personalwab.agents.played import memory_of, names, play, value
from webagents.personalwab.shops import BEHAVIOURS, shop, task, web


def rules(kind: MemoryName = "last") -> RuleAgent:
    return RuleAgent(memory_of(kind, length=5), shop())


def test_the_rules_search_with_the_words_of_the_instruction() -> None:
    episode = play(rules(), task(instruction="Please find me a steel kettle"))
    assert names(episode) == ["search_product_by_query"]
    assert "steel kettle" in str(value(episode, "query"))
    assert episode.turns[0].observation is not None
    assert episode.turns[0].observation.asins[0] == "B003"


def test_the_rules_recommend_for_purchases_of_the_category_oldest_first() -> None:
    episode = play(rules(), task(instruction="Recommend me something new, like an oak desk"))
    assert value(episode, "product_sequence") == ["B000", "B001", "B002", "B003", "B004"]


@pytest.mark.parametrize("kind", ["none", "last"])
@pytest.mark.parametrize("instruction", ["find a lamp", "recommend something"])
def test_a_user_without_a_past_gets_a_call_all_the_same(kind: MemoryName, instruction: str) -> None:
    episode = play(rules(kind), task(instruction=instruction, user_id="stranger", timestamp_ms=0))
    assert episode.end == "terminal-call"
    assert episode.memory_behaviours == 0
    (turn,) = episode.turns
    assert turn.observation is not None
    assert turn.observation.error == ""


def test_the_rules_write_in_the_user_s_own_way() -> None:
    of = task(type="review", target_asin="B000", instruction="Help me write a review. The wood is nice.")
    assert value(play(rules(), of), "review") == "I like the oak lamp. The wood is nice."


def test_the_rules_stop_when_the_user_says_yes_and_give_up_after_three_tries() -> None:
    found = play(rules(), task(instruction="a steel kettle"), user=ScriptedUser(shop()), track="multi")
    assert names(found) == ["search_product_by_query", "respond", "stop"]
    assert found.turns[1].user_reply == YES
    lost = play(rules(), task(instruction="an oak lamp", target_asin="B007"), user=ScriptedUser(shop()), track="multi")
    assert names(lost) == [*["search_product_by_query", "respond"] * 3, "stop"]
    assert all((turn.user_reply or "").startswith(NO) for turn in lost.turns if turn.call.name == "respond")


@pytest.mark.parametrize("limit", range(1, 8))
def test_the_rules_keep_to_the_limit(limit: int) -> None:
    of = task(instruction="an oak lamp", target_asin="B007")
    episode = play(rules(), of, user=ScriptedUser(shop()), track="multi", max_steps=limit)
    assert len(episode.turns) <= limit


@pytest.mark.parametrize(("kind", "target"), [("search", "B003"), ("recommend", "B005")])
def test_the_oracle_asks_in_the_best_way(kind: TaskType, target: str) -> None:
    of = task(type=kind, target_asin=target)
    data = shop()
    dataset = type(data)(
        name=data.name, fingerprint=data.fingerprint, users=data.users, products=data.products, tasks=(of,)
    )
    episode = play(Oracle(dataset, web()), of)
    (turn,) = episode.turns
    assert turn.observation is not None
    assert target in turn.observation.asins
    assert judge_shop(of, episode, {}, rule="paper").result == (1.0 if kind == "search" else 0.9)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Can you find me a red lamp?", "search"),
        ("Recommend me something", "recommend"),
        ("Help me to write a review for this", "review"),
        ("I need a lamp with good reviews", "search"),
        ("", "search"),
    ],
)
def test_the_type_is_told_from_the_words(words: str, kind: TaskType) -> None:
    assert meant_type(words) == kind


def test_words_that_ask_are_left_out_and_nothing_is_left_alone() -> None:
    assert search_words("find me a lamp") == "me a lamp"
    assert search_words("find") == "find"
    assert review_words("Write a review.") == "Write a review."


# --- simulated users ----------------------------------------------------------------------------------------------


def say(
    user: ScriptedUser | ModelUser, words: str, of: ShopTask | None = None, turns: tuple[Turn, ...] = ()
) -> UserReply:
    async def run() -> UserReply:
        try:
            await user.check()
            return await user.reply(of or task(), turns, words)
        finally:
            await user.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize("words", ["Is it B003?", "The steel kettle, then?", "kettles of steel"])
def test_the_scripted_user_knows_its_product(words: str) -> None:
    assert say(ScriptedUser(shop()), words).text == YES


@pytest.mark.parametrize("words", ["A kettle?", "", "B00", "oak desk"])
def test_the_scripted_user_says_no_to_others_and_never_names_its_own(words: str) -> None:
    reply = say(ScriptedUser(shop()), words).text
    assert reply.startswith(NO)
    assert "kettle" not in reply
    assert "B003" not in reply


def test_the_scripted_user_says_how_it_was_of_a_review() -> None:
    of = task(type="review", target_asin="B000", target_review=BEHAVIOURS[0].review)
    assert say(ScriptedUser(shop()), "How was it?", of).text.endswith("I was happy with it.")


def test_a_model_plays_the_user_with_profile_and_product_and_hears_no_results() -> None:
    earlier = (
        Turn(call=FunctionCall(name="search_product_by_query", arguments='{"query": "x"}')),
        Turn(call=respond("A coat?"), user_reply="No."),
    )
    with ChatServer(working_out(shop_model)) as server:
        user = ModelUser(make.model(make.planner_card(), server.base_url), shop(), shop_prompts())
        reply = say(user, "A kettle?", turns=earlier)
    assert reply.text == USER_SAYS
    assert reply.call is not None
    assert reply.call.usage is not None
    (body,) = server.bodies
    system, *spoken = body["messages"]
    assert "You are looking for this product:\n\n- Title: steel kettle" in system["content"]
    assert "- Gender: Female" in system["content"]
    assert [(each["role"], each["content"]) for each in spoken] == [
        ("user", "Hi! How can I help you today?"),
        ("assistant", "something to boil water in"),
        ("user", "A coat?"),
        ("assistant", "No."),
        ("user", "A kettle?"),
    ]


def test_a_model_user_of_a_review_is_told_its_own_review() -> None:
    of = task(type="review", target_asin="B000", target_review=BEHAVIOURS[0].review)
    with ChatServer(working_out(shop_model)) as server:
        say(ModelUser(make.model(make.planner_card(), server.base_url), shop(), shop_prompts()), "How was it?", of)
    assert "Your review is as follows:\nI like the oak desk." in server.bodies[0]["messages"][0]["content"]


def test_a_user_that_fails_ends_the_episode_as_an_error() -> None:
    with ChatServer(error(500)) as server:
        model = make.model(make.planner_card(), server.base_url, max_retries=0)
        user = ModelUser(model, shop(), shop_prompts())
        episode = play(rules(), task(instruction="oak"), user=user, track="multi")
    assert names(episode) == ["search_product_by_query", "respond"]
    assert isinstance(episode.failure, Failure)
    assert episode.failure.kind == "error"
    assert episode.turns[-1].user_reply == ""


def test_what_is_said_is_had_back_whatever_stands_there() -> None:
    assert said(respond("hi")) == "hi"
    for arguments in ("plain", "[]", '{"content": 1}', "{" * 3000):
        assert said(FunctionCall(name="respond", arguments=arguments)) == arguments
