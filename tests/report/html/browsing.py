"""Pages in a real browser: from a file, or served by the command that a user gives."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    """The page; at the end nothing may have been said on the console, and nothing asked of any other machine."""
    context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options})
    said: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#detail .said, .runs tbody tr, #runs table")
    yield page
    assert not said, said
    home = address.split("#")[0].rsplit("/", 1)[0] if address.startswith("http") else "file:"
    assert not [url for url in asked if not url.startswith((home, "data:"))]
    context.close()


def eventually(page: Page, condition: str) -> None:
    """Wait until a condition holds. Playwright's own waiting evaluates text in the page, which the page forbids."""
    end = time.monotonic() + 40
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(100)


@contextmanager
def served(*folders: Path) -> Iterator[str]:
    """``grounding view`` over these folders; its address."""
    command = [sys.executable, "-m", "grounding", "view", *map(str, folders)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        try:
            line = running.stdout.readline()
            assert line.startswith("http://127.0.0.1:"), line
            yield line.split()[0]
        finally:
            running.terminate()


def fits_a_phone(browser: Browser, address: str) -> None:
    """Nothing is wider than the screen, whatever the font, and dark is not light."""
    colours = []
    for scheme in ("light", "dark"):
        with opened(browser, address, viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
            for spacing in ("0", "3px"):  # wider than any font
                page.evaluate("spacing => document.body.style.letterSpacing = spacing", spacing)
                assert page.evaluate("document.documentElement.scrollWidth") <= 360
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1]
