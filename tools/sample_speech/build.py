"""Speaks every instruction of the bundled web sample: audio/*.flac and transcriptions_GT.json of each participant.

Usage: python tools/sample_speech/build.py [--out DIR] [--participant P ...]       (needs espeak-ng; half a minute)

Each participant has a voice; speed, pitch, level and pauses change from clip to clip, by a hash of the clip's name, so
that every run makes the same. Under the voice lies the faint noise of a room, as there is in any recording.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import soundfile
import soxr
from espeak import SAMPLE_RATE_HZ, Doubles, Voice, speak, version

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grounding.data.layouts.realwebassist import load  # noqa: E402
from grounding.data.speech import Transcript, write_transcripts  # noqa: E402  (runs from a checkout, too)
from grounding.records import Session, Step  # noqa: E402

SAMPLE = ROOT / "datasets" / "sample-web"
VOICES = {
    "1": Voice("en-us+klatt4", 155, 40),
    "2": Voice("en-us+klatt3", 150, 58),
    "3": Voice("en-us+klatt2", 160, 30),
}
TRUTH = "transcriptions_GT.json"
MADE_WITH = "speech-made-with.json"
SPEECH_DBFS = -24.0
ROOM_DBFS = -64.0
PEAK = 0.98


def spoken(session: Session) -> list[list[Step]]:
    """The steps of each instruction, in order of their first."""
    runs: dict[tuple[object, int], list[Step]] = {}
    for step in session.steps:
        runs.setdefault((step.task, step.instruction_index), []).append(step)
    return list(runs.values())


def say(clip: str, text: str, voice: Voice) -> Doubles:
    """One clip: a pause, the words, a pause, with the room's noise under all of it; 16 kHz, at most 0.98."""
    seed = int.from_bytes(hashlib.sha256(clip.encode()).digest()[:4], "big")
    chance = np.random.RandomState(seed)
    here = Voice(voice.name, voice.speed + chance.randint(-12, 13), voice.pitch + chance.randint(-6, 7))
    words = speak(text, here)
    words *= 10 ** ((SPEECH_DBFS + chance.uniform(-2, 2)) / 20) / np.sqrt(np.mean(words**2))
    words *= min(1.0, PEAK / np.abs(words).max())
    before, after = (np.zeros(int(chance.uniform(0.2, 0.45) * SAMPLE_RATE_HZ)) for _ in range(2))
    clip_samples: Doubles = np.concatenate([before, words, after])
    return clip_samples + 10 ** (ROOM_DBFS / 20) * chance.standard_normal(len(clip_samples))


def write_participant(session: Session, out: Path) -> tuple[int, float]:
    """Speak one participant's instructions into ``out``; returns how many, and their seconds."""
    audio = out / "audio"
    if audio.exists():
        shutil.rmtree(audio)
    audio.mkdir(parents=True)
    items, seconds = [], 0.0
    for steps in spoken(session):
        name = steps[0].id.partition("/")[2]
        samples = say(steps[0].id, steps[0].instruction, VOICES[session.participant])
        whole = np.rint(samples * 32768).clip(-32768, 32767).astype(np.int16)
        soundfile.write(audio / f"{name}.flac", whole, SAMPLE_RATE_HZ, subtype="PCM_16", compression_level=1.0)
        pictures = tuple(f"images/{Path(step.screenshot.path).name}" for step in steps)
        items.append(Transcript(audio=f"audio/{name}.flac", steps=pictures, text=steps[0].instruction))
        seconds += len(whole) / SAMPLE_RATE_HZ
    write_transcripts(out / TRUTH, items)
    return len(items), seconds


def made_with() -> dict[str, str]:
    """The programs that decide the bytes."""
    return {
        "espeak-ng": version(),
        "libsndfile": soundfile.__libsndfile_version__,
        "soxr": soxr.__version__,
    }


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=SAMPLE, help="where the participants' folders are made")
    parser.add_argument("--participant", action="append", choices=sorted(VOICES), help="only this one (repeatable)")
    options = parser.parse_args()
    made = made_with()
    for session in load(SAMPLE).sessions:
        if options.participant is None or session.participant in options.participant:
            clips, seconds = write_participant(session, options.out / session.participant)
            print(f"participant {session.participant}: {clips} clips, {seconds:.0f} s", flush=True)
    (options.out / MADE_WITH).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
