"""Constants."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.extents import Extent
from ....glow_dialects.glow.arithmetic import AddOp
from ....semantics.arrays import numpy_dtype
from ..builder import element, known_array, python_number, rank, shape, size
from ..element_types import check_shape, element_of_onnx
from ..node import OnnxNode, converter
from ..problems import Unsupported


@converter("Constant")
def constant(node: OnnxNode) -> SSAValue:
    given = [a.name for a in node.proto.attribute]
    if len(given) != 1:
        raise ModelError(f"expected one attribute with the value, found {given}")
    (name,) = given
    if name == "value":
        tensor = node.attr("value")
        return node.build.add(node.weights.constant(tensor, f"tensor {node.proto.output[0]!r}"))
    if name in ("value_float", "value_floats"):
        return node.build.constant(np.array(node.attr(name), numpy_dtype(f32)))
    if name in ("value_int", "value_ints"):
        return node.build.constant(np.array(node.attr(name), numpy_dtype(i64)))
    raise Unsupported(f"a constant given as {name}")


@converter("ConstantOfShape")
def constant_of_shape(node: OnnxNode) -> SSAValue:
    target = node.known_ints(0) or []
    check_shape(target, "result", node.build.max_elements)
    tensor = node.attr("value")
    if tensor is None:
        return node.build.splat(0, f32, target)
    filler = node.build.add(node.weights.constant(tensor, "attribute 'value'"))
    array = known_array(filler)
    if array is None or array.size != 1:
        raise ModelError(f"expected one element in attribute 'value', found {filler.type}")
    return node.build.splat(python_number(array), element(filler), target)


@converter("Identity")
def identity(node: OnnxNode) -> SSAValue:
    return node.input(0)


@converter("Shape")
def shape_of(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    part = shape(x)[slice(node.attr("start", 0), node.attr("end"))]
    return node.build.sizes(part, [len(part)])


@converter("Size")
def size_of(node: OnnxNode) -> SSAValue:
    return node.build.sizes([size(node.input(0))], [])


@converter("Range")
def range_of_numbers(node: OnnxNode) -> SSAValue:
    start, limit, delta = (node.known_size(i) for i in range(3))
    if delta == 0:
        raise ModelError("expected a delta other than 0")
    if isinstance(limit - start, Extent) and delta == 1:
        return _integers(node, start, limit)
    start, limit, delta = (node.known_number(i) for i in range(3))
    dtype = numpy_dtype(element(node.input(0)))
    count = max(0, int(np.ceil((limit - start) / delta)))
    check_shape([count], "result", node.build.max_elements)
    return node.build.constant((start + np.arange(count) * delta).astype(dtype))


def _integers(node: OnnxNode, start: int, limit: int) -> SSAValue:
    """Returns the integers from `start` to below `limit`, one of which depends on symbols."""
    build, whole = node.build, element(node.input(0))
    count = max(0, limit - start)
    check_shape([count], "result", build.max_elements)
    numbers = build.formula("y[i] = i", shape=[count], element=whole)
    if start == 0:
        return numbers
    first = build.cast(build.sizes([start], [1]), whole)
    return build.elementwise(AddOp, numbers, first)


@converter("EyeLike")
def eye_like(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    if rank(x) != 2:
        raise ModelError(f"expected a matrix, found {x.type}")
    code = node.attr("dtype")
    target = element(x) if code is None else element_of_onnx(code, "the result")
    eye = np.eye(*shape(x), k=node.attr("k"), dtype=numpy_dtype(target))
    return node.build.constant(eye)
