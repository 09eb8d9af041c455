"""Each pass on graphs takes sizes that depend on symbols, and does what it does to bound ones."""

from __future__ import annotations

from collections.abc import Sequence

import glow
import numpy as np
import pytest
from glow.context import make_context
from glow.errors import CompileError, GlowError
from glow.glow_dialects.operator import element_of, shape_of
from glow.passes.graph.bind_symbols import bind_symbols, module_symbols
from glow.passes.levels import GRAPH, level_of
from glow.passes.visited_operation import run_pass
from glow.runtime.signature import main_function
from glow.runtime.stages import parse_pipeline
from glow.semantics.arrays import numpy_dtype
from glow.tests.support.symbolic_graphs import NETWORKS, SYMBOLS
from glow.universe import PASSES, UNIVERSE
from xdsl.dialects.builtin import ModuleOp

OPTIONS = {
    "glow-choose-convolutions": "{algorithm=winograd}",
    "glow-convert-to": "{element=f16}",
    "glow-differentiate": "{seed=true}",
    "glow-merge-products": "{threads=2}",
    "glow-partition": "{devices=interpreter}",
    "glow-quantize": "{dynamic=true}",
    "glow-quantize-weights": "{group=8}",
}
NEED_NUMBERS = (
    "glow-differentiate",
    "glow-irgen",
    "glow-loop-batch",
    "glow-partition",
    "glow-rematerialize",
)
"""Passes that ask for static shapes."""
ROUND = ("glow-convert-to", "glow-quantize", "glow-quantize-weights", "glow-profile")
"""Passes after which results are other ones."""
OTHERS = ("canonicalize", "cse", "dce")
SEVERAL = (
    "glow-fold-constants,canonicalize,cse,glow-fuse-operators,glow-fold-batch-norm,"
    "glow-simplify-shapes,glow-fuse-attention,glow-sink-transposes,canonicalize,cse,dce,"
    "glow-lower-nodes,glow-merge-products,glow-assign-layouts,glow-pack-weights,canonicalize,glow-schedule-nodes"
)
GRAPH_PASSES = [
    name
    for name in PASSES
    if level_of(UNIVERSE.all_passes[name]()) is GRAPH
    # one takes the result of another pass, one is what the others are compared with
    and name not in ("glow-verify-partitions", "glow-bind-symbols")
]
SIZES = {"batch": 2, "height": 7, "width": 6, "seq": 5, "past": 3, "new": 2}


def run(module: ModuleOp, passes: str) -> None:
    for p in parse_pipeline(f"glow-set-machine{{target-cpu=haswell}},{passes}"):
        run_pass(p, make_context(), module)
        module.verify()


def bound(module: ModuleOp) -> ModuleOp:
    module = module.clone()
    bind_symbols(module, {name: SIZES[name] for name in module_symbols(module)})
    module.verify()
    return module


def inputs(module: ModuleOp, rng: np.random.Generator) -> list[np.ndarray]:
    types = main_function(module).function_type.inputs
    shapes = [(shape_of(t), numpy_dtype(element_of(t))) for t in types]
    return [
        rng.integers(0, 11, shape).astype(d)
        if d.kind == "i"
        else rng.uniform(-1, 1, shape).astype(d)
        for shape, d in shapes
    ]


def computed(module: ModuleOp, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return glow.compile(module, backend="interpreter").computed(arrays)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("passes", [*GRAPH_PASSES, *OTHERS, SEVERAL])
def test_passes_take_symbols(passes: str, network: str, rng: np.random.Generator) -> None:
    module = NETWORKS[network](SYMBOLS[network])
    static = bound(module)
    text = passes + OPTIONS.get(passes, "")
    if passes in NEED_NUMBERS:
        with pytest.raises(CompileError, match=r"expected static shapes, found tensor<.*bind"):
            run(module, text)
        return
    try:
        run(static.clone(), text)
    except GlowError as error:
        # what is wrong with static shapes is with others too
        with pytest.raises(type(error)):
            run(module, text)
        return
    run(module, text)
    if passes not in ROUND:
        arrays = inputs(static, rng)
        for found, wanted in zip(
            computed(bound(module), arrays), computed(static, arrays), strict=True
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
