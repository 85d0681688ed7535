"""``python -m annotate review RUN``: the window at the first case of a run. No logic of its own."""

from __future__ import annotations

from pathlib import Path

REVIEW_EXAMPLES = """
Examples:

```
# Go through what a run got wrong, beside the data that it was over
python -m annotate review results/sample-web_none_ocr_0123456789 --annotator ann

# What was said is for the error split, too
grounding blame RUN --labels RUN/labels.jsonl
```
"""


def review_command(
    run: Path,
    /,
    *,
    data: Path | None = None,
    annotator: str | None = None,
    questions: str | None = None,
    keys: Path | None = None,
    scale: float | None = None,
) -> int:
    """Go through the misses of a run: see gold, plan and click, and say whose fault each was.

    Labels are appended to labels.jsonl in the run's folder, the file that `grounding view` writes; no score changes by
    them. Boxes can be corrected on the way. Exit code 0: the window was closed; 2: something about the command, the
    run, the data or the display is wrong.

    Args:
        run: The run's folder.
        data: The folder with the participants' folders [default: where the run's screenshots are].
        annotator: Who labels [default: your name on this machine].
        questions: Which questions file [default: questions_with_task_updated.json].
        keys: A file of keys (.yaml or .toml) that replaces some of the window's own.
        scale: How large everything is, 1.5 for 150 % [default: what the display says].
    """
    from annotate.display import require_display
    from annotate.review.opening import first_place

    place = first_place(run, data, questions, annotator or "")
    require_display()
    from annotate.window.main_window import annotate
    from annotate.window.panels import WindowOptions

    annotate(
        WindowOptions(
            folder=place.folder,
            annotator=place.labeller,
            questions=questions or "",
            run=run,
            keys=keys,
            scale=scale,
            step=place.index,
        )
    )
    return 0
