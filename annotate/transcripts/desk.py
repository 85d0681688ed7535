"""What the panel works on: the folder's clips, the machine's words for each, the person's; knows no widget."""

from __future__ import annotations

from pathlib import Path

from annotate.transcripts.clips import clip_path, folder_clips
from annotate.transcripts.corrections import (
    PREFIX,
    Corrected,
    machine_files,
    read_corrected,
    read_machine,
    with_correction,
    write_corrected,
)
from grounding.asr.transcripts import Transcript, best_match


class Desk:
    """The transcripts of one participant's folder.

    Args:
        folder: The participant's folder.

    Raises:
        UserError: The folder has no clips, or a file of it is none of transcripts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clips: list[Corrected] = []
        self._machine: dict[str, tuple[Transcript, ...]] = {}
        self.read()

    def read(self) -> None:
        """Read all files again.

        Raises:
            UserError: One of them cannot be read.
        """
        self._machine = {path.stem.removeprefix(PREFIX): read_machine(path) for path in machine_files(self.folder)}
        self._clips = folder_clips(self.folder)

    @property
    def recognisers(self) -> list[str]:
        """Who has heard the clips, by the names of their files."""
        return list(self._machine)

    def clip_for(self, image: str) -> Corrected | None:
        """The clip that was said for a step, by its screenshot."""
        return next((one for one in self._clips if image in one.steps), None)

    def path(self, clip: Corrected) -> Path:
        """Where a clip is."""
        return clip_path(self.folder, clip.audio)

    def heard(self, clip: Corrected, recogniser: str) -> Transcript | None:
        """What a recogniser heard in a clip; None where it has not."""
        found = self._machine.get(recogniser, ())
        exact = next((one for one in found if one.audio == clip.audio), None)
        return exact or best_match(self.path(clip), found)

    def correct(self, clip: Corrected, text: str) -> Corrected:
        """Keep a person's words for a clip in ``transcriptions_GT.json``; machines' files stay as they are.

        Raises:
            UserError: The file cannot be read or written; the words are not kept then.
        """
        items = with_correction(read_corrected(self.folder), self._clips, clip.audio, text)
        write_corrected(self.folder, items)
        kept = {one.audio: one for one in items}
        self._clips = [kept.get(one.audio, one) for one in self._clips]
        return kept[clip.audio]

    def checked(self) -> tuple[int, int]:
        """How many clips a person has checked, and how many there are."""
        return sum(one.checked for one in self._clips), len(self._clips)
