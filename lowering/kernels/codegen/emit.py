"""
Emission of structured IR: scalars and vectors, loops, loads and stores.

The emitter creates operations without checks and with cached types and constants, because a network
has thousands of them. The pass manager verifies the result in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    VectorType,
    i1,
    i8,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....glow_dialects import glow_vec
from ....glow_dialects.creation import append, create
from ....glow_dialects.instruction_kinds import LookupKind
from ...llvm.types import element_of, scalar_attr
from .constants import Constants
from .types import INDEX, vector_type

REASSOCIATE = arith.FastMathFlagsAttr([FastMathFlag.REASSOC])
NO_SIGNED_ZEROS = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])
"""Permits either zero as a result, for example of the maximum of two zeros."""
_COMPARISONS: dict[str, tuple[type[Operation], IntegerAttr]] = {
    **{n: (arith.CmpfOp, IntegerAttr(i, i64)) for i, n in enumerate(CMPF_COMPARISON_OPERATIONS)},
    **{n: (arith.CmpiOp, IntegerAttr(i, i64)) for i, n in enumerate(CMPI_COMPARISON_OPERATIONS)},
}
"""The operation and the number of each predicate; `ult` and the like compare integers."""

LoopBody = Callable[["SSAValue | int", Sequence[SSAValue]], Sequence[SSAValue]]


def lanes_of(value: SSAValue) -> int:
    t = value.type
    return t.shape.data[0].data if isinstance(t, VectorType) else 1


class Emitter:
    """Appends operations to a function's entry block and the loops within it."""

    def __init__(self, entry: Block):
        self._entry = entry
        self._block = entry
        self._constants = Constants()

    # basics

    def op(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] = {},
        regions: Sequence[Region] = (),
    ) -> SSAValue:
        """Appends an operation with one result."""
        new = create(kind, operands, (result,), properties, regions)
        append(self._block, new)
        (value,) = new.results
        return value

    def add(self, operation: Operation) -> None:
        append(self._block, operation)

    def finish(self) -> None:
        """Puts the constants in front of everything else."""
        Rewriter.insert_op(self._constants.operations, InsertPoint.at_start(self._entry))

    # constants

    def index(self, value: SSAValue | int) -> SSAValue:
        """Returns a number or a loop variable, which may be one, as an index."""
        return self._constants.index(value) if isinstance(value, int) else value

    def constant(self, t: Attribute, value: float | Sequence[int | float]) -> SSAValue:
        """Returns a constant scalar or vector of type `t`; one number is repeated in every lane."""
        return self._constants.of(t, value)

    # scalars and vectors alike

    def binary(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(kind, (a, b), a.type)

    # whole numbers, of which one of Python stands for an index

    def plus(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        if a == 0:
            return self.index(b)
        return self.index(a) if b == 0 else self.binary(arith.AddiOp, self.index(a), self.index(b))

    def minus(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        return self.index(a) if b == 0 else self.binary(arith.SubiOp, self.index(a), self.index(b))

    def times(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        return self.index(a) if b == 1 else self.binary(arith.MuliOp, self.index(a), self.index(b))

    def quotient(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        """Returns `a // b` of numbers that are not negative."""
        return self.index(a) if b == 1 else self.binary(arith.DivUIOp, self.index(a), self.index(b))

    def quotient_up(self, a: SSAValue | int, b: int) -> SSAValue:
        """Returns `a / b`, rounded up, of numbers that are not negative."""
        return self.quotient(self.plus(a, b - 1), b)

    def remainder(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        """Returns `a % b` of numbers that are not negative."""
        return self.binary(arith.RemUIOp, self.index(a), self.index(b))

    def smaller(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        return self.binary(arith.MinSIOp, self.index(a), self.index(b))

    def larger(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        return self.binary(arith.MaxSIOp, self.index(a), self.index(b))

    def within(self, number: SSAValue, most: SSAValue | int) -> SSAValue:
        """Returns a number, but at least 0 and at most `most`."""
        return self.smaller(self.larger(number, 0), most)

    def fraction(self, a: SSAValue | int, b: SSAValue | int, count: int) -> SSAValue:
        """
        Returns `a * b // count`: the start of part `a` of `count` parts of `b`, or the reverse.
        """
        return self.quotient(self.times(a, b), count)

    def round_down(self, number: SSAValue, step: int) -> SSAValue:
        """Returns the largest multiple of a step up to a number, which is not negative."""
        return self.times(self.quotient(number, step), step)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """
        Returns a comparison with a predicate of `arith.cmpi` or `arith.cmpf`, as i1 or a vector of
        i1.
        """
        lanes = lanes_of(a)
        if lanes > 1:
            kind = glow_vec.PredicateAttr(glow_vec.Predicate(predicate))
            mask = vector_type(i1, lanes)
            return self.op(glow_vec.CmpOp, (a, b), mask, {"predicate": kind})
        scalar, number = _COMPARISONS[predicate]
        return self.op(scalar, (a, b), i1, {"predicate": number})

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        kind = glow_vec.SelectOp if lanes_of(condition) > 1 else arith.SelectOp
        return self.op(kind, (condition, then, otherwise), then.type)

    def cast(self, kind: str, value: SSAValue, to: Attribute) -> SSAValue:
        """Returns the `arith` conversion called `kind` to the scalar type `to`, in every lane."""
        lanes = lanes_of(value)
        result = vector_type(to, lanes)
        if lanes == 1 or kind in _FLOAT_CASTS:
            return self.op(_CASTS[kind], (value,), result)
        kind_attr = glow_vec.CastKindAttr(glow_vec.CastKind(kind))
        return self.op(glow_vec.CastOp, (value,), result, {"kind": kind_attr})

    # lanes

    def broadcast(self, value: SSAValue, lanes: int) -> SSAValue:
        if lanes == 1:
            return value
        return self.op(vector.BroadcastOp, (value,), vector_type(value.type, lanes))

    def bitcast(self, value: SSAValue, element: Attribute, lanes: int) -> SSAValue:
        """Returns the same bits as a vector of another element type."""
        return self.op(vector.BitcastOp, (value,), VectorType(element, [lanes]))

    def shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
        result = vector_type(element_of(a.type), len(mask))
        return self.op(
            vector.ShuffleOp, (a, b), result, {"mask": DenseArrayBase.from_list(i64, mask)}
        )

    def extract(self, value: SSAValue, lane: int) -> SSAValue:
        position = DenseArrayBase.from_list(i64, [lane])
        return self.op(
            vector.ExtractOp, (value,), element_of(value.type), {"static_position": position}
        )

    def first_lanes(self, count: SSAValue, lanes: int) -> SSAValue:
        """Returns the mask whose first `count` lanes are true (none if negative)."""
        return self.op(vector.CreateMaskOp, (count,), vector_type(i1, lanes))

    # memory: memrefs have one dimension

    def load(self, memory: SSAValue, at: SSAValue, element: Attribute, lanes: int) -> SSAValue:
        if lanes == 1:
            return self.op(memref.LoadOp, (memory, at), element)
        return self.op(vector.LoadOp, (memory, at), vector_type(element, lanes))

    def gather(
        self, memory: SSAValue, at: SSAValue, element: Attribute, offsets: SSAValue
    ) -> SSAValue:
        """Loads lane `i` from `at + offsets[i]`; offsets are a vector of indices."""
        lanes = lanes_of(offsets)
        t = vector_type(element, lanes)
        zero = 0.0 if not isinstance(element, IntegerType) else 0
        mask = self.constant(vector_type(i1, lanes), 1)
        operands = (memory, at, offsets, mask, self.constant(t, zero))
        segments = DenseArrayBase.from_list(_I32, [1, 1, 1, 1, 1])
        return self.op(glow_vec.GatherOp, operands, t, {"operandSegmentSizes": segments})

    def lookup(
        self, kind: LookupKind, memory: SSAValue, at: SSAValue, indices: SSAValue
    ) -> SSAValue:
        """Returns the bytes of the table at a place that a vector of bytes names."""
        table = self.load(memory, at, i8, glow_vec.TABLE_BYTES)
        named = {"kind": glow_vec.LookupKindAttr(kind)}
        return self.op(glow_vec.LookupOp, (table, indices), indices.type, named)

    def store(
        self, value: SSAValue, memory: SSAValue, at: SSAValue, mask: SSAValue | None = None
    ) -> None:
        if lanes_of(value) == 1:
            new = create(memref.StoreOp, (value, memory, at), ())
        elif mask is None:
            new = create(vector.StoreOp, (value, memory, at), ())
        else:
            new = create(vector.MaskedStoreOp, (memory, at, mask, value), ())
        append(self._block, new)

    def prefetch(self, memory: SSAValue, at: SSAValue, locality: int = 3) -> None:
        """Starts to load the cache line of an element, which may lie beyond the memory's end."""
        properties = {"locality": scalar_attr(locality, _I32)}
        append(self._block, create(glow_vec.PrefetchOp, (memory, at), (), properties))

    # control flow: what the body of a Python loop over these emits is the body of the emitted loop

    def loop(self, stop: int, step: int = 1) -> Iterator[SSAValue | int]:
        """
        Yields a loop over 0, `step`, ... below `stop`, of which it gives the number.

        A loop of one iteration becomes its body, with the number 0. A loop of no iterations emits
        nothing.
        """
        if stop > step:
            yield from self.loop_between(0, stop, step)
        elif stop > 0:
            yield 0

    def loop_between(
        self, start: SSAValue | int, stop: SSAValue | int, step: int
    ) -> Iterator[SSAValue]:
        """Yields a loop over `start`, `start + step`, ... below `stop`, perhaps of no iteration."""
        block = Block(arg_types=(INDEX,))
        with self.inside(block):
            yield block.args[0]
        self._add_loop(block, (start, stop, step), (), ())

    def loop_carrying(
        self,
        start: SSAValue | int,
        stop: SSAValue | int,
        step: int,
        carried: Sequence[SSAValue],
        body: LoopBody,
    ) -> Sequence[SSAValue]:
        """
        Emits a loop over `start`, `start + step`, ... below `stop` of `body(number, carried)`,
        which returns the values that the next iteration carries. Returns the last ones. A loop that
        is known to have at most one iteration becomes its body, or nothing.
        """
        if isinstance(start, int) and isinstance(stop, int) and stop - start <= step:
            return body(start, carried) if start < stop else carried
        block = Block(arg_types=(INDEX, *(c.type for c in carried)))
        with self.inside(block):
            results = body(block.args[0], block.args[1:])
        return self._add_loop(block, (start, stop, step), carried, results)

    def loop_units(
        self, sizes: Sequence[int | SSAValue], first: SSAValue, end: SSAValue
    ) -> Iterator[Sequence[SSAValue | int]]:
        """
        Yields a loop over units `first` to `end - 1` of nested loops of these sizes, of which it
        gives the number of each loop's iteration.
        """
        for unit in self.loop_between(first, end, 1):
            numbers: list[SSAValue | int] = []
            for size in reversed(sizes):
                if isinstance(size, int) and size == 1:
                    numbers.append(0)
                elif len(numbers) == len(sizes) - 1:
                    numbers.append(unit)
                else:
                    numbers.append(self.remainder(unit, size))
                    unit = self.quotient(unit, size)
            yield numbers[::-1]

    def loop_while(
        self, first: SSAValue, end: SSAValue, most: int, following: Callable[[], SSAValue]
    ) -> Iterator[SSAValue]:
        """
        Yields a loop from the number `first` as long as the number is below `end`, at most `most`
        times; `following` emits the next number.
        """
        block, below = Block(arg_types=(INDEX, INDEX)), Block()
        number = block.args[1]
        with self.inside(block):
            with self.inside(below):
                yield number
                result = following()
            below.add_op(scf.YieldOp.create(operands=[result]))
            is_below = self.compare("ult", number, end)
            regions = (Region(below), self._giving(lambda: number))
            chosen = self.op(scf.IfOp, (is_below,), INDEX, regions=regions)
        self._add_loop(block, (0, most, 1), [first], [chosen])

    def _add_loop(
        self,
        block: Block,
        bounds: Sequence[SSAValue | int],
        carried: Sequence[SSAValue],
        results: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Returns a loop from, to and in steps of `bounds` whose body carries `results`."""
        block.add_op(scf.YieldOp.create(operands=results))
        operands = (*map(self.index, bounds), *carried)
        loop = create(scf.ForOp, operands, [c.type for c in carried], regions=[Region(block)])
        self.add(loop)
        return loop.results

    @contextmanager
    def when(self, condition: SSAValue) -> Iterator[None]:
        """Does what is emitted meanwhile if a condition holds."""
        block = Block()
        with self.inside(block):
            yield
        block.add_op(scf.YieldOp.create())
        self.add(scf.IfOp.create(operands=(condition,), regions=[Region(block), Region()]))

    def choose(
        self,
        condition: SSAValue,
        then: Callable[[], SSAValue],
        otherwise: Callable[[], SSAValue],
        result: Attribute,
    ) -> SSAValue:
        """Returns the result of one of two functions, whose code a condition selects."""
        regions = (self._giving(then), self._giving(otherwise))
        return self.op(scf.IfOp, (condition,), result, regions=regions)

    def _giving(self, body: Callable[[], SSAValue]) -> Region:
        """Returns a region of what `body` emits, which gives its result."""
        block = Block()
        with self.inside(block):
            result = body()
        block.add_op(scf.YieldOp.create(operands=[result]))
        return Region(block)

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Appends to a block meanwhile."""
        outside, self._block = self._block, block
        yield
        self._block = outside

    def call(
        self, callee: SymbolRefAttr, operands: Sequence[SSAValue], result: Attribute | None = None
    ) -> SSAValue:
        """Calls a function; its result, or else any value."""
        types = [] if result is None else [result]
        call = create(func.CallOp, operands, types, {"callee": callee})
        self.add(call)
        return call.results[0] if types else operands[0]


_I32 = IntegerType(32)
_FLOAT_CASTS = {"extf", "truncf"}
"""The conversions of `arith` that xDSL admits on vectors."""
_CASTS: dict[str, type[Operation]] = {
    kind.name.removeprefix("arith."): kind
    for kind in (
        *(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SIToFPOp, arith.UIToFPOp),
        *(arith.FPToSIOp, arith.FPToUIOp, arith.IndexCastOp, arith.BitcastOp),
        *(arith.ExtFOp, arith.TruncFOp),
    )
}
