"""Makes grounding/asr/babble.flac: eight synthetic voices that talk at once, over and over without a seam.

Usage: python tools/sample_speech/babble.py [--out FILE]       (needs espeak-ng)
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import soundfile
from espeak import SAMPLE_RATE_HZ, Doubles, Voice, speak

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "grounding" / "asr" / "babble.flac"
SECONDS = 24
LEVEL_DBFS = -25.0

# None of these voices speaks in the sample, and none of these sentences is an instruction of it.
TALK = (
    (
        Voice("en-us+m3", 165, 38),
        "The bus was late again, so we walked along the river, and of course it began to snow.",
    ),
    (
        Voice("en-gb+f3", 158, 58),
        "My sister has moved to the coast, she keeps bees now and writes a column about them.",
    ),
    (
        Voice("en-gb-scotland+m1", 172, 30),
        "They repaired the old organ last autumn, and nobody in the village has slept since.",
    ),
    (
        Voice("en-us+f4", 176, 66),
        "Have you heard from Martin, he was going to bring the maps and a second lamp for the tent.",
    ),
    (
        Voice("en-gb-x-rp+m7", 150, 44),
        "A good soup takes all morning, the onions alone want half an hour over a small flame.",
    ),
    (
        Voice("en-029+f1", 168, 52),
        "We counted eleven herons on Sunday, and an owl that looked at us as if we owed it money.",
    ),
    (
        Voice("en-gb-x-gbclan+m5", 160, 35),
        "If the engine knocks when it is cold, leave it alone, it is only asking for thinner oil.",
    ),
    (
        Voice("en-us+f5", 155, 48),
        "Her lecture was about glaciers, how they carry whole hills and put them down elsewhere.",
    ),
)


def babble() -> Doubles:
    """All voices at the same level, each from another place of the loop, with the same speech again and again."""
    count = SECONDS * SAMPLE_RATE_HZ
    track = np.zeros(count)
    for place, (voice, text) in enumerate(TALK):
        said = speak(text, voice)
        loop = np.zeros(count)
        at, turn = place * count // len(TALK), 0
        while turn * (len(said) + SAMPLE_RATE_HZ // 4) < count:
            # What goes beyond the end goes on at the beginning.
            where = (at + turn * (len(said) + SAMPLE_RATE_HZ // 4) + np.arange(len(said))) % count
            loop[where] += said
            turn += 1
        track += loop / np.sqrt(np.mean(loop**2))
    scaled: Doubles = track * (10 ** (LEVEL_DBFS / 20) / np.sqrt(np.mean(track**2)))
    return scaled


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=OUT)
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    samples = np.rint(babble() * 32768).clip(-32768, 32767).astype(np.int16)
    soundfile.write(out, samples, SAMPLE_RATE_HZ, subtype="PCM_16", format="FLAC", compression_level=1.0)
    print(f"{out}: {len(samples) / SAMPLE_RATE_HZ:.0f} s, {out.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
