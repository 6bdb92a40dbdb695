"""Make the asynchronous twin of a method: the same call, in a thread, so that no event loop waits for it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def in_thread(method: Callable[Arguments, Result]) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Give the twin of `method`, with its name, arguments, errors and docstring."""

    @wraps(method)
    async def twin(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        return await asyncio.to_thread(method, *given, **named)

    return twin


def iterated_in_thread(
    method: Callable[Arguments, Iterator[Result]],
) -> Callable[Arguments, AsyncGenerator[Result, None]]:
    """Give the twin of a method that yields: all of it runs in one thread, and ends there when nobody listens."""

    @wraps(method)
    async def twin(*given: Arguments.args, **named: Arguments.kwargs) -> AsyncGenerator[Result, None]:
        loop, context, results = asyncio.get_running_loop(), copy_context(), method(*given, **named)
        thread = ThreadPoolExecutor(max_workers=1)
        try:
            while found := await loop.run_in_executor(thread, context.run, _next, results):
                yield found[0]
        finally:
            if isinstance(results, Generator):
                thread.submit(context.run, results.close)  # behind the step that runs: no loop waits for that
            thread.shutdown(wait=False)

    return twin


def _next(results: Iterator[Result]) -> list[Result]:
    """Give the next result alone in a list; an empty one at the end, for StopIteration cannot leave a coroutine."""
    return list(islice(results, 1))
