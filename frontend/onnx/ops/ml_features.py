"""Operators of classical machine learning that prepare features, or say what labels mean."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.arithmetic import AbsOp, DivOp, MaximumOp, MulOp, SqrtOp, SubOp
from ....glow_dialects.glow.indexing import ArgMaxOp
from ....glow_dialects.glow.logic import EqualOp, LessOp, OrOp, SelectOp
from ....glow_dialects.glow.reduction import ReduceMaxOp, ReduceSumOp
from ....glow_dialects.glow.shape import GatherOp
from ....semantics import numpy_dtype
from ..builder import GraphBuilder, element, rank, shape, size
from ..ml.scores import as_f32
from ..node import ML, OnnxNode, converter
from .indices import expect_along

_SMALLEST_NORM = 1e-30


@converter("Scaler", domain=ML)
def scaler(node: OnnxNode) -> SSAValue:
    build, x = node.build, as_f32(node.build, node.input(0))
    offset, scale = (np.array(node.attr(n) or [d], np.float32) for n, d in _SCALING)
    for name, array in (("offset", offset), ("scale", scale)):
        if len(array) not in (1, shape(x)[-1]):
            raise ModelError(f"expected {name} for {shape(x)[-1]} features, found {len(array)}")
    moved = build.elementwise(SubOp, x, build.constant(offset)) if offset.any() else x
    return build.elementwise(MulOp, moved, build.constant(scale))


_SCALING = (("offset", 0.0), ("scale", 1.0))


@converter("Normalizer", domain=ML)
def normalizer(node: OnnxNode) -> SSAValue:
    build, x, norm = node.build, as_f32(node.build, node.input(0)), node.attr("norm")
    axis = rank(x) - 1
    if norm == "MAX":
        # the largest number, as the standard says, not the largest absolute value
        length = build.op(ReduceMaxOp, x, axes=[axis], keep_dims=True)
        zero = build.op(EqualOp, length, build.splat_like(0, length))
        return build.elementwise(
            DivOp, x, build.op(SelectOp, zero, build.splat_like(1, length), length)
        )
    if norm not in ("L1", "L2"):
        raise ModelError(f"expected norm MAX, L1 or L2, found {norm!r}")
    terms = build.op(AbsOp, x) if norm == "L1" else build.op(MulOp, x, x)
    length = build.op(ReduceSumOp, terms, axes=[axis], keep_dims=True)
    if norm == "L2":
        length = build.op(SqrtOp, length)
    bounded = build.op(MaximumOp, length, build.splat_like(_SMALLEST_NORM, length))
    return build.elementwise(DivOp, x, bounded)


@converter("Binarizer", domain=ML)
def binarizer(node: OnnxNode) -> SSAValue:
    build, x = node.build, node.input(0)
    above = build.op(LessOp, build.splat_like(node.attr("threshold"), x), x)
    return build.cast(above, element(x))


@converter("Imputer", domain=ML)
def imputer(node: OnnxNode) -> SSAValue:
    """Returns the features with a number in the place of a value that says that one is missing."""
    build, x = node.build, node.input(0)
    kind = ("imputed_value_floats", "replaced_value_float")
    if not is_float(element(x)):
        kind = ("imputed_value_int64s", "replaced_value_int64")
    given = np.array(node.attr(kind[0]) or [], numpy_dtype(element(x)))
    missing: Any = node.attr(kind[1], 0)
    if len(given) not in (1, shape(x)[-1]):
        raise ModelError(f"expected {kind[0]} for {shape(x)[-1]} features, found {len(given)}")
    other = x if missing != missing else build.splat_like(missing, x)
    found = build.op(EqualOp, x, other)
    imputed = build.broadcast(build.constant(given), shape(x))
    if missing != missing:
        return build.op(SelectOp, found, x, imputed)
    return build.op(SelectOp, found, imputed, x)


@converter("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: OnnxNode) -> SSAValue:
    build, wanted = node.build, node.ints("inputdimensions") or []
    if len(wanted) != len(node.values):
        raise ModelError(f"expected inputdimensions of {len(node.values)} inputs, found {wanted}")
    parts = []
    for value, width in zip(node.values, wanted, strict=True):
        rows = 1 if rank(value) < 2 else shape(value)[0]
        matrix = build.reshape(value, [rows, size(value) // max(1, rows)])
        if shape(matrix)[1] != width:
            raise ModelError(f"expected {width} features, found {value.type}")
        parts.append(as_f32(build, matrix))
    return build.concat(parts, 1)


@converter("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(node: OnnxNode) -> SSAValue:
    build, x, places = node.build, node.input(0), node.input(1)
    axis = rank(x) - 1
    expect_along(node, 1, shape(x)[axis])
    found = build.op(GatherOp, x, build.reshape(places, [size(places)]), axis=axis)
    return build.reshape(found, [1, size(places)]) if rank(x) == 1 else found


@converter("OneHotEncoder", domain=ML)
def one_hot_encoder(node: OnnxNode) -> SSAValue:
    """Returns a 1 at the number of a category, and zeros; other values have zeros alone."""
    build, x = node.build, node.input(0)
    categories = np.array(node.ints("cats_int64s") or [], np.int64)
    if not categories.size:
        categories = node.weights.strings.numbers(node.attr("cats_strings") or [])
    if not categories.size:
        raise ModelError("expected categories, found none")
    table = build.constant(categories)
    whole = build.reshape(build.cast(x, i64), [*shape(x), 1])
    return build.cast(build.elementwise(EqualOp, whole, table), f32)


@converter("LabelEncoder", domain=ML)
def label_encoder(node: OnnxNode) -> SSAValue:
    """Returns the value of each key; the first of equal keys counts, and NaN is a key."""
    build, x = node.build, node.input(0)
    keys, values, default = (_table(node, name) for name in ("keys", "values", "default"))
    if keys is None or values is None or len(keys) != len(values) or not len(keys):
        raise ModelError("expected equally many, and some, keys and values")
    if default is None:
        default = np.array([-1 if values.dtype.kind == "i" else -0.0], values.dtype)
    found = _equal(build, build.reshape(x, [*shape(x), 1]), keys)
    axis = rank(x)
    first = build.op(ArgMaxOp, build.cast(found, f32), axis=axis)
    value = build.op(GatherOp, build.constant(values), first, axis=0)
    known = build.op(ReduceMaxOp, build.cast(found, f32), axes=[axis], keep_dims=False)
    is_key = build.op(LessOp, build.splat_like(0, known), known)
    other = build.broadcast(build.constant(default.reshape([])), shape(x))
    result = build.op(SelectOp, is_key, value, other)
    if node.has("values_strings") or _has_strings(node.attr("values_tensor")):
        node.weights.strings.note(result)
    return result


def _equal(build: GraphBuilder, x: SSAValue, keys: np.ndarray) -> SSAValue:
    table = build.constant(keys.astype(numpy_dtype(element(x))))
    equal = build.elementwise(EqualOp, x, table)
    if not np.isnan(keys.astype(np.float64)).any():
        return equal
    is_number = build.op(EqualOp, x, x)
    nan_key = build.constant(~np.isnan(keys.astype(np.float64)))
    nowhere = build.broadcast(is_number, shape(equal))
    either = build.elementwise(OrOp, nowhere, nan_key)
    no = build.splat(0, element(equal), shape(equal))
    return build.op(SelectOp, either, equal, build.op(EqualOp, no, no))


def _table(node: OnnxNode, name: str) -> np.ndarray | None:
    """Returns keys, values or the default, of whichever type they are given."""
    for kind, dtype in (("int64", np.int64), ("float", np.float32), ("string", np.object_)):
        found: Any = node.attr(f"{name}_{kind}" if name == "default" else f"{name}_{kind}s")
        if found is not None and (name != "default" or node.has(f"values_{kind}s")):
            return _as_numbers(node, np.array(found, dtype).reshape(-1))
    tensor = node.attr(f"{name}_tensor")
    if tensor is None or not tensor.data_type:
        return None
    return _as_numbers(node, numpy_helper.to_array(tensor).reshape(-1))


def _as_numbers(node: OnnxNode, array: np.ndarray) -> np.ndarray:
    """Returns an array, with numbers in the place of strings."""
    return node.weights.strings.numbers(array) if array.dtype.kind == "O" else array


def _has_strings(tensor: TensorProto | None) -> bool:
    return tensor is not None and tensor.data_type == TensorProto.STRING


@converter("ZipMap", domain=ML)
def zip_map(node: OnnxNode) -> SSAValue:
    """
    Returns the scores as a matrix, with a warning: a sequence of maps would only say for each
    number which class it is of.
    """
    labels = node.ints("classlabels_int64s") or node.attr("classlabels_strings", [])
    warnings.warn(
        f"{node.name}: the program gives a matrix instead of a sequence of maps, with a column for "
        f"each of the classes {labels}; export with zipmap=False to have the same elsewhere",
        stacklevel=2,
    )
    return node.input(0)
