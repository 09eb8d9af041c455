"""Lookups of bytes in a table that registers hold."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, i8
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
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

from ..instruction_kinds import LOOKUP_RULES, LookupKind
from .lanes import lanes

TABLE_BYTES = 256
"""The bytes of a table: one for each number that a byte may be."""


@irdl_attr_definition
class LookupKindAttr(EnumAttribute[LookupKind], SpacedOpaqueSyntaxAttribute):  # pyright: ignore
    name = "glow_vec.lookup_kind"


@irdl_op_definition
class LookupOp(IRDLOperation):
    """
    In lane i, byte `indices[i]`, taken as unsigned, of a table of 256 bytes.

    | kind | lanes | an instruction looks up | processors |
    |---|---|---|---|
    | `vpermi2b` | 16, 32, 64 | 128 bytes | AVX512-VBMI |
    | `pshufb` | 16, 32, 64 | 16 bytes | SSSE3, AVX2, AVX512-BW |
    | `tbl` | 16 | 64 bytes | AArch64 with NEON |

    ```mlir
    %r = glow_vec.lookup vpermi2b %table, %indices : vector<256xi8>, vector<64xi8>
    ```
    """

    name = "glow_vec.lookup"

    V: ClassVar = VarConstraint("V", VectorType.constr(i8))

    kind = prop_def(LookupKindAttr)
    table = operand_def(VectorType.constr(i8))
    indices = operand_def(V)
    result = result_def(V)

    traits = traits_def(Pure())
    assembly_format = "$kind $table `,` $indices attr-dict `:` type($table) `,` type($indices)"

    def __init__(self, kind: LookupKind, table: SSAValue, indices: SSAValue):
        super().__init__(
            operands=[table, indices],
            result_types=[indices.type],
            properties={"kind": LookupKindAttr(kind)},
        )

    def verify_(self) -> None:
        allowed = LOOKUP_RULES[self.kind.data].lanes
        found = (lanes(self.table.type), lanes(self.indices.type))
        if found[0] != TABLE_BYTES or found[1] not in allowed:
            raise VerifyException(
                f"expected a table of {TABLE_BYTES} bytes and {', '.join(map(str, allowed))} "
                f"indices, found {self.table.type} and {self.indices.type}"
            )
