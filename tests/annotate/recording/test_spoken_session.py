"""A session of the bundled sample, its screens and its spoken words, through the recogniser that everybody has."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import pytest
import soundfile
import soxr
from screenplay import Picture, Screenplay, film
from sessions import SAMPLE

from annotate.recording.propose import propose
from annotate.recording.records import CutPlan
from annotate.recording.video import Recording
from grounding.asr.recogniser import open_recogniser

PERSON = SAMPLE / "1"
ACTIONS = 7
TOLERANCE_S = 0.15


def picture(item: dict[str, object]) -> Picture:
    return cv2.cvtColor(cv2.imread(str(PERSON / str(item["final_image"]))), cv2.COLOR_BGR2RGB)


def spoken_session() -> tuple[Screenplay, list[tuple[float, str]]]:
    """The first actions of a participant, each some time after its words; with the words of each action."""
    items = json.loads((PERSON / "questions_with_task_updated.json").read_text(encoding="utf-8"))
    clips = {
        image: clip
        for clip in json.loads((PERSON / "transcriptions_GT.json").read_text(encoding="utf-8"))
        for image in clip["steps"]
    }
    play = Screenplay((1280, 720), 0.0, [(0.0, picture(items[0]))], pointer=[(0.0, 30.0, 40.0)])
    time_s, last, wanted = 1.0, "", []
    for number, item in enumerate(items[:ACTIONS]):
        clip = clips[item["final_image"]]
        if clip["audio"] != last:
            last = clip["audio"]
            samples, rate_hz = soundfile.read(PERSON / last)
            samples = soxr.resample(samples, rate_hz, 16_000)
            play.say(time_s, (samples * 32767).astype("int16"))
            time_s += len(samples) / 16_000 + 0.6
        time_s += 1.2
        after = picture(items[number + 1])
        boxes = item["bounding_box"]
        if boxes:
            box = boxes[0] if isinstance(boxes, list) else boxes
            play.click(time_s, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, after)
        else:
            play.screens.append((time_s, after))
        wanted.append((time_s, clip["text"]))
        time_s += 1.6
    play.duration_s = time_s + 1.0
    return play, wanted


def alike(heard: str, said: str) -> float:
    """The share of the words said that were heard."""
    words = said.lower().replace(",", "").replace(".", "").split()
    return sum(word in heard.lower().split() for word in words) / len(words)


@pytest.mark.slow
def test_spoken_instructions_come_to_the_actions_that_they_were_said_for(tmp_path: Path) -> None:
    if not (PERSON / "audio").is_dir():
        pytest.skip("the bundled sample has no recordings here")
    play, wanted = spoken_session()
    path = tmp_path / "spoken.mkv"
    film(play, path, fps=20, keyframes_every=100)
    recogniser = open_recogniser("pocketsphinx")
    try:
        plan: CutPlan = propose(Recording(path), recogniser=recogniser, progress=lambda *_: None)
    finally:
        recogniser.close()
    heard = {one.id: one.heard for one in plan.instructions}
    found = 0
    for at_s, said in wanted:
        steps = [step for step in plan.steps if abs(step.action_s - at_s) <= TOLERANCE_S]
        if steps:
            found += 1
            assert steps[0].instruction is not None
            assert alike(heard[steps[0].instruction], said) >= 0.4, (heard[steps[0].instruction], said)
    # The first click puts the caret into a field: nothing of it can be seen.
    assert found >= ACTIONS - 1
    assert len(plan.steps) <= ACTIONS
