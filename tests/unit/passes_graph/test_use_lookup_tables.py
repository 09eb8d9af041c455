"""Functions of one byte, and the tables that take their place: the same results, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.activation import SigmoidOp, SoftplusOp, TanhOp
from glow.glow_dialects.glow.arithmetic import AddOp, ExpOp, MulOp
from glow.glow_dialects.glow.indexing import IntLookupTableOp
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from glow.glow_dialects.instruction_kinds import LookupKind
from glow.glow_dialects.integers import u8
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.passes.graph.rewriting import Build
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, run
from glow.tests.support.native import apply, check_native, needs
from glow.tests.support.operator_kernels import one_node, types_of
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

SHAPES = [(1,), (5,), (17,), (31,), (64,), (3, 67), (2, 5, 401)]
MACHINES = [
    ("avx512vbmi", MachineDescription(512, 32, byte_lookups=(LookupKind.VPERMI2B,))),
    ("avx512bw", MachineDescription(512, 32, byte_lookups=(LookupKind.PSHUFB,))),
    ("avx2", MachineDescription(256, 16, byte_lookups=(LookupKind.PSHUFB,))),
    ("ssse3", MachineDescription(128, 16, byte_lookups=(LookupKind.PSHUFB,))),
    ("sse2", MachineDescription(128, 16)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8], ids=["u8", "i8"])
@pytest.mark.parametrize(("feature", "machine"), MACHINES, ids=[f for f, _ in MACHINES])
def test_lookups(
    feature: str, machine: MachineDescription, dtype: type, shape: tuple, rng: np.random.Generator
):
    needs(feature)
    x = rng.integers(0, 256, shape).astype(np.uint8).view(dtype)
    table = rng.permutation(256).astype(np.uint8)
    module = one_node(IntLookupTableOp, types_of([x, table]))
    (found,) = interpret(module, [x, table]).values()
    np.testing.assert_array_equal(found, table[x.view(np.uint8)])
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    check_native(module, [x, table], machine)


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int8], ids=["f32", "i32", "i8"])
def test_tables_of_any_element(kind: type, rng: np.random.Generator):
    x, table = rng.integers(0, 256, (3, 67), np.uint8), rng.integers(-99, 99, 256).astype(kind)
    module = one_node(IntLookupTableOp, types_of([x, table]))
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    (found,) = interpret(module, [x, table]).values()
    np.testing.assert_array_equal(found, table[x])
    check_native(module, [x, table])


ONE = (SigmoidOp, TanhOp, ExpOp, SoftplusOp)
TWO = (AddOp, MulOp)


@st.composite
def chains(draw: st.DrawFn) -> ModuleOp:
    """
    Returns a graph from one tensor of bytes to all bytes that are made on the way. Each step
    computes a real number from one or two earlier ones, and some of them are bytes in between.
    """
    shape = [1024 + draw(st.integers(0, 40))]
    first = _grid(draw)
    block = Block(arg_types=[with_shape(first, shape)])
    build = Build()
    reals: list[SSAValue] = [build(DequantizeOp, block.args[0])]
    results: list[SSAValue] = []
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            made = build(draw(st.sampled_from(ONE)), draw(st.sampled_from(reals)))
        else:
            number = build.splat(draw(st.sampled_from([-1.5, 0.25])), with_shape(f32, shape))
            other = draw(st.sampled_from([*reals, number]))
            made = build(draw(st.sampled_from(TWO)), draw(st.sampled_from(reals)), other)
        reals.append(made)
        if draw(st.booleans()):
            results.append(_quantized(build, made, _grid(draw)))
            reals.append(build(DequantizeOp, results[-1]))
    results.append(_quantized(build, reals[-1], _grid(draw)))
    block.add_ops([*build.ops, ReturnOp(*results)])
    types = [r.type for r in results]
    return ModuleOp([FuncOp("main", ([a.type for a in block.args], types), Region(block))])


def _grid(draw: st.DrawFn) -> QuantizedType:
    storage, point = draw(st.sampled_from([(u8, 3), (u8, 128), (i8, 0), (i8, -5)]))
    return QuantizedType(storage, f32, draw(st.sampled_from([0.01, 0.05, 0.3])), point)


def _quantized(build: Build, value: SSAValue, grid: QuantizedType) -> SSAValue:
    shape = value.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
    return build(QuantizeOp, value, result_types=[with_shape(grid, shape)])


@given(chains(), st.integers(0, 2**32))
def test_results_stay(module: ModuleOp, seed: int):
    (argument,) = module.body.block.first_op.body.block.args  # pyright: ignore
    dtype = np.uint8 if argument.type.element_type.storage == u8 else np.int8
    numbers = np.random.default_rng(seed).integers(0, 256, argument.type.get_shape(), np.uint8)
    numbers[:256] = np.arange(256)
    wanted = interpret(module, [numbers.view(dtype)])
    run("glow-set-machine{byte-lookups=pshufb},glow-use-lookup-tables,dce", module)
    found = interpret(module, [numbers.view(dtype)])
    for want, have in zip(wanted.values(), found.values(), strict=True):
        np.testing.assert_array_equal(have, want)
    assert not count(module).keys() & {o.name for o in ONE}
