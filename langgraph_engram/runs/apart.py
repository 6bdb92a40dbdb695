"""Run a graph of ours on its own where the call is made inside a step of another graph.

LangGraph takes such a call for a part of the run around it: steps would be saved in that run's checkpoints, a pause for
approval would pause it, and the words of our models would stream as its own. To have that, embed the graphs.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from langchain_core.runnables.config import set_config_context

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def apart(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Give the same call, out of the run around it. Other context variables, such as those of tracing, stay."""

    @wraps(method)
    def alone(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        with set_config_context({}) as context:
            return context.run(method, *given, **named)

    return alone
