"""
The node tests that the onnx package brings, about every operator in every version.

A test passes if the outputs agree, and is skipped if the compiler says that it does not support the
model. Anything else, above all a wrong result, is a failure. How many pass may not fall.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from glow import onnx_backend
from glow.errors import UnsupportedError
from glow.tests.conformance import suite
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

pytestmark = pytest.mark.slow

ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2}
"""Two units in the last place: the reference rounds after each step, the compiler may not."""

PASSING = 1800
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


def compare(found: Sequence[Any], wanted: Sequence[Any], rtol: float, atol: float) -> None:
    assert len(found) == len(wanted)
    for have, value in zip(found, wanted, strict=True):
        if isinstance(value, list):
            compare(have, value, rtol, atol)
            continue
        want = array(value)
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(have, want)
            continue
        rounding = max(rtol, ROUNDING.get(want.dtype.name, 0))
        np.testing.assert_allclose(
            have.astype(np.float64), want.astype(np.float64), rtol=rounding, atol=atol
        )


def tally(cases: Sequence[Any], backend: str) -> Tally:
    result = Tally()
    expected = suite.read_expected()
    for case in cases:
        if expected.get(case.name, "").startswith(suite.DIFFERS):
            continue
        try:
            for inputs, outputs in case.data_sets:
                compare(
                    onnx_backend.run_model(case.model, list(inputs), backend=backend),
                    outputs,
                    case.rtol,
                    case.atol,
                )
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
    result = tally(cases, "interpreter")
    print(f"{len(result.passed)} passed, {len(result.unsupported)} unsupported")
    assert not result.failed, report(result)
    assert len(result.passed) >= PASSING


def test_a_sample_of_the_suite_with_machine_code(rng: np.random.Generator) -> None:
    """
    Compiling all cases takes minutes (`python -m glow.tests.conformance.suite`), so one in 32 is
    drawn, each time others.
    """
    drawn = [name for name in suite.cases() if rng.integers(32) == 0]
    results = [suite.run_case(name) for name in drawn]
    print(suite.table(results))
    assert not suite.deviations(results, suite.read_expected())


def test_deviations_are_noticed() -> None:
    def result(name: str, status: str) -> suite.Result:
        return suite.Result(name, "node", "Op", status, "why", 0.0)

    expected = {"a": "pass", "b": "Op: missing", "c": "differs: rounding", "d": "pass"}
    as_expected = [result(*r) for r in (("a", "pass"), ("b", "refused"), ("c", "failed"))]
    assert not suite.deviations(as_expected, expected)
    others = [("a", "refused"), ("a", "failed"), ("b", "pass"), ("b", "failed"), ("new", "refused")]
    for other in others:
        assert len(suite.deviations([result(*other)], expected)) == 1


def test_the_file_of_expected_results_has_all_cases() -> None:
    assert set(suite.read_expected()) == set(suite.cases())
