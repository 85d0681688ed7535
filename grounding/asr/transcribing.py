"""``grounding transcribe``: recordings in, what a recogniser heard in them out. No logic of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from grounding.asr.records import Heard
from grounding.errors import UserError
from grounding.options import Display

TRANSCRIBE_EXAMPLES = """
Examples:

```
# What the built-in recogniser hears in every recording below a folder
grounding transcribe recordings/

# Whisper turbo, English, written as JSON with a time for every word
grounding transcribe recordings/ --asr whisper:turbo,language=en \\
    --out transcriptions_Wturbo.json

# The same speech with people talking 5 dB below it
grounding transcribe recordings/ --noise babble:5dB

# A server of your own that speaks OpenAI's interface, such as vLLM
grounding transcribe recordings/ --asr whisper-api:openai/whisper-large-v3 \\
    --base-url http://127.0.0.1:8000/v1 --max-connections 16
```
"""

EXIT_OK, EXIT_PARTIAL = 0, 1
_COLOURS = {"heard": "green", "nothing": "yellow", "failed": "red"}
_Flag = Parameter(negative="", show_default=False)
_AtLeastOne = Parameter(validator=Number(gte=1))


def transcribe_command(
    *places: Path,
    asr: str = "pocketsphinx",
    out: Path | None = None,
    noise: str | None = None,
    noise_dir: Path | None = None,
    language: str | None = None,
    prompt: str | None = None,
    beam_size: Annotated[int | None, _AtLeastOne] = None,
    device: str | None = None,
    batch_size: Annotated[int, _AtLeastOne] = 16,
    processes: Annotated[int | None, _AtLeastOne] = None,
    max_connections: Annotated[int, _AtLeastOne] = 4,
    base_url: str | None = None,
    timeout: Annotated[float, Parameter(validator=Number(gt=0))] = 300.0,
    max_retries: Annotated[int, Parameter(validator=Number(gte=0))] = 5,
    usd_per_minute: Annotated[float | None, Parameter(validator=Number(gte=0))] = None,
    transcript_store: Path | None = None,
    no_transcript_store: Annotated[bool, _Flag] = False,
    display: Display | None = None,
) -> int:
    """Have recordings heard by a recogniser, and print or write the transcripts.

    What was heard is kept between runs by the recording's bytes, the noise, the recogniser and its options: the same
    command again goes on where it stopped and hears nothing twice. A recording that can't be read or heard is named
    with the reason and keeps no other from being heard. Exit code 0: all have a transcript; 1: some have none.

    Args:
        places: Recordings, and folders with recordings; any format that libsndfile or ffmpeg reads.
        asr: Who hears: pocketsphinx, whisper[:MODEL or FILE.pt], whisper-api:MODEL or replay:FILE.json.
        out: A JSON file to write, with the time of every word; without it the texts are printed.
        noise: Noise to be added first: a source and a ratio, such as babble:5dB.
        noise_dir: A folder of noises in the layout of MS-SNSD, beside the built-in ones.
        language: What is spoken, such as en [default: the recogniser finds out].
        prompt: Text that whisper is told came before, such as names that will come up.
        beam_size: How many texts whisper weighs against each other [default: 1].
        device: cpu or cuda [default: cuda where there is one].
        batch_size: How many recordings whisper hears at once.
        processes: How many processes hear at once, for pocketsphinx [default: one a core].
        max_connections: How many requests are open at once, for whisper-api.
        base_url: The address of the endpoint, for whisper-api.
        timeout: Seconds to wait for the endpoint's reply.
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        usd_per_minute: What a minute of audio costs at the endpoint, in US dollars, to have the cost told.
        transcript_store: Where transcripts are kept between runs, instead of the user's cache folder.
        no_transcript_store: Keep nothing, and use nothing that was kept.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    from grounding.asr.conditions import parse_noise
    from grounding.asr.noise import open_sources
    from grounding.asr.recogniser import RecogniserOptions, open_recogniser
    from grounding.asr.running import Source, transcribe
    from grounding.asr.store import TranscriptStore, transcript_store_dir
    from grounding.asr.transcripts import find_clips, transcript_of, write_transcripts
    from grounding.display import OutcomeProgress
    from grounding.interrupts import terminated_like_interrupted

    if not places:
        raise UserError("which recordings? Give files or folders: grounding transcribe recordings/")
    if noise_dir is not None and noise is None:
        raise UserError("--noise-dir is for --noise, which is not given; leave it out, or give both")
    options = RecogniserOptions(
        language=language,
        prompt=prompt,
        beam_size=beam_size,
        device=device,
        batch_size=batch_size,
        processes=processes,
        connections=max_connections,
        base_url=base_url,
        timeout_s=timeout,
        max_retries=max_retries,
        usd_per_minute=usd_per_minute,
    )
    noisy = None if noise is None else parse_noise(noise)
    recogniser = open_recogniser(asr, options)
    clips = find_clips(places)
    progress = OutcomeProgress(display, _COLOURS, ("heard",))

    def told(heard: Heard, source: Source) -> None:
        if source == "stored":
            progress.kept()
        progress.count("failed" if heard.failure is not None else "heard" if heard.text else "nothing")

    try:
        with terminated_like_interrupted(), progress.steps(len(clips)):
            heard = transcribe(
                clips,
                recogniser,
                noise=noisy,
                sources=None if noisy is None else open_sources(noise_dir),
                store=TranscriptStore(transcript_store_dir(transcript_store, off=no_transcript_store)),
                progress=told,
            )
    finally:
        recogniser.close()
    if out is None:
        for each in heard:
            print(f"{each.clip_id}\t{'' if each.failure else ' '.join(each.text.split())}")
    else:
        pairs = zip(clips, heard, strict=True)
        write_transcripts(out, [transcript_of(each, audio=clip.path) for clip, each in pairs if each.failure is None])
    return _tell(heard, recogniser.name, out)


def _tell(heard: Sequence[Heard], recogniser: str, out: Path | None) -> int:
    """Odd clips, failures and sums on standard error; the exit code."""
    for each in heard:
        said = f"no transcript: {each.failure.message}" if each.failure else "; ".join(each.notes)
        if said:
            print(f"grounding: {each.clip_id}: {said}", file=sys.stderr)
    failed = sum(each.failure is not None for each in heard)
    audio_s, compute_s = sum(each.audio_s for each in heard), sum(each.compute_s for each in heard)
    heard_s = sum(each.audio_s for each in heard if each.compute_s)
    parts = [f"{len(heard) - failed} of {len(heard)} recordings by {recogniser}"]
    parts.append(f"{audio_s / 60:.1f} minutes of audio")
    if heard_s:
        parts.append(f"{compute_s / heard_s:.2f} s of computing for each second heard now")
    costs = [each.cost_usd for each in heard if each.cost_usd is not None]
    if costs:
        parts.append(f"${sum(costs):.4f}")
    if out is not None:
        parts.append(f"written to {out}")
    print("grounding: " + " · ".join(parts), file=sys.stderr)
    return EXIT_PARTIAL if failed else EXIT_OK
