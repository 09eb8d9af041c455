"""All operations within an operation, as a list."""

from __future__ import annotations

from xdsl.ir import Block, Operation


def operations_of(op: Operation) -> list[Operation]:
    """
    Returns an operation and those within its regions, in the order of `Operation.walk`. The
    iterators of that method, one for each region around an operation, take several times as long.
    """
    found = [op]
    for region in op.regions:
        for block in region.blocks:
            _collect(block, found)
    return found


def _collect(block: Block, found: list[Operation]) -> None:
    op = block.first_op
    while op is not None:
        found.append(op)
        for region in op.regions:
            for inner in region.blocks:
                _collect(inner, found)
        op = op.next_op
