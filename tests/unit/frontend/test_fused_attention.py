"""Attention of onnxruntime's own domain, with the numbers of onnxruntime in float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError

from .onnxruntime_cases import Case, check, check_known, floats

IMAGES, ROWS, HEADS, WIDTH = 2, 5, 3, 4
INNER = HEADS * WIDTH


def _projected(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"w": 0.3 * floats(rng, 7, 3 * INNER), "b": floats(rng, 3 * INNER)}


def _mask(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """
    Returns which keys count, the first one always: onnxruntime adds -10,000 to the scores of the
    others, which rounds them, and shows where no key counts.
    """
    mask = rng.integers(0, 2, shape)
    mask[..., 0] = 1
    return mask


def _attention(rng: np.random.Generator, mask: np.ndarray | None = None, **attributes: Any) -> Case:
    inputs = {"x": floats(rng, IMAGES, ROWS, 7)}
    if mask is not None:
        inputs["m"] = mask.astype(np.int32)
    order = ["x", "w", "b", *(["m"] if mask is not None else [])]
    return Case(
        "Attention", inputs, _projected(rng), order, attributes={"num_heads": HEADS, **attributes}
    )


def test_attention(rng: np.random.Generator) -> None:
    """Compares masks of all forms: ends, ends and starts, and which keys count."""
    check(_attention(rng), "cpu")
    check(_attention(rng, np.array([3, 5]), unidirectional=1))
    check(_attention(rng, np.array([3, 5, 1, 0])))
    check(_attention(rng, _mask(rng, IMAGES, ROWS), scale=0.3))


def test_attention_with_a_past(rng: np.random.Generator) -> None:
    plain = _attention(rng, _mask(rng, IMAGES, ROWS, ROWS + 3), unidirectional=1)
    inputs = {**plain.inputs, "p": floats(rng, 2, IMAGES, HEADS, 3, WIDTH)}
    order = [*plain.order, "p"]
    check(Case("Attention", inputs, plain.weights, order, ["y", "s"], attributes=plain.attributes))


def test_multi_head_attention(rng: np.random.Generator) -> None:
    attributes = {"num_heads": HEADS}
    q, k = floats(rng, IMAGES, ROWS, INNER), floats(rng, IMAGES, 6, INNER)
    v = floats(rng, IMAGES, 6, 2 * INNER)
    more = {
        "b": floats(rng, 4 * INNER),
        "m": _mask(rng, IMAGES, 6).astype(np.int32),
        "a": floats(rng, IMAGES, 1, ROWS, 6),
    }
    operands = {"q": q, "k": k, "v": v, **more}
    states = ["y", "ks", "vs"]
    check(Case("MultiHeadAttention", operands, outputs=states, attributes=attributes))
    past = {"pk": floats(rng, IMAGES, HEADS, 2, WIDTH), "pv": floats(rng, IMAGES, HEADS, 2, WIDTH)}
    own = {"q": q, "k": k[:, :ROWS], "v": k[:, 1:], **past}
    order = ["q", "k", "v", "", "", "", "pk", "pv"]
    causal = {**attributes, "unidirectional": 1}
    check(Case("MultiHeadAttention", own, {}, order, states, attributes=causal))
    turned = {"q": q, "k": floats(rng, IMAGES, HEADS, 6, WIDTH)}
    turned["v"] = floats(rng, IMAGES, HEADS, 6, WIDTH)
    check(Case("MultiHeadAttention", turned, attributes=attributes))


def test_quantized_attention(rng: np.random.Generator) -> None:
    inputs = {
        "x": rng.integers(0, 256, (IMAGES, ROWS, 7)).astype(np.uint8),
        "m": np.array([3, 5], np.int32),
    }
    weights = {
        "w": rng.integers(-60, 61, (7, 3 * INNER)).astype(np.int8),
        "b": floats(rng, 3 * INNER),
        "xs": np.array(0.02, np.float32),
        "ws": np.array(0.01, np.float32),
        "xz": np.array(120, np.uint8),
        "wz": np.array(3, np.int8),
    }
    order = ["x", "w", "b", "xs", "ws", "m", "xz", "wz"]
    check(Case("QAttention", inputs, weights, order, attributes={"num_heads": HEADS}))


def test_rotary_embedding(rng: np.random.Generator) -> None:
    angles = {"c": floats(rng, 11, 4), "s": floats(rng, 11, 4)}
    places = rng.integers(0, 11, (IMAGES, ROWS))
    check(Case("RotaryEmbedding", {"x": floats(rng, IMAGES, ROWS, 24), "p": places}, angles))
    heads_first = {"x": floats(rng, IMAGES, HEADS, ROWS, 8), "p": np.array([3])}
    check(Case("RotaryEmbedding", heads_first, angles, attributes={"interleaved": 1}))
    few = {n: a[:, :2] for n, a in angles.items()}
    part = {"num_heads": HEADS, "rotary_embedding_dim": 4}
    check(
        Case(
            "RotaryEmbedding",
            {"x": floats(rng, IMAGES, ROWS, 24), "p": places},
            few,
            attributes=part,
        )
    )


# GroupQueryAttention

QUERIES, GROUPS, HEAD = 6, 2, 16
STATES = ["y", "ks", "vs"]


def _grouped(rng: np.random.Generator, rows: int, total: int, **attributes: Any) -> Case:
    """Returns attention of rows that are the last of all."""
    last = np.full(IMAGES, total - 1, np.int32)
    if rows < total:
        last = rng.integers(rows, total, IMAGES).astype(np.int32)
        last[0] = total - 1
    inputs = {
        "q": floats(rng, IMAGES, rows, QUERIES * HEAD),
        "k": floats(rng, IMAGES, rows, GROUPS * HEAD),
        "v": floats(rng, IMAGES, rows, GROUPS * HEAD),
        "last": last,
    }
    order = ["q", "k", "v", "", "", "last", "total"]
    if rows < total:
        inputs["ks_before"] = floats(rng, IMAGES, GROUPS, total + 1, HEAD)
        inputs["vs_before"] = floats(rng, IMAGES, GROUPS, total + 1, HEAD)
        order[3:5] = ["ks_before", "vs_before"]
    angles = {n: floats(rng, 16, HEAD // 2) for n in ("c", "s")}
    counts = {"num_heads": QUERIES, "kv_num_heads": GROUPS}

    def valid(number: int, array: np.ndarray) -> np.ndarray:
        """Returns the elements of a cache up to the last position; the others are not stated."""
        if not number:
            return array
        return np.concatenate([a[:, : n + 1].ravel() for a, n in zip(array, last, strict=True)])

    return Case(
        "GroupQueryAttention",
        inputs,
        {"total": np.array(total, np.int32), **angles},
        [*order, *(["c", "s"] if attributes.get("do_rotary") else [])],
        STATES,
        attributes={**counts, **attributes},
        valid=valid,
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"do_rotary": 1},
        {"local_window_size": 2},
        {"softcap": 1.5, "scale": 0.7},
        {"smooth_softmax": 1},
    ],
    ids=str,
)
def test_grouped_attention(attributes: dict[str, Any], rng: np.random.Generator) -> None:
    check(_grouped(rng, ROWS, ROWS, **attributes))


def test_grouped_attention_with_a_cache(rng: np.random.Generator) -> None:
    """Each image has as many positions as its input says."""
    check(_grouped(rng, 1, 8, do_rotary=1), "cpu")
    check(_grouped(rng, 1, 8, do_rotary=1, rotary_interleaved=1, local_window_size=3))


def test_what_is_refused(rng: np.random.Generator) -> None:
    case = _grouped(rng, ROWS, ROWS, qk_output=1)
    with pytest.raises(UnsupportedError, match=r"GroupQueryAttention.*qk_output=1"):
        glow.compile(case.model())


# attention of one new position


def _decoder(
    rng: np.random.Generator, past: int, options: Sequence[str] = (), **attributes: Any
) -> Case:
    """
    Returns attention of a new position behind five others, in a cache of `past` positions. The
    options are names of inputs: m is a mask, a is added to scores, b is a bias.
    """
    inputs = {name: floats(rng, IMAGES, 1, INNER) for name in "qkv"}
    mask = _mask(rng, IMAGES, 6).astype(np.int32)
    optional = {"m": mask, "a": floats(rng, 1, HEADS, 1, 6), "b": floats(rng, 3 * INNER)}
    inputs |= {name: floats(rng, IMAGES, HEADS, past, WIDTH) for name in ("pk", "pv")}
    if attributes.get("past_present_share_buffer"):
        inputs["n"] = np.array([5], np.int32)
    inputs |= {name: optional[name] for name in options}
    names = ("q", "k", "v", "m", "a", "pk", "pv", "n", "beams", "places", "b")
    order = [name if name in inputs else "" for name in names]
    given = {"num_heads": HEADS, **attributes}
    operator = "DecoderMaskedMultiHeadAttention"
    return Case(operator, inputs, order=order, outputs=("y", "k1", "v1"), attributes=given)


@pytest.mark.parametrize("options", ["", "m", "ab"])
def test_decoder_attention_with_room(options: str, rng: np.random.Generator) -> None:
    check_known(_decoder(rng, 9, list(options), past_present_share_buffer=1, scale=0.3))


@pytest.mark.parametrize("options", ["", "m", "ab"])
def test_decoder_attention_with_a_cache(options: str, rng: np.random.Generator) -> None:
    """Compares with a cache that has room: onnxruntime's CPU code has no other one."""
    case = _decoder(rng, 5, list(options))
    found = glow.compile(case.model(), cache=False).run(None, dict(case.inputs))
    room = _decoder(rng, 6, list(options), past_present_share_buffer=1)
    inputs = {**case.inputs, "n": room.inputs["n"]}
    for name in ("pk", "pv"):
        inputs[name] = np.pad(case.inputs[name], [(0, 0), (0, 0), (0, 1), (0, 0)])
    wanted = glow.compile(room.model(), cache=False).run(None, inputs)
    for have, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(have, want, rtol=0, atol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
def test_decoder_attention_of_an_encoder(masked: bool, rng: np.random.Generator) -> None:
    inputs = {"q": floats(rng, IMAGES, 1, INNER)}
    inputs |= {name: floats(rng, IMAGES, HEADS, 7, WIDTH) for name in "kv"}
    if masked:
        inputs["m"] = _mask(rng, IMAGES, 7).astype(np.int32)
    attributes = {"num_heads": HEADS}
    check_known(Case("DecoderMaskedMultiHeadAttention", inputs, attributes=attributes))


def test_decoder_attention_that_is_refused(rng: np.random.Generator) -> None:
    case = _decoder(rng, 9, past_present_share_buffer=1, output_qk=1)
    with pytest.raises(UnsupportedError, match="output_qk=1"):
        glow.compile(case.model(), backend="interpreter")
    inputs = {**case.inputs, "beams": np.array([2], np.int32)}
    order = [name or ("beams" if i == 8 else "") for i, name in enumerate(case.order)]
    given = {"num_heads": HEADS, "past_present_share_buffer": 1}
    beams = Case(case.operator, inputs, order=order, outputs=case.outputs, attributes=given)
    with pytest.raises(UnsupportedError, match="input beam_width"):
        glow.compile(beams.model(), backend="interpreter")
    inputs = {**case.inputs, "q": floats(rng, IMAGES, 2, INNER)}
    rows = Case(case.operator, inputs, order=case.order, outputs=case.outputs, attributes=given)
    with pytest.raises(ModelError, match="one row of each image"):
        glow.compile(rows.model(), backend="interpreter")
