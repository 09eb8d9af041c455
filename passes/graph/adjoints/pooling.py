"""The adjoint of maximum pooling, which adds to one element for each window."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from math import prod

from xdsl.ir import SSAValue

from ....glow_dialects.glow.indexing import ScatterOp
from ....glow_dialects.glow.pooling import MaxPoolOp, MaxPoolPlacesOp
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ..rewriting import Build
from .registry import adjoint


@adjoint(MaxPoolOp)
def max_pool(
    node: MaxPoolOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    """
    Returns zeros to which the seed of each window is added at its first largest element. A formula
    would visit all windows of each element, which takes far longer where windows overlap.
    """
    window = {name: node.call.get(name) for name in node.properties}
    places = build(MaxPoolPlacesOp, node.input, node.result, result_types=None, **window)
    shape, windows = shape_of(node.input.type), prod(shape_of(seed.type))
    zeros = build.splat(0.0, with_shape(element_of(seed.type), [prod(shape), 1]))
    rows, updates = build.reshape(places, [windows]), build.reshape(seed, [windows, 1])
    total = build(ScatterOp, zeros, rows, updates, reduction="add")
    return {0: build.reshape(total, shape)}
