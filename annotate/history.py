"""Every value that every step ever had, and which of them counts now. Pure: events in, states out; no files.

A step has a number that stays its own: its position in the file that the document started from, or the next free one.
Each value knows the item of a file that it was made from, so that taking a change back also brings back what the file
said there.
"""

from __future__ import annotations

from annotate.events import (
    Changed,
    Event,
    Inserted,
    OrderRedone,
    OrderUndone,
    Redone,
    Reloaded,
    Removed,
    Taken,
    Undone,
)
from annotate.json_text import deeper, one_form
from annotate.native_file import NativeFile, item_layout, write_native
from annotate.native_item import Item, new_item, write_item
from annotate.records import Entry

ELSEWHERE = "changed by another program"
"""What is undone where a file on disk was taken in the place of ours."""

_ADDED, _REMOVED = "add step", "remove step"


class Revision:
    """One value of a step: the entry, the item it is written into, and what made it."""

    __slots__ = ("_text", "entry", "item", "joined", "what")

    def __init__(self, entry: Entry, item: Item, what: str = "", *, joined: bool = False) -> None:
        self.entry = entry
        self.item = item
        self.what = what
        self.joined = joined
        self._text: str | None = None

    def text(self, file: NativeFile) -> str:
        """The step as JSON, set out as in ``file`` where its own item does not say how."""
        if self._text is None:
            self._text = write_item(self.item, self.entry, deeper(file.layout))
        return self._text

    def same_as(self, other: Revision) -> bool:
        """Whether both are written alike."""
        return self is other or (self.entry == other.entry and self.item.text == other.item.text)


class StepHistory:
    """All values of one step, the present one at ``now``; those behind it can be made again."""

    __slots__ = ("now", "revisions")

    def __init__(self, first: Revision) -> None:
        self.revisions = [first]
        self.now = 0

    @property
    def current(self) -> Revision:
        """The value that counts."""
        return self.revisions[self.now]

    @property
    def can_undo(self) -> bool:
        """Whether there is a value before the present one."""
        return self.now > 0

    @property
    def can_redo(self) -> bool:
        """Whether there is a value behind the present one."""
        return self.now + 1 < len(self.revisions)

    def push(self, revision: Revision) -> None:
        """A new value; what had been taken back is gone."""
        del self.revisions[self.now + 1 :]
        self.revisions.append(revision)
        self.now += 1

    def undo(self) -> str | None:
        """Back to the value before the last movement; what made it."""
        if not self.can_undo:
            return None
        while self.current.joined and self.now > 1:
            self.now -= 1
        self.now -= 1
        return self.revisions[self.now + 1].what

    def redo(self) -> str | None:
        """On to the end of the movement that was taken back last; what made it."""
        if not self.can_redo:
            return None
        self.now += 1
        what = self.current.what
        while self.can_redo and self.revisions[self.now + 1].joined:
            self.now += 1
        return what


class History:
    """All steps of a document, their order, and how both differ from what was saved last."""

    def __init__(self, file: NativeFile) -> None:
        self._file = file
        self._steps = {
            number: StepHistory(Revision(place.item.entry, place.item)) for number, place in enumerate(file.places)
        }
        self._gaps = {number: place.gap for number, place in enumerate(file.places)}
        self._order: tuple[int, ...] = tuple(self._steps)
        self._next = len(self._steps)
        self._past: list[tuple[tuple[int, ...], str]] = []
        self._future: list[tuple[tuple[int, ...], str]] = []
        self.mark_saved()

    @property
    def order(self) -> tuple[int, ...]:
        """The numbers of the steps, in their order."""
        return self._order

    @property
    def next_step(self) -> int:
        """The number of the next new step."""
        return self._next

    @property
    def can_undo_order(self) -> bool:
        """Whether an insertion or removal can be taken back."""
        return bool(self._past)

    @property
    def can_redo_order(self) -> bool:
        """Whether an insertion or removal can be made again."""
        return bool(self._future)

    def step(self, number: int) -> StepHistory:
        """The values of a step."""
        return self._steps[number]

    def entries(self) -> tuple[Entry, ...]:
        """The steps as they are now."""
        return tuple(self._steps[number].current.entry for number in self._order)

    def write(self) -> bytes:
        """The questions file that says all this."""
        return write_native(self._file, self.texts(), [self._gaps.get(number, "") for number in self._order])

    def text(self, number: int) -> str:
        """A step as JSON."""
        return self._steps[number].current.text(self._file)

    def texts(self) -> list[str]:
        """The steps as JSON, in their order."""
        return [self.text(number) for number in self._order]

    def mark_saved(self) -> None:
        """Call the present state the one that is on disk."""
        self._saved_order = self._order
        self._saved: dict[int, Revision] = {}
        self._differing: set[int] = set()

    @property
    def dirty(self) -> bool:
        """Whether the state differs from the one that was marked as saved."""
        return self._order != self._saved_order or not self._differing.isdisjoint(self._order)

    def apply(self, event: Event) -> str | None:
        """Let something happen; what was taken back or made again, or None where nothing was left for that.

        Events that change no step (started, saving, saved) are passed over. A file that was read again is not taken
        here: see ``reload``.
        """
        if isinstance(event, Changed):
            step = self._steps[event.step]
            self._note(event.step)
            step.push(Revision(event.entry, step.current.item, event.what, joined=event.joined))
            self._compare(event.step)
            return event.what
        if isinstance(event, Undone | Redone):
            step = self._steps[event.step]
            self._note(event.step)
            what = step.undo() if isinstance(event, Undone) else step.redo()
            self._compare(event.step)
            return what
        if isinstance(event, Inserted):
            self._insert(event)
            return _ADDED
        if isinstance(event, Removed):
            self._set_order(tuple(number for number in self._order if number != event.step), _REMOVED)
            return _REMOVED
        if isinstance(event, OrderUndone):
            return self._swap(self._past, self._future)
        if isinstance(event, OrderRedone):
            return self._swap(self._future, self._past)
        return None

    def reload(self, event: Reloaded, file: NativeFile) -> None:
        """Take the items of a file that somebody else wrote; our value of each that differs can be had back."""
        for taken, place in zip(event.items, file.places, strict=True):
            new = Revision(place.item.entry, place.item, ELSEWHERE)
            if taken.fate == "new":
                self._steps[taken.step] = StepHistory(new)
                self._next = max(self._next, taken.step + 1)
            elif taken.fate == "changed":
                self._steps[taken.step].push(new)
            else:
                step = self._steps[taken.step]
                new.what, new.joined = step.current.what, step.current.joined
                step.revisions[step.now] = new
        self._gaps = {taken.step: place.gap for taken, place in zip(event.items, file.places, strict=True)}
        self._file = file
        order = tuple(taken.step for taken in event.items)
        if order != self._order:
            self._set_order(order, ELSEWHERE)
        self.mark_saved()

    def _insert(self, event: Inserted) -> None:
        item = new_item(event.entry, item_layout(self._file))
        self._steps[event.step] = StepHistory(Revision(event.entry, item, _ADDED))
        self._next = max(self._next, event.step + 1)
        self._set_order((*self._order[: event.at], event.step, *self._order[event.at :]), _ADDED)

    def _set_order(self, order: tuple[int, ...], what: str) -> None:
        self._past.append((self._order, what))
        self._future.clear()
        self._order = order

    def _swap(self, source: list[tuple[tuple[int, ...], str]], target: list[tuple[tuple[int, ...], str]]) -> str | None:
        if not source:
            return None
        order, what = source.pop()
        target.append((self._order, what))
        self._order = order
        return what

    def _note(self, number: int) -> None:
        self._saved.setdefault(number, self._steps[number].current)

    def _compare(self, number: int) -> None:
        if self._steps[number].current.same_as(self._saved[number]):
            self._differing.discard(number)
        else:
            self._differing.add(number)


def match(history: History, file: NativeFile) -> tuple[Taken, ...]:
    """Which of our steps the items of another version of the file are.

    Equal values first, in their order; then, among what is left, items and steps with the same picture, in their
    order. Any other item is a new step.
    """
    left = dict(zip(history.order, history.texts(), strict=True))
    found: dict[int, Taken] = {}
    theirs = [place.item for place in file.places]
    for key_of in (_by_text, one_form):
        waiting: dict[str, list[int]] = {}
        for number, text in left.items():
            waiting.setdefault(key_of(text), []).append(number)
        for index, item in enumerate(theirs):
            if index not in found and (numbers := waiting.get(key_of(item.text))):
                found[index] = Taken(step=numbers.pop(0), fate="same")
                del left[found[index].step]
    by_image: dict[str, list[int]] = {}
    for number in left:
        by_image.setdefault(history.step(number).current.entry.image, []).append(number)
    following = history.next_step
    for index, item in enumerate(theirs):
        if index in found:
            continue
        if item.entry.image and (numbers := by_image.get(item.entry.image)):
            found[index] = Taken(step=numbers.pop(0), fate="changed")
        else:
            found[index] = Taken(step=following, fate="new")
            following += 1
    return tuple(found[index] for index in range(len(theirs)))


def _by_text(text: str) -> str:
    return text
