"""Threads that compile networks in the background."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..options import at_least_one
from . import lifetime
from .network import Network
from .pending import PendingNetwork
from .registry import NetworkRegistry

USUAL = 4
"""The usual limit of networks that are compiled at the same time."""


class CompilePool:
    """Threads that enter networks into a registry: a bounded number of them."""

    def __init__(self, registry: NetworkRegistry, most: int | None):
        """The pool has `most` threads; for None, as many as processors, but at most `USUAL`."""
        if most is not None:
            at_least_one("max_compiling", most)
        self._registry = registry
        self._pool = ThreadPoolExecutor(most or min(USUAL, os.cpu_count() or 1), "glow compiler")
        self._working: set[threading.Thread] = set()

    def submit(self, pending: PendingNetwork, load: Callable[[], Network]) -> None:
        """
        Has a thread load a network. The future of the pending has its errors.

        Raises GlowError if the name is taken, or if the registry is closed.
        """
        self._registry.begin(pending)
        pending.future.add_done_callback(lambda _: self._ended(pending))
        try:
            self._pool.submit(self._work, pending, load)
        except RuntimeError:  # it shut down in this moment
            self._registry.give_up(pending, "the host manager shut down")

    def _ended(self, pending: PendingNetwork) -> None:
        if pending.future.cancelled():
            self._registry.forget(pending)
            pending.ended.set()

    def _work(self, pending: PendingNetwork, load: Callable[[], Network]) -> None:
        if not pending.begin():
            return
        thread = threading.current_thread()
        self._working.add(thread)
        try:
            network = load()
            lifetime.run_first_at_exit()
            self._registry.enter(pending, network)
        except BaseException as error:  # the caller's to handle
            self._registry.forget(pending)
            pending.end(error)
        else:
            pending.end(network.info)
        finally:
            self._working.discard(thread)

    def is_here(self) -> bool:
        """Returns whether the calling thread is one of the pool's."""
        return threading.current_thread() in self._working

    def shutdown(self) -> None:
        """Waits for the networks that are being compiled."""
        self._pool.shutdown(cancel_futures=True)
