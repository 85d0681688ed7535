"""A folder that is open for annotation: what is read, changed, undone, saved, refused; transcripts beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from annotate.core.document import QUESTIONS, Document
from annotate.core.folders import upright_size
from annotate.core.records import MarkedBox
from grounding.data.layouts import realwebassist
from grounding.errors import UserError

BOX = MarkedBox(x_px=3, y_px=4, width_px=10, height_px=5)


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    made = Path(tiny_dataset(participants=["ann"], steps=5, unscored=(2,))) / "ann"
    (made / QUESTIONS).write_text(json.dumps(items(made), indent=1) + "\n")
    return made


@pytest.fixture
def document(folder: Path) -> Iterator[Document]:
    with Document.open(folder, annotator="ann") as opened:
        yield opened


def items(folder: Path) -> list[dict[str, Any]]:
    found = json.loads((folder / QUESTIONS).read_bytes())
    assert isinstance(found, list)
    return found


def again(document: Document) -> Document:
    """The document after the program was ended and started."""
    document.close()
    return Document.open(document.folder, annotator="ann")


def say(document: Document, index: int, comment: str, **options: Any) -> None:
    document.change(index, replace(document.entries[index], comment=comment), f"say {comment}", **options)


def comments(document: Document) -> list[str]:
    return [entry.comment for entry in document.entries]


def make_pictures(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30)).save(folder / name)
    return folder


def test_what_is_read_is_what_the_file_has_and_looking_leaves_nothing_behind(folder: Path) -> None:
    before, content = sorted(os.walk(folder)), (folder / QUESTIONS).read_bytes()
    with Document.open(folder) as document:
        assert [entry.state for entry in document.entries] == ["boxes", "boxes", "no-click", "boxes", "boxes"]
        (box,) = document.entries[0].boxes
        first = items(folder)[0]["bounding_box"][0]
        assert (box.x_px, box.y_px) == (first["x"], first["y"])
        assert document.image_path(0) == folder / "images/1.png"
        assert (document.dirty, document.recovered, document.notes, document.trouble) == (False, 0, [], "")
        assert not any(document.issues(index) for index in range(5))
        document.save()
        say(document, 0, "")
        assert document.undo(0) is None
    assert sorted(os.walk(folder)) == before
    assert (folder / QUESTIONS).read_bytes() == content


def test_a_change_is_saved_with_whom_and_when_and_nothing_else_is_touched(document: Document, folder: Path) -> None:
    before, content = items(folder), (folder / QUESTIONS).read_bytes()
    (folder / QUESTIONS).chmod(0o640)
    document.change(1, replace(document.entries[1], verified=True), "verify")
    assert document.dirty
    assert items(folder) == before
    document.save()
    assert not document.dirty
    after = items(folder)
    note = after[1].pop("annotation")
    assert after == before
    assert (note["verified"], note["comment"], note["annotator"]) == (True, "", "ann")
    assert len(note["at"]) == len("2026-01-31T09:00:00Z")
    assert realwebassist.load(folder).sessions[0].steps[1].instruction == before[1]["instruction"]
    assert (folder / f"{QUESTIONS}.previous").read_bytes() == content
    assert (folder / QUESTIONS).stat().st_mode & 0o777 == 0o640
    document.undo(1)
    document.save()
    assert (folder / QUESTIONS).read_bytes() == content


def test_undo_and_redo_are_per_step_without_limit_and_survive_a_restart(document: Document) -> None:
    for number in range(300):
        say(document, 0, f"a{number}")
    say(document, 1, "b")
    document.save()
    say(document, 1, "c", joined=True)
    reopened = again(document)
    try:
        assert reopened.recovered == 1
        assert comments(reopened)[:2] == ["a299", "c"]
        assert reopened.undo(1) == "say c"
        assert comments(reopened)[1] == "", "one undo takes back a joined movement"
        assert [reopened.undo(0) for _ in range(301)] == [*(f"say a{number}" for number in range(299, -1, -1)), None]
        assert comments(reopened)[:2] == ["", ""]
        reopened.save()
        assert "annotation" not in items(reopened.folder)[0]
        reopened = again(reopened)
        assert [reopened.redo(0) for _ in range(2)] == ["say a0", "say a1"]
        say(reopened, 0, "other")
        assert reopened.redo(0) is None
        assert reopened.undo(0) == "say other"
        assert comments(reopened)[0] == "a1"
    finally:
        reopened.close()


def test_words_of_several_steps_are_changed_and_taken_back_together(document: Document) -> None:
    def words(document: Document) -> list[str]:
        return [entry.instruction for entry in document.entries[:3]]

    for text in ("open it", "close it"):
        document.change_together({i: replace(document.entries[i], instruction=text) for i in range(3)}, "edit")
    say(document, 2, "more")
    assert document.undo(1) == "edit"
    assert words(document) == ["open it", "open it", "close it"]
    assert document.redo(0) == "edit"
    document.undo(2)
    reopened = again(document)
    assert reopened.undo(0) == "edit"
    assert words(reopened) == ["open it"] * 3
    assert reopened.undo(2) == "edit"
    assert words(reopened)[0] == "click thing 0"
    reopened.close()


def test_moved_boxes_become_whole_pixels_and_others_keep_their_fractions(tiny_dataset: Any) -> None:
    box = {"x": 1.25, "y": 2, "width": 10.5, "height": 4.0, "id": 7}
    other = {**box, "x": 30.75}

    def fractions(_: str, items: list[dict[str, Any]]) -> None:
        items[0]["bounding_box"] = [box, other]

    folder = Path(tiny_dataset(participants=["p"], edit=fractions)) / "p"
    with Document.open(folder) as document:
        first, second = document.entries[0].boxes
        document.change(0, replace(document.entries[0], boxes=(replace(first, x_px=1.75), second)), "move box")
        document.save()
        assert items(folder)[0]["bounding_box"] == [{"x": 2, "y": 2, "width": 10, "height": 4, "id": 7}, other]
        document.change(0, replace(document.entries[0], boxes=()), "delete box")
        assert document.entries[0].state == "todo"
        document.undo(0)
        document.undo(0)
        document.save()
        assert items(folder)[0]["bounding_box"] == [box, other]
        with pytest.raises(ValueError, match="no-click"):
            document.change(0, replace(document.entries[0], state="no-click"), "x")


def test_a_folder_of_pictures_becomes_a_participants_folder(tmp_path: Path) -> None:
    make_pictures(tmp_path, "shot10.png", "shot2.png", "shot1.jpg", ".hidden.png", "old.bmp")
    with Document.open(tmp_path) as document:
        assert [entry.image for entry in document.entries] == ["shot1.jpg", "shot2.png", "shot10.png"]
        document.save()
        assert not document.file.exists()
        for index in range(3):
            new = replace(document.entries[index], instruction=f"do {index}", state="boxes", boxes=(BOX,))
            document.change(index, new, "draw box")
            assert document.first_todo() == (index + 1 if index < 2 else None)
        document.save()
    assert [step.instruction for step in realwebassist.load(tmp_path).sessions[0].steps] == ["do 0", "do 1", "do 2"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "none", "does not exist"),
        (lambda folder: folder, "nothing to annotate"),
        (lambda folder: make_pictures(folder, "a.bmp"), "nor a PNG"),
        (lambda folder: make_pictures(folder, "a.png") / "a.png", "is not a folder"),
    ],
)
def test_a_folder_with_nothing_to_annotate_is_refused(tmp_path: Path, make: Callable[[Path], Path], words: str) -> None:
    with pytest.raises(UserError, match=words):
        Document.open(make(tmp_path))
    assert not list(tmp_path.rglob(".annotate"))


def test_nothing_outside_the_folder_is_read_or_written(folder: Path, tmp_path: Path) -> None:
    secret = make_pictures(tmp_path, "secret.png") / "secret.png"
    (folder / "images/link.png").symlink_to(secret)
    names = ["../../secret.png", str(secret), "images/link.png", "images/none.png", "", "images\\1.png"]
    said = ("inside", "inside", "leads out", "does not exist", "names no picture", "with /")
    content = [{"final_image": name, "instruction": "x", "action": "", "bounding_box": None} for name in names]
    (folder / QUESTIONS).write_text(json.dumps(content))
    with Document.open(folder) as document:
        for index, words in enumerate(said):
            with pytest.raises(UserError, match=words):
                document.image_path(index)
            assert words in document.issues(index)[-1]
    (folder / ".annotate").mkdir(exist_ok=True)
    (folder / ".annotate" / f"{QUESTIONS}.journal").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a symbolic link"):
        Document.open(folder)
    (folder / QUESTIONS).rename(tmp_path / "elsewhere.json")
    (folder / QUESTIONS).symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(UserError, match="leads out of its folder"):
        Document.open(folder)


def test_sizes_are_of_the_upright_picture_and_odd_steps_are_shown(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    for name, more in (("1.jpg", {"exif": exif}), ("2.png", {"exif": exif}), ("3.png", {}), ("4.webp", {"exif": exif})):
        Image.new("RGB", (40, 30)).save(tmp_path / name, **more)
    (tmp_path / "5.png").write_bytes((tmp_path / "3.png").read_bytes()[:20])
    with Document.open(tmp_path) as document:
        sizes = [upright_size(document.image_path(index))[0] for index in range(4)]
        assert [(size.width, size.height) for size in sizes] == [(30, 40), (30, 40), (40, 30), (30, 40)]
        assert [len(document.issues(index)) for index in range(5)] == [1, 1, 0, 1, 1]
        assert "EXIF orientation 6" in document.issues(0)[0]
        say(document, 2, "x")
        document.save()
    (tmp_path / QUESTIONS).write_text(json.dumps(["odd", *items(tmp_path)]))
    with Document.open(tmp_path) as document:
        with pytest.raises(UserError, match="item 0 is not an object"):
            say(document, 0, "x")
        say(document, 1, "fine")
        document.save()
    assert items(tmp_path)[0] == "odd"


def test_what_people_say_was_said_comes_first_and_others_are_named(folder: Path) -> None:
    def clip(text: str, *images: str, **more: object) -> str:
        return json.dumps([{"audio": "audio/1.flac", "steps": images, "text": text, **more}])

    machine, people = folder / "transcriptions_a-small-one.json", folder / "transcriptions_GT.json"
    machine.write_text(clip("it does no good", "images/1.png", "images/3.png"))
    with Document.open(folder) as document:
        assert (document.entries[0].transcript, document.transcript_source(0)) == (
            "it does no good", "heard by a-small-one",
        )  # fmt: skip
        people.write_text(clip("is it any good", "images/1.png"))
        document.reload_transcripts()
        assert [entry.transcript for entry in document.entries[:3]] == ["is it any good", "", "it does no good"]
        assert document.transcript_source(0) == "what was said"
    people.write_text(clip("is it", "images/1.png", checked=False))
    with Document.open(folder) as document:
        assert document.transcript_source(0) == "heard, not checked"
    # Texts that name no steps belong to steps or instructions by place.
    people.unlink()
    content = items(folder)
    content[1]["instruction"] = content[0]["instruction"]
    (folder / QUESTIONS).write_text(json.dumps(content, indent=1) + "\n")
    for texts, expected in (("abcde", "abcde"), ("abcd", "aabcd")):
        machine.write_text(json.dumps(list(texts)))
        with Document.open(folder) as document:
            assert [entry.transcript for entry in document.entries] == list(expected)
    machine.write_text('["a"]')
    with Document.open(folder) as document:
        assert document.notes[0].startswith(f"No transcripts are shown: {machine}")


@pytest.mark.parametrize("indent", [1, 4])
def test_saving_changes_only_what_was_changed_and_a_foreign_layout_once(folder: Path, indent: int) -> None:
    (folder / QUESTIONS).write_text(json.dumps(items(folder), indent=indent) + "\n")
    for opened in range(2):
        with Document.open(folder) as document:
            said = sum("reformats" in note for note in document.notes)
            assert said == (1 if indent != 1 and not opened else 0)
            say(document, 1, f"x{opened}")
            document.save()
        assert (folder / QUESTIONS).read_text() == json.dumps(items(folder), indent=1) + "\n"


def test_a_snapshot_in_a_hubs_cache_opens_and_its_blobs_are_never_written(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "hub" / "datasets--ann--shop"
    snapshot = cache / "snapshots" / ("a" * 40) / "ann"
    for path in [one for one in folder.rglob("*") if one.is_file()]:
        blob, link = cache / "blobs" / path.name, snapshot / path.relative_to(folder)
        for one in (blob, link):
            one.parent.mkdir(parents=True, exist_ok=True)
        path.rename(blob)
        link.symlink_to(blob)
    content = (cache / "blobs" / QUESTIONS).read_bytes()
    with Document.open(snapshot) as document:
        assert document.issues(0) == []
        say(document, 0, "x")
        document.save()
        assert items(snapshot)[0]["annotation"]["comment"] == "x"
        assert not document.changed_on_disk()
    assert (cache / "blobs" / QUESTIONS).read_bytes() == content
