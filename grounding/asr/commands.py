"""The commands of ``python -m grounding.asr``: options in, files and tables out. No logic of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from grounding.errors import UserError
from grounding.sources.option import DataDir

_Flag = Parameter(negative="", show_default=False)
_Several = Parameter(consume_multiple=True, negative="", show_default=False)


def table_command(
    *runs: Path,
    out: Path | None = None,
    published: Annotated[bool, _Flag] = False,
    noise_dir: Path | None = None,
    format: Literal["text", "markdown", "csv", "json"] = "text",
) -> int:
    """Compare scored runs that differ in their transcripts only: table, curves, slope and changed steps.

    Asks and hears nothing again. One of the runs should be over the true words.

    Args:
        runs: Run folders, in the order of the table.
        out: Write all files (JSON, CSV, Markdown, pictures, the page) into this folder.
        published: Put the paper's Table 4 beside.
        noise_dir: The noises that the runs were made with, for the recordings on the page.
        format: What is printed.
    """
    import msgspec

    from grounding.asr.table import ablation_csv, ablation_markdown, print_ablation
    from grounding.asr.writing import read_ablation, write_ablation
    from grounding.report.matrix import WIDE
    from grounding.report.show import wide_console

    ablation = read_ablation(runs)
    if format == "json":
        print(msgspec.json.format(msgspec.json.encode(ablation), indent=2).decode())
    elif format == "csv":
        print(ablation_csv(ablation), end="")
    elif format == "markdown":
        print(ablation_markdown(ablation, published=published), end="")
    else:
        print_ablation(wide_console(WIDE), ablation, published=published)
    if out is not None:
        files = write_ablation(out, ablation, published=published, noise_dir=noise_dir)
        if format == "text":
            print(f"speech     {out}: {', '.join(path.name for path in files)}")
    return 0


def mix_command(
    speech: Path,
    out: Path,
    /,
    *,
    noise: str,
    noise_dir: Path | None = None,
) -> int:
    """Add noise to a recording and write it as 16 kHz WAV or FLAC; prints the ratio that was reached and the gain.

    The draw of the noise hangs on the recording and the seed, not on the level: it is what a recogniser would hear.

    Args:
        speech: Any file that libsndfile or ffmpeg reads.
        out: The file to write, .wav or .flac; one that is there is replaced.
        noise: Such as babble:10dB, typing:0dB:active or white:5dB:seed=1.
        noise_dir: Noises of your own, named as in MS-SNSD.
    """
    from grounding.asr.audio import SAMPLE_RATE_HZ, UnreadableAudio, read_audio
    from grounding.asr.conditions import noise_text, parse_noise
    from grounding.asr.noise import add_noise, check_noisy, open_sources

    if out.suffix.lower() not in (".wav", ".flac"):
        raise UserError(f"{out}: expected a name that ends in .wav or .flac")
    noisy, sources = parse_noise(noise), open_sources(noise_dir)
    check_noisy(noisy, sources)
    try:
        audio = read_audio(speech)
    except UnreadableAudio as error:
        raise UserError(f"{speech}: {error}") from error
    mixed = add_noise(audio.samples, noisy, clip_key=audio.sha256, sources=sources)
    import soundfile

    try:
        soundfile.write(out, mixed.samples, SAMPLE_RATE_HZ, subtype="PCM_16")
    except (OSError, soundfile.LibsndfileError) as error:
        raise UserError(f"{out}: can't be written: {error}") from error
    reached = "no speech to measure" if mixed.achieved_snr_db is None else f"{mixed.achieved_snr_db:.2f} dB reached"
    print(f"{out}: {noise_text(noisy)}, {reached}, speech at {mixed.gain_db:+.1f} dB, {audio.seconds:.1f} s")
    for note in (*audio.notes, *mixed.notes):
        print(f"note: {note}")
    return 0


def wer_command(
    reference: Path,
    heard: Path | None = None,
    /,
    *,
    most: int = 15,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """The word error rate of a run, or of recorded transcripts against true ones, with the most confused words.

    Args:
        reference: A run folder; or the true transcripts: a transcriptions_*.json, or text with a line for each
            recording.
        heard: What was heard, in a file of the same kind.
        most: How many of the most frequent errors are shown.
        json: Print everything as JSON.
    """
    import msgspec

    from grounding.asr.wordtable import print_words, words_between, words_of_run

    found = words_of_run(reference) if heard is None else words_between(reference, heard)
    if json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print_words(found, most=most)
    return 0


def transcribe_command(
    *,
    dataset: str = "sample-web",
    data_dir: DataDir | None = None,
    asr: Annotated[tuple[str, ...], _Several] = ("pocketsphinx",),
    out: Path | None = None,
    participant: Annotated[tuple[str, ...], _Several] = (),
    asr_base_url: str | None = None,
    noise_dir: Path | None = None,
    timeout: float | None = None,
    max_retries: int = 5,
    display: Literal["rich", "plain", "none"] | None = None,
) -> int:
    """Have a data set's recordings heard, print the word error rate, and write transcriptions_NAME.json.

    What is heard is kept in the cache folder: a command that stopped goes on where it was, and runs don't hear again.
    Exit code 1: some recordings have no transcript.

    Args:
        dataset: Which data set.
        data_dir: Where it lies, if it is not bundled.
        asr: Who hears, with options and noise, such as whisper:turbo or pocketsphinx@babble:10dB; several one by one.
        out: Write OUT/PARTICIPANT/transcriptions_NAME.json; without it nothing but the rates is shown.
        participant: Only these participants.
        asr_base_url: The endpoint that whisper-api asks.
        noise_dir: Noises of your own, named as in MS-SNSD.
        timeout: Seconds to wait for the endpoint's reply.
        max_retries: How often it is asked again.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    from grounding.asr.dataset import transcribe_dataset
    from grounding.asr.obtaining import Hearing

    how = Hearing(
        base_url=asr_base_url, noise_dir=noise_dir, display=display, timeout_s=timeout, max_retries=max_retries
    )
    return transcribe_dataset(dataset, data_dir, asr, out=out, participants=participant, how=how)
