"""Addresses and keys: what users get wrong."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.make import planner_card

from grounding.errors import UserError
from grounding.llm import resolve_endpoint
from llm.helpers import KEY


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions/", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("https://host.example/v1beta/openai/", "https://host.example/v1beta/openai"),
        ("https://host.example/openai/v1", "https://host.example/openai/v1"),
    ],
)
def test_addresses(given: str, resolved: str) -> None:
    assert resolve_endpoint(planner_card(), given, flag="--base-url").base_url == resolved


@pytest.mark.parametrize(
    "given",
    [
        "127.0.0.1:8000/v1",
        "localhost",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "file:///v1",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1",
        "http://a..b/v1",
        f"http://{'a' * 70}/v1",
        "http://my host/v1",
        "http://host/v1\n",
        " ",
    ],
)
def test_what_is_no_address_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(
        UserError, match=r"--planner-base-url .*expected an address such as http://127\.0\.0\.1:8000/v1"
    ):
        resolve_endpoint(planner_card(), given, flag="--planner-base-url")


@pytest.mark.parametrize(
    "given",
    [
        "http://me:hunter2@host/v1",
        "http://hunter2@host/v1",
        "http://host/v1?key=hunter2",
        "http://host/#hunter2",
        "me:hunter2@host:port",
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_without_showing_it(given: str) -> None:
    with pytest.raises(UserError, match="--base-url: the address has a user, a password or a query") as caught:
        resolve_endpoint(planner_card(), given, flag="--base-url")
    assert "hunter2" not in str(caught.value)


def test_a_card_without_an_address_says_how_to_serve_it() -> None:
    card = planner_card(endpoint={"how_to_serve": "vllm serve org/m"})
    with pytest.raises(UserError, match=r"--base-url http://HOST:PORT/v1(.|\n)*vllm serve org/m"):
        resolve_endpoint(card, None, flag="--base-url")
    with pytest.raises(UserError, match="needs a server"):
        resolve_endpoint(planner_card(), None, flag="--base-url")


def hosted() -> Any:
    return planner_card(endpoint={"base_url": "https://api.example/v1", "key_variable": "TEST_KEY"})


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv("TEST_KEY", raising=False)
    else:
        monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(UserError, match=r"https://api\.example/v1 needs a key: set TEST_KEY"):
        resolve_endpoint(hosted(), None, flag="--base-url")
    # A server of one's own may need none.
    assert resolve_endpoint(hosted(), "http://127.0.0.1:8000", flag="--base-url").key() in (None, "")


@pytest.mark.parametrize(
    "value", [f"{KEY}\n", f" {KEY}", f"{KEY}\r\n", f"{KEY[:5]}\n{KEY[5:]}", f"{KEY}\t", " ", f"{KEY}\x01"]
)
def test_a_key_with_blanks_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(UserError, match="the key in TEST_KEY has a blank or a line end") as caught:
        resolve_endpoint(hosted(), None, flag="--base-url")
    assert KEY[:5] not in str(caught.value)
