"""How torch's threads wait for each other: asleep, so that beside another busy program they get the cores they need."""

import os
import sys

ASLEEP = {"OMP_WAIT_POLICY": "PASSIVE"}
"""OpenMP's settings in the environment, which it reads when torch is loaded."""

_CHOICES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Variables by which a user says how threads wait."""


def let_threads_sleep() -> None:
    """Set `ASLEEP` unless torch is loaded, or the environment says already how threads wait.

    A thread that waits awake takes a core that the thread it waits for may need.
    """
    if "torch" not in sys.modules and not any(name in os.environ for name in _CHOICES):
        os.environ.update(ASLEEP)
