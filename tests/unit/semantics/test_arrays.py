"""Constants as arrays and back, and how operators are registered."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from glow.context import make_context
from glow.glow_dialects.blob import BlobAttr
from glow.glow_dialects.glow.arithmetic import AddOp
from glow.glow_dialects.glow.constant import ConstantOp, SplatOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.operators import OPERATORS
from glow.glow_dialects.quant import QuantizedType
from glow.semantics import constant_array, constant_of, element_type, has_meaning, make_constant
from glow.semantics.arrays import numpy_dtype
from glow.semantics.registry import meaning
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

DTYPES = [
    *(np.bool_, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64),
    *(np.float16, np.float32, np.float64, ml_dtypes.bfloat16),
]


@given(
    st.sampled_from(DTYPES),
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, min_side=0, max_side=5)),
)
def test_make_constant_and_read_it(dtype: type, values: np.ndarray):
    with np.errstate(all="ignore"):
        array = values.astype(dtype)
    op = make_constant(array)
    op.verify()
    found = constant_of(op.result)
    assert found is not None
    assert found.dtype == array.dtype
    assert found.tobytes() == array.tobytes()
    assert not found.flags.writeable
    again = Parser(make_context(), str(op)).parse_operation()
    assert isinstance(again, ConstantOp)
    assert again.value == op.value


def test_large_constants_are_not_copied_or_printed(rng: np.random.Generator):
    array = rng.random((100, 100)).astype(np.float32)
    op = make_constant(array, "weights")
    assert isinstance(op.value, BlobAttr)
    assert op.value.data.path.startswith("memory:weights#")
    found = constant_of(op.result)
    assert found is not None
    assert np.shares_memory(found, array)
    assert len(str(op)) < 100


def test_strided_constants_are_made_dense(rng: np.random.Generator):
    array = rng.random((20, 30)).astype(np.float32)
    found = constant_of(make_constant(array.T[::2]).result)
    assert found is not None
    np.testing.assert_array_equal(found, array.T[::2])


def test_blob_in_a_file_is_not_copied(tmp_path):
    values = np.arange(12, dtype=np.int16)
    (tmp_path / "w.bin").write_bytes(b"\0\0\0" + values.tobytes())
    blob = BlobAttr.in_file(tmp_path / "w.bin", 3, 24)
    t = TensorType(IntegerType(16), [3, 4])
    first, second = constant_array(blob, t), constant_array(blob, t)
    np.testing.assert_array_equal(first, values.reshape(3, 4))
    assert np.shares_memory(first, second)


def test_quantized_constant():
    quantized = QuantizedType(i8, f32, 0.5)
    op = make_constant(np.array([1, -2], np.int8), element=quantized)
    op.verify()
    assert op.result.type == TensorType(quantized, [2])
    with pytest.raises(VerifyException, match="expected an array of int8"):
        make_constant(np.array([1.0]), element=quantized)


@pytest.mark.parametrize(
    ("value", "element", "expected"),
    [
        (FloatAttr(0.1, f64), f32, np.float32(0.1)),
        (FloatAttr(0.1, f64), f16, np.float16(0.1)),
        (FloatAttr(-np.inf, f64), bf16, ml_dtypes.bfloat16(-np.inf)),
        (IntegerAttr(-3, i64), i8, np.int8(-3)),
        (IntegerAttr(3, i64), f32, np.float32(3)),
        (FloatAttr(2.75, f64), i8, np.int8(2)),
        (IntegerAttr(1, i1), i1, np.True_),
    ],
)
def test_splat(value: Attribute, element: Attribute, expected: np.generic):
    op = SplatOp.create(result_types=[TensorType(element, [3, 2])], properties={"value": value})
    found = constant_of(op.result)
    assert found is not None
    assert found.dtype == expected.dtype
    assert found.shape == (3, 2)
    assert (found == expected).all()
    assert found.strides == (0, 0)


def test_other_values_are_not_constant():
    (value,) = test.TestOp.create(result_types=[TensorType(f32, [2])]).results
    assert constant_of(value) is None
    assert constant_of(AddOp.of(value, value).result) is None


def test_elements_without_a_dtype():
    for element in (IntegerType(24), StringAttr("f32")):
        with pytest.raises(VerifyException, match="expected elements of f16, bf16"):
            numpy_dtype(element)
    for dtype in (np.complex64, np.str_):
        with pytest.raises(VerifyException, match="expected a dtype of floats"):
            element_type(dtype)


def test_narrow_integers_take_a_byte():
    assert numpy_dtype(IntegerType(4)) == np.int8
    assert numpy_dtype(IntegerType(4, Signedness.UNSIGNED)) == np.uint8
    assert numpy_dtype(QuantizedType(IntegerType(4), f32, 0.1)) == np.int8


def test_every_operator_has_a_meaning():
    assert [n.name for n in OPERATORS if not has_meaning(n)] == []


def test_an_operator_has_one_meaning():
    with pytest.raises(ValueError, match=r"glow\.convolution already has a meaning"):
        meaning(ConvolutionOp)(lambda call, *arrays: arrays[0])
