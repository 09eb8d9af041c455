"""
The node tests that the onnx package brings, about every operator in every version.

A test passes if the outputs agree, and is skipped if the compiler says that it does not support the
model. Anything else, above all a wrong result, is a failure. How many pass may not fall.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from glow import onnx_backend
from glow.errors import UnsupportedError
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

pytestmark = pytest.mark.slow

ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2}
"""Two units in the last place: the reference rounds after each step, the compiler may not."""

PASSING = 1160
"""The least number of node tests that pass. Raise it when an operator is added."""


@dataclass
class Tally:
    """The outcomes of the tests, by name."""

    passed: list[str] = field(default_factory=list)
    unsupported: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some tests overflow on purpose
        return collect_testcases(None)


def array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def with_constants(model: ModelProto, inputs: Sequence[Any], first: int) -> ModelProto:
    """Returns the model with its inputs from `first` on as constants: shapes, axes and the like."""
    fixed = ModelProto()
    fixed.CopyFrom(model)
    for declared, value in list(zip(fixed.graph.input, inputs, strict=True))[first:]:
        fixed.graph.initializer.append(numpy_helper.from_array(array(value), declared.name))
        fixed.graph.input.remove(declared)
    return fixed


def variants(model: ModelProto, inputs: Sequence[Any]) -> Iterator[tuple[ModelProto, list[Any]]]:
    """
    Yields the model as it is; then, should that be unsupported because an input is not constant,
    with all inputs but the first as constants; then with all of them.
    """
    yield model, list(inputs)
    plain = all(isinstance(array(i), np.ndarray) and array(i).dtype != object for i in inputs)
    declared = [i.type.WhichOneof("value") == "tensor_type" for i in model.graph.input]
    if not plain or not all(declared) or len(declared) != len(inputs):
        return
    if len(inputs) > 1:
        yield with_constants(model, inputs, 1), list(inputs[:1])
    yield with_constants(model, inputs, 0), []


def run(model: ModelProto, inputs: Sequence[Any], backend: str) -> Sequence[Any]:
    """
    Returns the outputs of the first variant that is supported. Raises UnsupportedError if none is.
    """
    first: UnsupportedError | None = None
    for variant, values in variants(model, inputs):
        try:
            return onnx_backend.run_model(variant, values, backend=backend)
        except UnsupportedError as error:
            first = first or error
            if "is not a constant" not in str(error):
                break
    assert first is not None
    raise first


def compare(found: Sequence[Any], wanted: Sequence[Any], rtol: float, atol: float) -> None:
    assert len(found) == len(wanted)
    for have, value in zip(found, wanted, strict=True):
        want = array(value)
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(have, want)
            continue
        rounding = max(rtol, ROUNDING.get(want.dtype.name, 0))
        np.testing.assert_allclose(
            have.astype(np.float64), want.astype(np.float64), rtol=rounding, atol=atol
        )


def tally(cases: Sequence[Any], wanted: Callable[[str], bool], backend: str) -> Tally:
    result = Tally()
    for case in cases:
        if not wanted(case.name):
            continue
        try:
            for inputs, outputs in case.data_sets:
                compare(run(case.model, inputs, backend), outputs, case.rtol, case.atol)
        except UnsupportedError as reason:
            result.unsupported[case.name] = str(reason)
        except Exception as error:
            result.failed[case.name] = f"{type(error).__name__}: {error}"
        else:
            result.passed.append(case.name)
    return result


def report(result: Tally) -> str:
    return "\n\n".join(f"{name}: {why[:500]}" for name, why in result.failed.items())


def test_all_node_tests_with_the_interpreter(cases: list[Any]) -> None:
    result = tally(cases, lambda name: True, "interpreter")
    print(f"{len(result.passed)} passed, {len(result.unsupported)} unsupported")
    assert not result.failed, report(result)
    assert len(result.passed) >= PASSING


def test_a_sample_of_node_tests_with_machine_code(
    cases: list[Any], rng: np.random.Generator
) -> None:
    """Compiling them all takes minutes, so one in eight is drawn, each time others."""
    drawn = {case.name for case in cases if rng.integers(8) == 0}
    result = tally(cases, lambda name: name in drawn, "cpu")
    print(f"{len(result.passed)} passed, {len(result.unsupported)} unsupported")
    assert not result.failed, report(result)
    assert len(result.passed) > len(drawn) // 3
