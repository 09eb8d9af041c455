"""Options of a single network: for the backends of the devices that it may use, or its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import GlowError
from ...interface.backend import Backend, Stage, find_backend, given_options, option_owners
from ...passes.partition.devices import Configuration, Device
from ...passes.partition.partitions import is_partitioned
from ..cpu_backend import CpuBackend
from ..stages import Stages

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def with_options(configuration: Configuration, options: Mapping[str, Any]) -> Configuration:
    """
    Returns the devices with backends that have these options too, if the backends know them all.
    Devices that share a backend share the new one.

    Raises GlowError if no device knows the options, and the backends' errors for wrong values.
    """
    options = given_options(options)
    if not options:
        return configuration
    made: dict[int, Backend] = {}
    devices = tuple(_device(device, options, made) for device in configuration.devices)
    if not made:
        kinds = ", ".join(sorted({d.backend.name for d in devices}))
        if not option_owners(options):
            devices[0].backend.expect_options(options)
        raise GlowError(
            f"{', '.join(options)}: no device of this network has a backend with such options; "
            f"the backends are {kinds}"
        )
    return replace(configuration, devices=devices)


def _device(device: Device, options: Mapping[str, Any], made: dict[int, Backend]) -> Device:
    if not options.keys() <= device.backend.option_defaults().keys():
        return device
    merged = {**device.options, **options}
    number = id(device.backend)
    if number not in made:
        made[number] = find_backend(device.backend.name, **merged)
    return replace(device, backend=made[number], options=merged)


def quantized_graph(module: ModuleOp, pipeline: str) -> ModuleOp:
    """
    Returns a graph after the optimisations of a compilation in float and the passes of `pipeline`,
    which quantize it: as a whole, before it is split. Raises GlowError if it is split already.
    """
    if is_partitioned(module):
        raise GlowError("quantize is for networks that are not partitioned yet")
    return Stages(module, [*CpuBackend().optimizing_stages(), Stage("quantized", pipeline)])[
        "quantized"
    ]
