"""The verdicts of a network: results that say whether its outputs are valid."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr

from ..glow_dialects.glow.logic import LessOp, NotOp, OrOp
from ..glow_dialects.glow.reduction import ReduceMaxOp
from ..glow_dialects.interface_attributes import RANGES
from ..nn.tensor import Tensor, elementwise
from ..runtime.signature import index_ranges


def is_valid(verdict: Tensor, about: DictionaryAttr) -> Tensor:
    """
    Returns whether, by a result of a network with the attributes `about`, indices that it computes
    are in their ranges, or a loop had no more steps than it may have: bool[].
    """
    ranges = index_ranges(about.data.get(RANGES))
    if not ranges:
        return elementwise(NotOp, verdict.reshape())
    # the largest indices, and the largest ones of `-1 - index`, have to be at most these
    limits = [np.array([r.high, [-1 - n for n in r.low]], np.int64) for r in ranges]
    outside = [elementwise(LessOp, verdict.graph.array(limit), verdict) for limit in limits]
    numbers = reduce(partial(elementwise, OrOp), outside).cast("float32")
    largest = numbers.graph.node(ReduceMaxOp, numbers, axes=[0, 1], keep_dims=False)
    return elementwise(LessOp, largest, 0.5)
