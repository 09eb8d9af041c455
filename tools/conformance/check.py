"""Runs cases through a backend's whole pipeline and compares with the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...compiler import compile as glow_compile
from ...errors import described
from ...glow_dialects.elements import is_integer, storage_type
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.operator import element_of, with_shape
from ...glow_dialects.quant import QuantizedType
from ...interface.backend import Backend
from ...runtime.interpreter import execute
from ...runtime.signature import main_function
from ...semantics.arrays import make_constant
from ..report import wide
from .cases import Case

TOLERANCES = {"f64": 1e-10, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}
"""
Largest difference by the narrowest float type of a call, in units of the largest number of the
result, or of 1 if that is larger: terms of about 1 may cancel. Integers are equal.
"""
QUANTUM = 1.0
"""
The tolerance of stored results of float operators between conversions: integer arithmetic and float
arithmetic round differently.
"""
TOGETHER = 24
"""The number of cases that are compiled as one network by default."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case."""

    case: Case
    difference: float = 0.0
    """The largest, in the unit of `limit`."""
    limit: float = 0.0
    error: str = ""
    """The error that was raised instead of a result."""

    @property
    def passed(self) -> bool:
        return not self.error and self.difference <= self.limit


def check(backend: Backend, cases: Sequence[Case], together: int = TOGETHER) -> list[Outcome]:
    """
    Returns the outcome of each case. `together` of them are one network; if that fails, its halves
    are tried, so that in the end a failure has one case.
    """
    if len(cases) > together:
        return [
            outcome
            for i in range(0, len(cases), together)
            for outcome in check(backend, cases[i : i + together], together)
        ]
    module, inputs = network(cases)
    expected = execute(main_function(module), inputs)
    try:
        found = glow_compile(module, backend, cache=False)(*inputs)
    except Exception as error:
        if len(cases) == 1:
            return [Outcome(cases[0], error=described(error))]
        half = len(cases) // 2
        parts = (cases[:half], cases[half:])
        return [outcome for part in parts for outcome in check(backend, part, together)]
    return [_compared(*pair) for pair in zip(cases, found, expected, strict=True)]


def _compared(case: Case, found: np.ndarray, expected: np.ndarray) -> Outcome:
    limit = limit_of(case)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        what = f"expected {expected.dtype}{expected.shape}, found {found.dtype}{found.shape}"
        return Outcome(case, error=what)
    a, b = wide(found), wide(expected)
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
    worst = float(np.nan_to_num(apart, nan=np.inf).max(initial=0))
    if is_integer(_result(case)):
        return Outcome(case, worst, limit)
    scale = np.abs(b[np.isfinite(b)]).max(initial=1)
    return Outcome(case, float(worst / scale), limit)


def limit_of(case: Case) -> float:
    """Returns the tolerance of a result against the interpreter's."""
    if is_integer(_result(case)):
        return QUANTUM if case.real is not None else 0.0
    types = (*case.call.operands, *case.call.results)
    return max(TOLERANCES.get(str(element_of(t)), 0.0) for t in types)


def _result(case: Case) -> Attribute:
    return storage_type(element_of(case.call.results[0]))


def network(cases: Sequence[Case]) -> tuple[ModuleOp, list[np.ndarray]]:
    """Returns a graph of one node for each case, with a result each, and its inputs."""
    inputs: list[np.ndarray] = []
    block = Block()
    results: list[SSAValue] = []
    for case in cases:
        operands: list[SSAValue] = []
        for i, (array, t) in enumerate(zip(case.arrays, case.call.operands, strict=True)):
            if i in case.constants:
                constant = make_constant(array, element=element_of(t))
                block.add_op(constant)
                operands.append(constant.result)
            else:
                inputs.append(array)
                operands.append(block.insert_arg(t, len(block.args)))
        results.append(_node(case, operands, block))
    block.add_op(func.ReturnOp(*results))
    types = FunctionType.from_lists([a.type for a in block.args], [r.type for r in results])
    return ModuleOp([func.FuncOp("main", types, Region(block))]), inputs


def _node(case: Case, operands: Sequence[SSAValue], block: Block) -> SSAValue:
    """
    Returns the node of a case at the end of a block, between conversions if it is a float operator.
    """
    call = case.real or case.call
    if case.real is not None:
        operands = [_dequantized(o, block) for o in operands]
    node = call.operator.create(
        operands=operands, result_types=call.results, properties=dict(call.properties)
    )
    block.add_op(node)
    if case.real is None:
        return node.results[0]
    (declared,) = case.call.results
    if not isinstance(element_of(declared), QuantizedType):
        return node.results[0]
    return _added(QuantizeOp.of(node.results[0], result_types=[declared]), block)


def _dequantized(value: SSAValue, block: Block) -> SSAValue:
    element = element_of(value.type)
    if not isinstance(element, QuantizedType):
        return value
    result = with_shape(element.expressed, value.type.get_shape())  # pyright: ignore
    return _added(DequantizeOp.of(value, result_types=[result]), block)


def _added(node: Node | ConstantOp, block: Block) -> SSAValue:
    block.add_op(node)
    return node.results[0]
