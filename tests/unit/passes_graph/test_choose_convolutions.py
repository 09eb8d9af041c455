"""The choice of the algorithm of convolutions: what the cost model prefers, and equal results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.costs import Filters
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.machine import MachineDescription
from glow.passes.graph.convolution_times import (
    Layer,
    Winograd,
    best_way,
    direct_cost,
    winograd_cost,
)
from glow.runtime.interpreter import interpret
from glow.semantics import make_constant
from glow.tests.support.graph_text import count, run
from glow.tests.support.seeds import numbered
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Region

MACHINE = MachineDescription(l2_bytes=1 << 21)
FILTERS = Filters(MACHINE)


@pytest.mark.parametrize(
    ("layer", "tile"),
    [
        (Layer(1, 64, 64, (56, 56)), 4),
        (Layer(1, 128, 128, (28, 28)), 4),
        (Layer(1, 512, 512, (28, 28)), 4),
        (Layer(1, 64, 64, (224, 224)), 4),
        (Layer(1, 512, 512, (14, 14), 8), 4),
        (Layer(1, 512, 512, (7, 7)), 2),
        (Layer(1, 128, 128, (56, 56), 2), 4),
        (Layer(1, 1024, 1024, (3, 3)), None),
        (Layer(1, 256, 256, (5, 5), 64), None),
        (Layer(1, 16, 16, (1, 1)), None),
        (Layer(1, 4, 4, (64, 64)), None),
    ],
    ids=str,
)
def test_choice(layer: Layer, tile: int | None):
    way = best_way(layer, False, FILTERS)
    assert way == (None if tile is None else Winograd(tile))
    assert best_way(layer, True, FILTERS) is not None


@pytest.mark.parametrize(
    ("layer", "tile"),
    [
        (Layer(1, 64, 64, (3, 3)), None),
        (Layer(1, 64, 64, (4, 4)), 2),
        (Layer(1, 512, 512, (5, 5)), 2),
        (Layer(1, 64, 64, (8, 8)), 4),
    ],
    ids=str,
)
def test_filters_that_stay_are_read_faster(layer: Layer, tile: int | None):
    way = best_way(layer, False, Filters(MACHINE, stay=True))
    assert way == (None if tile is None else Winograd(tile))
    assert best_way(layer, False, FILTERS) is None or layer.counts == (8, 8)


def test_images_find_filters_in_a_cache():
    one, many = (Layer(images, 64, 64, (4, 4)) for images in (1, 8))
    assert best_way(one, False, FILTERS) is None
    assert best_way(many, False, FILTERS) == Winograd(2)


@pytest.mark.parametrize(
    ("layer", "parts"),
    [
        (Layer(1, 64, 64, (224, 224)), True),
        (Layer(2, 32, 64, (112, 112)), True),
        (Layer(1, 64, 64, (56, 56)), False),
        (Layer(1, 128, 128, (112, 112)), False),
        (Layer(1, 256, 256, (56, 56)), False),
        (Layer(1, 512, 512, (28, 28)), False),
        (Layer(1, 128, 128, (28, 28)), False),
        (Layer(1, 512, 512, (7, 7)), False),
    ],
    ids=str,
)
def test_products_of_parts_are_for_many_pixels(layer: Layer, parts: bool):
    way = best_way(layer, False, Filters(replace(MACHINE, has_bf16_tiles=True)))
    assert way is not None
    assert way.parts == parts


def test_costs_grow_with_the_work():
    small, wide, tall = (
        Layer(1, 64, 64, (28, 28)),
        Layer(1, 64, 128, (28, 28)),
        Layer(2, 64, 64, (28, 28)),
    )
    ways = [Winograd(tile, parts) for tile in (2, 4) for parts in (False, True)]
    for way in (None, *ways):
        least, *others = (
            direct_cost(layer, FILTERS) if way is None else winograd_cost(layer, way, FILTERS)
            for layer in (small, wide, tall)
        )
        assert least < min(others)


@pytest.mark.parametrize("algorithm", ["auto", "direct", "winograd"])
@pytest.mark.parametrize("tiles", ["false", "true"])
@pytest.mark.parametrize(
    "sizes",
    [(8, 24, 13, 10, 1), (3, 8, 9, 9, 1), (20, 9, 7, 5, 1), (48, 24, 9, 11, 3)],
    ids=str,
)
def test_results_stay(algorithm: str, sizes: tuple[int, int, int, int, int], tiles: str):
    inputs, outputs, rows, columns, group = sizes
    rng = numbered(*sizes)
    arrays = [
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((1, inputs, rows, columns), (outputs, inputs // group, 3, 3), (outputs,))
    ]
    block = Block(arg_types=[TensorType(f32, arrays[0].shape)])
    w, b = (make_constant(a, hint) for a, hint in zip(arrays[1:], "wb", strict=True))
    pads = {"pads": [1, 1, 1, 1], "strides": [1, 1], "dilations": [1, 1], "group": group}
    y = ConvolutionOp.of(block.args[0], w.result, b.result, **pads)
    block.add_ops([w, b, y, func.ReturnOp(y.result)])
    t = FunctionType.from_lists([block.args[0].type], [y.result.type])
    module = ModuleOp([func.FuncOp("main", t, Region(block))])
    (want,) = interpret(module, arrays[:1]).values()
    machine = f"glow-set-machine{{vector-bits=256 has-bf16-tiles={tiles}}}"
    choose = f"glow-choose-convolutions{{algorithm={algorithm}}}"
    run(f"{machine},glow-assign-layouts,{choose}", module)
    # an input of 3 channels stays plain
    is_winograd = algorithm == "winograd" and inputs > 3
    assert count(module)["glow_cpu.winograd_convolution"] == is_winograd or algorithm == "auto"
    (found,) = interpret(module, arrays[:1]).values()
    np.testing.assert_allclose(found, want, rtol=0, atol=2e-5 * np.abs(want).max())


@pytest.mark.parametrize(
    ("kernel", "strides", "group", "is_winograd"),
    [
        ((3, 3, 3), (1, 1, 1), 1, True),
        ((1, 3, 3), (1, 1, 1), 1, True),
        ((3, 3, 3), (1, 1, 1), 2, True),
        ((2, 5, 4), (1, 1, 1), 1, True),
        ((2, 3, 3), (2, 1, 1), 1, True),
        ((2, 3, 3), (2, 2, 1), 1, True),
        ((3, 3, 1), (1, 1, 1), 1, True),
        ((3, 1, 1), (1, 1, 1), 1, True),
        ((2, 2, 2), (1, 1, 1), 1, True),
        ((1, 1, 1), (1, 1, 1), 1, False),
    ],
    ids=str,
)
def test_slices(
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    group: int,
    is_winograd: bool,
    rng: np.random.Generator,
):
    x = rng.standard_normal((1, 32, 5, 14, 13)).astype(np.float32)
    w = rng.standard_normal((32, 32 // group, *kernel)).astype(np.float32)
    b = rng.standard_normal(32).astype(np.float32)
    block = Block(arg_types=[TensorType(f32, x.shape)])
    constants = [make_constant(a, hint) for a, hint in zip((w, b), "wb", strict=True)]
    filters, bias = (c.result for c in constants)
    window: dict[str, Any] = {"strides": list(strides), "dilations": [1, 1, 1], "group": group}
    y = ConvolutionOp.of(block.args[0], filters, bias, pads=[0, 1, 1, 1, 1, 0], **window)
    block.add_ops([*constants, y, func.ReturnOp(y.result)])
    t = FunctionType.from_lists([block.args[0].type], [y.result.type])
    module = ModuleOp([func.FuncOp("main", t, Region(block))])
    (want,) = interpret(module, [x]).values()
    run("glow-set-machine{vector-bits=512},glow-assign-layouts,glow-choose-convolutions", module)
    assert count(module)["glow_cpu.winograd_convolution"] == is_winograd
    (found,) = interpret(module, [x]).values()
    np.testing.assert_allclose(found, want, rtol=0, atol=2e-5 * np.abs(want).max())
