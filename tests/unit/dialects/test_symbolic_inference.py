"""To infer shapes of symbols and bind them gives what inference on the bound sizes gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import pytest
from glow.errors import GlowError
from glow.glow_dialects.extents import Size, symbol_size
from glow.glow_dialects.glow.arithmetic import AddOp, NegOp
from glow.glow_dialects.glow.constant import SplatOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.indexing import ArgMaxOp, TopIndicesOp
from glow.glow_dialects.glow.matrix import MatMulOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.reduction import ReduceMeanOp
from glow.glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from glow.glow_dialects.operator import shape_of, with_shape
from glow.passes.graph.bind_symbols import bind_symbols, module_symbols
from glow.tests.support.symbolic_graphs import NETWORKS, SYMBOLS, Network
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

LARGEST = 23
SYMBOLIC: Mapping[str, Size] = {
    "a": symbol_size("a"),
    "b": symbol_size("b", 5),
    "c": symbol_size("c", 7, LARGEST),
}
Choice = tuple[int, int, int, int]
"""A step, the value that it is on, and two numbers for it."""
MOVES = 7
"""The first step that computes more than a negation."""
CHOICES = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 9), st.integers(0, 3), st.integers(1, 3)),
    min_size=1,
    max_size=8,
)


def add_step(n: Network, values: Sequence[SSAValue], choice: Choice) -> SSAValue:
    """Adds a node. Raises VerifyException for one that these sizes do not allow."""
    kind, of, i, k = choice
    x = values[-1 - of % len(values)]
    if not shape_of(x.type):
        return n.node(NegOp, x)
    add = add_computation if kind >= MOVES else add_move
    return add(n, x, (kind, of, i % len(shape_of(x.type)), k))


def add_move(n: Network, x: SSAValue, choice: Choice) -> SSAValue:
    kind, _, d, k = choice
    shape: list[Any] = list(shape_of(x.type))
    before, after = shape[:d], shape[d + 1 :]
    match kind:
        case 0:
            return n.node(NegOp, x)
        case 1:
            order = [(j + d) % len(shape) for j in range(len(shape))]
            return n.node(TransposeOp, x, permutation=order)
        case 2:
            return n.shaped(ReshapeOp, x, [*before, prod(shape[d:])])
        case 3:
            return n.shaped(ReshapeOp, x, [*before, 1, *shape[d:]])
        case 4:
            sizes = [*before, shape[d] - k, *after]
            starts = [k if j == d else 0 for j in range(len(shape))]
            return n.node(SliceOp, x, starts=starts, sizes=sizes, strides=[1] * len(shape))
        case 5:
            return n.node(ConcatOp, *[x] * (1 + k), axis=d)
        case _:
            low = [k if j == d else 0 for j in range(len(shape))]
            return n.node(PadOp, x, low=low, high=low[::-1], value=0.0)


def add_computation(n: Network, x: SSAValue, choice: Choice) -> SSAValue:
    kind, _, d, k = choice
    shape: list[Any] = list(shape_of(x.type))
    spatial = {"kernel": [k, 2], "strides": [2, k], "pads": [0, 1, 0, 0], "dilations": [1, 1]}
    match kind:
        case 7:
            return n.node(ReduceMeanOp, x, axes=[d], keep_dims=bool(k % 2))
        case 8 if len(shape) == 4:
            return n.node(MaxPoolOp, x, **spatial)
        case 9 if len(shape) == 4:
            if not isinstance(shape[1], int):
                # a branch of its own for symbols would give another graph for the bound sizes
                raise VerifyException("the splat of the weights needs a number of channels")
            del spatial["kernel"]
            # the text of larger constants names their place in memory
            weights, bias = (
                n.node(SplatOp, result_types=[with_shape(f32, s)], value=0.5)
                for s in ([2, shape[1], k, 3], [2])
            )
            return n.node(ConvolutionOp, x, weights, bias, **spatial)
        case 10 if len(shape) > 1:
            flat = n.shaped(ReshapeOp, x, [prod(shape[:-1]), shape[-1]])
            return n.node(MatMulOp, flat, n.node(TransposeOp, flat, permutation=[1, 0]))
        case _:
            wide = n.shaped(BroadcastOp, x, [k, *shape])
            return n.node(AddOp, wide, wide)


def graph(sizes: Mapping[str, Size], choices: Sequence[Choice]) -> tuple[ModuleOp, list[Choice]]:
    """Returns a graph, and the choices that its sizes allow."""
    n = Network()
    values = [n.argument([sizes["a"], 2, sizes["b"], sizes["c"]])]
    made: list[Choice] = []
    for choice in choices:
        last = n.block.last_op
        try:
            values.append(add_step(n, values, choice))
        except VerifyException:
            if not SYMBOLIC.items() <= sizes.items():
                raise
            while n.block.last_op is not last:
                n.block.erase_op(n.block.last_op)  # pyright: ignore[reportArgumentType]
            continue
        made.append(choice)
    return n.finish(*values[1:]), made


@given(
    CHOICES,
    st.fixed_dictionaries(
        {"a": st.integers(1, 9), "b": st.integers(5, 19), "c": st.integers(7, LARGEST)}
    ),
)
def test_bound_graphs_are_those_of_bound_sizes(
    choices: list[Choice], sizes: dict[str, int]
) -> None:
    symbolic, made = graph(SYMBOLIC, choices)
    symbolic.verify()
    bind_symbols(symbolic, {name: sizes[name] for name in module_symbols(symbolic)})
    symbolic.verify()
    static, all_made = graph(sizes, made)
    assert all_made == made
    assert str(symbolic) == str(static)


@pytest.mark.parametrize("network", NETWORKS)
@given(size=st.integers(5, 64))
def test_networks(network: str, size: int) -> None:
    symbols = SYMBOLS[network]
    module = NETWORKS[network](symbols)
    sizes = {name: size + i for i, name in enumerate(symbols)}
    if network == "convolutional" and sizes["width"] > 64:
        with pytest.raises(GlowError, match="expected a size from 5 to 64"):
            bind_symbols(module, sizes)
        return
    bind_symbols(module, sizes)
    assert shapes(module) == shapes(NETWORKS[network](sizes))


def shapes(module: ModuleOp) -> list[Any]:
    return [[r.type for r in op.results] for op in module.walk()]


def test_operators_without_formulas_keep_symbols() -> None:
    def scores(rows: Size) -> ModuleOp:
        n = Network()
        x = n.argument([rows, 7])
        return n.finish(
            n.node(ArgMaxOp, x, axis=1),
            n.node(TopIndicesOp, x, axis=1, k=3),
            n.node(ArgMaxOp, x, axis=0),
        )

    symbolic = scores(symbol_size("rows"))
    symbolic.verify()
    bind_symbols(symbolic, {"rows": 5})
    assert str(symbolic) == str(scores(5))
