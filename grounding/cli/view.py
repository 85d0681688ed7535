"""``grounding view``: runs as a page that follows them, or as a file. No logic of its own."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from grounding.errors import UserError
from grounding.run.lock import benchmark_of

if TYPE_CHECKING:
    from grounding.report.html.live import LiveFolder, LivePage

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
    each is, its scores so far, the money, and a link to each run's own page. The page of one run that is not of clicks
    is a file, written anew and named; while it goes on its progress and figures so far are served.

    Args:
        run: The run's folder, or a folder of several runs.
        more: Folders of other runs.
        port: The port to serve at [default: one that is free].
        out: Write the page to this file instead, with its pictures in report_files beside it.
        browser: Open the page in the browser.
    """
    from grounding.report.html.live import LiveFolder, LivePage, write_overview
    from grounding.report.html.page import write_page
    from grounding.report.html.watch import holds_runs, is_going
    from grounding.run.folder import RunFolder
    from grounding.run.scorebook import weigh

    folders = [run, *more]
    followed = not more and holds_runs(run)
    if not followed and any(benchmark_of(folder) for folder in folders):
        if len(folders) > 1:
            raise UserError("runs of clicks alone are shown side by side; name one run, and see `grounding compare`")
        if out is not None or not is_going(run):
            return _view_file(run, out, browser=browser)
        followed = True
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError("the same run is named twice; leave one out")
    if not followed:
        for folder in folders:
            RunFolder(folder).read_info()
    if out is not None:
        out = _html_file(out)
        scored = [] if followed else [weigh(RunFolder(folder)) for folder in folders]
        print(write_overview(run, out) if followed else write_page(scored, out))
        return 0
    live = LiveFolder(run) if followed else LivePage(folders)
    try:
        live.html()
        _serve(live, port, browser=browser)
    except KeyboardInterrupt:
        return 130
    return 0


def _serve(live: LivePage | LiveFolder, port: int, *, browser: bool) -> None:
    from grounding.report.html.live import bound_socket, serve

    listening = bound_socket(port)
    host, bound = listening.getsockname()
    print(f"http://{host}:{bound}/  (Ctrl-C ends it)", flush=True)
    if browser:
        import webbrowser

        webbrowser.open(f"http://{host}:{bound}/")
    # This is how it ends.
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(live, listening))


def _view_file(run: Path, out: Path | None, *, browser: bool) -> int:
    from grounding.report.rows import reader_of

    path = reader_of(run).write_page(run, None if out is None else _html_file(out))
    print(path)
    if browser:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


def _html_file(path: Path) -> Path:
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"--out {path}: expected the name of a page, such as report.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
