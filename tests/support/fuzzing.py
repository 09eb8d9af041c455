"""
The comparison of random graphs over all operators with three oracles.

A graph is compiled for this CPU or a poorer one, with one or two threads, and compared with the
numpy interpreter: integers exactly, floats within `TOLERANCES` of the largest element of a result,
and `SLACK` times of what the graph makes of some units in the last place. If ONNX has all operators
of it, the interpreter is compared in the same way with onnxruntime, and with ONNX's reference
evaluator where that differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import glow
import numpy as np
import onnx
import onnxruntime
from glow.errors import UnsupportedError
from glow.frontend.onnx.export import export_onnx
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.normalization import GroupNormOp, LocalResponseNormOp
from glow.interface.signature import TensorInfo
from glow.lowering.target import find_target
from glow.tests.support import drawn_index_recipes, drawn_recipes
from glow.tests.support.drawn_graph import DrawnGraph, FinishedGraph
from glow.tests.support.drawn_nodes import OPERATORS, node_of
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator
from xdsl.ir import Operation

assert drawn_recipes  # registers recipes
assert drawn_index_recipes
TOLERANCES = {"float64": 1e-10, "float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}
"""By dtype, the part of the largest element, or of 1, that elements may differ by."""
ATTRIBUTES = 1e-6
"""The least tolerance of floats beside onnxruntime, as ONNX's attributes are f32."""
SLACK = 3
STEPS = 8
"""The largest number of nodes, besides constants."""
POOR_CPUS = ("x86-64", "haswell")
"""CPUs whose code most machines run."""
NOT_THERE = ("NotImplemented", "InvalidGraph", "InvalidArgument", "Fail")


@dataclass
class Drawn:
    """A graph with its inputs and results, and how it is compiled."""

    graph: FinishedGraph
    options: dict[str, object]

    def __repr__(self) -> str:
        return f"compiled with {self.options}:\n{self.graph!r}"


@dataclass
class Report:
    """The graphs that were compared so far."""

    compiled: int = 0
    exported: int = 0
    operators: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


@st.composite
def graphs(draw: st.DrawFn, operators: Sequence[type[Node]] = OPERATORS) -> Drawn:
    """Returns a graph over some operators."""
    return drawn_graph(lambda low, high: draw(st.integers(low, high)), operators)


def drawn_graph(choose: Callable[[int, int], int], operators: Sequence[type[Node]]) -> Drawn:
    """Returns a graph over some operators; `choose` returns numbers between two."""
    g = DrawnGraph(choose)
    for _ in range(g.int(1, STEPS)):
        operator = g.pick(operators)
        g.step(lambda g, operator=operator: node_of(g, operator))
    options: dict[str, object] = {"threads": 2} if g.int(0, 5) == 5 else {}
    if g.int(0, 5) == 5 and (cpus := _runnable()):
        options["target_cpu"] = g.pick(cpus)
    if g.int(0, 9) == 9:
        options["conv_algorithm"] = "winograd"
    return Drawn(g.finish(), options)


def _runnable() -> list[str]:
    known = POOR_CPUS if find_target().architecture == "x86_64" else ()
    return [cpu for cpu in known if not find_target(cpu).missing_here()]


def check(drawn: Drawn, report: Report) -> None:
    """Compares a graph with the oracles. Raises AssertionError for a wrong result."""
    graph = drawn.graph
    if not graph.wanted:
        return
    try:
        model = glow.compile(graph.module, cache=False, **drawn.options)  # pyright: ignore
    except UnsupportedError as problem:
        report.refused[str(problem).splitlines()[-1][:100]] += 1
        return
    report.compiled += 1
    for op in graph.module.walk():
        if isinstance(op, Node):
            report.operators[op.name] += 1
    feed = [_given(a, i) for a, i in zip(graph.inputs, model.get_inputs(), strict=True)]
    _compare("compiled", [np.asarray(a) for a in model(*feed)], graph)
    if any(_has_no_oracle(op) for op in graph.module.walk()):
        return
    try:
        exported = export_onnx(graph.module)
    except UnsupportedError:
        return
    names = [i.name for i in exported.graph.input]
    inputs = dict(zip(names, feed, strict=True))
    found = by_onnxruntime(exported, inputs)
    if found is None:
        return
    report.exported += 1
    try:
        _compare("onnxruntime", found, graph, ATTRIBUTES)
    except AssertionError:
        # onnxruntime 1.31 computes some operators wrongly, such as Col2Im with one dimension
        expected = ReferenceEvaluator(exported).run(None, inputs)
        _compare("ONNX's reference", [np.asarray(a) for a in expected], graph, ATTRIBUTES)


def _has_no_oracle(op: Operation) -> bool:
    """
    Returns whether an operator is not compared with onnxruntime. ONNX states the variance of a
    group as the mean of squares without the square of the mean, of which nothing is left where
    elements are nearly equal. onnxruntime adds and subtracts squares of local response
    normalisations, whose error is large beside small elements if `k` adds nothing.
    """
    if isinstance(op, LocalResponseNormOp):
        return op.k.value.data == 0
    return isinstance(op, GroupNormOp)


def _given(array: np.ndarray, info: TensorInfo) -> np.ndarray:
    return array.astype(info.dtype)


def by_onnxruntime(
    model: onnx.ModelProto, inputs: dict[str, np.ndarray]
) -> list[np.ndarray] | None:
    """Returns the outputs of a model; None if onnxruntime has no kernel for a part of it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, ["CPUExecutionProvider"]
        )
        return [np.asarray(a) for a in session.run(None, inputs)]
    except Exception as problem:  # its classes have no common base
        lacks = type(problem).__name__ in NOT_THERE or "is not supported" in str(problem)
        if lacks or isinstance(problem, RuntimeError):
            return None
        raise


def _compare(
    what: str, found: Sequence[np.ndarray], graph: FinishedGraph, least: float = 0.0
) -> None:
    for i, (have, want, slack) in enumerate(zip(found, graph.wanted, graph.slack, strict=True)):
        assert have.shape == want.shape, f"{what}: result {i} of shape {have.shape}"
        if have.dtype == np.uint8 and want.dtype.kind == "V":
            have = have.view(want.dtype)  # onnxruntime may return the bytes of floats of 8 bits
        if not want.size:
            continue
        a, b = have.astype(np.float64), want.astype(np.float64)
        scale = max(1.0, float(np.nanmax(np.abs(b), initial=0)))
        part = TOLERANCES.get(want.dtype.name, 0.0)
        atol = (part and max(part, least)) * scale + SLACK * slack
        message = f"{what}: result {i} ({want.dtype}{list(want.shape)})"
        np.testing.assert_allclose(a, b, rtol=0, atol=atol, err_msg=message)
