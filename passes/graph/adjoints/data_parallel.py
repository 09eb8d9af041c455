"""Adjoints and tangents of data-parallel operators, from their scalar expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import compute_type, is_float
from ....glow_dialects.glow.base import DataParallel
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ....glow_dialects.scalar import (
    COMPARISONS,
    Expr,
    Number,
    Primitive,
    convert,
    fold,
    fold_in_order,
    in_order_of_creation,
)
from ....glow_dialects.substitution import Substitution
from ..lowerings.data_parallel import NodeAlgebra
from ..lowerings.precision import convert as convert_value
from ..rewriting import Build, failure
from .partials import PARTIALS
from .registry import adjoint, tangent


class _ElementTypes:
    """The algebra whose values are the element types of expressions."""

    def __init__(self, result: Attribute):
        self._result = result

    def constant(
        self, value: Number, like: Sequence[Attribute], element: Attribute | None
    ) -> Attribute:
        return element or (like[0] if like else self._result)

    def convert(self, value: Attribute, target: Attribute | None) -> Attribute:
        return target or self._result

    def bitcast(self, value: Attribute, target: Attribute) -> Attribute:
        return target

    def apply(self, kind: Primitive, args: Sequence[Attribute]) -> Attribute:
        if kind in COMPARISONS:
            return i1
        return args[1] if kind is Primitive.SELECT else args[0]


def derivatives(
    exprs: Sequence[Expr],
    elements: Sequence[Attribute],
    result: Attribute,
    wanted: AbstractSet[int],
) -> dict[int, Expr]:
    """
    Returns the derivatives of expressions with respect to their arguments `wanted`: the sums of
    those of each expression times a seed, which are the arguments from `len(elements)` on. An
    argument that has none is left out.

    `elements` are the element types of the arguments, `result` is that of the expressions. The
    derivatives are accumulated from the results to the arguments (Griewank and Walther 2008,
    "Evaluating Derivatives", chapter 3).
    """
    arguments = [Expr.argument(i) for i in range(len(elements))]
    named = fold_in_order(in_order_of_creation(exprs), arguments, Substitution(result))
    results = [named[e] for e in exprs]
    order = in_order_of_creation(results)
    types = fold_in_order(order, elements, _ElementTypes(result))
    seeds: dict[Expr, Expr] = {}
    for i, expr in enumerate(results):
        _accumulate(seeds, expr, Expr.argument(len(elements) + i))
    found: dict[int, Expr] = {}
    for node in reversed(order):
        if node not in seeds:
            continue
        if node.index is not None:
            if node.index in wanted:
                old = found.get(node.index)
                found[node.index] = seeds[node] if old is None else old + seeds[node]
        elif is_float(types[node]):
            _give(seeds, node, types.get(node.args[0], result) if node.args else result)
    return found


def _give(seeds: dict[Expr, Expr], node: Expr, first: Attribute) -> None:
    """Adds what a node gives to its arguments, of which the first one has an element type."""
    if node.kind is Primitive.CONVERT:
        if is_float(first):
            _accumulate(seeds, node.args[0], convert(seeds[node], first))
    elif node.kind is not None:
        for number, partial in PARTIALS.get(node.kind, {}).items():
            if node.args[number].value is None:
                part = partial(node.args, node, seeds[node])
                _accumulate(seeds, node.args[number], part)


def _accumulate(seeds: dict[Expr, Expr], node: Expr, seed: Expr) -> None:
    seeds[node] = seeds[node] + seed if node in seeds else seed


def _derivatives_of(node: DataParallel, wanted: AbstractSet[int]) -> dict[int, Expr]:
    if node.depends_on_place(node.call):
        raise failure(node, "cannot differentiate a node that computes each channel differently")
    elements = [compute_type(element_of(o.type)) for o in node.operands]
    result = compute_type(element_of(node.results[0].type))
    return derivatives([node.scalar(node.call)], elements, result, wanted)


def computed(
    node: DataParallel, expr: Expr, seed: SSAValue, element: Attribute, build: Build
) -> SSAValue:
    """Returns an expression of the node's operands and a seed; 16-bit floats compute in f32."""
    shape = shape_of(node.results[0].type)
    values = [
        convert_value(build, v, compute_type(element_of(v.type))) for v in (*node.operands, seed)
    ]
    wide = with_shape(compute_type(element), shape)
    return convert_value(build, fold(expr, values, NodeAlgebra(build, wide)), element)


@adjoint(DataParallel)
def data_parallel_adjoint(
    node: DataParallel, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    found = _derivatives_of(node, wanted)
    return {
        i: computed(node, expr, seed, element_of(node.operands[i].type), build)
        for i, expr in found.items()
    }


@tangent(DataParallel)
def data_parallel_tangent(
    node: DataParallel, tangents: Mapping[int, SSAValue], build: Build
) -> SSAValue | None:
    element, found = element_of(node.results[0].type), _derivatives_of(node, tangents.keys())
    if not found:
        return None
    return build.sum(computed(node, e, tangents[i], element, build) for i, e in found.items())
