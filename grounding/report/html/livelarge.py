"""The served page of runs that are too large for a page: its steps lie in a folder of its own while it is served."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.records import Record, Screenshot
from grounding.report.html.chunks import StepFiles, StepWriter
from grounding.report.html.content import Diagram, Page, RunPage
from grounding.report.html.gather import DATA_FILES, frame_of, version_of
from grounding.report.html.live import LivePage
from grounding.report.html.page import page_over
from grounding.report.html.pictures import FILES, thumbnail_name
from grounding.report.html.plots import draw_measured
from grounding.report.html.steplines import StepLines
from grounding.report.html.streamed import stream
from grounding.runfolder import RunFolder
from grounding.scorebook import Scored, weigh

_OLD = "more was answered since this page was made: load it again to see it, which takes a while"


class _Made(Record, frozen=True, kw_only=True):
    """A run as its steps were written last. ``data`` changes whenever its answers do, and not with labels."""

    data: str
    scored: Scored
    page: RunPage
    shots: dict[str, Screenshot]
    scored_steps: frozenset[str]


class LargeLivePage(LivePage):
    """The same for large runs. Steps are written anew when the page is loaded and answers came; labels show at once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(folders)
        self._folder = tempfile.TemporaryDirectory(prefix="grounding-view-")
        self._made: list[_Made] | None = None
        self._files: StepFiles | None = None

    def close(self) -> None:
        """Take the steps away again."""
        self._folder.cleanup()

    def page(self) -> Page:
        """The page as things stand.

        Raises:
            UserError: a run's file is damaged.
            OSError: there is no room for the steps.
        """
        with self._reading:
            data = [version_of(folder, DATA_FILES) for folder in self.folders]
            if self._made is None or [made.data for made in self._made] != data:
                self._made = self._make(data)
            return self._over(self._made, with_steps=True)

    def news(self) -> Page:
        """What changed on a page that is open: labels, and that answers came. Its steps are not told again."""
        with self._reading:
            return self._over(self._made or [], with_steps=False)

    def _over(self, made: Sequence[_Made], *, with_steps: bool) -> Page:
        found = []
        for one, folder in zip(made, self.folders, strict=True):
            old = version_of(folder, DATA_FILES) != one.data
            fresh = frame_of(
                folder,
                one.scored,
                version=version_of(folder),
                diagrams=one.page.diagrams,
                extra_warnings=(_OLD,) if old else (),
            )
            found.append(msgspec.structs.replace(fresh, beside=one.page.beside) if with_steps else fresh)
        return page_over(found, self.token)

    def _make(self, data: Sequence[str]) -> list[_Made]:
        root = Path(self._folder.name)
        files = StepFiles(root / "page.html", root / FILES)
        made = [self._run_of(number, data[number], files.run(number)) for number in range(len(self.folders))]
        files.drop_older()
        self._files = files
        return made

    def _run_of(self, number: int, data: str, writer: StepWriter) -> _Made:
        folder = self.folders[number]
        scored = weigh(RunFolder(folder))
        shots: dict[str, Screenshot] = {}

        def addresses(shot: Screenshot) -> tuple[str, str]:
            name = thumbnail_name(shot.sha256)
            shots.setdefault(name, shot)
            return f"thumb/{number}/{name}", f"shot/{number}/{name}"

        found = stream(scored, StepLines(folder / "steps.jsonl"), writer, addresses, recordings=False)
        diagrams: tuple[Diagram, ...] = ()
        if scored.info.status != "started":
            diagrams = draw_measured(found.measured, independent=scored.summary.independent)
        page = frame_of(folder, scored, version="", diagrams=diagrams, extra_warnings=())
        pending = scored.info.status == "started"
        return _Made(
            data=data,
            scored=scored,
            page=msgspec.structs.replace(page, beside=found.beside),
            shots=shots,
            scored_steps=frozenset(
                verdict.step_id for verdict in scored.verdicts if not (pending and verdict.reason == "never asked")
            ),
        )

    def step_file(self, name: str) -> Path | None:
        """A file with steps that the page loads; None for every other name."""
        if self._files is None:
            return None
        folder, _, file = name.partition("/")
        return self._files.file(file) if folder == self._files.folder.name else None

    def may_label(self, number: int, step_id: str) -> bool:
        """Whether that is a scored step of this run."""
        made = self._made
        return made is not None and step_id in made[number].scored_steps

    def shot(self, number: int, name: str) -> Screenshot | None:
        """A screenshot of one of the runs' steps; None for every other name."""
        made = self._made
        return made[number].shots.get(name) if made is not None and 0 <= number < len(made) else None
