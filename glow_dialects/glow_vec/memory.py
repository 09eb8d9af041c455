"""Access to memory by lanes: gather and prefetch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    IndexTypeConstr,
    IntegerAttr,
    MemRefType,
    VectorType,
    i32,
)
from xdsl.ir import (
    Operation,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ...wording import counted
from .lanes import INDEX_VECTOR, MASK, expect_lanes, lanes


def _expect_indices(memory: MemRefType, indices: Sequence[SSAValue]) -> None:
    rank = len(memory.get_shape())
    if len(indices) != rank:
        raise VerifyException(
            f"expected {counted(rank, 'index', 'indices')} for {memory}, found {len(indices)}"
        )


@irdl_op_definition
class GatherOp(IRDLOperation):
    """
    Loads lane `i` from `base[..., last + offsets[i]]` where the mask is true; other lanes are those
    of `pass_thru` and are not accessed. Offsets count elements of the last dimension and may be
    negative.

    ```mlir
    %r = glow_vec.gather %base[%i, %j] [%offsets], %mask, %pass
        : memref<4x9xf32>, vector<8xindex>, vector<8xi1>, vector<8xf32>
    ```
    """

    name = "glow_vec.gather"

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexTypeConstr)
    offsets = operand_def(INDEX_VECTOR)
    mask = operand_def(MASK)
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
        expect_lanes(lanes(self.result.type), self.offsets, self.mask)
        memory = cast(MemRefType, self.base.type)
        _expect_indices(memory, self.indices)
        if not memory.get_shape():
            raise VerifyException(f"expected a base of at least one dimension, found {memory}")
        element = cast(VectorType, self.result.type).element_type
        if memory.element_type != element:
            raise VerifyException(f"expected lanes of {memory.element_type}, found {element}")


_LOCALITIES = range(4)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    A hint that the cache line of `base[indices]` will soon be read. `locality` runs from 0, used
    once, to 3, keep in every cache. The address may be out of bounds.

    ```mlir
    glow_vec.prefetch %base[%i, %j] {locality = 3 : i32} : memref<64x64xf32>
    ```
    """

    name = "glow_vec.prefetch"

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexTypeConstr)
    locality = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(3, i32))

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
    ):
        super().__init__(
            operands=[base, indices], properties={"locality": IntegerAttr(locality, i32)}
        )

    def verify_(self) -> None:
        _expect_indices(cast(MemRefType, self.base.type), self.indices)
        if self.locality.value.data not in _LOCALITIES:
            raise VerifyException(f"expected a locality of 0 to 3, found {self.locality}")
