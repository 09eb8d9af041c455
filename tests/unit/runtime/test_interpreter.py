"""The interpreter: graphs, instruction programs, and programs that break the rules of memory."""

from __future__ import annotations

import gc
import weakref

import glow
import ml_dtypes
import numpy as np
import pytest
from glow.context import make_context
from glow.errors import CompileError, InputError, ModelError
from glow.interface.backend import find_backend
from glow.runtime.interpreter import interpret
from glow.semantics.numpy_algebra import multiply_add_bytes
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.parser import Parser

CONTEXT = make_context()

GRAPH = """
func.func @main(%x: tensor<2x3xf32> {glow.name = "data_0"}, %y: tensor<3xi1> {glow.name = "mask"})
    -> (tensor<2x3xf32> {glow.name = "sum_1"}, tensor<3xi1> {glow.name = "mask_2"}) {
  %c = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %s = glow.add %x, %c : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %s, %y : tensor<2x3xf32>, tensor<3xi1>
}
"""


def parse(text: str) -> ModuleOp:
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    return module


def program(body: str, arguments: str = "", attributes: str = "") -> ModuleOp:
    """Returns a program from `%x`, two numbers, to `%y`, two numbers."""
    return parse(f"""
func.func @main(%x: memref<2xf32> {{glow.name = "x", glow.qualifier = "in"}},
                %y: memref<2xf32> {{glow.name = "y", glow.qualifier = "out"}}{arguments})
    attributes {{{attributes}}} {{
  {body}
  func.return
}}""")


X = np.array([1.0, -2.0], np.float32)


def run(module: ModuleOp) -> list[float]:
    return interpret(module, [X])["y"].tolist()


def test_graph_by_name_and_in_order():
    x, mask = np.ones((2, 3), np.float32), np.array([True, False, True])
    results = interpret(parse(GRAPH), {"mask": mask, "data_0": x})
    assert list(results) == ["sum_1", "mask_2"]
    np.testing.assert_array_equal(results["sum_1"], np.arange(2, 8).reshape(2, 3))
    assert results["mask_2"].tolist() == mask.tolist()
    in_order = interpret(parse(GRAPH), [x, mask])
    np.testing.assert_array_equal(in_order["sum_1"], results["sum_1"])


def test_results_are_fresh():
    x, mask = np.ones((2, 3), np.float32), np.array([True, False, True])
    results = interpret(parse(GRAPH), [x, mask])
    results["mask_2"][0] = False
    assert mask[0]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "missing input 'data_0', 'mask'"),
        ({"data_0": X, "mask": X, "extra": X}, "no input is called 'extra'"),
        ([X, np.zeros(3, np.bool_)], r"input 'data_0': expected shape \(2, 3\), found \(2,\)"),
        ([np.zeros((2, 3)), np.zeros(3, np.bool_)], "expected dtype float32, found float64"),
        ([X, X, X], "expected at most 2 inputs, found 3"),
    ],
)
def test_wrong_inputs(inputs, message: str):
    with pytest.raises(InputError, match=message):
        interpret(parse(GRAPH), inputs)


def test_values_without_names():
    module = parse("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.neg %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}""")
    assert interpret(module, {"input_0": X})["output_0"].tolist() == [-1, 2]


def test_observer_sees_every_value():
    seen: dict[str | None, list[float]] = {}

    def observe(value: SSAValue, array: np.ndarray) -> None:
        seen[value.name_hint] = array.tolist()

    interpret(parse(GRAPH), [np.ones((2, 3), np.float32), np.zeros(3, np.bool_)], observe)
    assert list(seen) == ["x", "y", "c", "s"]
    assert seen["s"] == [[2, 3, 4], [5, 6, 7]]


def test_values_are_freed_after_their_last_use():
    module = parse("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.neg %x : (tensor<2xf32>) -> tensor<2xf32>
  %unused = glow.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = glow.neg %a : (tensor<2xf32>) -> tensor<2xf32>
  %c = glow.neg %b : (tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}""")
    alive: dict[str | None, weakref.ref[np.ndarray]] = {}

    def observe(value: SSAValue, array: np.ndarray) -> None:
        gc.collect()
        if value.name_hint == "c":
            assert [n for n, r in alive.items() if r() is not None and n != "x"] == ["b"]
        alive[value.name_hint] = weakref.ref(array)

    interpret(module, [X], observe)
    assert set(alive) == {"x", "a", "unused", "b", "c"}


def test_nan_runs_silently(recwarn: pytest.WarningsRecorder):
    module = parse("""
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xi8> {
  %a = glow.softmax %x axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = glow.log %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = glow.cast %b : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %c : tensor<2x3xi8>
}""")
    x = np.array([[np.nan, 1, 2], [np.inf, -np.inf, -1e30]], np.float32)
    assert interpret(module, [x])["output_0"].dtype == np.int8
    assert not recwarn.list


def test_other_operations_are_refused():
    module = parse("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "test.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}""")
    with pytest.raises(CompileError, match=r"found test\.op"):
        interpret(module, [X])


def test_constant_in_an_absent_file(tmp_path):
    module = parse(f"""
func.func @main() -> tensor<1xf32> {{
  %y = glow.constant #glow.blob<"{tmp_path}/absent.bin", 0, 4> : tensor<1xf32>
  func.return %y : tensor<1xf32>
}}""")
    with pytest.raises(ModelError, match=r"cannot read a constant: .*absent\.bin"):
        interpret(module, [])


def test_weight_in_a_short_file(tmp_path):
    (tmp_path / "short.bin").write_bytes(b"1234567")
    blob = f'#glow.blob<"{tmp_path}/short.bin", 0, 8>'
    module = program(f"%w = glow_inst.weight {blob} : memref<2xf32>")
    with pytest.raises(ModelError, match="has 7 bytes, but a constant needs 8"):
        run(module)


def test_module_without_main():
    with pytest.raises(ModelError, match="expected a module with a function @main"):
        interpret(ModuleOp([]), [])


def test_program_with_views_of_weights_and_buffers():
    module = program("""
  %w = glow_inst.weight dense<[10.0, 20.0, 30.0]> : tensor<3xf32> : memref<3xf32>
  %end = glow_inst.tensor_view %w : memref<3xf32> to memref<2xf32, strided<[-1], offset: 2>>
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  %column = glow_inst.tensor_view %a : memref<2x2xf32> to memref<2xf32, strided<[2], offset: 1>>
  glow_inst.add @out %column, @in %x, @in %end
    : memref<2xf32, strided<[2], offset: 1>>, memref<2xf32>, memref<2xf32, strided<[-1], offset: 2>>
  glow_inst.copy @out %y, @in %column : memref<2xf32>, memref<2xf32, strided<[2], offset: 1>>
  glow_inst.dealloc_activation %a : memref<2x2xf32>""")
    assert run(module) == [31, 18]


def test_stacked_instruction_in_place():
    module = program("""
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.copy @out %a, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.stacked @out %y, @inout %a, @in %x : memref<2xf32>, memref<2xf32>, memref<2xf32> {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.splat value 3.0 : f32
    %3 = glow.mul %0, %2 : (f32, f32) -> f32
    %4 = glow.add %3, %1 : (f32, f32) -> f32
    glow_inst.yield %4, %2 : f32, f32
  }
  glow_inst.add @out %y, @in %a, @in %x : memref<2xf32>, memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>""")
    assert run(module) == [4, 1]


def test_epilogue_that_accumulates():
    module = program("""
  %w = glow_inst.weight dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : memref<2x2xf32>
  %zero = glow_inst.weight dense<[0.5, 0.25]> : tensor<2xf32> : memref<2xf32>
  %row = glow_inst.tensor_view %x : memref<2xf32> to memref<1x2xf32>
  %out = glow_inst.tensor_view %y : memref<2xf32> to memref<1x2xf32>
  glow_inst.splat @out %y value 100.0 : memref<2xf32>
  glow_inst.fully_connected @inout %out, @in %row, @in %w, @in %zero
    : memref<1x2xf32>, memref<1x2xf32>, memref<2x2xf32>, memref<2xf32>
    epilogue @in %row : memref<1x2xf32> {
  ^bb0(%acc: f32, %old: f32, %r: f32):
    %2 = glow.add %acc, %old : (f32, f32) -> f32
    %3 = glow.sub %2, %r : (f32, f32) -> f32
    glow_inst.yield %3 : f32
  }""")
    assert run(module) == [-3 + 0.5 + 100 - 1, -5 + 0.25 + 100 + 2]


def test_other_elements_in_memory():
    module = parse("""
func.func @main(%x: memref<3xbf16> {glow.name = "x", glow.qualifier = "in"},
                %y: memref<3xi1> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<[true, false, true]> : tensor<3xi1> : memref<3xi1>
  %a = glow_inst.alloc_activation : memref<3xi1>
  glow_inst.less @out %a, @in %x, @in %x : memref<3xi1>, memref<3xbf16>, memref<3xbf16>
  glow_inst.or @out %y, @in %a, @in %w : memref<3xi1>, memref<3xi1>, memref<3xi1>
  glow_inst.dealloc_activation %a : memref<3xi1>
  func.return
}""")
    result = interpret(module, [np.ones(3, ml_dtypes.bfloat16)])["y"]
    assert result.dtype == np.bool_
    assert result.tolist() == [True, False, True]


def test_outputs_that_nothing_writes_are_garbage():
    assert np.isnan(run(program(""))).all()


def test_fresh_buffers_are_garbage():
    module = program("""
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.copy @out %y, @in %a : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>""")
    assert np.isnan(run(module)).all()


PLANNED = """
  %a = glow_inst.alloc_activation {{offset = 0 : i64}} : memref<2xf32>
  glow_inst.copy @out %a, @in %x : memref<2xf32>, memref<2xf32>
  %b = glow_inst.alloc_activation {{offset = {offset} : i64}} : memref<2xf32>
  glow_inst.neg @out %b, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.add @out %y, @in %a, @in %b : memref<2xf32>, memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  glow_inst.dealloc_activation %b : memref<2xf32>"""


def test_planned_memory():
    good = program(PLANNED.format(offset=64), attributes="glow.arena_size = 128 : i64")
    assert run(good) == [0, 0]


def test_a_plan_that_overlaps_shows():
    bad = program(PLANNED.format(offset=4), attributes="glow.arena_size = 128 : i64")
    assert run(bad) != [0, 0]


def test_a_plan_beyond_the_arena_is_refused():
    bad = program(PLANNED.format(offset=64), attributes="glow.arena_size = 64 : i64")
    with pytest.raises(CompileError, match="expected a buffer inside the arena"):
        run(bad)


def test_memory_is_garbage_after_its_life():
    module = program(
        """
  %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<2xf32>
  glow_inst.copy @out %a, @in %x : memref<2xf32>, memref<2xf32>
  %v = glow_inst.tensor_view %a : memref<2xf32> to memref<2xf32, strided<[0]>>
  glow_inst.dealloc_activation %a : memref<2xf32>
  glow_inst.copy @out %y, @in %v : memref<2xf32>, memref<2xf32, strided<[0]>>""",
        attributes="glow.arena_size = 64 : i64",
    )
    assert np.isnan(run(module)).all()


def test_an_operator_may_not_overwrite_its_operands():
    module = program("""
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.splat @out %a value 1.0 : memref<4xf32>
  %low = glow_inst.tensor_view %a : memref<4xf32> to memref<3xf32>
  %high = glow_inst.tensor_view %a : memref<4xf32> to memref<3xf32, strided<[1], offset: 1>>
  glow_inst.neg @out %low, @in %high : memref<3xf32>, memref<3xf32, strided<[1], offset: 1>>
  glow_inst.dealloc_activation %a : memref<4xf32>""")
    with pytest.raises(CompileError, match="writes to memory that another operand still needs"):
        run(module)


def test_interleaved_views_do_not_overlap():
    module = program("""
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.splat @out %a value 7.0 : memref<4xf32>
  %even = glow_inst.tensor_view %a : memref<4xf32> to memref<2xf32, strided<[2]>>
  %odd = glow_inst.tensor_view %a : memref<4xf32> to memref<2xf32, strided<[2], offset: 1>>
  glow_inst.neg @out %even, @in %odd
    : memref<2xf32, strided<[2]>>, memref<2xf32, strided<[2], offset: 1>>
  glow_inst.copy @out %y, @in %even : memref<2xf32>, memref<2xf32, strided<[2]>>
  glow_inst.dealloc_activation %a : memref<4xf32>""")
    assert run(module) == [-7, -7]


def test_argument_without_qualifier():
    module = program("", arguments=', %z: memref<2xf32> {glow.name = "z"}')
    with pytest.raises(CompileError, match=r"expected argument 2 of main with glow\.qualifier"):
        run(module)


def test_observer_sees_what_instructions_write():
    seen: list[tuple[str | None, list[float]]] = []
    module = program("glow_inst.neg @out %y, @in %x : memref<2xf32>, memref<2xf32>")
    interpret(module, [X], lambda value, array: seen.append((value.name_hint, array.tolist())))
    assert seen == [("y", [-1, 2])]


def test_backend():
    backend = find_backend("interpreter", threads=2, cache=False)
    assert not backend.stages()
    module = parse(GRAPH)
    loaded = backend.compile({"imported": module})
    inputs = [np.ones((2, 3), np.float32), np.array([True, False, True])]
    found = loaded.run(inputs)
    expected = list(interpret(module, inputs).values())
    assert len(found) == 2
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("element", ["f8E8M0FNU", "f32", "i16", "i1"])
def test_rows_behind_the_last_step_of_a_loop(element: str, rng: np.random.Generator):
    """Where an element type has no 0, the rows are what 0 is converted to, as in programs."""
    module = parse(f"""
func.func @main(%n: tensor<i64> {{glow.name = "n"}}, %x: tensor<7x{element}> {{glow.name = "x"}})
    -> (tensor<3x7x{element}> {{glow.name = "y"}}) {{
  %y, %count = glow.loop trips(%n) reads(%x) steps 3
      : (tensor<i64>, tensor<7x{element}>) -> (tensor<3x7x{element}>, tensor<i32>) {{
  ^bb0(%i: tensor<i64>, %0: tensor<7x{element}>):
    glow.yield %0 : tensor<7x{element}>
  }}
  func.return %y : tensor<3x7x{element}>
}}""")
    (dtype,) = (i.dtype for i in glow.compile(module).get_inputs() if i.name == "x")
    x = rng.integers(1, 9, 7).astype(dtype)
    inputs = {"n": np.array(2, np.int64), "x": x}
    wanted = np.stack([x, x, np.zeros(7).astype(dtype)])
    for found in (interpret(module, inputs)["y"], glow.compile(module).run(["y"], inputs)[0]):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        assert found.tobytes() == wanted.tobytes()


def test_programs_on_narrow_floats_and_scalar_operands(rng: np.random.Generator):
    x = rng.integers(-4, 4, (3, 5)).astype(ml_dtypes.float8_e5m2)
    view = program(
        "glow_inst.neg @out %y, @in %x : memref<2xf32>, memref<2xf32>",
        ', %a: memref<3x5xf8E5M2> {glow.name = "a", glow.qualifier = "in"}',
    )
    assert interpret(view, {"x": X, "a": x})["y"].tolist() == [-1, 2]
    a, b = (rng.integers(-(2**31), 2**31, (7, 3)).astype(np.int32) for _ in range(2))
    c = np.array(rng.integers(-(2**31), 2**31), np.int32)
    np.testing.assert_array_equal(
        multiply_add_bytes(a, b, c), multiply_add_bytes(a, b, np.broadcast_to(c, a.shape))
    )
