"""
The nodes that the host computes at the inputs and results of a program.

The host quantizes inputs of floats before the machine gets them. Results of floats that are made of
integers element by element leave the machine as these integers.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.ir import BlockArgument, SSAValue

from ...glow_dialects.elements import is_integer, storage_type
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.quantization import QuantizeOp
from ...glow_dialects.operator import element_of
from ...passes.graph.rewriting import is_constant


def stored_input(argument: SSAValue) -> Iterator[SSAValue]:
    """
    Yields the values that a program gets for an argument: itself, or each of its quantizations, in
    the order in which they stand.
    """
    users = {use.operation for use in argument.uses}
    if not users or not all(isinstance(user, QuantizeOp) for user in users):
        yield argument
        return
    assert isinstance(argument, BlockArgument)
    for op in argument.block.ops:
        if op in users:
            yield op.results[0]


def host_nodes(result: SSAValue) -> list[Node]:
    """
    Returns the nodes that make a result of the network from integers, in order: conversion to
    floats and arithmetic with constants. Returns None if the result consists of integers.
    """
    nodes: list[Node] = []
    value = result
    while not is_integer(storage_type(element_of(value.type))):
        node = value.owner
        if not isinstance(node, DataParallel):
            return []
        variables = [o for o in node.operands if not is_constant(o)]
        if len(variables) != 1:
            return []
        nodes.insert(0, node)
        (value,) = variables
    return nodes


def stored_output(result: SSAValue) -> SSAValue:
    """Returns the integers that a program leaves for a result of the network."""
    nodes = host_nodes(result)
    if not nodes:
        return result
    return next(o for o in nodes[0].operands if not is_constant(o))


def stored_inputs(main: func.FuncOp) -> list[tuple[int, SSAValue]]:
    """Returns the number of the argument and the value of each input of a program."""
    arguments = enumerate(main.body.block.args)
    return [(i, value) for i, argument in arguments for value in stored_input(argument)]
