"""
The node tests that the onnx package brings, about every operator in every version.

A test passes if the outputs agree, and is skipped if the compiler says that it does not support the
model. Anything else, above all a wrong result, is a failure. How many pass may not fall.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import glow
import numpy as np
import pytest
from glow import onnx_backend
from glow.errors import GlowError, UnsupportedError
from glow.frontend.onnx import LoadedModel, load_onnx
from glow.graph_with_symbols import GraphWithSymbols
from glow.loading import load_model
from glow.tests.conformance import suite
from glow.tests.support.changed_models import changed
from glow.tests.support.graph_text import without_numbers
from onnx import ModelProto, TensorProto, numpy_helper, printer
from onnx.backend.test.case.node import collect_testcases
from xdsl.utils.exceptions import VerifyException

pytestmark = pytest.mark.slow

ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2}
"""Two units in the last place: the reference rounds after each step, the compiler may not."""

CHANGED = 200
"""The number of models with random changes."""

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
        if expected.get(case.name, "").startswith(suite.MAY_FAIL):
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


def with_symbols(model: ModelProto) -> tuple[ModelProto, dict[str, int]]:
    """Returns a model with a symbol for each dimension of its inputs, and their sizes."""
    made, sizes = ModelProto(), dict[str, int]()
    made.CopyFrom(model)
    del made.graph.value_info[:]
    constants = {tensor.name for tensor in made.graph.initializer}
    for i, value in enumerate(made.graph.input):
        for d, dim in enumerate(value.type.tensor_type.shape.dim):
            if value.name not in constants and dim.dim_value:
                sizes[f"i{i}d{d}"] = dim.dim_value
                dim.dim_param = f"i{i}d{d}"
    for value in made.graph.output:
        value.type.tensor_type.ClearField("shape")
    return made, sizes


def imported_text(model: LoadedModel, sizes: Mapping[str, int]) -> str | None:
    """Returns the graph of a model for some sizes as text; None for an error."""
    try:
        return without_numbers(load_model(model, sizes))
    except (GlowError, VerifyException):
        return None


def test_imports_with_symbols_are_those_of_their_sizes(
    cases: list[Any], rng: np.random.Generator
) -> None:
    """One in 16 models is drawn. A graph with symbols is for no sizes or the right one."""
    equal = 0
    for case in cases:
        if rng.integers(16):
            continue
        model, sizes = with_symbols(case.model)
        loaded = load_onnx(model) if sizes else None
        if loaded is None or imported_text(loaded, sizes) is None:
            continue
        try:
            graph = GraphWithSymbols(loaded, sizes, 2**31)
        except Exception:  # some operators need numbers
            continue
        for other in (sizes, {s: n + 1 for s, n in sizes.items()}):
            if (found := graph.at(other)) is not None:
                assert without_numbers(found) == imported_text(loaded, other), case.name
                equal += 1
    assert equal > 60


def test_deviations_are_noticed() -> None:
    def result(name: str, status: str) -> suite.Result:
        return suite.Result(name, "node", "Op", status, "why", 0.0)

    expected = {"a": "pass", "b": "Op: missing", "c": "differs: rounding", "d": "random: draws"}
    as_expected = [("a", "pass"), ("b", "refused"), ("c", "failed"), ("d", "pass"), ("d", "failed")]
    assert not suite.deviations([result(*r) for r in as_expected], expected)
    others = [("a", "refused"), ("a", "failed"), ("b", "pass"), ("b", "failed"), ("new", "refused")]
    for other in [*others, ("c", "pass"), ("d", "refused")]:
        assert len(suite.deviations([result(*other)], expected)) == 1


def test_the_file_of_expected_results_has_all_cases() -> None:
    assert set(suite.read_expected()) == set(suite.cases())


def test_random_changes_are_converted_or_refused(
    cases: Sequence[Any], rng: np.random.Generator
) -> None:
    for case in rng.choice(np.array(cases, object), CHANGED):
        if not isinstance(case.model, ModelProto) or not case.model.graph.node:
            continue
        made = changed(case.model, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                glow.compile(made, backend="interpreter")
            except GlowError:
                pass
            except Exception as error:
                error.add_note(printer.to_text(made))
                raise
