"""Transposes move below operators whose formula says the same for another order of dimensions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from glow.glow_dialects.glow.shape import TransposeOp
from glow.glow_dialects.glow.structured import Structured
from glow.glow_dialects.operator import Call, shape_of
from glow.passes.graph.rewriting import apply_rules
from glow.passes.graph.sink_transposes import SINKING
from glow.semantics import evaluate
from glow.tests.unit.semantics.formula_cases import CASES, Case, array, call_of
from numpy.random import Generator
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Block, Region, SSAValue

MOVES_BELOW = {
    *("matmul", "pad", "slice", "gather", "softmax", "log_softmax", "batch_norm", "layer_norm"),
    *("local_response_norm", "max_pool", "avg_pool", "lp_pool", "group_norm", "resample"),
    *("arg_max", "arg_min", "top_indices", "cum_sum", "determinant", "fold", "int_lookup_table"),
    *(f"reduce_{name}" for name in ("sum", "mean", "max", "min", "prod")),
}
"""Operators that some transpose of their first operand moves below."""
MOST_ORDERS = 6


def after_a_transpose(call: Call, p: tuple[int, ...]) -> tuple[ModuleOp, Structured]:
    """Returns a network that transposes the first operand of a call by `p` before."""
    inverse = [p.index(d) for d in range(len(p))]
    first = call.operands[0]
    assert isinstance(first, TensorType)
    source = TensorType(first.element_type, [first.get_shape()[d] for d in inverse])
    block = Block(arg_types=[source, *call.operands[1:]])
    turned = TransposeOp.of(block.args[0], permutation=p)
    operator = call.operator
    assert issubclass(operator, Structured)
    node = operator.create(
        operands=[turned.result, *block.args[1:]],
        result_types=call.results,
        properties=dict(call.properties),
    )
    block.add_ops([turned, node, func.ReturnOp(node.results[0])])
    t = FunctionType.from_lists([a.type for a in block.args], list(call.results))
    return ModuleOp([func.FuncOp("main", t, Region(block))]), node


def run(module: ModuleOp, arrays: list[np.ndarray]) -> np.ndarray:
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    known: dict[SSAValue, np.ndarray] = dict(zip(main.body.block.args, arrays, strict=True))
    for op in main.body.block.ops:
        if isinstance(op, func.ReturnOp):
            return known[op.operands[0]]
        (known[op.results[0]],) = evaluate(op.call, [known[o] for o in op.operands])  # pyright: ignore
    raise AssertionError


def moved(module: ModuleOp) -> bool:
    """Returns whether the operator reads the first argument as it is."""
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    argument = main.body.block.args[0]
    return not any(isinstance(use.operation, TransposeOp) for use in argument.uses)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].name)
def test_results_are_the_same(case: Case, rng: Generator):
    call = call_of(case)
    rank = len(call.shape(0))
    for p in list(permutations(range(rank)))[1 : 1 + MOST_ORDERS]:
        module, _ = after_a_transpose(call, p)
        arrays = [array(shape, dtype, rng) for shape, dtype in case[1]]
        arrays[0] = np.ascontiguousarray(arrays[0].transpose([p.index(d) for d in range(rank)]))
        wanted = run(module, arrays)
        apply_rules(module, SINKING)
        module.verify()
        found = run(module, arrays)
        assert shape_of(call.results[0]) == found.shape
        np.testing.assert_allclose(found, wanted, rtol=2e-2 if found.itemsize < 4 else 1e-5)
        if moved(module) and case[0] is not TransposeOp:
            assert case[0].name.removeprefix("glow.") in MOVES_BELOW


def test_what_transposes_move_below():
    found: set[str] = set()
    for case in CASES:
        call = call_of(case)
        orders = list(permutations(range(len(call.shape(0)))))[1:]
        if case[0] is TransposeOp or 0 in call.shape(0):
            continue
        for p in orders:
            module, _ = after_a_transpose(call, p)
            apply_rules(module, SINKING)
            if moved(module):
                found.add(case[0].name.removeprefix("glow."))
                break
    assert found == MOVES_BELOW
