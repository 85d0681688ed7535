"""How fast do recognisers hear? Real-time factors: seconds of work for each second of audio.

Usage: python tools/bench/asr_speed.py [PLACE ...] [--asr SPEC ...] [--first N] [--noise babble:10dB]

Reads every recording below the places (the bundled sample by default), first alone, then with each recogniser,
without a store. ``wall`` is what a person waits for, with models loading and all processes, connections or batches at
work; ``computing`` is the recogniser's own time, summed over processes; ``memory`` is the peak of this process, and of
the largest one it started.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grounding.asr.audio import UnreadableAudio, read_audio  # noqa: E402  (runs from a checkout, too)
from grounding.asr.conditions import parse_noise  # noqa: E402
from grounding.asr.cores import core_count  # noqa: E402
from grounding.asr.noise import Noisy  # noqa: E402
from grounding.asr.recogniser import open_recogniser  # noqa: E402
from grounding.asr.records import Clip  # noqa: E402
from grounding.asr.running import transcribe  # noqa: E402
from grounding.asr.transcripts import find_clips  # noqa: E402
from grounding.errors import UserError  # noqa: E402


def read_all(clips: list[Clip]) -> None:
    """Print what reading and resampling takes."""
    started, audio_s, broken = time.perf_counter(), 0.0, 0
    for clip in clips:
        try:
            audio_s += read_audio(Path(clip.path)).seconds
        except UnreadableAudio:
            broken += 1
    taken_s = time.perf_counter() - started
    if not audio_s:
        sys.exit("none of the recordings can be read")
    print(f"{len(clips)} recordings, {audio_s / 60:.1f} minutes, {broken} unreadable, {core_count()} cores")
    print(f"{'reading':<28} {taken_s / audio_s:8.4f} wall")


def hear_all(clips: list[Clip], spec: str, noise: Noisy | None) -> None:
    """Print what one recogniser takes."""
    recogniser = open_recogniser(spec)
    started = time.perf_counter()
    try:
        heard = transcribe(clips, recogniser, noise=noise)
    finally:
        recogniser.close()
    wall_s = time.perf_counter() - started
    audio_s = sum(each.audio_s for each in heard)
    computing_s = sum(each.compute_s for each in heard)
    failed = sum(each.failure is not None for each in heard)
    if not audio_s:
        print(f"{recogniser.name:<28} heard nothing: {heard[0].failure.message if heard[0].failure else ''}")
        return
    how = (
        f"{recogniser.at_once} {recogniser.workers}" if recogniser.workers != "batch" else f"batch {recogniser.at_once}"
    )
    print(
        f"{recogniser.name:<28} {wall_s / audio_s:8.4f} wall {computing_s / audio_s:8.4f} computing, {how}, "
        f"{failed} failed, memory {_peak_mb(resource.RUSAGE_SELF):.0f} and {_peak_mb(resource.RUSAGE_CHILDREN):.0f} MB"
    )


def _peak_mb(who: int) -> float:
    return resource.getrusage(who).ru_maxrss / 1024


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", type=Path, default=[ROOT / "datasets" / "sample-web"], metavar="PLACE")
    parser.add_argument("--asr", nargs="+", default=["pocketsphinx"], metavar="SPEC")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N recordings")
    parser.add_argument("--noise", metavar="SOURCE:LEVEL", help="noise to be added, such as babble:10dB")
    options = parser.parse_args()
    try:
        noise = parse_noise(options.noise) if options.noise else None
        clips = find_clips(options.places)[: options.first]
        read_all(clips)
        for spec in options.asr:
            hear_all(clips, spec, noise)
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
