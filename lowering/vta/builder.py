"""
The construction of one layer: instructions on buffers become chains of steps.

The operators on each element are in the bodies of instructions, in epilogues and stacks. A function
that is registered with `@element` returns the chain of a node of a body. A function that is
registered with `@product` returns the sums that begin the chain of an operator with weights. An
operand that is a buffer in DRAM is loaded; any other is computed here, by the instruction that
would write it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...glow_dialects.elements import is_integer, storage_type
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import SplatOp
from ...glow_dialects.glow_inst.instruction import OperatorInstruction, buffer_of
from ...glow_dialects.glow_inst.stacked import StackedOp
from ...glow_dialects.operator import element_of
from ...glow_dialects.python_values import to_python
from ...glow_dialects.vta import (
    AluOpcode,
    ApplyOp,
    FetchOp,
    LayerOp,
    VtaConfig,
    VtaMemory,
    WriteOp,
)
from ...glow_dialects.vta.layers import InLayer
from ...table import Table
from .buffers import (
    Buffers,
    Definition,
    channel_numbers,
    image_shape,
    is_byte,
    name_of,
    same_layout,
    unsupported,
)
from .chain_ops import ChainOps, spread_vectors
from .epilogue import Chain, Leaf, shared
from .memory_map import MemoryMap
from .products import Packer, Piece, Weighted
from .regions import Tensor

N = TypeVar("N", bound=Node)
Element = Callable[["Builder", N], Chain]
Product = Callable[["Builder", OperatorInstruction], Chain]
ELEMENTS: Table[type[Node], Element[Any]] = Table("a rule for accumulators")
PRODUCTS: Table[type[Node], Product] = Table("a rule for its sums")
INT8 = (-128, 127)
_BYTE = 8
"""Bits that a store takes of an accumulator."""


def element(*operators: type[N]) -> Callable[[Element[N]], Element[N]]:
    """
    Registers the function that computes a node in the body of an instruction in
    accumulators.
    """
    return ELEMENTS.entry(*operators)


def product(operator: type[Node]) -> Callable[[Product], Product]:
    """
    Registers the function that returns the sums of an operator with weights, and its bias.
    """
    return PRODUCTS.entry(operator)


def is_product(op: Operation) -> bool:
    """Returns whether an instruction begins with sums that the GEMM core computes."""
    return isinstance(op, OperatorInstruction) and op.OPERATOR in PRODUCTS


def operand_of(argument: BlockArgument) -> SSAValue | None:
    """
    Returns the view whose element an argument of a body is; None for the result of the operator.
    """
    op = argument.block.parent_op()
    if isinstance(op, StackedOp):
        return (*op.inouts, *op.ins)[argument.index]
    assert isinstance(op, OperatorInstruction)
    return op.extras[argument.index - 1] if argument.index else None


def root_of(made: Definition) -> SSAValue | None:
    """Returns the value in a body that an instruction stores; None if it has no body."""
    op = made.instruction
    if isinstance(op, StackedOp):
        return _yielded(op.body.block)[[*op.outs, *op.inouts].index(made.view)]
    if isinstance(op, OperatorInstruction) and op.epilogue is not None:
        return _yielded(op.epilogue.block)[0]
    return None


class Builder:
    """A layer that computes one buffer."""

    def __init__(
        self, name: str, buffers: Buffers, tensors: Mapping[SSAValue, Tensor], memory: MemoryMap
    ):
        self.name = name
        self.buffers = buffers
        self._tensors = tensors
        """The values in DRAM so far: buffers, and values in bodies that are stored in them."""
        self._memory = memory
        self._leaves: list[Weighted | Tensor] = []
        self._shared: dict[SSAValue, Chain] = {}
        """Values in bodies that are used several times."""

    @property
    def config(self) -> VtaConfig:
        return self._memory.config

    # chains

    def defined(self, made: Definition) -> Chain:
        """Returns the chain of the elements that an instruction writes."""
        op, root = made.instruction, root_of(made)
        if not (is_product(op) or isinstance(op, StackedOp)):
            unsupported(op, "there is no rule for it")
        if root is not None:
            return self.element(root, is_root=True)
        assert isinstance(op, OperatorInstruction)
        return PRODUCTS[op.OPERATOR](self, op)

    def element(self, value: SSAValue, is_root: bool = False) -> Chain:
        """Returns the chain of a value in a body. The root of a body is stored, or may be."""
        if value.has_one_use():
            return self._computed(value, is_root)
        found = self._shared.get(value)
        if found is None:
            found = self._shared[value] = shared(self._computed(value, is_root))
        return found

    def _computed(self, value: SSAValue, is_root: bool) -> Chain:
        if value in self._tensors:
            return self._fetched(self._tensors[value])
        owner = value.owner
        if isinstance(owner, Block):
            assert isinstance(value, BlockArgument)
            return self._argument(value)
        rule = ELEMENTS.get(type(owner))
        if rule is None:
            unsupported(owner, "there is no rule for it")
        chain = rule(self, owner)
        if is_byte(value) and not is_root and not _within(chain, INT8):
            unsupported(owner, "its numbers exceed 8 bits")
        return chain

    def _argument(self, argument: BlockArgument) -> Chain:
        op, view = argument.block.parent_op(), operand_of(argument)
        assert op is not None
        if view is not None:
            return self._view(view, op)
        assert isinstance(op, OperatorInstruction)
        return PRODUCTS[op.OPERATOR](self, op)

    def _view(self, view: SSAValue, op: Operation) -> Chain:
        """Returns a buffer as an instruction reads it, element by element."""
        buffer = buffer_of(view)
        tensor = self._tensors.get(buffer)
        if tensor is not None:
            if image_shape(view) != tensor.shape:
                unsupported(op, f"it reads {name_of(buffer)} in another order, as {view.type}")
            return self._fetched(tensor)
        made = self.buffers.definition(buffer)
        if made is None or self.buffers.is_constant(view):
            unsupported(op, f"it computes with {name_of(buffer)}, a constant, alone")
        if not same_layout(made.view, view):
            unsupported(op, f"it reads {name_of(buffer)} in another order, as {view.type}")
        chain = self.defined(made)
        if is_byte(buffer) and not _within(chain, INT8):
            unsupported(made.instruction, "its numbers exceed 8 bits")
        return chain

    def _fetched(self, tensor: Tensor) -> Chain:
        self._leaves.append(tensor)
        return Chain(Leaf(False, len(self._leaves) - 1), tensor.bounds)

    def numbers(self, value: SSAValue) -> int | np.ndarray | None:
        """
        Returns an operand of a node in a body, if it is a constant integer: one number, or one per
        channel.
        """
        if not is_integer(storage_type(element_of(value.type))):
            return None
        if isinstance(value.owner, SplatOp):
            return int(to_python(value.owner.value))
        if not isinstance(value, BlockArgument):
            return None
        view = operand_of(value)
        array = None if view is None else self.buffers.constant(view)
        return None if array is None else channel_numbers(array)

    # products

    def source(self, view: SSAValue, op: Operation) -> Tensor:
        """Returns the tensor in DRAM that a product reads a view of."""
        tensor = self._tensors.get(buffer_of(view))
        if tensor is None:
            unsupported(
                op, f"its operand is no tensor of 8-bit integers with sign, but {view.type}"
            )
        return tensor

    def product(self, weighted: Weighted) -> Chain:
        """Returns the sums of a product, without bias."""
        self._leaves.append(weighted)
        return Chain(Leaf(True, len(self._leaves) - 1), weighted.bounds())

    # layers

    def unchanged(self, chain: Chain) -> Tensor | None:
        """Returns the tensor whose numbers a chain is, without any step."""
        if not isinstance(chain.base, Leaf) or chain.steps:
            return None
        leaf = self._leaves[chain.base.index]
        return leaf if isinstance(leaf, Tensor) else None

    def layers(
        self, chain: Chain, output: Tensor, higher: Sequence[Tensor] = ()
    ) -> Iterator[LayerOp]:
        """
        Yields the layers that compute a chain, one for each piece of the output. The bits from 8 on
        go to `higher`, 8 each.
        """
        weighted = [leaf for leaf in self._leaves if isinstance(leaf, Weighted)]
        pieces = self._pieces(weighted, output)
        is_flat = output.grid.is_flat and all(w.is_flat for w in weighted)
        packers = {w: Packer(self._memory, w, pieces) for w in weighted}
        vectors = None
        for number, piece in enumerate(pieces):

            def leaf(index: int, number: int = number, piece: Piece = piece) -> Sequence[InLayer]:
                found = self._leaves[index]
                if isinstance(found, Tensor):
                    return [FetchOp.of(found.dram.value)]
                return packers[found].products(number, piece, is_flat)

            made = ChainOps(self.config, leaf)
            value = made.add(chain)
            made.ops.append(WriteOp.of(value, output.dram.value))
            for tensor in higher:
                value = made.append(ApplyOp.of(AluOpcode.SHR, value, imm=_BYTE))
                made.ops.append(WriteOp.of(value, tensor.dram.value))
            if made.vectors and vectors is None:
                array = spread_vectors(made.vectors, output.shape[1], self.config)
                vectors = self._memory.constant(f"{self.name}.vectors", array, VtaMemory.ACC).value
            blocks = piece.first, piece.blocks
            yield LayerOp.of(self.name, blocks, made.ops, vectors, is_flat)

    def _pieces(self, weighted: Sequence[Weighted], output: Tensor) -> list[Piece]:
        found = [w.pieces(self.config) for w in weighted if w.groups > 1]
        if not found:
            return [Piece(0, output.grid.blocks.size)]
        return max(found, key=len)


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    assert last is not None
    return last.operands


def _within(chain: Chain, limits: tuple[int, int]) -> bool:
    return limits[0] <= chain.bounds[0] and chain.bounds[1] <= limits[1]
