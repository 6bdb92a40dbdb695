"""A memory that is exported, loaded elsewhere and exported again is the same, and a page of it is held at a time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("moving.py")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the figures of a process are of POSIX")


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_ten_thousand_records_arrive_as_they_were():
    """The two files are the same, byte for byte; Python holds a page, and as it loads the vectors that it made last."""
    done = subprocess.run([sys.executable, SCRIPT, "10000"], capture_output=True, check=False)

    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    figures = json.loads(done.stdout)
    assert (figures["records"], figures["identical"]) == (10_000, True)
    assert figures["export"]["python_megabytes"] < 12
    assert figures["load"]["python_megabytes"] < 40
