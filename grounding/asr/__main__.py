"""``python -m grounding.asr``: what recognition errors do to an agent, by one command; the same of finished runs."""

import sys

from cyclopts import App, Parameter

from grounding import __version__
from grounding.asr.commands import table_command

# What is compared where nothing is named: everything that it needs comes with the package.
DEFAULT_CONDITIONS = ("truth", "pocketsphinx", "pocketsphinx@babble:10dB", "pocketsphinx@typing:0dB")
_HELP = """What recognition errors do to an agent: the shape of RealWebAssist's Table 4.

Without the command below this is `grounding sweep` over sources of transcripts: every option of that command is taken,
and without `--transcript` it compares the true words with what pocketsphinx hears, clean and in noise.

A source is `truth`; a recogniser, `pocketsphinx`, `whisper` (large-v3), `whisper:turbo`, `whisper:FILE.pt` or
`whisper-api:MODEL`, with options (`whisper:turbo,language=en,beam_size=5`) and noise (`@babble:10dB`, `@typing:0dB`,
`@babble:5dB:seed=1` for another draw); recorded transcripts, `file:transcriptions_Wturbo.json`, another questions file
among them. Built-in noises are babble, typing, white and pink; `--noise-dir` adds a folder of MS-SNSD's.

An instruction without a transcript (no recording, a broken file, nothing heard) is not asked about and counts as wrong.
"""

_EXAMPLES = """
Examples:

```
# The sample, on a fresh machine
python -m grounding.asr

# Whisper, clean and in a crowd; your planner and grounder
python -m grounding.asr --transcript truth whisper whisper@babble:5dB \\
    --dataset realwebassist --data-dir DATA \\
    --planner o3 --grounder gta1 --base-url http://127.0.0.1:8000/v1

# A curve over the level of the noise
python -m grounding.asr --transcript truth pocketsphinx \\
    pocketsphinx@babble:{-5,0,5,10,15,20}dB

# Finished runs side by side
python -m grounding.asr table results/RUN_TRUTH results/RUN_HEARD
```
"""

app = App(
    name="python -m grounding.asr",
    help=_HELP,
    help_epilogue=_EXAMPLES,
    version=__version__,
    result_action="return_value",
    exit_on_error=False,
    print_error=True,
    help_on_error=False,
    suppress_keyboard_interrupt=False,
    help_format="plaintext",
    default_parameter=Parameter(show_env_var=False),
)
app.command(table_command, name="table")


def main() -> None:
    from grounding.cli import run

    arguments = sys.argv[1:]
    if arguments and (arguments[0] in ("--help", "-h", "--version") or not arguments[0].startswith("-")):
        run(arguments, app)
    else:
        run(sweep_arguments(arguments))


def sweep_arguments(arguments: list[str]) -> list[str]:
    """The arguments of ``grounding sweep``; the usual sources where none is named."""
    named = any(word.partition("=")[0] == "--transcript" for word in arguments)
    return ["sweep", *arguments, *(() if named else ("--transcript", *DEFAULT_CONDITIONS))]


if __name__ == "__main__":
    main()
