"""Drawings of products as SVG: flat shapes in two colours on a soft ground, the same text for the same words."""

from __future__ import annotations

from html import escape

from tools.sample_mall.shapes import LABELS, SHAPES

GROUNDS = ("#f6f1e7", "#e9eef2", "#f2e8ea", "#eaf1e6")
SIZE = 400
INK = "#333333"
_EM_SHARE = 0.56  # How wide a letter is on average, of the size of the type.


def draw(words: str, label: str, number: int) -> str:
    """The picture ``number`` of ``SHAPE COLOUR COLOUR``: whole, then nearer, then turned; ``+`` joins several."""
    several = words.split(" + ")
    if len(several) > 1:
        half = "".join(
            f'<g transform="translate({20 + 185 * (place % 2)} {20 + 185 * (place // 2)}) scale(.45)">'
            f"{_shape(one, '')}</g>"
            for place, one in enumerate(several)
        )
        return _page(half, GROUNDS[0])
    shape = _shape(words, label)
    ground = GROUNDS[(sum(words.encode()) + number) % len(GROUNDS)]
    if number == 1:
        shape = f'<g transform="translate(-130 -110) scale(1.7)">{shape}</g>'
    elif number == 2:
        shape = f'<g transform="translate(380 30) scale(-.86 .86)">{_shape(words, "")}</g>'
    return _page(shape, ground)


def _shape(words: str, label: str) -> str:
    name, first, second = words.split()
    colours = {"a": f"#{first}", "b": f"#{second}", "ink": INK}
    return SHAPES[name].format(a=colours["a"], b=colours["b"], t=_label(name, label, colours))


def _label(name: str, words: str, colours: dict[str, str]) -> str:
    if not words or name not in LABELS:
        return ""
    x, y, room, colour = LABELS[name]
    size = min(24, room / (len(words) * _EM_SHARE))
    return (
        f'<text x="{x}" y="{y}" font-family="Georgia, Liberation Serif, serif" font-size="{size:.1f}" '
        f'text-anchor="middle" fill="{colours[colour]}">{escape(words)}</text>'
    )


def _page(content: str, ground: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}">'
        f'<rect width="{SIZE}" height="{SIZE}" fill="{ground}"/>'
        f'<ellipse cx="200" cy="352" rx="130" ry="14" fill="#00000014"/>{content}</svg>\n'
    )
