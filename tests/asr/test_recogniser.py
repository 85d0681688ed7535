from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from asr.fake_recogniser import FakeRecogniser
from grounding.asr.recogniser import BUILT_IN, RecogniserOptions, open_recogniser, recogniser_names, split_options
from grounding.errors import UserError


def test_options_behind_the_name() -> None:
    head, options = split_options("whisper:a,b=c.pt,language=en,beam_size=5,temperatures=0/0.4", RecogniserOptions())
    assert head == "whisper:a,b=c.pt"
    assert (options.language, options.beam_size, options.temperatures) == ("en", 5, (0.0, 0.4))
    given = RecogniserOptions(language="de", connections=9)
    assert split_options("whisper", given) == ("whisper", given)
    assert split_options("whisper,language=en", given)[1].connections == 9


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("sphinx", "did you mean 'pocketsphinx'"),
        ("zzz", "there are: pocketsphinx, whisper, whisper-api, replay"),
        ("pocketsphinx,processes=many", "processes"),
        ("pocketsphinx,processes=0", "expected 1 or more"),
        ("pocketsphinx,temperatures=3", "from 0 to 2"),
        ("pocketsphinx,timeout_s=-1", "more than 0"),
        ("pocketsphinx,usd_per_minute=-1", "0 or more"),
        ("pocketsphinx,max_retries=-1", "0 or more"),
    ],
)
def test_names_and_values_that_are_none(spec: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_recogniser(spec)


def _named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = importlib.metadata.EntryPoint(name="mine", value=value, group="grounding.recognisers")

    def entry_points(*, group: str, name: str = "mine") -> list[importlib.metadata.EntryPoint]:
        return [point] if (group, name) == (point.group, point.name) else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def make_fake(argument: str, options: RecogniserOptions) -> FakeRecogniser:
    return FakeRecogniser("batch", Path(argument), at_once=options.batch_size)


def _no_fake(_argument: str, _options: RecogniserOptions) -> str:
    return "no recogniser"


def test_a_package_may_bring_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _named(monkeypatch, "asr.test_recogniser:make_fake")
    found = open_recogniser("mine:some/log,batch_size=7")
    assert isinstance(found, FakeRecogniser)
    assert (found.log, found.at_once) == (Path("some/log"), 7)
    assert recogniser_names() == (*BUILT_IN, "mine")


@pytest.mark.parametrize(
    ("value", "said"),
    [("nowhere:x", "cannot be imported"), ("asr.test_recogniser:_no_fake", "returns str, no recogniser")],
)
def test_a_package_that_brings_none(monkeypatch: pytest.MonkeyPatch, value: str, said: str) -> None:
    _named(monkeypatch, value)
    with pytest.raises(UserError, match=said):
        open_recogniser("mine:a", RecogniserOptions())
