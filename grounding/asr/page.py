"""An ablation as one HTML file: tables, pictures, and every step whose outcome changed, with the sound of it.

The file needs no script and no network. Whatever a data set or a recogniser says stands in it as text.
"""

from __future__ import annotations

import base64
import difflib
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from grounding.asr.ablation import Ablation, Cause, Changed, Row
from grounding.asr.table import COLUMNS, lines, published_rows, slope_text, words_text
from grounding.report.matrix import estimate_text

MOST_STEPS = 400
"""Changed steps that a page shows of one source of transcripts; the JSON file beside has them all."""

MOST_TEXT = 600
_MOST_CONFUSIONS = 15
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self' file:; base-uri 'none'; "
    "form-action 'none'"
)
_CAUSES: dict[Cause, str] = {
    "words": "words heard wrong",
    "spelling": "all words right, written in another way",
    "unheard": "no transcript",
    "before": "the very same words: the history or chance",
}
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --muted: #666; --line: #d9d9d9; --paper: #fff; --good: #0072b2;
  --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --muted: #a0a0a0; --line: #444; --paper: #161616;
  --good: #6db7e8; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 92rem; padding: 1rem 1.2rem 4rem; }
h1 { font-size: 1.35rem; margin: 0.4rem 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.8rem 0.25rem 0; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
code { font: 0.92em ui-monospace, monospace; }
.hit { color: var(--good); }
.miss, .unparsed, .missing, .error { color: var(--bad); }
.muted { color: var(--muted); }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; }
.pictures figure { margin: 0; flex: 1 1 22rem; max-width: 30rem; }
.pictures img { width: 100%; background: #fff; border: 1px solid var(--line); }
details { border-top: 1px solid var(--line); padding: 0.5rem 0; }
summary { cursor: pointer; font-weight: 600; }
.steps { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 0.8rem;
  margin-top: 0.8rem; }
.step { border: 1px solid var(--line); border-left: 4px solid var(--bad); padding: 0.6rem 0.8rem;
  overflow-wrap: anywhere; }
.step.won { border-left-color: var(--good); }
.step p { margin: 0.2rem 0; }
.step audio { width: 100%; height: 2.2rem; margin-top: 0.4rem; }
.step .role { display: inline-block; width: 3.6rem; color: var(--muted); }
del { color: var(--bad); text-decoration: line-through; }
ins { color: var(--good); text-decoration: none; font-weight: 600; }
"""


def render_page(
    ablation: Ablation,
    *,
    pictures: Mapping[str, bytes],
    audio: Mapping[tuple[str, str], str],
    folder: Path,
    published: bool = False,
    notes: Sequence[str] = (),
) -> str:
    """The page as HTML.

    Args:
        ablation: What to show.
        pictures: SVG files by what they show.
        audio: Relative addresses of recordings as they were heard, by condition and hash of the clip.
        folder: The folder that the page is to lie in; links to run folders are relative to it.
        published: Put the paper's table beside.
        notes: What else is to be said.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">',
        '<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">',
        f"<title>Speech: {_text(ablation.title)}</title><style>{_STYLE}</style></head><body>",
        "<h1>What recognition errors do</h1>",
        f'<p class="muted">{_text(ablation.title)}</p>',
        _table(ablation, folder),
        *(f"<p><b>{_text(name)}</b> {_text(rest)}</p>" for name, rest in map(_parts, lines(ablation))),
        *(f'<p class="muted">{_text(note)}</p>' for note in notes),
        _published() if published else "",
        _pictures(pictures),
        _confusions(ablation),
        _changed(ablation, audio, folder),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _parts(line: str) -> tuple[str, str]:
    name, _, rest = line.partition(" ")
    return name, rest.strip()


def _text(text: object, most: int = MOST_TEXT) -> str:
    said = str(text)
    more = f" … ({len(said) - most:,} more characters)" if len(said) > most else ""
    return html.escape(said[:most] + more)


def _table(ablation: Ablation, folder: Path) -> str:
    differs = ablation.truth is not None
    heads = ["transcript", "WER %", *(f"{heading} %" for _, heading in COLUMNS)]
    heads += [f"Δ {heading}" for _, heading in COLUMNS] + ["won", "lost", "slope"] if differs else []
    body = []
    for row in ablation.rows:
        link = _link(row, folder)
        name = f"<code>{_text(row.condition)}</code>" + (" (partial)" if row.status == "partial" else "")
        cells = [f'<a href="{html.escape(link)}">{name}</a>' if link else name, _text(words_text(row.words))]
        cells += [_text(estimate_text(getattr(row.scores, field))) for field, _ in COLUMNS]
        if differs and row.difference is not None:
            cells += [_text(estimate_text(row.difference.metrics[field], sign="+")) for field, _ in COLUMNS]
            cells += [str(row.difference.won), str(row.difference.lost), _text(slope_text(row.slope))]
        elif differs:
            cells += [""] * 6
        body.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f'<th scope="col">{_text(text)}</th>' for text in heads)
    rule = (
        "<p class='muted'>Values with 95 % intervals; Δ is the difference to the true words in points, paired; won and "
        "lost are steps; slope is points of step accuracy lost for every 10 points of WER.</p>"
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>{rule}'
    )


def _link(row: Row, folder: Path, step_id: str = "") -> str:
    """The address of a run's own page, relative to the folder; "" where there is none beside it."""
    run = Path(row.folder)
    if not row.folder or run.absolute().parent != folder.absolute().parent:
        return ""
    if not (run / "report.html").exists():
        return ""
    return f"../{quote(run.name)}/report.html" + (f"#step={quote(step_id)}" if step_id else "")


def _published() -> str:
    heads = "".join(f"<th>{_text(text)}</th>" for text in ("transcript", "WER", *(name for _, name in COLUMNS)))
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in (row.name, row.words, *row.scores)) + "</tr>"
        for row in published_rows()
    )
    return (
        "<h2>RealWebAssist, Table 4 (GPT-4o + UGround-V1)</h2>"
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _pictures(pictures: Mapping[str, bytes]) -> str:
    if not pictures:
        return ""
    shown = "".join(
        f'<figure><img alt="{_text(words)}" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"></figure>'
        for words, svg in pictures.items()
    )
    return f'<h2>Curves</h2><div class="pictures">{shown}</div>'


def _confusions(ablation: Ablation) -> str:
    parts = []
    for row in ablation.rows:
        if row.words is None or not row.words.confusions:
            continue
        of = row.words.errors
        said = f"{of.substitutions:,} substitutions, {of.deletions:,} deletions, {of.insertions:,} insertions"
        found = "".join(
            f"<tr><td>{_text(one.kind)}</td><td>{_text(one.reference) or '-'}</td><td>{_text(one.heard) or '-'}</td>"
            f"<td>{one.count}</td></tr>"
            for one in row.words.confusions[:_MOST_CONFUSIONS]
        )
        people = "".join(
            f"<tr><td>participant {_text(one.participant)}</td><td></td><td>{one.clips:,} instructions</td>"
            f"<td>{_rate(one.errors.rate_percent)}</td></tr>"
            for one in row.words.participants
        )
        parts.append(
            f"<details><summary><code>{_text(row.condition)}</code> {_text(words_text(row.words))} %: {said}</summary>"
            '<div class="scroll"><table><thead><tr><th>error</th><th>said</th><th>heard</th><th>times</th></tr></thead>'
            f"<tbody>{found}{people}</tbody></table></div></details>"
        )
    return f"<h2>Words</h2>{''.join(parts)}" if parts else ""


def _rate(percent: float | None) -> str:
    return "-" if percent is None else f"{percent:.1f} %"


def _changed(ablation: Ablation, audio: Mapping[tuple[str, str], str], folder: Path) -> str:
    if ablation.truth is None:
        return ""
    parts = ["<h2>Steps whose outcome changed</h2>"] + ([] if ablation.changed else ["<p>None did.</p>"])
    for row in ablation.rows:
        own = [one for one in ablation.changed if one.condition == row.condition]
        if not own:
            continue
        lost = sum(one.is_lost for one in own)
        shown = "".join(_step(one, audio, _link(row, folder, one.step_id)) for one in own[:MOST_STEPS])
        more = f"<p>and {len(own) - MOST_STEPS:,} more in the JSON file beside</p>" if len(own) > MOST_STEPS else ""
        parts.append(
            f"<details open><summary><code>{_text(row.condition)}</code>: {lost} lost, {len(own) - lost} won</summary>"
            f'<div class="steps">{shown}</div>{more}</details>'
        )
    return "".join(parts)


def _step(one: Changed, audio: Mapping[tuple[str, str], str], link: str) -> str:
    name = f'<a href="{html.escape(link)}">step {_text(one.step_id)}</a>' if link else f"step {_text(one.step_id)}"
    said, heard = marked(one.said, one.heard)
    rate = "" if one.word_error_percent is None else f" · WER {one.word_error_percent:.0f} %"
    address = audio.get((one.condition, one.clip_sha256), "")
    player = (
        f'<audio controls preload="none" src="{html.escape(address)}" aria-label="what was heard at step '
        f'{_text(one.step_id)}"></audio>'
        if address
        else '<p class="muted">no recording here</p>'
    )
    return (
        f'<div class="step{"" if one.is_lost else " won"}"><p><b>{name}</b> <span class="muted">participant '
        f"{_text(one.participant)} · {_text(one.task, 80)}</span></p>"
        f'<p><span class="role">said</span>{said}</p><p><span class="role">heard</span>{heard or "-"}</p>'
        f'<p>with the true words <b class="{one.truth}">{one.truth}</b>, as heard '
        f'<b class="{one.outcome}">{one.outcome}</b> '
        f'<span class="muted">· {_text(_CAUSES[one.cause])}{rate}</span></p>{player}</div>'
    )


def marked(said: str, heard: str) -> tuple[str, str]:
    """Both texts as HTML, the words that only one of them has marked.

    >>> marked("open the cart", "open a cart")
    ('open <del>the</del> cart', 'open <ins>a</ins> cart')
    """
    first, second = said[:MOST_TEXT].split(), heard[:MOST_TEXT].split()
    left, right = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(
        None, list(map(_bare, first)), list(map(_bare, second)), autojunk=False
    ).get_opcodes():
        one, other = html.escape(" ".join(first[a:b])), html.escape(" ".join(second[c:d]))
        left += [one if kind == "equal" else f"<del>{one}</del>"] if one else []
        right += [other if kind == "equal" else f"<ins>{other}</ins>"] if other else []
    return " ".join(left), " ".join(right)


def _bare(word: str) -> str:
    return word.strip(".,;:!?\"'()").casefold()
