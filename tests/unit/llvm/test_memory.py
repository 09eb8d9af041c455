"""Views, strides, element types in memory, masks, gathers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from glow.errors import CompileError
from glow.tests.support.kernels import Kernels, convert

ELEMENTS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def random_array(element: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    dtype = ELEMENTS[element]
    if element[0] in "fb":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2 if element == "i1" else 100, shape).astype(dtype)


@pytest.mark.parametrize("element", ELEMENTS)
def test_every_element_type_is_copied(element: str, rng):
    t = f"memref<3x5x{element}>"
    text = f"""
    func.func @scalar(%x: {t}, %y: {t}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      scf.for %i = %c0 to %c3 step %c1 {{
        scf.for %j = %c0 to %c5 step %c1 {{
          %v = memref.load %x[%i, %j] : {t}
          memref.store %v, %y[%i, %j] : {t}
        }}
      }}
      return
    }}
    func.func @vector(%x: {t}, %y: {t}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %i = %c0 to %c3 step %c1 {{
        %v = vector.load %x[%i, %c1] : {t}, vector<4x{element}>
        vector.store %v, %y[%i, %c1] : {t}, vector<4x{element}>
      }}
      return
    }}"""
    kernels = Kernels(text)
    x = random_array(element, (3, 5), rng)
    for name, columns in (("scalar", slice(0, 5)), ("vector", slice(1, 5))):
        y = np.zeros_like(x)
        getattr(kernels, name)(x, y)
        np.testing.assert_array_equal(y[:, columns], x[:, columns])
        assert not y[:, : columns.start].any()


@pytest.mark.parametrize("count", [0, 1, 5, 8, 11])
@pytest.mark.parametrize("element", ["f32", "f16", "i8", "i1"])
def test_masked_tails(element: str, count: int, rng):
    t, v = f"memref<8x{element}>", f"vector<8x{element}>"
    text = f"""
    func.func @f(%n: memref<1xindex>, %x: {t}, %y: {t}) {{
      %c0 = arith.constant 0 : index
      %count = memref.load %n[%c0] : memref<1xindex>
      %mask = vector.create_mask %count : vector<8xi1>
      %v = vector.load %x[%c0] : {t}, {v}
      vector.maskedstore %y[%c0], %mask, %v : {t}, vector<8xi1>, {v}
      return
    }}
    func.func @constant(%n: memref<1xindex>, %x: {t}, %y: {t}) {{
      %c0 = arith.constant 0 : index
      %count = arith.constant {count} : index
      %mask = vector.create_mask %count : vector<8xi1>
      %v = vector.load %x[%c0] : {t}, {v}
      vector.maskedstore %y[%c0], %mask, %v : {t}, vector<8xi1>, {v}
      return
    }}"""
    kernels = Kernels(text)
    x, old = (random_array(element, (8,), rng) for _ in range(2))
    expected = np.concatenate([x[:count], old[count:]])
    for name in ("f", "constant"):
        y = old.copy()
        getattr(kernels, name)(np.array([count]), x, y)
        np.testing.assert_array_equal(y, expected)


def gather(stride: int) -> str:
    layout = f"strided<[40, {stride}], offset: 20>"
    return f"""
    func.func @gather(%x: memref<2x8xf32, {layout}>, %at: memref<8xindex>, %m: memref<8xi1>,
                      %y: memref<8xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %offsets = vector.load %at[%c0] : memref<8xindex>, vector<8xindex>
      %mask = vector.load %m[%c0] : memref<8xi1>, vector<8xi1>
      %none = arith.constant dense<-7.0> : vector<8xf32>
      %v = glow_vec.gather %x[%c1, %c0] [%offsets], %mask, %none
          : memref<2x8xf32, {layout}>, vector<8xindex>, vector<8xi1>, vector<8xf32>
      vector.store %v, %y[%c0] : memref<8xf32>, vector<8xf32>
      return
    }}"""


def test_gather_counts_elements_of_the_last_dimension(rng):
    x = rng.standard_normal(100).astype(np.float32)
    offsets = rng.permutation(8)
    mask = rng.integers(0, 2, 8).astype(bool)
    y = np.zeros(8, np.float32)
    Kernels(gather(stride=1)).gather(x, offsets, mask, y)
    np.testing.assert_array_equal(y, np.where(mask, x[20 + 40 + offsets], np.float32(-7)))


def test_gather_needs_neighbours():
    with pytest.raises(CompileError, match=r"glow_vec\.gather.*last dimension with stride 1"):
        convert(gather(stride=2))


def test_offsets_in_parameter_types_are_added_by_the_callee(rng):
    inner = "memref<2x3xf32, strided<[8, -1], offset: 13>>"
    text = f"""
    func.func private @copy(%x: {inner}, %y: memref<2x3xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      scf.for %i = %c0 to %c2 step %c1 {{
        scf.for %j = %c0 to %c3 step %c1 {{
          %v = memref.load %x[%i, %j] : {inner}
          memref.store %v, %y[%i, %j] : memref<2x3xf32>
        }}
      }}
      return
    }}
    func.func @f(%x: memref<4x8xf32>, %y: memref<2x3xf32>) {{
      %v = memref.reinterpret_cast %x to offset: [13], sizes: [2, 3], strides: [8, -1]
          : memref<4x8xf32> to {inner}
      func.call @copy(%v, %y) : ({inner}, memref<2x3xf32>) -> ()
      return
    }}"""
    x = rng.standard_normal((4, 8)).astype(np.float32)
    y = np.zeros((2, 3), np.float32)
    Kernels(text).f(x, y)
    np.testing.assert_array_equal(y, x[1:3, 5:2:-1])


def test_stride_zero_repeats(rng):
    t = "memref<3x4xf32, strided<[0, 1]>>"
    text = f"""
    func.func @f(%x: {t}, %y: memref<3x4xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %i = %c0 to %c3 step %c1 {{
        %v = vector.load %x[%i, %c0] : {t}, vector<4xf32>
        vector.store %v, %y[%i, %c0] : memref<3x4xf32>, vector<4xf32>
      }}
      return
    }}"""
    x = rng.standard_normal(4).astype(np.float32)
    y = np.zeros((3, 4), np.float32)
    Kernels(text).f(x, y)
    np.testing.assert_array_equal(y, np.broadcast_to(x, (3, 4)))


def test_stack_memory_is_allocated_once_and_aligned(rng):
    text = """
    func.func @f(%x: memref<4x8xf32>, %address: memref<1xindex>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c4 step %c1 {
        %t = memref.alloca() : memref<8xf32>
        %v = vector.load %x[%i, %c0] : memref<4x8xf32>, vector<8xf32>
        %w = arith.addf %v, %v : vector<8xf32>
        vector.store %w, %t[%c0] : memref<8xf32>, vector<8xf32>
        %u = vector.load %t[%c0] : memref<8xf32>, vector<8xf32>
        vector.store %u, %x[%i, %c0] : memref<4x8xf32>, vector<8xf32>
      }
      return
    }"""
    module = str(convert(text))
    entry = module.split("^bb1")[0]
    assert "llvm.alloca" in entry
    assert "{alignment = 64 : i64}" in entry
    assert module.count("llvm.alloca") == 1
    x = rng.standard_normal((4, 8)).astype(np.float32)
    expected = 2 * x
    Kernels(text).f(x, np.zeros(1, np.int64))
    np.testing.assert_array_equal(x, expected)


def test_prefetch_may_leave_the_buffer():
    text = """
    func.func @f(%x: memref<8xf32>) {
      %far = arith.constant 100000000 : index
      glow_vec.prefetch %x[%far] {locality = 2 : i32} : memref<8xf32>
      return
    }"""
    kernels = Kernels(text)
    assert "i32 0, i32 2, i32 1" in kernels.ir
    kernels.f(np.zeros(8, np.float32))


def test_far_offsets_do_not_wrap():
    text = """
    func.func @f(%x: memref<8589934592xi8>) {
      %far = arith.constant 4294967303 : index
      %v = memref.view %x[%far][] : memref<8589934592xi8> to memref<1xi8>
      func.call @g(%v) : (memref<1xi8>) -> ()
      return
    }
    func.func private @g(memref<1xi8>)"""
    assert "4294967303" in str(convert(text))


@pytest.mark.parametrize(("i", "j"), [(1, 1), (2, 5), (6, 6)])
def test_indices_of_sums_products_and_differences(i: int, j: int, rng):
    text = """
    func.func @f(%at: memref<2xindex>, %x: memref<9x20xf32>, %y: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %i = memref.load %at[%c0] : memref<2xindex>
      %j = memref.load %at[%c1] : memref<2xindex>
      %i2 = arith.addi %i, %c3 : index
      %i3 = arith.subi %i2, %c1 : index
      %j2 = arith.muli %j, %c3 : index
      %j3 = arith.subi %j2, %i : index
      %ij = arith.muli %i, %j : index
      %zero = arith.subi %ij, %ij : index
      %j4 = arith.addi %j3, %zero : index
      %v = memref.load %x[%i3, %j4] : memref<9x20xf32>
      memref.store %v, %y[%zero] : memref<1xf32>
      return
    }"""
    x = rng.standard_normal((9, 20)).astype(np.float32)
    y = np.zeros(1, np.float32)
    Kernels(text).f(np.array([i, j]), x, y)
    assert y[0] == x[i + 2, 3 * j - i]
