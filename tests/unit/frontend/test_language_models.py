"""Operators that onnxruntime's exporters of language models write, with its numbers in float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx.adopted import ADOPTED
from glow.tests.support.reference import CONTRIB
from onnx import defs, helper

from .onnxruntime_cases import Case, check_known, floats

# operators that ONNX has adopted


def _adopted(rng: np.random.Generator) -> list[Case]:
    image, grid = floats(rng, 1, 2, 5, 6), floats(rng, 1, 3, 4, 2)
    rows = {"x": floats(rng, 2, 6, 5), "w": floats(rng, 6, 1, 4)}
    states = {"b": floats(rng, 6), "s": floats(rng, 2, 6, 3)}
    sampled = {"mode": "bilinear", "align_corners": 1}
    return [
        Case("Trilu", {"x": floats(rng, 3, 5)}, {"k": np.array(-1)}, attributes={"upper": 0}),
        Case("GatherND", {"x": floats(rng, 3, 5), "i": np.array([[0, 1], [2, 4]])}),
        Case("Pad", {"x": floats(rng, 3, 5)}, {"p": np.array([1, 0, 0, 2])}),
        Case("GridSample", {"x": image, "g": grid}, attributes=sampled),
        Case("CausalConvWithState", rows, outputs=("y", "z")),
        Case(
            "CausalConvWithState",
            {**rows, **states},
            outputs=("y", "z"),
            attributes={"activation": "silu", "ndim": 1, "dilation": 1, "state_window": 0},
        ),
    ]


def test_adopted_operators(rng: np.random.Generator) -> None:
    check_known(*_adopted(rng))


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("scale", [0.0, 0.3])
def test_linear_attention(rule: str, scale: float, rng: np.random.Generator) -> None:
    images, rows, heads, groups, width, columns = 2, 5, 4, 2, 3, 7
    inputs = {
        "q": floats(rng, images, rows, heads * width),
        "k": floats(rng, images, rows, groups * width) * np.float32(0.3),
        "v": floats(rng, images, rows, groups * columns),
        "s": floats(rng, images, groups, width, columns),
        "g": -np.abs(floats(rng, images, rows, groups)),
        "b": np.abs(floats(rng, images, rows, groups)),
    }
    order = ["q", "k", "v", "s", "g" if "gated" in rule else "", "b" if "delta" in rule else ""]
    while not order[-1]:
        order.pop()
    given = {"q_num_heads": heads, "kv_num_heads": groups, "update_rule": rule, "scale": scale}
    used = {n: a for n, a in inputs.items() if n in order}
    check_known(Case("LinearAttention", used, order=order, outputs=("y", "z"), attributes=given))


def test_adopted_operators_are_those_of_onnx() -> None:
    for name, known in ADOPTED.items():
        attributes = defs.get_schema(name, known.opset).attributes
        assert [n for n in known.neutral if n in attributes] in ([], ["scale"])


def test_a_function_of_the_model_is_not_adopted(rng: np.random.Generator) -> None:
    x = floats(rng, 3, 5)
    made = Case("Trilu", {"x": x}).model()
    negated = helper.make_node("Neg", ["x"], ["y"])
    opset = [helper.make_opsetid("", 17)]
    made.functions.append(helper.make_function(CONTRIB, "Trilu", ["x"], ["y"], [negated], opset))
    (found,) = glow.compile(made, backend="interpreter").run(None, {"x": x})
    np.testing.assert_array_equal(found, -x)


def test_an_extension_is_refused(rng: np.random.Generator) -> None:
    inputs = {"x": floats(rng, 2, 6, 5), "w": floats(rng, 6, 1, 4)}
    case = Case("CausalConvWithState", inputs, outputs=("y", "z"), attributes={"dilation": 2})
    with pytest.raises(UnsupportedError, match="dilation=2"):
        glow.compile(case.model(), backend="interpreter")


# the gated delta rule


def _delta(
    rng: np.random.Generator,
    rows: int = 5,
    groups: int = 2,
    form: str = "",
    **attributes: Any,
) -> Case:
    """
    Returns linear attention with 4 heads of values, and `groups` of queries and keys. Forms are
    "packed", queries, keys and values in one tensor; "keys", a decay for each element of a key;
    and "images", a dimension for images.
    """
    heads, width, columns = 4, 3, 7
    outer = (2, rows) if "images" in form else (2 * rows,)
    rule, of_decay = (
        attributes.get("update_rule", "gated_delta"),
        (width,) if "keys" in form else (),
    )
    inputs = {
        "q": floats(rng, *outer, groups, width),
        "k": floats(rng, *outer, groups, width) * np.float32(0.3),
        "v": floats(rng, *outer, heads, columns),
    }
    if "packed" in form:
        inputs = {"q": np.concatenate([a.reshape(*outer, -1) for a in inputs.values()], -1)}
    if "gated" in rule:
        inputs["g"] = -np.abs(floats(rng, *outer, heads, *of_decay))
    if "delta" in rule:
        inputs["b"] = np.abs(floats(rng, *outer, heads))
    inputs["s"] = floats(rng, 2, heads, columns, width)
    if "gate_activation" in attributes:
        inputs |= {"a": floats(rng, heads), "d": floats(rng, heads, *of_decay)}
    order = [
        name if name in inputs else "" for name in ("q", "k", "v", "", "g", "b", "s", "a", "d")
    ]
    while not order[-1]:
        order.pop()
    return Case("GatedDeltaNet", inputs, order=order, outputs=("y", "z"), attributes=attributes)


_NORMAL = {"qk_l2_norm": 1, "beta_activation": "sigmoid"}


@pytest.mark.parametrize(
    ("form", "attributes"),
    [
        ("", {}),
        ("", {"update_rule": "linear", "rows": 1}),
        ("images", {"update_rule": "gated", "scale": 0.3}),
        ("packed", {"update_rule": "delta", "qk_l2_norm": 1}),
        ("keys", {"groups": 4}),
        ("", {"gate_activation": "softplus", **_NORMAL}),
        ("packed images", {"gate_activation": "qwen", **_NORMAL}),
        ("keys", {"gate_activation": "kda", "gate_lower_bound": -3.0, **_NORMAL}),
        ("", {"gate_activation": "sigmoid", "groups": 1, **_NORMAL}),
    ],
)
def test_gated_delta_rule(form: str, attributes: dict[str, Any], rng: np.random.Generator) -> None:
    check_known(_delta(rng, form=form, **attributes))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"state_update_capacity": 2}, "state_update_capacity=2"),
        ({"gate_activation": "tanh"}, "gate_activation 'tanh'"),
        ({"beta_activation": "tanh"}, "beta_activation 'tanh'"),
    ],
)
def test_gated_delta_rules_that_are_refused(
    given: dict[str, Any], message: str, rng: np.random.Generator
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        glow.compile(_delta(rng, **given).model(), backend="interpreter")


def test_lengths_of_gated_delta_rules_are_refused(rng: np.random.Generator) -> None:
    case = _delta(rng)
    inputs = {**case.inputs, "n": np.array([0, 4, 10], np.int32)}
    order = [name or "n" for name in case.order]
    packed = Case(case.operator, inputs, order=order, outputs=case.outputs)
    with pytest.raises(UnsupportedError, match="cu_seqlens"):
        glow.compile(packed.model(), backend="interpreter")


# gates and normalisations


def _gates(rng: np.random.Generator) -> list[Case]:
    x, decays = floats(rng, 2, 3, 4), {"d": floats(rng, 4), "s": -np.abs(floats(rng, 4))}
    wide = {"x": floats(rng, 2, 5, 12), "s": floats(rng, 4), "g": floats(rng, 2, 5, 12)}
    sigmoid = {"activation": "sigmoid", "epsilon": 1e-3}
    three = {"num_branches": 3}
    return [
        Case("GatedRMSNorm", wide),
        Case("GatedRMSNorm", {**wide, "s": floats(rng, 12)}, attributes=sigmoid),
        Case("BranchwiseRMSNorm", {"x": wide["x"]}, {"s": floats(rng, 3, 4)}, attributes=three),
        Case("BranchwiseRMSNorm", {"x": floats(rng, 5, 3, 4)}, {"s": floats(rng, 12)}),
        Case("BranchwiseRMSNorm", {"x": x}, {"s": floats(rng, 4)}),
        Case("BranchwiseRMSNorm", {"x": x}),
        Case("GatedAdd", {"x": x, "z": floats(rng, 2, 3, 4), "g": floats(rng, 2, 3, 1)}),
        Case("ScaledSiLU", {"x": x}, attributes={"alpha": 1.3}),
        Case("ScaledSiLU", {"x": x, "s": np.array(0.7, np.float32)}),
        Case("LinearAttentionGate", {"a": x, **decays}),
        Case("LinearAttentionGate", {"a": x, **decays, "b": -x}, outputs=("y", "z")),
    ]


def test_gates(rng: np.random.Generator) -> None:
    check_known(*_gates(rng))


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("skip", [None, (2, 6), (2, 1, 1, 6), (2, 5, 3, 6)])
def test_group_norm(
    channels_last: int, skip: tuple[int, ...] | None, rng: np.random.Generator
) -> None:
    """Compares with numpy: onnxruntime has these operators on GPUs only."""
    x, gamma, beta = floats(rng, 2, 5, 3, 6), floats(rng, 6), floats(rng, 6)
    given = {"channels_last": channels_last, "groups": 2, "activation": 1, "epsilon": 1e-3}
    inputs, total = {"x": x, "gamma": gamma, "beta": beta}, x
    if skip is not None:
        inputs |= {"skip": floats(rng, *skip), "bias": floats(rng, 6)}
        total = x + inputs["skip"].reshape(2, *((1, 1) if len(skip) == 2 else skip[1:3]), 6)
        total = total + inputs["bias"]
    parts = total.reshape(2, 15, 2, 3).astype(np.float64)
    normal = (parts - parts.mean((1, 3), keepdims=True)) / np.sqrt(
        parts.var((1, 3), keepdims=True) + 1e-3
    )
    wanted = normal.reshape(2, 5, 3, 6) * gamma + beta
    wanted = wanted / (1 + np.exp(-wanted))
    if not channels_last:
        images = {n: a for n, a in inputs.items() if a.ndim == 4}
        inputs |= {n: np.moveaxis(a, 3, 1).copy() for n, a in images.items()}
        wanted, total = np.moveaxis(wanted, 3, 1), np.moveaxis(total, 3, 1)
    name, outputs = ("GroupNorm", ("y",)) if skip is None else ("SkipGroupNorm", ("y", "s"))
    case = Case(name, inputs, outputs=outputs, attributes=given)
    found = glow.compile(case.model(), cache=False).run(None, inputs)
    np.testing.assert_allclose(found[0], wanted, rtol=0, atol=1e-5)
    if skip is not None:
        np.testing.assert_allclose(found[1], total, rtol=0, atol=1e-6)


# positions of images


@pytest.mark.parametrize(
    ("sections", "width", "given"),
    [
        ((2, 3, 1), 12, {"num_heads": 2}),
        ((2, 2, 2), 12, {"mrope_layout": 1, "interleaved": 1}),
        ((2, 1, 1), 8, {"mrope_layout": 1, "num_heads": 2, "rotary_embedding_dim": 8}),
    ],
)
def test_rotary_embedding_of_several_positions(
    sections: Sequence[int], width: int, given: dict[str, int], rng: np.random.Generator
) -> None:
    x = floats(rng, 2, 5, 24) if "num_heads" in given else floats(rng, 2, 2, 5, 12)
    tables = {"c": floats(rng, 9, width // 2), "s": floats(rng, 9, width // 2)}
    inputs = {"x": x, "p": rng.integers(0, 9, (3, 2, 5))}
    attributes = {"mrope_section": list(sections), **given}
    check_known(Case("MRotaryEmbedding", inputs, tables, attributes=attributes))


def test_sections_have_to_fit_the_angles(rng: np.random.Generator) -> None:
    inputs = {"x": floats(rng, 2, 5, 24), "p": rng.integers(0, 9, (3, 2, 5))}
    tables = {"c": floats(rng, 9, 6), "s": floats(rng, 9, 6)}
    attributes = {"mrope_section": [2, 2, 1], "num_heads": 2}
    case = Case("MRotaryEmbedding", inputs, tables, attributes=attributes)
    with pytest.raises(ModelError, match="sections of 6 angles"):
        glow.compile(case.model(), backend="interpreter")


# mixtures of experts


def _experts(
    rng: np.random.Generator,
    tokens: Sequence[int],
    sizes: tuple[int, int, int],
    bias: bool = True,
    **attributes: Any,
) -> Case:
    """Returns a mixture of experts with `sizes` inputs, hidden elements, and experts."""
    width, hidden, experts = sizes
    parts = 2 if attributes.get("swiglu_fusion") else 1
    inputs = {"x": floats(rng, *tokens, width), "r": floats(rng, int(np.prod(tokens)), experts)}
    weights = {
        "w1": floats(rng, experts, parts * hidden, width) * np.float32(0.3),
        "b1": floats(rng, experts, parts * hidden),
        "w2": floats(rng, experts, width, hidden) * np.float32(0.3),
        "b2": floats(rng, experts, width),
    }
    order = ["x", "r", "w1", "b1" if bias else "", "w2", "b2" if bias else ""]
    used = {n: a for n, a in weights.items() if n in order}
    return Case("MoE", inputs, used, order=order, attributes=attributes)


_GATED = {"activation_type": "swiglu", "swiglu_fusion": 1}


@pytest.mark.parametrize(
    ("tokens", "sizes", "attributes"),
    [
        ((5,), (8, 6, 4), {"k": 2}),
        ((1,), (8, 6, 4), {"k": 1, "activation_type": "silu"}),
        ((3, 7), (9, 5, 3), {"k": 2, "activation_type": "gelu", "normalize_routing_weights": 1}),
        ((2, 41), (9, 5, 4), {"k": 2, "activation_type": "identity"}),
        ((61,), (11, 13, 7), {"k": 3, "bias": False}),
        ((61,), (11, 13, 7), {"k": 7, **_GATED}),
        ((130,), (11, 17, 3), {"k": 2, "activation_alpha": 1.7, "activation_beta": 1.0, **_GATED}),
        ((9,), (11, 17, 3), {"k": 2, "swiglu_limit": 0.7, **_GATED}),
    ],
)
def test_mixture_of_experts(
    tokens: Sequence[int],
    sizes: tuple[int, int, int],
    attributes: dict[str, Any],
    rng: np.random.Generator,
) -> None:
    check_known(_experts(rng, tokens, sizes, **attributes))


@pytest.mark.parametrize("form", ["halves", "third layer"])
def test_forms_of_gated_experts_agree(form: str, rng: np.random.Generator) -> None:
    """Compares forms that onnxruntime has on GPUs only with interleaved columns."""
    case = _experts(rng, (37,), (11, 5, 4), k=2, **_GATED)
    wanted = glow.compile(case.model(), cache=False).run(None, dict(case.inputs))[0]
    weights, attributes, order = dict(case.weights), dict(case.attributes), list(case.order)
    gate, linear = (
        {n: a[:, start::2].copy() for n, a in weights.items() if n in ("w1", "b1")}
        for start in (0, 1)
    )
    if form == "halves":
        attributes["swiglu_fusion"] = 2
        weights |= {n: np.concatenate([gate[n], linear[n]], 1) for n in gate}
    else:
        attributes["swiglu_fusion"] = 0
        weights |= gate | {"w3": linear["w1"], "b3": linear["b1"]}
        order += ["w3", "b3"]
    other = Case("MoE", case.inputs, weights, order=order, attributes=attributes)
    found = glow.compile(other.model(), cache=False).run(None, dict(case.inputs))[0]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"k": 5}, ModelError, "4 experts, of which k=5"),
        ({"activation_type": "geglu"}, UnsupportedError, "geglu"),
        ({"use_sparse_mixer": 1}, UnsupportedError, "use_sparse_mixer"),
        ({"swiglu_limit_after_activation": 1}, UnsupportedError, "swiglu_limit_after_activation=1"),
        ({"activation_type": "swiglu"}, ModelError, "third layer or swiglu_fusion 1 or 2, found 0"),
    ],
)
def test_experts_that_are_refused(
    given: dict[str, Any], error: type[Exception], message: str, rng: np.random.Generator
) -> None:
    case = _experts(rng, (3,), (8, 6, 4), **{"k": 2, **given})
    with pytest.raises(error, match=message):
        glow.compile(case.model(), backend="interpreter")
