"""The sample's own README and the note of what made it."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import PIL
from record import Step, write_json

KINDS = {
    "named": "name visible text", "ordinal": "ordinals", "earlier": "refer to an earlier step",
    "compare": "compare (cheaper, best rated ...)", "place": "relative places", "icon": "icon-only targets",
    "chrome": "the browser's own controls", "several": "several right boxes", "change": "changes of mind",
    "implied": "leave the element to common sense",
}  # fmt: skip


def write_versions(path: Path, chromium: str) -> None:
    """Record the programs that decide the pixels."""
    fonts = {}
    if shutil.which("dpkg-query"):
        names = ["fonts-noto-core", "fonts-liberation", "fonts-dejavu-core", "xvfb"]
        ask = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *names], capture_output=True, text=True)
        fonts = dict(line.split(" ", 1) for line in ask.stdout.splitlines() if line.split(" ", 1)[1:] not in ([], [""]))
    write_json(path, {"chromium": chromium, "pillow": PIL.__version__, "packages": fonts})


def instructions(steps: list[Step]) -> list[list[Step]]:
    """Runs of steps that belong to one instruction."""
    runs: list[list[Step]] = []
    for step in steps:
        if runs and runs[-1][-1].instruction == step.instruction and runs[-1][-1].task == step.task:
            runs[-1].append(step)
        else:
            runs.append([step])
    return runs


def write_readme(path: Path, people: dict[str, list[Step]]) -> None:
    """Say what the folder is, with its counts."""
    rows, every = [], [step for steps in people.values() for step in steps]
    runs = [run for steps in people.values() for run in instructions(steps)]
    for name, steps in people.items():
        scored = sum(step.boxes is not None for step in steps)
        tasks = len({step.task for step in steps})
        rows.append(f"| {name} | {tasks} | {len(instructions(steps))} | {scored} | {len(steps) - scored} |")
    kinds = Counter(kind for step in every for kind in step.kinds)
    lines = "\n".join(f"- {kinds[key]} {text}" for key, text in KINDS.items())
    several = sum(len(run) > 1 for run in runs)
    path.write_text(
        _README.format(rows="\n".join(rows), kinds=lines, runs=len(runs), several=several), encoding="utf-8"
    )


_README = """# The bundled sample

A small data set in the layout of RealWebAssist, made for this toolkit, so that everything can be tried
without downloading anything. It is synthetic: seven invented web sites (shopping, travel, food,
entertainment) are served on loopback, a real Chromium under a virtual screen is driven through them with
real mouse and keyboard input, and the whole screen is photographed before every step. The instructions
were written for it in the manner of people who talk to a helper. Results on it are not results on
RealWebAssist.

    <p>/images/<n>.png                        n runs over all steps of participant p
    <p>/questions_with_task_updated.json      task, instruction, action, final_image, bounding_box
    <p>/extracted_actions_gt.json             what was done at each step (the history)
    plans/reference.json                      one explicit instruction per scored step
    <p>/audio/<n>.flac                        each instruction spoken; n is its first screenshot's
    <p>/transcriptions_GT.json                what is said in each recording, and over which screenshots
    <p>/transcriptions_pocketsphinx*.json     what the built-in recogniser hears: clean, babble:10dB, typing:0dB
    made-with.json, speech-made-with.json     the programs that decide the pixels and the sound
    heard-with.json                           the recogniser and the noises behind what was heard

`bounding_box` is null (nothing to click: typing, scrolling, reading, waiting), one box, or a list of boxes
of which any is right. Boxes are whole pixels; page elements are measured in the page, the browser's own
buttons and tabs are read from the browser. Task labels are distinct within a participant; one label occurs
in two participants, as real data may have it.

**`plans/reference.json` is written by the sample's generator**, from the same script that clicks. It is no
model's output: it shows what perfect planning would give, and serves to test grounders apart from planners.

| participant | tasks | instructions | scored steps | other steps |
|---|---|---|---|---|
{rows}

{runs} instructions, {several} of them with several steps. Scored steps, by what their wording asks for (a
step can count more than once):

{kinds}

Screens: 1 is 1280 x 720, 2 is 1920 x 1080, 3 is 2560 x 1440.

The speech is synthetic, too (espeak-ng; 16 kHz, mono): one voice for each participant, with another speed, pitch
and level from clip to clip. Recognisers find it harder than people's speech: compare word error rates on it with
each other, not with those on real recordings.

Remade with `python tools/sample_web/build.py` and, after that, `python tools/sample_speech/build.py` and
`python tools/sample_speech/hear.py` (see the README.md beside each for what it needs).
Licence: MIT, like the project. All shops, products, people and pictures are invented.
"""
