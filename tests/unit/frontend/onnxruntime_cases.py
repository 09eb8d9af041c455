"""Models of one node of onnxruntime's own operators, and the comparison with it in float."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import glow
import numpy as np
import onnxruntime
import pytest
from glow.tests.support.reference import CONTRIB
from onnx import ModelProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as native  # pyright: ignore

from .models import model, node, value

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A node: its inputs in order, of which some are weights; an empty name is a missing one."""

    operator: str
    inputs: Arrays
    weights: Arrays = field(default_factory=dict)
    order: Sequence[str] = ()
    outputs: Sequence[str] = ("y",)
    domain: str = CONTRIB
    attributes: Mapping[str, Any] = field(default_factory=dict)
    valid: Callable[[int, np.ndarray], np.ndarray] = lambda number, array: array
    """Returns the elements of a result that the definition states."""

    def model(self) -> ModelProto:
        names = self.order or [*self.inputs, *self.weights]
        made = node(self.operator, names, list(self.outputs), domain=self.domain, **self.attributes)
        codes = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in self.inputs.items()}
        return model(
            [made],
            [value(n, a.shape, codes[n]) for n, a in self.inputs.items()],
            [o for o in self.outputs if o],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()],
            opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(CONTRIB, 1)],
        )


def check(case: Case, backend: str = "interpreter", tolerance: float = 1e-5) -> None:
    """Checks all results against onnxruntime, relative to the largest element of each."""
    made = case.model()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inputs = dict(case.inputs)
    wanted = session.run(None, inputs)
    cache: dict[str, Any] = {"cache": False} if backend == "cpu" else {}
    found = glow.compile(made, backend=backend, **cache).run(None, inputs)
    for number, (have, want) in enumerate(zip(found, wanted, strict=True)):
        assert isinstance(want, np.ndarray)
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        have, want = case.valid(number, have), case.valid(number, want)
        largest = np.abs(want.astype(np.float64)).max()
        np.testing.assert_allclose(have, want, rtol=0, atol=tolerance * largest)


@cache
def _computed_by_onnxruntime() -> set[str]:
    """Returns the operators that the installed onnxruntime, which may be older, has on CPUs."""
    kernels: Any = native.get_all_opkernel_def()
    return {k.op_name for k in kernels if k.domain == CONTRIB and "CPU" in k.provider}


def expect_known(*cases: Case) -> list[Case]:
    """Returns the cases whose operators the installed onnxruntime has; skips if it has none."""
    known = [case for case in cases if case.operator in _computed_by_onnxruntime()]
    if not known:
        pytest.skip(f"this onnxruntime has no {cases[0].operator}")
    return known


def check_known(*cases: Case, tolerance: float = 1e-5) -> None:
    """Checks the cases whose operators the installed onnxruntime has; skips if it has none."""
    for case in expect_known(*cases):
        check(case, "cpu", tolerance)


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)
