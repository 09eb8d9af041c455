"""Derivatives of ONNX operators that become several nodes, against finite differences in f64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from glow.loading import load_model
from glow.tests.support.derivatives import check_derivatives, inputs
from onnx import TensorProto, helper, numpy_helper


@dataclass(frozen=True)
class Case:
    """A node, the shapes of its inputs of floats, and its constant inputs."""

    operator: str
    inputs: Mapping[str, Sequence[int] | np.ndarray | None]
    """Shapes of floats, constants, or None for what is left out."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[str] = ("out",)


def _resize(mode: str, **attributes: Any) -> Case:
    given = {"x": (1, 2, 5, 3), "roi": None, "scales": np.array([1, 1, 1.7, 0.6], np.float32)}
    if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        given["roi"] = np.array([0, 0, 0.1, 0.2, 1, 1, 0.9, 1.2], np.float64)
    return Case("Resize", given, {"mode": mode, **attributes})


_ROWS = np.array([[3, 0], [1, 2]])
_BOXES = np.array([[1.0, 2, 13, 17], [3, 0, 8, 9], [2, 2, 19, 11]])
CASES = {
    **{f"resize_{mode}": _resize(mode) for mode in ("nearest", "linear", "cubic")},
    "resize_antialiased": _resize("cubic", antialias=1, cubic_coeff_a=-0.5),
    "resize_cropped": _resize("linear", coordinate_transformation_mode="tf_crop_and_resize"),
    "instance_norm": Case("InstanceNormalization", {"x": (2, 3, 5), "s": (3,), "b": (3,)}),
    "group_norm": Case(
        "GroupNormalization", {"x": (2, 6, 5), "s": (6,), "b": (6,)}, {"num_groups": 3}
    ),
    "rms_norm": Case("RMSNormalization", {"x": (2, 3, 5), "s": (5,)}),
    "lp_norm": Case("LpNormalization", {"x": (2, 5)}, {"p": 1}),
    "lrn": Case("LRN", {"x": (1, 5, 2, 3)}, {"size": 3, "alpha": 0.5}),
    "top_k": Case(
        "TopK", {"x": (3, 7), "k": np.array([3])}, {"axis": 1}, outputs=("out", "indices")
    ),
    "cum_sum": Case("CumSum", {"x": (3, 5), "axis": np.array(1)}, {"exclusive": 1, "reverse": 1}),
    "cum_prod": Case("CumProd", {"x": (3, 5), "axis": np.array(1)}, {"exclusive": 1}),
    "grid_sample_cubic": Case(
        "GridSample", {"x": (1, 2, 5, 4), "g": (1, 3, 2, 2)}, {"mode": "cubic"}
    ),
    "grid_sample_reflected": Case(
        "GridSample",
        {"x": (1, 2, 5, 4), "g": (1, 3, 2, 2)},
        {"mode": "linear", "padding_mode": "reflection"},
    ),
    "deformed": Case(
        "DeformConv",
        {
            "x": (1, 2, 5, 5),
            "w": (3, 2, 2, 2),
            "offset": (1, 8, 4, 4),
            "b": (3,),
            "m": (1, 4, 4, 4),
        },
    ),
    **{
        f"roi_align_{mode}": Case(
            "RoiAlign",
            {"x": (1, 2, 6, 5), "rois": _BOXES, "i": np.array([0, 0, 0])},
            {"mode": mode, "output_height": 2, "output_width": 3, "spatial_scale": 4.0},
        )
        for mode in ("avg", "max")
    },
    "attention": Case(
        "Attention",
        {"q": (1, 4, 3, 2), "k": (1, 2, 5, 2), "v": (1, 2, 5, 3), "mask": (3, 5)},
        {"softcap": 0.7},
    ),
    "attention_without_places": Case(
        "Attention",
        {
            "q": (1, 2, 3, 2),
            "k": (1, 2, 5, 2),
            "v": (1, 2, 5, 3),
            "mask": np.where(
                [[True] * 5, [False] * 5, [False, True, True, False, True]], 0, -np.inf
            ),
        },
    ),
    "causal_attention": Case(
        "Attention",
        {"q": (2, 3, 8), "k": (2, 3, 8), "v": (2, 3, 8)},
        {"is_causal": 1, "q_num_heads": 2, "kv_num_heads": 2},
    ),
    "einsum": Case("Einsum", {"a": (2, 3, 5), "b": (2, 5, 3)}, {"equation": "bij,bji->bi"}),
    "scatter_elements": Case(
        "ScatterElements",
        {"x": (5, 2), "i": _ROWS, "u": (2, 2)},
        {"reduction": "mul"},
    ),
    "scatter_nd": Case(
        "ScatterND",
        {"x": (5, 2, 3), "i": np.array([[3, 1], [3, 1]]), "u": (2, 3)},
        {"reduction": "max"},
    ),
    "gather_nd": Case("GatherND", {"x": (5, 3, 2), "i": _ROWS}),
    "col2im": Case("Col2Im", {"x": (1, 8, 9), "size": np.array([4, 4]), "block": np.array([2, 2])}),
    "lp_pool": Case("LpPool", {"x": (1, 2, 7)}, {"kernel_shape": [3], "p": 3}),
    "logsumexp": Case("ReduceLogSumExp", {"x": (3, 5)}),
    "reduce_prod": Case("ReduceProd", {"x": (3, 5)}),
    "det": Case("Det", {"x": (2, 3, 3)}),
    "lstm": Case(
        "LSTM",
        {
            "x": (5, 2, 3),
            "w": (2, 8, 3),
            "r": (2, 8, 2),
            "b": (2, 16),
            "n": np.array([3, 5], np.int32),
        },
        {"hidden_size": 2, "direction": "bidirectional"},
    ),
    "gru": Case(
        "GRU",
        {"x": (5, 2, 3), "w": (1, 6, 3), "r": (1, 6, 2), "b": None, "n": None, "h": (1, 2, 2)},
        {"hidden_size": 2, "direction": "reverse"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_onnx_operators(name: str) -> None:
    case = CASES[name]
    names = ["" if v is None else n for n, v in case.inputs.items()]
    node = helper.make_node(case.operator, names, list(case.outputs), **case.attributes)
    floats = {n: v for n, v in case.inputs.items() if isinstance(v, tuple)}
    constants = {n: v for n, v in case.inputs.items() if isinstance(v, np.ndarray)}
    graph = helper.make_graph(
        [node],
        name,
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in floats.items()],
        [helper.make_tensor_value_info("out", TensorProto.DOUBLE, None)],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    opsets = [helper.make_opsetid("", 26 if case.operator == "CumProd" else 24)]
    module = load_model(helper.make_model(graph, opset_imports=opsets))
    check_derivatives(module, inputs(module))
