"""
The `glow_vec` dialect: what kernels need of vectors that xDSL's upstream dialects lack.

Each operation corresponds to one LLVM instruction or intrinsic: lane selection, comparison and
conversion, lane numbers, gather, scatter and prefetch. Vectors have one dimension and fixed length.
Everything else that kernels do with vectors is in `arith`, `math` and `vector`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    IndexType,
    IndexTypeConstr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnitAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .elements import FLOAT_TYPES

_INDEX_VECTOR = VectorType.constr(base(IndexType) | base(IntegerType))
_MASK = VectorType.constr(i1)


def lanes(vector: Attribute) -> int:
    """The length of a one-dimensional vector. Raises VerifyException for any other type."""
    if not isinstance(vector, VectorType) or len(vector.shape.data) != 1:
        raise VerifyException(f"expected a vector of one dimension, found {vector}")
    return vector.shape.data[0].data


def _expect_lanes(number: int, *vectors: SSAValue) -> None:
    for vector in vectors:
        if lanes(vector.type) != number:
            raise VerifyException(f"expected {number} lanes, found {vector.type}")


class CastKind(StrEnum):
    """The conversions of `glow_vec.cast`, named as the scalar operations of `arith`."""

    EXTSI = "extsi"
    EXTUI = "extui"
    TRUNCI = "trunci"
    SITOFP = "sitofp"
    UITOFP = "uitofp"
    FPTOSI = "fptosi"
    FPTOUI = "fptoui"
    INDEX_CAST = "index_cast"


@irdl_attr_definition
class CastKindAttr(EnumAttribute[CastKind], SpacedOpaqueSyntaxAttribute):
    name = "glow_vec.cast_kind"


def _bits(element: Attribute) -> int:
    return element.width.data if isinstance(element, IntegerType) else 64


@dataclass(frozen=True)
class _CastRule:
    """Which element types a conversion takes and gives."""

    source: tuple[type[Attribute], ...]
    result: tuple[type[Attribute], ...]
    widens: bool | None = None
    """Whether the result must be wider (True), narrower (False), or of any width (None)."""

    def allows(self, source: Attribute, result: Attribute) -> bool:
        if not (isinstance(source, self.source) and isinstance(result, self.result)):
            return False
        if self.widens is None:
            return True
        return _bits(source) != _bits(result) and (_bits(source) < _bits(result)) == self.widens


_INT, _INDEX = (IntegerType,), (IntegerType, IndexType)
_CAST_RULES = {
    CastKind.EXTSI: _CastRule(_INT, _INT, True),
    CastKind.EXTUI: _CastRule(_INT, _INT, True),
    CastKind.TRUNCI: _CastRule(_INT, _INT, False),
    CastKind.SITOFP: _CastRule(_INT, FLOAT_TYPES),
    CastKind.UITOFP: _CastRule(_INT, FLOAT_TYPES),
    CastKind.FPTOSI: _CastRule(FLOAT_TYPES, _INT),
    CastKind.FPTOUI: _CastRule(FLOAT_TYPES, _INT),
    CastKind.INDEX_CAST: _CastRule(_INDEX, _INDEX),
}


@irdl_op_definition
class SelectOp(IRDLOperation):
    """
    Lane by lane, the second operand where the mask is true, the third elsewhere.

    ```mlir
    %r = glow_vec.select %mask, %a, %b : vector<8xi1>, vector<8xf32>
    ```
    """

    name = "glow_vec.select"

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))

    mask = operand_def(_MASK)
    then = operand_def(T)
    otherwise = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$mask `,` $then `,` $otherwise attr-dict `:` type($mask) `,` type($result)"

    def __init__(self, mask: SSAValue, then: SSAValue, otherwise: SSAValue):
        super().__init__(operands=[mask, then, otherwise], result_types=[then.type])

    def verify_(self) -> None:
        _expect_lanes(lanes(self.result.type), self.mask)


@irdl_op_definition
class CastOp(IRDLOperation):
    """
    Conversion of every lane, with the meaning of the scalar `arith` operation of the same name.
    Integers are signless: the kind says how the bits are read.

    ```mlir
    %r = glow_vec.cast extsi %x : vector<8xi8> to vector<8xi32>
    %s = glow_vec.cast sitofp %r : vector<8xi32> to vector<8xf32>
    ```
    """

    name = "glow_vec.cast"

    kind = prop_def(CastKindAttr)
    input = operand_def(VectorType)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$kind $input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, kind: CastKind, value: SSAValue, result_type: VectorType):
        super().__init__(
            operands=[value], result_types=[result_type], properties={"kind": CastKindAttr(kind)}
        )

    def verify_(self) -> None:
        _expect_lanes(lanes(self.result.type), self.input)
        source = cast(VectorType, self.input.type)
        if not _CAST_RULES[self.kind.data].allows(
            source.element_type, self.result.type.element_type
        ):
            raise VerifyException(
                f"{self.kind.data} does not convert {source} to {self.result.type}"
            )


class Predicate(StrEnum):
    """
    How `glow_vec.cmp` compares: integers as signed or unsigned, floats ordered (false if either
    operand is NaN), or `une` (true if either is). Named as in `arith.cmpi` and `arith.cmpf`.
    """

    EQ = "eq"
    NE = "ne"
    SLT = "slt"
    SLE = "sle"
    ULT = "ult"
    ULE = "ule"
    OEQ = "oeq"
    OLT = "olt"
    OLE = "ole"
    UNE = "une"

    @property
    def compares_floats(self) -> bool:
        return self in (Predicate.OEQ, Predicate.OLT, Predicate.OLE, Predicate.UNE)


@irdl_attr_definition
class PredicateAttr(EnumAttribute[Predicate], SpacedOpaqueSyntaxAttribute):
    name = "glow_vec.predicate"


@irdl_op_definition
class CmpOp(IRDLOperation):
    """
    Comparison of every lane (xDSL's `arith.cmpi` and `arith.cmpf` give a single i1).

    ```mlir
    %m = glow_vec.cmp olt %a, %b : vector<8xf32>, vector<8xi1>
    ```
    """

    name = "glow_vec.cmp"

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))

    predicate = prop_def(PredicateAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(_MASK)

    traits = traits_def(Pure())
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($result)"

    def __init__(self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[VectorType(i1, [lanes(lhs.type)])],
            properties={"predicate": PredicateAttr(predicate)},
        )

    def verify_(self) -> None:
        _expect_lanes(lanes(self.lhs.type), self.result)
        element = cast(VectorType, self.lhs.type).element_type
        if isinstance(element, FLOAT_TYPES) != self.predicate.data.compares_floats:
            raise VerifyException(f"{self.predicate.data} does not compare {self.lhs.type}")


@irdl_op_definition
class RemOp(IRDLOperation):
    """
    Remainder with the sign of the dividend, as C's `fmod`, of floats or of every lane (upstream's
    `arith.remf`, which xDSL lacks).

    ```mlir
    %r = glow_vec.remf %a, %b : vector<8xf32>
    ```
    """

    name = "glow_vec.remf"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        t = self.result.type
        element = t.element_type if isinstance(t, VectorType) else t
        if not isinstance(element, FLOAT_TYPES):
            raise VerifyException(f"expected floats, found {t}")


@irdl_op_definition
class StepOp(IRDLOperation):
    """
    The number of each lane: 0, 1, 2, and so on.

    ```mlir
    %lanes = glow_vec.step : vector<8xindex>
    ```
    """

    name = "glow_vec.step"

    result = result_def(_INDEX_VECTOR)

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, result_type: VectorType):
        super().__init__(result_types=[result_type])

    def verify_(self) -> None:
        lanes(self.result.type)


def _verify_access(op: GatherOp | ScatterOp, vector: SSAValue) -> None:
    number = lanes(vector.type)
    _expect_lanes(number, op.offsets, op.mask)
    memory = cast(MemRefType, op.base.type)
    _expect_indices(memory, op.indices)
    if not memory.get_shape():
        raise VerifyException(f"expected a base of at least one dimension, found {memory}")
    element = cast(VectorType, vector.type).element_type
    if memory.element_type != element:
        raise VerifyException(f"expected lanes of {memory.element_type}, found {element}")


def _expect_indices(memory: MemRefType, indices: Sequence[SSAValue]) -> None:
    rank = len(memory.get_shape())
    if len(indices) != rank:
        raise VerifyException(f"expected {rank} indices for {memory}, found {len(indices)}")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """
    Loads lane `i` from `base[..., last + offsets[i]]` where the mask is true; other lanes are those
    of `pass_thru` and are not accessed. Offsets count elements of the last dimension, whatever its
    stride, and may be negative.

    ```mlir
    %r = glow_vec.gather %base[%i, %j] [%offsets], %mask, %pass
        : memref<4x9xf32>, vector<8xindex>, vector<8xi1>, vector<8xf32>
    ```
    """

    name = "glow_vec.gather"

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexTypeConstr)
    offsets = operand_def(_INDEX_VECTOR)
    mask = operand_def(_MASK)
    pass_thru = operand_def(T)
    result = result_def(T)

    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$base `[` $indices `]` ` ` `[` $offsets `]` `,` $mask `,` $pass_thru attr-dict `:` "
        "type($base) `,` type($offsets) `,` type($mask) `,` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue | Operation],
        offsets: SSAValue,
        mask: SSAValue,
        pass_thru: SSAValue,
    ):
        super().__init__(
            operands=[base, indices, offsets, mask, pass_thru], result_types=[pass_thru.type]
        )

    def verify_(self) -> None:
        _verify_access(self, self.result)


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """
    Stores lane `i` to `base[..., last + offsets[i]]` where the mask is true. Offsets as in
    `glow_vec.gather`; if two are equal, the higher lane is what remains.

    ```mlir
    glow_vec.scatter %value, %base[%i, %j] [%offsets], %mask
        : vector<8xf32>, memref<4x9xf32>, vector<8xindex>, vector<8xi1>
    ```
    """

    name = "glow_vec.scatter"

    value = operand_def(VectorType)
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexTypeConstr)
    offsets = operand_def(_INDEX_VECTOR)
    mask = operand_def(_MASK)

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$value `,` $base `[` $indices `]` ` ` `[` $offsets `]` `,` $mask attr-dict `:` "
        "type($value) `,` type($base) `,` type($offsets) `,` type($mask)"
    )

    def __init__(
        self,
        value: SSAValue,
        base: SSAValue,
        indices: Sequence[SSAValue | Operation],
        offsets: SSAValue,
        mask: SSAValue,
    ):
        super().__init__(operands=[value, base, indices, offsets, mask])

    def verify_(self) -> None:
        _verify_access(self, self.value)


_LOCALITIES = range(4)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    A hint that the cache line of `base[indices]` will soon be read (or written, with `write`).
    `locality` runs from 0, used once, to 3, keep in every cache. The address may be out of bounds.

    ```mlir
    glow_vec.prefetch %base[%i, %j] {locality = 3 : i32} : memref<64x64xf32>
    ```
    """

    name = "glow_vec.prefetch"

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexTypeConstr)
    locality = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(3, i32))
    write = opt_prop_def(UnitAttr)

    # reads nothing that matters, yet must not be removed as dead
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$base `[` $indices `]` attr-dict `:` type($base)"

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue | Operation],
        *,
        locality: int = 3,
        write: bool = False,
    ):
        super().__init__(
            operands=[base, indices],
            properties={
                "locality": IntegerAttr(locality, i32),
                "write": UnitAttr() if write else None,
            },
        )

    def verify_(self) -> None:
        _expect_indices(cast(MemRefType, self.base.type), self.indices)
        if self.locality.value.data not in _LOCALITIES:
            raise VerifyException(f"expected a locality of 0 to 3, found {self.locality}")


GLOW_VEC = Dialect(
    "glow_vec",
    [CastOp, CmpOp, GatherOp, PrefetchOp, RemOp, ScatterOp, SelectOp, StepOp],
    [CastKindAttr, PredicateAttr],
)
