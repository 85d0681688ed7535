"""How long do noise and word error rates take for a data set of six hours of speech, and how much memory?

Usage: python tools/bench/noise_and_wer.py [--hours H] [--noise NAME] [--measure MEASURE]

Goes over the sample's recordings again and again, each time read from its file, mixed under another key and let go,
one at a time, until that many hours have gone by; then scores as many pairs of true and misheard words. Prints seconds
of wall and processor time, and the most memory after a tenth of the way and at the end.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grounding.asr.audio import read_audio  # noqa: E402  (runs from a checkout, too)
from grounding.asr.noise import Measure, Noisy, add_noise, open_sources  # noqa: E402
from grounding.asr.transcripts import read_transcripts  # noqa: E402
from grounding.asr.word_errors import Pair, word_errors  # noqa: E402

SAMPLE = ROOT / "datasets" / "sample-web"


def memory_mb() -> float:
    """The most memory this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def misheard(text: str, number: int) -> str:
    """The text with every fourth word another one, and now and then a word less."""
    words = text.split()
    return " ".join(word[::-1] if (at + number) % 4 == 0 else word for at, word in enumerate(words) if at != number % 9)


def mix_all(hours: float, noisy: Noisy) -> Iterator[Pair]:
    """Read and mix clips until the hours are over; a pair for each."""
    sources = open_sources()
    truth = [
        (path.parent.name, item)
        for path in sorted(SAMPLE.glob("*/transcriptions_GT.json"))
        for item in read_transcripts(path)
    ]
    seconds = 0.0
    for number in count():
        name, item = truth[number % len(truth)]
        audio = read_audio(SAMPLE / name / item.audio)
        add_noise(audio.samples, noisy, clip_key=f"{audio.sha256} {number}", sources=sources)
        yield Pair(clip_id=f"{number}", participant=name, reference=item.text, heard=misheard(item.text, number))
        seconds += audio.seconds
        if seconds >= hours * 3600:
            return


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hours", type=float, default=6.0)
    parser.add_argument("--noise", default="babble")
    parser.add_argument("--measure", choices=("rms", "speech-active"), default="speech-active")
    options = parser.parse_args()
    measure: Measure = options.measure
    noisy = Noisy(source=options.noise, snr_db=5.0, measure=measure)
    started, started_cpu = time.perf_counter(), time.process_time()
    list(mix_all(options.hours / 10, noisy))
    early_mb = memory_mb()
    pairs = list(mix_all(options.hours * 0.9, noisy))
    mixed, mixed_cpu = time.perf_counter() - started, time.process_time() - started_cpu
    late_mb = memory_mb()
    print(f"{options.hours:g} h of speech: read and mixed in {mixed:.1f} s, {mixed_cpu:.1f} s of one core")
    print(f"most memory: {early_mb:.0f} MB after a tenth of it, {late_mb:.0f} MB at the end")
    started, started_cpu = time.perf_counter(), time.process_time()
    errors = word_errors(pairs)
    took, took_cpu = time.perf_counter() - started, time.process_time() - started_cpu
    print(
        f"{len(pairs)} clips, {errors.total.reference_words} words: rated in {took:.1f} s, {took_cpu:.1f} s of one core"
    )
    print(f"most memory: {memory_mb():.0f} MB; WER {errors.total.rate_percent:.1f} %")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
