"""Writes what the built-in recogniser hears in the sample's speech: transcriptions_pocketsphinx*.json.

Usage: python tools/sample_speech/hear.py [--out DIR] [--store DIR]       (minutes; goes on where it was stopped)

Every item keeps its key, the hash of the recording, the noise and the recogniser: a stored result that was made of
something else is known by it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grounding.asr.noise import noise_identity, open_sources  # noqa: E402  (runs from a checkout, too)
from grounding.asr.recogniser import open_recogniser  # noqa: E402
from grounding.asr.transcribe import TranscriptStore, transcribe, transcript_of  # noqa: E402
from grounding.data.speech import Clip, Transcript, file_sha256, parse_noise, read_transcripts, write_transcripts  # noqa: E402
from grounding.scoring.words import word_errors  # noqa: E402

SAMPLE = ROOT / "datasets" / "sample-web"
TRUTH = "transcriptions_GT.json"
RECOGNISER = "pocketsphinx"
NOISES = ("", "babble:10dB", "typing:0dB")
HEARD_WITH = "heard-with.json"


def file_name(noise: str) -> str:
    """``transcriptions_pocketsphinx-babble-10dB.json``, as the label of the condition has it."""
    return f"transcriptions_{RECOGNISER}{'-' + noise.replace(':', '-') if noise else ''}.json"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=SAMPLE, help="where the participants' folders are")
    parser.add_argument("--store", type=Path, help="keep what was heard here, too, so that a second run goes on")
    options = parser.parse_args()
    truth = {folder.parent.name: read_transcripts(folder) for folder in sorted(SAMPLE.glob(f"*/{TRUTH}"))}
    with_clips: list[tuple[str, Transcript, Clip]] = []
    for name, items in truth.items():
        for item in items:
            path = SAMPLE / name / item.audio
            clip = Clip(id=f"{name}/{path.stem}", path=str(path), sha256=file_sha256(path))
            with_clips.append((name, item, clip))
    for noise in NOISES:
        noisy = parse_noise(noise) if noise else None
        if noisy is not None and str(noisy) != noise:
            raise SystemExit(f"{noise} is written {noisy!s}")
        heard = transcribe(
            [clip for _, _, clip in with_clips],
            open_recogniser(RECOGNISER),
            noise=noisy,
            store=TranscriptStore(options.store),
        )
        for name in truth:
            written = [
                transcript_of(found, audio=item.audio, steps=item.steps)
                for (whose, item, _), found in zip(with_clips, heard, strict=True)
                if whose == name
            ]
            write_transcripts(options.out / name / file_name(noise), written)
        pairs = [(item.text, found.text) for (_, item, _), found in zip(with_clips, heard, strict=True)]
        failed = sum(found.failure is not None for found in heard)
        score = word_errors(pairs)
        print(f"{noise or 'clean'}: WER {score.rate_percent:.1f} % {score.interval}, {failed} failed", flush=True)
    made = {
        "recogniser": open_recogniser(RECOGNISER).identity,
        "noises": [noise_identity(parse_noise(noise), open_sources()) for noise in NOISES if noise],
    }
    (options.out / HEARD_WITH).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
