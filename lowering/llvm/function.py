"""
The state of the conversion of one function, and the builder that conversions use.

Addresses. A memref becomes a pointer and a linear form of bytes (`Buffer`). An access adds its
indices times the strides to that form and asks for the pointer: the terms are added one
`getelementptr` each, outermost loop first, each emitted in the loop in which its index is defined
and remembered there. So an inner loop adds only its own induction variable to a pointer computed
outside of it, accesses that differ by a constant share everything but the constant, and the
constant, added last, becomes the displacement of the machine instruction. Partial pointers may
leave the buffer before the constant brings them back, so only addresses without variable terms are
marked inbounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, SymbolRefAttr, i1
from xdsl.dialects.llvm import FCmpPredicateFlag, ICmpPredicateFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.creation import append, create
from ...passes.visited_operation import each
from ...table import Table
from .linear import ZERO, Atom, Linear, combine
from .types import (
    PTR,
    array_of,
    convert_type,
    element_size,
    failure,
    i8,
    i32,
    i64,
    index_array,
    int_attr,
    memory_type,
    splat_attr,
    with_element,
)


@dataclass(slots=True)
class Scope:
    """A region being converted: the block that grows, and the address arithmetic done in it."""

    block: Block
    done: dict[Any, SSAValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Buffer:
    """
    A converted memref. Element `[0, ..., 0]` lies `start + offset` bytes after `base`. `start` is
    the memref's pointer and `offset` is the offset of its layout.
    """

    base: SSAValue
    strides: tuple[int, ...]
    """The strides in bytes."""
    offset: Linear
    start: Linear = ZERO


_INBOUNDS = {"noWrapFlags": int_attr(lx.NoWrap.INBOUNDS, i32)}
_DYNAMIC = index_array(lx.DYNAMIC)


class FunctionConverter:
    """Converts the body of one function; `CONVERTERS` get it as their second argument."""

    def __init__(
        self,
        region: Region,
        libraries: dict[str, llvm.LLVMFunctionType],
        *,
        contract: bool = True,
    ):
        self.region = region
        self.entry = region.block
        self.contract = contract
        """Whether products may be fused with sums."""
        self.scopes = [Scope(Block()), Scope(region.block)]
        """
        The region of what comes first in the function (constants and stack memory), then the
        function, then the regions within it that are being converted.
        """
        self.libraries = libraries
        """Library functions to declare, by name; conversions add to it."""
        self.callees: set[str] = set()
        """The functions that the source calls."""
        self._values: dict[SSAValue, SSAValue] = {}
        self.indices: dict[SSAValue, Linear] = {}
        """The forms that replace indices. A value is computed from one only where it is needed."""
        self.buffers: dict[SSAValue, Buffer] = {}
        """The pointers and layouts that replace memrefs."""
        self._integers: dict[int, SSAValue] = {}
        self._atoms = 0

    # blocks

    def convert_ops(self, block: Block) -> None:
        """Converts the operations of a block. Raises CompileError if nothing converts one."""
        for op in each(block.ops):
            converter = CONVERTERS.get(type(op))
            if converter is None:
                raise failure(op, "no conversion is registered for it")
            converter(op, self)

    def new_block(self, types: Sequence[Attribute] = ()) -> Block:
        """Returns an empty block after the existing ones."""
        block = Block(arg_types=types)
        self.region.add_block(block)
        return block

    @contextmanager
    def inside(self, block: Block) -> Iterator[Scope]:
        """Converts into a nested region that starts with `block`. Outer blocks must stay open."""
        scope = Scope(block)
        self.scopes.append(scope)
        yield scope
        self.scopes.pop()

    # building

    def add(self, op: Operation) -> None:
        append(self.scopes[-1].block, op)

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] = {},
        depth: int = -1,
    ) -> SSAValue:
        """Appends an operation with one result to the region at `depth`, by default the current."""
        op = create(kind, operands, (result,), properties)
        append(self.scopes[depth].block, op)
        (value,) = op.results
        return value

    def intrinsic(self, name: str, operands: Sequence[SSAValue], result: Attribute) -> SSAValue:
        """Appends the call of an LLVM intrinsic with one result, by its name."""
        return self.call(StringAttr(name), operands, (result,))[0]

    def call(
        self,
        callee: SymbolRefAttr | StringAttr,
        operands: Sequence[SSAValue],
        results: Sequence[Attribute] = (),
    ) -> Sequence[SSAValue]:
        """Appends the call of a function of the module, or of an LLVM intrinsic by its name."""
        is_intrinsic = isinstance(callee, StringAttr)
        properties = {
            "intrin" if is_intrinsic else "callee": callee,
            "op_bundle_sizes": index_array(),
            "operandSegmentSizes": index_array(len(operands), 0),
        }
        kind = llvm.CallIntrinsicOp if is_intrinsic else llvm.CallOp
        call = create(kind, operands, results, properties)
        self.add(call)
        return call.results

    def binary(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Returns an operation on two values of one type, which gives one of that type."""
        return self.emit(kind, (a, b), a.type)

    def compare(
        self,
        flag: ICmpPredicateFlag | FCmpPredicateFlag,
        a: SSAValue,
        b: SSAValue,
        *,
        flags: Mapping[str, Attribute] = {},
    ) -> SSAValue:
        """Returns a comparison of scalars or vectors, of integers or floats as the flag says."""
        kind = llvm.ICmpOp if isinstance(flag, ICmpPredicateFlag) else lx.FCmpOp
        properties = {"predicate": int_attr(flag.to_int()), **flags}
        return self.emit(kind, (a, b), with_element(a.type, i1), properties)

    def constant(self, attr: Attribute, t: Attribute) -> SSAValue:
        """Returns a constant, placed at the start of the function."""
        return self._once(0, llvm.ConstantOp, (), {"value": attr}, (attr, t), t)

    def number(self, value: float, t: Attribute = i64) -> SSAValue:
        """Returns a number as a constant, in every lane if `t` is a vector type."""
        if t is not i64:
            return self.constant(splat_attr(value, t), t)
        number = int(value)
        found = self._integers.get(number)
        if found is None:
            found = self._integers[number] = self.constant(int_attr(number, t), t)
        return found

    def poison(self, t: Attribute) -> SSAValue:
        """Returns a value that may be anything."""
        return self._once(0, lx.PoisonOp, (), {}, id(t), t)

    def alloca(self, element: Attribute, size: int, alignment: int) -> SSAValue:
        """Stacks memory for `size` elements, allocated once per call of the function."""
        properties = {"elem_type": element, "alignment": int_attr(alignment)}
        return self.emit(llvm.AllocaOp, (self.number(size),), PTR, properties, 0)

    def finish(self) -> None:
        """Moves constants and stack memory in front of everything else."""
        Rewriter.inline_block(self.scopes[0].block, InsertPoint.at_start(self.entry))

    # values

    def define(self, old: SSAValue, new: SSAValue) -> None:
        """Sets the value that replaces an operation's result."""
        self._values[old] = new
        if type(old.type) is IndexType:  # of many values few are indices
            self._atoms += 1
            atom = Atom(new, len(self.scopes) - 1, self._atoms)
            self.indices[old] = Linear(terms=((atom, 1),))

    def define_all(self, olds: Sequence[SSAValue], news: Sequence[SSAValue]) -> None:
        for old, new in zip(olds, news, strict=True):
            self.define(old, new)

    def alias(self, olds: Sequence[SSAValue], sources: Sequence[SSAValue]) -> None:
        """Says that values are what others became."""
        for old, source in zip(olds, sources, strict=True):
            if isinstance(old.type, IndexType):
                self.indices[old] = self.indices[source]
            else:
                self.define(old, self.value(source))

    def value(self, old: SSAValue) -> SSAValue:
        """Returns the converted value."""
        found = self._values.get(old)
        return self.materialize(self.indices[old]) if found is None else found

    def values(self, olds: Sequence[SSAValue]) -> list[SSAValue]:
        return [*map(self.value, olds)]

    def constant_int(self, old: SSAValue) -> int | None:
        """Returns the number, if an index or integer is known."""
        linear = self.indices.get(old)
        if linear is not None:
            return None if linear.terms else linear.constant
        owner = old.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            return owner.value.value.data
        return None

    # index arithmetic

    def materialize(self, linear: Linear) -> SSAValue:
        """Returns the value of a linear form, computed in the outermost loop that knows it."""
        if not linear.terms:
            return self.number(linear.constant)
        total = self._sum(linear.terms)
        if not linear.constant:
            return total
        depth = linear.terms[-1][0].depth
        return self._once(depth, llvm.AddOp, (total, self.number(linear.constant)))

    def _sum(self, terms: tuple[tuple[Atom, int], ...]) -> SSAValue:
        atom, coefficient = terms[-1]
        last = self._product(atom, coefficient)
        if len(terms) == 1:
            return last
        return self._once(atom.depth, llvm.AddOp, (self._sum(terms[:-1]), last))

    def _product(self, atom: Atom, coefficient: int) -> SSAValue:
        if coefficient == 1:
            return atom.value
        operands = (atom.value, self.number(coefficient))
        return self._once(atom.depth, llvm.MulOp, operands)

    def _once(
        self,
        depth: int,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        properties: Mapping[str, Attribute] = {},
        key: Any = None,
        result: Attribute = i64,
    ) -> SSAValue:
        done = self.scopes[depth].done
        # the operation keeps its operands, and the type of its result, alive
        key = (kind, key, *map(id, operands))
        found = done.get(key)
        if found is None:
            found = done[key] = self.emit(kind, operands, result, properties, depth)
        return found

    # addresses

    def address(self, buffer: Buffer, indices: Sequence[SSAValue], element: Attribute) -> SSAValue:
        """Returns a pointer to the element at `indices`."""
        parts = [(buffer.start, 1), (buffer.offset, 1)]
        for index, stride in zip(indices, buffer.strides, strict=True):
            parts.append((self.indices[index], stride))
        return self.pointer(buffer.base, combine(parts), memory_type(convert_type(element)))

    def pointer(self, base: SSAValue, distance: Linear, element: Attribute = i8) -> SSAValue:
        """Returns a pointer `distance` bytes after `base`."""
        pointer = base
        for atom, coefficient in distance.terms:
            pointer = self._step(pointer, atom, coefficient, element)
        if not distance.constant:
            return pointer
        inbounds = not distance.terms and distance.constant > 0
        return self._displaced(pointer, distance.constant, element, inbounds)

    def _step(
        self, pointer: SSAValue, atom: Atom, coefficient: int, element: Attribute
    ) -> SSAValue:
        element, scale = _in_elements(coefficient, element)
        index = atom.value
        if scale < 0:
            index = self._product(atom, scale)
        elif scale > 1:
            element = array_of(scale, element)
        properties = {"rawConstantIndices": _DYNAMIC, "elem_type": element}
        return self._once(atom.depth, lx.GEPOp, (pointer, index), properties, id(element), PTR)

    def _displaced(
        self, pointer: SSAValue, distance: int, element: Attribute, inbounds: bool
    ) -> SSAValue:
        element, index = _in_elements(distance, element)
        fits = -(2**31) < index < 2**31
        properties = {
            "rawConstantIndices": index_array(index) if fits else _DYNAMIC,
            "elem_type": element,
            **(_INBOUNDS if inbounds else {}),
        }
        operands = (pointer,) if fits else (pointer, self.number(index))
        return self._once(-1, lx.GEPOp, operands, properties, (id(element), index, inbounds), PTR)


def _in_elements(distance: int, element: Attribute) -> tuple[Attribute, int]:
    """Returns the distance of so many bytes in elements, or in bytes where it is no multiple."""
    count, rest = divmod(distance, element_size(element))
    return (i8, distance) if rest else (element, count)


Converter: TypeAlias = Callable[[Any, FunctionConverter], None]
CONVERTERS: Table[type[Operation], Converter] = Table("a conversion")
"""The functions that convert operations to the `llvm` dialect."""

converts = CONVERTERS.entry
