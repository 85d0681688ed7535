"""Pictures for a person who checks the gold boxes."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont
from record import Step


def overlay(picture: Image.Image, step: Step, number: int) -> Image.Image:
    """The screenshot with its gold boxes and, below it, what was said."""
    lines = [f'{number}. [{step.task}] "{step.instruction}" ({step.action})', step.plan or step.done]
    sheet = Image.new("RGB", (picture.width, picture.height + 56), "white")
    sheet.paste(picture)
    pen = ImageDraw.Draw(sheet)
    for box in step.boxes or []:
        x, y = box["x"], box["y"]
        pen.rectangle((x - 2, y - 2, x + box["width"] + 1, y + box["height"] + 1), outline=(255, 0, 200), width=2)
    font = ImageFont.load_default(size=18)
    for row, line in enumerate(lines):
        pen.text((8, picture.height + 4 + row * 26), line, fill="black", font=font)
    return sheet
