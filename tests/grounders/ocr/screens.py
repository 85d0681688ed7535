"""Screens made by hand: lines of text at places, without any picture."""

from __future__ import annotations

from grounding.grounders.ocr.screen import Screen, TextLine, TextWord
from grounding.records import Box, Size

SIZE = Size(width=1280, height=720)


def line(text: str, left: float, top: float, letter_px: float = 8.0, height_px: float = 12.0) -> TextLine:
    """A line whose letters are all equally wide."""
    words = []
    at = left
    for word in text.split(" "):
        words.append(TextWord(text=word, left_px=at, right_px=at + len(word) * letter_px))
        at += (len(word) + 1) * letter_px
    box = Box(left_px=left, top_px=top, right_px=left + len(text) * letter_px, bottom_px=top + height_px)
    return TextLine(text=text, box=box, confidence=0.99, words=tuple(word for word in words if word.text))


def screen(*lines: TextLine, size: Size = SIZE) -> Screen:
    return Screen(size=size, model_size=size, lines=lines)


def shop() -> Screen:
    """A browser with three tabs over a shop: a search field, a row of three cards, a second row, links at the end."""
    names = (
        ("Blue Cotton Shirt", "4.1 (120)", "$24.99"),
        ("Red Wool Sweater", "4.8 (75)", "$59.00"),
        ("Green Rain Jacket", "3.9 (410)", "$89.50"),
        ("Striped Summer Shirt", "4.5 (18)", "$19.99"),
        ("Leather Belt", "4.6 (950)", "$35.00"),
        ("Straw Hat", "4.0 (9)", "$15.75"),
    )
    lines = [
        line("Shop results", 20, 14),
        line("X", 190, 15, height_px=8),
        line("Mail inbox", 230, 14),
        line("X", 400, 15, height_px=8),
        line("News today", 440, 14),
        line("X", 610, 15, height_px=8),
        line("+", 650, 15, height_px=8),
        line("shop.example/search?q=shirt", 120, 56),
        line("Search products", 126, 100),
        line("Sign in", 1080, 100),
        line("Cart", 1210, 100),
        line("Filters", 20, 160, letter_px=9),
        line("Under $25", 20, 190),
        line("Over $50", 20, 216),
    ]
    for index, (name, rating, price) in enumerate(names):
        left, top = 250 + 260 * (index % 3), 320 + 200 * (index // 3)
        lines += [
            line(name, left, top, letter_px=9),
            line(rating, left, top + 24, letter_px=7),
            line(price, left, top + 44, letter_px=10, height_px=16),
            line("Add to cart", left + 14, top + 90, letter_px=7),
        ]
    lines += [line("About \u00b7 Terms \u00b7 Contact", 30, 700, letter_px=6)]
    return screen(*lines)
