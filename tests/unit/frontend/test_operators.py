"""Generated models of one or a few operators, imported and interpreted, against onnxruntime."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import UnsupportedError
from glow.tests.unit.frontend.against_onnxruntime import SEEDS, SETTINGS, SIZES, check, floats, ints
from hypothesis import given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16, finfo
from onnx import helper

from .models import model, node, value


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    shape = draw(st.lists(SIZES, max_size=4))

    def part() -> list[int]:
        kept = shape[draw(st.integers(0, len(shape))) :]
        return [d if draw(st.booleans()) else 1 for d in kept]

    first, second = part(), part()
    return first, second


@SETTINGS
@given(
    broadcastable(),
    st.sampled_from(["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum"]),
    SEEDS,
)
def test_binary(shapes: tuple[list[int], list[int]], name: str, seed: int) -> None:
    a, b = floats(seed, *shapes[0], low=0.5), floats(seed + 1, *shapes[1], low=0.5)
    check(node(name, ["a", "b"], ["y"]), {"a": a, "b": b})


@SETTINGS
@given(
    broadcastable(), st.sampled_from(["Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), SEEDS
)
def test_comparison_and_selection(
    shapes: tuple[list[int], list[int]], name: str, seed: int
) -> None:
    a, b = floats(seed, *shapes[0]), floats(seed + 1, *shapes[1])
    nodes = [node(name, ["a", "b"], ["c"]), node("Where", ["c", "a", "b"], ["y"])]
    check(nodes, {"a": a, "b": b}, outputs=["y", "c"])


@SETTINGS
@given(
    broadcastable(),
    st.sampled_from(["Add", "Sub", "Mul", "Div", "Mod", "Pow", "Equal"]),
    st.sampled_from([np.int32, np.int64]),
    SEEDS,
)
def test_integers(
    shapes: tuple[list[int], list[int]], name: str, dtype: type[np.generic], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(-9, 10, shapes[0])
    b = rng.integers(1, 4, shapes[1])
    if name in ("Div", "Mod"):
        b *= rng.choice([-1, 1], shapes[1])
    check(node(name, ["a", "b"], ["y"]), {"a": a.astype(dtype), "b": b.astype(dtype)})


UNARY = [
    *("Relu", "Sigmoid", "Tanh", "Exp", "Neg", "Abs", "Floor", "Ceil", "Round", "Sign", "Erf"),
    *("Sin", "Cos", "Softplus", "Softsign", "HardSwish", "Selu", "Celu", "Elu", "LeakyRelu"),
    *("HardSigmoid", "ThresholdedRelu", "Identity", "Mish", "Reciprocal", "Cosh", "Shrink"),
]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(UNARY), st.lists(SIZES, max_size=4), SEEDS)
def test_unary(name: str, shape: list[int], seed: int) -> None:
    check(node(name, ["x"], ["y"]), {"x": floats(seed, *shape)}, opset=18)


@SETTINGS
@given(st.sampled_from(["Sqrt", "Log"]), st.lists(SIZES, max_size=3), SEEDS)
def test_unary_of_positive(name: str, shape: list[int], seed: int) -> None:
    check(node(name, ["x"], ["y"]), {"x": floats(seed, *shape, low=0.1)})


REDUCTIONS = [
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"),
    *("ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"),
]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(REDUCTIONS),
    st.lists(SIZES, min_size=1, max_size=4),
    st.data(),
    st.booleans(),
    st.sampled_from([11, 13, 18]),
)
def test_reductions(
    name: str, shape: list[int], data: st.DataObject, keep: bool, opset: int
) -> None:
    n = len(shape)
    axes = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1))
    axes = [a - n if data.draw(st.booleans()) else a for a in axes]
    x = floats(data.draw(SEEDS), *shape, low=0.2)
    if opset >= (13 if name == "ReduceSum" else 18):
        made = node(name, ["x", "a"], ["y"], keepdims=int(keep))
        check(made, {"x": x}, {"a": ints(*axes)}, opset=opset)
    else:
        check(node(name, ["x"], ["y"], keepdims=int(keep), axes=axes), {"x": x}, opset=opset)


@st.composite
def window(draw: st.DrawFn) -> dict[str, list[int]]:
    n = draw(st.integers(1, 3))

    def numbers(low: int, high: int, count: int = n) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    kernel = numbers(1, 3)
    pads = [draw(st.integers(0, k - 1)) for k in [*kernel, *kernel]]
    return {
        "kernel_shape": kernel,
        "strides": numbers(1, 3),
        "dilations": numbers(1, 2),
        "pads": pads,
        "sizes": numbers(6, 9),
    }


AUTO_PADS = st.sampled_from([None, None, "VALID", "SAME_UPPER", "SAME_LOWER"])


def padding(spec: dict[str, list[int]], mode: str | None) -> dict[str, Any]:
    """Returns the attributes, with `auto_pad` in place of pads if there is a mode."""
    found: dict[str, Any] = {k: v for k, v in spec.items() if k != "sizes"}
    if mode is not None:
        del found["pads"]
        found["auto_pad"] = mode
        found["dilations"] = [1] * len(spec["sizes"])
        # onnxruntime pools nothing whose padding would be negative
        pairs = zip(spec["strides"], spec["kernel_shape"], strict=True)
        found["strides"] = [min(pair) for pair in pairs]
    return found


@SETTINGS
@given(window(), AUTO_PADS, SIZES, st.integers(1, 3), st.booleans(), SEEDS)
def test_convolution(
    spec: dict[str, list[int]], mode: str | None, per_group: int, group: int, bias: bool, seed: int
) -> None:
    x = floats(seed, 2, per_group * group, *spec["sizes"])
    weights = {"w": floats(seed + 1, 2 * group, per_group, *spec["kernel_shape"])}
    if bias:
        weights["b"] = floats(seed + 2, 2 * group)
    attributes = padding(spec, mode)
    check(node("Conv", ["x", *weights], ["y"], group=group, **attributes), {"x": x}, weights)


def test_convolution_of_planes(rng: np.random.Generator) -> None:
    """Windows extend along some of four dimensions; the other ones are a part of the batch."""
    x = rng.standard_normal((2, 4, 3, 7, 6, 5)).astype(np.float32)
    for kernel, strides, pads in (
        ((1, 3, 2, 1), (1, 2, 1, 1), (0, 1, 0, 0, 0, 1, 1, 0)),
        ((2, 1, 1, 3), (1, 1, 2, 1), (0, 0, 0, 1, 0, 0, 0, 0)),
        ((1, 1, 1, 1), (1, 1, 1, 1), (0,) * 8),
    ):
        weights = {
            "w": rng.standard_normal((6, 2, *kernel)).astype(np.float32),
            "b": rng.standard_normal(6).astype(np.float32),
        }
        attributes = {"strides": strides, "pads": pads, "group": 2}
        check(node("Conv", ["x", *weights], ["y"], **attributes), {"x": x}, weights)
    made = node("Conv", ["x", "w"], ["y"], kernel_shape=[2, 2, 2, 2])
    with pytest.raises(UnsupportedError, match="more than 3 spatial dimensions"):
        check(made, {"x": x}, {"w": np.ones((1, 4, 2, 2, 2, 2), np.float32)})


@SETTINGS
@given(window(), AUTO_PADS, st.booleans(), SEEDS)
def test_max_pool(spec: dict[str, list[int]], mode: str | None, ceil: bool, seed: int) -> None:
    x = floats(seed, 2, 3, *spec["sizes"])
    attributes = padding(spec, mode)
    attributes |= {"ceil_mode": 1} if ceil and mode is None else {}
    check(node("MaxPool", ["x"], ["y"], **attributes), {"x": x})


@SETTINGS
@given(window(), AUTO_PADS, st.booleans(), SEEDS)
def test_average_pool(
    spec: dict[str, list[int]], mode: str | None, include: bool, seed: int
) -> None:
    x = floats(seed, 2, 3, *spec["sizes"])
    attributes = padding(spec, mode)
    del attributes["dilations"]
    made = node("AveragePool", ["x"], ["y"], count_include_pad=int(include), **attributes)
    check(made, {"x": x})


@SETTINGS
@given(st.sampled_from(["GlobalAveragePool", "GlobalMaxPool"]), st.lists(SIZES, min_size=3), SEEDS)
def test_global_pools(name: str, shape: list[int], seed: int) -> None:
    check(node(name, ["x"], ["y"]), {"x": floats(seed, *shape[:5])})


@SETTINGS
@given(broadcastable(), SIZES, SIZES, SIZES, st.sampled_from(["both", "left", "right"]), SEEDS)
def test_matmul(
    batch: tuple[list[int], list[int]], m: int, k: int, n: int, matrices: str, seed: int
) -> None:
    a = floats(seed, *batch[0], m, k) if matrices != "right" else floats(seed, k)
    b = floats(seed + 1, *batch[1], k, n) if matrices != "left" else floats(seed + 1, k)
    check(node("MatMul", ["a", "b"], ["y"]), {"a": a, "b": b})


@SETTINGS
@given(
    SIZES,
    SIZES,
    SIZES,
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 0, 1, 2, 3]),
    st.sampled_from([0.0, 0.5, 1.0]),
    SEEDS,
)
def test_gemm(
    m: int, k: int, n: int, trans_a: bool, trans_b: bool, c: int | None, beta: float, seed: int
) -> None:
    a = floats(seed, *((k, m) if trans_a else (m, k)))
    b = floats(seed + 1, *((n, k) if trans_b else (k, n)))
    shapes = {0: (), 1: (n,), 2: (1, n), 3: (m, 1)}
    inputs = {"a": a, "b": b}
    if c is not None:
        inputs["c"] = floats(seed + 2, *shapes[c])
    flags = {"transA": int(trans_a), "transB": int(trans_b)}
    check(node("Gemm", list(inputs), ["y"], alpha=beta + 0.5, beta=beta, **flags), inputs)


@SETTINGS
@given(
    st.sampled_from(["Softmax", "LogSoftmax"]),
    st.lists(SIZES, min_size=1, max_size=4),
    st.data(),
    st.sampled_from([7, 11, 13]),
)
def test_softmax(name: str, shape: list[int], data: st.DataObject, opset: int) -> None:
    low = -len(shape) if opset >= 11 else 0
    axis = data.draw(st.integers(low, len(shape) - 1))
    x = floats(data.draw(SEEDS), *shape, low=-9, high=9)
    check(node(name, ["x"], ["y"], axis=axis), {"x": x}, opset=opset)


@SETTINGS
@given(st.lists(SIZES, min_size=3, max_size=4), st.integers(1, 4), SEEDS)
def test_normalizations(shape: list[int], size: int, seed: int) -> None:
    channels = shape[1]
    weights = {n: floats(seed + i, channels, low=0.5) for i, n in enumerate("sbmv")}
    nodes = [
        node("BatchNormalization", ["x", *"sbmv"], ["n"], epsilon=1e-3),
        node("InstanceNormalization", ["n", "s", "b"], ["y"]),
    ]
    if len(shape) == 4:
        odd = 2 * size - 1  # onnxruntime takes no even sizes
        nodes.append(node("LRN", ["n"], ["l"], size=odd, alpha=0.1, beta=0.6, bias=1.5))
    outputs = [n.output[0] for n in nodes]
    check(nodes, {"x": floats(seed, *shape)}, weights, outputs, opset=9, tolerance=1e-3)


@SETTINGS
@given(st.lists(SIZES, min_size=1, max_size=4), st.data())
def test_slice_of_any_direction(shape: list[int], data: st.DataObject) -> None:
    bound = st.one_of(st.integers(-9, 9), st.just(-(2**31) + 1))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1))
    starts, ends = ([data.draw(bound) for _ in axes] for _ in range(2))
    steps = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in axes]
    if data.draw(st.booleans()):  # for negative steps, onnxruntime gives this end another meaning
        ends = [2**31 - 1 if step > 0 else end for end, step in zip(ends, steps, strict=True)]
    weights = {"s": ints(*starts), "e": ints(*ends), "a": ints(*axes), "t": ints(*steps)}
    x = floats(data.draw(SEEDS), *shape)
    check(node("Slice", ["x", *"seat"], ["y"]), {"x": x}, weights)


@SETTINGS
@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.data(), st.booleans())
def test_pad(shape: list[int], data: st.DataObject, old: bool) -> None:
    pads = [data.draw(st.integers(-1, 3)) for _ in range(2 * len(shape))]
    inputs = {"x": floats(data.draw(SEEDS), *shape)}
    if old:
        made = node("Pad", ["x"], ["y"], pads=pads, value=1.5)
        check(made, inputs, opset=10)
    else:
        weights = {"p": ints(*pads), "v": np.array(1.5, np.float32)}
        check(node("Pad", ["x", "p", "v"], ["y"]), inputs, weights)


@SETTINGS
@given(st.lists(SIZES, min_size=1, max_size=4), st.data())
def test_split_and_concat(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    parts = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    shape[axis] = sum(parts)
    names = [f"p{i}" for i in range(len(parts))]
    x = floats(data.draw(SEEDS), *shape)
    nodes = [
        node("Split", ["x", "s"], names, axis=axis),
        node("Concat", list(reversed(names)), ["y"], axis=axis),
    ]
    check(nodes, {"x": x}, {"s": ints(*parts)})
    old = [node("Split", ["x"], names, axis=axis, split=parts), nodes[1]]
    check(old, {"x": x}, opset=11)


@SETTINGS
@given(st.lists(SIZES, min_size=1, max_size=4), st.data())
def test_movement(shape: list[int], data: st.DataObject) -> None:
    """Transpose, then shape arithmetic as exporters write it, then unsqueeze, tile and squeeze."""
    n = len(shape)
    permutation = data.draw(st.permutations(range(n)))
    repeats = [data.draw(st.integers(1, 2)) for _ in range(n + 1)]
    axis = data.draw(st.integers(-n - 1, n))
    repeats[axis] = 1
    nodes = [
        node("Transpose", ["x"], ["t"], perm=permutation),
        node("Shape", ["t"], ["s"]),
        node("Gather", ["s", "zero"], ["first"]),
        node("Unsqueeze", ["first", "zeros"], ["first1"]),
        node("Concat", ["first1", "minus"], ["target"], axis=0),
        node("Reshape", ["t", "target"], ["matrix"]),
        node("Reshape", ["matrix", "s"], ["back"]),
        node("Unsqueeze", ["back", "axis"], ["u"]),
        node("Tile", ["u", "repeats"], ["tiled"]),
        node("Squeeze", ["tiled", "axis"], ["y"]),
    ]
    weights = {
        "zero": np.array(0),
        "zeros": ints(0),
        "minus": ints(-1),
        "axis": ints(axis),
        "repeats": ints(*repeats),
    }
    check(nodes, {"x": floats(data.draw(SEEDS), *shape)}, weights, ["y", "matrix", "s"])


@SETTINGS
@given(
    st.lists(SIZES, min_size=1, max_size=3), st.lists(SIZES, max_size=2), st.booleans(), st.data()
)
def test_gather(shape: list[int], indices: list[int], constant: bool, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    seed = data.draw(SEEDS)
    limit = shape[axis]
    i = np.random.default_rng(seed).integers(-limit, limit, indices)
    x = {"x": floats(seed, *shape)}
    made = node("Gather", ["x", "i"], ["y"], axis=axis)
    check(made, x if constant else {**x, "i": i}, {"i": i} if constant else {})


@SETTINGS
@given(
    st.lists(SIZES, max_size=3), st.sampled_from(["i1", "u1", "i4", "i8", "f8", "f2", "?"]), SEEDS
)
def test_casts(shape: list[int], dtype: str, seed: int) -> None:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [node("Cast", ["x"], ["c"], to=code), node("CastLike", ["c", "x"], ["y"])]
    check(nodes, {"x": floats(seed, *shape, low=0, high=100)}, outputs=["y", "c"], opset=15)


@SETTINGS
@given(st.lists(SIZES, min_size=1, max_size=3), st.booleans(), st.booleans(), SEEDS)
def test_clip(shape: list[int], low: bool, high: bool, seed: int) -> None:
    x = {"x": floats(seed, *shape)}
    bounds = {"l": np.array(-0.5, np.float32), "h": np.array(0.7, np.float32)}
    names = ["x", "l" if low else "", "h" if high else ""]
    used = {n: b for n, b in bounds.items() if n in names}
    check(node("Clip", names, ["y"]), x, used)
    check(node("Clip", names, ["y"]), {**x, **used})
    attributes = {"min": -0.5} if low else {}
    attributes |= {"max": 0.7} if high else {}
    check(node("Clip", ["x"], ["y"], **attributes), x, opset=10)


@SETTINGS
@given(broadcastable(), SEEDS)
def test_expand(shapes: tuple[list[int], list[int]], seed: int) -> None:
    made = node("Expand", ["x", "s"], ["y"])
    check(made, {"x": floats(seed, *shapes[0])}, {"s": ints(*shapes[1])})


@SETTINGS
@given(st.lists(SIZES, min_size=1, max_size=3), st.data(), st.sampled_from([np.uint8, np.int8]))
def test_quantization(shape: list[int], data: st.DataObject, dtype: type[np.generic]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    seed = data.draw(SEEDS)
    scales = floats(seed, shape[axis], low=0.01, high=0.1)
    points = np.random.default_rng(seed).integers(0, 20, shape[axis]).astype(dtype)
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=axis),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=axis),
    ]
    x = floats(seed + 1, *shape, low=-9, high=9)
    check(nodes, {"x": x}, {"s": scales, "z": points}, ["y", "q"])


@SETTINGS
@given(st.lists(SIZES, min_size=2, max_size=4), SEEDS)
def test_operators_that_onnx_defines_by_others(shape: list[int], seed: int) -> None:
    nodes = [
        node("LayerNormalization", ["x", "w", "b"], ["n"], axis=-1, epsilon=1e-4),
        node("MeanVarianceNormalization", ["n"], ["m"], axes=[0]),
        node("Celu", ["n"], ["c"], alpha=2.0),
        node("Shrink", ["n"], ["s"], lambd=0.3, bias=0.1),
    ]
    weights = {"w": floats(seed, shape[-1]), "b": floats(seed + 1, shape[-1])}
    check(nodes, {"x": floats(seed + 2, *shape)}, weights, ["n", "c", "s"], 18, 1e-3)


@pytest.mark.parametrize("kind", [np.float64, np.float16, bfloat16])
def test_bodies_that_onnx_states_for_f32_take_other_floats(
    kind: type[np.generic], rng: np.random.Generator
) -> None:
    x = rng.normal(2, 3, (3, 5, 7)).astype(kind)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    mean_variance = node("MeanVarianceNormalization", ["x"], ["y"], axes=[0, 2])
    made = model([mean_variance], [value("x", x.shape, element)], [value("y", x.shape, element)])
    exact = x.astype(np.float64)
    deviation = exact.std((0, 2), keepdims=True) + 1e-9
    wanted = (exact - exact.mean((0, 2), keepdims=True)) / deviation
    (found,) = glow.compile(made, backend="interpreter").run(None, {"x": x})
    assert found.dtype == x.dtype
    tolerance = 20 * 4 * float(finfo(x.dtype).eps)  # squares are 20 times the variance
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=0, atol=tolerance)
