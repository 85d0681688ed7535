"""Puts tables and measured figures into README.md, docs/ and datasets/README.md, between their markers.

python tools/update_docs.py models datasets                                # what the cards say
python tools/update_docs.py table scores bench matrix dryrun mall speech   # what commands print; half an hour for all
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from grounding.cards import GrounderCard, ImageRule, read_cards
from grounding.cli.catalogue import served
from grounding.data import DatasetCard, dataset_cards

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "datasets" / "README.md", *sorted(PICTURES.glob("*.md")))
REFERENCE = ROOT / "datasets" / "sample-web" / "plans" / "reference.json"
METRICS = ("step_accuracy", "instruction_accuracy", "average_progress", "task_success")


SPACES = {
    "original_px": "pixels",
    "sent_px": "pixels as sent",
    "resized_px": "pixels as seen",
    "rel_1": "0 to 1",
    "rel_999": "0 to 999",
    "rel_1000": "0 to 1000",
}


def _limit(rule: ImageRule) -> str:
    most = (rule.first and rule.first.max_pixels) or (rule.fit and rule.fit.max_patches * rule.fit.patch_px**2)
    most = most or (rule.canvas and rule.canvas[0] * rule.canvas[1]) or rule.max_pixels
    return "the server's" if most is None else f"{most / 1e6:.1f} M"


def model_table(cards: tuple[GrounderCard, ...]) -> str:
    """The table in Markdown, one row a card, without a newline at its end."""
    heads = ("`--grounder`", "model", "answers in", "prompt", "pixels, at most", "runs", "verified")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|---|"]
    for card in cards:
        asked = (SPACES[card.answer.space], card.order, _limit(card.image), served(card), card.verified or "")
        cells = (f"`{card.name}`", card.model, *asked)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def dataset_table(cards: Mapping[str, DatasetCard]) -> str:
    """What can be run, in Markdown, one row a card."""
    lines = ["| `--dataset` | what | size | boxes | groups | licence |", "|---|---|---|---|---|---|"]
    for card in cards.values():
        where = (
            "comes with the package"
            if card.path
            else f"[source]({card.source})"
            if "://" in card.source
            else card.source
        )
        cells = (
            f"`{card.name}`",
            f"{card.title} ({where})",
            _size(card),
            card.boxes or "",
            ", ".join(card.grouping),
            card.licence.partition(";")[0],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def published_table(cards: Mapping[str, DatasetCard], grounders: Sequence[GrounderCard]) -> str:
    """Per cent right that others state for the grounders with a card, in Markdown, with who states it."""
    known = {card.benchmark: card.name for card in cards.values() if card.benchmark}
    lines = ["| `--dataset` | `--grounder` | stated | by |", "|---|---|---|---|"]
    for benchmark, name in known.items():
        found = [
            (score.value, grounder.name, score.source)
            for grounder in grounders
            for score in grounder.published
            if score.benchmark == benchmark
        ]
        lines += [
            f"| `{name}` | `{grounder}` | {value:g} | {source} |" for value, grounder, source in sorted(found)[::-1]
        ]
    return "\n".join(lines)


def _size(card: DatasetCard) -> str:
    expected = card.expected
    counts = [(expected.tasks, "tasks"), (expected.steps, "steps"), (expected.absent_steps, "without a target")]
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)


def models() -> str:
    """The table of grounders, from their cards."""
    return model_table(read_cards(ROOT / "models" / "grounders", GrounderCard))


def datasets() -> str:
    """The table of data sets, and what is published on them."""
    known, grounders = dataset_cards(), read_cards(ROOT / "models" / "grounders", GrounderCard)
    return f"{dataset_table(known)}\n\n{published_table(known, grounders)}"


def evaluate(*options: str) -> str:
    """Standard output of one evaluation into a folder of its own."""
    with tempfile.TemporaryDirectory() as logs:
        command = [sys.executable, "-m", "grounding.eval", "--display", "none", "--log-dir", logs, *options]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return output.replace(logs, "results")


def table() -> str:
    """What the first command prints."""
    return f"```\n{evaluate().rstrip()}\n```"


def scores() -> str:
    """Every built-in grounder, with the spoken words and with the sample's reference plans."""
    lines = [
        "| grounder | instructions | step accuracy | instruction accuracy | progress | task success |",
        "|---|---|---|---|---|---|",
    ]
    for grounder in ("random", "center", "ocr", "oracle"):
        for words, plans in (("as spoken", ()), ("explicit", ("--plans", str(REFERENCE)))):
            if plans and grounder != "ocr":
                continue
            summary = json.loads(evaluate("--grounder", grounder, "--json", *plans))
            cells = [_cell(summary["scores"]["paper"][metric]) for metric in METRICS]
            lines.append(f"| `{grounder}` | {words if grounder == 'ocr' else 'not used'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(estimate: dict[str, float]) -> str:
    interval = "" if estimate["low"] is None else f" [{estimate['low']:.1f}, {estimate['high']:.1f}]"
    return f"{estimate['value']:.1f}{interval}"


def bench() -> str:
    """The benchmark's table at its full size, and memory at ten times the steps."""
    harness = [sys.executable, str(ROOT / "tools" / "bench" / "harness.py")]
    full = subprocess.run([*harness, "--repeats", "3"], check=True, capture_output=True, text=True).stdout
    ten = [*harness, "--steps", "17140", "--latency", "0"]
    more = subprocess.run(ten, check=True, capture_output=True, text=True).stdout
    return f"```\n{full.rstrip()}\n\n{more.rstrip()}\n```"


def matrix() -> str:
    """The sweep that the README names: its table here, its plot as a picture beside."""
    with tempfile.TemporaryDirectory() as logs:
        command = [sys.executable, "-m", "grounding", "sweep", "--plans", "none", str(REFERENCE.relative_to(ROOT))]
        command += ["--display", "none", "--log-dir", logs]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        (drawn,) = Path(logs).glob("sweep_*/sweep.png")
        PICTURES.mkdir(exist_ok=True)
        shutil.copy(drawn, PICTURES / "sweep-plans.png")
        return f"```\n{output.replace(logs, 'results').rstrip()}\n```"


def dryrun() -> str:
    """What a planner would cost on the sample, with nothing paid for before."""
    return f"```\n{evaluate('--planner', 'gpt-4o', '--dry-run', '--no-plan-store').rstrip()}\n```"


def mall() -> str:
    """What the offline agent finds in the sample's shops, and the offline reference says of it."""
    lines = evaluate("--dataset", "sample-mall", "--no-report").splitlines()
    return "\n".join(
        ["```", *(line.rstrip() for line in lines if not line.startswith(("signature", "run folder"))), "```"]
    )


def speech() -> str:
    """What recognition errors do to the offline grounder: the table here, the curve as a picture."""
    heard = ["truth", "pocketsphinx"]
    with tempfile.TemporaryDirectory() as logs:
        output = _sweep(logs, [*heard, "pocketsphinx@babble:10dB", "pocketsphinx@typing:0dB"])
    with tempfile.TemporaryDirectory() as logs:
        # One person's recordings: noise makes this recogniser several times slower.
        levels = [f"pocketsphinx@babble:{level}dB" for level in range(20, -10, -5)]
        _sweep(logs, [*heard, *levels], "--participant", "3")
        (drawn,) = Path(logs).glob("sweep_*/speech-snr.png")
        shutil.copy(drawn, PICTURES / "speech-snr.png")
    return f"```\n{output.rstrip()}\n```"


def _sweep(logs: str, transcripts: list[str], *more: str) -> str:
    command = [sys.executable, "-m", "grounding", "sweep", "--display", "none", "--log-dir", logs]
    command += ["--transcript", *transcripts, *more]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return output.replace(logs, "results")


def written(text: str, name: str, content: str) -> str:
    """A page with a block between its markers; as it was where it has none of this name."""
    pattern = re.compile(rf"(<!-- {name}:start -->\n).*?(\n<!-- {name}:end -->)", re.DOTALL)
    return pattern.sub(lambda found: found[1] + content + found[2], text)


def main() -> None:
    """Make the named blocks anew, wherever they stand."""
    blocks = {each.__name__: each for each in (models, datasets, table, scores, bench, matrix, dryrun, mall, speech)}
    for name in sys.argv[1:] or list(blocks):
        content = blocks[name]()
        for page in PAGES:
            page.write_text(written(page.read_text(encoding="utf-8"), name, content), encoding="utf-8")


if __name__ == "__main__":
    main()
