"""
The devices of each replica of a network.

Devices are alike if they have the same backend with the same options and rates. A network is split
over *slots*: each represents devices that are alike, one for each replica. If there are fewer
devices than replicas, as with one CPU beside several accelerators, replicas share them by turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TypeAlias

from ...errors import GlowError
from ...passes.partition.devices import Configuration, Device
from ...wording import counted

Slots: TypeAlias = "dict[str, tuple[str, ...]]"
"""The devices in the place of each device of the first replica: one for each replica."""
Free: TypeAlias = "Callable[[Device], int | None]"
"""The bytes of the memory of a device that may be used; None for any number."""


class TooFewDevicesError(GlowError):
    """Fewer replicas are possible than were wanted."""


def kinds_of(devices: Iterable[Device]) -> list[list[Device]]:
    """Returns groups of devices that are alike, in order."""
    kinds: list[tuple[object, list[Device]]] = []
    for device in devices:
        # options may be tables, which are equal or not, but have no hash
        kind = (device.backend.name, device.options, device.rates)
        members = next((found for other, found in kinds if other == kind), None)
        if members is None:
            kinds.append((kind, [device]))
        else:
            members.append(device)
    return [members for _, members in kinds]


def most_replicas(devices: Iterable[Device]) -> int:
    """Returns the largest possible number of replicas: the number of devices of one kind."""
    return max(map(len, kinds_of(devices)))


def slots_for(configuration: Configuration, count: int, free: Free) -> Slots:
    """
    Returns slots for a network that is not split yet. Each kind of devices has as many slots as
    leave `count` devices for each, but at least one. Devices with similar memory share a slot.
    """
    found: Slots = {}
    for kind in kinds_of(configuration.devices):
        ordered = _by_room(kind, free)
        width = max(1, len(kind) // count)
        height = len(kind) // width
        for i in range(width):
            found |= _slot(ordered[i * height : (i + 1) * height], count)
    return found


def slots_of(configuration: Configuration, used: Sequence[str], count: int, free: Free) -> Slots:
    """Returns slots for a network that is split already, over the devices `used`."""
    found: Slots = {}
    for kind in kinds_of(configuration.devices):
        firsts = [d for d in kind if d.name in used]
        others = _by_room([d for d in kind if d.name not in used], free)
        more = len(others) // max(1, len(firsts))
        for i, first in enumerate(firsts):
            found |= _slot([first, *others[i * more : (i + 1) * more]], count)
    return found


def _by_room(devices: Iterable[Device], free: Free) -> list[Device]:
    """Returns devices by their free memory, the largest first."""

    def room(device: Device) -> float:
        size = free(device)
        return inf if size is None else size

    return sorted(devices, key=room, reverse=True)


def _slot(devices: Sequence[Device], count: int) -> Slots:
    names = [d.name for d in devices]
    return {names[0]: tuple(names[r % len(names)] for r in range(count))}


def expect_different(slots: Slots, used: Iterable[str], configuration: Configuration) -> None:
    """
    Raises TooFewDevicesError if not every replica has a device of its own.

    `used` are the devices of the first replica on which it has partitions.
    """
    rows = {name: slots[name] for name in used}
    wanted = len(next(iter(slots.values())))
    possible = max((len(set(row)) for row in rows.values()), default=1)
    if possible >= wanted:
        return
    parts = [
        f"{sum(d.name in rows for d in kind)} of {counted(len(kind), 'device')} "
        f"with {kind[0].backend.name}"
        for kind in kinds_of(configuration.devices)
        if any(d.name in rows for d in kind)
    ]
    raise TooFewDevicesError(f"one takes {' and '.join(parts) or 'no device'}")


def configuration_for(slots: Slots, configuration: Configuration, free: Free) -> Configuration:
    """Returns the devices of the first replica, with as much memory as is free in every replica."""
    by_name = {d.name: d for d in configuration.devices}
    sizes: Mapping[str, list[int | None]] = {
        name: [free(by_name[n]) for n in row] for name, row in slots.items()
    }
    devices = tuple(
        replace(d, memory=min((s for s in sizes[d.name] if s is not None), default=None))
        for d in configuration.devices
        if d.name in slots
    )
    found = {*slots, "host"}
    links = {pair: link for pair, link in configuration.links.items() if pair <= found}
    return replace(configuration, devices=devices, links=links)
