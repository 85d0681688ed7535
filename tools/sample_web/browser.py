"""One virtual screen with one Chromium window that fills it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from PIL import Image, ImageGrab
from server import host_names

_FLAGS = (
    "--no-sandbox", "--test-type", "--no-first-run", "--no-default-browser-check", "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu",
    "--disable-lcd-text", "--disable-smooth-scrolling", "--disable-default-apps", "--password-store=basic",
    "--disable-features=Translate,MediaRouter,OptimizationHints", "--remote-allow-origins=*", "--lang=en-US",
    "--start-maximized", "--force-prefers-reduced-motion", "--hide-crash-restore-bubble", "--mute-audio",
    "--disable-partial-raster",
)  # fmt: skip


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class BrowserError(RuntimeError):
    """The screen or the browser did not come up."""


class Browser:
    """Xvfb, openbox and Chromium of one participant, started from nothing and thrown away after."""

    def __init__(self, width: int, height: int, scale: float, site_port: int, start_url: str) -> None:
        self.width, self.height, self.scale = width, height, scale
        self._folder = tempfile.TemporaryDirectory(prefix="sample-web-", ignore_cleanup_errors=True)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.display = self._start_screen()
        self._env = dict(os.environ, DISPLAY=self.display, DBUS_SESSION_BUS_ADDRESS="disabled:", LC_ALL="C.UTF-8")
        # Full hinting and grey smoothing, whatever the desktop's own choice is.
        self._env["FONTCONFIG_FILE"] = str(Path(__file__).parent / "fonts.conf")
        self._env.update(HOME=self._folder.name, XDG_CONFIG_HOME=self._folder.name, TZ="UTC")
        self._spawn("openbox", "--config-file", str(Path(__file__).parent / "openbox.xml"))
        settings = Path(self._folder.name, "profile", "Default", "Preferences")
        settings.parent.mkdir(parents=True)
        # The new tab page would list visited sites at moments of its own choosing.
        settings.write_text(json.dumps({"history": {"saving_disabled": True}}))
        self.debug_port, self.ui_port = _free_port(), _free_port()
        origins = ",".join(f"http://{name}" for name in host_names())
        self._spawn(
            "chromium", *_FLAGS, f"--force-device-scale-factor={scale}", f"--user-data-dir={self._folder.name}/profile",
            f"--remote-debugging-port={self.debug_port}", f"--enable-ui-devtools={self.ui_port}",
            f"--host-resolver-rules=MAP *.example 127.0.0.1:{site_port}",
            f"--unsafely-treat-insecure-origin-as-secure={origins}", start_url,
        )  # fmt: skip
        try:
            self._wait_for_page()
        except BrowserError:
            self.close()
            raise

    def _spawn(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        options.setdefault("env", getattr(self, "_env", None))
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **options)
        self._processes.append(process)
        return process

    def _start_screen(self) -> str:
        read, write = os.pipe()
        screen = f"{self.width}x{self.height}x24"
        self._spawn("Xvfb", "-displayfd", str(write), "-screen", "0", screen, "-nolisten", "tcp", pass_fds=(write,))
        os.close(write)
        with os.fdopen(read) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise BrowserError("Xvfb did not start")
        return f":{number}"

    def _wait_for_page(self) -> None:
        for _ in range(120):
            time.sleep(0.25)
            try:
                if self.targets():
                    return
            except OSError:
                continue
        raise BrowserError("Chromium did not open its debugging port")

    def targets(self) -> list[dict[str, Any]]:
        """The open pages (tabs), in no promised order."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.debug_port}/json", timeout=5) as answer:
            return [item for item in json.load(answer) if item["type"] == "page"]

    def version(self) -> str:
        """The browser's own product string."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.debug_port}/json/version", timeout=5) as answer:
            return str(json.load(answer)["Browser"])

    def grab(self) -> Image.Image:
        """The whole screen as X holds it, without the mouse pointer."""
        return ImageGrab.grab(xdisplay=self.display).convert("RGB")

    def repaint(self) -> None:
        """Hide and show the window, so that all of it is painted anew."""
        search = ["xdotool", "search", "--onlyvisible", "--class", "chromium"]
        answer = subprocess.run(search, env=self._env, check=True, capture_output=True, text=True)
        window = answer.stdout.split()[0]
        self.xdotool("windowminimize", "--sync", window)
        self.xdotool("windowactivate", "--sync", window)

    def xdotool(self, *arguments: object) -> None:
        """Send real mouse or keyboard input."""
        command = ["xdotool", *map(str, arguments)]
        subprocess.run(command, env=self._env, check=True, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        """Stop all that was started here."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        self._folder.cleanup()
