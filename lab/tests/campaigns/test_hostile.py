"""Whatever is sent, and through whatever door, an answer or an error of one kind comes back, and soon."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings

from lab.tests.campaigns.hostile import DOORS

SHORT, LONG = 30, 10_000
SECONDS = timedelta(seconds=5)
"""Within which each input of a campaign is answered."""


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("inputs", "deadline"),
    [(SHORT, None), pytest.param(LONG, SECONDS, marks=[pytest.mark.campaign, pytest.mark.timeout(3600)])],
)
def test_no_input_does_harm(door, inputs, deadline):
    """No other error than the package's own, no page with status 500, and none that takes long."""
    sent, through = DOORS[door]
    send = settings(
        max_examples=inputs, deadline=deadline, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )(given(sent)(lambda value: through(value)))  # fmt: skip

    send()
