"""Transposed convolutions: their numpy meaning, the importer, and the convolutions they become."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.errors import GlowError
from glow.glow_dialects.glow.transposed import TransposedConvolutionOp
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.oracle import close, run_node, run_onnx
from onnx import TensorProto, helper, numpy_helper

Rng = np.random.Generator
LOWER = "glow-lower-nodes{backend=cpu},glow-fold-constants,canonicalize,dce"


def geometry(rng: Rng, rank: int) -> dict[str, Any]:
    """Returns sizes and attributes of a transposed convolution that leaves at least one result."""
    while True:
        size, kernel, stride, dilation = (
            rng.integers(1, most + 1, rank) for most in (5 if rank < 3 else 3, 4, 3, 3)
        )
        added = [int(rng.integers(0, s)) for s in stride]
        whole = (size - 1) * stride + (kernel - 1) * dilation + 1
        pads = [int(rng.integers(0, min(6, w))) for w in [*whole, *whole]]
        out = [int(w) + a - b - c for w, a, b, c in zip(whole, added, pads, pads[rank:])]
        if min(out) > 0:
            return {
                "size": size.tolist(),
                "kernel": kernel.tolist(),
                "strides": stride.tolist(),
                "dilations": dilation.tolist(),
                "pads": pads,
                "output_padding": added,
                "out": out,
            }


def operands(
    rng: Rng, g: dict[str, Any], group: int, channels: tuple[int, int]
) -> list[np.ndarray]:
    inputs, outputs = (c * group for c in channels)
    shapes = [(2, inputs, *g["size"]), (inputs, channels[1], *g["kernel"]), (outputs,)]
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def attributes(g: dict[str, Any]) -> dict[str, Any]:
    return {name: g[name] for name in ("strides", "dilations", "pads", "output_padding")}


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 3])
def test_the_meaning_is_that_of_onnxruntime(rng: Rng, rank: int, group: int):
    for _ in range(6):
        g = geometry(rng, rank)
        arrays = operands(rng, g, group, (2, int(rng.integers(1, 4))))
        found = run_node(TransposedConvolutionOp, *arrays, **attributes(g), group=group)
        # onnxruntime does not compute dilated ones in more than two dimensions
        if rank < 3 or max(g["dilations"]) == 1:
            close(found, run_onnx("ConvTranspose", *arrays, **attributes(g), group=group))
        assert list(found.shape[2:]) == g["out"]


def test_it_is_the_transpose_of_a_convolution(rng: Rng):
    """`<conv(x), y> = <x, transposed(y)>` for all x and y, which needs no other library."""
    g = geometry(rng, 2)
    y, w, _ = operands(rng, g, 1, (3, 2))
    zero = np.zeros(2, np.float32)
    found = run_node(TransposedConvolutionOp, y, w, zero, **attributes(g), group=1)
    x = rng.standard_normal(found.shape)
    low = g["pads"][:2]
    spread = [
        (s - 1) * t + (k - 1) * d + 1 + a
        for s, t, k, d, a in zip(
            *(g[n] for n in ("size", "strides", "kernel", "dilations")),
            g["output_padding"],
            strict=True,
        )
    ]
    padded = np.zeros((2, 2, *spread))
    padded[:, :, low[0] : low[0] + x.shape[2], low[1] : low[1] + x.shape[3]] = x
    total = 0.0
    for i in np.ndindex(*g["size"]):
        at = tuple(
            slice(a * t, a * t + (k - 1) * d + 1, d)
            for a, t, k, d in zip(i, g["strides"], g["kernel"], g["dilations"], strict=True)
        )
        total += np.einsum("nohw,cohw,nc->", padded[:, :, *at], w, y[:, :, *i])
    np.testing.assert_allclose(np.sum(x * found), total, rtol=1e-4, atol=1e-4)


def module_of(
    arrays: list[np.ndarray],
    g: dict[str, Any],
    group: int,
    out: tuple[int, ...],
    given: tuple[str, ...] = ("x", "w", "b"),
):
    """Returns a graph whose inputs are the operands that are `given`; others are ones."""
    types = ["tensor<" + "x".join(map(str, a.shape)) + "xf32>" for a in arrays]
    result = "tensor<" + "x".join(map(str, out)) + "xf32>"
    lists = " ".join(f"{k} {list(v)}" for k, v in attributes(g).items())
    names = ["x", "w", "b"]
    each = list(zip(names, types, strict=True))
    arguments = ", ".join(f'%{n}: {t} {{glow.name = "{n}"}}' for n, t in each if n in given)
    ones = [f"%{n} = glow.constant dense<1.0> : {t}" for n, t in each if n not in given]
    return parse(f"""
    func.func @main({arguments}) -> ({result} {{glow.name = "y"}}) {{
      {" ".join(ones)}
      %y = glow.transposed_convolution %x, %w, %b {lists} group {group}
         : ({", ".join(types)}) -> {result}
      func.return %y : {result}
    }}""")


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 2])
def test_the_convolutions_that_it_becomes_compute_the_same(rng: Rng, rank: int, group: int):
    for _ in range(8):
        g = geometry(rng, rank)
        arrays = operands(rng, g, group, (2, int(rng.integers(1, 4))))
        module = module_of(arrays, g, group, (2, arrays[2].size, *g["out"]))
        want = interpret(module, arrays)["y"]
        run(LOWER, module)
        assert not count(module)["glow.transposed_convolution"]
        close(interpret(module, arrays)["y"], want)


@pytest.mark.parametrize(
    ("kernel", "stride", "outputs", "given", "convolutions"),
    [
        (3, 1, 16, "x", 1),  # the ordinary convolution by the filter backwards
        (3, 2, 16, "x", 4),  # one for each phase
        (2, 2, 16, "x", 4),
        (2, 2, 16, "xw", 1),  # one product by a filter that only the run knows
        (3, 2, 16, "xw", 4),  # phases of it that differ in size
        (4, 2, 3, "x", 1),  # too few output channels for vectors: all phases together
        (10, 5, 16, "x", 1),  # too many phases
        (1, 2, 16, "x", 1),  # three of four phases are the bias
    ],
)
def test_how_many_convolutions_it_becomes(
    kernel: int, stride: int, outputs: int, given: str, convolutions: int
):
    g: dict[str, Any] = dict(strides=[stride] * 2, dilations=[1] * 2, pads=[0] * 4)
    g["output_padding"] = [0, 0]
    arrays = [np.ones((1, 2, 3, 4)), np.ones((2, outputs, kernel, kernel)), np.ones(outputs)]
    out = [(s - 1) * stride + kernel for s in (3, 4)]
    module = run(LOWER, module_of(arrays, g, 1, (1, outputs, *out), tuple(given)))
    assert count(module)["glow.convolution"] == convolutions


def onnx_model(weights: dict[str, np.ndarray], shape: list[int], tail: str | None, **given: Any):
    nodes = [helper.make_node("ConvTranspose", ["x", *weights], ["up"], **given)]
    last = "up"
    if tail is not None:
        nodes.append(helper.make_node(tail, ["up"], ["y"]))
        last = "y"
    graph = helper.make_graph(
        nodes,
        "up",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [onnx.ValueInfoProto(name=last)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize(
    ("channels", "kernel", "given"),
    [
        ((20, 32), 4, {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((16, 24), 3, {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ((17, 5), 2, {"strides": [2, 2]}),
        ((16, 16), 3, {"pads": [1, 1, 1, 1]}),
        ((19, 16), 5, {"strides": [3, 2], "auto_pad": "SAME_UPPER"}),
        ((16, 21), 5, {"strides": [3, 2], "auto_pad": "SAME_LOWER"}),
        ((16, 16), 3, {"strides": [2, 3], "output_shape": [12, 14]}),
        ((16, 16), 3, {"strides": [2, 2], "dilations": [2, 3], "auto_pad": "VALID"}),
        ((32, 1), 4, {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 32}),
        ((32, 16), 3, {"strides": [2, 2], "group": 2}),
    ],
)
def test_compiled_networks_agree_with_onnxruntime(
    rng: Rng, channels: tuple[int, int], kernel: int, given: dict[str, Any]
):
    outputs = channels[1] * given.get("group", 1)
    weights = {
        "w": rng.standard_normal((*channels, kernel, kernel)).astype(np.float32),
        "b": rng.standard_normal(outputs).astype(np.float32),
    }
    model = onnx_model(weights, [1, channels[0], 5, 7], "Relu", **given).SerializeToString()
    x = rng.standard_normal((1, channels[0], 5, 7)).astype(np.float32)
    (want,) = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(
        None, {"x": x}
    )
    (found,) = glow.compile(model)(x)
    close(found, np.asarray(want))


@pytest.mark.parametrize(
    ("channels", "kernel", "given"),
    [
        ((20, 32), 4, {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((17, 16), 2, {"strides": [2, 2]}),
        ((19, 16), 6, {"strides": [3, 2], "auto_pad": "SAME_LOWER"}),
        ((30, 16), 2, {"strides": [2, 2], "group": 2}),
        ((31, 1), 4, {"strides": [2, 4], "group": 31}),
        ((16, 16), 3, {"strides": [2, 2]}),
    ],
)
def test_filters_that_only_the_run_knows(
    rng: Rng, channels: tuple[int, int], kernel: int, given: dict[str, Any]
):
    w = rng.standard_normal((*channels, kernel, kernel)).astype(np.float32)
    model = onnx_model({"w": w}, [2, channels[0], 5, 7], None, **given)
    del model.graph.initializer[:]
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, w.shape))
    x = rng.standard_normal((2, channels[0], 5, 7)).astype(np.float32)
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (want,) = session.run(None, {"x": x, "w": w})
    (found,) = glow.compile(data)(x, w)
    close(found, np.asarray(want))


def test_phases_are_written_in_place(rng: Rng):
    """Between blocked convolutions, nothing but the image is copied."""
    weights = {"w": rng.standard_normal((32, 32, 4, 4)).astype(np.float32)}
    model = onnx_model(weights, [1, 32, 6, 6], None, strides=[2, 2], pads=[1] * 4)
    compiled = glow.compile(model.SerializeToString(), cache=False)
    program = count(compiled.stages["allocated"])
    kinds = ("blocked_convolution", "winograd_convolution")
    assert sum(program[f"glow_inst.{kind}"] for kind in kinds) == 4
    assert not program["glow_inst.copy"]


def test_batch_normalisation_goes_into_the_filter(rng: Rng):
    g = geometry(rng, 2)
    x, w, b = operands(rng, g, 3, (2, 2))
    names = {"w": w, "b": b}
    model = onnx_model(names, list(x.shape), None, **attributes(g), group=3)
    for name in ("scale", "offset", "mean", "variance"):
        value = rng.uniform(0.5, 2, b.size).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    norm = ["up", "scale", "offset", "mean", "variance"]
    model.graph.node.append(helper.make_node("BatchNormalization", norm, ["y"]))
    model.graph.output[0].name = "y"
    data = model.SerializeToString()
    compiled = glow.compile(data, cache=False)
    assert not count(compiled.stages["optimized"])["glow.batch_norm"]
    assert not count(compiled.stages["optimized"])["glow.mul"]
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    close(compiled(x)[0], np.asarray(session.run(None, {"x": x})[0]), 1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"output_padding": [1]}, "2 values"),
        ({"output_shape": [5]}, "2 sizes"),
        ({"pads": [9, 9, 9, 9]}, "expected a size from 0"),
        ({"kernel_shape": [3, 4]}, "kernel_shape"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str):
    weights = {"w": np.ones((2, 2, 3, 3), np.float32)}
    graph = helper.make_graph(
        [helper.make_node("ConvTranspose", ["x", "w"], ["y"], **given)],
        "bad",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    with pytest.raises(GlowError, match=message):
        glow.compile(model, backend="interpreter")
