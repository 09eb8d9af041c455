"""The facts that follow from the formulas of operators, and those that are stated by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest
from glow.frontend.onnx.export.writer import EXPORTERS
from glow.glow_dialects import glow_cpu, work
from glow.glow_dialects.glow import NODES
from glow.glow_dialects.glow.base import OnlyMovesData
from glow.glow_dialects.glow.structured import Structured
from glow.lowering.kernels import algorithms  # registers
from glow.lowering.kernels.registry import KERNELS, kernel_of
from glow.passes.graph.images import _RULES, _by_formula
from glow.passes.graph.lower_nodes import is_composite
from glow.semantics.registry import _MEANINGS

assert algorithms
STRUCTURED = [n for n in (*NODES, *glow_cpu.NODES) if issubclass(n, Structured)]
WORK = (work._OPERATIONS, work._PRODUCTS, work._BYTES)

DEFAULTS = {
    "glow.generic": "batch kernel meaning shapes work",
    "glow.matmul": "shapes work",
    "glow.fully_connected": "shapes work",
    "glow_cpu.packed_matmul": "shapes work",
    "glow_cpu.rounded_matmul": "shapes work",
    "glow.block_quantized_matmul": "kernel shapes work",
    "glow_cpu.packed_block_quantized_matmul": "shapes work",
    "glow.embedding_bag": "kernel shapes work",
    "glow_cpu.dot_matmul": "shapes work",
    "glow.attention": "shapes work",
    "glow.masked_attention": "shapes work",
    "glow.convolution": "batch kernel shapes work",
    "glow.transposed_convolution": "shapes",
    "glow.max_pool": "batch kernel shapes work",
    "glow.avg_pool": "batch kernel shapes work",
    "glow.lp_pool": "kernel meaning shapes work",
    "glow.max_pool_places": "kernel meaning shapes work",
    "glow.resample": "kernel meaning work",
    "glow.sample": "meaning work",
    "glow.fold": "kernel meaning work",
    "glow.determinant": "kernel meaning shapes work",
    "glow_cpu.blocked_convolution": "batch shapes work",
    "glow_cpu.blocked_depthwise_convolution": "batch shapes work",
    "glow_cpu.lane_sum_convolution": "batch kernel shapes work",
    "glow_cpu.blocked_max_pool": "batch kernel shapes work",
    "glow_cpu.blocked_avg_pool": "batch kernel shapes work",
    "glow.reduce_sum": "batch kernel shapes work",
    "glow.reduce_mean": "batch shapes work",
    "glow.reduce_max": "batch kernel shapes work",
    "glow.reduce_min": "batch kernel shapes work",
    "glow.reduce_prod": "kernel shapes work",
    "glow.broadcast": "shapes",
    "glow.transpose": "batch kernel shapes work",
    "glow.slice": "shapes",
    "glow.pad": "batch shapes",
    "glow.gather": "kernel shapes work",
    "glow.gather_elements": "kernel meaning work",
    "glow.int_lookup_table": "batch kernel meaning shapes work",
    "glow.arg_max": "kernel meaning work",
    "glow.arg_min": "kernel meaning work",
    "glow.top_indices": "meaning work",
    "glow.cum_sum": "",
    "glow.cum_prod": "",
    "glow.softmax": "batch shapes",
    "glow.log_softmax": "shapes",
    "glow.batch_norm": "shapes",
    "glow.local_response_norm": "batch shapes",
    "glow.layer_norm": "shapes",
    "glow.rms_norm": "shapes",
    "glow.group_norm": "shapes",
}
"""
By operator, the facts that follow from its formula because there is nothing better: the shape of
its result, its meaning in numpy, its kernel, its work, and whether it computes images by
themselves.
"""


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


def test_dialects_load_without_formulas():
    script = (
        "import sys, glow.glow_dialects.glow, glow.glow_dialects.glow_inst\n"
        "assert not [name for name in sys.modules if '.formula' in name]"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
