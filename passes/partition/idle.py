"""The reasons why devices got no part of a network: a lack, or a better choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

from ...glow_dialects.claims import Quantized
from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.operator import Call, element_of
from .devices import Device
from .placement import Problem
from .plans import UnitGroup

IDLE = "glow.idle"
"""The attribute of a module with the reasons why devices got no partition, by their names."""
_LISTED = 3
"""Operators that a message names."""


def idle_devices(module: ModuleOp) -> dict[str, str]:
    """Returns the reasons why devices got no partition of a module, by name."""
    found = module.attributes.get(IDLE)
    if not isinstance(found, DictionaryAttr):
        return {}
    return {name: why.data for name, why in found.data.items() if isinstance(why, StringAttr)}


def idle_attribute(problem: Problem, groups: Sequence[UnitGroup]) -> dict[str, DictionaryAttr]:
    """Returns the attribute `glow.idle`, if a device got none of the groups."""
    used = {group.device for group in groups}
    reasons = {
        device.name: StringAttr(_why(problem, number))
        for number, device in enumerate(problem.devices)
        if number not in used
    }
    return {IDLE: DictionaryAttr(reasons)} if reasons else {}


def _why(problem: Problem, number: int) -> str:
    units, device = problem.graph.units, problem.devices[number]
    able = sum(row[number] < inf for row in problem.costs)
    if able:
        return (
            f"no node: it can compute {able} of {len(units)}, but another device is preferred "
            "(strategy=capability splits by what devices can compute, and place decides for nodes)"
        )
    calls = [
        unit.call(node)
        for unit in units
        for node in unit.nodes
        if not isinstance(node, QuantizeOp | DequantizeOp)
    ]
    return _why_unable(calls, device) if calls else "no node: the network has none"


def _why_unable(calls: Sequence[Call], device: Device) -> str:
    claimed = device.backend.claims_by_operator()
    others = [call for call in calls if call.operator in claimed]
    if not others:
        return f"no node: {device.backend.name} computes no {_names(calls)}"
    types = Counter(element_of(call.operands[0]) for call in others)
    element = types.most_common(1)[0][0]
    of_type = [call for call in others if element_of(call.operands[0]) == element]
    text = f"no node: {_names(of_type)} {'is' if _count(of_type) == 1 else 'are'} of {element}"
    patterns = _patterns(device, {call.operator for call in of_type})
    if patterns:
        text += f"; {device.backend.name} computes {', '.join(map(str, patterns))}"
    quantized = next((p for p in patterns if isinstance(p, Quantized)), None)
    if quantized is not None and is_float(element):
        schema = quantized.schema
        text += (
            f": quantize the network first (glow-quantize with schema={schema} "
            f"weight-schema={schema} everything=true)"
        )
    return text


def _patterns(device: Device, operators: set[type[Node]]) -> list[object]:
    """
    Returns the element types of first operands that a backend claims for operators, each once.
    """
    return list(
        dict.fromkeys(
            elements.operands[0]
            for claim in device.backend.claims()
            if claim.operator in operators
            for elements in claim.elements or ()
        )
    )


def _names(calls: Sequence[Call]) -> str:
    """Returns the operators of calls, the most frequent first."""
    found = [name for name, _ in Counter(call.operator.name for call in calls).most_common()]
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(found[:_LISTED]) + more


def _count(calls: Sequence[Call]) -> int:
    return len({call.operator for call in calls})
