"""Sweep expired items now and then, in a thread that ends with the store. This module does not know what is swept."""

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread

from langgraph_engram.errors import StoreError

log = logging.getLogger(__name__)


class Sweeper:
    """What sweeps at intervals. It is started and stopped from any thread."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        """Take what removes expired items and gives how many there were."""
        self._sweep = sweep
        self._lock = Lock()
        self._running: tuple[Thread, Event] | None = None

    def start(self, minutes: float) -> None:
        """Sweep every so many minutes. Starting twice is harmless: the first interval stands."""
        with self._lock:
            if self._running is None:
                stop = Event()
                thread = Thread(target=self._run, args=(minutes * 60, stop), name="engram-sweeper", daemon=True)
                self._running = thread, stop
                thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop, and wait at most `timeout` seconds for a sweep under way; gives whether it has stopped."""
        with self._lock:
            running, self._running = self._running, None
        if running is None:
            return True
        thread, stop = running
        stop.set()
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self, seconds: float, stop: Event) -> None:
        while not stop.wait(seconds):
            try:
                swept = self._sweep()
            except StoreError as error:
                log.warning("expired items were not swept: %s", error)
            else:
                log.debug("%d expired items swept", swept)
