"""Processes that each hold a recogniser of their own. One that dies costs the clip that killed it, not the run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from grounding.asr.hearing import Job, Noise, failed, hear_job
from grounding.asr.recogniser import Recogniser
from grounding.asr.records import Heard

_mine: tuple[Recogniser, Noise | None] | None = None


def _begin(recogniser: Recogniser, noise: Noise | None) -> None:
    global _mine
    _mine = (recogniser, noise)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the main process ends this one.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can't end its workers, which would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(job: Job) -> Heard:
    if _mine is None:
        raise RuntimeError("the worker was not set up")
    recogniser, noise = _mine
    return hear_job(job, recogniser, noise)


def in_processes(jobs: Sequence[Job], recogniser: Recogniser, noise: Noise | None, processes: int) -> Iterator[Heard]:
    """Hear clips in processes, in whatever order they are ready.

    When a process dies (a crash in the recogniser's C code, the kernel short of memory), the clips that were being
    heard are heard again one by one, each in a process of its own; the one that kills that, too, has failed.

    Raises:
        UserError: what ends the run.
    """
    left = deque(jobs)
    while left:
        suspects: list[Job] = []
        yield from _pool(left, recogniser, noise, min(processes, len(left)), suspects)
        for job in suspects:
            again: list[Job] = []
            yield from _pool(deque([job]), recogniser, noise, 1, again)
            if again:
                yield failed(job, "error", "the recogniser's process died over this clip, twice")


def _pool(
    left: deque[Job], recogniser: Recogniser, noise: Noise | None, processes: int, suspects: list[Job]
) -> Iterator[Heard]:
    """Work ``left`` off until it is empty or a process dies; ``suspects`` gets the clips that had no answer then."""
    # Not forked: threads and locks of this process would be copied in whatever state they are.
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=spawn, initializer=_begin, initargs=(recogniser, noise))
    running: dict[Future[Heard], Job] = {}
    try:
        while (left or running) and not suspects:
            while left and len(running) < processes + 1:  # One more than can run, so that none waits for this process.
                job = left.popleft()
                running[pool.submit(_work, job)] = job
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    suspects.append(job)
        suspects += running.values()
    except BrokenProcessPool:  # Found by submit: the clip on its way in is not among those running.
        suspects += [job, *running.values()]
    finally:
        _end(pool)


def _end(pool: ProcessPoolExecutor) -> None:
    """End the processes now: whoever stops in the middle of a long clip should not wait for its end."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()
