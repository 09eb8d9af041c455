"""Node lowering: everything composite becomes primitives, and errors list every node."""

from __future__ import annotations

import numpy as np
import pytest
from glow.errors import CompileError, GlowError
from glow.glow_dialects.glow import DataParallel
from glow.glow_dialects.glow.logic import BitcastOp, CastOp, SelectOp
from glow.glow_dialects.glow.random import RandomBitsOp
from glow.glow_dialects.operator import Call
from glow.glow_dialects.operators import OPERATORS
from glow.glow_dialects.scalar import Primitive
from glow.passes.graph.lower_nodes import is_composite, lower_nodes
from glow.passes.graph.lowerings.data_parallel import PRIMITIVE_NODES
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.seeds import numbered
from xdsl.dialects.builtin import f16, f32, i1, i32

COMPOSITE = [
    n
    for n in OPERATORS
    if issubclass(n, DataParallel) and is_composite(n) and "quant" not in n.__module__
]
LOWER = "glow-lower-nodes{backend=none}"


@pytest.mark.parametrize("primitive", Primitive)
def test_a_primitive_is_its_own_node(primitive: Primitive):
    operator = PRIMITIVE_NODES[primitive]
    element = i1 if operator.name in ("glow.and", "glow.or", "glow.xor", "glow.not") else f32
    element = i32 if primitive is Primitive.SHIFT_RIGHT else element
    elements = (i1, f32, f32) if operator is SelectOp else (element, element, element)
    count = len(operator.get_irdl_definition().operands)
    results = {CastOp: (f16,), BitcastOp: (i32,)}.get(operator, ())
    expr = operator.scalar(Call(operator, elements[:count], results, {}))
    assert expr.kind is primitive
    assert [a.index for a in expr.args] == list(range(count))


def element_types(operator: type[DataParallel]) -> tuple[str, ...]:
    return ("ui32",) if operator is RandomBitsOp else ("f32", "f16")


@pytest.mark.parametrize(
    ("operator", "element"), [(o, e) for o in COMPOSITE for e in element_types(o)]
)
def test_composite_elementwise_nodes_keep_their_meaning(operator, element: str):
    operands = len(operator.get_irdl_definition().operands)
    tensor = f"tensor<3x7x{element}>"
    names = [f"%x{i}" for i in range(operands)]
    arguments = ", ".join(f'{n}: {tensor} {{glow.name = "{n[1:]}"}}' for n in names)
    bounds = " min -0.5 max 1.5" if operator.name == "glow.clip" else ""
    module = parse(f"""
    func.func @main({arguments}) -> ({tensor} {{glow.name = "y"}}) {{
      %y = {operator.name} {", ".join(names)}{bounds}
         : ({", ".join([tensor] * operands)}) -> {tensor}
      func.return %y : {tensor}
    }}""")
    dtype = np.dtype({"f32": np.float32, "f16": np.float16, "ui32": np.uint32}[element])
    rng = numbered(operands)
    inputs = [
        rng.integers(0, 2**32, (3, 7)).astype(dtype)
        if dtype.kind == "u"
        else (2 * rng.standard_normal((3, 7))).astype(dtype)
        for _ in names
    ]
    want = interpret(module, inputs)["y"]
    run(LOWER, module)
    assert not [o for o in COMPOSITE if count(module)[o.name]]
    # steps in f32 give the same bits, also of 16-bit floats
    np.testing.assert_array_equal(interpret(module, inputs)["y"], want)


def test_nan_goes_through_a_decomposed_relu():
    module = parse("""
    func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32> {glow.name = "y"}) {
      %y = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }""")
    run(LOWER, module)
    found = interpret(module, [np.array([np.nan, -1, 2, np.inf], np.float32)])["y"]
    np.testing.assert_array_equal(found, np.array([np.nan, 0, 2, np.inf], np.float32))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_local_response_norm_of_any_window(size: int):
    module = parse(f"""
    func.func @main(%x: tensor<2x6x3xf32> {{glow.name = "x"}})
        -> (tensor<2x6x3xf32> {{glow.name = "y"}}) {{
      %y = glow.local_response_norm %x size {size} alpha 0.3 beta 0.6 k 2.0
        : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
      func.return %y : tensor<2x6x3xf32>
    }}""")
    inputs = [numbered(size).standard_normal((2, 6, 3)).astype(np.float32)]
    want = interpret(module, inputs)["y"]
    run(LOWER, module)
    assert "glow.local_response_norm" not in count(module)
    np.testing.assert_allclose(interpret(module, inputs)["y"], want, rtol=1e-5)


def test_the_sum_of_a_half_precision_mean_does_not_overflow():
    module = parse("""
    func.func @main(%x: tensor<100xf16> {glow.name = "x"}) -> (tensor<f16> {glow.name = "y"}) {
      %y = glow.reduce_mean %x axes [0]
         : (tensor<100xf16>) -> tensor<f16>
      func.return %y : tensor<f16>
    }""")
    run(LOWER, module)
    assert interpret(module, [np.full(100, 6e4, np.float16)])["y"] == np.float16(6e4)


TWO_KINDS = """
func.func @main(%x: tensor<1x2x3xf32>) -> (tensor<1x2x3xf32>, tensor<2x3xf32>) {
  %first = glow.exp %x : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %soft = glow.softmax %first axis 2 : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %sum = glow.reduce_sum %x axes [0]
       : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
  func.return %soft, %sum : tensor<1x2x3xf32>, tensor<2x3xf32>
}"""


def test_an_error_lists_all_nodes_that_are_stuck():
    kept = {"glow.sub", "glow.div", "glow.broadcast"}
    with pytest.raises(CompileError) as caught:
        lower_nodes(parse(TWO_KINDS), lambda call: call.operator.name in kept)
    message = str(caught.value)
    assert "glow.exp (%first : tensor<1x2x3xf32>" in message
    assert "glow.reduce_max" in message
    assert "glow.reduce_sum (" in message
    assert "%sum : tensor<2x3xf32>" in message
    assert "glow.softmax (" not in message


def test_a_backend_may_keep_by_type():
    module = parse("""
    func.func @main(%x: tensor<2xf32>, %i: tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>) {
      %a = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
      %b = glow.relu %i : (tensor<2xi32>) -> tensor<2xi32>
      func.return %a, %b : tensor<2xf32>, tensor<2xi32>
    }""")
    lower_nodes(module, lambda call: call.operator.name != "glow.relu" or call.element(0) != i32)
    assert count(module)["glow.relu"] == 1
    assert count(module)["glow.maximum"] == 1


def test_the_interpreter_keeps_everything():
    module = parse(TWO_KINDS)
    before = str(module)
    assert str(run("glow-lower-nodes{backend=interpreter}", module)) == before


@pytest.mark.parametrize("options", ["backend=absent", "backend=none keep=rleu"])
def test_unknown_names_are_errors(options: str):
    with pytest.raises(GlowError, match=r"absent|rleu"):
        run(f"glow-lower-nodes{{{options}}}", parse(TWO_KINDS))


Q = "!quant.uniform<u8:f32, 0.05:100>"
WIDE = "!quant.uniform<i32:f32, 0.001:7>"
AXIS = "!quant.uniform<i8:f32:1, {0.1:3, 0.5, 0.01:-7, 0.02, 0.3, 0.04, 0.25:9}>"


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("f32", Q),
        ("f32", AXIS),
        ("f16", Q),
        ("f32", WIDE),
        (Q, "f32"),
        (AXIS, "f32"),
        (WIDE, "f32"),
    ],
)
def test_quantization_is_arithmetic(source: str, result: str, rng: np.random.Generator):
    name = "dequantize" if source.startswith("!") else "quantize"
    module = parse(f"""
    func.func @main(%x: tensor<3x7x{source}> {{glow.name = "x"}})
       -> (tensor<3x7x{result}> {{glow.name = "y"}}) {{
      %y = glow.{name} %x : (tensor<3x7x{source}>) -> tensor<3x7x{result}>
      func.return %y : tensor<3x7x{result}>
    }}""")
    x = (4 * rng.standard_normal((3, 7))).astype(np.float16 if source == "f16" else np.float32)
    if name == "dequantize":
        dtype = {Q: np.uint8, WIDE: np.int32}.get(source, np.int8)
        x = rng.integers(0, 100, (3, 7)).astype(dtype)
    want = interpret(module, [x])["y"]
    run(LOWER, module)
    assert not count(module)[f"glow.{name}"]
    np.testing.assert_array_equal(interpret(module, [x])["y"], want)


def test_rescaling_is_arithmetic(rng: np.random.Generator):
    module = parse(f"""
    func.func @main(%x: tensor<3x7xi32> {{glow.name = "x"}},
        %m: tensor<3x7xi32> {{glow.name = "m"}}, %s: tensor<3x7xi32> {{glow.name = "s"}})
        -> (tensor<3x7x{Q}> {{glow.name = "y"}}) {{
      %y = glow.rescale %x, %m, %s
         : (tensor<3x7xi32>, tensor<3x7xi32>, tensor<3x7xi32>) -> tensor<3x7x{Q}>
      func.return %y : tensor<3x7x{Q}>
    }}""")
    x = rng.integers(-(2**30), 2**30, (3, 7), np.int32)
    m, s = rng.integers(1, 2**31, (3, 7)).astype(np.int32), np.full((3, 7), 53, np.int32)
    want = interpret(module, [x, m, s])["y"]
    run(LOWER, module)
    assert not count(module)["glow.rescale"]
    np.testing.assert_array_equal(interpret(module, [x, m, s])["y"], want)
