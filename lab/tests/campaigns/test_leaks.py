"""Stores that are opened and closed, and calls of an open memory, leave nothing in the process."""

import json
import subprocess
import sys

import pytest

from lab.tests.campaigns import leaks

SCRIPT = [leaks.__file__]
MANY = pytest.param(1000, 50, marks=[pytest.mark.campaign, pytest.mark.timeout(1800)])

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the figures of a process are read from /proc")


@pytest.mark.parametrize(("times", "ahead"), [(20, 10), MANY])
def test_nothing_grows(times, ahead):
    """No thread or open file more, no objects with each store or call, and hardly any memory."""
    done = subprocess.run(
        [sys.executable, *SCRIPT, "stores", "calls", str(times), str(ahead)], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr.decode()
    for name, grown in json.loads(done.stdout).items():
        assert grown["threads"] <= 0, name
        assert grown["files"] <= 0, name
        assert grown["objects"] < ((times - ahead) / 2 if name == "stores" else 200), name  # LangGraph holds some calls
        assert grown["python_megabytes"] < 0.15, name
        assert grown["megabytes"] < 25, name
