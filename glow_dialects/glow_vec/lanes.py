"""Operations on the lanes of vectors: selection, comparison, conversion, lane numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    Float32Type,
    IndexType,
    IntegerType,
    VectorType,
    i1,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ...wording import counted
from ..elements import FLOAT_TYPES

INDEX_VECTOR = VectorType.constr(base(IndexType) | base(IntegerType))
MASK = VectorType.constr(i1)


def lanes(vector: Attribute) -> int:
    """Returns the length of a one-dimensional vector. Raises VerifyException for any other type."""
    if not isinstance(vector, VectorType) or len(vector.shape.data) != 1:
        raise VerifyException(f"expected a vector of one dimension, found {vector}")
    return vector.shape.data[0].data


def expect_lanes(number: int, *vectors: SSAValue) -> None:
    for vector in vectors:
        if lanes(vector.type) != number:
            raise VerifyException(f"expected {counted(number, 'lane')}, found {vector.type}")


class CastKind(StrEnum):
    """
    The conversions of `glow_vec.cast`, named as the scalar operations of `arith`; and `lrint`, the
    nearest integer, ties to even, as C's function.
    """

    EXTSI = "extsi"
    EXTUI = "extui"
    TRUNCI = "trunci"
    SITOFP = "sitofp"
    UITOFP = "uitofp"
    FPTOSI = "fptosi"
    FPTOUI = "fptoui"
    INDEX_CAST = "index_cast"
    LRINT = "lrint"


@irdl_attr_definition
class CastKindAttr(EnumAttribute[CastKind], SpacedOpaqueSyntaxAttribute):
    name = "glow_vec.cast_kind"


def _bits(element: Attribute) -> int:
    return element.width.data if isinstance(element, IntegerType) else 64


@dataclass(frozen=True)
class _CastRule:
    """The element types that a conversion takes and gives."""

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
    CastKind.LRINT: _CastRule((Float32Type,), _INT),
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

    mask = operand_def(MASK)
    then = operand_def(T)
    otherwise = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$mask `,` $then `,` $otherwise attr-dict `:` type($mask) `,` type($result)"

    def __init__(self, mask: SSAValue, then: SSAValue, otherwise: SSAValue):
        super().__init__(operands=[mask, then, otherwise], result_types=[then.type])

    def verify_(self) -> None:
        expect_lanes(lanes(self.result.type), self.mask)


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
        expect_lanes(lanes(self.result.type), self.input)
        source = cast(VectorType, self.input.type)
        if not _CAST_RULES[self.kind.data].allows(
            source.element_type, self.result.type.element_type
        ):
            raise VerifyException(
                f"{self.kind.data} does not convert {source} to {self.result.type}"
            )


class Predicate(StrEnum):
    """
    The comparisons of `glow_vec.cmp`: integers as signed or unsigned, floats ordered (false if
    either operand is NaN), or `une` (true if either is). Names are those of `arith.cmpi` and
    `arith.cmpf`.
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
    result = result_def(MASK)

    traits = traits_def(Pure())
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($result)"

    def __init__(self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[VectorType(i1, [lanes(lhs.type)])],
            properties={"predicate": PredicateAttr(predicate)},
        )

    def verify_(self) -> None:
        expect_lanes(lanes(self.lhs.type), self.result)
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
