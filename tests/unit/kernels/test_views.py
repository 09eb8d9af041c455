"""Kernels read and write any strided view: parts, reversed, transposed, broadcast, in place."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import pytest
from glow.glow_dialects.elements import row_major_strides, strided_memref
from glow.glow_dialects.machine import MachineDescription
from glow.tests.support.native import apply, check_native, parse
from glow.tests.support.seeds import numbered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import MemRefType, f32, i32, i64
from xdsl.ir import Attribute

relaxed = settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
MACHINES = st.sampled_from(
    [MachineDescription(512), MachineDescription(256, 16), MachineDescription(64, 8, False)]
)


@st.composite
def views(
    draw: st.DrawFn, shape: tuple[int, ...], repeats: bool, element: Attribute = f32
) -> tuple[int, MemRefType]:
    """Returns the size of a buffer, and a view of it that has `shape`."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, 5])) for _ in shape]
    padded = [s * step + draw(st.integers(0, 2)) for s, step in zip(shape, steps, strict=True)]
    dense = row_major_strides([padded[d] for d in order])
    strides, offset = [0] * len(shape), 0
    for position, d in enumerate(order):
        strides[d] = dense[position] * steps[d]
        offset += draw(st.integers(0, padded[d] - (shape[d] - 1) * steps[d] - 1)) * dense[position]
        if draw(st.integers(0, 3)) == 0:
            offset += (shape[d] - 1) * strides[d]
            strides[d] = -strides[d]
        elif repeats and draw(st.integers(0, 3)) == 0:
            strides[d] = 0
    return prod(padded), strided_memref(element, shape, strides, offset)


@st.composite
def programs(
    draw: st.DrawFn,
    shapes: list[tuple[int, ...]],
    body: str,
    elements: Mapping[int, Attribute] = {},
) -> str:
    """
    Returns a program that applies `body`, a template over view names %v0, %v1, ... and their types,
    to views of buffers that are arguments or activations. %v0 is written. `elements` has the types
    of elements that are not f32.
    """
    chosen = [draw(views(shape, i > 0, elements.get(i, f32))) for i, shape in enumerate(shapes)]
    arguments, head, tail = [], [], []
    for i, (size, t) in enumerate(chosen):
        flat = f"memref<{size}x{t.element_type}>"
        direction = "in" if i else "out"
        arguments.append(f'%a{i}: {flat} {{glow.name = "a{i}", glow.qualifier = "{direction}"}}')
        in_arena = draw(st.booleans())
        buffer = f"%b{i}" if in_arena else f"%a{i}"
        if in_arena:
            head.append(f"{buffer} = glow_inst.alloc_activation : {flat}")
            if i:
                head.append(f"glow_inst.copy @out {buffer}, @in %a{i} : {flat}, {flat}")
            else:
                tail.append(f"glow_inst.copy @out %a0, @in {buffer} : {flat}, {flat}")
            tail.append(f"glow_inst.dealloc_activation {buffer} : {flat}")
        if i == 0:
            # what the view leaves out must stay as it is, so it needs a value
            head.append(f"glow_inst.splat @out {buffer} value 0.5 : {flat}")
        head.append(f"%v{i} = glow_inst.tensor_view {buffer} : {flat} to {t}")
    types = {f"t{i}": str(t) for i, (_, t) in enumerate(chosen)}
    lines = "\n".join([*head, body.format(**types), *tail, "func.return"])
    first = arguments.pop(0)
    return f"func.func @main({', '.join([*arguments, first])}) {{\n{lines}\n}}"


SEPARATE = """glow_inst.stacked @out %v0, @in %v1, @in %v2 : {t0}, {t1}, {t2} {{
^bb0(%x: f32, %y: f32):
  %s = glow.sub %x, %y : (f32, f32) -> f32
  %r = glow.mul %s, %x : (f32, f32) -> f32
  glow_inst.yield %r : f32
}}"""
IN_PLACE = """glow_inst.stacked @inout %v0, @in %v1, @in %v2 : {t0}, {t1}, {t2} {{
^bb0(%o: f32, %x: f32, %y: f32):
  %s = glow.sub %o, %y : (f32, f32) -> f32
  %r = glow.mul %s, %x : (f32, f32) -> f32
  glow_inst.yield %r : f32
}}"""

shapes = st.lists(st.sampled_from([1, 2, 3, 7, 8, 17, 35]), min_size=0, max_size=4).map(tuple)


def run(text: str, machine: MachineDescription, seed: int) -> None:
    module = apply(parse(text), "glow-allocate")
    rng = numbered(seed)
    types = [a.type for op in module.ops for a in op.body.block.args]  # pyright: ignore
    inputs = [
        rng.standard_normal(t.get_shape()).astype(np.float32)
        if t.element_type == f32
        else rng.integers(-40, 40, t.get_shape()).astype(f"int{t.element_type.bitwidth}")
        for t in types[:-1]
    ]
    check_native(module, inputs, machine, 1e-4)


@relaxed
@given(st.data(), shapes, st.booleans(), MACHINES, st.integers(0, 2**32))
def test_elementwise(
    data: st.DataObject,
    shape: tuple[int, ...],
    in_place: bool,
    machine: MachineDescription,
    seed: int,
):
    body = IN_PLACE if in_place else SEPARATE
    run(data.draw(programs([shape] * 3, body)), machine, seed)


@relaxed
@given(st.data(), shapes, MACHINES, st.integers(0, 2**32))
def test_copy(data: st.DataObject, shape: tuple[int, ...], machine: MachineDescription, seed: int):
    body = "glow_inst.copy @out %v0, @in %v1 : {t0}, {t1}"
    run(data.draw(programs([shape] * 2, body)), machine, seed)


@relaxed
@given(st.data(), st.sampled_from([i32, i64]), MACHINES, st.integers(0, 2**32))
def test_gather_elements(
    data: st.DataObject, element: Attribute, machine: MachineDescription, seed: int
):
    """Lanes that have an index each, which some rows may share."""
    shape = data.draw(shapes.filter(bool))
    axis = data.draw(st.integers(0, len(shape) - 1))
    wanted = list(shape)
    wanted[axis] = data.draw(st.sampled_from([1, 5, 19]))
    body = (
        f"glow_inst.gather_elements @out %v0, @in %v1, @in %v2 axis {axis} : {{t0}}, {{t1}}, {{t2}}"
    )
    used = [tuple(wanted), shape, tuple(wanted)]
    run(data.draw(programs(used, body, {2: element})), machine, seed)


@relaxed
@given(st.data(), st.booleans(), st.booleans(), MACHINES, st.integers(0, 2**32))
def test_matmul(
    data: st.DataObject,
    residual: bool,
    transposed: bool,
    machine: MachineDescription,
    seed: int,
):
    m, k, n = (data.draw(st.sampled_from([1, 3, 8, 19])) for _ in range(3))
    qualifier, arguments, epilogue = "out", "%c: f32", ""
    if residual:
        qualifier, arguments = "inout", "%c: f32, %o: f32"
        epilogue = "%s = glow.add %c, %o : (f32, f32) -> f32"
    value = "%s" if residual else "%c"
    body = (
        f"glow_inst.matmul @{qualifier} %v0, @in %v1, @in %v2 "
        f"{{{{transpose_rhs = {str(transposed).lower()}}}}} : {{t0}}, {{t1}}, {{t2}} "
        f"epilogue {{{{\n"
        f"^bb0({arguments}):\n{epilogue}\nglow_inst.yield {value} : f32\n}}}}"
    )
    rhs = (n, k) if transposed else (k, n)
    run(data.draw(programs([(m, n), (m, k), rhs], body)), machine, seed)


@relaxed
@given(st.data(), st.booleans(), MACHINES, st.integers(0, 2**32))
def test_convolution(data: st.DataObject, residual: bool, machine: MachineDescription, seed: int):
    o, c = data.draw(st.sampled_from([1, 3, 8])), data.draw(st.sampled_from([1, 2, 5]))
    size = data.draw(st.sampled_from([3, 6, 11]))
    kernel, stride, pad = (data.draw(st.integers(1, 3)) for _ in range(3))
    pad -= 1
    out = (size + 2 * pad - kernel) // stride + 1
    if out < 1:
        return
    properties = f"strides {[stride] * 2} pads {[pad] * 4}"
    qualifier = "inout" if residual else "out"
    extra = ", %o: f32" if residual else ""
    step = "%s = glow.add %c, %o : (f32, f32) -> f32" if residual else ""
    body = (
        f"glow_inst.convolution @{qualifier} %v0, @in %v1, @in %v2, @in %v3 {properties} "
        f": {{t0}}, {{t1}}, {{t2}}, {{t3}} epilogue {{{{\n^bb0(%c: f32{extra}):\n{step}\n"
        f"glow_inst.yield {'%s' if residual else '%c'} : f32\n}}}}"
    )
    used = [(2, o, out, out), (2, c, size, size), (o, c, kernel, kernel), (o,)]
    run(data.draw(programs(used, body)), machine, seed)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 31, 33, 64, 100])
def test_no_element_is_computed_twice_in_place(count: int):
    """A second visit would add again."""
    text = f"""
    func.func @main(%x: memref<{count}xf32> {{glow.name = "x", glow.qualifier = "in"}},
                    %y: memref<{count}xf32> {{glow.name = "y", glow.qualifier = "out"}}) {{
      glow_inst.copy @out %y, @in %x : memref<{count}xf32>, memref<{count}xf32>
      glow_inst.stacked @inout %y, @in %x : memref<{count}xf32>, memref<{count}xf32> {{
      ^bb0(%a: f32, %b: f32):
        %s = glow.add %a, %b : (f32, f32) -> f32
        glow_inst.yield %s : f32
      }}
      func.return
    }}"""
    run(text, MachineDescription(), count)
