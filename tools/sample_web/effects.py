"""Knowing that an action has had its effect, so that no screenshot is taken too early."""

from __future__ import annotations

import time
from collections.abc import Callable

from devtools import DevTools, DevToolsError

_WATCH = """(() => {
  const mark = MARK;
  window.__mark = mark;
  window.__seen = '';
  if (window.__leaving === undefined) {
    navigation.addEventListener('navigate', (event) => {
      if (!event.hashChange && event.downloadRequest === null) window.__leaving = window.__mark;
    });
    addEventListener('click', (event) => {
      window.__seen = event.target.closest('a[target=_blank]') ? 'tab' : 'page';
    }, { capture: true });
  }
  window.__leaving = 0;
})()"""


class EffectError(RuntimeError):
    """Something that was clicked did not react."""


class Effects:
    """Marks the present document before an action and watches for what becomes of it."""

    def __init__(self) -> None:
        self._mark = 0

    def prepare(self, page: DevTools) -> None:
        """Put this step's mark and listeners into the document (browser pages may refuse)."""
        self._mark += 1
        page.evaluate(_WATCH.replace("MARK", str(self._mark)))

    def wait_for_click(self, page: DevTools) -> str:
        """Wait until the document has seen the click; 'tab' if that opens a tab, else 'page'."""
        expression = f"window.__mark === {self._mark} ? window.__seen : 'page'"
        return self._poll(lambda: str(page.evaluate(expression)))

    def wait_for_departure(self, page: DevTools) -> None:
        """Wait until the marked document has given way to another one."""
        self._poll(lambda: page.evaluate(f"window.__mark !== {self._mark}") and "gone")

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until something else has become true."""
        self._poll(lambda: "yes" if condition() else "")

    def leaving(self, page: DevTools) -> bool:
        """Whether the marked document is on its way to another one."""
        return bool(page.evaluate(f"window.__mark === {self._mark} && window.__leaving === {self._mark}"))

    @staticmethod
    def _poll(probe: Callable[[], str]) -> str:
        for _ in range(150):
            try:
                answer = probe()
            except DevToolsError:
                # The document is being replaced at this very moment.
                answer = ""
            if answer:
                return answer
            time.sleep(0.1)
        raise EffectError("an action had no effect within 15 seconds")
