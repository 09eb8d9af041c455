"""
The pass that gives a graph of integers the form that VTA computes.

- Inputs of floats become the integers that the host makes of them, and results of floats the
  integers that the host makes floats of (`borders.py`).
- Sums of 8-bit integers over images become convolutions of each channel by ones, because the GEMM
  core computes both.
- A node that widens 8-bit integers element by element is repeated for each of its users, so that
  a tensor for several users is stored in 8 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.glow.quantization import StorageCastOp
from ...glow_dialects.glow.reduction import ReduceSumOp
from ...glow_dialects.operator import shape_of
from ...passes.graph.rewriting import (
    Build,
    RuleTable,
    apply_rules,
    defining_op,
    erase_if_dead,
    is_constant,
    tensor_nodes,
)
from ...passes.levels import GRAPH
from ...passes.visited_operation import each
from .borders import stored_inputs, stored_output
from .buffers import is_byte

RULES = RuleTable()


@RULES.rule(ReduceSumOp)
def convolution_of_sum(node: ReduceSumOp, build: Build) -> SSAValue | None:
    """Returns the convolution in place of a sum over rows and columns of widened numbers."""
    shape, axes = shape_of(node.input.type), sorted(node.axes.get_values())
    wide = defining_op(node.input, CastOp)
    if wide is None or len(shape) not in (3, 4) or axes != list(range(2, len(shape))):
        return None
    if not is_byte(wide.input):
        return None
    source, channels = _behind_casts(wide.input), shape[1]
    ones = build.constant(np.ones((channels, 1, *shape[2:]), np.int8), "ones")
    sums = build(
        ConvolutionOp,
        source,
        ones,
        build.constant(np.zeros(channels, np.int32), "zeros"),
        group=channels,
    )
    return build.reshape(sums, shape_of(node.result.type))


@dataclass(frozen=True)
class PrepareForVtaPass(ModulePass):
    """Leaves floats at the borders of a graph to the host, and makes convolutions of sums."""

    name = "glow-prepare-for-vta"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(op.ops):
            if isinstance(function, func.FuncOp) and _is_graph(function):
                leave_to_host(function)
        apply_rules(op, RULES)
        for node in each(reversed(list(tensor_nodes(op)))):
            if _widens(node.results[0]):
                repeat(node)


def _behind_casts(value: SSAValue) -> SSAValue:
    """Returns the same bytes, before their type was changed."""
    while isinstance(value.owner, StorageCastOp):
        value = value.owner.operands[0]
    return value


def _widens(value: SSAValue) -> bool:
    """Returns whether a value of more than 8 bits depends only on one of 8 bits and constants."""
    node = value.owner
    if is_byte(value) or not isinstance(node, DataParallel):
        return False
    variables = [o for o in node.operands if not is_constant(o)]
    return len(variables) == 1 and (is_byte(variables[0]) or _widens(variables[0]))


def repeat(node: Node) -> None:
    """Makes a node of its own for each use of the result but the first."""
    for use in list(node.results[0].uses)[1:]:
        copy = node.clone()
        copy.results[0].name_hint = node.results[0].name_hint
        node.parent_block().insert_op_before(copy, node)  # pyright: ignore
        use.operation.operands[use.index] = copy.results[0]


def _is_graph(function: func.FuncOp) -> bool:
    types = (*function.function_type.inputs, *function.function_type.outputs)
    return len(function.body.blocks) == 1 and all(isinstance(t, TensorType) for t in types)


def leave_to_host(main: func.FuncOp) -> None:
    """
    Gives a function the integers that the host makes of its inputs, and lets it return integers.
    """
    block, returned = main.body.block, main.body.block.last_op
    assert isinstance(returned, func.ReturnOp)
    results = [stored_output(value) for value in returned.operands]
    given = stored_inputs(main)
    arguments, count = list(block.args), len(block.args)
    for number, value in given:
        made = block.insert_arg(value.type, len(block.args))
        made.name_hint = arguments[number].name_hint
        value.replace_all_uses_with(made)
        results = [made if r is value else r for r in results]
    floats = list(returned.operands)
    returned.operands = results
    erase_if_dead(floats)
    for argument in arguments:
        for use in list(argument.uses):
            use.operation.detach()
            use.operation.erase()
        block.erase_arg(argument)
    numbers = [number for number, _ in given]
    main.properties["arg_attrs"] = _chosen(main.arg_attrs, numbers, count)
    types = [a.type for a in block.args], [r.type for r in results]
    main.properties["function_type"] = FunctionType.from_lists(*types)


def _chosen(
    attributes: ArrayAttr[DictionaryAttr] | None, numbers: Sequence[int], count: int
) -> ArrayAttr[DictionaryAttr]:
    """Returns the attributes of some of the arguments."""
    found = [DictionaryAttr({})] * count if attributes is None else list(attributes.data)
    return ArrayAttr([found[number] for number in numbers])
