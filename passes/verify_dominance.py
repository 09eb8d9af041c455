"""
Checks that every value is defined before it is used, on every path.

xDSL's verifier checks types and structure but not dominance, so a pass that moves an operation
above its operands would go unnoticed. This check costs one walk over the module.

Regions of one block are walked with a set of visible values. Regions of several blocks are walked
along their dominator tree, which is computed with the algorithm of Cooper, Harvey and Kennedy,
"A Simple, Fast Dominance Algorithm" (2001). Blocks that cannot be reached are not checked, as in
MLIR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ..errors import at_operation


def verify_dominance(op: Operation) -> None:
    """
    Checks all regions of `op`.

    Raises VerifyException on the first use that is not dominated by the definition; its attribute
    `operation` is the user.
    """
    for region in op.regions:
        _verify_region(region, set())


def _verify_region(region: Region, visible: set[SSAValue]) -> None:
    if len(region.blocks) == 1:
        _verify_block(region.blocks[0], visible, [])
        return
    if not region.blocks:
        return
    children = _dominator_tree(region)
    # preorder over the tree; a block's definitions leave scope when its subtree is done
    scopes: list[tuple[Iterator[Block], list[SSAValue]]] = [(iter([region.blocks[0]]), [])]
    while scopes:
        blocks, defined = scopes[-1]
        block = next(blocks, None)
        if block is None:
            scopes.pop()
            visible.difference_update(defined)
            continue
        inner: list[SSAValue] = []
        _define_block(block, visible, inner)
        scopes.append((iter(children.get(block, ())), inner))


def _verify_block(block: Block, visible: set[SSAValue], defined: list[SSAValue]) -> None:
    _define_block(block, visible, defined)
    visible.difference_update(defined)


def _define_block(block: Block, visible: set[SSAValue], defined: list[SSAValue]) -> None:
    """
    Checks the block's operations and adds the values that it defines to `visible` and `defined`.
    """
    defined += block.args
    visible.update(block.args)
    for op in block.ops:
        for i, operand in enumerate(op.operands):
            if operand not in visible:
                raise _error(op, i, operand)
        for region in op.regions:
            _verify_region(region, set() if op.has_trait(IsolatedFromAbove) else visible)
        defined += op.results
        visible.update(op.results)


def _error(op: Operation, index: int, value: SSAValue) -> VerifyException:
    name = f"%{value.name_hint}" if value.name_hint else f"operand {index}"
    match value:
        case OpResult(op=owner) if owner is op or owner.parent is op.parent:
            where = f"the result of a later {owner.name}" if owner is not op else "its own result"
        case OpResult(op=owner):
            where = f"the result of a {owner.name} elsewhere"
        case BlockArgument():
            where = "an argument of another block"
        case _:
            where = "not in the module"
    message = f"expected {name} to be defined before its use, but it is {where}"
    return at_operation(VerifyException(message), op)


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors


def _postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            stack.pop()
            order.append(block)
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return order


def _dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """Returns the children of each reachable block in the dominator tree."""
    postorder = _postorder(region.blocks[0])
    parent = _immediate_dominators(postorder)
    children: dict[Block, list[Block]] = {}
    for block in reversed(postorder[:-1]):
        children.setdefault(parent[block], []).append(block)
    return children


def _immediate_dominators(postorder: list[Block]) -> dict[Block, Block]:
    """Returns the closest strict dominator of each block; the entry, which is last, is its own."""
    number = {block: i for i, block in enumerate(postorder)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in postorder}
    for block in postorder:
        for successor in _successors(block):
            predecessors[successor].append(block)
    parent = {postorder[-1]: postorder[-1]}

    def meet(a: Block, b: Block) -> Block:
        while a is not b:
            if number[a] < number[b]:
                a = parent[a]
            else:
                b = parent[b]
        return a

    changed = True
    while changed:
        changed = False
        for block in reversed(postorder[:-1]):
            found = reduce(meet, (p for p in predecessors[block] if p in parent))
            if parent.get(block) is not found:
                parent[block] = found
                changed = True
    return parent
