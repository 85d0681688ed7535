"""The parts of a page as HTML. Every text goes through ``text``; drawings alone are put in as they are."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.records import Point, Region
from grounding.training.page.changes import draw_changes
from grounding.training.page.content import (
    Chart,
    Fact,
    FoldCurves,
    Generation,
    Picture,
    SampleGroup,
    SampleSet,
    StagePart,
    Table,
    TableRow,
    TrainingPage,
)
from grounding.training.page.escape import text

_KEY = (
    '<p class="legend"><span><svg class="stroke" viewBox="0 0 34 12" aria-hidden="true"><path class="raw train" '
    'd="M1,8L7,3L13,10L20,4L27,9L33,3"/><path class="line train" d="M1,7L33,5"/></svg>train</span>'
    '<span><svg class="stroke" viewBox="0 0 34 12" aria-hidden="true"><path class="line held_out" d="M1,6L33,6"/>'
    '<rect class="dot held_out" x="14" y="3" width="6" height="6"/></svg>held out (never trained on)</span>'
    "<span>Pale: as it was measured. Strong: the mean of the points around, where there are enough.</span></p>"
)


def body(page: TrainingPage) -> str:
    """Everything between header and end of a page."""
    parts = [_header(page), "<main>", _warnings(page.warnings)]
    links, sections = [], []
    for identifier, title, content in _sections(page):
        if content:
            links.append(f'<a href="#{identifier}">{text(title)}</a>')
            sections.append(
                f'<section id="{identifier}" aria-labelledby="h-{identifier}"><h2 id="h-{identifier}">{text(title)}'
                f"</h2>{content}</section>"
            )
    parts.append(f'<nav aria-label="parts of the page">{"".join(links)}</nav>')
    images = "".join(
        f'<image id="{name}" href="{source}" width="1" height="1" preserveAspectRatio="none"/>'
        for name, source in page.images.items()
    )
    if images:
        # Each picture once, however many samples show it.
        parts.append(f'<svg width="0" height="0" class="store" aria-hidden="true"><defs>{images}</defs></svg>')
    return "".join([*parts, *sections, "</main>"])


def _sections(page: TrainingPage) -> list[tuple[str, str, str]]:
    found = [("results", "Results", _results(page)), ("use", "How to use it", facts(page.use, code=True))]
    for number, folds in enumerate(page.folds):
        found.append((f"folds-{number}", f"Stage {number + 1} over the folds: {folds.stage}", _folds(folds)))
    for number, stage in enumerate(page.stages):
        found.append((f"stage-{number}", f"Stage {number + 1}: {stage.name}", _stage(stage)))
    found += [
        ("sides", "What it was trained on", tables(page.split)),
        ("estimate", "Estimate and measurement", tables(page.estimate)),
        ("recipe", "Recipe", f'<pre tabindex="0">{text(page.recipe)}</pre>' if page.recipe else ""),
        ("run", "The run", facts(page.facts)),
    ]
    return found


def _results(page: TrainingPage) -> str:
    drawing = draw_changes(page.spans, unit=page.span_unit)
    if drawing:
        key = (
            '<p class="legend"><span><svg class="stroke" viewBox="0 0 34 12" aria-hidden="true"><path class="reach '
            'before" d="M2,6H32"/><rect class="dot before" x="13" y="2" width="8" height="8"/></svg>before</span>'
            '<span><svg class="stroke" viewBox="0 0 34 12" aria-hidden="true"><path class="reach after" d="M2,6H32"/>'
            '<circle class="dot after" cx="17" cy="6" r="4.6"/></svg>after the training</span>'
            "<span>Bars: 95 % intervals.</span></p>"
        )
        drawing = f'{key}<figure class="changes">{drawing}</figure>'
    return drawing + tables(page.results)


def _folds(found: FoldCurves) -> str:
    key = _KEY.split("<span>Pale")[0]
    return (
        f"{key}<span>Lines: median of {found.runs} folds, each smoothed; bands and bars: from least to greatest "
        f'fold.</span></p><div class="charts">{"".join(map(chart, found.charts))}</div>'
    )


def _header(page: TrainingPage) -> str:
    return (
        f'<header><h1>{text(page.title)}</h1><p id="status">{text(page.status)}</p>'
        f'<p id="lead">{text(page.lead)}</p></header>'
    )


def _warnings(warnings: Sequence[str]) -> str:
    items = "".join(f"<li>{text(one)}</li>" for one in warnings)
    return f'<ul id="warnings" aria-label="warnings">{items}</ul>' if items else ""


def facts(found: Sequence[Fact], *, code: bool = False) -> str:
    """Names and what is said of them."""
    tag = ("<pre>", "</pre>") if code else ("", "")
    rows = "".join(f"<dt>{text(one.name)}</dt><dd>{tag[0]}{text(one.text)}{tag[1]}</dd>" for one in found)
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def tables(found: Sequence[Table]) -> str:
    """Tables one below the other."""
    return "".join(table(one) for one in found)


def table(one: Table) -> str:
    """A table with its title and what is to be said of it."""
    notes = "".join(f'<p class="muted">{text(note)}</p>' for note in one.notes)
    content = f"{rows(one.heads, one.rows, is_text=one.is_text)}{notes}"
    if one.is_folded:
        return f"<details><summary>{text(one.title)}</summary>{content}</details>"
    return (f"<h3>{text(one.title)}</h3>" if one.title else "") + content


def rows(heads: Sequence[str], found: Sequence[TableRow], *, is_text: bool = False) -> str:
    """The table itself, which scrolls in its place where the window is narrow."""
    kind = "" if is_text else ' class="num"'
    head = "".join(f'<th scope="col"{kind if at else ""}>{text(name)}</th>' for at, name in enumerate(heads))
    lines = []
    for row in found:
        name = f'<a href="{text(row.link)}">{text(row.name)}</a>' if row.link else text(row.name)
        cells = "".join(f"<td{kind}>{text(cell)}</td>" for cell in row.cells)
        lines.append(f'<tr{" class=strong" if row.strong else ""}><th scope="row">{name}</th>{cells}</tr>')
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody>'
        "</table></div>"
    )


def _stage(stage: StagePart) -> str:
    said = " \u00b7 ".join([*([stage.stopped] if stage.stopped else []), *_joined(stage.facts)])
    parts = [f'<p class="state"><span class="badge {stage.state}">{text(stage.status)}</span> {text(said)}</p>']
    if stage.charts:
        parts.append(f'{_KEY}<div class="charts">{"".join(map(chart, stage.charts))}</div>')
    else:
        yet = "" if stage.state == "complete" else " yet"
        parts.append(f'<p class="muted">Nothing was measured{yet}.</p>')
    if stage.more:
        parts.append(
            f"<details><summary>{len(stage.more)} other figures of the trainer</summary>"
            f'<div class="charts">{"".join(map(chart, stage.more))}</div></details>'
        )
    parts.append(tables(stage.tables))
    parts += [_samples(one) for one in stage.samples]
    return "".join(parts)


def _joined(found: Sequence[Fact]) -> list[str]:
    return [f"{one.name} {one.text}".strip() for one in found]


def chart(one: Chart) -> str:
    """A drawing with its caption, the place where the script says values, and its table."""
    return (
        f"<figure><figcaption><b>{text(one.title)}</b></figcaption>{one.svg}"
        f'<p class="readout" id="{one.id}-readout" role="status"></p><figcaption><span class="moved">'
        f"{text(one.movement)}</span> {text(one.words)}</figcaption>"
        f"<details><summary>table of {text(one.title)}</summary>{rows(one.heads, one.rows)}</details></figure>"
    )


def _samples(found: SampleSet) -> str:
    name = "examples that are never trained on" if found.kind == "held_out" else "training examples"
    steps = len({group.step for group in found.groups})
    kept = "at 1 step" if found.all_steps == 1 else f"at {found.all_steps:,} steps"
    said = found.words or (
        f"{found.lines:,} generations were kept, {kept}; these are of {steps} of them. samples.jsonl has all."
    )
    return (
        f'<h3 class="part">{text(found.title or f"What the model wrote: {name}")}</h3><p class="muted">{text(said)}</p>'
        f'<div class="samples">{"".join(map(_group, found.groups))}</div>'
    )


def _group(group: SampleGroup) -> str:
    asked = f'<p class="said">{text(group.asked)}</p>' if group.size is not None else ""
    if group.size is None and group.asked:
        asked = f"<details><summary>prompt</summary><pre>{text(group.asked)}</pre></details>"
    gold = f'<p class="muted">wanted</p><pre>{text(group.gold)}</pre>' if group.gold else ""
    left = f'<p class="muted">{group.left_out:,} more generations of it</p>' if group.left_out else ""
    step = "" if group.step is None else f"<b>step {group.step:,}</b> "
    items = "".join(_generation(one, is_click=group.size is not None) for one in group.generations)
    return (
        f'<article class="sample"><p class="top">{step}<span>{text(group.example)}</span></p>'
        f'{asked}{_pictures(group)}{gold}<ol class="written">{items}</ol>{left}</article>'
    )


def _generation(one: Generation, *, is_click: bool) -> str:
    parts = []
    if one.is_right is not None:
        outcome = "hit" if one.is_right else "miss"
        parts.append(f'<span class="badge {outcome}">{outcome}</span>')
    elif is_click and one.point is None:
        parts.append('<span class="badge unparsed">no point</span>')
    if one.reward:
        parts.append(f"<span>reward <b>{text(one.reward)}</b></span>")
    if one.advantage:
        parts.append(f"<span>advantage {text(one.advantage)}</span>")
    if one.terms:
        parts.append(f"<span>{text(one.terms)}</span>")
    written = text(one.text) or '<span class="muted">nothing</span>'
    return f'<li><p class="top">{" ".join(parts)}</p><pre>{written}</pre></li>'


def _pictures(group: SampleGroup) -> str:
    shown = [one for one in (group.whole, group.close) if one is not None]
    points = [(number, one) for number, one in enumerate(group.generations, start=1) if one.point is not None]
    drawn = "".join(_picture(one, group.region, points, group.example) for one in shown)
    return f'<div class="shots">{drawn}</div>' if drawn else ""


def _picture(picture: Picture, region: Region | None, points: Sequence[tuple[int, Generation]], example: str) -> str:
    """A screenshot with the gold shapes and the numbered answers, in pixels of the original."""
    unit = picture.width / 100
    inside = [
        (number, one, at)
        for number, one in points
        if one.point is not None and (at := _seen(one.point, picture)) is not None
    ]
    marks = "".join(_mark(number, one, at, unit) for number, one, at in inside)
    label = text(f"screenshot of {example} with {len(inside)} answers")
    view = f"{picture.left:g} {picture.top:g} {picture.width:g} {picture.height:g}"
    return (
        f'<svg class="shot" viewBox="{view}" role="img" aria-label="{label}"><use href="#{picture.id}" '
        f'transform="translate({picture.left:g} {picture.top:g}) scale({picture.width:g} {picture.height:g})"/>'
        f"{_gold(region)}{marks}</svg>"
    )


def _seen(point: Point, picture: Picture) -> Point | None:
    """Where an answer is drawn: one beyond the screenshot at its edge; None where the picture is of another part."""
    x = min(max(point.x_px, picture.left), picture.left + picture.width)
    y = min(max(point.y_px, picture.top), picture.top + picture.height)
    is_there = picture.is_whole or (x, y) == (point.x_px, point.y_px)
    return Point(x_px=x, y_px=y) if is_there else None


def _gold(region: Region | None) -> str:
    if region is None:
        return ""
    parts = []
    for box in region.boxes:
        at = (
            f'x="{box.left_px:g}" y="{box.top_px:g}" width="{box.right_px - box.left_px:g}" '
            f'height="{box.bottom_px - box.top_px:g}"'
        )
        parts.append(f'<rect class="halo" {at}/><rect class="gold" {at}/>')
    for polygon in region.polygons:
        at = " ".join(f"{corner.x_px:g},{corner.y_px:g}" for corner in polygon.points)
        parts.append(f'<polygon class="halo" points="{at}"/><polygon class="gold" points="{at}"/>')
    return "".join(parts)


def _mark(number: int, one: Generation, at: Point, unit: float) -> str:
    kind = "right" if one.is_right else "wrong"
    return (
        f'<circle class="answer {kind}" cx="{at.x_px:.1f}" cy="{at.y_px:.1f}" r="{1.1 * unit:.2f}"/>'
        f'<text class="number" x="{at.x_px + 1.6 * unit:.1f}" y="{at.y_px - 1.2 * unit:.1f}" '
        f'font-size="{4 * unit:.2f}">{number}</text>'
    )
