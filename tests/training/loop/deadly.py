"""A builder whose first worker is killed before it has begun, while the second one waits for it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

if os.environ.get("RANK") == "0":
    os.kill(os.getpid(), signal.SIGKILL)
elif "RANK" in os.environ:
    time.sleep(600)


def build(_context: Any) -> Any:
    """Never gets that far."""
    raise AssertionError("the worker should be dead")
