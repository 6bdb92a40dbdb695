"""Make the asynchronous twin of a method: the same call, in a thread, so that no event loop waits for it."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def in_thread(method: Callable[Arguments, Result]) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Give the twin of `method`, with its name, arguments, errors and docstring."""

    @wraps(method)
    async def twin(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        return await asyncio.to_thread(method, *given, **named)

    return twin
