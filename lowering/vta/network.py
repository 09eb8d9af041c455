"""
From a graph of integers to layers.

A tensor of 8 bits lies in DRAM if a product or a pooling reads it, if it is used more than once, or
if it is a result. Everything between is computed in accumulators: the chain from such a tensor back
to products and other such tensors is one layer. What an operator adds to a chain is a function
registered with `@inlined`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NoReturn, TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, TensorType, i8, i32
from xdsl.ir import Operation, SSAValue

from ...errors import CompileError
from ...glow_dialects.elements import storage_type
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.glow.pooling import MaxPoolOp
from ...glow_dialects.glow.quantization import StorageCastOp
from ...glow_dialects.glow.shape import ReshapeOp
from ...glow_dialects.glow_inst.memory import NAME, argument_attributes
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.quant import QuantizedType
from ...glow_dialects.vta import Memory, RegionKind
from ...passes.rewriting import failure
from .borders import WIDE_BYTES, stored_input, stored_output
from .epilogue import Chain, Leaf
from .layers import Layer, Linear, Pooling, Window, spread_vectors
from .memory_map import MemoryMap, spatial_shape
from .products import Packer, Piece, Weighted
from .regions import Tensor

N = TypeVar("N", bound=Node)
Inlined = Callable[["Builder", N], Chain]
INLINED: dict[type[Node], Inlined] = {}
_PRODUCTS: set[type[Node]] = set()
_INT8 = (-128, 127)
_MOST_PRODUCTS = 2
"""Products of one layer, if others can be layers of their own."""


def inlined(*operators: type[N], product: bool = False) -> Callable[[Inlined[N]], Inlined[N]]:
    """Decorator: how an operator is computed in accumulators."""

    def register(function: Inlined[N]) -> Inlined[N]:
        for operator in operators:
            INLINED[operator] = function
        if product:
            _PRODUCTS.update(operators)
        return function

    return register


def unsupported(op: Operation, why: str) -> NoReturn:
    """Raises CompileError, which says who computes what VTA cannot."""
    raise failure(
        op,
        f"VTA cannot compute this: {why}. It computes networks of 8-bit integers with scales that "
        "are powers of two (glow-quantize with schema=power_of_two and everything=true); "
        "what it cannot compute belongs to another device (glow-opt --partition=devices=cpu,vta)",
    )


def same_place(value: SSAValue) -> SSAValue:
    """The value with the same bytes in the same place, behind casts and reshapes."""
    while True:
        op = value.owner
        is_view = isinstance(op, StorageCastOp) or (isinstance(op, ReshapeOp) and _keeps_layout(op))
        if not is_view:
            return value
        value = op.operands[0]  # pyright: ignore


def _keeps_layout(op: ReshapeOp) -> bool:
    try:
        a, b = (spatial_shape(shape_of(v.type)) for v in (op.input, op.result))
    except ValueError:
        return False
    return a[:2] == b[:2] and (a[2:] == b[2:] or a[2] * a[3] == 1)


def users(value: SSAValue) -> Iterator[Operation]:
    """Who uses a value, also through casts and reshapes."""
    for use in value.uses:
        op = use.operation
        if op.results and same_place(op.results[0]) is not op.results[0]:
            yield from users(op.results[0])
        else:
            yield op


def is_stored(value: SSAValue) -> bool:
    """Whether elements of 8 bits, with sign, are stored."""
    return isinstance(value.type, TensorType) and storage_type(element_of(value.type)) == i8


class Network:
    """The layers of a function, in their order, and the regions of their tensors."""

    def __init__(self, main: func.FuncOp, memory: MemoryMap):
        self.memory = memory
        self.layers: list[Layer | Pooling] = []
        self.tensors: dict[SSAValue, Tensor] = {}
        block = main.body.block
        self._results: dict[SSAValue, int] = {}
        """Which result of the function a value is, if no other is the same."""
        returned = block.last_op
        assert isinstance(returned, func.ReturnOp)
        outputs = [stored_output(v) for v in returned.operands]
        for i, value in enumerate(outputs):
            self._results.setdefault(same_place(value), i)
        self._names = _result_names(main)
        self._returned = outputs
        for argument in block.args:
            for value in stored_input(argument):
                self._add_input(argument, value)
        for op in block.ops:
            self._visit(op)
        for i, value in enumerate(outputs):
            self._finish(returned, i, value)

    def _add_input(self, argument: SSAValue, value: SSAValue) -> None:
        name = argument_attributes(argument).get(NAME)  # pyright: ignore
        label = name.data if isinstance(name, StringAttr) else argument.name_hint or "input"
        if not is_stored(value):
            raise CompileError(
                f"input {label}: expected 8-bit integers with sign for VTA, found {value.type}; "
                "quantize the network (glow-quantize with schema=power_of_two)"
            )
        self.tensors[value] = self._tensor(RegionKind.INPUT, label, value, stored_bounds(value))

    def _tensor(
        self, kind: RegionKind, name: str, value: SSAValue, bounds: tuple[int, int]
    ) -> Tensor:
        try:
            return self.memory.tensor(kind, name, shape_of(value.type), bounds)
        except ValueError as e:
            if isinstance(value.owner, Operation):
                unsupported(value.owner, str(e))
            raise CompileError(f"input {name}: {e}") from None

    def make(self, value: SSAValue, bounds: tuple[int, int]) -> Tensor:
        """A tensor for what a layer computes: an output, if it is one, else scratch."""
        number = self._results.get(value)
        name = value.name_hint or "value"
        if number is None:
            made = self._tensor(RegionKind.SCRATCH, name, value, bounds)
        else:
            output = self._returned[number]
            made = self._tensor(RegionKind.OUTPUT, self._names[number], output, bounds)
        self.tensors[value] = made
        return made

    def _visit(self, op: Operation) -> None:
        if isinstance(op, func.ReturnOp):
            return
        if not isinstance(op, Node) or len(op.results) != 1:
            unsupported(op, "it is no operator on tensors")
        value = op.results[0]
        if not is_stored(value) or same_place(value) is not value or value in self.tensors:
            return
        if isinstance(op, MaxPoolOp):
            self._pool(op)
        elif type(op) in INLINED and self._is_layer(value):
            self.compute(value, value.name_hint or op.name)

    def _is_layer(self, value: SSAValue) -> bool:
        found = list(users(value))
        if not found:
            return False
        if len(found) > 1 or type(found[0]) not in INLINED or _reads_memory(found[0]):
            return True
        return self._is_product_aside(value, found[0])

    def _is_product_aside(self, value: SSAValue, user: Operation) -> bool:
        """Whether what `user` combines are products that are better computed apart."""
        mine = self._products_of(value)
        if not mine:
            return False
        others = [
            p for o in user.operands if same_place(o) is not value for p in self._products_of(o)
        ]
        if not others:
            return False
        if len(mine) == 1 and len(others) < _MOST_PRODUCTS and _is_small(mine[0]):
            return False
        return _work(mine) < _work(others) or (
            _work(mine) == _work(others) and same_place(user.operands[0]) is not value
        )

    def _products_of(self, value: SSAValue) -> list[Node]:
        """Products in the chain of a value, up to tensors that are used more than once."""
        value = same_place(value)
        op = value.owner
        if type(op) in _PRODUCTS:
            return [op]  # pyright: ignore
        if type(op) not in INLINED or value in self.tensors or len(list(users(value))) > 1:
            return []
        return [p for o in op.operands for p in self._products_of(o)]  # pyright: ignore

    def _pool(self, op: MaxPoolOp) -> None:
        source = self.tensors.get(same_place(op.input))
        if source is None:
            unsupported(op, "its operand is not in memory as 8-bit integers")
        rows, columns = windows(op, op.kernel.get_values())
        output = self.make(op.result, source.bounds)
        name = op.result.name_hint or op.name
        self.layers.append(Pooling(name, source, output, rows, columns))

    def compute(self, value: SSAValue, name: str) -> Tensor:
        """Layers that compute a value of 8 bits."""
        builder = Builder(self, name)
        chain = builder.chain(value, is_root=True)
        if chain.bounds[0] < _INT8[0] or chain.bounds[1] > _INT8[1]:
            unsupported(value.owner, "its numbers exceed 8 bits before they are stored")  # pyright: ignore
        output = self.make(value, chain.bounds)
        self.layers.extend(builder.layers(chain, output))
        return output

    def _add_wide(self, value: SSAValue, name: str) -> None:
        """A result of 32 bits, as four outputs of 8 bits each, the lowest first."""
        builder = Builder(self, value.name_hint or name)
        chain = builder.chain(value)
        outputs = [
            self._tensor(RegionKind.OUTPUT, f"{name}.{byte}", value, _INT8)
            for byte in range(WIDE_BYTES)
        ]
        self.layers.extend(builder.layers(chain, outputs[0], outputs[1:]))

    def _finish(self, returned: func.ReturnOp, number: int, value: SSAValue) -> None:
        """A result that is another result, or an input, is copied."""
        place = same_place(value)
        tensor = self.tensors.get(place)
        if tensor is None and element_of(value.type) == i32:
            self._add_wide(value, self._names[number])
            return
        if tensor is None:
            op = value.owner if isinstance(value.owner, Operation) else returned
            unsupported(op, f"result {number} of the network is not made of 8-bit integers")
        if self._results[place] == number and tensor.kind is RegionKind.OUTPUT:
            return
        copy = self._tensor(RegionKind.OUTPUT, self._names[number], value, tensor.bounds)
        builder = Builder(self, self._names[number])
        self.layers.extend(builder.layers(builder.fetched(tensor), copy))


def _reads_memory(op: Operation) -> bool:
    """Whether an operator is a product, which takes its operands from memory, or part of one."""
    if isinstance(op, CastOp):
        return any(type(user) in _PRODUCTS for user in users(op.result))
    return type(op) in _PRODUCTS


def _is_small(op: Node) -> bool:
    """Whether a product takes one pixel only, so that it adds little to a layer."""
    return len(op.operands) > 1 and all(k == 1 for k in shape_of(op.operands[1].type)[2:])


def _work(products: Sequence[Node]) -> int:
    """The most weights of a product."""
    return max(prod(shape_of(p.operands[1].type)) for p in products if len(p.operands) > 1)


def _result_names(main: func.FuncOp) -> list[str]:
    named = [a.data for a in main.res_attrs.data] if main.res_attrs is not None else []
    count = len(main.function_type.outputs)
    found = [named[i].get(NAME) if i < len(named) else None for i in range(count)]
    return [n.data if isinstance(n, StringAttr) else f"output_{i}" for i, n in enumerate(found)]


def stored_bounds(value: SSAValue) -> tuple[int, int]:
    """The least and the greatest number that a value of 8 bits can be."""
    element = element_of(value.type)
    if isinstance(element, QuantizedType):
        return element.storage_min.data, element.storage_max.data
    return _INT8


def windows(op: Node, kernel: Sequence[int]) -> tuple[Window, Window]:
    """The windows of a convolution or pooling over rows and columns, or over columns alone."""
    strides, dilations, pads = (
        [int(v) for v in op.properties[name].get_values()]  # pyright: ignore
        for name in ("strides", "dilations", "pads")
    )
    found = [
        Window(int(k), s, d, p)
        for k, s, d, p in zip(kernel, strides, dilations, pads, strict=False)
    ]
    if len(found) > 2:
        unsupported(op, "it has more than two spatial dimensions")
    rows, columns = [Window()] * (2 - len(found)) + found
    return rows, columns


class Builder:
    """One layer under construction."""

    def __init__(self, network: Network, name: str):
        self.network = network
        self.name = name
        self._leaves: list[Weighted | Tensor] = []

    def chain(self, value: SSAValue, is_root: bool = False) -> Chain:
        """How the numbers of a value are computed."""
        value = same_place(value)
        tensor = self.network.tensors.get(value)
        if tensor is not None:
            return self.fetched(tensor)
        op = value.owner
        if not isinstance(op, Node) or type(op) not in INLINED:
            if isinstance(op, Operation):
                unsupported(op, "there is no rule for it")
            raise CompileError(f"expected 8-bit integers as inputs for VTA, found {value.type}")
        chain = INLINED[type(op)](self, op)
        if is_stored(value) and not is_root:
            low, high = chain.bounds
            if low < _INT8[0] or high > _INT8[1]:
                unsupported(op, "its numbers exceed 8 bits")
        return chain

    def fetched(self, tensor: Tensor) -> Chain:
        """The numbers of a tensor in memory."""
        self._leaves.append(tensor)
        return Chain(Leaf(False, len(self._leaves) - 1), tensor.bounds)

    def product(self, weighted: Weighted) -> Chain:
        """The sums of a product, without bias."""
        self._leaves.append(weighted)
        return Chain(Leaf(True, len(self._leaves) - 1), weighted.bounds())

    def layers(
        self, chain: Chain, output: Tensor, higher: Sequence[Tensor] = ()
    ) -> Iterator[Layer]:
        """The layers that compute a chain, one for each piece of the output."""
        memory = self.network.memory
        config = memory.config
        weighted = [leaf for leaf in self._leaves if isinstance(leaf, Weighted)]
        pieces = self._pieces(weighted, output)
        is_flat = output.grid.is_flat and all(w.is_flat for w in weighted)
        packers = {w: Packer(memory, w, pieces) for w in weighted}
        constants = None
        for number, piece in enumerate(pieces):
            leaves = [
                leaf if isinstance(leaf, Tensor) else packers[leaf].products(number, piece, is_flat)
                for leaf in self._leaves
            ]
            linear = Linear(config, leaves)
            linear.add(chain)
            if linear.vectors and constants is None:
                array = spread_vectors(linear.vectors, output.shape[1], config)
                constants = memory.constant(f"{self.name}.vectors", array, Memory.ACC)
            yield Layer(
                self.name,
                output,
                piece.first,
                piece.blocks,
                linear.actions,
                linear.slots,
                len(linear.vectors),
                constants,
                is_flat=is_flat,
                higher=higher,
            )

    def _pieces(self, weighted: Sequence[Weighted], output: Tensor) -> list[Piece]:
        config = self.network.memory.config
        found = [w.pieces(config) for w in weighted if w.groups > 1]
        if not found:
            return [Piece(0, output.grid.blocks.size)]
        return max(found, key=len)
