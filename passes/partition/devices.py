"""
The devices over which a network is split, and the links between them.

They come from a list of backends (`devices=cpu,vta`), from a file, or from the attributes of a
partitioned module. A file is TOML or JSON:

```toml
[[devices]]
name = "cpu0"
backend = "cpu"
memory = 8_000_000              # bytes; without it, what the backend says of its memory
options = { threads = 2 }       # of the backend
rates = { operations = 5e10, bytes = 1e10, overhead = 0.0 }  # instead of the backend's estimates

[[links]]
between = ["cpu0", "vta0"]      # or ["host", "vta0"]: for inputs and outputs of the network
bandwidth = 1e9                 # bytes per second
latency = 1e-5                  # seconds

[place]                         # nodes, by the name of a result, that must be on a device
conv1 = "vta0"
```
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from ...errors import GlowError
from ...glow_dialects.operator import Call
from ...glow_dialects.python_values import to_attribute, to_python
from ...glow_dialects.work import work_of
from ...interface.backend import Backend, Rates, find_backend
from ...wording import counted

HOST = "host"
"""The host, where inputs and outputs of the network lie, as the end of a link."""
BANDWIDTH, LATENCY = 7e9, 3e-6
"""
Bytes per second and seconds of links without a description: a copy in the memory of the host, and a
message from one Python thread to another, as measured on a server's CPU.
"""


@dataclass(frozen=True)
class Link:
    """The speed of transfers between two devices, in both directions."""

    bandwidth: float = BANDWIDTH
    """Bytes per second."""
    latency: float = LATENCY
    """Seconds, for each tensor."""

    def seconds(self, size: int) -> float:
        """Returns the seconds of a transfer of `size` bytes."""
        return self.latency + size / self.bandwidth


FREE = Link(float("inf"), 0.0)
"""The link from a device to itself, and the default link from the host."""


@dataclass(frozen=True)
class Device:
    """A device: a backend, and the memory that it may use."""

    name: str
    backend: Backend
    memory: int | None = None
    """Bytes for weights and activations; None for as much as it needs."""
    options: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    """The options with which the backend was constructed."""
    rates: Rates | None = None
    """The rates for all operators, which replace the backend's own estimate."""

    def cost(self, call: Call) -> float:
        """Returns estimated seconds of a node, alone."""
        if self.rates is None:
            return self.backend.cost(call)
        work = work_of(call)
        if not (work.operations or work.bytes):
            return 0.0
        rates = self.rates
        return rates.overhead + max(work.operations / rates.operations, work.bytes / rates.bytes)

    @property
    def kind(self) -> tuple[object, ...]:
        """A key that is equal for devices that compute the same at the same speed."""
        return id(self.backend), self.rates

    def is_called(self, name: str) -> bool:
        """Returns whether an annotation means this device: by its name, or by its backend."""
        return name in (self.name, self.backend.name)


@dataclass(frozen=True)
class Configuration:
    """All devices, in order of preference when nothing else decides."""

    devices: tuple[Device, ...]
    links: Mapping[frozenset[str], Link] = field(default_factory=dict)
    place: Mapping[str, str] = field(default_factory=dict)
    """The device of nodes, by the name of one of their results."""

    def __post_init__(self) -> None:
        names = [d.name for d in self.devices]
        if not names:
            raise GlowError("expected at least one device, found none")
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise GlowError(
                f"expected devices with different names, found {', '.join(twice)} twice"
            )
        for pair in self.links:
            if unknown := sorted(pair - {*names, HOST}):
                raise GlowError(
                    f"a link names {', '.join(unknown)}; the devices are {', '.join(names)}"
                )

    def link(self, a: str, b: str) -> Link:
        """Returns the link between two devices, or between a device and the host."""
        if a == b:
            return FREE
        given = self.links.get(frozenset((a, b)))
        return given or (FREE if HOST in (a, b) else Link())

    def names(self) -> str:
        """Returns the names of all devices, for messages."""
        return ", ".join(d.name for d in self.devices)


def of_backends(backends: Sequence[str], memory: Sequence[int] = ()) -> Configuration:
    """
    Returns a device for each backend, called after it with a number: `cpu0`, `cpu1`, `vta0`.
    `memory` has their bytes in order, one number for all, or none. Raises GlowError.
    """
    if len(memory) not in (0, 1, len(backends)):
        raise GlowError(
            f"expected memory of one device, or of {len(backends)}, "
            f"found {counted(len(memory), 'number')}"
        )
    sizes = [*memory] * (len(backends) if len(memory) == 1 else 1) or [None] * len(backends)
    seen: dict[str, int] = {}
    entries: list[dict[str, Any]] = []
    for backend, size in zip(backends, sizes, strict=True):
        number = seen[backend] = seen.get(backend, -1) + 1
        about = {} if size is None else {"memory": size}
        entries.append({"name": f"{backend}{number}", "backend": backend, **about})
    return from_mapping({"devices": entries})


def read_configuration(path: str | Path) -> Configuration:
    """Returns a configuration file: JSON if its name ends so, otherwise TOML. Raises GlowError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text) if Path(path).suffix == ".json" else tomllib.loads(text)
        return from_mapping(found)
    except OSError as error:
        raise GlowError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise GlowError(f"{path}: {error}") from None
    except GlowError as error:
        raise GlowError(f"{path}: {error}") from None


def from_mapping(found: object) -> Configuration:
    """
    Returns a configuration from the values of a file. Raises GlowError for values that it cannot
    understand.
    """
    table = _table(found, "a configuration", {"devices": list, "links": list, "place": dict})
    backends: dict[str, Backend] = {}
    devices = tuple(_device(entry, backends) for entry in table.get("devices", ()))
    links = dict(_link(entry) for entry in table.get("links", ()))
    place = table.get("place", {})
    if wrong := [n for n, d in place.items() if not isinstance(d, str)]:
        raise GlowError(f"expected the name of a device in place, for {', '.join(wrong)}")
    return Configuration(devices, links, place)


def _table(
    found: object, what: str, known: Mapping[str, type | tuple[type, ...]]
) -> dict[str, Any]:
    """Returns `found` as a table of these keys with values of these types."""
    if not isinstance(found, dict):
        raise GlowError(f"expected {what} to be a table, found {found!r}")
    for key, value in found.items():
        if key not in known:
            raise GlowError(f"{what} has no {key!r}; it has {', '.join(known)}")
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise GlowError(f"unexpected {key} of {what}: {value!r}")
    return found


_NUMBER = (int, float)
_RATES = {"operations": _NUMBER, "bytes": _NUMBER, "overhead": _NUMBER}
_DEVICE = {"name": str, "backend": str, "memory": int, "options": dict, "rates": dict}
_LINK = {"between": list, "bandwidth": _NUMBER, "latency": _NUMBER}


def _device(found: object, backends: dict[str, Backend]) -> Device:
    """Returns a device. Those with equal backends and options share one of `backends`."""
    table = _table(found, "a device", _DEVICE)
    if missing := [key for key in ("name", "backend") if key not in table]:
        raise GlowError(f"a device lacks {' and '.join(missing)}: {found}")
    name, options = table["name"], table.get("options", {})
    if name == HOST or not name:
        raise GlowError(f"a device cannot be called {name!r}")
    key = f"{table['backend']} {sorted(options.items())}"
    try:
        backend = backends.get(key) or find_backend(table["backend"], **options)
    except GlowError as error:
        raise GlowError(f"device {name}: {error}") from None
    backends[key] = backend
    memory = table.get("memory", backend.main_memory().bytes)
    if memory is not None and memory < 0:
        raise GlowError(f"device {name}: expected bytes of memory, found {memory}")
    return Device(name, backend, memory, options, _rates(name, table.get("rates")))


def _rates(device: str, found: object) -> Rates | None:
    if found is None:
        return None
    table = _table(found, f"the rates of {device}", _RATES)
    if any(table.get(key, 0) <= 0 for key in ("operations", "bytes")):
        raise GlowError(f"device {device}: expected operations and bytes per second, found {found}")
    return Rates(**{key: float(value) for key, value in table.items()})


def _link(found: object) -> tuple[frozenset[str], Link]:
    table = _table(found, "a link", _LINK)
    ends = frozenset(map(str, table.get("between", ())))
    if len(ends) != 2:
        raise GlowError(f"expected a link to be between two devices, found {found}")
    link = Link(float(table.get("bandwidth", BANDWIDTH)), float(table.get("latency", LATENCY)))
    if not link.bandwidth > 0 or not link.latency >= 0:
        raise GlowError(f"expected a bandwidth above 0 and a latency of at least 0, found {found}")
    return ends, link


# as attributes of a module

DEVICES, LINKS = "glow.devices", "glow.links"


def attributes_of(configuration: Configuration) -> dict[str, Attribute]:
    """Returns devices and links as attributes of a module, with the keys of a file."""
    devices = [_about(device) for device in configuration.devices]
    found: dict[str, Attribute] = {DEVICES: ArrayAttr(map(_dictionary, devices))}
    links = [
        {"between": sorted(ends), "bandwidth": link.bandwidth, "latency": link.latency}
        for ends, link in configuration.links.items()
    ]
    return found | ({LINKS: ArrayAttr(map(_dictionary, links))} if links else {})


def configuration_of(module: ModuleOp) -> Configuration | None:
    """
    Returns the devices and links that a module is split over; None if it has none.

    Raises GlowError for wrong attributes.
    """
    if DEVICES not in module.attributes:
        return None
    found = {"devices": _python(module.attributes[DEVICES])}
    if LINKS in module.attributes:
        found["links"] = _python(module.attributes[LINKS])
    return from_mapping(found)


def _about(device: Device) -> dict[str, Any]:
    rates = device.rates and {key: getattr(device.rates, key) for key in _RATES}
    found = {"memory": device.memory, "options": dict(device.options), "rates": rates}
    names = {"name": device.name, "backend": device.backend.name}
    return names | {key: value for key, value in found.items() if value not in (None, {})}


def _dictionary(values: Mapping[str, Any]) -> DictionaryAttr:
    return DictionaryAttr({key: _attribute(value) for key, value in values.items()})


def _attribute(value: Any) -> Attribute:
    if isinstance(value, dict):
        return _dictionary(value)
    if isinstance(value, list):
        return ArrayAttr(map(_attribute, value))
    return to_attribute(value)


def _python(attribute: Attribute) -> Any:
    match attribute:
        case DictionaryAttr():
            return {key: _python(value) for key, value in attribute.data.items()}
        case ArrayAttr():
            return [_python(value) for value in attribute]
        case _:
            return to_python(attribute)
