"""The operator Unique, by a stable sort."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....glow_dialects.elements import is_float
from ....glow_dialects.glow import indexing as g
from ....glow_dialects.glow.arithmetic import AddOp
from ....glow_dialects.glow.logic import AndOp, EqualOp, NotOp, OrOp
from ....glow_dialects.glow.selection import NonzeroPlacesOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import GraphBuilder, element, known_array, rank, shape, size
from ..counted import chosen_places
from ..node import OnnxNode, converter
from ..problems import Unsupported


@converter("Unique")
def unique(node: OnnxNode) -> list[SSAValue]:
    """Returns values, the places where each is first, the value of each element, and how often."""
    build, x = node.build, node.input(0)
    if x in node.weights.strings:
        raise Unsupported("strings, which would have to be sorted")
    if (node.has("axis") and rank(x) > 1) or known_array(x) is not None or not size(x):
        return _of_known(node)
    flat = build.reshape(x, [size(x)])
    order = build.op(g.TopIndicesOp, flat, axis=0, k=size(x), smallest=True)
    starts = _starts(build, build.op(GatherOp, flat, order, axis=0))
    group = build.op(AddOp, _running(build, starts), build.splat(-1, i64, shape(order)))
    if not node.attr("sorted"):
        # the groups in the order of their first elements
        first = build.op(GatherOp, order, _first_of(build, starts, group), axis=0)
        own = _scattered(build, order, first)
        places = build.constant(np.arange(size(x)))
        starts, order = build.op(EqualOp, own, places), places
        numbers = build.op(AddOp, _running(build, starts), build.splat(-1, i64, shape(own)))
        group = build.op(GatherOp, numbers, own, axis=0)
    chosen = chosen_places(build, starts)
    first = build.op(GatherOp, order, chosen, axis=0)
    values = build.op(GatherOp, flat, first, axis=0)
    zeros, ones = (build.splat(n, i64, [size(x), 1]) for n in (0, 1))
    counts = build.op(g.ScatterOp, zeros, group, ones, reduction="add")
    each = build.reshape(counts, [size(x)])
    build.counted[each] = build.counted[chosen]
    return [values, first, _scattered(build, order, group), each]


def _of_known(node: OnnxNode) -> list[SSAValue]:
    """Returns the results for elements that have to be known: slices are not compared otherwise."""
    array = node.known(0)
    assert array is not None
    axis = node.axis(array.ndim) if node.has("axis") else None
    found, first, inverse, counts = np.unique(array, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not node.attr("sorted"):
        order = np.argsort(first)
        found = np.take(found, order, axis or 0)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
    return [node.build.constant(np.ascontiguousarray(a)) for a in (found, first, inverse, counts)]


def _starts(build: GraphBuilder, ordered: SSAValue) -> SSAValue:
    """Returns which elements differ from those before them; all NaN are the same."""
    last = size(ordered) - 1
    now, before = (build.slice(ordered, [start], [last]) for start in (1, 0))
    same = build.op(EqualOp, now, before)
    if is_float(element(ordered)):
        odd = [build.op(NotOp, build.op(EqualOp, v, v)) for v in (now, before)]
        same = build.op(OrOp, same, build.op(AndOp, *odd))
    return build.concat([build.splat(True, i1, [1]), build.op(NotOp, same)], 0)


def _running(build: GraphBuilder, mask: SSAValue) -> SSAValue:
    return build.op(g.CumSumOp, build.cast(mask, i64), axis=0)


def _first_of(build: GraphBuilder, starts: SSAValue, group: SSAValue) -> SSAValue:
    """Returns for each ordered element the place where its group starts."""
    return build.op(GatherOp, build.op(NonzeroPlacesOp, starts), group, axis=0)


def _scattered(build: GraphBuilder, places: SSAValue, values: SSAValue) -> SSAValue:
    """Returns values at other places, which are a permutation."""
    count = size(values)
    rows = build.reshape(values, [count, 1])
    zeros = build.splat_like(0, rows)
    return build.reshape(build.op(g.ScatterOp, zeros, places, rows), [count])
