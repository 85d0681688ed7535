"""``grounding annotate review RUN``: the window at the first case of a run."""

from pathlib import Path


def review_command(
    run: Path, /, *, data: Path | None = None, annotator: str = "", keys: Path | None = None, scale: float | None = None
) -> int:
    """Go through the misses of a run: see gold, plan and click, and say whose fault each was.

    Labels are appended to labels.jsonl in the run's folder, the file that `grounding view` writes; no score changes by
    them. Boxes can be corrected on the way. Exit code 0: the window was closed; 2: something about the command, the
    run, the data or the display is wrong.

    Args:
        run: The run's folder.
        data: The folder with the participants' folders [default: where the run's screenshots are].
        annotator: Who labels [default: your name on this machine].
        keys: A file of keys (YAML) that replaces some of the window's own.
        scale: How large everything is, 1.5 for 150 % [default: what the display says].
    """
    from ..display import WindowOptions, require_display
    from .reviewer import first_place

    folder, step, labeller = first_place(run, data, annotator)
    require_display()
    from ..window.main import annotate

    options = WindowOptions(
        folder=folder, annotator=labeller, run=run, keys=keys, scale=scale, step=step,
    )  # fmt: skip
    annotate(options)
    return 0
