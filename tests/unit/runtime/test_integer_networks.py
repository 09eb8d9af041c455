"""Networks of integer convolutions and matrix products on several machines, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.glow.activation import ReluOp
from glow.glow_dialects.glow.arithmetic import AddOp, MulOp
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.logic import CastOp
from glow.glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from glow.glow_dialects.glow.shape import BroadcastOp, ConcatOp, PadOp
from glow.glow_dialects.operator import shape_of, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.lowering.llvm.translate import translate_module
from glow.lowering.target import host_target
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages
from glow.semantics.arrays import make_constant
from glow.tests.support.cross import EmulatedBackend, needs_emulator
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

U8 = IntegerType(8, Signedness.UNSIGNED)
NO_TILES = "-amx-int8,-amx-tile,-amx-bf16"
X86 = [
    {},
    {"target_features": NO_TILES},
    {"target_cpu": "haswell"},
    {"target_cpu": "x86-64"},
    {"target_cpu": "alderlake"},
    {"target_cpu": "skylake-avx512"},
]
TARGETS = [pytest.param(t, id=" ".join(t.values()) or "host") for t in X86]


class Network:
    """
    A module that is made node by node. All scales are powers of two, so that products with them
    are exact, and a fused multiplication and addition is as good as two operations.
    """

    def __init__(self, rng: np.random.Generator, *shape: int):
        self.rng = rng
        self.block = Block(arg_types=[with_shape(f32, shape)])
        self.x = self.block.args[0]

    def node(self, operator: type[Node], *operands: SSAValue, **properties: object) -> SSAValue:
        new = operator.of(*operands, **properties)  # pyright: ignore[reportArgumentType]
        self.block.add_op(new)
        return new.results[0]

    def typed(self, operator: type[Node], x: SSAValue, element: Attribute) -> SSAValue:
        return self.node(operator, x, result_types=[with_shape(element, shape_of(x.type))])

    def constant(self, array: np.ndarray) -> SSAValue:
        new = make_constant(array)
        self.block.add_op(new)
        return new.results[0]

    def integers(self, low: int, high: int, dtype: str, *shape: int) -> SSAValue:
        return self.constant(self.rng.integers(low, high, shape).astype(dtype))

    def scaled(self, sums: SSAValue, terms: int) -> SSAValue:
        """Returns sums as floats, times a number for each channel that makes them about 8."""
        shape = shape_of(sums.type)
        size = 2.0 ** -(9 + np.ceil(np.log2(terms) / 2))
        spread = 2.0 ** self.rng.integers(-1, 2, (shape[1], *[1] * (len(shape) - 2)))
        factors = self.constant((size * spread).astype(np.float32))
        wide = self.node(BroadcastOp, factors, result_types=[with_shape(f32, shape)])
        return self.node(MulOp, self.typed(CastOp, sums, f32), wide)

    def conv(
        self,
        x: SSAValue,
        outputs: int,
        size: int,
        *,
        stride: int = 1,
        border: int = 0,
        group: int = 1,
        rest: SSAValue | None = None,
        to: Attribute,
    ) -> SSAValue:
        channels, (point,) = shape_of(x.type)[1], x.type.element_type.zero_point_values()  # pyright: ignore
        if border:
            around = [0, 0, border, border]
            x = self.node(PadOp, x, low=around, high=around, value=float(point))
        w = self.integers(-128, 128, "i1", outputs, channels // group, size, size)
        b = self.integers(-9999, 10000, "i4", outputs)
        properties = {"strides": [stride] * 2, "pads": [0] * 4, "dilations": [1, 1]}
        y = self.node(ConvolutionOp, x, w, b, group=group, **properties)
        y = self.scaled(y, channels // group * size * size)
        if rest is not None:
            y = self.node(AddOp, y, self.typed(DequantizeOp, rest, f32))
        return self.typed(QuantizeOp, self.node(ReluOp, y), to)

    def module(self, *results: SSAValue) -> ModuleOp:
        self.block.add_op(func.ReturnOp(*results))
        types = FunctionType.from_lists([self.x.type], [r.type for r in results])

        def names(prefix: str, count: int) -> ArrayAttr[DictionaryAttr]:
            each = [{"glow.name": StringAttr(f"{prefix}{i}")} for i in range(count)]
            return ArrayAttr([DictionaryAttr(e) for e in each])

        main = func.FuncOp(
            "main",
            types,
            Region(self.block),
            arg_attrs=names("x", 1),
            res_attrs=names("y", len(results)),
        )
        module = ModuleOp([main])
        module.verify()
        return module


def check(module: ModuleOp, x: np.ndarray, target: Mapping[str, str]) -> glow.CompiledModel:
    if host_target().architecture != "x86_64":
        pytest.skip("names x86 CPUs")
    wanted = glow.compile(module, "interpreter")(x)
    try:
        compiled = glow.compile(module, cache=False, **target)  # pyright: ignore
    except CompileError as error:
        pytest.skip(str(error))
    for want, have in zip(wanted, compiled(x), strict=True):
        assert want.std() > 1
        np.testing.assert_array_equal(have, want)
    return compiled


@pytest.mark.parametrize("target", TARGETS)
def test_convolutions(target: Mapping[str, str], rng: np.random.Generator):
    """A stem of 3 channels, blocks that are not full, a sum, depthwise and joined convolutions."""
    net = Network(rng, 1, 3, 23, 17)
    element = QuantizedType(U8, f32, 0.25, int(rng.integers(20, 200)))
    x = net.typed(QuantizeOp, net.x, QuantizedType(U8, f32, 0.03125, 120))
    x = net.conv(x, 24, 3, stride=2, border=1, to=element)
    x = net.node(
        MaxPoolOp, x, kernel=[3, 3], strides=[1, 1], pads=[1] * 4, dilations=[1, 1], ceil_mode=False
    )
    y = net.conv(x, 24, 3, border=1, rest=x, to=element)
    y = net.conv(y, 24, 3, border=1, group=24, to=element)
    parts = [net.conv(y, 32, 3, border=1, to=element), net.conv(y, 96, 1, to=element)]
    z = net.conv(net.node(ConcatOp, *parts, axis=1), 48, 3, border=1, stride=2, to=element)
    shape = shape_of(net.x.type)
    noise = (3 * rng.standard_normal(shape)).astype(np.float32)
    compiled = check(net.module(z, net.typed(DequantizeOp, y, f32)), noise, target)
    stage = str(compiled.stages["laid-out"])
    assert stage.count("glow_cpu.dot_convolution") == 5
    assert stage.count("glow_cpu.blocked_depthwise_convolution") == 1
    assert stage.count("glow_cpu.pack_channels") == 1
    # both users of the depthwise convolution read it with its border, or a part of that
    assert stage.count("glow.pad") == 5


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_matrix_products(target: Mapping[str, str], signed: bool, rng: np.random.Generator):
    rows, inner, columns = int(rng.integers(1, 40)), 67, 53
    net = Network(rng, rows, inner)
    stored = i8 if signed else U8
    x = net.typed(QuantizeOp, net.x, QuantizedType(stored, f32, 0.0625, int(rng.integers(0, 20))))
    w = net.integers(-128, 128, "i1", 128, inner)
    b = net.integers(-9999, 10000, "i4", 128)
    y = net.node(FullyConnectedOp, x, w, b)
    element = QuantizedType(stored, f32, 0.25, 3)
    y = net.typed(QuantizeOp, net.node(ReluOp, net.scaled(y, inner)), element)
    z = net.node(MatMulOp, y, net.integers(-128, 128, "i1", 128, columns))
    result = net.scaled(z, 128)
    noise = (4 * rng.standard_normal((rows, inner))).astype(np.float32)
    compiled = check(net.module(result, z), noise, target)
    assert str(compiled.stages["packed"]).count("glow_cpu.dot_matmul") == 2
    assert z.type == with_shape(i32, [rows, columns])


def bytes_network(rng: np.random.Generator) -> ModuleOp:
    """Returns a convolution of i8 and one of u8."""
    net = Network(rng, 1, 8, 5, 6)
    results: list[SSAValue] = []
    for stored, point in ((i8, -7), (U8, 7)):
        element = QuantizedType(stored, f32, 0.25, point)
        x = net.conv(net.typed(QuantizeOp, net.x, element), 16, 3, border=1, to=element)
        results.append(net.typed(DequantizeOp, x, f32))
    return net.module(*results)


@pytest.mark.parametrize(
    ("cpu", "features", "names"),
    [
        ("cortex-a72", None, []),
        ("cortex-a76", None, ["sdot"]),
        ("cortex-a76", "+i8mm", ["sdot", "usdot"]),
    ],
)
def test_aarch64(cpu: str, features: str | None, names: list[str], rng: np.random.Generator):
    """Products of i8, and of u8 where there is an instruction, are in quads."""
    backend = CpuBackend(cache=False, target_cpu=cpu, target_features=features)
    text = translate_module(Stages(bytes_network(rng), backend.stages())["llvm"])
    for name in ("sdot", "usdot"):
        assert (f"llvm.aarch64.neon.{name}." in text) == (name in names)


@needs_emulator()
@pytest.mark.parametrize(
    ("cpu", "features", "emulated"),
    [
        ("cortex-a76", None, "neoverse-n1"),
        ("cortex-a76", "+i8mm", "max"),
    ],
)
def test_aarch64_runs(
    cpu: str, features: str | None, emulated: str, tmp_path: Path, rng: np.random.Generator
):
    module = bytes_network(rng)
    noise = (3 * rng.standard_normal((1, 8, 5, 6))).astype(np.float32)
    backend = EmulatedBackend(tmp_path, emulated, target_cpu=cpu, target_features=features)
    wanted = glow.compile(module, "interpreter")(noise)
    for want, have in zip(wanted, glow.compile(module, backend)(noise), strict=True):
        assert want.std() > 0.25
        np.testing.assert_array_equal(have, want)
