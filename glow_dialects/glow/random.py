"""Random numbers as a function of their number: no state goes from one to the next."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ..elements import WORD
from ..operator import Call
from ..scalar import Expr, arguments
from .base import DataParallel

_PARITY = 0x1BD11BDA
_ROTATIONS: Sequence[Sequence[int]] = ((13, 15, 26, 6), (17, 29, 16, 24))
_ROUNDS = 20


@irdl_op_definition
class RandomBitsOp(DataParallel):
    """
    32 random bits for each index and call, by the generator Threefry-2x32 with 20 rounds (Salmon
    et al. 2011). Different keys give independent sequences. The generator makes two words, of
    which `second` chooses.

    ```mlir
    %r = glow.random_bits %index, %call, %key, %stream second true
       : (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    ```
    """

    name = "glow.random_bits"

    index = operand_def()
    call_number = operand_def()
    key = operand_def()
    stream = operand_def()
    second = prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    result = result_def()

    @classmethod
    def result_element(cls, call: Call) -> Attribute:
        if call.element(0) != WORD:
            raise call.fail(f"expected elements ui32, found {call.operands[0]}")
        return super().result_element(call)

    @classmethod
    def scalar(cls, call: Call) -> Expr:
        a, b, *given = arguments(4)
        keys = [*given, _xor(_xor(*given), Expr.constant(_PARITY, WORD))]
        a, b = a + keys[0], b + keys[1]
        for n in range(_ROUNDS):
            a = a + b
            b = _xor(_rotated(b, _ROTATIONS[n // 4 % 2][n % 4]), a)
            if n % 4 == 3:
                step = n // 4 + 1
                a = a + keys[step % 3]
                b = b + keys[(step + 1) % 3] + Expr.constant(step, WORD)
        return b if call.get("second") else a


def _xor(a: Expr, b: Expr) -> Expr:
    return a ^ b


def _rotated(x: Expr, bits: int) -> Expr:
    left = x << Expr.constant(bits, WORD)
    right = x >> Expr.constant(32 - bits, WORD)
    return left | right
