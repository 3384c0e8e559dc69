"""Threads of calls: one for calls one after another, fresh ones after a fork."""

import subprocess
import sys
import textwrap
import threading

import pytest

from groundrail.runtime.deadlines import Calls


def test_calls_one_after_another_need_one_thread() -> None:
    calls, before, interval = Calls(), set(threading.enumerate()), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # a thread that has answered is interrupted before it can say that it is idle
    try:
        names = {calls.within(30, threading.get_ident) for _ in range(2000)}
    finally:
        sys.setswitchinterval(interval)
    assert len(names) == 1
    assert len(set(threading.enumerate()) - before) == 1


@pytest.mark.slow
def test_a_guard_that_was_used_in_async_code_works_in_a_forked_child() -> None:
    script = textwrap.dedent("""
        import asyncio, os, signal
        from groundrail import Guard, Policy
        from groundrail.testing import FakeEntailment

        SOURCE = "The rent is 950 euros."
        guard = Guard(lambda prompt: SOURCE, scorer="scale", judge=FakeEntailment(), policy=Policy(deadline=30))

        def used():
            checked, written = asyncio.run(guard.acheck(SOURCE, SOURCE)), asyncio.run(guard.agenerate("?", SOURCE))
            return [checked.text, written.text, guard.generate("?", SOURCE).text]

        assert used() == [SOURCE] * 3
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that hangs
            assert used() == [SOURCE] * 3
            os._exit(0)
        assert used() == [SOURCE] * 3
        print(os.waitpid(child, 0)[1])
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=150, check=False)
    assert (done.stdout.strip(), done.stderr) == ("0", "")
