"""The installed Chromium: where it is, and how it is started so that it goes nowhere but through the guard."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grounding.errors import UserError, install

if TYPE_CHECKING:
    from playwright.async_api import Browser

CHROMIUM_VARIABLE = "GROUNDING_CHROMIUM"
SANDBOX_VARIABLE = "GROUNDING_CHROMIUM_SANDBOX"

# The first two are made for work without a window, and take two thirds of the processor time.
_NAMES = (
    *("chromium-headless-shell", "chrome-headless-shell"),
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
)
# What a browser needs of the environment; keys of providers are not among it.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
_START_S = 60.0
_END_S = 15.0
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
    found = next(filter(None, map(shutil.which, [named] if named else _NAMES)), None)
    if found is None:
        why = f"{CHROMIUM_VARIABLE} is {named!r}" if named else f"no browser was found: looked for {', '.join(_NAMES)}"
        raise UserError(
            f"{why}. Install Chromium (on Debian: apt install chromium-headless-shell) or set {CHROMIUM_VARIABLE} to "
            "the path of a Chromium or Chrome program; none is ever downloaded"
        )
    return found


def check_installed() -> str:
    """Find out early whether pages can be rendered at all; the path of the browser.

    Raises:
        UserError: playwright or a browser is not there.
    """
    if importlib.util.find_spec("playwright") is None:
        raise UserError(f"playwright is not installed: {install('browser')}")
    return find_chromium()


@asynccontextmanager
async def start_chromium(proxy_url: str) -> AsyncIterator[Browser]:
    """A running browser without a window, whose home is a folder that is thrown away.

    Args:
        proxy_url: Where it goes for what belongs to no page.

    Raises:
        UserError: It is not installed, or does not start.
    """
    path = check_installed()
    from playwright.async_api import Error, async_playwright

    with TemporaryDirectory(prefix="grounding-chromium-", ignore_cleanup_errors=True) as home:
        environment: dict[str, str | float | bool] = {
            name: os.environ[name] for name in _ENVIRONMENT if name in os.environ
        }
        environment |= {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "TZ": "UTC"}
        async with async_playwright() as playwright:
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
                # The line of its own command names a sandbox, too, and is no reason.
                lines = [line.strip() for line in str(error).splitlines() if line and "<launching>" not in line]
                telling = [line for line in lines if "FATAL" in line or "sandbox" in line or "error while" in line]
                raise UserError(
                    f"{path} did not start: {' '.join((telling or lines)[:3])[:600]}. Start it by hand to see what is "
                    f"missing, or set {CHROMIUM_VARIABLE} to another. Where this machine doesn't let it shut its pages "
                    f"in, allow user namespaces, or set {SANDBOX_VARIABLE}=off if it holds nothing pages may not see"
                ) from None
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
