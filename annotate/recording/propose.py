"""From a recording to a proposal of its steps: what is seen and what is said, read once each and put together."""

import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from grounding.asr.recogniser import Recogniser
from grounding.asr.transcribe import TranscriptStore, transcribe
from grounding.data.speech import Clip, file_sha256

from ..core.sound import SPEECH_RATE_HZ, Sound
from .changes import ScreenChange, find_changes, user_actions
from .plan import CutPlan, CutStep, Instruction
from .video import Recording

MARGIN_S = 0.15  # Before and after speech in a clip: a detector notices the first consonant late.
MISSING_END_S = 1.0  # A file whose pictures and sound stop earlier before the end that it states is cut off.
FRAME_S, STRICTNESS = 0.03, 2  # WebRTC's own scale: 3 cuts speech into pieces, 0 takes fans for speech.
PAUSE_S, SHORTEST_S = 0.6, 0.25  # A shorter silence is a pause inside an utterance; less speech is none.
JUST_BEFORE_S = 0.002  # Recorders' time stamps are further apart: the screen then is that before the action.


def propose(recording: Recording, *, recogniser: Recogniser | None, store: TranscriptStore | None = None) -> CutPlan:
    """Cut a recording into steps, as well as can be seen and heard; without a recogniser instructions are empty."""
    actions = user_actions(find_changes(recording))
    sound = recording.sound()
    spoken = [] if sound is None else find_speech(sound)
    end_s = max(recording.seen_s, 0.0 if sound is None else len(sound.samples) / sound.rate_hz)
    notes = []
    if recording.duration_s is None:
        notes.append("the file does not state its length, as when a recorder was killed: it was read as far as it goes")
    # A screen that stands still needs no more pictures: the sound may well go on to the end.
    elif recording.duration_s - end_s > MISSING_END_S:
        notes.append(f"the recording breaks off: it states {recording.duration_s:.1f} s and ends at {end_s:.1f} s")
    if recording.damaged:
        notes.append(f"{recording.damaged} damaged pieces of the video were passed over")
    if sound is None or not spoken:
        why = "the recording has no sound" if sound is None else "nobody speaks in the recording"
        notes.append(f"{why}: the instructions are empty")
    elif recogniser is not None:
        spoken, failures = _hear(sound, spoken, recogniser, store)
        if failures:
            notes.append(f"{len(failures)} of {len(spoken)} pieces of speech were not recognised: {failures[0]}")
    steps, instructions = align(actions, spoken)
    return CutPlan(
        video=str(recording.path),
        sha256=file_sha256(recording.path),
        duration_s=max(end_s, min(recording.duration_s or 0.0, end_s + MISSING_END_S)),
        recogniser="" if recogniser is None else recogniser.name,
        steps=steps,
        instructions=instructions,
        notes=tuple(notes),
    )


def _hear(
    sound: Sound, spoken: Sequence[Instruction], recogniser: Recogniser, store: TranscriptStore | None
) -> tuple[list[Instruction], list[str]]:
    import soundfile

    clips: list[Clip] = []
    with tempfile.TemporaryDirectory(prefix="speech-") as folder:
        for index, one in enumerate(spoken):
            path = Path(folder) / f"{index}.flac"
            part = sound.between(one.start_s - MARGIN_S, one.end_s + MARGIN_S)
            soundfile.write(path, part.samples, part.rate_hz, format="FLAC")
            clips.append(Clip(id=f"speech {index + 1}", path=str(path), sha256=file_sha256(path)))
        heard = transcribe(clips, recogniser, store=store)
    told = [replace(one, heard=each.text) for one, each in zip(spoken, heard, strict=True)]
    return told, [each.failure.message for each in heard if each.failure is not None]


def find_speech(sound: Sound) -> list[Instruction]:
    """The stretches of speech between silences in 16 kHz sound, in order, without words."""
    from pocketsphinx import Vad

    detector = Vad(mode=STRICTNESS, sample_rate=SPEECH_RATE_HZ, frame_length=FRAME_S)
    length = detector.frame_bytes // 2
    frame_s = length / SPEECH_RATE_HZ
    stretches: list[list[float]] = []
    for index in range(len(sound.samples) // length):
        if detector.is_speech(sound.samples[index * length : (index + 1) * length].tobytes()):
            start_s, end_s = index * frame_s, (index + 1) * frame_s
            if not stretches or start_s - stretches[-1][1] >= PAUSE_S:
                stretches.append([start_s, start_s, 0.0])
            stretches[-1][1] = end_s
            stretches[-1][2] += frame_s
    found = [(round(start_s, 3), round(end_s, 3)) for start_s, end_s, spoken_s in stretches if spoken_s >= SHORTEST_S]
    return [Instruction(id=number, start_s=one[0], end_s=one[1]) for number, one in enumerate(found)]


def align(
    actions: Sequence[ScreenChange], spoken: Sequence[Instruction]
) -> tuple[tuple[CutStep, ...], tuple[Instruction, ...]]:
    """Give every action the words that were said for it; all in order of time.

    Speech is for the first action after half of it: who acts in the middle of a sentence has said enough. An action
    without any carries out the instruction before it, which is the same at each of its steps (RealWebAssist,
    "Annotations"). Scrolling is a step only where an instruction led to nothing else, as in "scroll down"
    (RealWebAssist, appendix).
    """
    onsets = [action.onset_s for action in actions]
    groups: dict[int, list[Instruction]] = {}
    for one in spoken:
        groups.setdefault(bisect_left(onsets, (one.start_s + one.end_s) / 2), []).append(one)
    instructions: list[Instruction] = []
    steps: list[CutStep] = []
    for index in range(len(actions) + 1):
        if said := groups.get(index):
            heard = " ".join(one.heard for one in said if one.heard)
            new = Instruction(id=len(instructions), start_s=said[0].start_s, end_s=said[-1].end_s, heard=heard)
            instructions.append(new)
        for action in actions[index : index + 1]:
            steps.append(
                CutStep(
                    screenshot_s=max(0.0, action.onset_s - JUST_BEFORE_S),
                    action_s=action.onset_s,
                    action=action.kind,
                    instruction=len(instructions) - 1 if instructions else None,
                    pointer=action.pointer,
                )
            )
    does_more = {step.instruction for step in steps if step.action != "scroll"}
    kept: list[CutStep] = []
    for step in steps:
        # Scrolling on is not a second step.
        again = bool(kept) and kept[-1].instruction == step.instruction
        if step.action != "scroll" or not (step.instruction is None or step.instruction in does_more or again):
            kept.append(step)
    return tuple(kept), tuple(instructions)
