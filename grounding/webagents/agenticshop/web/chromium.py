"""The installed Chromium: where it is, and how it is started so that it goes nowhere but through the guard."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grounding.errors import UserError
from grounding.records import Size

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

CHROMIUM_VARIABLE = "GROUNDING_CHROMIUM"
SANDBOX_VARIABLE = "GROUNDING_CHROMIUM_SANDBOX"
VIEWPORT = Size(width=1280, height=720)
"""What the release's collector had, in CSS pixels."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC_PATHS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# What a browser needs of the environment; keys of providers are not among it.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
_START_S = 60.0
_END_S = 15.0
_NO_PLAYWRIGHT = "playwright is not installed: pip install 'grounding[browser]'"
# The last list of features is the one that counts, so Playwright's own have to be named again.
_FEATURES_OFF = (
    "AimEnabled", "AutofillServerCommunication", "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
    "PreconnectToSearch", "Prerender2", "Translate",
)  # fmt: skip
_SWITCHES = (
    # Nothing is looked up but by the guard, and nothing is sent past it: no UDP, so neither QUIC nor WebRTC.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-pings",
    "--allow-browser-signin=false",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    # The same pixels on every machine, as far as its fonts allow.
    "--disable-gpu",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--disable-smooth-scrolling",
    "--mute-audio",
    # A page that fills the memory ends itself only.
    "--js-flags=--max-old-space-size=768",
)


def find_chromium() -> str:
    """The path of the browser: what the variable GROUNDING_CHROMIUM names, else the first one that is installed.

    Raises:
        UserError: There is none, or the variable names no program.
    """
    named = os.environ.get(CHROMIUM_VARIABLE, "")
    if named:
        found = shutil.which(named)
        if found is None:
            raise UserError(f"{CHROMIUM_VARIABLE} is {named!r}: expected the path of a Chromium or Chrome program")
        return found
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    for path in _MAC_PATHS if sys.platform == "darwin" else ():
        if Path(path).is_file():
            return path
    raise UserError(
        f"no browser was found: looked for {', '.join(_NAMES)}. Install Chromium (on Debian: apt install chromium) or "
        f"set {CHROMIUM_VARIABLE} to the path of a Chromium or Chrome program; none is ever downloaded"
    )


def check_installed() -> None:
    """Find out early whether pages can be rendered at all: that playwright and a browser are there.

    Raises:
        UserError: One of them is not.
    """
    if importlib.util.find_spec("playwright") is None:
        raise UserError(_NO_PLAYWRIGHT)
    find_chromium()


@asynccontextmanager
async def open_playwright() -> AsyncIterator[Playwright]:
    """The program that steers the browser.

    Raises:
        UserError: It is not installed.
    """
    try:
        from playwright.async_api import async_playwright
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "playwright":
            raise
        raise UserError(_NO_PLAYWRIGHT) from None
    async with async_playwright() as playwright:
        yield playwright


@asynccontextmanager
async def start_chromium(playwright: Playwright, path: str, proxy_url: str) -> AsyncIterator[Browser]:
    """A running browser without a window, whose home is a folder that is thrown away.

    Args:
        playwright: What steers it.
        path: The browser.
        proxy_url: Where it goes for what belongs to no page.

    Raises:
        UserError: It does not start.
    """
    from playwright.async_api import Error

    with TemporaryDirectory(prefix="grounding-chromium-", ignore_cleanup_errors=True) as home:
        environment: dict[str, str | float | bool] = {
            name: os.environ[name] for name in _ENVIRONMENT if name in os.environ
        }
        environment |= {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "TZ": "UTC"}
        try:
            browser = await playwright.chromium.launch(
                executable_path=path,
                args=[*_SWITCHES],
                ignore_default_args=["--disable-popup-blocking"],
                chromium_sandbox=_sandboxed(),
                env=environment,
                downloads_path=home,
                proxy={"server": proxy_url, "bypass": "<-loopback>"},
                # Ctrl-C is for the program to see: it ends what it was at, and then the browser.
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=_START_S * 1000,
            )
        except Error as error:
            raise UserError(_why_not(path, str(error))) from None
        try:
            yield browser
        finally:
            # One that hangs is killed with what steers it.
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(_END_S):
                    await browser.close()


def _sandboxed() -> bool:
    """Whether the browser shuts its pages in. It can't where it runs as root, as in most containers."""
    if os.environ.get(SANDBOX_VARIABLE, "").lower() in ("off", "0", "false", "no"):
        return False
    return not hasattr(os, "geteuid") or os.geteuid() != 0


def _why_not(path: str, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "FATAL" in line or "sandbox" in line.lower() or "error while loading" in line]
    advice = f"start it by hand to see what is missing, or set {CHROMIUM_VARIABLE} to another"
    if any("sandbox" in line.lower() for line in telling):
        advice = (
            "this machine does not let it shut its pages in. Allow user namespaces, or set "
            f"{SANDBOX_VARIABLE}=off where the machine holds nothing that pages may not see"
        )
    return f"{path} did not start: {' '.join((telling or lines)[:3])[:600]}. {advice[0].upper()}{advice[1:]}"
