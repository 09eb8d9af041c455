"""
The program of the ALU for each number of a result.

The chain of operators after a product, the last of which gives 8 bits, is a tree. Its leaves are
accumulated products and tensors in DRAM, and each of its edges has steps with constants. The steps
know the bounds of their results. The bounds show which limits have no effect, and when a number can
be added before a shift instead of after it. There it vanishes in the bias:
`clamp((acc + bias) >> k) + half` is `clamp'((acc + bias + (half << k)) >> k)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ...errors import CompileError
from ...glow_dialects.vta import AluOpcode

INT32 = (-(1 << 31), (1 << 31) - 1)
MAX_SHIFT = 31
_HALF = 15
"""Bits of the lower part of a multiplier that is too long for one product."""

Constant: TypeAlias = "int | np.ndarray"
"""The same number everywhere, or int64[C], one for each channel."""
Bounds: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Leaf:
    """The source of numbers: the product, or tensor number `index` in DRAM that a layer reads."""

    is_product: bool
    index: int


@dataclass(frozen=True, eq=False)
class Shared:
    """A common beginning of several chains, which is computed once."""

    chain: Chain


@dataclass(frozen=True)
class Pair:
    """`opcode(left, right)`, element by element."""

    opcode: AluOpcode
    left: Chain
    right: Chain


@dataclass(frozen=True)
class Step:
    """`opcode(x, value)`."""

    opcode: AluOpcode
    value: Constant


@dataclass(frozen=True)
class Chain:
    """Numbers of 32 bits: those of a base, after some steps."""

    base: Leaf | Pair | Shared
    bounds: Bounds
    """The bounds after the steps."""
    steps: tuple[tuple[Step, Bounds], ...] = ()
    """The steps, with the bounds before each."""

    def then(self, opcode: AluOpcode, value: Constant) -> Chain:
        """Returns the chain with one more step, if that has an effect."""
        if isinstance(value, np.ndarray) and (value == value[:1]).all():
            value = int(value[0])
        return _THEN[opcode](self, value)

    def appended(self, opcode: AluOpcode, value: Constant) -> Chain:
        """Returns the chain with one more step, as it is."""
        bounds = _BOUNDS[opcode](self.bounds, _range(value))
        return replace(
            self, steps=(*self.steps, (Step(opcode, value), self.bounds)), bounds=wrapped(bounds)
        )

    def before(self, count: int) -> Chain:
        """Returns the chain without its last `count` steps."""
        if not count:
            return self
        return replace(self, steps=self.steps[:-count], bounds=self.steps[-count][1])

    def last(self, count: int) -> list[Step]:
        """Returns the last `count` steps, or all if there are fewer."""
        return [step for step, _ in self.steps[-count:]]


def shared(chain: Chain) -> Chain:
    """Returns a chain that is used several times."""
    if isinstance(chain.base, Shared) and not chain.steps:
        return chain
    return Chain(Shared(chain), chain.bounds)


def wrapped(bounds: Bounds) -> Bounds:
    """Returns the bounds of a 32-bit result: all numbers if it may wrap around."""
    return bounds if INT32[0] <= bounds[0] and bounds[1] <= INT32[1] else INT32


def paired(opcode: AluOpcode, left: Chain, right: Chain) -> Chain:
    """
    Returns two chains combined element by element. A shift to the left of both becomes one of the
    result.
    """
    common = min(_doublings(opcode, left), _doublings(opcode, right))
    if common:
        sides = (
            chain.before(1).then(AluOpcode.SHR, common - _doublings(opcode, chain))
            for chain in (left, right)
        )
        return paired(opcode, *sides).then(AluOpcode.SHR, -common)
    return Chain(Pair(opcode, left, right), wrapped(_BOUNDS[opcode](left.bounds, right.bounds)))


def _doublings(opcode: AluOpcode, chain: Chain) -> int:
    """
    Returns how far a chain is shifted to the left at its end, if that can as well be done later.
    """
    if opcode is AluOpcode.MUL or not chain.steps:
        return 0
    step = chain.last(1)[0]
    if step.opcode is not AluOpcode.SHR or not isinstance(step.value, int):
        return 0
    return 0 if chain.bounds == INT32 else max(-step.value, 0)


def _range(value: Constant) -> Bounds:
    if isinstance(value, int):
        return value, value
    return int(value.min()), int(value.max())


def _corners(function: Callable[[int, int], int], a: Bounds, b: Bounds) -> Bounds:
    found = [function(x, y) for x in a for y in b]
    return min(found), max(found)


def _shifted(x: int, places: int) -> int:
    return x >> places if places >= 0 else x << -places


_BOUNDS: dict[AluOpcode, Callable[[Bounds, Bounds], Bounds]] = {
    AluOpcode.ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    AluOpcode.MUL: lambda a, b: _corners(lambda x, y: x * y, a, b),
    AluOpcode.SHR: lambda a, b: _corners(_shifted, a, b),
    AluOpcode.MIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    AluOpcode.MAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


def _add(chain: Chain, value: Constant) -> Chain:
    if _range(value) == (0, 0):
        return chain
    if chain.steps and chain.last(1)[0].opcode is AluOpcode.ADD:
        total = chain.last(1)[0].value + value
        return chain.before(1).then(AluOpcode.ADD, _in_32_bits(total))
    moved = _added_before_shift(chain, value) or _added_to_side(chain, value)
    return moved or chain.appended(AluOpcode.ADD, value)


def _added_to_side(chain: Chain, value: Constant) -> Chain | None:
    """Adds to one operand of a sum, if it takes the addend in without another step."""
    base = chain.base
    if chain.steps or not isinstance(base, Pair) or base.opcode is not AluOpcode.ADD:
        return None
    left = base.left.then(AluOpcode.ADD, value)
    if len(left.steps) <= len(base.left.steps) and left.bounds != INT32:
        return paired(AluOpcode.ADD, left, base.right)
    right = base.right.then(AluOpcode.ADD, value)
    if len(right.steps) <= len(base.right.steps) and right.bounds != INT32:
        return paired(AluOpcode.ADD, base.left, right)
    return None


def _in_32_bits(value: Constant) -> Constant:
    """Returns a value in 32 bits. Sums wrap around, so only the low bits matter."""
    if isinstance(value, int):
        return int(np.int64(value).astype(np.int32))
    return value.astype(np.int32).astype(np.int64)


def _added_before_shift(chain: Chain, value: Constant) -> Chain | None:
    """Returns `clamp((x + b) >> k) + value`, if x + b is a sum already and stays within 32 bits."""
    limits: list[Step] = []
    while chain.steps and chain.last(1)[0].opcode in (AluOpcode.MIN, AluOpcode.MAX):
        limits.insert(0, chain.last(1)[0])
        chain = chain.before(1)
    if limits and chain.steps and chain.last(1)[0].opcode is AluOpcode.ADD:
        return _added_before_limits(chain, limits, value)
    found = chain.last(2)
    if [step.opcode for step in found] != [AluOpcode.ADD, AluOpcode.SHR]:
        return None
    (addend, places), inner = (step.value for step in found), chain.before(2)
    if _range(places)[0] < 0 or (limits and not isinstance(value, int)):
        return None
    more = np.left_shift(np.asarray(value, np.int64), np.asarray(places, np.int64))
    total = np.asarray(addend, np.int64) + more
    low, high = inner.bounds[0] + int(total.min()), inner.bounds[1] + int(total.max())
    if wrapped((low, high)) == INT32 or chain.before(1).bounds == INT32:
        return None
    moved = inner.then(AluOpcode.ADD, total if total.ndim else int(total))
    moved = moved.appended(AluOpcode.SHR, places)
    for step in limits:
        moved = moved.appended(step.opcode, step.value + value)
    return moved


def _added_before_limits(chain: Chain, limits: list[Step], value: Constant) -> Chain | None:
    """Returns `clamp(x + b) + value`, if that stays within 32 bits."""
    low, high = chain.bounds
    if not isinstance(value, int) or not all(isinstance(step.value, int) for step in limits):
        return None
    if INT32 in (chain.bounds, wrapped((low + value, high + value))):
        return None
    moved = chain.then(AluOpcode.ADD, value)
    for step in limits:
        moved = moved.appended(step.opcode, step.value + value)
    return moved


def _multiply(chain: Chain, value: Constant) -> Chain:
    if isinstance(value, int) and value > 0 and not value & (value - 1):
        return chain.then(AluOpcode.SHR, 1 - value.bit_length())
    return chain.appended(AluOpcode.MUL, value)


def _shift(chain: Chain, value: Constant) -> Chain:
    if _range(value) == (0, 0):
        return chain
    return _shifted_back(chain, value) or chain.appended(AluOpcode.SHR, value)


def _shifted_back(chain: Chain, right: Constant) -> Chain | None:
    """
    Rewrites `((x << m) + c) >> k` to `(x + (c >> m)) >> (k - m)`, or to a shift to the left and a
    sum.
    """
    added = 0
    inner = chain
    if not isinstance(right, int) or right < 0:
        return None
    if chain.steps and chain.last(1)[0].opcode is AluOpcode.ADD:
        added, inner = chain.last(1)[0].value, chain.before(1)
    if not inner.steps or not isinstance(added, int) or INT32 in (chain.bounds, inner.bounds):
        return None
    step = inner.last(1)[0]
    if step.opcode is not AluOpcode.SHR or not isinstance(step.value, int) or step.value >= 0:
        return None
    left = -step.value
    inner = inner.before(1)
    if right >= left:
        return inner.then(AluOpcode.ADD, added >> left).then(AluOpcode.SHR, right - left)
    return inner.then(AluOpcode.SHR, right - left).then(AluOpcode.ADD, added >> right)


def _minimum(chain: Chain, value: Constant) -> Chain:
    return _limited(chain, AluOpcode.MIN, value)


def _maximum(chain: Chain, value: Constant) -> Chain:
    return _limited(chain, AluOpcode.MAX, value)


def _limited(chain: Chain, opcode: AluOpcode, value: Constant) -> Chain:
    """Returns a limit, together with those before it."""
    lowers = opcode is AluOpcode.MIN
    least, greatest = _range(value)
    if chain.bounds[1] <= least if lowers else chain.bounds[0] >= greatest:
        return chain
    before = chain.last(2)
    numbers = [step.value for step in before if isinstance(step.value, int)]
    if not isinstance(value, int) or len(numbers) < len(before):
        return chain.appended(opcode, value)
    tighter = min if lowers else max
    if before and before[-1].opcode is opcode:
        return chain.before(1).then(opcode, tighter(numbers[-1], value))
    other = AluOpcode.MAX if lowers else AluOpcode.MIN
    # min(max(min(x, a), b), c) is max(min(x, min(a, c)), b) if c is not below b
    if [step.opcode for step in before] == [opcode, other] and (
        tighter(numbers[1], value) == numbers[1]
    ):
        merged = chain.before(2).then(opcode, tighter(numbers[0], value))
        return merged.then(other, numbers[1])
    return chain.appended(opcode, value)


_THEN: dict[AluOpcode, Callable[[Chain, Constant], Chain]] = {
    AluOpcode.ADD: _add,
    AluOpcode.MUL: _multiply,
    AluOpcode.SHR: _shift,
    AluOpcode.MIN: _minimum,
    AluOpcode.MAX: _maximum,
}


def limited(chain: Chain, low: int, high: int) -> Chain:
    """Returns the chain limited to numbers from `low` to `high`."""
    return chain.then(AluOpcode.MIN, high).then(AluOpcode.MAX, low)


def rescaled(
    chain: Chain, multiplier: Constant, shift: Constant, limits: Bounds, zero_point: int = 0
) -> Chain:
    """
    Returns `clamp((((x * multiplier >> (shift - 1)) + 1) >> 1) + zero_point)`: `glow.rescale` in 32
    bits, although its own arithmetic has 64.

    Raises CompileError if the accumulators are too narrow for the products.
    """
    low, high = limits
    factors, places = np.broadcast_arrays(
        np.atleast_1d(np.asarray(multiplier, np.int64)), np.atleast_1d(np.asarray(shift, np.int64))
    )
    # a factor of two less in both is the same
    twos = _twos(factors)
    factors, places = factors >> twos, np.where(factors == 0, 1, places - twos)
    left, right = np.maximum(-places, 0), np.maximum(places, 0)
    if left.any():
        chain = _shifted_left(chain, left, low - zero_point, high - zero_point)
    if (factors != 1).any():
        chain = _multiplied(chain, factors, right)
    elif right.any():
        chain = _rounded(chain, right)
    return limited(chain.then(AluOpcode.ADD, zero_point), low, high)


def _twos(factors: np.ndarray) -> np.ndarray:
    """Returns how often each number can be halved."""
    lowest = factors & -factors
    return np.where(factors == 0, 0, np.log2(np.maximum(lowest, 1)).astype(np.int64))


def _shifted_left(chain: Chain, left: np.ndarray, low: int, high: int) -> Chain:
    """Returns the chain shifted to the left. Its result is limited to `low` and `high` later."""
    # a shift that takes every number but 0 beyond the limits is far enough
    left = np.minimum(left, max(high, -low).bit_length())
    largest = max(abs(b) for b in chain.bounds)
    if largest << int(left.max()) > INT32[1]:
        most = np.where(left > 0, (high >> left) + 1, INT32[1])
        least = np.where(left > 0, (low >> left) - 1, INT32[0])
        if max(int(((most << left) * (left > 0)).max()), -low) > INT32[1] // 2:
            raise CompileError(
                f"numbers of {chain.bounds[0]} to {chain.bounds[1]}, shifted to the left by up to "
                f"{int(left.max())} places, do not fit into accumulators of 32 bits"
            )
        chain = chain.then(AluOpcode.MIN, most).then(AluOpcode.MAX, least)
    return chain.then(AluOpcode.SHR, -left)


def _multiplied(chain: Chain, factors: np.ndarray, right: np.ndarray) -> Chain:
    """Returns the chain times integers, then shifted to the right and rounded."""
    largest = max(abs(b) for b in chain.bounds)
    if largest * int(np.abs(factors).max()) <= INT32[1]:
        return _rounded(chain.then(AluOpcode.MUL, factors), right)
    low, high = factors & ((1 << _HALF) - 1), factors >> _HALF
    wide = largest * max(1 << _HALF, int(np.abs(high).max())) > INT32[1] // 2
    if wide or right.min() <= _HALF:
        raise CompileError(
            f"numbers of {chain.bounds[0]} to {chain.bounds[1]} times "
            f"{int(np.abs(factors).max())} do not fit into accumulators of 32 bits; quantize with "
            "scales that are powers of two (schema power_of_two)"
        )
    # x * (high * 2**15 + low) >> n is (x * high + (x * low >> 15)) >> (n - 15)
    chain = shared(chain)
    rest = chain.then(AluOpcode.MUL, low).then(AluOpcode.SHR, _HALF)
    product = paired(AluOpcode.ADD, chain.then(AluOpcode.MUL, high), rest)
    return _rounded(product, right - _HALF)


def _rounded(chain: Chain, right: np.ndarray) -> Chain:
    """Returns shifted to the right and rounded, halves up; a shift by 0 places does nothing."""
    # only the sign is left beyond 31 places, and it rounds to 0
    right = np.minimum(right, MAX_SHIFT + 1)
    half = np.where(right > 0, 1 << np.maximum(right - 1, 0), 0)
    if chain.bounds[1] + int(half.max()) <= INT32[1] and right.max() <= MAX_SHIFT:
        return chain.then(AluOpcode.ADD, half).then(AluOpcode.SHR, right)
    rounded = (right > 0).astype(np.int64)
    chain = chain.then(AluOpcode.SHR, np.maximum(right - 1, 0))
    return chain.then(AluOpcode.ADD, rounded).then(AluOpcode.SHR, rounded)
