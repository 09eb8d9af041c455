"""Unpooling, pools of regions, short-time transforms and statistics of training."""

from __future__ import annotations

import math

import glow
import numpy as np
import onnx
import pytest
from glow.tests.support.oracle import run_onnx_model
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_tensor_value_info
from onnx.numpy_helper import from_array
from onnx.reference import ReferenceEvaluator

BATCH_NORM = """(float[4,3,5] x, float[3] s, float[3] b, float[3] m, float[3] v)
    => (float[4,3,5] y, float[3] a, float[3] c) {
    y, a, c = BatchNormalization<training_mode=1, momentum=0.7>(x, s, b, m, v) }"""
CASES = {
    "unpooling": """(float[2,3,8,6] x) => (float[2,3,8,6] y) {
        p, i = MaxPool<kernel_shape=[2,3], strides=[2,3]>(x)
        y = MaxUnpool<kernel_shape=[2,3], strides=[2,3]>(p, i) }""",
    "regions": """(float[2,3,17,19] x, float[7,5] r) => (float[7,3,3,5] y) {
        y = MaxRoiPool<pooled_shape=[3,5], spatial_scale=0.5>(x, r) }""",
    "frames": """(float[2,50,1] x, float[16] w) => (float[2,5,9,2] y) {
        s = Constant<value_int=8>() l = Constant<value_int=16>() y = STFT(x, s, w, l) }""",
    "both sides": """(float[2,37,1] x) => (float[2,8,16,2] y) {
        s = Constant<value_int=3>() l = Constant<value_int=16>()
        y = STFT<onesided=0>(x, s,, l) }""",
    "statistics": BATCH_NORM,
}


@pytest.mark.parametrize("name", CASES)
def test_against_onnxruntime(name: str, rng: np.random.Generator):
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\ng {CASES[name]}')
    model = glow.compile(proto)
    feed = {i.name: rng.standard_normal(i.shape).astype(np.float32) for i in model.get_inputs()}
    if name == "regions":
        corners = np.sort(rng.uniform(0, 45, (7, 2, 2)), 1).reshape(7, 4)
        feed["r"] = np.concatenate([rng.integers(0, 2, (7, 1)), corners], 1).astype(np.float32)
    if name == "statistics":
        feed["v"] = np.abs(feed["v"])
    for a, b in zip(model.run(None, feed), run_onnx_model(proto, feed), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5, strict=True)


FOLDS = [
    # batch, channels, image, window, strides, pads, dilations
    (1, 3, (7, 9), (3, 2), (1, 1), (1, 0, 1, 1), (1, 2)),
    (2, 3, (13, 11), (3, 2), (2, 3), (1, 0, 2, 1), (1, 1)),
    (2, 3, (13, 11), (3, 2), (2, 1), (1, 0, 2, 1), (1, 2)),
    (1, 2, (13, 11), (3, 2), (2, 2), (1, 0, 2, 1), (1, 2)),
    (1, 2, (17,), (2,), (5,), (2, 1), (1,)),
    (1, 2, (17,), (4,), (4,), (0, 0), (1,)),
    (1, 2, (5, 6, 7), (2, 3, 1), (2, 1, 2), (0, 1, 0, 1, 0, 0), (1, 1, 1)),
]


@pytest.mark.parametrize("case", FOLDS, ids=str)
def test_windows_are_put_together(case: tuple, rng: np.random.Generator):
    batch, channels, image, window, strides, pads, dilations = case
    n = len(image)
    geometry = zip(image, window, strides, pads[:n], pads[n:], dilations, strict=True)
    counts = [(i + a + b - (w - 1) * d - 1) // s + 1 for i, w, s, a, b, d in geometry]
    shape = (batch, channels * math.prod(window), math.prod(counts))
    attributes = {"strides": strides, "pads": pads, "dilations": dilations}
    node = make_node("Col2Im", ["x", "image", "window"], ["y"], **attributes)
    x, y = (make_tensor_value_info(v, TensorProto.FLOAT, s) for v, s in (("x", shape), ("y", None)))
    sizes = [from_array(np.array(v), k) for k, v in (("image", image), ("window", window))]
    proto = make_model(make_graph([node], "g", [x], [y], sizes))
    feed = {"x": rng.standard_normal(shape).astype(np.float32)}
    (found,) = glow.compile(proto).run(None, feed)
    (wanted,) = map(np.asarray, ReferenceEvaluator(proto).run(None, feed))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
