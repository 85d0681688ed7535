"""What makes sound here: the package sounddevice, or a program that plays a file, whichever there is."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Protocol

from annotate.recording.sound import Sound
from grounding.errors import UserError

PROGRAMS: tuple[tuple[str, ...], ...] = (
    ("paplay",),
    ("pw-play",),
    ("aplay", "-q"),
    ("afplay",),
    ("ffplay", "-nodisp", "-autoexit", "-loglevel", "error"),
)
"""Players and the arguments that make them quiet; the file comes last. In order of how soon the sound begins."""

NO_DEVICE = (
    "sound cannot be played here: install sounddevice (pip install sounddevice, and libportaudio2 on Debian and Ubuntu)"
    " or one of the programs paplay, aplay or ffplay"
)


class Device(Protocol):
    """Plays one sound at a time."""

    name: str

    def start(self, sound: Sound) -> None:
        """Begin to play; returns at once. What played before has been stopped."""
        ...

    def stop(self) -> None:
        """Be silent, at once."""
        ...

    def playing(self) -> bool:
        """Whether something is still to be heard.

        Raises:
            UserError: It could not be played.
        """
        ...


def open_device() -> Device:
    """The first device that works.

    Raises:
        UserError: There is none; the message says what to install.
    """
    module = _sounddevice()
    if module is not None:
        return SoundDevice(module)
    for command in PROGRAMS:
        path = shutil.which(command[0])
        if path is not None:
            return ProgramDevice((path, *command[1:]), command[0])
    raise UserError(NO_DEVICE)


class SoundDevice:
    """The sound card by PortAudio, through the package sounddevice."""

    name = "sounddevice"

    def __init__(self, module: Any) -> None:
        self._module = module

    def start(self, sound: Sound) -> None:
        """See ``Device``.

        Raises:
            UserError: The sound card does not take it.
        """
        try:
            self._module.play(sound.samples, sound.rate_hz)
        except self._module.PortAudioError as error:
            raise UserError(f"the sound card does not play: {error}") from None

    def stop(self) -> None:
        """See ``Device``."""
        self._module.stop()

    def playing(self) -> bool:
        """See ``Device``."""
        try:
            return bool(self._module.get_stream().active)
        except RuntimeError:
            # Nothing was played yet.
            return False


class ProgramDevice:
    """A program that plays a WAV file and then ends.

    Args:
        command: The program with its arguments; the file's path is put at the end.
        name: What to call it.
    """

    def __init__(self, command: tuple[str, ...], name: str) -> None:
        self.name = name
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._file: Path | None = None

    def start(self, sound: Sound) -> None:
        """See ``Device``.

        Raises:
            UserError: The program cannot be started.
        """
        import soundfile

        self.stop()
        with tempfile.NamedTemporaryFile(prefix="clip-", suffix=".wav", delete=False) as file:
            self._file = Path(file.name)
        soundfile.write(self._file, sound.samples, sound.rate_hz, format="WAV", subtype="PCM_16")
        try:
            self._process = subprocess.Popen(
                [*self._command, str(self._file)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            self.stop()
            raise UserError(f"{self.name} cannot be started: {error.strerror}") from None

    def stop(self) -> None:
        """See ``Device``."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._file is not None:
            self._file.unlink(missing_ok=True)
            self._file = None

    def playing(self) -> bool:
        """See ``Device``."""
        code = None if self._process is None else self._process.poll()
        if code is not None:
            self.stop()
            if code != 0:
                raise UserError(f"{self.name} could not play the sound (it ended with {code}): is there a sound card?")
        return self._process is not None


def _sounddevice() -> Any | None:
    try:
        import sounddevice
    except (ImportError, OSError):
        # OSError: the package is there, the library PortAudio is not.
        return None
    try:
        sounddevice.query_devices(kind="output")
    except (sounddevice.PortAudioError, ValueError):
        return None
    return sounddevice
