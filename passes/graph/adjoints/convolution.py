"""Adjoints of convolutions, which are convolutions again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import SSAValue

from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.shape import SliceOp, TransposeOp
from ....glow_dialects.glow.transposed import TransposedConvolutionOp, transposed_extent
from ....glow_dialects.operator import element_of, shape_of, with_shape
from ..rewriting import Build
from .formula import structured_adjoint
from .registry import adjoint


@adjoint(ConvolutionOp)
def convolution(
    node: ConvolutionOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    """
    Returns a transposed convolution with the filter for the input, and for the filter a convolution
    of the input with the seed, in which strides and dilations change places (Dumoulin and Visin
    2016, "A guide to convolution arithmetic for deep learning").
    """
    by_formula = set(wanted) - {0}
    found: dict[int, SSAValue] = {}
    if 0 in wanted:
        found[0] = _input_adjoint(node, seed, build)
    if 1 in wanted and node.call.int("group") == 1:
        found[1] = _filter_adjoint(node, seed, build)
        by_formula.discard(1)
    return {**found, **structured_adjoint(node, seed, by_formula, build)}


def _input_adjoint(node: ConvolutionOp, seed: SSAValue, build: Build) -> SSAValue:
    call = node.call
    sizes, filter_shape = call.shape(0), call.shape(1)
    strides, dilations, pads = (call.ints(n) for n in ("strides", "dilations", "pads"))
    n = len(strides)
    reached = [
        transposed_extent(*geometry)
        for geometry in zip(
            shape_of(seed.type)[2:], filter_shape[2:], strides, dilations, strict=True
        )
    ]
    beyond = [sizes[2 + d] - (reached[d] - pads[d] - pads[n + d]) for d in range(n)]
    bias = build.splat(0.0, with_shape(element_of(seed.type), [sizes[1]]))
    return build(
        TransposedConvolutionOp,
        *(seed, node.filter, bias),
        strides=strides,
        pads=pads,
        dilations=dilations,
        output_padding=beyond,
        group=call.int("group"),
    )


def _filter_adjoint(node: ConvolutionOp, seed: SSAValue, build: Build) -> SSAValue:
    call = node.call
    shape = call.shape(1)
    images = _swapped(build, node.input)
    weights = _swapped(build, seed)
    bias = build.splat(0.0, with_shape(element_of(seed.type), [shape[0]]))
    products = build(
        ConvolutionOp,
        *(images, weights, bias),
        strides=call.ints("dilations"),
        pads=call.ints("pads"),
        dilations=call.ints("strides"),
        group=1,
    )
    sizes = [shape[1], shape[0], *shape[2:]]
    if list(shape_of(products.type)) != sizes:
        products = build(SliceOp, products, sizes=sizes)
    return _swapped(build, products)


def _swapped(build: Build, value: SSAValue) -> SSAValue:
    """Returns a value with dimensions 0 and 1 in each other's place."""
    order: Sequence[int] = [1, 0, *range(2, len(shape_of(value.type)))]
    return build(TransposeOp, value, permutation=order)
