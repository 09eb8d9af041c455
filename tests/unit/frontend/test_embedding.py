"""Sums of rows of embedding tables, with the numbers of numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import InputError, ModelError
from glow.lowering.target import find_target, host_target
from glow.tests.support.cross import EmulatedBackend, needs_emulator
from onnx import ModelProto, helper, numpy_helper

from .models import model, node, value

ATEN, CAFFE2, GLOW = "org.pytorch.aten", "org.pytorch._caffe2", "ai.glow"
Arrays = Mapping[str, np.ndarray]


def built(
    kind: str,
    domain: str,
    order: list[str],
    inputs: Arrays,
    weights: Arrays,
    **attributes: Any,
) -> ModelProto:
    made = node(kind, order, ["y"], domain=domain, name="bags", **attributes)
    codes = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in inputs.items()}
    return model(
        [made],
        [value(n, a.shape, codes[n]) for n, a in inputs.items()],
        ["y"],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)],
    )


def summed(rows: np.ndarray, indices: np.ndarray, ends: np.ndarray, factors: Any) -> np.ndarray:
    """Returns the sum of the rows of each bag, times their factors."""
    chosen = rows[indices].astype(np.float64) * np.broadcast_to(factors, indices.shape)[:, None]
    starts = [0, *ends[:-1]]
    return np.stack([chosen[a:b].sum(0) for a, b in zip(starts, ends, strict=True)])


def check(made: ModelProto, inputs: Arrays, wanted: np.ndarray, *backends: str) -> None:
    for backend in backends or ("interpreter", "cpu"):
        cache: dict[str, Any] = {"cache": False} if backend == "cpu" else {}
        (found,) = glow.compile(made, backend=backend, **cache).run(None, dict(inputs))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


LENGTHS = np.array([3, 0, 17, 1, 2], np.int32)
"""Lengths with an empty bag, and more indices than the kernel prefetches."""
ENDS = np.cumsum(LENGTHS)
COUNT = int(ENDS[-1])


def drawn(rng: np.random.Generator, rows: int, *, weights: bool) -> dict[str, np.ndarray]:
    found = {"i": rng.integers(0, rows, COUNT), "l": LENGTHS}
    if weights:
        found["w"] = rng.standard_normal(COUNT).astype(np.float32)
    return found


@pytest.mark.parametrize("domain", [CAFFE2, GLOW])
def test_sparse_lengths_sum(domain: str, rng: np.random.Generator) -> None:
    table = rng.standard_normal((11, 19)).astype(np.float32)
    inputs = drawn(rng, 11, weights=domain == GLOW)
    factors = inputs.get("w", 1)
    order = ["d", "w", "i", "l"] if domain == GLOW else ["d", "i", "l"]
    name = "SparseLengthsWeightedSum" if domain == GLOW else "SparseLengthsSum"
    made = built(name, domain, order, inputs, {"d": table})
    check(made, inputs, summed(table, inputs["i"], ENDS, factors))


def fused(rng: np.random.Generator, bits: int, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of bytes, and the numbers that they stand for."""
    packed = rng.integers(0, 256, (7, 13)).astype(np.uint8)
    ends = rng.standard_normal((7, 2)).astype(np.float16 if half else np.float32)
    if half:
        ends[0] = [3e-6, -0.0]  # a subnormal number
    numbers = packed
    if bits == 4:
        numbers = np.stack([packed & 15, packed >> 4], -1).reshape(7, -1)
    rows = numbers * ends[:, :1].astype(np.float64) + ends[:, 1:]
    return np.concatenate([packed, ends.view(np.uint8)], 1), rows


@pytest.mark.parametrize(("bits", "half"), [(8, False), (8, True), (4, True), (4, False)])
def test_fused_rows(bits: int, half: bool, rng: np.random.Generator) -> None:
    table, rows = fused(rng, bits, half)
    inputs = drawn(rng, 7, weights=True)
    name = f"SparseLengthsWeightedSumFused{bits}BitRowwise"
    made = built(
        name, CAFFE2, ["d", "w", "i", "l"], inputs, {"d": table}, half=int(half), bits=bits
    )
    backends = ("interpreter", "cpu") if half == (bits == 4) else ("interpreter",)
    check(made, inputs, summed(rows, inputs["i"], ENDS, inputs["w"]), *backends)


def fused_bags(rng: np.random.Generator, bits: int) -> tuple[ModelProto, Arrays, np.ndarray]:
    """Returns a model, its inputs, and the result."""
    half = bits == 4
    table, rows = fused(rng, bits, half)
    inputs = drawn(rng, 7, weights=True)
    name = f"SparseLengthsWeightedSumFused{bits}BitRowwise"
    made = built(name, CAFFE2, ["d", "w", "i", "l"], inputs, {"d": table})
    return made, inputs, summed(rows, inputs["i"], ENDS, inputs["w"])


@pytest.mark.parametrize("options", [{"sanitize": True}, {"threads": 2}], ids=str)
@pytest.mark.parametrize("bits", [8, 4])
def test_fused_rows_with(bits: int, options: dict[str, Any], rng: np.random.Generator) -> None:
    made, inputs, wanted = fused_bags(rng, bits)
    (found,) = glow.compile(made, cache=False, **options).run(None, dict(inputs))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("bits", [8, 4])
def test_fused_rows_on(bits: int, cpu: str, rng: np.random.Generator) -> None:
    if host_target().architecture != "x86_64" or find_target(cpu).missing_here():
        pytest.skip(f"this machine is no {cpu}")
    made, inputs, wanted = fused_bags(rng, bits)
    (found,) = glow.compile(made, cache=False, target_cpu=cpu).run(None, dict(inputs))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@needs_emulator()
@pytest.mark.parametrize("bits", [8, 4])
def test_fused_rows_on_aarch64(bits: int, tmp_path: Path, rng: np.random.Generator) -> None:
    made, inputs, wanted = fused_bags(rng, bits)
    backend = EmulatedBackend(tmp_path, "cortex-a76", target_cpu="cortex-a76")
    (found,) = glow.compile(made, backend).run(None, dict(inputs))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_rows_with_scales_apart(rng: np.random.Generator) -> None:
    table = rng.integers(0, 256, (7, 13)).astype(np.uint8)
    weights = {"d": table, "s": rng.standard_normal(7).astype(np.float32)}
    weights["o"] = rng.integers(0, 256, 7).astype(np.int32)
    rows = (table.astype(np.float64) - weights["o"][:, None]) * weights["s"][:, None]
    inputs = drawn(rng, 7, weights=True)
    order = ["d", "s", "o", "w", "i", "l"]
    made = built("RowwiseQuantizedSparseLengthsWeightedSum", GLOW, order, inputs, weights)
    check(made, inputs, summed(rows, inputs["i"], ENDS, inputs["w"]), "interpreter")


@pytest.mark.parametrize("mode", [0, 1])
def test_embedding_bag_of_pytorch(mode: int, rng: np.random.Generator) -> None:
    table = rng.standard_normal((11, 5)).astype(np.float32)
    inputs = drawn(rng, 11, weights=False)
    inputs["l"] = np.array([0, *ENDS[:-1]])
    attributes = {"operator": "embedding_bag", "mode": mode}
    made = built("ATen", ATEN, ["d", "i", "l"], inputs, {"d": table}, **attributes)
    wanted = summed(table, inputs["i"], ENDS, 1)
    check(made, inputs, wanted / (np.maximum(LENGTHS, 1)[:, None] if mode else 1), "interpreter")


def test_bags_with_an_end(rng: np.random.Generator) -> None:
    table = rng.standard_normal((11, 5)).astype(np.float32)
    inputs = drawn(rng, 11, weights=True)
    inputs["l"] = np.array([0, *ENDS])
    made = built("EmbeddingBag", GLOW, ["d", "w", "i", "l"], inputs, {"d": table}, has_end_offset=1)
    check(made, inputs, summed(table, inputs["i"], ENDS, inputs["w"]), "interpreter")


def test_wrong_indices_and_lengths(rng: np.random.Generator) -> None:
    table = {"d": rng.standard_normal((11, 5)).astype(np.float32)}
    inputs = drawn(rng, 11, weights=False)
    made = built("SparseLengthsSum", CAFFE2, ["d", "i", "l"], inputs, table)
    compiled = glow.compile(made, backend="interpreter")
    with pytest.raises(InputError, match=r"SparseLengthsSum 'bags': expected indices in 0 to 10"):
        compiled(np.where(np.arange(COUNT) == 2, 11, inputs["i"]), inputs["l"])
    with pytest.raises(InputError, match=r"'bags': expected lengths with the sum 23, found 22"):
        compiled(inputs["i"], LENGTHS - (LENGTHS == 3))
    offsets = {"operator": "embedding_bag"}
    starts = {**inputs, "l": np.array([0, 3, 2])}
    made = built("ATen", ATEN, ["d", "i", "l"], starts, table, **offsets)
    with pytest.raises(
        InputError, match=r"offsets that do not decrease, found 2 behind 3 at \[2\]"
    ):
        glow.compile(made, backend="interpreter").run(None, starts)
    known = built(
        "ATen", ATEN, ["d", "i", "l"], {"i": inputs["i"]}, {**table, "l": starts["l"]}, **offsets
    )
    with pytest.raises(ModelError, match=r"'bags': expected offsets that do not decrease"):
        glow.compile(known)
