"""A call visits few modules: what somebody reads who follows one with a debugger."""

from lab.tests.campaigns.executed import modules_of_calls

MOST = {"recall": 45, "remember": 60}


def test_a_call_executes_few_modules():
    """A second recall executes no more than 45 of our modules, a second remember no more than 60."""
    counts = {name: len(files) for name, files in modules_of_calls().items()}

    assert counts.keys() == MOST.keys()
    assert all(10 < counts[name] <= most for name, most in MOST.items())
