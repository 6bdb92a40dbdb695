"""Make asynchronous twins of synchronous methods, which run in a thread."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def in_thread(method: Callable[Arguments, Result]) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Return `method` as a coroutine function that runs in a thread, with the same arguments, errors and docstring."""

    @wraps(method)
    async def run(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        return await asyncio.to_thread(method, *arguments, **keywords)

    return run


def iterated_in_thread(
    method: Callable[Arguments, Iterator[Result]],
) -> Callable[Arguments, AsyncGenerator[Result, None]]:
    """Return a generator method as an asynchronous one; all of it runs in one thread, and ends there."""

    @wraps(method)
    async def run(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> AsyncGenerator[Result, None]:
        loop, context, results = asyncio.get_running_loop(), copy_context(), method(*arguments, **keywords)
        thread = ThreadPoolExecutor(max_workers=1)

        def step() -> Result | None:
            return context.run(next, results, None)  # None at the end: StopIteration cannot leave a coroutine

        try:
            while (following := await loop.run_in_executor(thread, step)) is not None:
                yield following
        finally:
            if isinstance(results, Generator):
                thread.submit(context.run, results.close)  # behind the step that runs: no loop waits for that
            thread.shutdown(wait=False)

    return run
