"""
Chains of steps in a form that the ALU of a design executes.

- A product by a constant becomes a sum of shifted numbers if the ALU does not multiply. The
  negative of a number is its product by 2**32 - 1, in five such sums, because sums wrap around.
- A shift by more places than the design takes becomes several shifts.
- If amounts in accumulators are only shifts to the right, numbers are doubled instead, as often
  as the channel needs.
- A tensor that is loaded and stored without a step gets one, if STORE reads only computed results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...errors import CompileError
from ...glow_dialects.vta import AluOpcode, Design
from .epilogue import INT32, Chain, Constant, Leaf, Pair, Shared, Step, shared

_ELSEWHERE = "leave that to another device"


def legalized(chain: Chain, design: Design) -> Chain:
    """
    Returns the same numbers in steps that a design can execute, as they are stored.

    Raises CompileError for products that it cannot compute.
    """
    found = _Legalizer(design).chain(chain)
    if not design.stores_accumulators and _is_loaded(found):
        return found.appended(AluOpcode.ADD, 0)
    return found


def _is_loaded(chain: Chain) -> bool:
    """Returns whether no step computes the numbers of a chain, nor a product."""
    if chain.steps:
        return False
    if isinstance(chain.base, Shared):
        return _is_loaded(chain.base.chain)
    return isinstance(chain.base, Leaf) and not chain.base.is_product


class _Legalizer:
    def __init__(self, design: Design):
        self._design = design
        self._shared: dict[Shared, Shared] = {}

    def chain(self, chain: Chain) -> Chain:
        found = Chain(self._base(chain), chain.steps[0][1] if chain.steps else chain.bounds)
        for step, _ in chain.steps:
            found = self._step(found, step)
        return replace(found, bounds=chain.bounds)

    def _base(self, chain: Chain) -> Leaf | Pair | Shared:
        base = chain.base
        if isinstance(base, Leaf):
            return base
        if isinstance(base, Shared):
            known = self._shared.get(base)
            if known is None:
                known = self._shared[base] = Shared(self.chain(base.chain))
            return known
        if base.opcode is AluOpcode.MUL and not self._design.multiplies:
            raise CompileError(self._lacks_products("two tensors"))
        return Pair(base.opcode, self.chain(base.left), self.chain(base.right))

    def _lacks_products(self, what: str) -> str:
        return self._design.lacks(f"cannot multiply {what}", _ELSEWHERE)

    def _step(self, chain: Chain, step: Step) -> Chain:
        if step.opcode is AluOpcode.MUL and not self._design.multiplies:
            if not isinstance(step.value, int):
                raise CompileError(self._lacks_products("each channel by another number"))
            return self._multiplied(chain, step.value)
        if step.opcode is AluOpcode.SHR:
            return self._shifted(chain, step.value)
        return chain.appended(step.opcode, step.value)

    def _multiplied(self, chain: Chain, factor: int) -> Chain:
        """Multiplies by Horner's rule on the bits of the factor, from the highest to the lowest."""
        if not factor:
            return chain.appended(AluOpcode.MIN, 0).appended(AluOpcode.MAX, 0)
        once = shared(chain)
        found, gap = once, 0
        for bit in bin(abs(factor))[3:]:
            gap += 1
            if bit == "1":
                found = _sum(self._shifted(found, -gap), once)
                gap = 0
        found = self._shifted(found, -gap) if gap else found
        return self._negative(found) if factor < 0 else found

    def _negative(self, chain: Chain) -> Chain:
        """Returns the chain times 2**32 - 1, the product of 1 + 2**k for k of 1, 2, 4, 8 and 16."""
        for k in (1, 2, 4, 8, 16):
            once = shared(chain)
            chain = _sum(self._shifted(once, -k), once)
        return chain

    def _shifted(self, chain: Chain, value: Constant) -> Chain:
        if isinstance(value, int):
            for amount in _parts(value, self._design.shifts):
                chain = chain.appended(AluOpcode.SHR, amount)
            return chain
        low, high = self._design.register_shifts
        left, right = np.minimum(value, 0), np.maximum(value, 0)
        if low == 0 and left.any():
            for n in range(1, int(-left.min()) + 1):
                chain = _doubled(chain, -left >= n)
            return self._shifted(chain, right) if right.any() else chain
        while value.any():
            amounts = np.clip(value, low, high)
            chain = chain.appended(AluOpcode.SHR, amounts)
            value = value - amounts
        return chain


def _parts(amount: int, limits: tuple[int, int]) -> Iterator[int]:
    """Amounts within limits that together shift as far."""
    while amount:
        part = min(max(amount, limits[0]), limits[1])
        yield part
        amount -= part


def _sum(left: Chain, right: Chain) -> Chain:
    return Chain(Pair(AluOpcode.ADD, left, right), INT32)


def _doubled(chain: Chain, where: np.ndarray) -> Chain:
    """Computes x + x for the channels in bool[C], and x + 0 for the others."""
    once = shared(chain)
    least, greatest = (np.where(where, limit, 0).astype(np.int64) for limit in INT32)
    more = once.appended(AluOpcode.MIN, greatest).appended(AluOpcode.MAX, least)
    return _sum(more, once)
