"""
The remaining instructions of real networks: the graphs that the onnx package ships, without their
weights.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import onnx
import pytest
from glow.context import make_context
from glow.frontend.onnx import import_onnx
from glow.glow_dialects.glow_inst.instruction import Instruction
from glow.glow_dialects.operator import shape_of
from glow.passes.instructions.verify_memory import verify_memory
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
PIPELINE = (
    "canonicalize,glow-lower-nodes{backend=none keep=softmax},canonicalize,cse,glow-schedule-nodes,"
    "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-share-buffers,"
    "glow-eliminate-dead-stores,glow-hoist-padding-fills,glow-allocate"
)
NETWORKS = ("resnet50", "densenet121", "inception_v2", "shufflenet", "squeezenet")


@cache
def compiled(name: str) -> ModuleOp:
    module = import_onnx(LIGHT / f"light_{name}.onnx")
    passes = PassPipeline.parse_spec(Universe.get_multiverse().all_passes, PIPELINE)
    passes.apply(make_context(), module)
    module.verify()
    verify_memory(module)
    return module


def main_of(module: ModuleOp) -> func.FuncOp:
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return function


def instructions(module: ModuleOp) -> list[Instruction]:
    return [op for op in main_of(module).body.block.ops if isinstance(op, Instruction)]


@pytest.mark.parametrize("name", NETWORKS)
def test_arena_is_close_to_the_lower_bound(name: str):
    attributes = main_of(compiled(name)).attributes
    size, bound = (attributes[f"glow.arena_{part}"] for part in ("size", "lower_bound"))
    assert isinstance(size, IntegerAttr)
    assert isinstance(bound, IntegerAttr)
    assert bound.value.data <= size.value.data <= 1.1 * bound.value.data


@pytest.mark.parametrize("name", NETWORKS)
def test_no_copies_remain(name: str):
    assert "glow_inst.copy" not in {op.name for op in instructions(compiled(name))}


def test_resnet_is_convolutions_with_epilogues():
    """Bias, normalisation, activation and residual addition all run inside the convolutions."""
    images = Counter(
        op.name
        for op in instructions(compiled("resnet50"))
        if len(shape_of(op.operands[0].type)) == 4 and op.name != "glow_inst.splat"
    )
    assert images == {
        "glow_inst.convolution": 53,
        "glow_inst.max_pool": 1,
        "glow_inst.avg_pool": 1,
    }
