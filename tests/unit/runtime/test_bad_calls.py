"""Calls that are wrong: one error with names and numbers, and the model stays usable."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.frontend.onnx import importer, loops
from glow.tests.unit.frontend.models import model, node, value
from onnx import ModelProto, TensorProto, helper


def sums() -> ModelProto:
    """Adds vectors of one length, and zeros in a number that is smaller by 3."""
    nodes = [
        node("Add", ["x", "z"], ["sum"]),
        node("Shape", ["x"], ["s"]),
        node("Sub", ["s", "three"], ["less"]),
        node("ConstantOfShape", ["less"], ["zeros"]),
    ]
    outputs = [value("sum", ["n"]), value("zeros", [None])]
    return model(nodes, [value("x", ["n"]), value("z", ["n"])], outputs, {"three": np.array([3])})


def count_up() -> ModelProto:
    """Adds a step to each number until the first one is 9 or more."""
    nodes = [
        node("Add", ["v", "step"], ["w"]),
        node("ReduceMin", ["w"], ["least"], keepdims=0),
        node("Less", ["least", "nine"], ["on"]),
    ]
    i, c = value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL)
    results = [value("on", [], TensorProto.BOOL), value("w", None)]
    body = helper.make_graph(nodes, "body", [i, c, value("v", ["n"])], results)
    loop = node("Loop", ["", "", "x"], ["y"], body=body, name="up")
    inputs = [value("x", ["n"]), value("step", [])]
    return model([loop], inputs, [value("y", ["n"])], {"nine": np.array(9, np.float32)})


def ones(*lengths: int) -> list[np.ndarray]:
    return [np.ones(n, np.float32) for n in lengths]


STEP, NO_STEP = np.float32(1), np.float32(0)
CASES = [
    (
        *(sums, {}, ones(5, 5), ones(5, 4), glow.InputError),
        "symbol 'n' is 5 in dimension 0 of input 'x', but 4 in dimension 0 of input 'z'",
    ),
    (
        *(sums, {"symbols": {"n": (3, 8)}}, ones(5, 5), ones(9, 9), glow.InputError),
        "symbol 'n' is 9: expected a size from 3 to 8",
    ),
    (
        *(sums, {}, ones(5, 5), ones(2, 2), glow.ModelError),
        r"ConstantOfShape with output 'zeros': .* at least 0, found \[-1\]",
    ),
    (
        *(count_up, {}, [*ones(5), STEP], [*ones(5), NO_STEP], glow.LimitError),
        "Loop 'up': not at its end after 100 steps",
    ),
]


@pytest.mark.parametrize(("make", "options", "good", "bad", "kind", "message"), CASES)
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_the_model_stays_usable(
    make: Callable[[], ModelProto],
    options: dict[str, object],
    good: list[np.ndarray],
    bad: list[np.ndarray],
    kind: type[Exception],
    message: str,
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
):
    for module in (loops, importer):
        monkeypatch.setattr(module, "LIMIT", 100)
    compiled = glow.compile(make(), backend, cache=False, **options)  # pyright: ignore
    want = compiled(*good)
    for _ in range(2):
        with pytest.raises(kind, match=message):
            compiled(*bad)
        for a, b in zip(compiled(*good), want, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["", "U"])
def test_integers_of_python_are_those_of_the_input(
    sign: str, bits: int, rng: np.random.Generator
) -> None:
    element = getattr(TensorProto, f"{sign}INT{bits}")
    made = model(
        [node("Identity", ["x"], ["y"])],
        [value("x", [3], element)],
        [value("y", [3], element)],
    )
    compiled = glow.compile(made, "interpreter")
    least, most = (0, (1 << bits) - 1) if sign else (-1 << (bits - 1), (1 << (bits - 1)) - 1)
    drawn = int(rng.integers(0, 128))
    for numbers in ([least, drawn, most], (most, most, most), [True, False, drawn]):
        assert compiled(numbers)[0].tolist() == list(numbers)
    for wrong in (least - 1, most + 1, 1 << 64, -1 << 64, 1 << 2000):
        with pytest.raises(glow.InputError, match=f"expected integers of {least} to {most} for"):
            compiled([drawn, wrong, drawn])
    for floats in ([1.0, 1.0, drawn], [1.0, 1 << 64, drawn], [float(most), most, most]):
        with pytest.raises(glow.InputError, match=r"expected dtype|found list without numbers"):
            compiled(floats)


def test_large_integers_of_python_are_rounded_to_floats() -> None:
    made = model([node("Neg", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
    compiled = glow.compile(made, "interpreter")
    assert compiled([1 << 70, -(1 << 64) - 1])[0].tolist() == [-float(1 << 70), float(1 << 64)]
    with pytest.raises(glow.InputError, match="int too large to convert to float"):
        compiled([1 << 2000, 0])


def test_a_model_in_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "model.onnx"
    os.mkfifo(pipe)
    for cache in (False, tmp_path / "cache"):
        with pytest.raises(glow.ModelError, match=r"model.onnx: is a pipe or a device, expected"):
            glow.compile(pipe, cache=cache)


@pytest.mark.parametrize("taken", [pickle.dumps, copy.deepcopy, copy.copy])
def test_models_stay_in_their_process(taken: Callable[[object], object]):
    model = glow.compile(sums(), backend="interpreter")
    with pytest.raises(glow.GlowError, match="give others what it was compiled from"):
        taken(model)
