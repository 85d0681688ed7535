from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from annotate.document import QUESTIONS, Document
from annotate.records import Entry, MarkedBox
from grounding.errors import UserError
from grounding.loaders import realwebassist
from grounding.records import Size

BOX = MarkedBox(x_px=3, y_px=4, width_px=10, height_px=5)


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    return Path(tiny_dataset(participants=["ann"], steps=5, unscored=(2,))) / "ann"


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


def make_pictures(folder: Path, *names: str, size: tuple[int, int] = (40, 30)) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(folder / name)
    return folder


def test_a_participants_folder_is_read_as_the_file_has_it(document: Document, folder: Path) -> None:
    assert [entry.state for entry in document.entries] == ["boxes", "boxes", "no-click", "boxes", "boxes"]
    first = items(folder)[0]
    (box,) = document.entries[0].boxes
    assert (box.x_px, box.y_px) == (first["bounding_box"][0]["x"], first["bounding_box"][0]["y"])
    assert document.entries[0].instruction == "click thing 0"
    assert document.image_path(0) == folder / "images/1.png"
    assert document.image_size(0) == Size(width=64, height=48)
    assert (document.dirty, document.recovered, document.notes, document.trouble) == (False, 0, (), "")
    assert document.first_todo() is None
    assert not any(document.issues(index) for index in range(5))


def test_looking_leaves_nothing_behind(folder: Path) -> None:
    before = sorted(os.walk(folder))
    content = (folder / QUESTIONS).read_bytes()
    with Document.open(folder) as document:
        assert (folder / ".annotate" / "lock").exists()
        document.save()
        say(document, 0, "")
        assert document.undo(0) is None
    assert sorted(os.walk(folder)) == before
    assert (folder / QUESTIONS).read_bytes() == content


def test_a_change_is_saved_with_whom_and_when_and_nothing_else_is_touched(document: Document, folder: Path) -> None:
    before = items(folder)
    document.change(1, replace(document.entries[1], verified=True), "verify")
    assert document.dirty
    assert items(folder) == before
    document.save()
    assert not document.dirty
    after = items(folder)
    note = after[1].pop("annotation")
    assert after == before
    assert (note["verified"], note["comment"], note["annotator"]) == (True, "", "ann")
    assert note["at"].endswith("Z")
    assert len(note["at"]) == len("2026-01-31T09:00:00Z")
    assert realwebassist.load(folder).sessions[0].steps[1].instruction == before[1]["instruction"]


def test_undo_and_redo_are_per_step_without_limit_and_survive_a_restart(document: Document) -> None:
    for number in range(300):
        say(document, 0, f"a{number}")
    say(document, 1, "b")
    document.save()
    reopened = again(document)
    try:
        assert comments(reopened)[:2] == ["a299", "b"]
        assert [reopened.undo(0) for _ in range(301)] == [*(f"say a{number}" for number in range(299, -1, -1)), None]
        assert comments(reopened)[:2] == ["", "b"]
        assert (reopened.can_undo(0), reopened.can_redo(0), reopened.can_undo(1)) == (False, True, True)
        reopened.save()
        assert "annotation" not in items(reopened.folder)[0]
        reopened = again(reopened)
        assert [reopened.redo(0) for _ in range(2)] == ["say a0", "say a1"]
        say(reopened, 0, "other")
        assert not reopened.can_redo(0)
        assert reopened.undo(0) == "say other"
        assert comments(reopened)[0] == "a1"
    finally:
        reopened.close()


def test_undoing_back_to_the_saved_state_leaves_nothing_to_save(document: Document, folder: Path) -> None:
    content = (folder / QUESTIONS).read_bytes()
    say(document, 0, "a")
    say(document, 3, "b")
    document.undo(0)
    assert document.dirty
    document.undo(3)
    assert not document.dirty
    document.redo(3)
    document.save()
    assert (folder / f"{QUESTIONS}.previous").read_bytes() == content
    document.undo(3)
    document.save()
    assert (folder / QUESTIONS).read_bytes() == content


def test_one_undo_takes_back_a_joined_movement(document: Document) -> None:
    say(document, 0, "before")
    say(document, 0, "1")
    say(document, 0, "2", joined=True)
    say(document, 0, "3", joined=True)
    assert document.undo(0) == "say 1"
    assert comments(document)[0] == "before"
    assert document.redo(0) == "say 1"
    assert comments(document)[0] == "3"
    reopened = again(document)
    assert reopened.undo(0) == "say 1"
    assert comments(reopened)[0] == "before"
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
        assert [type(items(folder)[0]["bounding_box"][0][name]) for name in ("x", "width", "height")] == [int] * 3
        tiny = replace(document.entries[0], boxes=(MarkedBox(x_px=5.2, y_px=5.2, width_px=0.1, height_px=0),))
        document.change(0, tiny, "draw box")
        assert document.entries[0].boxes == (MarkedBox(x_px=5, y_px=5, width_px=1, height_px=1),)
        document.undo(0)
        document.undo(0)
        document.save()
        assert items(folder)[0]["bounding_box"] == [box, other]


def test_a_box_that_was_deleted_comes_back_with_fields_nobody_knows_after_a_restart(tiny_dataset: Any) -> None:
    def known(_: str, items: list[dict[str, Any]]) -> None:
        items[0]["bounding_box"][0]["id"] = [1.0, "é"]

    folder = Path(tiny_dataset(participants=["p"], edit=known)) / "p"
    content = (folder / QUESTIONS).read_bytes()
    with Document.open(folder) as document:
        document.change(0, replace(document.entries[0], state="no-click", boxes=()), "not a click")
        document.save()
        assert items(folder)[0]["bounding_box"] is None
    with Document.open(folder) as document:
        assert document.undo(0) == "not a click"
        document.save()
    assert (folder / QUESTIONS).read_bytes() == content


def test_states_and_boxes_must_fit(document: Document) -> None:
    entry = document.entries[0]
    with pytest.raises(ValueError, match="no-click"):
        document.change(0, replace(entry, state="no-click"), "x")
    with pytest.raises(ValueError, match="transcript"):
        document.change(0, replace(entry, transcript="x"), "x")
    with pytest.raises(ValueError, match="pixels"):
        document.change(0, replace(entry, boxes=(replace(BOX, x_px=float("nan")),)), "x")
    assert document.entries[0] == entry
    document.change(0, replace(entry, boxes=()), "delete box")
    assert document.entries[0].state == "todo"
    assert document.first_todo() == 0
    with pytest.raises(IndexError):
        document.change(5, entry, "x")
    with pytest.raises(IndexError):
        document.undo(-1)


def test_steps_are_inserted_and_removed_and_that_is_undone_after_a_restart(document: Document, folder: Path) -> None:
    say(document, 1, "mine")
    document.remove(1)
    document.insert(0, Entry(image="images/1.png", instruction="new", state="boxes", boxes=(BOX,)))
    assert [entry.image for entry in document.entries] == [f"images/{n}.png" for n in (1, 1, 3, 4, 5)]
    say(document, 0, "of the new one")
    document.save()
    assert [item["instruction"] for item in items(folder)][:2] == ["new", "click thing 0"]
    reopened = again(document)
    assert comments(reopened) == ["of the new one", "", "", "", ""]
    assert reopened.undo_order() == "add step"
    assert reopened.undo_order() == "remove step"
    assert reopened.undo_order() is None
    assert comments(reopened) == ["", "mine", "", "", ""]
    assert reopened.undo(1) == "say mine"
    reopened.save()
    assert [item["instruction"] for item in items(folder)] == [f"click thing {n}" for n in range(5)]
    assert reopened.redo_order() == "remove step"
    assert reopened.redo_order() == "add step"
    assert reopened.redo_order() is None
    assert comments(reopened) == ["of the new one", "", "", "", ""]
    reopened.close()


def test_a_folder_of_pictures_becomes_a_participants_folder(tmp_path: Path) -> None:
    make_pictures(tmp_path, "shot10.png", "shot2.png", "shot1.jpg", ".hidden.png", "old.bmp")
    with Document.open(tmp_path) as document:
        assert [entry.image for entry in document.entries] == ["shot1.jpg", "shot2.png", "shot10.png"]
        assert {entry.state for entry in document.entries} == {"todo"}
        assert "not taken: 1, such as old.bmp" in document.notes[0]
        assert not document.dirty
        document.save()
        assert not document.file.exists()
        for index in range(3):
            new = replace(document.entries[index], instruction=f"do {index}", state="boxes", boxes=(BOX,))
            document.change(index, new, "draw box")
            assert document.first_todo() == (index + 1 if index < 2 else None)
        document.save()
    steps = realwebassist.load(tmp_path).sessions[0].steps
    assert [step.instruction for step in steps] == ["do 0", "do 1", "do 2"]
    with Document.open(tmp_path) as document:
        assert not document.dirty
        assert document.undo(0) == "draw box"
        assert document.first_todo() == 0


def test_pictures_in_a_folder_called_images_are_found(tmp_path: Path) -> None:
    make_pictures(tmp_path, "images/2.png", "images/10.png")
    with Document.open(tmp_path) as document:
        assert [entry.image for entry in document.entries] == ["images/2.png", "images/10.png"]
        say(document, 0, "unsaved")
    with Document.open(tmp_path) as document:
        assert (comments(document), document.recovered) == (["unsaved", ""], 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "none", "does not exist"),
        (lambda folder: folder, "nothing to annotate"),
        (lambda folder: make_pictures(folder, "a.bmp"), "other kinds"),
        (lambda folder: make_pictures(folder, "a.png") / "a.png", "is not a folder"),
    ],
)
def test_a_folder_with_nothing_to_annotate_is_refused(tmp_path: Path, make: Callable[[Path], Path], words: str) -> None:
    with pytest.raises(UserError, match=words):
        Document.open(make(tmp_path))
    assert not list(tmp_path.rglob(".annotate"))


def test_a_data_set_says_which_folders_are_its_participants(tiny_dataset: Any) -> None:
    data_dir = Path(tiny_dataset(participants=["10", "2"]))
    with pytest.raises(UserError, match=rf"participant's folder: {data_dir}/2, {data_dir}/10"):
        Document.open(data_dir)


def test_a_broken_file_is_refused_and_the_folder_is_free_again(folder: Path) -> None:
    (folder / QUESTIONS).write_text('[{"a": 1},]')
    for _ in range(2):
        with pytest.raises(UserError, match="is not JSON: line 1"):
            Document.open(folder)
    assert not (folder / ".annotate").exists()


def test_pictures_stay_inside_the_folder(folder: Path, tmp_path: Path) -> None:
    secret = make_pictures(tmp_path, "secret.png") / "secret.png"
    (folder / "images/link.png").symlink_to(secret)
    names = ["../../secret.png", str(secret), "images/link.png", "images/none.png", "", "images\\1.png"]
    content = [{"final_image": name, "instruction": "x", "action": "", "bounding_box": None} for name in names]
    (folder / QUESTIONS).write_text(json.dumps(content))
    with Document.open(folder) as document:
        for index, words in enumerate(
            ("inside", "inside", "leads out", "does not exist", "names no picture", "with /")
        ):
            with pytest.raises(UserError, match=words):
                document.image_path(index)
            assert words in document.issues(index)[-1].what


def test_a_questions_file_elsewhere_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / QUESTIONS).rename(tmp_path / "elsewhere.json")
    (folder / QUESTIONS).symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(UserError, match="leads out of its folder"):
        Document.open(folder)


@pytest.mark.parametrize("name", ["lock", f"{QUESTIONS}.journal", "."])
def test_links_in_the_side_folder_are_not_followed(folder: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    if name == ".":
        outside.mkdir()
        (folder / ".annotate").symlink_to(outside)
    else:
        outside.write_text("precious")
        (folder / ".annotate").mkdir()
        (folder / ".annotate" / name).symlink_to(outside)
    with pytest.raises(UserError, match="is a symbolic link"):
        Document.open(folder)
    assert not list(outside.iterdir()) if name == "." else outside.read_text() == "precious"


def test_sizes_are_of_the_upright_picture(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 30)).save(tmp_path / "1.jpg", exif=exif)
    Image.new("RGB", (40, 30)).save(tmp_path / "2.png", exif=exif)
    Image.new("RGB", (40, 30)).save(tmp_path / "3.png")
    Image.new("RGB", (40, 30)).save(tmp_path / "4.webp", exif=exif)
    (tmp_path / "5.png").write_bytes((tmp_path / "3.png").read_bytes()[:20])
    with Document.open(tmp_path) as document:
        sizes = [document.image_size(index) for index in range(4)]
        assert [(size.width, size.height) for size in sizes] == [(30, 40), (30, 40), (40, 30), (30, 40)]
        assert [len(document.issues(index)) for index in range(5)] == [1, 1, 0, 1, 1]
        assert "EXIF orientation 6" in document.issues(0)[0].what
        with pytest.raises(UserError, match="picture"):
            document.image_size(4)


def test_boxes_outside_the_picture_are_reported_and_kept(document: Document) -> None:
    out, over = replace(BOX, x_px=64), replace(BOX, x_px=-3)
    document.change(0, replace(document.entries[0], boxes=(BOX, out, over)), "draw box")
    assert document.entries[0].boxes[1:] == (out, over)
    assert [(issue.field, "lies outside" in issue.what) for issue in document.issues(0)] == [
        ("bounding_box[1]", True),
        ("bounding_box[2]", False),
    ]


def test_an_element_that_is_no_object_is_shown_kept_and_not_changed(folder: Path) -> None:
    content = ["odd", *items(folder)]
    (folder / QUESTIONS).write_text(json.dumps(content))
    with Document.open(folder) as document:
        assert "is not an object" in document.issues(0)[0].what
        with pytest.raises(UserError, match="item 0 is not an object"):
            say(document, 0, "x")
        say(document, 1, "fine")
        document.save()
    assert items(folder)[0] == "odd"


def test_transcripts_come_from_the_file_of_a_recogniser(folder: Path) -> None:
    def clip(text: str) -> list[dict[str, object]]:
        return [{"audio": "audio/1.flac", "steps": ["images/1.png", "images/2.png"], "text": text, "words": []}]

    (folder / "transcriptions_GT.json").write_text(json.dumps(clip("what was said")))
    with Document.open(folder) as document:
        assert [entry.transcript for entry in document.entries[:3]] == ["what was said", "what was said", ""]
        (folder / "transcriptions_Wlarge.json").write_text(json.dumps(clip("what was sad")))
        document.reload_transcripts()
        assert document.entries[0].transcript == "what was said"
        say(document, 0, "x")
        document.save()
        assert "transcript" not in json.dumps(items(folder))
    with Document.open(folder) as document:
        assert document.entries[0].transcript == "what was sad"
        assert document.undo(0) == "say x"
        assert document.entries[0].transcript == "what was sad"
    with Document.open(folder, transcripts="transcriptions_gt.json") as document:
        assert document.entries[0].transcript == "what was said"
    with pytest.raises(UserError, match="there are transcriptions_GT"):
        Document.open(folder, transcripts="transcriptions_none.json")


def test_transcripts_that_name_no_steps_belong_to_steps_or_instructions_by_place(folder: Path) -> None:
    content = items(folder)
    content[1]["instruction"] = content[0]["instruction"]
    (folder / QUESTIONS).write_text(json.dumps(content))
    path = folder / "transcriptions_Wturbo.json"
    for texts, expected in (("abcde", "abcde"), ("abcd", "aabcd")):
        path.write_text(json.dumps(list(texts)))
        with Document.open(folder) as document:
            assert [entry.transcript for entry in document.entries] == list(expected)
    for wrong in ('["a"]', "{", "[7]"):
        path.write_text(wrong)
        with Document.open(folder) as document:
            assert document.notes[0].startswith(f"No transcripts are shown: {path}")
            assert document.entries[0].transcript == ""
        with pytest.raises(UserError, match=path.name):
            Document.open(folder, transcripts=path.name)
    assert not (folder / ".annotate").exists()


def test_permissions_of_the_file_are_kept(document: Document, folder: Path) -> None:
    (folder / QUESTIONS).chmod(0o640)
    say(document, 0, "x")
    document.save()
    assert (folder / QUESTIONS).stat().st_mode & 0o777 == 0o640


def test_text_with_half_a_character_goes_through_file_and_journal(folder: Path) -> None:
    content = items(folder)
    content[0]["instruction"] = "a \ud83d b"
    (folder / QUESTIONS).write_text(json.dumps(content))
    with Document.open(folder) as document:
        say(document, 0, "c \udfff")
    with Document.open(folder) as document:
        assert (comments(document)[0], document.recovered) == ("c \udfff", 1)
        document.save()
    assert items(folder)[0]["instruction"] == "a \ud83d b"
    assert items(folder)[0]["annotation"]["comment"] == "c \udfff"


def test_another_questions_file_has_a_journal_of_its_own(folder: Path) -> None:
    (folder / "questions_gt.json").write_bytes((folder / QUESTIONS).read_bytes())
    with Document.open(folder, questions="questions_gt.json") as document:
        say(document, 0, "x")
        document.save()
    with Document.open(folder) as document:
        assert comments(document)[0] == ""
    with Document.open(folder, questions="questions_gt.json") as document:
        assert document.undo(0) == "say x"
