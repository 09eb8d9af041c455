"""Fused operators mean the same as their parts; on a network, nothing is left of the parts."""

from __future__ import annotations

import numpy as np
import pytest
from glow.benchmarks.built_networks import Graph
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, run
from glow.tests.support.seeds import numbered
from onnx import TensorProto, helper

FUSE = "glow-fold-constants,canonicalize,cse,glow-fuse-operators,glow-fuse-attention,dce"


def compare(graph: Graph, outputs: dict[str, tuple[int, ...]], **shapes: tuple[int, ...]):
    """Counts of the nodes after fusion, which does not change what the graph computes."""
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, list(s)) for n, s in shapes.items()
    ]
    module = import_onnx(graph.finish(inputs, outputs))
    arrays = {
        n: numbered(7, i).standard_normal(s).astype(np.float32)
        for i, (n, s) in enumerate(shapes.items())
    }
    want = interpret(module, arrays)
    run(FUSE, module)
    module.verify()
    found = interpret(module, arrays)
    for name, array in want.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)
    return count(module)


def decomposed_layer_norm(g: Graph, x: str, width: int, power: bool) -> str:
    mean = g.op("ReduceMean", x, axes=[-1])
    centred = g.op("Sub", x, mean)
    two = g.number(2.0)
    square = g.op("Pow", centred, two) if power else g.op("Mul", centred, centred)
    variance = g.op("Add", g.op("ReduceMean", square, axes=[-1]), g.number(1e-3))
    normal = g.op("Div", centred, g.op("Sqrt", variance))
    scaled = g.op("Mul", normal, g.uniform(width, 1.0, 0.5))
    return g.op("Add", scaled, g.uniform(width, 0.0, 0.5))


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 6), (3, 7), (4, 1, 2, 9)], ids=str)
def test_layer_norm(shape: tuple[int, ...], power: bool):
    g = Graph("test", numbered(0))
    y = decomposed_layer_norm(g, "x", shape[-1], power)
    counts = compare(g, {y: shape}, x=shape)
    assert counts["glow.layer_norm"] == 1
    assert not counts["glow.sqrt"] + counts["glow.mul"] + counts["glow.add"]


@pytest.mark.parametrize("inverse", [False, True])
def test_rms_norm(inverse: bool):
    g = Graph("test", numbered(0))
    square = g.op("Pow", "x", g.number(2.0))
    mean = g.op("Add", g.op("ReduceMean", square, axes=[-1]), g.number(1e-3))
    root = g.op("Sqrt", mean)
    normal = g.op("Mul", "x", g.op("Reciprocal", root)) if inverse else g.op("Div", "x", root)
    y = g.op("Mul", g.uniform(6, 1.0, 0.5), normal)
    counts = compare(g, {y: (2, 5, 6)}, x=(2, 5, 6))
    assert counts["glow.rms_norm"] == 1
    assert not counts["glow.sqrt"] + counts["glow.mul"]


@pytest.mark.parametrize("mask", [None, (1, 1, 1, 9), (2, 3, 7, 9), (7, 9)], ids=str)
@pytest.mark.parametrize("form", ["product", "quotient", "both operands, safe"])
def test_attention_of_several_heads(mask: tuple[int, ...] | None, form: str):
    g = Graph("test", numbered(0))
    query = g.op("Transpose", "q", perm=[0, 2, 1, 3])
    key = g.op("Transpose", "k", perm=[0, 2, 3, 1])
    value = g.op("Transpose", "v", perm=[0, 2, 1, 3])
    is_safe = form == "both operands, safe"
    if is_safe:
        query, key = (g.op("Mul", part, g.number(0.6)) for part in (query, key))
        scores = g.op("MatMul", query, key)
    else:
        scores = g.op("MatMul", query, key)
        scores = g.op("Div" if form == "quotient" else "Mul", scores, g.number(1.5))
    if mask is not None:
        scores = g.op("Add", scores, "m")
    shares = g.op("Softmax", scores, axis=-1)
    if is_safe:
        shares = g.op("Where", g.op("IsNaN", shares), g.number(0.0), shares)
    mixed = g.op("MatMul", shares, value)
    y = g.op("Transpose", mixed, perm=[0, 2, 1, 3])
    masks = {} if mask is None else {"m": mask}
    shapes = {"q": (2, 7, 3, 4), "k": (2, 9, 3, 4), "v": (2, 9, 3, 5)}
    counts = compare(g, {y: (2, 7, 3, 5)}, **shapes, **masks)
    assert counts["glow.attention"] + counts["glow.masked_attention"] == 1
    assert not counts["glow.softmax"] + counts["glow.select"]
