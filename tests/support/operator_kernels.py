"""Kernels of single operators, compared with the interpreter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import ml_dtypes
import numpy as np
from glow.glow_dialects.glow import Node
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.python_values import Python
from glow.semantics import element_type
from glow.tests.support.native import apply, check_runs
from glow.tests.support.seeds import numbered
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region

MACHINES = (
    None,
    MachineDescription(256, 16, True),
    MachineDescription(128, 8, False),
)
"""The host as it is, and with smaller vectors."""
TOLERANCE = {np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}
_turns = itertools.count()


def random(seed: int, *shape: int, dtype: object = np.float32) -> np.ndarray:
    rng = numbered(seed)
    t = np.dtype(dtype)  # pyright: ignore
    if t.kind in "iub":
        return rng.integers(0 if t.kind != "i" else -20, 2 if t.kind == "b" else 20, shape).astype(
            t
        )
    return rng.standard_normal(shape).astype(t)


def types_of(arrays: Sequence[np.ndarray]) -> list[TensorType]:
    """Returns the types of tensors with these elements."""
    return [with_shape(element_type(a.dtype), a.shape) for a in arrays]


def one_node(
    operator: type[Node],
    types: Sequence[Attribute],
    result_types: Sequence[Attribute] | None = None,
    **properties: Python,
) -> ModuleOp:
    """Returns a graph of a single node on the function's arguments."""
    block = Block(arg_types=types)
    node = operator.of(*block.args, result_types=result_types, **properties)
    block.add_ops([node, func.ReturnOp(*node.results)])
    t = FunctionType.from_lists(list(types), [r.type for r in node.results])
    return ModuleOp([func.FuncOp("main", t, Region(block))])


def check(
    operator: type[Node],
    *arrays: np.ndarray,
    types: Sequence[Attribute] | None = None,
    result_types: Sequence[Attribute] | None = None,
    tolerance: float = 1e-5,
    **properties: Python,
) -> None:
    """Checks a run of a node, as `check_all` does."""
    check_all(operator, [arrays], types, result_types, tolerance, **properties)


def check_all(
    operator: type[Node],
    runs: Sequence[Sequence[np.ndarray]],
    types: Sequence[Attribute] | None = None,
    result_types: Sequence[Attribute] | None = None,
    tolerance: float = 1e-5,
    **properties: Python,
) -> None:
    """
    Checks runs of a node, which is compiled once. Machines take turns, so that each sees every
    family.
    """
    arrays = runs[0]
    types = types or [with_shape(element_type(a.dtype), a.shape) for a in arrays]
    module = one_node(operator, types, result_types, **properties)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")
    tolerance = max([tolerance, *(TOLERANCE.get(a.dtype, 0) for a in arrays)])
    check_runs(module, runs, MACHINES[next(_turns) % len(MACHINES)], tolerance)
