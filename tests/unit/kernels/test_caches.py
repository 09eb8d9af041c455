"""Limits of bytes follow from the machine's caches, and kernels are known by them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from glow.glow_dialects.costs import near_bytes, prefetched_bytes
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.host_machine import describe
from glow.lowering.kernels.schedules.tile_blocks import choose_blocks
from glow.tests.support.graph_text import parse, run
from xdsl.dialects import func

KERNELS = (
    "glow-set-machine{{l2-bytes={}}},glow-irgen,glow-eliminate-copies,glow-allocate,"
    "glow-build-nests,glow-split-reductions,glow-schedule-nests,glow-generate-loops"
)
GRAPH = """
func.func @main(%x: tensor<1x8x20x20x16xf32>, %w: tensor<8x8x1x1x16x16xf32>,
    %b: tensor<8x16xf32>) -> tensor<1x8x20x20x16xf32> {
  %y = glow_cpu.blocked_convolution %x, %w, %b
     : (tensor<1x8x20x20x16xf32>, tensor<8x8x1x1x16x16xf32>, tensor<8x16xf32>)
     -> tensor<1x8x20x20x16xf32>
  func.return %y : tensor<1x8x20x20x16xf32>
}
"""


def kernel_of(l2_bytes: int) -> str:
    """Returns the name of the kernel of the convolution."""
    module = run(KERNELS.format(l2_bytes), parse(GRAPH))
    kernel = next(op for op in module.ops if isinstance(op, func.FuncOp))
    return kernel.sym_name.data


def test_kernels_for_other_caches_have_other_names():
    assert len({kernel_of(size) for size in (1 << 18, 1 << 20, 1 << 24)}) == 3
    assert kernel_of(1 << 24) == kernel_of(1 << 24)


def test_limits_grow_with_the_cache():
    machine = MachineDescription()
    twice = replace(machine, l2_bytes=2 * machine.l2_bytes)
    assert near_bytes(twice) == 2 * near_bytes(machine) < twice.l2_bytes
    assert prefetched_bytes(twice) == 2 * prefetched_bytes(machine) < near_bytes(machine)
    assert twice.kernel_identity() != machine.kernel_identity()


def test_the_first_cache_is_part_of_a_machine():
    machine = replace(MachineDescription(), l1_bytes=48 << 10)
    assert machine.kernel_identity() != MachineDescription().kernel_identity()


@pytest.mark.parametrize("features", [["avx512f", "avx512bw", "avx512vl"], ["avx2"], ["neon"], []])
def test_processors_that_are_not_here_have_caches(features: list[str]):
    machine = describe(dict.fromkeys(features, True))
    assert 1 << 18 <= machine.l2_bytes <= 1 << 21
    assert machine.l1_bytes < machine.l2_bytes < machine.l3_bytes


def test_winograd_blocks_fit_into_the_cache():
    small, large = (
        choose_blocks(
            (56, 56), (4, 4), 36 * 4 * 128, 36 * 4 * 64 * 64, MachineDescription(l2_bytes=1 << n)
        )
        for n in (18, 23)
    )
    assert small.tiles < large.tiles == 14 * 14
