"""torch's threads wait asleep from the first import of groundrail on, unless the user has chosen or torch is loaded."""

import os
import subprocess
import sys

import pytest

ENTRANCES = ("groundrail", "groundrail.cli.main", "groundrail.decoding.generator", "groundrail.integrations.mcp")


def policy_after(imports: str, **environment: str) -> str:
    code = f"import {imports}, os; print(os.environ.get('OMP_WAIT_POLICY'))"
    unset = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
    run = [sys.executable, "-c", code]
    return subprocess.run(run, env=unset | environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("module", ENTRANCES)
def test_threads_sleep_wherever_a_program_enters(module: str) -> None:
    assert policy_after(module) == "PASSIVE"


@pytest.mark.parametrize("chosen", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_a_choice_of_the_users_stays(chosen: str) -> None:
    assert policy_after("groundrail", **{chosen: "200"}) == ("200" if chosen == "OMP_WAIT_POLICY" else "None")


def test_nothing_is_set_where_torch_is_loaded() -> None:
    assert policy_after("torch, groundrail") == "None"
