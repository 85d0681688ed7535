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

from grounding.asr.audio import file_sha256  # noqa: E402  (runs from a checkout, too)
from grounding.asr.conditions import noise_text, parse_noise  # noqa: E402
from grounding.asr.noise import noise_identity, open_sources  # noqa: E402
from grounding.asr.recogniser import open_recogniser  # noqa: E402
from grounding.asr.records import Clip  # noqa: E402
from grounding.asr.running import transcribe  # noqa: E402
from grounding.asr.store import TranscriptStore  # noqa: E402
from grounding.asr.transcripts import Transcript, read_transcripts, transcript_of, write_transcripts  # noqa: E402
from grounding.asr.word_errors import Pair, word_errors  # noqa: E402

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
        if noisy is not None and noise_text(noisy) != noise:
            raise SystemExit(f"{noise} is written {noise_text(noisy)}")
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
        pairs = [
            Pair(clip_id=clip.id, participant=name, reference=item.text, heard=found.text)
            for (name, item, clip), found in zip(with_clips, heard, strict=True)
        ]
        failed = sum(found.failure is not None for found in heard)
        errors = word_errors(pairs)
        print(
            f"{noise or 'clean'}: WER {errors.total.rate_percent:.1f} % {errors.by_clip}, {failed} failed", flush=True
        )
    made = {
        "recogniser": open_recogniser(RECOGNISER).identity,
        "noises": [noise_identity(parse_noise(noise), open_sources()) for noise in NOISES if noise],
    }
    (options.out / HEARD_WITH).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
