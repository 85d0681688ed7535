"""Somebody else writes the questions file, while it is open here or between two sittings: nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from annotate.document import QUESTIONS, Document
from annotate.saving import ChangedOnDisk, SaveFailed
from grounding.errors import UserError

Items = list[dict[str, Any]]


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    return Path(tiny_dataset(participants=["ann"], unscored=())) / "ann"


def items(folder: Path) -> Items:
    found = json.loads((folder / QUESTIONS).read_bytes())
    assert isinstance(found, list)
    return found


def elsewhere(folder: Path, edit: Callable[[Items], object], **style: Any) -> bytes:
    """Another program changes the file."""
    found = items(folder)
    edit(found)
    content = json.dumps(found, **style).encode()
    (folder / QUESTIONS).write_bytes(content)
    return content


def theirs(found: Items) -> None:
    found[0]["instruction"] = "theirs"


def say(document: Document, index: int, comment: str) -> None:
    document.change(index, replace(document.entries[index], comment=comment), f"say {comment}")


def seen(document: Document) -> list[tuple[str, str]]:
    return [(entry.instruction, entry.comment) for entry in document.entries]


def test_a_foreign_change_is_noticed_though_size_and_time_are_the_same(folder: Path) -> None:
    with Document.open(folder) as document:
        assert not document.changed_on_disk()
        status = (folder / QUESTIONS).stat()
        content = (folder / QUESTIONS).read_bytes().replace(b"click thing 0", b"click thing X")
        (folder / QUESTIONS).write_bytes(content)
        os.utime(folder / QUESTIONS, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert document.changed_on_disk()
        (folder / QUESTIONS).write_bytes(content.replace(b"click thing X", b"click thing 0"))
        assert not document.changed_on_disk()


def test_a_foreign_change_is_never_overwritten_silently(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 1, "ours")
        content = elsewhere(folder, theirs)
        for _ in range(2):
            with pytest.raises(ChangedOnDisk, match="changed by another program"):
                document.save()
        assert (folder / QUESTIONS).read_bytes() == content
        assert document.dirty
        document.save(overwrite=True)
        assert items(folder)[0]["instruction"] == "click thing 0"
        assert items(folder)[1]["annotation"]["comment"] == "ours"
        say(document, 1, "more")
        document.save()
        say(document, 1, "and more")
        document.save()
    assert content in [path.read_bytes() for path in (folder / ".annotate").glob("*.version")]


def test_insisting_writes_even_what_was_saved_before(folder: Path) -> None:
    with Document.open(folder) as document:
        content = (folder / QUESTIONS).read_bytes()
        elsewhere(folder, theirs)
        document.save()
        assert items(folder)[0]["instruction"] == "theirs"
        document.save(overwrite=True)
        assert (folder / QUESTIONS).read_bytes() == content
        assert not document.changed_on_disk()


def test_their_file_is_taken_and_ours_can_be_had_back(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "ours")
        say(document, 1, "both")
        content = elsewhere(folder, theirs)
        document.reload()
        assert seen(document)[:2] == [("theirs", ""), ("click thing 1", "")]
        assert not document.dirty
        assert not document.changed_on_disk()
        document.save()
        assert (folder / QUESTIONS).read_bytes() == content
    with Document.open(folder) as document:
        assert seen(document)[:2] == [("theirs", ""), ("click thing 1", "")]
        assert document.undo(0) == "changed by another program"
        assert seen(document)[0] == ("click thing 0", "ours")
        assert document.undo(0) == "say ours"
        assert document.undo(1) == "changed by another program"
        assert seen(document)[1] == ("click thing 1", "both")
        document.save()
        assert items(folder)[1]["annotation"]["comment"] == "both"
        assert document.redo(1) == "changed by another program"
        assert document.undo(2) is None


def test_between_two_sittings_their_file_counts_and_undo_reaches_back(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "ours")
        say(document, 1, "saved")
        document.save()
    content = elsewhere(folder, theirs)
    with Document.open(folder) as document:
        assert (document.recovered, document.notes, document.dirty) == (0, (), False)
        assert seen(document)[:2] == [("theirs", "ours"), ("click thing 1", "saved")]
        assert document.undo(1) == "say saved"
        assert document.undo(0) == "changed by another program"
        assert document.redo(0) == "changed by another program"
        assert document.redo(1) == "say saved"
        assert not document.dirty
        document.save()
    assert (folder / QUESTIONS).read_bytes() == content


def test_unsaved_work_and_a_foreign_change_are_both_kept_until_somebody_chooses(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 1, "saved")
        document.save()
        say(document, 1, "unsaved")
    content = elsewhere(folder, theirs)
    for _ in range(2):
        with Document.open(folder) as document:
            assert document.recovered == 1
            assert "changed by another program" in document.notes[0]
            assert seen(document)[:2] == [("click thing 0", ""), ("click thing 1", "unsaved")]
            assert document.changed_on_disk()
            with pytest.raises(ChangedOnDisk):
                document.save()
    assert (folder / QUESTIONS).read_bytes() == content
    with Document.open(folder) as document:
        document.reload()
        assert seen(document)[:2] == [("theirs", ""), ("click thing 1", "saved")]
        document.undo(1)
        document.save()
    assert items(folder)[0]["instruction"] == "theirs"
    assert items(folder)[1]["annotation"]["comment"] == "unsaved"


def test_another_form_of_the_same_values_is_no_change_of_a_step(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "é")
        document.save()
        content = elsewhere(folder, lambda _: None, indent=7, ensure_ascii=False)
        document.reload()
        assert document.undo(0) == "say é"
        document.redo(0)
        document.save()
        assert (folder / QUESTIONS).read_bytes() == content
        say(document, 1, "x")
        document.save()
        assert json.dumps(items(folder), indent=7, ensure_ascii=False).encode() == (folder / QUESTIONS).read_bytes()


def test_fields_that_were_added_elsewhere_are_kept(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "ours")
        document.save()
        elsewhere(folder, lambda found: found[0].update(clip="audio/1.flac"))
        document.reload()
        say(document, 0, "more")
        document.save()
    assert items(folder)[0]["clip"] == "audio/1.flac"
    assert items(folder)[0]["annotation"]["comment"] == "more"


def test_steps_that_came_and_went_elsewhere_keep_their_histories(folder: Path) -> None:
    def edit(found: Items) -> None:
        found.insert(0, {"final_image": "images/9.png", "instruction": "new", "action": ""})
        found[1], found[2] = found[2], found[1]
        del found[4]

    with Document.open(folder) as document:
        for index in range(4):
            say(document, index, str(index))
        document.save()
        elsewhere(folder, edit)
        document.reload()
        assert seen(document) == [
            ("new", ""), ("click thing 1", "1"), ("click thing 0", "0"), ("click thing 2", "2"),
        ]  # fmt: skip
        assert document.undo(1) == "say 1"
        assert document.undo(0) is None
    with Document.open(folder) as document:
        assert document.undo_order() == "changed by another program"
        assert [comment for _, comment in seen(document)] == ["0", "", "2", "3"]
        assert document.undo(3) == "say 3"


def test_a_deleted_file_is_noticed_and_written_again_when_asked(folder: Path) -> None:
    with Document.open(folder) as document:
        (folder / QUESTIONS).unlink()
        assert document.changed_on_disk()
        say(document, 0, "x")
        with pytest.raises(ChangedOnDisk, match="has been deleted"):
            document.save()
        with pytest.raises(UserError, match="can't be read"):
            document.reload()
        document.save(overwrite=True)
        assert items(folder)[0]["annotation"]["comment"] == "x"
    (folder / QUESTIONS).unlink()
    with Document.open(make_picture(folder)) as document:
        assert "is gone" in document.notes[0]
        assert document.dirty
        assert seen(document)[0] == ("click thing 0", "x")
        document.save()
    assert items(folder)[0]["annotation"]["comment"] == "x"


def make_picture(folder: Path) -> Path:
    assert (folder / "images/1.png").exists()
    return folder


def test_a_broken_file_on_disk_is_not_taken(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "x")
        (folder / QUESTIONS).write_text("[")
        with pytest.raises(UserError, match="is not JSON"):
            document.reload()
        assert seen(document)[0] == ("click thing 0", "x")
        document.save(overwrite=True)
    assert items(folder)[0]["annotation"]["comment"] == "x"


def test_a_file_that_became_a_folder_is_no_crash(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "x")
        (folder / QUESTIONS).unlink()
        (folder / QUESTIONS).mkdir()
        with pytest.raises(SaveFailed, match="can't be read"):
            document.save(overwrite=True)


def journal_of(folder: Path) -> Path:
    return folder / ".annotate" / f"{QUESTIONS}.journal"


def with_a_journal(folder: Path) -> list[bytes]:
    with Document.open(folder) as document:
        for number in range(3):
            say(document, 0, str(number))
        document.save()
        say(document, 0, "unsaved")
    return journal_of(folder).read_bytes().splitlines(keepends=True)


def test_a_line_torn_off_at_any_byte_is_dropped(folder: Path) -> None:
    lines = with_a_journal(folder)
    whole = b"".join(lines[:-1])
    for length in {0, 1, 20, len(lines[-1]) - 1}:
        journal_of(folder).write_bytes(whole + lines[-1][:length])
        with Document.open(folder) as document:
            assert (seen(document)[0][1], document.recovered, document.notes) == ("2", 0, ())
    journal_of(folder).write_bytes(whole + b"\0" * 100)
    with Document.open(folder) as document:
        say(document, 0, "next")
    with Document.open(folder) as document:
        assert document.undo(0) == "say next"
        assert seen(document)[0][1] == "2"


@pytest.mark.parametrize("line", [0, 1, 2, 4, 5])
@pytest.mark.parametrize(
    "damage",
    [b"garbage\n", b'{"type":"change","step":77,"entry":{"image":"x"},"what":"y"}\n', b'{"type":"undo","step":0}\n'],
)
def test_a_damaged_journal_is_kept_aside_and_the_file_counts(folder: Path, line: int, damage: bytes) -> None:
    lines = with_a_journal(folder)
    content = (folder / QUESTIONS).read_bytes()
    damaged = b"".join([*lines[:line], damage, *lines[line + 1 :]])
    journal_of(folder).write_bytes(damaged)
    harmless = b"undo" in damage and line > 0
    with Document.open(folder) as document:
        if harmless:
            # A change less, or one taken back: a journal like any other.
            assert document.notes == ()
            return
        assert "journal could not be read" in document.notes[0]
        assert seen(document)[0][1] == "2"
        assert (document.dirty, document.recovered) == (False, 0)
        say(document, 0, "on")
        document.save()
        document.undo(0)
        document.save()
        assert (folder / QUESTIONS).read_bytes() == content
    (aside,) = (folder / ".annotate").glob("*.damaged1")
    assert aside.read_bytes() == damaged
    with Document.open(folder) as document:
        assert document.notes == ()
        assert document.redo(0) == "say on"


def test_a_damaged_journal_is_copied_once(folder: Path) -> None:
    lines = with_a_journal(folder)
    journal_of(folder).write_bytes(b"".join([*lines[:3], b"garbage\n", *lines[3:]]))
    for _ in range(3):
        Document.open(folder).close()
    assert len(list((folder / ".annotate").glob("*.damaged*"))) == 1


def test_a_missing_version_is_no_crash(folder: Path) -> None:
    with_a_journal(folder)
    for path in (folder / ".annotate").glob("*.version"):
        path.write_bytes(b"[]")
    with Document.open(folder) as document:
        assert "not what was written there" in document.notes[0]
        assert seen(document)[0][1] == "2"
    with Document.open(folder) as document:
        assert document.notes == ()
        say(document, 0, "on")
    with Document.open(folder) as document:
        assert (document.notes, document.undo(0)) == ((), "say on")


def test_a_journal_of_another_version_is_refused(folder: Path) -> None:
    lines = with_a_journal(folder)
    journal_of(folder).write_bytes(lines[0].replace(b'"type":"started"', b'"type":"started","version":2'))
    with pytest.raises(UserError, match="another version of this program"):
        Document.open(folder)


def test_a_side_folder_that_is_cleaned_away_while_it_is_open_is_made_again(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "first")
        elsewhere(folder, theirs)
        document.reload()
        say(document, 1, "second")
    with Document.open(folder) as document:
        for number in range(2):
            shutil.rmtree(folder / ".annotate")
            say(document, 2, f"after {number}")
            assert document.trouble == ""
        with pytest.raises(UserError, match="open in this program"):
            Document.open(folder)
    with Document.open(folder) as document:
        assert (document.notes, document.recovered) == ((), 3)
        assert [document.undo(2), document.undo(2), document.undo(1)] == ["say after 1", "say after 0", "say second"]
        assert document.undo(0) == "changed by another program"
        assert seen(document)[0] == ("click thing 0", "first")


def test_a_folder_that_is_moved_away_while_it_is_open_keeps_the_work_in_memory(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "first")
        folder.rename(folder.with_name("moved"))
        say(document, 0, "second")
        assert "in memory only" in document.trouble
        with pytest.raises(SaveFailed):
            document.save(overwrite=True)
        folder.with_name("moved").rename(folder)
        document.save()
        assert document.trouble == ""
    assert items(folder)[0]["annotation"]["comment"] == "second"


def test_an_interruption_between_disk_and_memory_leaves_both_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Document.open(folder) as document:
        say(document, 0, "first")
        with monkeypatch.context() as patched:

            def interrupted(_: int) -> None:
                raise KeyboardInterrupt

            patched.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                say(document, 0, "second")
        assert seen(document)[0][1] == "second"
        assert document.undo(0) == "say second"
    with Document.open(folder) as document:
        assert seen(document)[0][1] == "first"
        assert document.redo(0) == "say second"
        assert document.undo(0) == "say second"
        assert document.undo(0) == "say first"
