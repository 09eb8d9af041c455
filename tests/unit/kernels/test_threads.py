"""Kernels that several threads run together give the same bytes as on one thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from glow.glow_dialects.glow.indexing import ScatterOp
from glow.glow_dialects.glow.matrix import MatMulOp
from glow.glow_dialects.glow.normalization import LogSoftmaxOp, SoftmaxOp
from glow.glow_dialects.glow.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from glow.glow_dialects.glow_nest.kernel import BarrierOp, RepeatOp
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.glow_dialects.timings import TIMINGS
from glow.lowering.kernels.threads import split as partition
from glow.semantics import element_type
from glow.tests.support import operator_kernels
from glow.tests.support.native import apply, check_native, run_native
from glow.tests.support.operator_kernels import check, one_node, random
from xdsl.dialects.builtin import ModuleOp, i64

from . import (
    test_attention,
    test_blocked,
    test_operators,
    test_products,
    test_rows,
    test_views,
    test_winograd,
)

MODULES = (test_blocked, test_views, test_winograd)
"""The modules in which the tests of the families call `check_native`; others call `check_runs`."""
_threads = itertools.cycle([2, 3, 5])

Case = Callable[[], None]


def check_threads(
    allocated: ModuleOp,
    inputs: Sequence[np.ndarray],
    machine: MachineDescription | None = None,
    tolerance: float = 1e-5,
) -> None:
    """Checks that results have the same bytes as on one thread."""
    threads = next(_threads)
    single = run_native(allocated, inputs, machine, threads=1)
    several = run_native(allocated, inputs, machine, threads=threads)
    for want, have in zip(single, several, strict=True):
        assert have.tobytes() == want.tobytes(), f"on {threads} threads"


def check_runs_on_threads(
    allocated: ModuleOp,
    runs: Sequence[Sequence[np.ndarray]],
    machine: MachineDescription | None = None,
    tolerance: float = 1e-5,
) -> None:
    for inputs in runs:
        check_threads(allocated, inputs, machine, tolerance)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divides even little work, and lets checks compare threads."""
    monkeypatch.setattr(partition, "TIMINGS", replace(TIMINGS, least_shared_cycles=0))
    for module in MODULES:
        monkeypatch.setattr(module, "check_native", check_threads)
    monkeypatch.setattr(operator_kernels, "check_runs", check_runs_on_threads)


def each(test: Callable[..., None], *cases: tuple) -> list[Case]:
    return [partial(test, *case) for case in cases]


def name_of(case: object) -> str:
    assert isinstance(case, partial)
    return f"{case.func.__module__.split('.')[-1]}-{case.func.__name__}"


f32, f16 = np.float32, np.float16
CASES: list[Case] = [
    *each(test_operators.test_convolution, *((c, f32) for c in test_operators.CONVOLUTIONS[:11:2])),
    *each(test_operators.test_convolution, *((c, f16) for c in test_operators.CONVOLUTIONS[14::2])),
    *each(test_operators.test_matmul, *((c, (False, True)) for c in test_operators.PRODUCTS[1::2])),
    *each(test_operators.test_fully_connected, ((1, 64, 10),), ((7, 33, 21),)),
    *each(test_operators.test_max_pool, *((c, f32) for c in test_operators.POOLS[::3])),
    *each(test_operators.test_avg_pool, *((c, True) for c in test_operators.POOLS[1::3])),
    *each(test_operators.test_softmax, (SoftmaxOp, (3, 5, 7), 1), (LogSoftmaxOp, (9, 40), 1)),
    *each(test_operators.test_local_response_norm, (5, 0.75)),
    *each(test_operators.test_transpose, *((p, f32) for p in ((0, 2, 1), (2, 1, 0), (1, 0, 2)))),
    *each(test_operators.test_gather, (0, np.int64), (2, np.int32)),
    *each(
        test_operators.test_reduction,
        (ReduceSumOp, (5, 6, 7), (0, 2)),
        (ReduceMaxOp, (4, 50), (1,)),
        (ReduceMeanOp, (33, 9), (0,)),
    ),
    *each(test_blocked.test_convolution, *((c, 16) for c in test_blocked.CONVOLUTIONS[::2])),
    *each(test_blocked.test_convolution, *((c, 4) for c in test_blocked.CONVOLUTIONS[1::4])),
    *each(test_blocked.test_convolution_of_a_plain_image, (16,), (8,)),
    *each(test_blocked.test_depthwise_convolution, (16, 1), (8, 2)),
    *each(test_blocked.test_pools, *((c, 8) for c in test_blocked.POOLS[::3])),
    *each(test_blocked.test_changes_of_layout, (45, 16), (7, 4)),
    *each(test_blocked.test_sum_in_place, (1,), (2,)),
    *each(test_products.test_packed_matmul, *((c, f32) for c in test_products.CASES[1::2])),
    *each(test_products.test_sum_in_place, (7,), (53,)),
    *each(test_rows.test_layer_norm, *((c, f32) for c in test_rows.ROWS[::3])),
    *each(test_rows.test_group_norm, (((2, 6, 5, 7), 3), f32)),
    *each(test_rows.test_softmax_of_rows, ((2, 6, 7),), ((9, 100),)),
    *each(
        test_winograd.test_agrees_with_the_interpreter,
        ((2, 8, 24, (7, 13), 8), 2),
        ((1, 20, 33, (6, 9), 16), 4),
        ((1, 16, 8, (3, 70), 8), 4),
        ((1, 32, 16, (56, 5), 16), 4),
    ),
    *each(test_winograd.test_sum_in_place, ()),
    *each(test_attention.test_attention, *((c, f32) for c in test_attention.CASES[1::2])),
]


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_same_bytes_on_several_threads(case: Case):
    case()


@pytest.mark.usefixtures("shared")
def test_in_place_on_several_threads():
    for count in (15, 33, 100, 1000):
        test_views.test_no_element_is_computed_twice_in_place(count)


def test_much_work_on_several_threads():
    """Nests that are divided without the fixture."""
    x, y = random(1, 130, 70), random(2, 70, 90)
    module = one_node(MatMulOp, [with_shape(element_type(a.dtype), a.shape) for a in (x, y)])
    apply(module, "glow-irgen,glow-allocate")
    for threads in (1, 2, 4):
        check_native(module, [x, y], tolerance=1e-5, threads=threads)
    check(SoftmaxOp, random(3, 300, 41), axis=1)


def test_a_loop_that_one_thread_runs_has_no_barrier_in_it():
    """The threads meet once, after the copy that they share; a scatter's rows need their order."""
    number = element_type(f32)
    data, updates = with_shape(number, (131072, 1)), with_shape(number, (4096, 1))
    types = [data, with_shape(i64, (4096,)), updates]
    module = one_node(ScatterOp, types, reduction="add")
    passes = "glow-irgen,glow-allocate,glow-build-nests{threads=2},glow-schedule-nests"
    apply(module, f"{passes},glow-divide-nests{{threads=2}}")
    barriers = [op for op in module.walk() if isinstance(op, BarrierOp)]
    (loop,) = (op for op in module.walk() if isinstance(op, RepeatOp))
    assert [op.next_op for op in barriers] == [loop]
