"""Products of run-time matrices of narrow integers, nest by nest and as machine code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from glow.glow_dialects.glow.matrix import MatMulOp
from glow.glow_dialects.instruction_kinds import DotKind
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.target import find_target
from glow.runtime.interpreter import interpret
from glow.tests.support.native import apply, nests_passes, run_native, set_machine
from glow.tests.support.operator_kernels import one_node, types_of
from xdsl.dialects.builtin import ModuleOp

PAIRS = MachineDescription(vector_bits=256, vector_registers=16)
QUADS = replace(PAIRS, int8_dots=(DotKind.VPDPBUSD,))
TILES = replace(QUADS, vector_bits=512, vector_registers=32, has_int8_tiles=True)
NARROW = replace(QUADS, vector_bits=128, l2_bytes=1 << 12)
"""A machine whose second cache has few panels, so that there are several blocks of them."""
CASES = [
    # batch, rows, terms, columns, whether operands are transposed
    ((), 3, 5, 7, (False, False)),
    ((), 4, 1, 1, (False, False)),
    ((), 7, 64, 48, (False, False)),
    ((), 5, 33, 37, (False, True)),
    ((), 13, 6, 16, (True, False)),
    ((), 50, 71, 67, (True, True)),
    ((3,), 11, 12, 19, (False, True)),
    ((2, 3), 4, 5, 35, (True, False)),
]
IDS = [str(case) for case in CASES]
ELEMENTS = [
    (np.uint8, np.int8),
    (np.int8, np.int8),
    (np.uint8, np.uint8),
    (np.int8, np.int16),
    (np.int16, np.int16),
]


def _operands(
    case: tuple, elements: tuple[type, type], rng: np.random.Generator
) -> tuple[list[np.ndarray], ModuleOp]:
    """Returns operands with numbers of all sizes, so that some sums wrap around, and a program."""
    batch, rows, terms, columns, (turned_lhs, turned_rhs) = case
    shapes = (rows, terms), (terms, columns)
    turned = zip(shapes, (turned_lhs, turned_rhs), elements, strict=True)
    arrays = []
    for shape, is_turned, element in turned:
        bounds = np.iinfo(element)
        size = (*batch, *(shape[::-1] if is_turned else shape))
        arrays.append(rng.integers(bounds.min, bounds.max, size, element, endpoint=True))
    module = one_node(
        MatMulOp, types_of(arrays), transpose_lhs=turned_lhs, transpose_rhs=turned_rhs
    )
    return arrays, apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate")


def _expected(case: tuple, arrays: list[np.ndarray]) -> np.ndarray:
    """Returns the exact sums, less what does not fit into i32."""
    wide = [x.astype(np.int64) for x in arrays]
    a, b = (x.swapaxes(-1, -2) if t else x for x, t in zip(wide, case[-1], strict=True))
    return (a @ b).astype(np.int32)


@pytest.mark.parametrize(
    "machine", [PAIRS, QUADS, TILES, NARROW], ids=["pairs", "quads", "tiles", "narrow"]
)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_nests_in_numpy(case: tuple, machine: MachineDescription, rng: np.random.Generator):
    for elements in ELEMENTS:
        arrays, module = _operands(case, elements, rng)
        nests = apply(module, f"{set_machine(machine)},{nests_passes()}")
        (found,) = interpret(nests, arrays).values()
        np.testing.assert_array_equal(found, _expected(case, arrays))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_machine_code(case: tuple, threads: int, rng: np.random.Generator):
    machine = find_target().describe()
    small = replace(machine, l2_bytes=NARROW.l2_bytes)
    pairs = replace(small, int8_dots=(), has_int8_tiles=False)
    for elements in ELEMENTS:
        arrays, module = _operands(case, elements, rng)
        for described in (machine, pairs) if threads == 1 else (small,):
            (found,) = run_native(module, arrays, described, threads)
            np.testing.assert_array_equal(found, _expected(case, arrays))
