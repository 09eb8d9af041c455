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
    UnitAttr,
    VectorType,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....glow_dialects import glow_vec
from ....glow_dialects.creation import append, create
from ....glow_dialects.instruction_kinds import LookupKind
from ...llvm.types import WRITTEN_OUT, dense_attr, element_of, scalar_attr
from .types import INDEX, bits, lanes_of, vector_type

_COMPARISONS: dict[str, tuple[type[Operation], IntegerAttr]] = {
    **{n: (arith.CmpfOp, IntegerAttr(i, i64)) for i, n in enumerate(CMPF_COMPARISON_OPERATIONS)},
    **{n: (arith.CmpiOp, IntegerAttr(i, i64)) for i, n in enumerate(CMPI_COMPARISON_OPERATIONS)},
}
"""The operation and the number of each predicate; `ult` and the like compare integers."""

IndexLike = SSAValue | int
"""A whole number, which may be known when its code is emitted."""
Carried = Sequence[SSAValue]
"""The values that each iteration of a loop hands on to the next."""
LoopBody = Callable[[IndexLike, Carried], Carried]


class Emitter:
    """Appends operations to a function's entry block and the loops within it."""

    def __init__(self, entry: Block):
        self._entry = entry
        self._block = entry
        self._constants: dict[tuple[int, str], Operation] = {}
        self._indices: dict[int, SSAValue] = {}

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
        operations = list(self._constants.values())
        Rewriter.insert_op(operations, InsertPoint.at_start(self._entry))

    # constants

    def index(self, value: IndexLike) -> SSAValue:
        """Returns a number or a loop variable, which may be one, as an index."""
        if not isinstance(value, int):
            return value
        if value not in self._indices:
            self._indices[value] = self.constant(INDEX, value)
        return self._indices[value]

    def constant(self, t: Attribute, value: float | Sequence[int | float]) -> SSAValue:
        """Returns a constant scalar or vector of type `t`; one number is repeated in every lane."""
        # the key has text, because -0.0 equals 0.0 and 1 equals 1.0; the operation keeps `t` alive
        key = (id(t), repr(value))
        found = self._constants.get(key)
        if found is None:
            lanes = value if isinstance(value, Sequence) else (value,)
            is_vector = isinstance(t, VectorType)
            attribute = dense_attr(lanes, t) if is_vector else scalar_attr(lanes[0], t)
            found = self._constants[key] = create(arith.ConstantOp, (), (t,), {"value": attribute})
        return found.results[0]

    # scalars and vectors alike

    def binary(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(kind, (a, b), a.type)

    # whole numbers

    def plus(self, a: IndexLike, b: IndexLike) -> SSAValue:
        if a == 0:
            return self.index(b)
        return self.index(a) if b == 0 else self.binary(arith.AddiOp, self.index(a), self.index(b))

    def minus(self, a: IndexLike, b: IndexLike) -> SSAValue:
        return self.index(a) if b == 0 else self.binary(arith.SubiOp, self.index(a), self.index(b))

    def times(self, a: IndexLike, b: IndexLike) -> SSAValue:
        return self.index(a) if b == 1 else self.binary(arith.MuliOp, self.index(a), self.index(b))

    def quotient(self, a: IndexLike, b: IndexLike) -> SSAValue:
        """Returns `a // b` of numbers that are not negative."""
        return self.index(a) if b == 1 else self.binary(arith.DivUIOp, self.index(a), self.index(b))

    def quotient_up(self, a: IndexLike, b: int) -> SSAValue:
        """Returns `a / b`, rounded up, of numbers that are not negative."""
        return self.quotient(self.plus(a, b - 1), b)

    def remainder(self, a: IndexLike, b: IndexLike) -> SSAValue:
        """Returns `a % b` of numbers that are not negative."""
        return self.binary(arith.RemUIOp, self.index(a), self.index(b))

    def smaller(self, a: IndexLike, b: IndexLike) -> SSAValue:
        return self.binary(arith.MinSIOp, self.index(a), self.index(b))

    def larger(self, a: IndexLike, b: IndexLike) -> SSAValue:
        return self.binary(arith.MaxSIOp, self.index(a), self.index(b))

    def within(self, number: SSAValue, most: IndexLike) -> SSAValue:
        """Returns a number, but at least 0 and at most `most`."""
        return self.smaller(self.larger(number, 0), most)

    def fraction(self, a: IndexLike, b: IndexLike, count: int) -> SSAValue:
        """
        Returns `a * b // count`: the start of part `a` of `count` parts of `b`, or the reverse.
        """
        return self.quotient(self.times(a, b), count)

    def round_down(self, number: SSAValue, step: int) -> SSAValue:
        """Returns the largest multiple of a step up to a number, which is not negative."""
        return self.times(self.quotient(number, step), step)

    def digits(self, number: IndexLike, sizes: Sequence[IndexLike]) -> Sequence[IndexLike]:
        """
        Returns the number of the iteration of each of nested loops of these sizes, in the iteration
        `number` of all of them.
        """
        digits: list[IndexLike] = []
        for size in reversed(sizes):
            if size == 1:
                digits.append(0)
            elif len(digits) == len(sizes) - 1:
                digits.append(number)
            else:
                digits.append(self.remainder(number, size))
                number = self.quotient(number, size)
        return digits[::-1]

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
            return self.op(_ARITH[kind], (value,), result)
        kind_attr = glow_vec.CastKindAttr(glow_vec.CastKind(kind))
        return self.op(glow_vec.CastOp, (value,), result, {"kind": kind_attr})

    # lanes

    def broadcast(self, value: SSAValue, lanes: int) -> SSAValue:
        if lanes == 1:
            return value
        return self.op(vector.BroadcastOp, (value,), vector_type(value.type, lanes))

    def bitcast(self, value: SSAValue, element: Attribute, lanes: int) -> SSAValue:
        """Returns the bits of a value as a vector."""
        t = VectorType(element, [lanes])
        return value if value.type == t else self.op(vector.BitcastOp, (value,), t)

    def shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
        result = vector_type(element_of(a.type), len(mask))
        places = {"mask": DenseArrayBase.from_list(i64, mask)}
        return self.op(vector.ShuffleOp, (a, b), result, places)

    def extract(self, value: SSAValue, lane: int) -> SSAValue:
        position = {"static_position": DenseArrayBase.from_list(i64, [lane])}
        return self.op(vector.ExtractOp, (value,), element_of(value.type), position)

    def multiples(self, step: int, lanes: int) -> SSAValue:
        """Returns 0, `step`, 2 `step` and so on as lanes of an index."""
        return self.constant(vector_type(INDEX, lanes), [i * step for i in range(lanes)])

    def as_integer(self, value: SSAValue) -> SSAValue:
        """Returns the bits of all lanes of a vector as one integer."""
        width = bits(element_of(value.type)) * lanes_of(value)
        return self.extract(self.bitcast(value, IntegerType(width), 1), 0)

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
        segments = DenseArrayBase.from_list(i32, [1, 1, 1, 1, 1])
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
        properties = {"locality": scalar_attr(locality, i32)}
        self.add(create(glow_vec.PrefetchOp, (memory, at), (), properties))

    # control flow: what the body of a Python loop over these emits is the body of the emitted loop

    def loop(self, stop: int, step: int = 1, written_out: bool = False) -> Iterator[IndexLike]:
        """
        Yields a loop over 0, `step`, ... below `stop`, of which it gives the number. A loop of one
        iteration becomes its body, with the number 0. A loop of no iterations emits nothing.
        """
        if stop > step:
            yield from self.loop_between(0, stop, step, written_out)
        elif stop > 0:
            yield 0

    def loop_between(
        self, start: IndexLike, stop: IndexLike, step: int, written_out: bool = False
    ) -> Iterator[SSAValue]:
        """Yields a loop over `start`, `start + step`, ... below `stop`, perhaps of no iteration."""
        block = Block(arg_types=(INDEX,))
        with self.inside(block):
            yield block.args[0]
        self._add_loop(block, (start, stop, step), (), (), written_out)

    def loop_carrying(
        self,
        start: IndexLike,
        stop: IndexLike,
        step: int,
        carried: Carried,
        body: LoopBody,
        written_out: bool = False,
    ) -> Carried:
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
        return self._add_loop(block, (start, stop, step), carried, results, written_out)

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
        bounds: Sequence[IndexLike],
        carried: Carried,
        results: Carried,
        written_out: bool = False,
    ) -> Carried:
        """Returns a loop from, to and in steps of `bounds` whose body carries `results`."""
        block.add_op(scf.YieldOp.create(operands=results))
        operands = (*map(self.index, bounds), *carried)
        loop = create(scf.ForOp, operands, [c.type for c in carried], regions=[Region(block)])
        if written_out:
            loop.attributes[WRITTEN_OUT] = UnitAttr()
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


_FLOAT_CASTS = {"extf", "truncf"}
"""The conversions of `arith` that xDSL admits on vectors."""
_ARITH = {kind.name.removeprefix("arith."): kind for kind in arith.Arith.operations}
"""The operations of `arith` by their names."""
