"""Functions of the dialect to programs with their memory map, and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from glow.context import make_context
from glow.errors import CompileError
from glow.glow_dialects.vta import contents, programs
from glow.runtime.vta.assemble import assemble, disassemble
from glow.runtime.vta.container import write_program
from glow.runtime.vta.program import LayerRange, RegionRole
from glow.runtime.vta.target import binary
from glow.tests.support.vta_programs import CONFIGS, RandomProgram
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "vta.mlir"


def example(text: str | None = None) -> func.FuncOp:
    module = Parser(make_context(), text or EXAMPLE.read_text()).parse_module()
    module.verify()
    return next(programs(module))


def test_the_memory_map() -> None:
    program = assemble(example())
    assert [(r.name, r.kind, r.address, r.size) for r in program.regions] == [
        ("x", RegionRole.INPUT, 0, 64),
        ("w", RegionRole.CONSTANT, 256, 256),
        ("u", RegionRole.MICRO_OPS, 512, 4),
        ("y", RegionRole.OUTPUT, 1024, 64),
    ]
    x, w, u, y = program.regions
    assert (x.shape, x.dtype, x.tile) == ((4, 16), np.dtype("int8"), ())
    assert (y.shape, y.dtype) == ((4, 16), np.dtype("int8"))
    assert w.contents is not None
    assert w.contents.tolist() == [1] * 256
    assert u.contents is not None
    assert u.contents.tolist() == [0] * 4


def test_layers_reach_to_the_next() -> None:
    text = EXAMPLE.read_text().replace("push(store)", 'push(store) {vta.layer = "b"}')
    text = text.replace("[1, 1] push(compute)", '[1, 1] push(compute) {vta.layer = "a"}')
    program = assemble(example(text))
    assert program.layers == (LayerRange("a", 1, 6), LayerRange("b", 7, 9))
    assert '{vta.layer = "b"}' in str(disassemble(program))


@given(st.integers(0, 2**32), st.sampled_from([c for c in CONFIGS if c.uop_bits == 32]))
@settings(deadline=None, max_examples=30)
def test_programs_come_back(seed: int, config) -> None:
    program = assemble(RandomProgram(seed, config).build(8))
    module = disassemble(program)
    module.verify()
    again = assemble(next(programs(module)))
    np.testing.assert_array_equal(again.instructions, program.instructions)
    np.testing.assert_array_equal(again.micro_ops, program.micro_ops)
    assert [(r.name, r.kind, r.address, r.size) for r in again.regions] == [
        (r.name, r.kind, r.address, r.size) for r in program.regions
    ]


def test_without_a_memory_map_instructions_are_alone() -> None:
    function = RandomProgram(0, CONFIGS[0]).build(0)
    for region in contents(function)[0]:
        region.detach()
    module = ModuleOp([function])
    assert binary(module) == assemble(function).instructions.astype("<u8").tobytes()
    assert len(binary(module)) == 16


def test_one_program_is_expected() -> None:
    function = RandomProgram(0, CONFIGS[0]).build(0)
    other = function.clone()
    with pytest.raises(CompileError, match=r"expected one func.func .* found 2"):
        binary(ModuleOp([function, other]))


def test_overlapping_regions_are_refused() -> None:
    with pytest.raises(CompileError, match="'w' and 'u' of DRAM overlap"):
        assemble(example(EXAMPLE.read_text().replace("at 512", "at 500")))


def test_accesses_to_scratch_that_is_used_again_name_a_region_that_holds_them() -> None:
    text = EXAMPLE.read_text()
    text = text.replace(
        "%u = ",
        '%a = vta.region scratch "a" at 2048 bytes 256\n'
        '  %b = vta.region scratch "b" at 2112 bytes 64\n'
        '  %c = vta.region scratch "c" at 2048 bytes 64\n  %u = ',
    )
    stores = ["%a[0] size [1, 4]", "%a[4] size [1, 8]", "%b[0] size [1, 4]", "%a[12] size [1, 4]"]
    lines = [f"vta.store out[0] to {store}\n  " for store in stores]
    text = text.replace("vta.finish", f"{''.join(lines)}vta.finish")
    program = assemble(example(text))
    assert program.scratch_bytes == 256
    module = disassemble(program)
    module.verify()
    again = assemble(next(programs(module)))
    np.testing.assert_array_equal(again.instructions, program.instructions)
    found = str(module)
    for store in ("%a[4] size [1, 8]", "%b[0] size [1, 4]", "%a[12] size [1, 4]"):
        assert f"vta.store out[0] to {store}" in found


def test_bytes_on_standard_output(tmp_path: Path) -> None:
    """The text layer changes neither zeros nor line ends nor bytes above 127."""
    glow_opt = [sys.executable, "-m", "glow.tools.glow_opt", EXAMPLE, "-t", "vta-binary"]
    found = subprocess.run(glow_opt, capture_output=True, check=True).stdout
    write_program(tmp_path / "p.vta", assemble(example()))
    assert found == (tmp_path / "p.vta").read_bytes()
