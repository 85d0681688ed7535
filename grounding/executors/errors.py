"""How the work on a cluster can end, apart from answers and from what a user can put right."""

from __future__ import annotations

from grounding.errors import Halted


class ClusterLost(Halted):
    """The cluster was out of reach for longer than the patience lasts: the run ends, and the same command resumes it.

    Everything that was answered is kept.
    """


class WorkerGone(Exception):
    """The one worker that could have answered is lost, is being drained, or was never there."""


class WorkersLost(Exception):
    """Several workers were lost with one item of a stage: it counts as the reason, and is not asked again."""


class ItemBroke(Exception):
    """An item of a stage ended in an error of the infrastructure on a worker, without a record."""


class PoolClosed(Exception):
    """The pool was closed while the question was open."""
