from __future__ import annotations

import pytest
from fakes.chat_server import error, reply
from fakes.shop_model import REFLECTION

from grounding.webagents.personalwab.memory import MemoryName
from grounding.webagents.personalwab.prompts import shop_prompts
from grounding.webagents.personalwab.users.scripted import ScriptedUser
from webagents.personalwab.agents.played import asked, names, reacting, value
from webagents.personalwab.shops import shop, task

PROMPTS = shop_prompts()


@pytest.mark.parametrize("kind", ["none", "random", "last", "relevant"])
def test_react_plays_with_every_plain_memory(kind: MemoryName) -> None:
    episode, server = asked(reacting(kind))
    assert names(episode) == ["search_product_by_query"]
    assert value(episode, "query") == "something to boil water in"
    assert episode.turns[0].thought == "This is what helps."
    system = server.bodies[0]["messages"][0]["content"]
    assert system.startswith(PROMPTS.system_single + "\n#Available tools\n[")
    assert PROMPTS.react in system
    assert system.endswith(PROMPTS.react) == (kind == "none")
    assert "tools" not in server.bodies[0]


def test_a_conversation_in_text_goes_on_with_what_was_written_and_seen() -> None:
    episode, server = asked(reacting("none"), user=ScriptedUser(shop()), track="multi")
    assert names(episode) == ["search_product_by_query", "respond", "stop"]
    first, said, _ = episode.turns
    assert first.observation is not None
    assert server.bodies[2]["messages"][2:] == [
        {"role": "assistant", "content": first.raw},
        {"role": "user", "content": f"API output: {first.observation.text}"},
        {"role": "assistant", "content": said.raw},
        {"role": "user", "content": said.user_reply},
    ]
    assert value(episode, "content", 1) == "Is it the first one?"


def test_reflexion_thinks_about_every_reply_and_reads_it_again() -> None:
    episode, server = asked(reacting("none", reflects=True), user=ScriptedUser(shop()), track="multi")
    assert names(episode) == ["search_product_by_query", "respond", "stop"]
    assert episode.turns[1].reflection == REFLECTION
    asked_to_reflect = server.bodies[2]["messages"]
    assert len(asked_to_reflect) == 1
    assert "Instruction:\nsomething to boil water in" in asked_to_reflect[0]["content"]
    assert f"User feedback:\n{episode.turns[1].user_reply}" in asked_to_reflect[0]["content"]
    assert server.bodies[3]["messages"][-1] == {"role": "assistant", "content": REFLECTION}


def test_a_reflection_that_fails_ends_the_episode_as_an_error() -> None:
    said = "Thought:\nx\nAction:\nrespond\nArguments:\nThis?"
    episode, _ = asked(
        reacting("none", reflects=True),
        reply(said),
        error(500),
        user=ScriptedUser(shop()),
        track="multi",
        max_retries=0,
    )
    assert names(episode) == ["respond"]
    assert episode.failure is not None
    assert episode.failure.kind == "error"


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("Action:\nstop\nArguments:\n{}", "stop", "{}"),
        ("Thought: a\nAction: stop\nArguments: {} ", "stop", "{}"),
        ('Action:\nfly\nArguments:\n{"to": "moon"}\nAction:\nstop\nArguments:\n{}\nmore', "stop", "{}"),
        ('Action:\nsearch_product_by_query\nArguments:\n{"query":', "search_product_by_query", '{"query":'),
        ("I just talk.", "respond", '{"content":"I just talk."}'),
        ('Action:\nrespond\nArguments:\n{"content": "hi"}', "respond", '{"content":"hi"}'),
        ("Action:\n\nArguments:\nhi", "respond", '{"content":"hi"}'),
    ],
)
def test_what_is_written_is_read_from_its_end(text: str, name: str, arguments: str) -> None:
    episode, _ = asked(reacting("none"), reply(text), max_steps=1)
    assert (episode.turns[0].call.name, episode.turns[0].call.arguments) == (name, arguments)


def test_arguments_that_are_no_json_are_told_so() -> None:
    episode, _ = asked(reacting("none"), reply('Action:\nsearch_product_by_query\nArguments:\n{"query": oak}'))
    assert episode.turns[0].observation is not None
    assert episode.turns[0].observation.error == "bad-json"


def test_an_empty_reply_is_no_move() -> None:
    episode, _ = asked(reacting("none"), reply(""))
    assert episode.end == "gave-up"
    assert episode.failure is not None
    assert episode.failure.kind == "unparsed"


def test_a_review_is_written_for_the_product() -> None:
    episode, _ = asked(reacting(), of=task(type="review", target_asin="B000", instruction="review this"))
    assert names(episode) == ["add_product_review"]
