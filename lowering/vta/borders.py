"""
What the host computes at the borders of a program.

Inputs of floats are quantized before the machine gets them, and results that are dequantized leave
the machine as integers.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...passes.rewriting import maker


def stored_input(argument: SSAValue) -> Iterator[SSAValue]:
    """The values that a program gets for an argument: itself, or each of its quantizations."""
    users = [use.operation for use in argument.uses]
    if users and all(isinstance(user, QuantizeOp) for user in users):
        for user in users:
            yield user.results[0]
    else:
        yield argument


def stored_output(result: SSAValue) -> SSAValue:
    """The value that a program leaves for a result of the network."""
    node = maker(result, DequantizeOp)
    return result if node is None else node.input


def stored_inputs(main: func.FuncOp) -> list[tuple[int, SSAValue]]:
    """For each input of a program the number of the argument, and the value."""
    arguments = enumerate(main.body.block.args)
    return [(i, value) for i, argument in arguments for value in stored_input(argument)]
