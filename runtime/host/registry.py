"""The networks of a host manager by name: ready ones, and those that come and go."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from ...errors import GlowError, RejectedError
from .network import Network
from .pending import PendingNetwork


class NetworkRegistry:
    """The networks by name. The lock is held for moments only, and never while a network works."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, Network | PendingNetwork] = {}
        self._leaving: set[Network] = set()
        """The networks that are being removed."""
        self.closed = False
        """Whether no more networks can be added."""

    def find(self, name: str) -> Network:
        """Returns a network that is ready. Raises GlowError if there is none of that name."""
        found = self._entries.get(name)
        if isinstance(found, Network):
            return found
        if found is not None:
            raise GlowError(
                f"network {name!r} is still being compiled; wait for the future of add_network"
            )
        raise self._unknown(name)

    def _unknown(self, name: str) -> GlowError:
        known = ", ".join(map(repr, list(self._entries))) or "none"
        return GlowError(f"there is no network {name!r}; the networks are {known}")

    def ready(self) -> Mapping[str, Network]:
        """Returns the networks that can be run."""
        with self._lock:
            return {n: found for n, found in self._entries.items() if isinstance(found, Network)}

    # coming

    def begin(self, pending: PendingNetwork) -> None:
        """Keeps a name for a network. Raises GlowError if it is taken, or after `close`."""
        with self._lock:
            self.expect_open()
            found = self._entries.get(pending.name)
            if isinstance(found, PendingNetwork):
                raise GlowError(
                    f"network {pending.name!r} is being compiled already; wait for the future of "
                    "the other add_network, or remove the network"
                )
            if found is not None:
                raise GlowError(f"there is a network {pending.name!r} already; remove it first")
            self._entries[pending.name] = pending

    def enter(self, pending: PendingNetwork, network: Network) -> None:
        """
        Adds a network that is ready. Evicts it and raises RejectedError if it was removed in the
        meantime.
        """
        with self._lock:
            if not pending.unwanted:
                self._entries[pending.name] = network
                return
        network.evict()
        raise pending.error()

    def forget(self, pending: PendingNetwork) -> None:
        """Frees the name, unless the network is there."""
        with self._lock:
            if self._entries.get(pending.name) is pending:
                del self._entries[pending.name]

    def give_up(self, pending: PendingNetwork, why: str) -> None:
        """Has a network not be added, unless it is there already. Returns at once."""
        with self._lock:
            if self._entries.get(pending.name) is not pending:
                return
            pending.unwanted = why
        self._drop(pending)

    def _drop(self, pending: PendingNetwork) -> None:
        """Ends an unwanted pending, unless a thread works on it, which does so soon."""
        if pending.drop():
            self.forget(pending)
            pending.end(pending.error())

    # going

    def remove(self, name: str, drain: bool) -> None:
        """
        Removes a network when its requests are done, or one that is not ready yet. Without `drain`,
        it rejects requests that no device has begun.

        Raises GlowError if there is none of that name.
        """
        with self._lock:
            found = self._entries.get(name)
            if found is None:
                raise self._unknown(name)
            if isinstance(found, Network):
                del self._entries[name]
                self._leaving.add(found)
            else:
                found.unwanted = "it was removed before it was ready"
        if isinstance(found, Network):
            self._finish([found], drain, f"network {name!r} was removed")
        else:
            self._drop(found)
            found.ended.wait()

    def close(self, drain: bool) -> None:
        """Adds no more networks: not even those that are not compiled yet, or being compiled."""
        with self._lock:
            self.closed = True
            found = [e for e in self._entries.values() if isinstance(e, PendingNetwork)]
        for pending in found:
            if not (drain and pending.has_begun):
                self.give_up(pending, "the host manager shut down")

    def remove_all(self, drain: bool) -> None:
        """Removes all networks that are there, and waits for those that are being removed."""
        with self._lock:
            networks = [found for found in self._entries.values() if isinstance(found, Network)]
            self._leaving.update(networks)
            self._entries = {}
            networks = list(self._leaving)
        self._finish(networks, drain, "the host manager shut down")

    def _finish(self, networks: Sequence[Network], drain: bool, why: str) -> None:
        for network in networks:
            for request in network.close():
                if not drain:
                    request.reject(why)
        for network in networks:
            network.wait()
            with self._lock:
                if network not in self._leaving:
                    continue  # another thread was faster
                self._leaving.remove(network)
            network.evict()

    def expect_open(self) -> None:
        """Raises RejectedError after `close`."""
        if self.closed:
            raise RejectedError("the host manager shut down")
