"""The results of the simulator, on examples whose results are obvious."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from glow.glow_dialects.vta.config import VtaConfig
from glow.runtime.vta import plans
from glow.runtime.vta.program import RegionRole, VtaProgram
from glow.runtime.vta.simulator import Simulator
from glow.runtime.vta.tokens import dependences
from glow.runtime.vta.words import VtaError, decode_instructions
from glow.tests.support import vta_assembler as asm
from glow.tests.support.seeds import numbered
from glow.tests.support.vta_assembler import ACC, ACC_8BIT, COMPUTE_ENGINE, INP, UOP, WGT, Op

CONFIG = VtaConfig()
U, X, W, Y = 0, 1 << 16, 2 << 16, 3 << 16


def accumulators(ops: list[Op], start: np.ndarray, uops: list[tuple[int, int, int]]) -> np.ndarray:
    """
    Returns the low bytes of the first accumulators, int8[len(start), 16], after ops on accumulators
    that begin with `start` in all 16 places.
    """
    rows = np.repeat(start.astype(np.int32)[:, None], 16, axis=1)
    program = asm.program(
        asm.in_sequence(
            [
                asm.load(UOP, 0, U // 4, 1, len(uops)),
                asm.load(ACC, 0, X // 64, 1, len(start)),
                *ops,
                asm.store(0, Y // 16, 1, len(start)),
            ]
        ),
        CONFIG,
        [
            asm.region("u", RegionRole.MICRO_OPS, U, asm.micro_ops(uops, CONFIG)),
            asm.region("x", RegionRole.CONSTANT, X, rows),
            asm.region("y", RegionRole.OUTPUT, Y, size=16 * len(start)),
        ],
    )
    (y,) = Simulator(program).run([])
    return y.reshape(len(start), 16)[:, 0]


def test_an_operation_sees_the_results_of_those_before_it() -> None:
    """acc[i + 1] += acc[i] makes prefix sums, if it is done in order."""
    start = np.arange(1, 13)
    found = accumulators([asm.alu(asm.ADD, (0, 1), (1, 11), (0, 1), (0, 1))], start, [(1, 0, 0)])
    np.testing.assert_array_equal(found, np.cumsum(start).astype(np.int8))


def test_an_operation_does_not_see_later_results() -> None:
    """acc[i] += acc[i + 1] in the same order reads only old values."""
    start = np.arange(1, 13)
    found = accumulators([asm.alu(asm.ADD, (0, 1), (1, 11), (0, 1), (0, 1))], start, [(0, 1, 0)])
    np.testing.assert_array_equal(found, np.append(start[:-1] + start[1:], start[-1]))


def test_the_same_accumulator_twice() -> None:
    """Doubling five times, by a loop that does not move."""
    found = accumulators([asm.alu(asm.ADD, (0, 1), (5, 1))], np.array([3]), [(0, 0, 0)])
    assert found.tolist() == [96]


@pytest.mark.parametrize(
    ("value", "places", "wanted"),
    [(-7, 1, -4), (5, -3, 40), (-1, 31, -1), (3, -31, -(2**31)), (-(2**31), -1, 0), (9, 0, 9)],
)
def test_shifts(value: int, places: int, wanted: int) -> None:
    shift = asm.alu(asm.SHR, (0, 1), imm=places)
    # the high byte, which nothing else shows
    high = asm.alu(asm.SHR, (0, 1), imm=24)
    low = accumulators([shift], np.array([value]), [(0, 0, 0)])[0]
    assert low == np.int32(wanted).astype(np.int8)
    assert accumulators([shift, high], np.array([value]), [(0, 0, 0)])[0] == wanted >> 24


def product_program(iterations: tuple[int, int], kernel: int) -> VtaProgram:
    """Returns one accumulator; the micro-ops are all the same, and loops do not move."""
    config = VtaConfig(uop_depth=16)
    x = np.full(16, 127, np.int8)
    w = np.full((16, 16), -128, np.int8)
    ops = [
        asm.load(UOP, 0, 0, 1, 16),
        asm.load(INP, 0, X // 16),
        asm.load(WGT, 0, W // 256),
        asm.gemm((0, 1), reset=1),
        asm.gemm((0, kernel), iterations),
        *(op for n in range(4) for op in (asm.store(0, Y // 16 + n), _shift_byte())),
    ]
    return asm.program(
        asm.in_sequence(ops),
        config,
        [
            asm.region("u", RegionRole.MICRO_OPS, U, np.zeros(16, np.uint32)),
            asm.region("x", RegionRole.CONSTANT, X, x),
            asm.region("w", RegionRole.CONSTANT, W, w),
            asm.region("y", RegionRole.OUTPUT, Y, size=64),
        ],
    )


def _shift_byte() -> Op:
    return asm.alu(asm.SHR, (0, 1), imm=8)


@pytest.mark.parametrize(
    ("iterations", "kernel"), [((1, 1), 1), ((5, 13), 3), ((700, 300), 1), ((3, 16383), 7)]
)
def test_sums_are_exact_and_wrap_around(iterations: tuple[int, int], kernel: int) -> None:
    (y,) = Simulator(product_program(iterations, kernel)).run([])
    total = -128 * 127 * 16 * iterations[0] * iterations[1] * kernel
    found = y.view(np.uint8).reshape(4, 16)[:, 5].astype(np.int64)
    assert int((found << np.array([0, 8, 16, 24])).sum()) == total % 2**32


def test_more_inputs_than_float32_can_sum() -> None:
    config = VtaConfig(1, 2048, 1, inp_depth=2, wgt_depth=2, acc_depth=4, uop_depth=2)
    x = np.full(2048, -128, np.int8)
    x[0] = -127  # makes the sum odd in units of 128
    w = np.full(2048, -128, np.int8)
    w[0] = 1
    ops = [
        asm.load(UOP, 0, 0),
        asm.load(INP, 0, X // 2048),
        asm.load(WGT, 0, W // 2048),
        asm.gemm((0, 1), reset=1),
        asm.gemm((0, 1)),
        asm.store(0, Y),
    ]
    program = asm.program(
        asm.in_sequence(ops),
        config,
        [
            asm.region("u", RegionRole.MICRO_OPS, U, np.zeros(1, np.uint32)),
            asm.region("x", RegionRole.CONSTANT, X, x),
            asm.region("w", RegionRole.CONSTANT, W, w),
            asm.region("y", RegionRole.OUTPUT, Y, size=1),
        ],
    )
    (y,) = Simulator(program).run([])
    total = int(x.astype(np.int64) @ w)
    assert total > 2**24
    assert y[0] == np.int8((total + 128) % 256 - 128)


def test_rows_of_a_store_may_overlap() -> None:
    """The last row counts, as on the machine."""
    start = np.arange(6)
    program = asm.program(
        asm.in_sequence([asm.load(ACC, 0, X // 64, 1, 6), asm.store(0, Y // 16, 3, 2, 1)]),
        CONFIG,
        [
            asm.region("x", RegionRole.CONSTANT, X, np.repeat(start.astype(np.int32), 16)),
            asm.region("y", RegionRole.OUTPUT, Y, size=64),
        ],
    )
    (y,) = Simulator(program).run([])
    assert y.reshape(4, 16)[:, 0].tolist() == [0, 2, 4, 5]


def scratch_that_overlaps(rows: int) -> VtaProgram:
    """
    Stores six accumulators into `a`, four others into `b`, whose first ones are the last two of
    `a`; then copies `rows` of `a` from there to the output.
    """
    first, a, b = X + 6 * 64, 4 << 16, (4 << 16) + 4 * 16
    numbers = np.repeat(np.arange(10, dtype=np.int32), 16)
    return asm.program(
        asm.in_sequence(
            [
                asm.load(ACC, 0, X // 64, 1, 6),
                asm.store(0, a // 16, 1, 6),
                asm.load(ACC, 0, first // 64, 1, 4),
                asm.store(0, b // 16, 1, 4),
                asm.load(ACC_8BIT, 0, a // 16, 1, rows),
                asm.store(0, Y // 16, 1, rows),
            ]
        ),
        CONFIG,
        [
            asm.region("x", RegionRole.CONSTANT, X, numbers),
            asm.region("y", RegionRole.OUTPUT, Y, size=16 * rows),
            asm.region("b", RegionRole.SCRATCH, b, size=64),
            asm.region("a", RegionRole.SCRATCH, a, size=96),
        ],
    )


def test_regions_of_scratch_share_the_bytes_that_are_in_both() -> None:
    program = scratch_that_overlaps(6)
    assert program.scratch_bytes == 128
    (y,) = Simulator(program).run([])
    assert y.reshape(6, 16)[:, 0].tolist() == [0, 1, 2, 3, 6, 7]


def test_an_access_beyond_one_region_is_an_error_although_it_ends_in_another() -> None:
    with pytest.raises(VtaError, match="go beyond the end of 'a'"):
        Simulator(scratch_that_overlaps(7)).run([])


def double_buffered(tiles: int, tokens: bool = True) -> tuple[VtaProgram, np.ndarray, np.ndarray]:
    """
    Computes y = relu(x W) by tiles of 4 rows, with two threads that have half of each buffer; while
    one computes, the other loads. Without tokens from COMPUTE to LOAD, inputs are overwritten too
    early.
    """
    rng = numbered(tiles)
    x = rng.integers(-8, 8, (4 * tiles, 16), np.int8)
    w = rng.integers(-2, 3, (16, 16), np.int8)
    uops = [(0, 0, 0), (1024, 1024, 0)]
    ops = [asm.load(UOP, 0, 0, 1, 2), asm.load(WGT, 0, W // 256)]
    for t in range(tiles):
        half, base = t % 2, 1024 * (t % 2)
        own = (half, half + 1)
        load = asm.load(INP, base, X // 16 + 4 * t, 1, 4).having("push_next")
        reset = asm.gemm(own, (1, 4), (0, 1), reset=1).having("pop_prev")
        store = asm.store(base, Y // 16 + 4 * t, 1, 4).having("pop_prev", "push_prev")
        product = asm.gemm(own, (1, 4), (0, 1), (0, 1))
        if t >= 2:
            load, reset = load.having("pop_next") if tokens else load, reset.having("pop_next")
        if t < tiles - 2 and tokens:
            product = product.having("push_prev")
        relu = asm.alu(asm.MAX, own, (1, 4), (0, 1), imm=0).having("push_next")
        ops += [load, reset, product, relu, store]
    ops.append(asm.nop(COMPUTE_ENGINE).having("pop_next"))
    ops.append(asm.finish().having("pop_next"))
    program = asm.program(
        ops,
        CONFIG,
        [
            asm.region("u", RegionRole.MICRO_OPS, U, asm.micro_ops(uops, CONFIG)),
            asm.region("x", RegionRole.INPUT, X, x),
            asm.region("w", RegionRole.CONSTANT, W, w),
            asm.region("y", RegionRole.OUTPUT, Y, size=x.size),
        ],
        [("all", 0, len(ops) - 1)],
    )
    wanted = np.maximum(x.astype(np.int32) @ w.T.astype(np.int32), 0).astype(np.int8)
    return program, x, wanted.reshape(-1)


def test_every_order_that_the_tokens_permit_has_one_result() -> None:
    program, x, wanted = double_buffered(7)
    simulator = Simulator(program)
    np.testing.assert_array_equal(simulator.run([x])[0], wanted)
    for seed in range(20):
        np.testing.assert_array_equal(simulator.run([x], shuffle=seed)[0], wanted)


def test_orders_differ_where_a_token_is_missing() -> None:
    program, x, wanted = double_buffered(7, tokens=False)
    simulator = Simulator(program)
    found = [np.array_equal(simulator.run([x], shuffle=s)[0], wanted) for s in range(20)]
    assert not all(found)


def test_tokens_that_nobody_pops_are_counted() -> None:
    ops = [asm.load(INP, 0, 0, 0, 0).having("push_next"), asm.finish()]
    found = dependences(decode_instructions(asm.assemble(ops, CONFIG), CONFIG))
    assert found.left_over == 1


def test_runs_do_not_see_each_other() -> None:
    program, x, wanted = double_buffered(5)
    simulator = Simulator(program)
    with ThreadPoolExecutor(4) as pool:
        others = pool.map(lambda n: simulator.run([x if n % 2 else -x])[0], range(16))
        for n, y in enumerate(others):
            assert np.array_equal(y, wanted) == bool(n % 2)


def test_plans_are_kept_within_their_limit(rng: np.random.Generator) -> None:
    kept = plans.Plans(CONFIG, limit=10_000)
    for _ in range(20):
        words = asm.micro_ops([(int(n), 0, 0) for n in rng.integers(0, 999, 100)], CONFIG)
        loops = (plans.Factors(1, 1),) * 3
        kept.find(plans.PlanKind.GEMM, words, loops, plans.Piece(0, 0, 1, 2))
        plan, operands = kept.find(plans.PlanKind.GEMM, words, loops, plans.Piece(0, 0, 1, 2))
        assert isinstance(plan, plans.GemmPlan)
        assert operands.last[1:] == (1, 1)
        assert kept._bytes <= 10_000


def test_decoding_of_words_from_the_specification() -> None:
    """A word put together by hand: ALU MAX, pop_prev and push_next, micro-ops 1 to 3, 5 x 7."""
    low = 4 | 1 << 3 | 1 << 6 | 1 << 8 | 3 << 21 | 5 << 35 | 7 << 49
    high = 9 | 2 << 11 | 4 << 22 | 6 << 33 | 1 << 44 | 1 << 47 | (-3 & 0xFFFF) << 48
    (found,) = decode_instructions(np.array([[low, high]], np.uint64), CONFIG)
    assert str(found) == "ALU MAX uop=1:3 iter=5x7 dst=9,2 imm=-3 pop_prev push_next"


def test_acc_8bit_is_widened_and_padded() -> None:
    values = np.arange(-32, 32, dtype=np.int8)
    program = asm.program(
        asm.in_sequence(
            [
                asm.load(ACC_8BIT, 0, X // 16, 2, 1, 2, (1, 0, 1, 0)),
                asm.load(UOP, 0, 0),
                asm.alu(asm.SHR, (0, 1), (1, 6), (0, 1), imm=1),
                asm.store(0, Y // 16, 1, 6),
            ]
        ),
        CONFIG,
        [
            asm.region("u", RegionRole.MICRO_OPS, U, np.zeros(1, np.uint32)),
            asm.region("x", RegionRole.CONSTANT, X, values),
            asm.region("y", RegionRole.OUTPUT, Y, size=96),
        ],
    )
    (y,) = Simulator(program).run([])
    rows = values.reshape(4, 16)
    zero = np.zeros(16, np.int8)
    wanted = np.stack([zero, zero, zero, rows[0] >> 1, zero, rows[2] >> 1])
    np.testing.assert_array_equal(y.reshape(6, 16), wanted)


def test_error_in_a_later_run_is_not_kept() -> None:
    program, x, wanted = double_buffered(3)
    simulator = Simulator(program)
    with pytest.raises((VtaError, ValueError)):
        simulator.run([])
    np.testing.assert_array_equal(simulator.run([x])[0], wanted)
