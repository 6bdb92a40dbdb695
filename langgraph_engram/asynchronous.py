"""Make asynchronous twins of synchronous methods, which run in a thread."""

import asyncio
import sys
import warnings
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def in_thread(method: Callable[Arguments, Result]) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Return `method` as a coroutine function that runs in a thread, with the same arguments, errors and docstring."""

    @wraps(method)
    async def run(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        return await asyncio.to_thread(method, *arguments, **keywords)

    return run


def warn_if_blocking() -> None:
    """Warn where an event loop runs in this thread, which would stand still until a synchronous method is done.

    Threads, in which LangGraph runs synchronous nodes and tools, have none; that of a notebook has nothing else to do.
    """
    if "ipykernel" in sys.modules:
        return
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        message = "a method of Memory blocks the running event loop: use its asynchronous twin, or call it in a thread"
        warnings.warn(message, RuntimeWarning, stacklevel=5)


def iterated_in_thread(
    method: Callable[Arguments, Iterator[Result]],
) -> Callable[Arguments, AsyncGenerator[Result, None]]:
    """Return a generator method as an asynchronous one; all of it runs in one thread, and ends there."""

    @wraps(method)
    async def run(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> AsyncGenerator[Result, None]:
        loop, context, results = asyncio.get_running_loop(), copy_context(), method(*arguments, **keywords)
        thread = ThreadPoolExecutor(max_workers=1)
        try:
            while following := await loop.run_in_executor(thread, context.run, next_part, results):
                yield following[0]
        finally:
            if isinstance(results, Generator):
                thread.submit(context.run, results.close)  # behind the step that runs: no loop waits for that
            thread.shutdown(wait=False)

    return run


def next_part(results: Iterator[Result]) -> list[Result]:
    """Return the next result alone in a list; an empty one at the end, for StopIteration cannot leave a coroutine."""
    return list(islice(results, 1))
