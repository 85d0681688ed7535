"""Prints the README's table of grounders, made from their cards; with --write puts it into README.md.

``python tools/model_table.py``; the table stands between ``<!-- models:start -->`` and ``<!-- models:end -->``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grounding.cards import GrounderCard, ImageRule, read_cards
from grounding.catalogue import served

REPOSITORY = Path(__file__).resolve().parent.parent
START, END = "<!-- models:start -->", "<!-- models:end -->"

SPACES = {
    "original_px": "pixels",
    "sent_px": "pixels as sent",
    "resized_px": "pixels as seen",
    "rel_1": "0 to 1",
    "rel_999": "0 to 999",
    "rel_1000": "0 to 1000",
}


def _limit(rule: ImageRule) -> str:
    return "the server's" if rule.max_pixels is None else f"{rule.max_pixels / 1e6:.1f} M"


def model_table(cards: tuple[GrounderCard, ...]) -> str:
    """The table in Markdown, one row a card, without a newline at its end."""
    lines = ["| `--grounder` | model | answers in | prompt | pixels, at most | runs |", "|---|---|---|---|---|---|"]
    for card in cards:
        cells = (f"`{card.name}`", card.model, SPACES[card.answer.space], card.order, _limit(card.image), served(card))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def in_readme(text: str, table: str) -> str:
    """A README with the table between its marks.

    Raises:
        ValueError: the marks are not there, or not in this order.
    """
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"README.md has no block between {START} and {END}")
    return f"{before}{START}\n{table}\n{END}{after}"


def main() -> None:
    """Print the table, or write it."""
    table = model_table(read_cards(REPOSITORY / "models" / "grounders", GrounderCard))
    if sys.argv[1:] == ["--write"]:
        readme = REPOSITORY / "README.md"
        readme.write_text(in_readme(readme.read_text(encoding="utf-8"), table), encoding="utf-8")
    else:
        print(table)


if __name__ == "__main__":
    main()
