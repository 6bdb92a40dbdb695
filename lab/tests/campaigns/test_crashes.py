"""A process that writes may be killed at any moment: what was acknowledged is kept, once, and the store is sound."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ["-m", "lab.tests.campaigns.crashes"]


@pytest.mark.parametrize(
    ("kills", "seed"), [(2, 1), pytest.param(100, 2, marks=[pytest.mark.campaign, pytest.mark.timeout(1800)])]
)
def test_no_kill_loses_or_doubles_anything(kills, seed):
    """After each kill and a retry, `doctor` finds nothing, and turns and items are those that were acknowledged."""
    done = subprocess.run([sys.executable, *SCRIPT, str(kills), str(seed)], capture_output=True, check=False, cwd=ROOT)

    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    figures = json.loads(done.stdout)
    assert (figures["kills"], figures["wrong"]) == (kills, [])
