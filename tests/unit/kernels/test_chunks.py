"""Reductions in chunks: sums wait where a nest writes, and its body follows the last chunk."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.machine import MachineDescription
from glow.tests.support.native import apply, check_native, nests_passes, parse, set_machine
from xdsl.dialects.builtin import ModuleOp

# machines whose first cache holds the filters of a part of the channels, and the sizes of windows
CASES = [
    (MachineDescription(256, 16, True, l1_bytes=16 << 10), 1),
    (MachineDescription(512, 32, True, l1_bytes=32 << 10), 1),
    (MachineDescription(512, 32, True, l1_bytes=64 << 10), 3),
]


def convolution(
    block: int, planes: int, blocks: int, size: int, kernel: int, in_place: bool
) -> ModuleOp:
    """Returns a convolution that adds its bias and `r`, perhaps where it writes, and rectifies."""
    inputs = f"memref<1x{planes}x{size + kernel - 1}x{size + kernel - 1}x{block}xf32>"
    filters = f"memref<{blocks}x{planes}x{kernel}x{kernel}x{block}x{block}xf32>"
    bias, result = f"memref<{blocks}x{block}xf32>", f"memref<1x{blocks}x{size}x{size}x{block}xf32>"
    copy = f"glow_inst.copy @out %y, @in %r : {result}, {result}" if in_place else ""
    out, read = ("@inout", "") if in_place else ("@out", f"@in %r : {result}")
    return parse(f"""
    func.func @main(%x: {inputs} {{glow.name = "x", glow.qualifier = "in"}},
        %w: {filters} {{glow.name = "w", glow.qualifier = "in"}},
        %b: {bias} {{glow.name = "b", glow.qualifier = "in"}},
        %r: {result} {{glow.name = "r", glow.qualifier = "in"}},
        %y: {result} {{glow.name = "y", glow.qualifier = "out"}}) {{
      {copy}
      glow_inst.blocked_convolution {out} %y, @in %x, @in %w, @in %b
          : {result}, {inputs}, {filters}, {bias} epilogue {read} {{
      ^bb0(%0: f32, %1: f32):
        %2 = glow.add %1, %0 : (f32, f32) -> f32
        %3 = glow.relu %2 : (f32) -> f32
        glow_inst.yield %3 : f32
      }}
      func.return
    }}""")


def is_in_chunks(module: ModuleOp, machine: MachineDescription) -> bool:
    passes = f"{set_machine(machine)},{nests_passes()}"
    return "chunks = <" in str(apply(module.clone(), passes))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("machine", "kernel"), CASES, ids=["256", "512", "512 of windows"])
def test_a_body_follows_the_last_chunk(
    machine: MachineDescription, kernel: int, in_place: bool, threads: int, rng: np.random.Generator
):
    block, size = machine.channel_block, int(rng.integers(11, 16))
    planes, blocks = 12 * int(rng.integers(2, 5)), int(rng.choice([5, 8]))
    module = convolution(block, planes, blocks, size, kernel, in_place)
    apply(module, "glow-allocate")
    wide = size + kernel - 1
    arrays = [
        rng.standard_normal(shape).astype(np.float32)
        for shape in (
            (1, planes, wide, wide, block),
            (blocks, planes, kernel, kernel, block, block),
            (blocks, block),
            (1, blocks, size, size, block),
        )
    ]
    # the sums of a chunk would take the place of what a body in place adds
    assert is_in_chunks(module, machine) is not in_place
    check_native(module, arrays, machine, 2e-5, threads=threads)
