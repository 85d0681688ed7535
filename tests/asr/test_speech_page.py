"""The page of an ablation in a real browser, from a file: it asks nobody, runs no script and plays its recordings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scoring.builders import Played

from grounding.asr.ablation import ablate
from grounding.asr.transcripts import clip_of
from grounding.asr.writing import write_ablation

from .heard import Lines, run, transcripts
from .speech import tone, write

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs the system's Chromium"),
]

TRUTH: Lines = {"1": {"a": "+ +"}}
HEARD: Lines = {"1": {"a": "- +"}}
HOSTILE = "</p><script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"


def test_it_plays_what_was_heard_and_nothing_else_happens(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    clip = clip_of(write(tmp_path / "speech.wav", tone(1.5)), "1/1")
    told = transcripts(Played(HEARD), "pocketsphinx@white:5dB", {"1/1": HOSTILE})
    heard = run("pocketsphinx@white:5dB", HEARD, told)
    found = ablate([run("truth", TRUTH), heard], title=HOSTILE)
    import msgspec

    changed = tuple(msgspec.structs.replace(one, audio=clip.path, clip_sha256=clip.sha256) for one in found.changed)
    page_file = write_ablation(tmp_path / "out", msgspec.structs.replace(found, changed=changed))[-1]
    (recording,) = (tmp_path / "out" / "speech_files").iterdir()
    assert recording.suffix == ".flac"
    asked: list[str] = []
    said: list[str] = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 400, "height": 800})
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto(page_file.as_uri())
        page.evaluate("() => { const one = document.querySelector('audio'); one.preload = 'auto'; one.load(); }")
        page.wait_for_function("() => document.querySelector('audio').readyState > 0")
        assert page.evaluate("() => document.querySelector('audio').duration") == pytest.approx(1.5, abs=0.05)
        assert page.title().startswith("Speech: </p><script>")
        # On a phone nothing but tables is wider than the screen, and those scroll by themselves.
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
        browser.close()
    assert said == []
    assert {address.partition(":")[0] for address in asked} <= {"file", "data"}
