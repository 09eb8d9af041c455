"""Derivatives of random nodes of every operator, against finite differences in f64."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from glow.glow_dialects.elements import is_float
from glow.glow_dialects.glow.base import Node, short_name
from glow.glow_dialects.glow.quantization import FakeQuantizeOp
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.passes.graph.adjoints import ADJOINTS
from glow.semantics import make_constant
from glow.tests.support.derivatives import NotSmoothError, check_derivatives, run
from glow.tests.support.drawn_graph import DrawnGraph, Refused
from glow.tests.support.fuzzing import OPERATORS, node_of
from glow.tests.support.seeds import numbered
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f64
from xdsl.ir import Attribute, Block, Region, SSAValue

STRAIGHT_THROUGH = {FakeQuantizeOp}
"""Operators whose derivative is not that of what they compute."""
WITHOUT_FLOATS = {
    *("constant", "splat", "and", "or", "xor", "not", "equal", "less", "less_equal", "bitcast"),
    *("shift_left", "shift_right", "arg_max", "arg_min", "top_indices", "max_pool_places"),
    *("quantize", "dequantize", "storage_cast", "rescale", "random_bits"),
    *("multiply_add_pairs", "multiply_add_bytes", "multiply_add_quads", "block_quantized_matmul"),
}
"""Operators without operands or results of floats, or with weights of few bits."""
DIFFERENTIABLE = [
    o
    for o in OPERATORS
    if o in ADJOINTS and o not in STRAIGHT_THROUGH and short_name(o) not in WITHOUT_FLOATS
]
_ATTEMPTS = 60
_LARGEST = 1e3
_MOST_ELEMENTS = 400


def _is_wide(t: Attribute) -> bool:
    return is_float(element_of(t)) and not isinstance(element_of(t), QuantizedType)


def _graph(g: DrawnGraph, node: Node) -> tuple[ModuleOp, dict[str, np.ndarray]]:
    """
    Returns a function of a node in f64, whose operands of floats are inputs, and arrays for these.
    All other operands are constants.
    """
    block, feeds, known = Block(), dict[str, np.ndarray](), dict[SSAValue, SSAValue]()
    for operand in dict.fromkeys(node.operands):
        array = g.runs[operand][0]
        if _is_wide(operand.type):
            t = with_shape(f64, shape_of(operand.type))
            known[operand] = block.insert_arg(t, len(block.args))
            # numbers of few bits would often be equal, and many functions are steep near 0
            wide = array * (1 + 0.02 * g.rng.uniform(-1, 1, array.shape))
            feeds[f"x{len(feeds)}"] = np.where(abs(wide) < 0.05, wide + 0.1, wide)
        else:
            constant = make_constant(array, element=element_of(operand.type))
            block.add_op(constant)
            known[operand] = constant.result
    types = [with_shape(f64, shape_of(r.type)) for r in node.results]
    new = type(node).of(
        *(known[v] for v in node.operands), result_types=types, **dict(node.properties)
    )
    block.add_ops([new, func.ReturnOp(*new.results)])
    names = [[f"x{i}" for i in range(len(feeds))], ["out"]]
    inputs, outputs = (
        ArrayAttr([DictionaryAttr({"glow.name": StringAttr(n)}) for n in group]) for group in names
    )
    arguments = [a.type for a in block.args]
    main = func.FuncOp(
        "main", (arguments, types), Region(block), arg_attrs=inputs, res_attrs=outputs
    )
    return ModuleOp([main]), feeds


def _suitable(g: DrawnGraph, operator: type[Node]) -> tuple[ModuleOp, dict[str, np.ndarray]] | None:
    """Returns a graph of a node of floats that is small, and arrays at which it is finite."""
    try:
        node = node_of(g, operator)
    except Refused:
        return None
    if not (any(_is_wide(v.type) for v in node.operands) and _is_wide(node.results[0].type)):
        return None
    sizes = [int(np.prod(shape_of(v.type))) for v in (*node.operands, *node.results)]
    if min(sizes) == 0 or sum(sizes) > _MOST_ELEMENTS:
        return None
    module, feeds = _graph(g, node)
    out = run(module, feeds)["out"]
    is_small = np.isfinite(out).all() and np.abs(out).max(initial=0.0) < _LARGEST
    return (module, feeds) if is_small else None


@pytest.mark.parametrize("operator", DIFFERENTIABLE, ids=short_name)
@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_derivatives_of_random_nodes(operator: type[Node], seed: int) -> None:
    rng = numbered(seed)
    for _ in range(_ATTEMPTS):
        g = DrawnGraph(lambda low, high: int(rng.integers(low, high, endpoint=True)))
        found = _suitable(g, operator)
        if found is not None:
            with suppress(NotSmoothError):
                check_derivatives(*found)
                return
    raise AssertionError(f"no suitable node of {operator.name} in {_ATTEMPTS} attempts")
