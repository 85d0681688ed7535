"""What ``grounding curation mall`` does: the shops of a data set, served for people."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from grounding.errors import UserError
from grounding.interrupts import terminated_like_interrupted
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.mall.server import serve_until_stopped

EXIT_OK = 0


def serve_dataset(dataset: str, data_dir: Path | None, port: int) -> int:
    """Serve the shops of a data set until Ctrl-C, the addresses on standard output; the exit code is 0 then.

    Raises:
        UserError: the data set can't be read, has no shops, or the port is taken.
    """
    loaded = load_curation(dataset, data_dir)
    if not loaded.sites:
        raise UserError(
            f"{dataset} has no shops of its own: its users shop on the open web. Name a data set with a folder "
            "`shops`, such as sample-mall."
        )
    try:
        with terminated_like_interrupted():
            serve_until_stopped(Path(loaded.folder), port, partial(print, flush=True))
    except KeyboardInterrupt:
        # Ctrl-C is how this ends.
        pass
    return EXIT_OK
