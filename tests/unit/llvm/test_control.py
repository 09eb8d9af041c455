"""Loops, branches and calls."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import CompileError
from glow.tests.support.kernels import Kernels, convert

SUM = """
func.func @sum(%bounds: memref<3xindex>, %x: memref<100xf32>, %out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %lower = memref.load %bounds[%c0] : memref<3xindex>
  %upper = memref.load %bounds[%c1] : memref<3xindex>
  %step = memref.load %bounds[%c2] : memref<3xindex>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %sum, %count = scf.for %i = %lower to %upper step %step iter_args(%s = %zero, %n = %zero)
      -> (f32, f32) {
    %v = memref.load %x[%i] : memref<100xf32>
    %s1 = arith.addf %s, %v : f32
    %n1 = arith.addf %n, %one : f32
    scf.yield %s1, %n1 : f32, f32
  }
  memref.store %sum, %out[%c0] : memref<2xf32>
  memref.store %count, %out[%c1] : memref<2xf32>
  return
}
"""


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(0, 100, 1), (3, 50, 7), (99, 100, 1), (5, 5, 1), (9, 2, 3), (0, 1, 50)],
)
def test_loop_with_bounds_known_at_run_time(lower: int, upper: int, step: int, rng):
    x = rng.standard_normal(100).astype(np.float32)
    out = np.zeros(2, np.float32)
    Kernels(SUM).sum(np.array([lower, upper, step]), x, out)
    chosen = x[lower:upper:step] if lower < upper else x[:0]
    np.testing.assert_allclose(out, [chosen.sum(), len(chosen)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("lower", "upper", "step"), [(0, 10, 1), (0, 10, 3), (4, 5, 1), (4, 7, 9), (6, 6, 2), (7, 3, 1)]
)
def test_loop_with_constant_bounds(lower: int, upper: int, step: int, rng):
    text = f"""
    func.func @f(%x: memref<10xf32>, %out: memref<1xf32>) {{
      %lower = arith.constant {lower} : index
      %upper = arith.constant {upper} : index
      %step = arith.constant {step} : index
      %c0 = arith.constant 0 : index
      %first = arith.constant 2.5 : f32
      %r = scf.for %i = %lower to %upper step %step iter_args(%s = %first) -> (f32) {{
        %v = memref.load %x[%i] : memref<10xf32>
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }}
      memref.store %r, %out[%c0] : memref<1xf32>
      return
    }}"""
    x = rng.standard_normal(10).astype(np.float32)
    out = np.zeros(1, np.float32)
    Kernels(text).f(x, out)
    np.testing.assert_allclose(out[0], 2.5 + x[lower:upper:step].sum(), rtol=1e-5, atol=1e-6)


def test_loop_over_integers(rng):
    text = """
    func.func @f(%n: memref<1xi32>, %out: memref<1xi32>) {
      %at = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %three = arith.constant 3 : i32
      %upper = memref.load %n[%at] : memref<1xi32>
      %sum = scf.for %i = %zero to %upper step %three iter_args(%s = %zero) -> (i32) : i32 {
        %t = arith.addi %s, %i : i32
        scf.yield %t : i32
      }
      memref.store %sum, %out[%at] : memref<1xi32>
      return
    }"""
    kernels = Kernels(text)
    for n in (-1, 0, 1, int(rng.integers(2, 100))):
        out = np.full(1, -1, np.int32)
        kernels.f(np.array([n], np.int32), out)
        assert out[0] == sum(range(0, n, 3))


def test_loops_that_run_once_or_never_leave_no_blocks():
    text = """
    func.func @f(%x: memref<10xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = arith.constant 1.0 : f32
      scf.for %i = %c0 to %c1 step %c1 {
        memref.store %v, %x[%i] : memref<10xf32>
      }
      scf.for %j = %c1 to %c1 step %c1 {
        memref.store %v, %x[%j] : memref<10xf32>
      }
      return
    }"""
    module = str(convert(text))
    assert "llvm.br" not in module
    assert module.count("llvm.store") == 1


def test_nested_loops_carry_several_values(rng):
    text = """
    func.func @matmul(%a: memref<5x7xf64>, %b: memref<7x3xf64>, %c: memref<5x3xf64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = arith.constant 5 : index
      %n = arith.constant 3 : index
      %k = arith.constant 7 : index
      %zero = arith.constant 0.0 : f64
      scf.for %i = %c0 to %m step %c1 {
        scf.for %j = %c0 to %n step %c1 {
          %sum, %last = scf.for %p = %c0 to %k step %c1 iter_args(%s = %zero, %l = %c0)
              -> (f64, index) {
            %x = memref.load %a[%i, %p] : memref<5x7xf64>
            %y = memref.load %b[%p, %j] : memref<7x3xf64>
            %xy = arith.mulf %x, %y : f64
            %t = arith.addf %s, %xy : f64
            scf.yield %t, %j : f64, index
          }
          memref.store %sum, %c[%i, %last] : memref<5x3xf64>
        }
      }
      return
    }"""
    a, b = rng.standard_normal((5, 7)), rng.standard_normal((7, 3))
    c = np.zeros((5, 3))
    Kernels(text).matmul(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12, atol=1e-12)


def test_carried_values_that_change_places():
    text = """
    func.func @fibonacci(%out: memref<2xi64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 10 : index
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %one) -> (i64, i64) {
        %z = arith.addi %x, %y : i64
        scf.yield %y, %z : i64, i64
      }
      memref.store %a, %out[%c0] : memref<2xi64>
      memref.store %b, %out[%c1] : memref<2xi64>
      return
    }"""
    out = np.zeros(2, np.int64)
    Kernels(text).fibonacci(out)
    assert out.tolist() == [55, 89]


@pytest.mark.parametrize("value", [-3.0, 0.0, 4.0, float("nan")])
def test_branches(value: float):
    text = """
    func.func @f(%x: memref<1xf32>, %out: memref<2xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %v = memref.load %x[%c0] : memref<1xf32>
      %positive = arith.cmpf ogt, %v, %zero : f32
      %a, %at = scf.if %positive -> (f32, index) {
        %w = arith.addf %v, %v : f32
        scf.yield %w, %c0 : f32, index
      } else {
        %negative = arith.cmpf olt, %v, %zero : f32
        %w = scf.if %negative -> (f32) {
          %n = arith.negf %v : f32
          scf.yield %n : f32
        } else {
          scf.yield %zero : f32
        }
        scf.yield %w, %c1 : f32, index
      }
      memref.store %a, %out[%at] : memref<2xf32>
      scf.if %positive {
        memref.store %v, %out[%c1] : memref<2xf32>
      }
      return
    }"""
    out = np.full(2, -1, np.float32)
    Kernels(text).f(np.array([value], np.float32), out)
    if value > 0:
        assert out.tolist() == [2 * value, value]
    else:
        assert out.tolist() == [-1, -value if value < 0 else 0]


def test_addresses_computed_in_a_branch_are_usable_behind_it(rng):
    text = """
    func.func @f(%x: memref<8x8xf32>, %out: memref<8x8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %limit = arith.constant 3 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %small = arith.cmpi slt, %i, %limit : index
        scf.for %j = %c0 to %c8 step %c1 {
          scf.if %small {
            %i1 = arith.addi %i, %c1 : index
            %v = memref.load %x[%i1, %j] : memref<8x8xf32>
            memref.store %v, %out[%i, %j] : memref<8x8xf32>
          } else {
            %i1 = arith.subi %i, %c1 : index
            %v = memref.load %x[%i1, %j] : memref<8x8xf32>
            memref.store %v, %out[%i, %j] : memref<8x8xf32>
          }
          %w = memref.load %out[%i, %j] : memref<8x8xf32>
          %d = arith.addf %w, %w : f32
          memref.store %d, %out[%i, %j] : memref<8x8xf32>
        }
      }
      return
    }"""
    x = rng.standard_normal((8, 8)).astype(np.float32)
    out = np.zeros((8, 8), np.float32)
    Kernels(text).f(x, out)
    rows = [i + 1 if i < 3 else i - 1 for i in range(8)]
    np.testing.assert_array_equal(out, 2 * x[rows])


def test_calls_pass_scalars_and_return_them(rng):
    text = """
    func.func private @square(%v: f32) -> f32 {
      %w = arith.mulf %v, %v : f32
      return %w : f32
    }
    func.func @f(%x: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c4 step %c1 {
        %v = memref.load %x[%i] : memref<4xf32>
        %w = func.call @square(%v) : (f32) -> f32
        memref.store %w, %x[%i] : memref<4xf32>
      }
      return
    }"""
    x = rng.standard_normal(4).astype(np.float32)
    expected = x * x
    Kernels(text).f(x)
    np.testing.assert_array_equal(x, expected)


PROGRAM = """
func.func private @add(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
  %y = vector.load %b[%c0] : memref<4xf32>, vector<4xf32>
  %z = arith.addf %x, %y : vector<4xf32>
  vector.store %z, %c[%c0] : memref<4xf32>, vector<4xf32>
  return
}
func.func @main(%weights: memref<256xi8>, %x: memref<4xf32>, %y: memref<4xf32>,
                %arena: memref<64xi8>) {
  %w = arith.constant 128 : index
  %a = arith.constant 16 : index
  %weight = memref.view %weights[%w][] : memref<256xi8> to memref<4xf32>
  %temporary = memref.view %arena[%a][] : memref<64xi8> to memref<4xf32>
  func.call @add(%x, %weight, %temporary) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  func.call @add(%temporary, %x, %y) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  return
}
"""


def test_program_runs_through_its_entry(rng):
    weights = np.zeros(256, np.uint8)
    x, w = (rng.standard_normal(4).astype(np.float32) for _ in range(2))
    weights[128:144] = w.view(np.uint8)
    y, arena = np.zeros(4, np.float32), np.full(64, 0xAB, np.uint8)
    io = np.array([x.ctypes.data, y.ctypes.data])
    Kernels(PROGRAM).glow_main(weights, io, arena)
    np.testing.assert_allclose(y, x + w + x, rtol=1e-6)


def test_only_a_main_over_memory_gets_an_entry():
    assert "glow_main" not in str(convert("func.func @main(%x: f32) {\n return\n}"))
    assert "glow_main" not in str(convert("func.func @kernel(%x: memref<1xf32>) {\n return\n}"))


UNSUPPORTED = {
    "no conversion is registered": """
        %r = "test.op"() : () -> i32""",
    "in @f": """
        %r = "test.op"() : () -> i32""",
    "expected a static offset": """
        %c0 = arith.constant 0 : index
        %y = memref.reinterpret_cast %x to offset: [%c0], sizes: [2], strides: [1]
            : memref<4xf32> to memref<2xf32, strided<[1], offset: ?>>""",
    "expected a last dimension with stride 1": """
        %c0 = arith.constant 0 : index
        %v = memref.reinterpret_cast %x to offset: [0], sizes: [2], strides: [2]
            : memref<4xf32> to memref<2xf32, strided<[2]>>
        %r = vector.load %v[%c0] : memref<2xf32, strided<[2]>>, vector<2xf32>""",
    "expected a positive step": """
        %c0 = arith.constant 0 : index
        scf.for %i = %c0 to %c0 step %c0 {
        }""",
    "expected a static shape": """
        %c4 = arith.constant 4 : index
        %a = memref.alloca(%c4) : memref<?xf32>""",
    "has no counterpart": """
        %r = arith.constant dense<1.0> : vector<2x2xf32>""",
}


@pytest.mark.parametrize("message", UNSUPPORTED)
def test_errors_name_the_operation_and_the_function(message: str):
    text = f"func.func @f(%x: memref<4xf32>) {{\n{UNSUPPORTED[message]}\nreturn\n}}"
    with pytest.raises(CompileError, match=message):
        convert(text)


def test_other_operations_in_a_module_are_an_error():
    with pytest.raises(CompileError, match=r"test\.op"):
        convert('"test.op"() : () -> ()')


def test_unstructured_control_flow_is_an_error():
    with pytest.raises(CompileError, match="several blocks"):
        convert("func.func @f() {\n cf.br ^bb1\n^bb1:\n return\n}")


WRITTEN_OUT = """
func.func @f(%x: memref<20xf32>, %out: memref<5xf32>) {
  %lower = arith.constant 2 : index
  %upper = arith.constant 17 : index
  %step = arith.constant 3 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %a0 = memref.load %x[%c0] : memref<20xf32>
  %b0 = memref.load %x[%c1] : memref<20xf32>
  %kept = memref.load %x[%c4] : memref<20xf32>
  %a, %b, %c, %d = scf.for %i = %lower to %upper step %step
      iter_args(%ai = %a0, %bi = %b0, %ci = %b0, %di = %kept) -> (f32, f32, f32, f32) {
    %v = memref.load %x[%i] : memref<20xf32>
    %w = arith.mulf %v, %ai : f32
    %n = arith.addf %w, %bi : f32
    scf.yield %bi, %n, %ai, %di : f32, f32, f32, f32
  } {written_out}
  memref.store %a, %out[%c0] : memref<5xf32>
  memref.store %b, %out[%c1] : memref<5xf32>
  memref.store %c, %out[%c2] : memref<5xf32>
  memref.store %d, %out[%c3] : memref<5xf32>
  return
}
"""


def test_loops_that_are_written_out(rng):
    """Iterations hand on results, arguments in another place, and an argument as it is."""
    x = rng.uniform(-1, 1, 20).astype(np.float32)
    out = np.zeros(5, np.float32)
    kernels = Kernels(WRITTEN_OUT)
    kernels.f(x, out)
    a, b, c = x[0], x[1], x[1]
    for i in range(2, 17, 3):
        a, b, c = b, x[i] * a + b, a
    np.testing.assert_allclose(out, [a, b, c, x[4], 0], rtol=0, atol=1e-6)
    assert "phi" not in kernels.ir
    assert kernels.ir.count("fmul") == 5
    assert "i64 14" in kernels.ir, "the loop variable is a number in each iteration"
    # the same loop as it is
    rolled = Kernels(WRITTEN_OUT.replace(" {written_out}", ""))
    rolled.f(x, again := np.zeros(5, np.float32))
    np.testing.assert_array_equal(again, out)
    assert rolled.ir.count("fmul") == 1


def test_loops_of_several_blocks_are_not_written_out(rng):
    text = """
    func.func @f(%x: memref<8xf32>, %out: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %zero = arith.constant 0.0 : f32
      %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
        %v = memref.load %x[%i] : memref<8xf32>
        %more = arith.cmpf ogt, %v, %zero : f32
        %t = scf.if %more -> (f32) {
          %sum = arith.addf %s, %v : f32
          scf.yield %sum : f32
        } else {
          scf.yield %s : f32
        }
        scf.yield %t : f32
      } {written_out}
      memref.store %r, %out[%c0] : memref<1xf32>
      return
    }
    """
    x, out = rng.standard_normal(8).astype(np.float32), np.zeros(1, np.float32)
    kernels = Kernels(text)
    kernels.f(x, out)
    np.testing.assert_allclose(out[0], x[x > 0].sum(), rtol=1e-6)
    assert "phi" in kernels.ir


def test_loops_of_unknown_length_are_not_written_out(rng):
    text = SUM.replace(
        "scf.yield %s1, %n1 : f32, f32\n  }", "scf.yield %s1, %n1 : f32, f32\n  } {written_out}"
    )
    x, out = rng.standard_normal(100).astype(np.float32), np.zeros(2, np.float32)
    Kernels(text).sum(np.array([3, 50, 7]), x, out)
    np.testing.assert_allclose(out, [x[3:50:7].sum(), 7], rtol=1e-5)
