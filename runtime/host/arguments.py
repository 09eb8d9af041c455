"""The interpretation of the arguments of a host manager."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Literal, TypeAlias

from ...errors import GlowError, InputError
from ...passes.partition.devices import Configuration, of_backends, read_configuration
from ...wording import counted
from .replicas import most_replicas

Devices: TypeAlias = "Configuration | Path | str | Sequence[str]"
Replicas: TypeAlias = "int | Literal['all']"

FILES = (".toml", ".json")
"""Suffixes of files that describe devices."""


def replica_count(replicas: object, configuration: Configuration) -> int | None:
    """
    Returns the wanted number of replicas; None for as many as fit. Raises GlowError for other
    values.
    """
    if replicas == "all":
        return None
    if not isinstance(replicas, int) or replicas < 1:
        raise GlowError(
            f"expected replicas to be a number of at least 1, or 'all', found {replicas!r}"
        )
    most = most_replicas(configuration.devices)
    if replicas > most:
        raise GlowError(
            f"expected at most {counted(most, 'replica')}, found {replicas}: that is how many "
            f"devices of one kind there are among {configuration.names()}"
        )
    return replicas


def expect_order(priority: object, timeout: object) -> None:
    """Raises InputError unless a queue can be ordered by a priority, and a time can be over."""
    if type(priority) is not int and not isinstance(priority, Integral):
        raise InputError(f"expected a whole number as priority, found {priority!r}")
    if timeout is not None and not (isinstance(timeout, Real) and timeout == timeout):
        raise InputError(f"expected seconds as timeout, found {timeout!r}")


def configuration_of(devices: Devices, memory: int | Sequence[int]) -> Configuration:
    """
    Returns devices in any form that `HostManager` takes. Raises GlowError for invalid ones, and for
    `memory` of devices that have their own.
    """
    sizes = [memory] if isinstance(memory, int) else memory
    if isinstance(devices, str) and Path(devices).suffix not in FILES:
        devices = devices.split(",")
    if not isinstance(devices, Configuration | Path | str):
        return of_backends(list(devices), sizes)
    if sizes:
        raise GlowError("devices that are described have a memory of their own")
    return devices if isinstance(devices, Configuration) else read_configuration(devices)
