"""The commands of speech: options in, files and tables out."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from grounding.asr.noise import open_sources
from grounding.asr.recogniser import RecogniserOptions, open_recogniser
from grounding.asr.transcribe import TranscriptStore, listen, say, transcript_of, transcript_store_dir
from grounding.console import EXIT_OK, EXIT_PARTIAL, wide_console
from grounding.data.speech import DEFAULT_RECOGNISER, find_clips, parse_noise, write_transcripts
from grounding.errors import UserError, printable
from grounding.options import Display

_Flag = Parameter(negative="", show_default=False)
_USUAL = RecogniserOptions()

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


def transcribe_recordings(
    *places: Path,
    asr: str = DEFAULT_RECOGNISER,
    out: Path | None = None,
    noise: str | None = None,
    noise_dir: Path | None = None,
    options: RecogniserOptions = _USUAL,
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
        asr: Who hears: pocketsphinx, whisper[:MODEL or FILE.pt] or whisper-api:MODEL.
        out: A JSON file to write, with the time of every word, and with recordings below its folder named from there;
            without it the texts are printed.
        noise: Noise to be added first: a source and a ratio, such as babble:5dB.
        noise_dir: A folder of noises in the layout of MS-SNSD, beside the built-in ones.
        options: Of the recogniser.
        transcript_store: Where transcripts are kept between runs, instead of the user's cache folder.
        no_transcript_store: Keep nothing, and use nothing that was kept.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    from grounding.run.runner import terminated_like_interrupted

    if not places:
        raise UserError("which recordings? Give files or folders: grounding transcribe recordings/")
    if noise_dir is not None and noise is None:
        raise UserError("--noise-dir is for --noise, which is not given; leave it out, or give both")
    noisy, sources = None if noise is None else parse_noise(noise), open_sources(noise_dir)
    recogniser, clips = open_recogniser(asr, options), find_clips(places)
    store = TranscriptStore(transcript_store_dir(transcript_store, off=no_transcript_store))
    with terminated_like_interrupted():
        heard = listen(clips, recogniser, noise=noisy, sources=sources, store=store, display=display)
    if out is None:
        for each in heard:
            print(f"{each.clip_id}\t{'' if each.failure else printable(' '.join(each.text.split()))}")
    else:
        pairs = zip(clips, heard, strict=True)
        named = [(_seen_from(out.parent, clip.path), each) for clip, each in pairs if each.failure is None]
        write_transcripts(out, [transcript_of(each, audio=audio) for audio, each in named])
    for each in heard:
        if said := f"no transcript: {each.failure.message}" if each.failure else "; ".join(each.notes):
            say(f"{each.clip_id}: {said}")
    failed = sum(each.failure is not None for each in heard)
    on = f" on {recogniser.device}" if recogniser.device else ""
    parts = [f"{len(heard) - failed} of {len(heard)} recordings by {recogniser.name}{on}"]
    parts.append(f"{sum(each.audio_s for each in heard) / 60:.1f} minutes of audio")
    if heard_s := sum(each.audio_s for each in heard if each.compute_s):
        parts.append(f"{sum(each.compute_s for each in heard) / heard_s:.2f} s of computing for each second heard now")
    parts += [f"written to {out}"] if out is not None else []
    say(" · ".join(parts))
    return EXIT_PARTIAL if failed else EXIT_OK


def table_command(*runs: Path, published: Annotated[bool, _Flag] = False) -> int:
    """Print the table over finished runs that differ in their transcripts only. Asks and hears nothing again.

    Args:
        runs: Run folders, in the order of the table. One of them should be over the true words.
        published: Put the paper's Table 4 beside, whatever the data.
    """
    from grounding.asr.table import print_table
    from grounding.report.matrix import WIDE
    from grounding.run.scorebook import read_run

    print_table(wide_console(WIDE), [read_run(run) for run in runs], published=published)
    return EXIT_OK


def _seen_from(folder: Path, path: str) -> str:
    """A recording's path from a folder that it lies below; any other as it is."""
    recording, above = Path(path).absolute(), folder.absolute()
    return recording.relative_to(above).as_posix() if recording.is_relative_to(above) else path
