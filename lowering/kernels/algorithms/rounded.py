"""Products of matrices whose elements are rounded to bf16 when they are packed."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16

from ....glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from ....glow_dialects.glow_vec import dot_kind
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.operator import Call
from ..registry import Kernel, kernel
from .grouped import Factors, grouped_product
from .matrix import swapped

_PAIR = 2


def _multiplies_bf16(machine: MachineDescription, call: Call) -> bool:
    return dot_kind(machine, bf16, bf16, _PAIR) is not None


@kernel(RoundedMatMulOp, on=_multiplies_bf16)
def rounded_matmul(k: Kernel) -> None:
    """Computes the products of rounded copies of matrices."""
    lhs, rhs = k.operands
    if k.call.get("transpose_lhs"):
        lhs = swapped(lhs)
    if k.call.get("transpose_rhs"):
        rhs = swapped(rhs)
    grouped_product(k, lhs, rhs, Factors(bf16, bf16, _PAIR))
