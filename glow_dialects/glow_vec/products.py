"""Operations that add several products in each lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import VectorType, bf16, f32, i8, i16, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..elements import is_byte, storage_type
from ..instruction_kinds import DotKind
from ..integers import u8
from ..machine import MachineDescription
from .lanes import lanes


@dataclass(frozen=True)
class DotRule:
    """The element types of a kind of dot product."""

    sum: Attribute
    element: Attribute
    """The element type of both factors, in registers."""
    terms: int
    """The number of neighbours of the factors for each lane of the sum."""
    lanes: tuple[int, ...]
    """The numbers of lanes that a vector of sums may have."""


DOT_RULES = {
    DotKind.MADD: DotRule(i32, i16, 2, (2, 4, 8, 16, 32)),
    DotKind.MADDUBS: DotRule(i16, i8, 2, (4, 8, 16, 32)),
    DotKind.DPBF16PS: DotRule(f32, bf16, 2, (4, 8, 16)),
    DotKind.VPDPBUSD: DotRule(i32, i8, 4, (4, 8, 16)),
    DotKind.SDOT: DotRule(i32, i8, 4, (2, 4)),
    DotKind.USDOT: DotRule(i32, i8, 4, (2, 4)),
}


def dot_terms(machine: MachineDescription, element: Attribute) -> int:
    """
    Returns how many neighbouring products of integers a machine adds, if left factors have a type.
    """
    unsigned = storage_type(element) == u8
    kind = machine.byte_dot(unsigned=unsigned) if is_byte(element) else None
    return DOT_RULES[kind or DotKind.MADD].terms


def dot_kind(
    machine: MachineDescription, lhs: Attribute, rhs: Attribute, terms: int
) -> DotKind | None:
    """
    Returns the kind of `glow_vec.dot` for sums of `terms` neighbouring products of elements of
    these types; None if the machine has none. Pairs of bytes are multiplied as 16 bits.
    """
    a, b = storage_type(lhs), storage_type(rhs)
    if a == bf16:
        kind = DotKind.DPBF16PS if machine.has_bf16_dot else None
    elif terms == DOT_RULES[DotKind.MADD].terms:
        kind = DotKind.MADD
    else:
        kind = machine.byte_dot(unsigned=a == u8) if b == i8 else None
    return kind if kind is not None and DOT_RULES[kind].terms == terms else None


@irdl_attr_definition
class DotKindAttr(EnumAttribute[DotKind], SpacedOpaqueSyntaxAttribute):  # pyright: ignore
    name = "glow_vec.dot_kind"


@irdl_op_definition
class DotOp(IRDLOperation):
    """
    `acc` plus, in lane i, the sum of `lhs[t * i + j] * rhs[t * i + j]` for j from 0 to t - 1.

    | kind | factors | t | sums | processors |
    |---|---|---|---|---|
    | `madd` | i16, i16 | 2 | i32 | all |
    | `maddubs` | unsigned i8, signed i8 | 2 | i16 | all |
    | `dpbf16ps` | bf16, bf16 | 2 | f32 | AVX512-BF16 |
    | `vpdpbusd` | unsigned i8, signed i8 | 4 | i32 | AVX512-VNNI, AVX-VNNI |
    | `sdot` | i8, i8 | 4 | i32 | AArch64 with dotprod |
    | `usdot` | unsigned i8, signed i8 | 4 | i32 | AArch64 with i8mm |

    Integers wrap around, but the two products of `maddubs` have a sum that saturates. (Upstream has
    `x86vector.avx512.dot` and others, which xDSL lacks.)

    ```mlir
    %r = glow_vec.dot vpdpbusd %acc, %a, %b : vector<16xi32>, vector<64xi8>
    ```
    """

    name = "glow_vec.dot"

    S: ClassVar = VarConstraint("S", VectorType.constr(AnyAttr()))
    P: ClassVar = VarConstraint("P", VectorType.constr(AnyAttr()))

    kind = prop_def(DotKindAttr)
    acc = operand_def(S)
    lhs = operand_def(P)
    rhs = operand_def(P)
    result = result_def(S)

    traits = traits_def(Pure())
    assembly_format = "$kind $acc `,` $lhs `,` $rhs attr-dict `:` type($acc) `,` type($lhs)"

    def __init__(self, kind: DotKind, acc: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(
            operands=[acc, lhs, rhs],
            result_types=[acc.type],
            properties={"kind": DotKindAttr(kind)},
        )

    def verify_(self) -> None:
        rule, count = DOT_RULES[self.kind.data], lanes(self.acc.type)
        wanted = (VectorType(rule.sum, [count]), VectorType(rule.element, [rule.terms * count]))
        if count not in rule.lanes or (self.acc.type, self.lhs.type) != wanted:
            allowed = ", ".join(map(str, rule.lanes))
            raise VerifyException(
                f"expected {allowed} lanes of {rule.sum} and {rule.terms} times as many of "
                f"{rule.element}, found {self.acc.type} and {self.lhs.type}"
            )
