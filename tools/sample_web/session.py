"""A recorded session: every step is photographed first and then really done."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from browser import Browser
from devtools import DevTools, DevToolsError
from effects import Effects
from frame import FrameReader
from geometry import Rect
from PIL import Image, ImageChops
from record import Recorder, Step
from targets import element_box, frame_box

_STATE = "document.fonts.ready.then(() => [document.readyState, document.visibilityState])"
_PAUSE = 0.12


class SessionError(RuntimeError):
    """The browser did not do what the script said."""


@dataclass
class Tab:
    """One open tab, in the order of the tab strip."""

    key: str
    page: DevTools


class Session:
    """What the scripts talk to: say something, click, type, scroll."""

    def __init__(self, browser: Browser, recorder: Recorder) -> None:
        self._browser, self._recorder = browser, recorder
        self._frame = FrameReader(browser.ui_port, browser.scale)
        self._effects = Effects()
        self._tabs = [self._attach(item) for item in browser.targets()]
        self._active, self._task, self._said = 0, "", ""
        self._picture = browser.grab()
        self._origin = self._calibrate()

    def _attach(self, target: dict[str, str]) -> Tab:
        return Tab(target["id"], DevTools(target["webSocketDebuggerUrl"]))

    @property
    def _page(self) -> DevTools:
        return self._tabs[self._active].page

    def _calibrate(self) -> tuple[float, float]:
        """Where the page's own (0, 0) lies on the screen, found by the calibration page's marks."""
        self._settle()
        picture = self._browser.grab()
        solid = Image.new("RGB", picture.size, (255, 0, 255))
        marks = ImageChops.difference(picture, solid).convert("L").point(lambda value: 0 if value else 255)
        found = marks.getbbox()
        page = next(view.box for view in self._frame.views("ContentsWebView"))
        size = self._browser.width, self._browser.height
        if found is None or found[2:] != size or found[0] != 0 or abs(found[1] - page.y) >= 1:
            raise SessionError(f"calibration marks at {found}, page view at {page}")
        origin = float(found[0]), float(found[1])
        probe = element_box(self._page, "i:nth-of-type(3)", self._browser.scale, origin).as_pixels()
        box = (probe["x"], probe["y"], probe["x"] + probe["width"], probe["y"] + probe["height"])
        grown = (box[0] - 1, box[1] - 1, box[2] + 1, box[3] + 1)
        if marks.crop(box).getextrema() != (255, 255) or (marks.crop(grown).getbbox() or ())[:2] != (1, 1):
            raise SessionError(f"calibration probe not at {box}")
        return origin

    # What scripts use.

    def visit(self, url: str) -> None:
        """Open a page without recording it (only for the very first page of a participant)."""
        self._page.call("Page.navigate", url=url)
        self._settle()

    def task(self, label: str) -> None:
        """Begin a task."""
        self._task, self._said = label, ""

    def say(self, words: str) -> None:
        """Speak an instruction; the steps that follow belong to it."""
        self._said = words

    def click(self, target: str | list[str], what: str, kinds: str = "named") -> None:
        """Record and do a click on the first of the right targets.

        `what` describes it explicitly; its part before | is what the history says.
        """
        specs = [target] if isinstance(target, str) else target
        self._refresh()
        boxes = [self._locate(spec) for spec in specs]
        tags = kinds.split() + ["chrome"] * specs[0].startswith("chrome:") + ["several"] * (len(specs) > 1)
        short, _, rest = what.partition("|")
        plan = f"Click {short.strip()} {rest.strip()}".strip().replace(" ,", ",") + "."
        pixels = [box.as_pixels() for box in boxes]
        self._record(Step(self._task, self._said, "click", f"Clicked {short.strip()}", pixels, plan, tags))
        self._press(specs[0], boxes[0])
        self._settle(at_end=specs[0] == "chrome:newtab")

    def _press(self, spec: str, box: Rect) -> None:
        """Click for real and wait for the effect."""
        page, tabs = self._page, len(self._tabs)
        self._effects.prepare(page)
        x, y = box.centre
        self._browser.xdotool("mousemove", x, y, "sleep", "0.04", "click", 1)
        kind, _, index = spec.removeprefix("chrome:").partition("/")
        if not spec.startswith("chrome:"):
            if self._effects.wait_for_click(page) == "tab":
                self._effects.wait_for(lambda: len(self._browser.targets()) == tabs + 1)
        elif kind == "newtab":
            self._effects.wait_for(lambda: len(self._browser.targets()) == tabs + 1)
        elif kind == "close":
            self._effects.wait_for(lambda: len(self._browser.targets()) == tabs - 1)
        elif kind == "tab":
            chosen = self._tabs[int(index)].page
            self._effects.wait_for(lambda: chosen.evaluate("document.visibilityState") == "visible")
        elif kind == "address":
            self._effects.wait_for(lambda: not page.evaluate("document.hasFocus()"))
        else:
            self._effects.wait_for_departure(page)

    def type(self, text: str, where: str, *, enter: bool = False) -> None:
        """Record a typing step and type."""
        done = f"Typed '{text}' into {where}" + (" and pressed Enter" if enter else "")
        self._record(Step(self._task, self._said, "type", done))
        page = self._page
        self._effects.prepare(page)
        self._browser.xdotool("type", "--delay", 15, text)
        if enter:
            time.sleep(0.2)
            self._browser.xdotool("key", "Return")
            self._effects.wait_for_departure(page)
        else:
            self._effects.wait_for(lambda: page.evaluate("document.activeElement.value") == text)
        self._settle()

    def scroll(self, notches: int, side: float = 0.5) -> None:
        """Record a scroll step and turn the wheel; positive is down."""
        direction = "down" if notches > 0 else "up"
        self._record(Step(self._task, self._said, "scroll", f"Scrolled {direction} the page"))
        self._effects.prepare(self._page)
        x, y = int(self._browser.width * side), int(self._browser.height * 0.6)
        self._browser.xdotool(
            "mousemove", x, y, "click", "--delay", 30, "--repeat", abs(notches), 5 if notches > 0 else 4
        )
        self._settle()

    def watch(self, done: str, action: str = "read") -> None:
        """Record a step at which the user only looks or waits."""
        self._record(Step(self._task, self._said, action, done))
        self._settle()

    # How it is done.

    def _locate(self, spec: str) -> Rect:
        if spec.startswith("chrome:"):
            return frame_box(self._frame, spec.removeprefix("chrome:"), self._browser.scale)
        return element_box(self._page, spec, self._browser.scale, self._origin)

    def _record(self, step: Step) -> None:
        if not step.task or not step.instruction:
            raise SessionError(f"nothing was said before: {step.done}")
        self._refresh()
        self._recorder.add(step, self._picture)

    def _refresh(self) -> None:
        """Look again: what is recorded must be what is on the screen now."""
        if self._page_has_focus() and ImageChops.difference(self._picture, self._browser.grab()).getbbox() is not None:
            self._picture = self._still()

    def _settle(self, at_end: bool = False) -> None:
        """Wait until the action has had its effect and the screen stands still."""
        time.sleep(_PAUSE)
        # A neutral place: over the page's left edge no site reacts to the pointer.
        self._browser.xdotool("mousemove", 2, self._browser.height - 70)
        for _ in range(100):
            self._follow_tabs(at_end)
            states = [self._state(tab) for tab in self._tabs]
            visible = [index for index, state in enumerate(states) if state[1] == "visible"]
            if len(visible) == 1 and states[visible[0]][0] == "complete":
                break
            time.sleep(_PAUSE)
        else:
            raise SessionError(f"the page does not finish loading: {states}")
        self._active = visible[0]
        if self._page_has_focus():
            # Fading highlights of the browser's buttons leave corners smoothed differently from run to run.
            self._still()
            self._browser.repaint()
            page = self._page
            self._effects.wait_for(lambda: page.evaluate("document.visibilityState") == "visible")
            self._effects.wait_for(lambda: page.evaluate("document.hasFocus()"))
        self._picture = self._still()

    def _state(self, tab: Tab) -> tuple[str, str]:
        """Load state and visibility; a page that is just being replaced is still loading."""
        try:
            state, visibility = tab.page.evaluate(_STATE)
            if self._effects.leaving(tab.page):
                return "leaving", str(visibility)
        except DevToolsError:
            return "loading", "unknown"
        return str(state), str(visibility)

    def _follow_tabs(self, at_end: bool) -> None:
        targets = {item["id"]: item for item in self._browser.targets()}
        self._tabs = [tab for tab in self._tabs if tab.key in targets]
        for key in targets.keys() - {tab.key for tab in self._tabs}:
            place = len(self._tabs) if at_end else self._active + 1
            self._tabs.insert(place, self._attach(targets[key]))

    def _still(self) -> Image.Image:
        """A frame that no longer changes; with a blinking caret, always the same one of its two faces."""
        if not self._page_has_focus():
            frames = {}
            for _ in range(16):
                picture = self._browser.grab()
                frames[hashlib.sha256(picture.tobytes()).hexdigest()] = picture
                time.sleep(0.1)
            return frames[min(frames)]
        before, same = self._browser.grab(), 0
        for _ in range(80):
            time.sleep(_PAUSE)
            now = self._browser.grab()
            same = same + 1 if ImageChops.difference(before, now).getbbox() is None else 0
            if same == 3:
                return now
            before = now
        raise SessionError("the screen does not stand still")

    def _page_has_focus(self) -> bool:
        try:
            return bool(self._page.evaluate("document.hasFocus()"))
        except DevToolsError:
            return False
