"""Kernels are named by content and made once; `main` computes addresses and reserves scratch."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.glow_inst.stacked import CopyOp
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.plan_attributes import ARENA_SIZE
from glow.lowering.kernels.scratch import scratch_places
from glow.runtime.memory_plan import function_bytes
from glow.runtime.signature import main_function
from glow.tests.support.native import (
    apply,
    check_native,
    kernels_passes,
    kernels_pipeline,
    parse,
    run_native,
)
from glow.tests.support.random_graphs import BOTH, random_graph, random_inputs
from glow.tests.support.rounding import rounding_slack
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32

T = "memref<40xf32>"


def program(*lines: str, sizes: str = T) -> ModuleOp:
    text = "\n".join(lines)
    return parse(f"""
    func.func @main(%x: {sizes} {{glow.name = "x", glow.qualifier = "in"}},
                    %y: {sizes} {{glow.name = "y", glow.qualifier = "out"}}) {{
      {text}
      func.return
    }}""")


def lower(module: ModuleOp, options: str = "") -> ModuleOp:
    return apply(module, f"glow-set-machine{options},glow-allocate,{kernels_passes()}")


def kernel_names(module: ModuleOp) -> list[str]:
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    return [f.sym_name.data for f in functions if f.sym_name.data != "main"]


def stacked(value: str, target: str, source: str, t: str = T) -> str:
    return f"""glow_inst.stacked @out {target}, @in {source} : {t}, {t} {{
    ^bb0(%a: f32):
      %{value} = glow.exp %a : (f32) -> f32
      glow_inst.yield %{value} : f32
    }}"""


def test_equal_instructions_share_a_kernel():
    module = program(
        f"%b = glow_inst.alloc_activation : {T}",
        stacked("p", "%b", "%x"),
        stacked("another_name", "%y", "%b"),
        f"glow_inst.dealloc_activation %b : {T}",
    )
    (name,) = kernel_names(lower(module))
    assert name.startswith("k_stacked_")
    assert len(name) == len("k_stacked_") + 12


def test_names_depend_on_everything_that_code_depends_on():
    one = "memref<41xf32>"
    names = [
        kernel_names(lower(program(stacked("p", "%y", "%x")))),
        kernel_names(lower(program(stacked("p", "%y", "%x", one), sizes=one))),
        kernel_names(lower(program(stacked("p", "%y", "%x")), "{vector-bits=256}")),
        kernel_names(lower(program(stacked("p", "%y", "%x").replace("glow.exp", "glow.neg")))),
        kernel_names(lower(program(f"glow_inst.exp @out %y, @in %x : {T}, {T}"))),
        kernel_names(lower(program(f"glow_inst.leaky_relu @out %y, @in %x alpha 0.5 : {T}, {T}"))),
        kernel_names(lower(program(f"glow_inst.leaky_relu @out %y, @in %x alpha 0.6 : {T}, {T}"))),
    ]
    assert len({name for (name,) in names}) == len(names)


def test_names_do_not_depend_on_the_place_in_memory():
    def with_hole(size: int) -> ModuleOp:
        return program(
            f"%hole = glow_inst.alloc_activation : memref<{size}xi8>",
            f"%b = glow_inst.alloc_activation : {T}",
            stacked("p", "%b", "%x"),
            f"glow_inst.copy @out %y, @in %b : {T}, {T}",
            f"glow_inst.dealloc_activation %b : {T}",
            f"glow_inst.dealloc_activation %hole : memref<{size}xi8>",
        )

    assert kernel_names(lower(with_hole(8))) == kernel_names(lower(with_hole(8000)))


def test_scratch_enlarges_the_arena():
    t = "memref<1x5000xf32>"
    text = program(f"glow_inst.softmax @out %y, @in %x axis 1 : {t}, {t}", sizes=t)
    module = apply(text, "glow-allocate")
    before = function_bytes(main_function(module), ARENA_SIZE)
    apply(module, kernels_passes())
    # the exponentials, on cache lines of their own; their maximum and their sum are on the stack
    assert function_bytes(main_function(module), ARENA_SIZE) == before + 20032


def test_unplanned_memory_is_an_error():
    with pytest.raises(CompileError, match="run glow-allocate"):
        apply(program(f"glow_inst.copy @out %y, @in %x : {T}, {T}"), "glow-build-nests")


@pytest.mark.parametrize("options", ["vector-bits=100", "vector-bits=32", "vector-registers=3"])
def test_impossible_machines_are_an_error(options: str):
    with pytest.raises(CompileError, match=options.split("=")[0]):
        lower(program(f"glow_inst.copy @out %y, @in %x : {T}, {T}"), f"{{{options}}}")


def test_a_module_without_main_is_an_error():
    with pytest.raises(CompileError, match="called main"):
        apply(ModuleOp([]), "glow-build-nests")


def test_operators_without_a_kernel_are_an_error():
    t, c = "memref<1x40xf32>", "memref<40xf32>"
    text = f"glow_inst.batch_norm @out %y, @in %x, @in %w, @in %w, @in %w, @in %w : {t}, {t}" + (
        f", {c}" * 4
    )
    weight = ", ".join(["1.0"] * 40)
    module = program(
        f"%w = glow_inst.weight dense<[{weight}]> : tensor<40xf32> : {c}", text, sizes=t
    )
    with pytest.raises(CompileError, match=r"no kernel for glow_inst\.batch_norm"):
        lower(module)


MACHINES = st.sampled_from(
    [MachineDescription(512), MachineDescription(256, 16), MachineDescription(128, 16, False)]
)
PIPELINES = st.sampled_from(
    [
        "glow-irgen,glow-allocate",
        "glow-schedule-nodes,glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-share-buffers,"
        "glow-eliminate-dead-stores,glow-allocate",
    ]
)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.integers(1, 20), st.booleans(), MACHINES, PIPELINES)
def test_random_networks(
    seed: int, steps: int, single: bool, machine: MachineDescription, pipeline: str
):
    module = random_graph(seed, steps, (f32,) if single else BOTH)
    inputs = list(random_inputs(module, seed).values())
    slack = rounding_slack(module, inputs)
    apply(module, f"glow-lower-nodes{{backend=cpu}},{pipeline}")
    check_native(module, inputs, machine, 1e-5, slack=slack)


def test_kernels_verify_and_parse_back():
    module = random_graph(7, 15, BOTH)
    apply(module, "glow-lower-nodes{backend=cpu},glow-irgen,glow-allocate")
    apply(module, kernels_pipeline(MachineDescription()))
    text = str(module)
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("taken", "size", "expected"),
    [
        ([], 100, 0),
        ([(64, 128)], 64, 0),
        ([(64, 128)], 65, 128),
        ([(0, 100), (192, 256)], 64, 128),
        ([(0, 100), (192, 256)], 65, 256),
        ([(0, 512), (64, 128)], 10, 512),
    ],
)
def test_scratch_lies_between_buffers_that_are_alive(
    taken: list[tuple[int, int]], size: int, expected: int
):
    buffers = [f"%b{i}" for i in range(len(taken))]
    lines = [
        f"{b} = glow_inst.alloc_activation {{offset = {start} : i64}} : memref<{end - start}xi8>"
        for b, (start, end) in zip(buffers, taken, strict=True)
    ]
    use = f"glow_inst.copy @out %y, @in %x : {T}, {T}"
    types = [f"memref<{end - start}xi8>" for start, end in taken]
    gone = [f"glow_inst.dealloc_activation {b} : {t}" for b, t in zip(buffers, types, strict=True)]
    ops = list(main_function(program(*lines, use, *gone, use)).body.block.ops)
    first, second = [op for op in ops if isinstance(op, CopyOp)]
    places = scratch_places(ops, {first: size, second: 1})
    assert places == {first: expected, second: 0}


def test_numbers_are_rounded_to_their_type(rng: np.random.Generator):
    """1.0004 is 1 in f16, and f16 has no numbers between 1000 and 1000.5."""
    t = "memref<37xf16>"
    module = program(
        f"""glow_inst.stacked @out %y, @in %x : {t}, {t} {{
        ^bb0(%a: f16):
          %c = glow.splat value 1.0004 : f16
          %p = glow.mul %a, %c : (f16, f16) -> f16
          glow_inst.yield %p : f16
        }}""",
        sizes=t,
    )
    x = rng.uniform(1000, 2000, 37).astype(np.float16)
    (found,) = run_native(apply(module, "glow-allocate"), [x])
    np.testing.assert_array_equal(found, x)
