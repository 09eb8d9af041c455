"""
Convolutions as products of matrices: of the filters, and of the patches that they meet.

A matrix has as columns the patches of the input, one for each place of the result of each image
(Chellapilla, Puri and Simard 2006, "High performance convolutional neural networks for document
processing"). The product packs both of its operands, which direct convolution with a filter that is
not constant does not. So this is faster where each element of a patch meets many filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ...glow_dialects.elements import element_bytes
from ...glow_dialects.glow.arithmetic import AddOp
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.matrix import MatMulOp
from ...glow_dialects.glow.shape import TransposeOp
from ...glow_dialects.machine import MachineDescription
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.product_costs import (
    patch_product_cycles,
    plain_convolution_cycles,
    repays_rounded_patches,
)
from ...glow_dialects.timings import TIMINGS
from .rewriting import Build


def has_patches(node: ConvolutionOp) -> bool:
    """Returns whether a convolution can be a product of its filter and patches."""
    sizes = shape_of(node.result.type), shape_of(node.filter.type)
    return (
        node.call.int("group") == 1
        and element_of(node.input.type) in (f32, f64)
        and not isinstance(node.filter.owner, ConstantOp)
        and 0 not in (*sizes[0], *sizes[1])
    )


def plain_cycles(node: ConvolutionOp, machine: MachineDescription) -> float:
    """Returns the estimated cycles of a convolution of plain tensors by its definition."""
    filters, places, terms = _product_sizes(node)
    # rows of pointwise convolutions are whole images
    row = places // shape_of(node.result.type)[0] if _is_pointwise(node) else _row(node)
    return plain_convolution_cycles(filters, row, places, terms, machine)


def patch_cycles(node: ConvolutionOp, machine: MachineDescription) -> float:
    """Returns the estimated cycles of a product of patches; infinity if these are too many."""
    filters, places, terms = _product_sizes(node)
    if terms * places * element_bytes(element_of(node.input.type)) > TIMINGS.most_patch_bytes:
        return inf
    return patch_product_cycles(filters, places, terms, _is_pointwise(node), machine)


def repays_patches(node: ConvolutionOp, machine: MachineDescription, rounded: bool) -> bool:
    """
    Returns whether such a product is faster than the definition, by estimate; if it is `rounded` to
    bf16, where that is faster.
    """
    cycles = patch_cycles(node, machine)
    if cycles < plain_cycles(node, machine):
        return True
    if not rounded or cycles == inf or element_of(node.input.type) != f32:
        return False
    filters, places, terms = _product_sizes(node)
    return repays_rounded_patches(filters, _row(node), places, terms, machine)


def _row(node: ConvolutionOp) -> int:
    """Returns the size of the rows, of the result or of the filter, whose parts are vectors."""
    return max(shape_of(node.result.type)[-1], shape_of(node.filter.type)[-1])


def _is_pointwise(node: ConvolutionOp) -> bool:
    """Returns whether an image is the matrix of its patches."""
    window = (*shape_of(node.filter.type)[2:], *node.call.ints("strides"))
    return all(size == 1 for size in window) and not any(node.call.ints("pads"))


def _product_sizes(node: ConvolutionOp) -> tuple[int, int, int]:
    """Returns the filters of a convolution, its places in all images, and the terms of a filter."""
    images, filters, *counts = shape_of(node.result.type)
    return filters, images * prod(counts), prod(shape_of(node.filter.type)[1:])


def patch_product(node: ConvolutionOp, build: Build) -> SSAValue:
    """Builds the product, and its result in the order of the convolution's."""
    images, _, *counts = shape_of(node.result.type)
    patches = _patches(node, build)
    outputs, places, terms = _product_sizes(node)
    rows = build.reshape(node.filter, [outputs, terms])
    product = build(MatMulOp, rows, build.reshape(patches, [terms, places]))
    column = build.reshape(node.bias, [outputs, 1])
    added = build(AddOp, product, build.broadcast(column, [outputs, places]))
    whole = build.reshape(added, [outputs, images, *counts])
    order = [1, 0, *range(2, 2 + len(counts))]
    return build(TransposeOp, whole, permutation=order)


def _patches(node: ConvolutionOp, build: Build) -> SSAValue:
    """Returns the patches [C, K1, ..., N, W1, ...]; a transposition of the input is part of it."""
    call = node.call
    images, _, *counts = shape_of(node.result.type)
    kernel = shape_of(node.filter.type)[2:]
    offsets, windows = ([f"{c}{d}" for d in range(len(kernel))] for c in "kw")
    geometry = zip(*(call.ints(n) for n in ("strides", "dilations", "pads")), strict=False)
    places = [
        f"{_times(w, stride)} + {_times(k, dilation)}" + (f" - {low}" if low else "")
        for (stride, dilation, low), w, k in zip(geometry, windows, offsets, strict=True)
    ]
    source, indices = _untransposed(node.input, ["n", "c", *places])
    result = ", ".join(["c", *offsets, "n", *windows])
    ranges = ", ".join(
        f"{i} < {n}" for i, n in zip([*offsets, *windows], [*kernel, *counts], strict=True)
    )
    formula = f"y[{result}] = x[{', '.join(indices)} | outside: 0] for {ranges}"
    shape = [call.shape(1)[1], *kernel, images, *counts]
    element = element_of(node.input.type)
    return build(GenericOp, source, formula=formula, result_types=[with_shape(element, shape)])


def _times(index: str, factor: int) -> str:
    return index if factor == 1 else f"{index} * {factor}"


def _untransposed(value: SSAValue, indices: Sequence[str]) -> tuple[SSAValue, Sequence[str]]:
    """Returns what a value is a transposition of, and where the element at `indices` is there."""
    owner = value.owner
    if not isinstance(owner, TransposeOp):
        return value, indices
    order = owner.call.ints("permutation")
    return owner.input, [indices[order.index(d)] for d in range(len(order))]
