"""``grounding view``: runs as a page that follows them, or as a file. No logic of its own."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from grounding.errors import UserError

if TYPE_CHECKING:
    from grounding.report.html.live import LivePage

VIEW_EXAMPLES = """
Examples:

```
# Look at a run, also while it goes on, and label its misses
grounding view results/sample-web_none_ocr_0123456789

# Two runs side by side, as a file that needs no server
grounding view RUN RUN --out both/report.html

# All runs of a sweep or of a matrix while they go on, or of any folder that holds run folders
grounding view results/matrix_0123456789
grounding view results
```
"""


def view_command(
    run: Path,
    /,
    *more: Path,
    port: int = 0,
    out: Path | None = None,
    browser: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Show runs in the browser: every click, where tasks end, and what people say of the misses.

    Serves the page to this machine alone (127.0.0.1) until Ctrl-C, and keeps it up to date while a run goes on. Labels
    that are given on it are appended to labels.jsonl in the run's folder and change no score. Two runs are shown side
    by side. The folder of a sweep or a matrix, or one that holds run folders, gives a page over all its runs: how far
    each is, its scores so far, the money, and a link to each run's own page.

    Args:
        run: The run's folder, or a folder of several runs.
        more: Folders of other runs.
        port: The port to serve at [default: one that is free].
        out: Write the page to this file instead, with its pictures in report_files beside it.
        browser: Open the page in the browser.
    """
    from grounding.report.html.queuegather import holds_runs

    if not more and holds_runs(run):
        return _view_queue(run, port=port, out=out, browser=browser)
    from grounding.report.html.page import weigh_path, write_page

    folders = [run, *more]
    for folder in folders:
        _check(folder)
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError("the same run is named twice; leave one out")
    if out is not None:
        print(write_page([weigh_path(folder) for folder in folders], _html_file(out)))
        return 0
    from grounding.report.html.live import LivePage
    from grounding.report.html.size import lie_beside

    if lie_beside(folders):
        return _serve_large(folders, port, browser=browser)
    live = LivePage(folders)
    live.page()
    return _serve(live, port, browser=browser)


def _serve_large(folders: Sequence[Path], port: int, *, browser: bool) -> int:
    """The same over runs of so many steps that reading them takes its time."""
    from grounding.report.html.livelarge import LargeLivePage

    print("grounding: this is a large run: making its page can take minutes", file=sys.stderr, flush=True)
    # Who ends the command by a signal must not leave the steps behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    live = LargeLivePage(folders)
    try:
        live.page()
        return _serve(live, port, browser=browser)
    except KeyboardInterrupt:
        return 130
    finally:
        live.close()


def _serve(live: LivePage, port: int, *, browser: bool) -> int:
    from grounding.report.html.live import bound_socket, serve

    listening = bound_socket(port)
    _announce(listening, browser=browser)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(live, listening))
    return 0


def _view_queue(folder: Path, *, port: int, out: Path | None, browser: bool) -> int:
    """The same over several runs."""
    if out is not None:
        from grounding.report.html.queuepage import write_queue_page

        print(write_queue_page(folder, _html_file(out)))
        return 0
    from grounding.report.html.live import bound_socket
    from grounding.report.html.queuelive import LiveQueue, serve_queue

    # Who ends the command by a signal must not leave the steps of large runs behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    live = LiveQueue(folder)
    live.page()
    listening = bound_socket(port)
    _announce(listening, browser=browser)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve_queue(live, listening))
    finally:
        live.close()
    return 0


def _announce(listening: socket.socket, *, browser: bool) -> None:
    """Say where the page is, and open it on request."""
    host, port = listening.getsockname()
    address = f"http://{host}:{port}/"
    print(f"{address}  (Ctrl-C ends it)", flush=True)
    if browser:
        import webbrowser

        webbrowser.open(address)


def _check(folder: Path) -> None:
    from grounding.desktop.runfiles import is_desktop_run

    if is_desktop_run(folder):
        raise UserError(f"{folder} is a run over desktop tasks, which the page does not show")


def _html_file(path: Path) -> Path:
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"--out {path}: expected the name of a page, such as report.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
