"""Ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..elements import element_bytes, tensor_type
from ..operator import Call, expect_rank, expect_shape
from .base import AcceptsEpilogue, Node

NODE = 4
"""The numbers of a node: feature, bits of the threshold, place of the children, row of leaves."""


@irdl_op_definition
class TreeEnsembleOp(Node):
    """
    The sum, minimum or maximum of what decision trees give for each row of `x`.

    A node is four integers of `nodes`, as wide as an element of `x`: the feature that it tests, the
    bits of its threshold, the place in `nodes` of the first of its two children, which are
    neighbours, and a row of `leaves`. A step goes to the second child if the feature is at most the
    threshold, otherwise, and for a NaN, to the first one. A leaf is its own first child, and its
    threshold is NaN.

    `walks` says in pairs how many trees take how many steps. `roots` has a row for each tree: the
    place of the root of the tree that walks as the i-th, and which of them, from 0 on, is combined
    as the i-th. The last node of a walk names the row of `leaves` that the tree gives. The tree
    that is combined as the i-th counts for the columns of group `i % groups`.

    Places, features and rows that are out of range are those of the last one, so that no memory
    outside the operands is read.

    ```mlir
    %r = glow.tree_ensemble %x, %nodes, %roots, %leaves walks [5, 3] combine "sum" groups 1
       : (tensor<7x4xf32>, tensor<80xi32>, tensor<5x2xi32>, tensor<20x2xf32>) -> tensor<7x2xf32>
    ```
    """

    name = "glow.tree_ensemble"
    COMBINES: ClassVar[Sequence[str]] = ("sum", "min", "max")

    x = operand_def(TensorType)
    nodes = operand_def(TensorType)
    roots = operand_def(TensorType)
    leaves = operand_def(TensorType)
    walks = prop_def(DenseArrayBase.constr(i64))
    combine = prop_def(StringAttr, default_value=StringAttr("sum"))
    groups = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    result = result_def(TensorType)

    traits = traits_def(AcceptsEpilogue())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        rows, features = expect_rank(call, 0, 2, "x")
        element = call.element(0)
        if str(element) not in ("f32", "f64") or not features:
            raise call.fail(f"expected features of f32 or f64, found {call.operands[0]}")
        (numbers,) = expect_rank(call, 1, 1, "nodes")
        whole = f"i{8 * element_bytes(element)}"
        if any(str(call.element(i)) != whole for i in (1, 2)) or numbers % NODE or not numbers:
            raise call.fail(
                f"expected nodes of {NODE} numbers of {whole}, and as many in roots, "
                f"found {call.operands[1]} and {call.operands[2]}"
            )
        trees = _trees(call)
        expect_shape(call, 2, (trees, 2), "roots")
        available, width = expect_rank(call, 3, 2, "leaves")
        if call.element(3) != element or not available:
            raise call.fail(f"expected leaves with elements {element}, found {call.operands[3]}")
        if call.get("combine") not in cls.COMBINES:
            raise call.fail(
                f"expected to combine by one of {', '.join(cls.COMBINES)}, "
                f"found {call.get('combine')!r}"
            )
        groups = call.int("groups")
        if groups < 1 or trees % groups:
            raise call.fail(f"expected groups of equally many of {trees} trees, found {groups}")
        return (tensor_type(element, (rows, groups * width)),)


def _trees(call: Call) -> int:
    walks = call.ints("walks")
    if len(walks) % 2 or any(n < 1 for n in walks[::2]) or any(n < 0 for n in walks[1::2]):
        raise call.fail(
            f"expected walks with pairs of a number of trees and of steps, found {list(walks)}"
        )
    return sum(walks[::2])
