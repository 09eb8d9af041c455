"""Products of matrices that kernels round to bf16: in numpy, nest by nest, and as machine code."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.glow_cpu.rounded import RoundedMatMulOp
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.operator import with_shape
from glow.lowering.target import find_target
from glow.runtime.interpreter import interpret
from glow.semantics import element_type
from glow.tests.support.native import (
    apply,
    kernels_passes,
    nests_passes,
    run_native,
    set_machine,
)
from glow.tests.support.operator_kernels import one_node
from xdsl.dialects.builtin import ModuleOp

WIDE = MachineDescription(has_bf16_dot=True)
NARROW = replace(WIDE, vector_bits=128, vector_registers=16, l2_bytes=1 << 13)
"""A machine whose second cache has few panels, so that there are several blocks of them."""
CASES = [
    # batch, rows, terms, columns, whether operands are transposed
    ((), 1, 1, 1, (False, False)),
    ((), 7, 64, 48, (False, False)),
    ((), 5, 33, 37, (False, True)),
    ((), 13, 6, 16, (True, False)),
    ((), 50, 71, 67, (True, True)),
    ((3,), 11, 10, 19, (False, True)),
    ((2, 3), 3, 5, 35, (True, False)),
]
IDS = [str(case) for case in CASES]


def _operands(case: tuple, rng: np.random.Generator) -> tuple[list[np.ndarray], ModuleOp]:
    batch, rows, terms, columns, (turned_lhs, turned_rhs) = case
    shapes = (rows, terms), (terms, columns)
    turned = zip(shapes, (turned_lhs, turned_rhs), strict=True)
    arrays = [rng.standard_normal((*batch, *(s[::-1] if t else s)), np.float32) for s, t in turned]
    module = one_node(
        RoundedMatMulOp,
        [with_shape(element_type(a.dtype), a.shape) for a in arrays],
        transpose_lhs=turned_lhs,
        transpose_rhs=turned_rhs,
    )
    return arrays, apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")


def _expected(case: tuple, arrays: list[np.ndarray]) -> np.ndarray:
    """Returns the product of the rounded operands in f64, where products and sums are exact."""
    rounded = [a.astype(ml_dtypes.bfloat16).astype(np.float64) for a in arrays]
    a, b = (x.swapaxes(-1, -2) if t else x for x, t in zip(rounded, case[-1], strict=True))
    return a @ b


def _check(found: np.ndarray, expected: np.ndarray) -> None:
    """Allows for sums in f32 of up to 71 terms."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_meaning(case: tuple, rng: np.random.Generator):
    arrays, module = _operands(case, rng)
    (found,) = interpret(module, arrays).values()
    _check(found, _expected(case, arrays))


@pytest.mark.parametrize("machine", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_nests_in_numpy(case: tuple, machine: MachineDescription, rng: np.random.Generator):
    arrays, module = _operands(case, rng)
    nests = apply(module, f"{set_machine(machine)},{nests_passes()}")
    (found,) = interpret(nests, arrays).values()
    _check(found, _expected(case, arrays))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_machine_code(case: tuple, threads: int, rng: np.random.Generator):
    machine = find_target().describe()
    if not machine.has_bf16_dot:
        pytest.skip("this machine has no AVX512-BF16")
    arrays, module = _operands(case, rng)
    small = replace(machine, l2_bytes=NARROW.l2_bytes)
    for described in (machine, small):
        (found,) = run_native(module, arrays, described, threads)
        _check(found, _expected(case, arrays))


def test_machines_without_the_instruction(rng: np.random.Generator):
    _, module = _operands(CASES[1], rng)
    apply(module, set_machine(replace(WIDE, has_bf16_dot=False)))
    with pytest.raises(CompileError, match=r"rounded_matmul"):
        apply(module, kernels_passes())
