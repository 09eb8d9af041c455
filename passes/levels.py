"""
The levels of the compiler: the forms of programs, and the passes that lead from one level to the
next.

```
graph ──▶ instructions ──▶ planned ──▶ nests ──▶ scheduled ──▶ kernels ──▶ llvm
               └──▶ layers ──▶ vta
```

Each pass names its level in its class attribute `level`. A pass ignores functions of other levels,
so by itself it may do nothing; `glow-opt` runs the passes of `path` before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..glow_dialects.plan_attributes import ARENA_SIZE


@dataclass(frozen=True)
class Level:
    """A form that functions have between two conversions."""

    name: str
    """The contents of functions of this level, as in `works on instructions`."""
    before: Level | None = None
    """The level from which the conversion starts."""
    made_by: tuple[str, ...] = ()
    """The passes that lead here from `before`, in order; the last one is the conversion."""


GRAPH = Level("nodes of a graph (glow)")
PROGRAM = Level("instructions (glow_inst)", GRAPH, ("glow-schedule-nodes", "glow-irgen"))
PLANNED = Level("instructions with planned memory", PROGRAM, ("glow-allocate",))
NESTS = Level("kernels of loop nests (glow_nest)", PLANNED, ("glow-build-nests",))
SCHEDULED = Level(
    "scheduled nests (glow_nest)", NESTS, ("glow-split-reductions", "glow-schedule-nests")
)
KERNELS = Level("kernels (scf, arith, vector)", SCHEDULED, ("glow-generate-loops",))
LLVM = Level("the llvm dialect", KERNELS, ("glow-expand-math", "glow-convert-to-llvm"))
VTA_LAYERS = Level("layers for VTA (vta)", PROGRAM, ("glow-form-vta-layers",))
VTA = Level("programs for VTA", VTA_LAYERS, ("glow-lower-to-vta",))

_OF_DIALECT = {
    "glow": GRAPH,
    "glow_inst": PROGRAM,
    "glow_nest": NESTS,
    "vta": VTA,
    "llvm": LLVM,
}
_LAYERS = ("vta.layer", "vta.max_pool")


def level_of(pass_class: type[ModulePass]) -> Level | None:
    """
    Returns the level of a pass; None for passes that work on everything, such as those of xDSL.
    """
    return getattr(pass_class, "level", None)


def levels_of(module: ModuleOp) -> frozenset[Level]:
    """
    Returns the levels of the functions of a module. Planned instructions are instructions as well.
    """
    return frozenset(level for op in module.ops for level in _levels(op))


def path(found: frozenset[Level], wanted: Level) -> tuple[str, ...] | None:
    """
    Returns the passes that lead to `wanted` from the nearest of the levels `found`: none if it is
    one of them, and None if no conversion leads there.
    """
    passes: tuple[str, ...] = ()
    level: Level | None = wanted
    while level is not None:
        if level in found:
            return passes
        passes = level.made_by + passes
        level = level.before
    return None


def _levels(op: Operation) -> Iterator[Level]:
    if not isinstance(op, func.FuncOp):
        level = _OF_DIALECT.get(_dialect(op))
        if level is not None:
            yield level
        if level is NESTS and any("schedule" in nest.properties for nest in op.walk()):
            yield SCHEDULED
        return
    level = _level_of_function(op)
    yield level
    if level is PROGRAM and ARENA_SIZE in op.attributes:
        yield PLANNED


def _level_of_function(function: func.FuncOp) -> Level:
    # glow-opt starts with this module, and needs no instructions until it has some
    from ..glow_dialects.glow_inst.memory import QUALIFIER, argument_attributes

    ops = [op for block in function.body.blocks for op in block.ops]
    if any(_dialect(op) == "glow_nest" for op in ops):
        return NESTS
    if any(op.name in _LAYERS for op in ops):
        return VTA_LAYERS
    for op in ops:
        if (level := _OF_DIALECT.get(_dialect(op))) in (GRAPH, PROGRAM, VTA):
            return level
    types = (*function.function_type.inputs, *function.function_type.outputs)
    if any(isinstance(t, TensorType) for t in types):
        return GRAPH
    # a program without instructions has qualified arguments; that of kernels has calls as well
    is_empty = all(isinstance(op, func.ReturnOp) for op in ops)
    arguments = [a for block in function.body.blocks for a in block.args]
    if is_empty and any(QUALIFIER in argument_attributes(a) for a in arguments):
        return PROGRAM
    return KERNELS


def _dialect(op: Operation) -> str:
    return op.name.partition(".")[0]
