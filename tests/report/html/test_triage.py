"""People's labels: kept, merged, compared, and never part of a score."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from grounding.analysis.labels import Label
from grounding.report.html.triage import LABELS_FILE, append_label, merge, read_triage, triage_lines
from grounding.run.folder import RunFolder
from grounding.run.scorebook import weigh

from .runs import make_run


def said(step: str, who: str, label: str, note: str = "") -> Label:
    return msgspec.convert({"step": step, "labeller": who, "label": label, "note": note}, Label)


def test_the_last_label_of_a_person_counts_and_can_be_withdrawn() -> None:
    first, second = said("1/1", "ann", "grounding"), said("1/1", "ann", "ambiguous")
    assert merge([first, second]) == (second,)
    assert merge([first, said("1/1", "ann", "withdrawn")]) == ()


def test_people_are_counted_and_compared_with_kappa_over_all_labels() -> None:
    # Worked out by hand: 3 of 4 agree, chance (2*2 + 1*1) / 16, kappa = (0.75 - 0.3125) / 0.6875.
    ann = ["reasoning", "reasoning", "grounding", "annotation-wrong"]
    bob = ["reasoning", "reasoning", "grounding", "ambiguous"]
    labels = [said(str(at), "ann", label) for at, label in enumerate(ann)]
    labels += [said(str(at), "bob", label) for at, label in enumerate(bob)]
    first, second = triage_lines(labels, ["0", "3"])
    said_of = "2 people labelled 2 of 2 misses and 2 other steps: reasoning 2 · grounding 1 · disputed 1"
    assert first == f"{said_of} (no score changes by it)"
    alone = [said("1", "ann", "annotation-wrong"), said("9", "bob", "other")]
    assert triage_lines(alone, [])[1] == "ann and bob have labelled no step in common"
    assert triage_lines((), ["1"]) == ()
    assert second.startswith("ann and bob agree on 3/4 steps, kappa 0.64 [")


def test_labels_change_no_score(tmp_path: Path) -> None:
    before = make_run(tmp_path / "run")
    append_label(tmp_path / "run", said("1/3", "ann", "annotation-wrong"))
    after = weigh(RunFolder(tmp_path / "run"))
    assert after.summary.scores == before.summary.scores
    assert after.summary.counts == before.summary.counts


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    def work(who: str) -> None:
        for number in range(50):
            append_label(tmp_path, said(str(number), who, "other", note="n" * number))

    threads = [threading.Thread(target=work, args=(f"p{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_triage(tmp_path)) == 200


def test_a_torn_line_is_passed_over_and_swallows_none(tmp_path: Path) -> None:
    append_label(tmp_path, said("1", "ann", "other"))
    with (tmp_path / LABELS_FILE).open("ab") as file:
        file.write(b'{"step": "2", "la')
    assert len(read_triage(tmp_path)) == 1
    append_label(tmp_path, said("3", "ann", "other"))
    assert [label.step for label in read_triage(tmp_path)] == ["1", "3"]
