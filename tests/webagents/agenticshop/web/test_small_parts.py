"""Policies, troubles, segments, and finding the browser: what needs no browser to be tested."""

from __future__ import annotations

import asyncio
import re
import socket
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Failure
from grounding.webagents.agenticshop.web.banner_words import WORDS
from grounding.webagents.agenticshop.web.chromium import check_installed, find_chromium
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.render import segment_tops
from grounding.webagents.agenticshop.web.resolving import ask_system
from grounding.webagents.agenticshop.web.troubles import OURS, PageTrouble, Trouble, failure_of, trouble_of


@pytest.mark.parametrize("address", ["10.0.0.1", "93.184.215.14", "localhost", "0.0.0.0", ""])
def test_a_shop_is_on_this_machine_or_the_policy_is_unsound(address: str) -> None:
    with pytest.raises(UserError, match="expected a loopback address"):
        WebPolicy(hosts={"shop.test": (address, 80)}).checked()


def test_policies_are_checked() -> None:
    assert WebPolicy(hosts={"shop.test": ("127.0.0.1", 8000), "six.test": ("::1", 1)}).checked().max_segments == 12
    for bad in (WebPolicy(hosts={"shop.test": ("127.0.0.1", 0)}), WebPolicy(hosts={"Shop.test": ("127.0.0.1", 1)}),
                WebPolicy(max_segments=0), WebPolicy(max_total_s=-1.0)):  # fmt: skip
        with pytest.raises(UserError):
            bad.checked()


def test_troubles_can_be_told_apart_again() -> None:
    for trouble in get_args(Trouble):
        failure = failure_of(trouble, "why: this")
        assert trouble_of(failure) == trouble
        assert failure.kind == ("error" if trouble in OURS else "missing")
    assert trouble_of(Failure(kind="error", message="something else: entirely")) is None


@given(st.integers(0, 50_000), st.integers(0, 239), st.integers(1, 12))
def test_segments_leave_no_gap(height: int, covered: int, most: int) -> None:
    tops = segment_tops(height, covered, most)
    assert tops[0] == 0
    assert len(tops) <= most
    assert list(tops) == sorted(set(tops))
    assert all(later - earlier <= 720 for earlier, later in pairwise(tops))
    assert len(tops) < 2 or tops[1] <= 720 - covered
    if len(tops) < most:
        assert tops[-1] + 720 >= height
    assert tops[-1] == 0 or tops[-1] + 720 <= height


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_installed_browser_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GROUNDING_CHROMIUM", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(UserError, match="no browser was found"):
        find_chromium()
    for name in ("google-chrome-stable", "google-chrome", "chromium-browser", "chromium"):
        path = program(tmp_path / "bin" / name)
        assert find_chromium() == str(path)
    own = program(tmp_path / "own" / "browser")
    monkeypatch.setenv("GROUNDING_CHROMIUM", str(own))
    assert find_chromium() == str(own)
    monkeypatch.setenv("GROUNDING_CHROMIUM", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="GROUNDING_CHROMIUM is"):
        find_chromium()


def test_a_missing_steersman_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pip install 'grounding\[browser\]'"):
        check_installed()


def test_the_systems_resolver_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(answer: object) -> tuple[str, ...]:
        async def getaddrinfo(*_: object, **__: object) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        return await ask_system("example.com")

    found = [
        (2, 1, 6, "", ("93.184.215.14", 0)),
        (2, 2, 17, "", ("93.184.215.14", 0)),
        (10, 1, 6, "", ("2606::1", 0, 0, 0)),
    ]
    assert asyncio.run(ask(found)) == ("93.184.215.14", "2606::1")
    for error, trouble in (
        (socket.gaierror(socket.EAI_NONAME, "x"), "no-such-host"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "no-network"),
    ):
        with pytest.raises(PageTrouble) as raised:
            asyncio.run(ask(error))
        assert raised.value.trouble == trouble


def test_the_words_of_banners_are_in_one_case_and_never_in_two_minds() -> None:
    answers = (*WORDS.reject, *WORDS.close, *WORDS.accept)
    assert len(set(answers)) == len(answers)
    for word in (*answers, *WORDS.cookies, *WORDS.newsletter, *WORDS.never):
        assert word == word.lower().strip()
    # A word that forbids a button would forbid these, too.
    assert not [answer for answer in answers if any(re.search(rf"(?<!\w){word}", answer) for word in WORDS.never)]
