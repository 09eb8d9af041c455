"""
The `glow_nest` dialect: kernels as perfect loop nests over memory, and how these are computed.

A kernel is a function over memrefs whose body is a list of steps: nests, loops over steps, and
lists of numbers that loops run over. What a nest computes is apart from how: its schedule is an
attribute.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import ContentAttr, ScheduleAttr, SplitAttr
from .body_text import YieldOp
from .call import CallOp
from .kernel import BarrierOp, KernelOp, RepeatOp, ScratchOp
from .limits import LimitAttr
from .ops import ListNonzerosOp, NestOp, RepeatListedOp

GLOW_NEST = Dialect(
    "glow_nest",
    [
        *(KernelOp, NestOp, RepeatOp, ListNonzerosOp, RepeatListedOp),
        *(ScratchOp, BarrierOp, YieldOp, CallOp),
    ],
    [ContentAttr, LimitAttr, ScheduleAttr, SplitAttr],
)
