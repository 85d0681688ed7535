"""What libraries print goes into a stage's log instead of on the terminal; nothing is lost."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOG = "log.txt"

_LOGGERS = ("transformers", "trl", "peft", "accelerate", "datasets", "torch", "huggingface_hub", "py.warnings", "vllm")


@contextmanager
def quiet_libraries(path: Path) -> Iterator[None]:
    """Send warnings and log messages of the libraries to a file, and show no bars, inside the block.

    Usage reports that libraries send over the network are off too, for good.
    """
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    before = []
    logging.captureWarnings(True)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        before.append((logger, logger.handlers, logger.propagate))
        logger.handlers, logger.propagate = [handler], False
    bars = _hide_bars()
    try:
        yield
    finally:
        for show in bars:
            show()
        for logger, handlers, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
        logging.captureWarnings(False)
        handler.close()


def _hide_bars() -> list[Callable[[], None]]:
    """Hide the libraries' progress bars; returns what shows those again that were shown."""
    import huggingface_hub.constants

    huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True
    shown: list[Callable[[], None]] = []
    transformers: Any = importlib.import_module("transformers.utils.logging")
    if transformers.is_progress_bar_enabled():
        transformers.disable_progress_bar()
        shown.append(transformers.enable_progress_bar)
    # By name, since a checkout has a folder that is called so too.
    datasets: Any = importlib.import_module("datasets")
    if datasets.is_progress_bar_enabled():
        datasets.disable_progress_bars()
        shown.append(datasets.enable_progress_bars)
    hub: Any = importlib.import_module("huggingface_hub.utils")
    if not hub.are_progress_bars_disabled():
        hub.disable_progress_bars()
        shown.append(hub.enable_progress_bars)
    return shown
