"""Attention to blocks of keys, with the numbers of onnxruntime in float."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import glow
import numpy as np
import onnxruntime
import pytest
from glow.errors import ModelError

from .onnxruntime_cases import Case, expect_known, floats

HEADS, GROUPS, WIDTH, BLOCK, ROOM = 4, 2, 16, 16, 64


def _case(
    rng: np.random.Generator, rows: int, lengths: Sequence[int], form: str = "", **attributes: Any
) -> Case:
    """
    Returns attention of rows that are the last of so many positions of each image, with two masks
    of 4 x 4 blocks. Forms are "packed", queries, keys and values in one tensor, and "turned",
    rotary embeddings.
    """
    images = len(lengths)
    heads = {"q": HEADS, "k": GROUPS, "v": GROUPS}
    inputs = {name: floats(rng, images, rows, count * WIDTH) for name, count in heads.items()}
    if "packed" in form:
        inputs = {"q": np.concatenate(list(inputs.values()), -1)}
    inputs |= {name: floats(rng, images, GROUPS, ROOM, WIDTH) for name in ("pk", "pv")}
    inputs["n"] = np.array(lengths, np.int32)
    weights = {
        "r": np.array([[0, 1, 3, 5, 8], [0, 1, 3, 6, 9]], np.int32),
        "c": np.array([[0, 0, 1, 1, 2, 1, 2, 3, -1], [0, 0, 1, 0, 1, 2, 0, 2, 3]], np.int32),
        "t": np.array(max(lengths), np.int32),
    }
    if "turned" in form:
        angles = rng.random((ROOM, WIDTH // 2))
        weights |= {"cos": np.cos(angles).astype(np.float32)}
        weights |= {"sin": np.sin(angles).astype(np.float32)}
    names = ("q", "k", "v", "pk", "pv", "r", "c", "t", "n", "cos", "sin")
    order = [name if name in {**inputs, **weights} else "" for name in names]
    given = {
        "num_heads": HEADS,
        "kv_num_heads": GROUPS,
        "sparse_block_size": BLOCK,
        "do_rotary": int("turned" in form),
        **attributes,
    }
    order = order if "turned" in form else order[:-2]
    return Case("SparseAttention", inputs, weights, order, ("y", "k1", "v1"), attributes=given)


def _wanted(case: Case, image: int) -> list[np.ndarray]:
    """
    Returns the results of onnxruntime for one image, whose caches are the same memory before and
    after. It gives odd numbers (in 1.32) to images that are shorter than others.
    """
    inputs = {n: a[image : image + 1] for n, a in case.inputs.items()}
    weights = {**case.weights, "t": inputs["n"].reshape(())}
    case = replace(case, inputs=inputs, weights=weights)
    session = onnxruntime.InferenceSession(
        case.model().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    values = {n: onnxruntime.OrtValue.ortvalue_from_numpy(a.copy()) for n, a in case.inputs.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y")
    binding.bind_ortvalue_output("k1", values["pk"])
    binding.bind_ortvalue_output("v1", values["pv"])
    session.run_with_iobinding(binding)
    return [np.array(value.numpy()) for value in binding.get_outputs()]


@pytest.mark.parametrize(
    ("rows", "lengths", "form", "attributes"),
    [
        (37, (37, 37), "", {}),
        (1, (50, 38), "", {"scale": 0.3}),
        (1, (50, 38), "turned", {}),
        (37, (37, 37), "packed turned", {"rotary_interleaved": 1}),
    ],
)
def test_attention_to_blocks(
    rows: int,
    lengths: Sequence[int],
    form: str,
    attributes: dict[str, int],
    rng: np.random.Generator,
) -> None:
    """Compares caches up to the last position: the definition does not state the rest."""
    case = _case(rng, rows, lengths, form, **attributes)
    expect_known(case)
    found = glow.compile(case.model(), cache=False).run(None, dict(case.inputs))
    for image, length in enumerate(lengths):
        y, *caches = _wanted(case, image)
        np.testing.assert_allclose(found[0][image], y[0], rtol=0, atol=1e-5)
        for have, want in zip(found[1:], caches, strict=True):
            stated = want[0, :, :length]
            np.testing.assert_allclose(have[image, :, :length], stated, rtol=0, atol=1e-6)


def test_masks_that_do_not_fit(rng: np.random.Generator) -> None:
    case = _case(rng, 1, (50,), sparse_block_size=8)
    with pytest.raises(ModelError, match="blocks for 50 positions, found 2 layouts of 4 blocks"):
        glow.compile(case.model(), backend="interpreter")
    case = _case(rng, 1, (50,))
    weights = {**case.weights, "c": case.weights["c"] + 3}
    other = replace(case, weights=weights)
    with pytest.raises(ModelError, match="columns of 4 blocks"):
        glow.compile(other.model(), backend="interpreter")
