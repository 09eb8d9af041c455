"""Steps behind products: simplified chains compute the same, and rescaling is exact."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.vta import AluOpcode
from glow.lowering.vta.epilogue import (
    INT32,
    Chain,
    Leaf,
    Pair,
    Shared,
    limited,
    paired,
    rescaled,
)
from hypothesis import given, settings
from hypothesis import strategies as st

OPCODES = tuple(AluOpcode)


def shifted(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    left = np.left_shift(x, np.maximum(-places, 0).astype(np.int32))
    return np.right_shift(left, np.maximum(places, 0).astype(np.int32))


def apply(opcode: AluOpcode, x: np.ndarray, y: object) -> np.ndarray:
    """Computes an operation of the ALU, in int32."""
    other = np.asarray(y, np.int64).astype(np.int32)
    functions = {
        AluOpcode.ADD: np.add,
        AluOpcode.MUL: np.multiply,
        AluOpcode.MIN: np.minimum,
        AluOpcode.MAX: np.maximum,
        AluOpcode.SHR: shifted,
    }
    with np.errstate(over="ignore"):
        return functions[opcode](x, other).astype(np.int32)


def computed(chain: Chain, leaves: list[np.ndarray]) -> np.ndarray:
    if isinstance(chain.base, Pair):
        pair = chain.base
        value = apply(pair.opcode, computed(pair.left, leaves), computed(pair.right, leaves))
    elif isinstance(chain.base, Shared):
        value = computed(chain.base.chain, leaves)
    else:
        value = leaves[chain.base.index]
    for step, _ in chain.steps:
        value = apply(step.opcode, value, step.value)
    assert chain.bounds[0] <= value.min()
    assert value.max() <= chain.bounds[1]
    return value


def leaf(rng: np.random.Generator, index: int) -> tuple[Chain, np.ndarray]:
    reach = 1 << int(rng.integers(1, 31))
    low, high = sorted(int(n) for n in rng.integers(-reach, reach, 2, endpoint=True))
    high = min(high, INT32[1])
    values = rng.integers(low, high, 7, endpoint=True).astype(np.int32)
    values[:2] = low, high
    return Chain(Leaf(True, index), (low, high)), values


def step(rng: np.random.Generator) -> tuple[AluOpcode, int | np.ndarray]:
    opcode = OPCODES[int(rng.integers(len(OPCODES)))]
    reach = 6 if opcode is AluOpcode.SHR else 1 << int(rng.integers(1, 12))
    count = 7 if rng.random() < 0.2 else 1
    numbers = rng.integers(-reach, reach, count, endpoint=True)
    return opcode, numbers if count > 1 else int(numbers[0])


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 8))
@settings(max_examples=400, deadline=None)
def test_a_chain_computes_what_its_steps_say(seed: int, steps: int):
    rng = np.random.default_rng(seed)
    chains, wanted, leaves = [], [], []
    for index in range(2):
        chain, values = leaf(rng, index)
        leaves.append(values)
        for _ in range(steps):
            opcode, value = step(rng)
            values = apply(opcode, values, value)
            chain = chain.then(opcode, value)
        chains.append(chain)
        wanted.append(values)
    opcode = (AluOpcode.ADD, AluOpcode.MIN, AluOpcode.MAX, AluOpcode.MUL)[int(rng.integers(4))]
    both, values = paired(opcode, *chains), apply(opcode, *wanted)
    for _ in range(steps):
        opcode, value = step(rng)
        values, both = apply(opcode, values, value), both.then(opcode, value)
    np.testing.assert_array_equal(computed(both, leaves), values)


def exact(x: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """Returns the definition of `glow.rescale`, in 64 bits."""
    halves = (x.astype(np.int64) * multiplier) >> (shift - 1)
    return np.clip((halves + 1) >> 1, -128, 127)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None)
def test_rescaling_by_powers_of_two_is_exact_for_all_numbers(seed: int):
    rng = np.random.default_rng(seed)
    chain, values = leaf(rng, 0)
    multiplier, shift = 1 << int(rng.integers(0, 31)), int(rng.integers(1, 63))
    found = computed(rescaled(chain, multiplier, shift, (-128, 127)), [values])
    np.testing.assert_array_equal(found, exact(values, multiplier, shift))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None)
def test_rescaling_of_means_is_exact(seed: int):
    """Sums of few numbers by multipliers of 31 bits."""
    rng = np.random.default_rng(seed)
    reach = int(rng.integers(1, 1 << 14))
    values = rng.integers(-reach, reach, 7, endpoint=True).astype(np.int32)
    chain = Chain(Leaf(True, 0), (-reach, reach))
    # odd, so that no factor of two shortens the shift
    multiplier, shift = int(rng.integers(1, 1 << 31)) | 1, int(rng.integers(16, 50))
    found = computed(rescaled(chain, multiplier, shift, (-128, 127)), [values])
    np.testing.assert_array_equal(found, exact(values, multiplier, shift))


def test_a_multiplier_that_is_too_long_is_an_error():
    chain = Chain(Leaf(True, 0), (-(1 << 22), 1 << 22))
    with pytest.raises(CompileError, match="do not fit into accumulators"):
        rescaled(chain, 1402438301, 40, (-128, 127))


def test_the_half_of_a_rounding_vanishes_in_the_bias():
    acc = Chain(Leaf(True, 0), (-(1 << 20), 1 << 20)).then(AluOpcode.ADD, np.array([3, 4]))
    stored = limited(rescaled(acc, 1, 6, (-128, 127)), 0, 127)
    assert [step.opcode for step, _ in stored.steps] == [
        *(AluOpcode.ADD, AluOpcode.SHR, AluOpcode.MIN, AluOpcode.MAX)
    ]
    # a sum with another tensor, rounded again: one addition more, no other step
    other = Chain(Leaf(False, 1), (-128, 127))
    total = rescaled(paired(AluOpcode.ADD, stored, other), 1, 1, (-128, 127))
    assert [step.opcode for step, _ in total.steps] == [AluOpcode.SHR]
    assert isinstance(total.base, Pair)
    assert len(total.base.left.steps) == 4


def test_steps_without_effect_are_left_out():
    chain = Chain(Leaf(False, 0), (0, 100))
    assert limited(chain, -128, 127) is chain
    assert chain.then(AluOpcode.ADD, 0) is chain
    assert chain.then(AluOpcode.SHR, np.zeros(3, np.int64)) is chain
