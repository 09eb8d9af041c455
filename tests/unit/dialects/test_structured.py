"""What follows from the formulas of operators, and what is made for them by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest
from glow.frontend.onnx.export.writer import EXPORTERS
from glow.glow_dialects import glow_cpu, work
from glow.glow_dialects.glow import NODES
from glow.glow_dialects.glow.base import OnlyMovesData
from glow.glow_dialects.glow.generic import GenericOp
from glow.glow_dialects.glow.structured import Structured
from glow.lowering.kernels import algorithms  # registers
from glow.lowering.kernels.registry import KERNELS, kernel_of
from glow.passes.graph.lower_nodes import is_composite
from glow.passes.graph.sink_transposes import SINKING
from glow.passes.graph.tile_batch import _RULES, _by_formula
from glow.semantics.registry import _MEANINGS

from ..semantics.test_formulas import CASES, call_of

assert algorithms
STRUCTURED = [n for n in (*NODES, *glow_cpu.NODES) if issubclass(n, Structured)]
WORK = (work._OPERATIONS, work._PRODUCTS, work._BYTES)

DEFAULTS = {
    "glow.generic": "batch kernel meaning shapes work",
    "glow.matmul": "work",
    "glow.fully_connected": "work",
    "glow_cpu.packed_matmul": "work",
    "glow.convolution": "batch work",
    "glow.transposed_convolution": "",
    "glow.max_pool": "batch work",
    "glow.avg_pool": "batch work",
    "glow_cpu.blocked_max_pool": "batch work",
    "glow_cpu.blocked_avg_pool": "batch work",
    "glow.reduce_sum": "batch work",
    "glow.reduce_mean": "batch work",
    "glow.reduce_max": "batch work",
    "glow.reduce_min": "batch work",
    "glow.reduce_prod": "work",
    "glow.broadcast": "",
    "glow.transpose": "batch work",
    "glow.slice": "",
    "glow.pad": "batch",
    "glow.gather": "work",
    "glow.softmax": "batch",
    "glow.log_softmax": "",
    "glow.batch_norm": "",
    "glow.local_response_norm": "batch",
    "glow.layer_norm": "",
    "glow.rms_norm": "",
    "glow.group_norm": "",
}
"""
By operator, what follows from its formula because nobody wrote something better: the shape of its
result, its meaning in numpy, its kernel, its work, and whether it computes images by themselves.
"""
SINKS = {
    *("generic", "matmul", "pad", "slice", "softmax", "log_softmax", "transpose"),
    *(f"reduce_{name}" for name in ("sum", "mean", "max", "min", "prod")),
}
"""Operators below which transposes sink; they end before others, which is always right."""


def defaults(operator: type[Structured]) -> set[str]:
    found: set[str] = set()
    if operator.infer.__func__ is Structured.infer.__func__:  # pyright: ignore
        found.add("shapes")
    if operator not in _MEANINGS:
        found.add("meaning")
    if kernel_of(operator) is KERNELS[Structured]:
        found.add("kernel")
    by_hand = any(c in table for c in operator.__mro__ for table in WORK)
    if not by_hand and not operator.has_trait(OnlyMovesData):
        found.add("work")
    if _RULES.get(operator) is _by_formula:
        found.add("batch")
    return found


@pytest.mark.parametrize("operator", STRUCTURED, ids=lambda o: o.name)
def test_what_falls_back_to_the_formula(operator: type[Structured]):
    assert defaults(operator) == set(DEFAULTS[operator.name].split())


@pytest.mark.parametrize("operator", STRUCTURED, ids=lambda o: o.name)
def test_every_operator_has_some_way_to_the_cpu(operator: type[Structured]):
    ways = operator in set(KERNELS), is_composite(operator), operator.has_trait(OnlyMovesData)
    assert any(ways) or kernel_of(operator) is KERNELS[Structured]
    assert operator in EXPORTERS or operator.name.startswith("glow_cpu.")


def test_where_transposes_sink():
    found = {o.name.removeprefix("glow.") for o in STRUCTURED if SINKING.of(o)}
    assert found == SINKS


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].name)
def test_shapes_that_are_inferred_by_hand_follow_from_the_formula(case):
    operator, call = case[0], call_of(case)
    declared = operator.infer(call)
    assert operator is GenericOp or Structured.infer.__func__(operator, call) == declared  # pyright: ignore


def test_dialects_load_without_formulas():
    script = (
        "import sys, glow.glow_dialects.glow, glow.glow_dialects.glow_inst\n"
        "assert not [name for name in sys.modules if '.formula' in name]"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
