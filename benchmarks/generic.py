"""
Compares the speed of kernels of formulas with that of operators that compute the same.

    python -m glow.benchmarks.generic [--repeat 50] [--threads 1] [--only matrix_product]

Both run in turns on the same arrays, and their results are compared. A ratio is the time of the
formula divided by that of the operators: below 1, the formula is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import glow
import numpy as np
from glow.benchmarks.kernels import random_array
from glow.definitions import Operator
from glow.glow_dialects.glow.arithmetic import AddOp, MulOp
from glow.glow_dialects.glow.attention import MaskedAttentionOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.matrix import MatMulOp
from glow.glow_dialects.glow.normalization import LayerNormOp
from glow.glow_dialects.glow.pooling import MaxPoolOp
from glow.glow_dialects.glow.reduction import ReduceSumOp
from glow.glow_dialects.glow.shape import (
    BroadcastOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.semantics.arrays import make_constant
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32, i8, i64
from xdsl.ir import Block, Region, SSAValue

Built = Callable[[Sequence[SSAValue]], SSAValue]


@dataclass(frozen=True)
class Pair:
    """A formula, and operators that compute the same of the same operands."""

    operator: Operator
    types: Sequence[TensorType]
    operators: Built
    constants: int = 0
    """The number of last operands that are known at compile time."""


def floats(*shape: int) -> TensorType:
    return with_shape(f32, shape)


def bag_of_words() -> Pair:
    text = "y[b, d] = sum(t) table[clamp(words[b, t], 0, size(table, 0) - 1), d]"

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        gathered = GatherOp.of(v[0], v[1], axis=0).result
        return ReduceSumOp.of(gathered, axes=[1]).result

    types = [floats(5000, 128), with_shape(i64, (64, 40))]
    return Pair(glow.define("bag_of_words", text), types, operators)


def chosen_columns(rows: int = 256, width: int = 1000, columns: int = 512) -> Pair:
    text = "y[b, i] = x[b, clamp(n[i], 0, size(x, 1) - 1)]"

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        return GatherOp.of(v[0], v[1], axis=1).result

    types = [floats(rows, width), with_shape(i64, (columns,))]
    return Pair(glow.define("chosen_columns", text), types, operators)


def banded_product(rows: int = 1000, width: int = 9, columns: int = 64) -> Pair:
    text = "y[i, c] = sum(t) band[i, t] * x[i + t - size(band, 1) // 2, c | outside: 0]"

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        band, x = v
        around = [width // 2, 0]
        padded = PadOp.of(x, low=around, high=around, value=0.0).result
        total: SSAValue | None = None
        for t in range(width):
            part = [rows, columns]
            shifted = SliceOp.of(padded, starts=[t, 0], sizes=part).result
            diagonal = SliceOp.of(band, starts=[0, t], sizes=[rows, 1]).result
            wide = BroadcastOp.of(diagonal, result_types=[floats(*part)]).result
            product = MulOp.of(wide, shifted).result
            total = product if total is None else AddOp.of(total, product).result
        assert total is not None
        return total

    types = [floats(rows, width), floats(rows, columns)]
    return Pair(glow.define("banded_product", text), types, operators)


def local_attention(heads: int = 4, length: int = 512, width: int = 64, radius: int = 16) -> Pair:
    text = """
        y[h, i, d] = (sum(t) power[h, i, t] * v[h, i + t - radius, d | outside: 0]) / total[h, i]
        where score[h, i, t] =
                  scale * (sum(d) q[h, i, d] * k[h, i + t - radius, d | outside: 0])
                  if i + t >= radius and i + t - radius < size(k, 1) else -inf
                  for t < 2 * radius + 1;
              power[h, i, t] = exp(score[h, i, t] - (max(s) score[h, i, s]));
              total[h, i] = sum(t) power[h, i, t]
    """
    scale = width**-0.5
    places = np.arange(length)
    near = abs(places[:, None] - places) <= radius
    mask = np.where(near, np.float32(0), np.float32(-np.inf))

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        outer = [1, heads, length, width]
        turned = [TransposeOp.of(x, permutation=[1, 0, 2]).result for x in v]
        value, query, key = (
            ReshapeOp.of(x, result_types=[floats(1, length, heads, width)]).result for x in turned
        )
        whole = np.broadcast_to(mask, (1, heads, length, length)).copy()
        near = make_constant(whole).result
        found = MaskedAttentionOp.of(query, key, value, near, scale=scale).result
        back = TransposeOp.of(found, permutation=[0, 2, 1, 3]).result
        assert shape_of(back.type) == tuple(outer)
        return ReshapeOp.of(back, result_types=[floats(heads, length, width)]).result

    operator = glow.define("local_attention", text, constants={"radius": radius, "scale": scale})
    return Pair(operator, [floats(heads, length, width)] * 3, operators)


def matrix_product(rows: int = 256, inner: int = 256, columns: int = 256) -> Pair:
    def operators(v: Sequence[SSAValue]) -> SSAValue:
        return MatMulOp.of(*v).result

    operator = glow.define("matrix_product", "y[i, j] = sum(t) a[i, t] * b[t, j]")
    return Pair(operator, [floats(rows, inner), floats(inner, columns)], operators)


def byte_product(rows: int = 256, inner: int = 256, columns: int = 256) -> Pair:
    def operators(v: Sequence[SSAValue]) -> SSAValue:
        return MatMulOp.of(*v).result

    text = "y[i, j] = sum(t) i32(a[i, t]) * i32(b[t, j])"
    types = [with_shape(i8, (rows, inner)), with_shape(i8, (inner, columns))]
    return Pair(glow.define("byte_product", text), types, operators)


def byte_layer(rows: int = 256, inner: int = 256, columns: int = 256) -> Pair:
    def operators(v: Sequence[SSAValue]) -> SSAValue:
        return MatMulOp.of(*v, transpose_rhs=True).result

    text = "y[i, j] = sum(t) i32(x[i, t]) * i32(w[j, t])"
    types = [with_shape(i8, (rows, inner)), with_shape(i8, (columns, inner))]
    return Pair(glow.define("byte_layer", text), types, operators, constants=1)


def depthwise(channels: int = 64, size: int = 56) -> Pair:
    text = """
        y[n, c, h, w] = sum(i, j) x[n, c, h + i - 1, w + j - 1 | outside: 0] * f[c, 0, i, j]
        for h + i < size(x, 2) + 2, w + j < size(x, 3) + 2
    """

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        bias = make_constant(np.zeros(channels, np.float32)).result
        return ConvolutionOp.of(v[0], v[1], bias, pads=[1] * 4, group=channels).result

    types = [floats(1, channels, size, size), floats(channels, 1, 3, 3)]
    return Pair(glow.define("depthwise", text), types, operators)


def pooling(channels: int = 64, size: int = 56) -> Pair:
    text = """
        y[n, c, h, w] = max(i < 3, j < 3) x[n, c, 2 * h + i - 1, 2 * w + j - 1 | outside: -inf]
        for 2 * h + i < size(x, 2) + 2, 2 * w + j < size(x, 3) + 2
    """

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        return MaxPoolOp.of(v[0], kernel=[3, 3], strides=[2, 2], pads=[1] * 4).result

    return Pair(glow.define("pooling", text), [floats(1, channels, size, size)], operators)


def convolution() -> Pair:
    text = """
        y[n, o, h, w] = sum(c, i, j) x[n, c, h + i - 1, w + j - 1 | outside: 0] * f[o, c, i, j]
        for h < 28, w < 28
    """

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        bias = make_constant(np.zeros(64, np.float32)).result
        return ConvolutionOp.of(v[0], v[1], bias, pads=[1] * 4).result

    types = [floats(1, 64, 28, 28), floats(64, 64, 3, 3)]
    return Pair(glow.define("convolution", text), types, operators)


def layer_norm() -> Pair:
    text = """
        y[i, j] = (x[i, j] - mean[i]) / sqrt(variance[i] + 1e-5) * scale[j] + bias[j]
        where mean[i] = (sum(j) x[i, j]) / count(j);
              variance[i] = (sum(j) (x[i, j] - mean[i]) ** 2) / count(j)
    """

    def operators(v: Sequence[SSAValue]) -> SSAValue:
        return LayerNormOp.of(*v, axis=1).result

    types = [floats(256, 384), floats(384), floats(384)]
    return Pair(glow.define("layer_norm", text), types, operators)


PAIRS = (
    *(bag_of_words, chosen_columns, banded_product, local_attention, matrix_product),
    *(byte_product, byte_layer, convolution, depthwise, pooling, layer_norm),
)


def graph(pair: Pair, build: Built, known: Sequence[np.ndarray]) -> ModuleOp:
    """Returns a network of the formula alone, or of the operators, with some operands known."""
    block = Block(arg_types=pair.types[: len(pair.types) - len(known)])
    with ImplicitBuilder(block):
        constants = [make_constant(array).result for array in known]
        result = build([*block.args, *constants])
        func.ReturnOp(result)
    t = FunctionType.from_lists([a.type for a in block.args], [result.type])
    return ModuleOp([func.FuncOp("main", t, Region(block))])


def arrays(types: Sequence[TensorType]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    found = [random_array(rng, t) for t in types]
    return [a if element_of(t) != i64 else a * 500 for a, t in zip(found, types, strict=True)]


def measure(pair: Pair, repeat: int, threads: int) -> tuple[float, float, float]:
    """
    Returns the least seconds of the formula and of the operators, and the difference of their
    results.
    """
    every = arrays(pair.types)
    split = len(every) - pair.constants
    given, known = every[:split], every[split:]

    def formula(values: Sequence[SSAValue]) -> SSAValue:
        return pair.operator(*values).result

    modules = [graph(pair, build, known) for build in (formula, pair.operators)]
    # winograd convolution is another algorithm
    models = [glow.compile(m, threads=threads, conv_algorithm="direct") for m in modules]
    results = [model(*given)[0] for model in models]
    scale = max(1.0, float(abs(results[1]).max()))
    difference = float(abs(results[0] - results[1]).max()) / scale
    least = [float("inf")] * 2
    for _ in range(repeat):
        for i, model in enumerate(models):
            start = time.perf_counter()
            model(*given)
            least[i] = min(least[i], time.perf_counter() - start)
    return least[0], least[1], difference


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Times formulas beside operators that say the same."
    )
    parser.add_argument("--repeat", type=int, default=50, help="runs of each; default 50")
    parser.add_argument("--threads", type=int, default=1, help="default 1")
    parser.add_argument("--only", action="append", help="a row; may be repeated; default all")
    given = parser.parse_args()
    print(f"{'':16} {'formula':>10} {'operators':>10} {'ratio':>6} {'apart':>8}")
    for make in PAIRS:
        if make.__name__ not in (given.only or [make.__name__]):
            continue
        formula, operators, apart = measure(make(), given.repeat, given.threads)
        print(
            f"{make.__name__:16} {1e3 * formula:7.3f} ms {1e3 * operators:7.3f} ms "
            f"{formula / operators:6.2f} {apart:8.1e}"
        )


if __name__ == "__main__":
    main()
