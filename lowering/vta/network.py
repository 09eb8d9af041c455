"""
Layers from instructions on buffers.

A buffer of 8 bits lies in DRAM if it is an input or a result, if an operator reads it as a whole,
or if several instructions read it. All others are in accumulators: the instruction that writes one
is computed in the layer of each instruction that reads it. So there is a layer for each buffer in
DRAM.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...errors import CompileError
from ...glow_dialects.glow.pooling import MaxPoolOp as MaxPool
from ...glow_dialects.glow_inst.instruction import Instruction, OperatorInstruction, buffer_of
from ...glow_dialects.glow_inst.memory import STATE, argument_attributes, is_input
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.quant import QuantizedType
from ...glow_dialects.vta import LayerLike, MaxPoolOp, RegionKind
from ...passes.instructions.loops import read_views
from ...passes.visited_operation import each
from .buffers import (
    Buffers,
    Definition,
    image_shape,
    is_byte,
    is_stack,
    name_of,
    unsupported,
    with_bodies,
)
from .builder import INT8, Builder, is_product, root_of
from .epilogue import Chain
from .legalize import legalized
from .memory_map import MemoryMap
from .operators import windows
from .regions import Tensor

WIDE_BYTES = 4
"""Outputs of a program for a result of 32 bits: its bytes, the lowest first."""


class Network:
    """The layers of a program of instructions, in their order, and the regions of its buffers."""

    def __init__(self, main: func.FuncOp, memory: MemoryMap):
        self.memory = memory
        self.layers: list[LayerLike] = []
        self.tensors: dict[SSAValue, Tensor] = {}
        """The values in DRAM: buffers, and values in bodies that are stored in them."""
        self._wide: dict[SSAValue, list[Tensor]] = {}
        """The bytes of results of 32 bits."""
        block = main.body.block
        instructions = with_bodies(block)
        self.buffers = Buffers(instructions)
        for argument in block.args:
            if STATE in argument_attributes(argument):
                raise CompileError("the backend vta has no states: compile without `states`")
            if is_input(argument):
                self._add_input(argument)
        for argument in block.args:
            if not is_input(argument):
                self._add_output(argument)
        for op in each(instructions):
            first = len(self.layers)
            for view in op.written():
                self._compute(Definition(op, view))
            for layer in self.layers[first:]:
                layer.location = op.location

    # regions

    def _add_input(self, argument: BlockArgument) -> None:
        name = name_of(argument)
        if not is_byte(argument):
            raise CompileError(
                f"input {name}: expected 8-bit integers with sign for VTA, found {argument.type}; "
                "quantize the network (glow-quantize with schema=power_of_two "
                "weight-schema=power_of_two everything=true)"
            )
        bounds = _stored_bounds(argument)
        try:
            tensor = self.memory.tensor(RegionKind.INPUT, name, shape_of(argument.type), bounds)
        except ValueError as e:
            raise CompileError(f"input {name}: {e}") from None
        self.tensors[argument] = tensor

    def _add_output(self, argument: BlockArgument) -> None:
        name, made = name_of(argument), self.buffers.definition(argument)
        if made is None:
            raise CompileError(f"result {name}: nothing writes it")
        if is_byte(argument):
            self.tensors[argument] = self._tensor(RegionKind.OUTPUT, name, made)
        elif element_of(argument.type) == i32:
            self._wide[argument] = [
                self._tensor(RegionKind.OUTPUT, f"{name}.{byte}", made)
                for byte in range(WIDE_BYTES)
            ]
        else:
            unsupported(made.instruction, f"result {name} is not made of integers")

    def _tensor(self, kind: RegionKind, name: str, made: Definition) -> Tensor:
        """Returns a tensor for the buffer that an instruction writes."""
        buffer = buffer_of(made.view)
        try:
            tensor = self.memory.tensor(kind, name, shape_of(buffer.type), INT8)
        except ValueError as e:
            unsupported(made.instruction, str(e))
        if image_shape(made.view) != tensor.shape:
            unsupported(made.instruction, f"it writes {name} in another order, as {made.view.type}")
        return tensor

    # layers

    def _compute(self, made: Definition) -> None:
        """Adds the layers of a buffer, unless it is computed where it is read."""
        buffer, op = buffer_of(made.view), made.instruction
        if buffer in self._wide:
            builder = self._builder(buffer)
            low, *higher = self._wide[buffer]
            chain = self._legal(builder.defined(made), op)
            self.layers.extend(builder.layers(chain, low, higher))
        elif buffer not in self.tensors and not self._is_stored(made):
            return
        elif isinstance(op, OperatorInstruction) and op.OPERATOR is MaxPool:
            self._pool(op, made)
        else:
            self._store(made)

    def _builder(self, buffer: SSAValue) -> Builder:
        return Builder(name_of(buffer), self.buffers, self.tensors, self.memory)

    def _output(self, made: Definition, bounds: tuple[int, int]) -> Tensor:
        """Returns the tensor that an instruction writes, which is in DRAM from now on."""
        buffer = buffer_of(made.view)
        if buffer not in self.tensors:
            self.tensors[buffer] = self._tensor(RegionKind.SCRATCH, name_of(buffer), made)
        self.tensors[buffer].bounds = bounds
        return self.tensors[buffer]

    def _store(self, made: Definition) -> None:
        """Adds the layers of a buffer in DRAM."""
        buffer, op = buffer_of(made.view), made.instruction
        builder = self._builder(buffer)
        chain = builder.defined(made)
        if chain.bounds[0] < INT8[0] or chain.bounds[1] > INT8[1]:
            unsupported(op, "its numbers exceed 8 bits before they are stored")
        same = builder.unchanged(chain)
        if same is not None and buffer not in self.tensors:
            # the same bytes under another name, or as another type
            self.tensors[buffer] = same
            return
        output = self._output(made, chain.bounds)
        self.layers.extend(builder.layers(self._legal(chain, op), output))
        root = root_of(made)
        if root is not None:
            self.tensors[root] = output

    def _legal(self, chain: Chain, op: Operation) -> Chain:
        """Returns a chain in steps that the design can execute."""
        try:
            return legalized(chain, self.memory.config.capabilities)
        except CompileError as e:
            unsupported(op, str(e))

    def _pool(self, op: OperatorInstruction, made: Definition) -> None:
        (view,) = op.sources
        source = self.tensors.get(buffer_of(view))
        if source is None or image_shape(view) != source.shape:
            unsupported(op, "its operand is not in memory as an image of 8-bit integers")
        if op.epilogue is not None:
            unsupported(op, "it has an epilogue (stack products alone: glow-stack-ops, epilogues)")
        rows, columns = windows(op, op.call.ints("kernel"))
        output = self._output(made, source.bounds)
        name, least = name_of(buffer_of(made.view)), source.bounds[0]
        values = source.dram.value, output.dram.value
        self.layers.append(MaxPoolOp.of(name, *values, rows, columns, least))

    # which buffers lie in DRAM

    def _is_stored(self, made: Definition) -> bool:
        buffer = buffer_of(made.view)
        if not is_byte(buffer) or self.buffers.is_constant(buffer):
            return False
        return self._must_be_stored(made) or self._is_product_aside(made)

    def _must_be_stored(self, made: Definition) -> bool:
        buffer, op = buffer_of(made.view), made.instruction
        if isinstance(buffer, BlockArgument):
            return True
        readers = self.buffers.readers(buffer)
        if not readers or not is_byte(buffer):
            return False
        reader = readers[0]
        return (
            len(readers) > 1
            or not (is_stack(op) or is_product(op))
            or self._is_repeated(reader)
            or buffer in map(buffer_of, _read_as_a_whole(reader))
        )

    def _is_repeated(self, op: Instruction) -> bool:
        """Returns whether several layers compute the result of an instruction."""
        written = [buffer_of(view) for view in op.written()]
        return len(written) > 1 or (
            not is_byte(written[0]) and len(self.buffers.readers(written[0])) > 1
        )

    def _is_product_aside(self, made: Definition) -> bool:
        """Returns whether the one reader combines products that are better computed apart."""
        buffer = buffer_of(made.view)
        mine = self._products_of(buffer)
        readers = self.buffers.readers(buffer)
        if not mine or not readers:
            return False
        (reader,) = readers
        views = [buffer_of(view) for view in read_views(reader)]
        others = [p for b in views if b is not buffer for p in self._products_of(b)]
        if is_product(reader):
            others.append(reader)
        if not others:
            return False
        if len(mine) == len(others) == 1 and (_is_small(mine[0]) or _is_small(others[0])):
            return False
        if is_product(reader) or _work(mine) < _work(others):
            return True
        return _work(mine) == _work(others) and buffer is not views[0]

    def _products_of(self, buffer: SSAValue) -> list[Instruction]:
        """
        Returns how many products it takes to compute a buffer from buffers that lie in DRAM in any
        case.
        """
        made = self.buffers.definition(buffer)
        if made is None or buffer in self.tensors or self._must_be_stored(made):
            return []
        op = made.instruction
        found = [op] if is_product(op) else []
        return found + [p for view in read_views(op) for p in self._products_of(buffer_of(view))]


def _read_as_a_whole(op: Instruction) -> Sequence[SSAValue]:
    """Returns the buffers that an instruction reads not element by element."""
    return () if is_stack(op) or not isinstance(op, OperatorInstruction) else op.sources


def _is_small(op: Operation) -> bool:
    """Returns whether a product takes one pixel only, so that it adds little to a layer."""
    assert isinstance(op, OperatorInstruction)
    return all(size == 1 for size in shape_of(op.sources[1].type)[2:])


def _work(products: Sequence[Operation]) -> int:
    """Returns the most weights of a product."""
    found = [p.sources[1] for p in products if isinstance(p, OperatorInstruction)]
    return max(prod(shape_of(weights.type)) for weights in found)


def _stored_bounds(argument: SSAValue) -> tuple[int, int]:
    """Returns the least and the greatest number that an input of 8 bits can be."""
    element = element_of(argument.type)
    if isinstance(element, QuantizedType):
        return element.storage_min.data, element.storage_max.data
    return INT8
