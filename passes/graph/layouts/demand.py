"""
The demand for a value in blocks: whether its users prefer to read it blocked.

The demand is counted from the results of the graph towards its arguments. A convolution that will
work on blocked tensors is one user in favour. A convolution that will not, or any other operator
without a rule, is one against. Operators that work on either layout pass on the demand for their
result.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.shape import ReshapeOp
from ...visited_operation import each
from .convolutions import convolution_kind
from .elements import works_on_blocks
from .moves import keeps_channels
from .state import Layouts


def demands(block: Block, layouts: Layouts) -> dict[SSAValue, int]:
    """
    Returns the demand for a blocked version of each value: above 0 if more users want it blocked
    than plain.
    """
    found: dict[SSAValue, int] = {}
    for op in each(reversed(list(block.ops))):
        for result in op.results:
            users = [_of(use.operation, layouts, found) for use in result.uses]
            found[result] = sum(users)
    return found


def _of(user: Operation, layouts: Layouts, found: dict[SSAValue, int]) -> int:
    if isinstance(user, ConvolutionOp):
        kind = convolution_kind(layouts, user)
        if kind is None:
            return -1
        if kind.wants_blocks:
            return 1
    elif not works_on_blocks(user, layouts.block):
        return -1
    elif isinstance(user, ReshapeOp) and not keeps_channels(user):
        return -1
    wanted = found.get(user.results[0], 0)
    return (wanted > 0) - (wanted < 0)
