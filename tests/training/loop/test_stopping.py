from __future__ import annotations

import os
import signal
import threading

import pytest

from grounding.training.loop.stopping import StopSwitch


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_waits_and_the_second_does_not(number: signal.Signals, request: pytest.FixtureRequest) -> None:
    if number == signal.SIGINT:
        # A program in the background of a script ignores Ctrl-C; here it is caught whatever these tests are run by.
        before_test = signal.signal(signal.SIGINT, signal.default_int_handler)
        request.addfinalizer(lambda: signal.signal(signal.SIGINT, before_test))
    told: list[str] = []
    switch = StopSwitch(lambda: told.append("stopping"))
    before = signal.getsignal(number)
    with switch.watched(), switch.deferring():
        os.kill(os.getpid(), number)
        assert switch.asked
        assert told == ["stopping"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_a_program_in_the_background_goes_on_ignoring_ctrl_c() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        switch = StopSwitch()
        with switch.watched(), switch.deferring():
            os.kill(os.getpid(), signal.SIGINT)
        assert not switch.asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_of_training_a_signal_interrupts_at_once() -> None:
    switch = StopSwitch()
    with switch.watched(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    assert not switch.asked


def test_other_threads_leave_signals_alone() -> None:
    entered = []

    def run() -> None:
        with StopSwitch().watched():
            entered.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert entered == [True]
