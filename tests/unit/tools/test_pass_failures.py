"""A failure inside a pass is told with the pass and the operation that it looked at."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import glow
import pytest
from glow.context import make_context
from glow.errors import CompileError
from glow.passes.levels import level_of, levels_of, path
from glow.passes.visited_operation import run_pass
from glow.runtime.stages import apply_pass, describe, parse_pipeline
from glow.tools.glow_opt import main
from glow.universe import PASSES, UNIVERSE
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint

GRAPH = """
func.func @main(%x: tensor<2x16x4x4xf32>) -> tensor<2x16x4x4xf32> {
  %w = glow.constant dense<0.5> : tensor<16x16x1x1xf32>
  %b = glow.constant dense<0.5> : tensor<16xf32>
  %c = glow.convolution %x, %w, %b : (tensor<2x16x4x4xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<2x16x4x4xf32>
  %e = glow.exp %c : (tensor<2x16x4x4xf32>) -> tensor<2x16x4x4xf32>
  %y = glow.neg %e : (tensor<2x16x4x4xf32>) -> tensor<2x16x4x4xf32>
  func.return %y : tensor<2x16x4x4xf32>
}
"""  # noqa: E501
BYTES = """
!t = tensor<1x16x4x4x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !t) -> !t {
  %y = glow.relu %x : (!t) -> !t
  func.return %y : !t
}
"""
REALS = """
!q = tensor<2x3x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !q) -> !q {
  %d = glow.dequantize %x : (!q) -> tensor<2x3xf32>
  %r = glow.relu %d : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = glow.quantize %r : (tensor<2x3xf32>) -> !q
  func.return %y : !q
}
"""
PRODUCT = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = glow.constant dense<0.5> : tensor<3x2xf32>
  %y = glow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
"""
PRODUCTS = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %v = glow.constant dense<0.25> : tensor<3x2xf32>
  %w = glow.constant dense<0.5> : tensor<3x2xf32>
  %a = glow.matmul %x, %v : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %b = glow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %y = glow.matmul %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
"""
WEIGHTS = """
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x1xf32> {
  %w = glow.constant dense<0.5> : tensor<8x1xf32>
  %y = glow.matmul %x, %w : (tensor<2x8xf32>, tensor<8x1xf32>) -> tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}
"""
BLOCKED = """
func.func @main(%x: tensor<1x1x4x4x1xf32>) -> tensor<1x1x2x2x1xf32> {
  %f = glow.constant dense<0.5> : tensor<1x1x3x3x1x1xf32>
  %b = glow.constant dense<0.5> : tensor<1x1xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x1x4x4x1xf32>, tensor<1x1x3x3x1x1xf32>, tensor<1x1xf32>) -> tensor<1x1x2x2x1xf32>
  func.return %y : tensor<1x1x2x2x1xf32>
}
"""  # noqa: E501
KEPT = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = glow.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = glow.concat %a, %x, %a axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<6x3xf32>
  %c = glow.softmax %b axis 0 : (tensor<6x3xf32>) -> tensor<6x3xf32>
  %d = glow.slice %c sizes [2, 3] : (tensor<6x3xf32>) -> tensor<2x3xf32>
  %y = glow.mul %a, %d : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""  # noqa: E501
SCALED = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = glow.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = glow.mul %e, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""
POOLED = """
func.func @main(%x: tensor<1x1x4x4x1xf32>) -> tensor<1x1x2x2x1xf32> {
  %y = glow_cpu.blocked_max_pool %x strides [2, 2] kernel [2, 2] : (tensor<1x1x4x4x1xf32>) -> tensor<1x1x2x2x1xf32>
  func.return %y : tensor<1x1x2x2x1xf32>
}
"""  # noqa: E501
BRANCHES = """
func.func @main(%x: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %v = glow.constant dense<0.25> : tensor<1x1x1xf32>
  %w = glow.constant dense<0.5> : tensor<1x1x1xf32>
  %c = glow.constant dense<1.0> : tensor<1xf32>
  %a = glow.convolution %x, %v, %c : (tensor<1x1x3xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x3xf32>
  %b = glow.convolution %x, %w, %c : (tensor<1x1x3xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x3xf32>
  %y = glow.add %a, %b : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  func.return %y : tensor<1x1x3xf32>
}
"""  # noqa: E501
WINDOW = """
func.func @main(%x: tensor<1x2x9x9xf32>) -> tensor<1x2x5x5xf32> {
  %y = glow.max_pool %x kernel [5, 5] : (tensor<1x2x9x9xf32>) -> tensor<1x2x5x5xf32>
  func.return %y : tensor<1x2x5x5xf32>
}
"""
SWISH = """
func.func @main(%x: tensor<1024xui8>) -> tensor<1024xui8> {
  %r = glow.cast %x : (tensor<1024xui8>) -> tensor<1024xf32>
  %e = glow.exp %r : (tensor<1024xf32>) -> tensor<1024xf32>
  %y = glow.cast %e : (tensor<1024xf32>) -> tensor<1024xui8>
  func.return %y : tensor<1024xui8>
}
"""
SYMBOLIC = """
!t = tensor<?xf32, #glow.dims<batch>>
func.func @main(%x: !t) -> !t {
  %y = glow.relu %x : (!t) -> !t
  func.return %y : !t
}
"""
HALF = PRODUCT.replace("f32", "f16")
TEXTS = {
    "glow-bind-symbols": SYMBOLIC,
    "glow-choose-convolutions": BLOCKED,
    "glow-demote-products-to-bf16": BLOCKED,
    "glow-fuse-attention": PRODUCT,
    "glow-fuse-operators": SCALED,
    "glow-fuse-pooling": POOLED,
    "glow-merge-branches": BRANCHES,
    "glow-merge-products": PRODUCTS,
    "glow-pack-weights": PRODUCT,
    "glow-legalize-quantized": REALS,
    "glow-rematerialize": KEPT,
    "glow-split-pooling": WINDOW,
    "glow-use-lookup-tables": SWISH,
    "glow-form-vta-layers": BYTES,
    "glow-lower-to-vta": BYTES,
    "glow-quantize": PRODUCT,
    "glow-quantize-weights": WEIGHTS,
    "glow-tile-vta-layers": BYTES,
    "glow-verify-vta-design": BYTES,
    "glow-verify-vta-tokens": BYTES,
    "glow-widen-products": HALF,
}
"""The modules of passes that do nothing with `GRAPH`."""
OPTIONS = {
    "glow-bind-symbols": "{symbols=batch sizes=2}",
    "glow-choose-convolutions": "{algorithm=winograd}",
    "glow-convert-to": "{element=f16}",
    "glow-differentiate": "{seed=true}",
    "glow-divide-nests": "{threads=2}",
    "glow-partition": "{devices=interpreter}",
    "glow-quantize": "{dynamic=true}",
    "glow-quantize-weights": "{group=8}",
    "glow-rematerialize": "{budget=150}",
}
BEFORE = {
    "glow-inline-partitions": "glow-partition{devices=interpreter}",
    "glow-verify-partitions": "glow-partition{devices=interpreter}",
}
PACKAGE = Path(glow.__file__).parent
LOOKS_AT_FUNCTIONS_AT_MOST = ("glow-set-machine", "glow-limit-rows")


class Injected(Exception):
    """A failure that no pass expects."""


def inner(value: object) -> Operation | None:
    """Returns the operation of an argument, if it is inside of a function or a kernel."""
    match value:
        case OpResult(op=op):
            pass
        case InsertPoint(insert_before=op):
            pass
        case op:
            pass
    around = op.parent_op() if isinstance(op, Operation) else None
    return op if around is not None and not isinstance(around, ModuleOp) else None  # type: ignore


def is_of_a_pass(frame: FrameType) -> bool:
    """Returns whether a frame is of a function of the package that a pass may call."""
    code = frame.f_code
    try:
        where = Path(code.co_filename).relative_to(PACKAGE)
    except ValueError:
        return False
    # the driver asks for a rule before the node is looked at
    asked = code.co_name in ("match_and_rewrite", "<genexpr>", "is_foldable")
    return where.parts[0] not in ("tests", ".venv") and not (
        asked or where.name == "visited_operation.py" or code.co_flags & inspect.CO_GENERATOR
    )


@contextmanager
def failing(number: int) -> Iterator[list[Operation]]:
    """
    Lets the call with this number fail, of the functions that get an operation or its result.
    Gives the operations of the calls up to then.
    """
    calls: list[Operation] = []
    runs = False

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal runs
        if event != "call":
            return
        runs = runs or frame.f_code is run_pass.__code__
        if not runs or not is_of_a_pass(frame):
            return
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        op = next((op for n in names if (op := inner(frame.f_locals.get(n))) is not None), None)
        if op is not None:
            calls.append(op)
            if len(calls) == number:
                raise Injected("injected")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def module_for(name: str) -> ModuleOp:
    """Returns a small module of the level of a pass."""
    context = make_context()
    module = Parser(context, TEXTS.get(name, GRAPH)).parse_module()
    level = level_of(UNIVERSE.all_passes[name]())
    ways = [BEFORE.get(name, ""), *((level and path(levels_of(module), level)) or ())]
    for way in filter(None, ways):
        for p in parse_pipeline(way):
            run_pass(p, context, module)
    return module


@pytest.mark.parametrize("name", [n for n in PASSES if n not in LOOKS_AT_FUNCTIONS_AT_MOST])
def test_a_failure_names_the_pass_and_the_operation(name: str) -> None:
    module = module_for(name)
    (p,) = parse_pipeline(name + OPTIONS.get(name, ""))
    with failing(0) as calls:
        run_pass(p, make_context(), module.clone())
    assert calls, "the pass calls no function with an operation"
    for number in sorted({1, (len(calls) + 1) // 2, len(calls)}):
        with failing(number), pytest.raises(CompileError) as raised:
            apply_pass(p, make_context(), module.clone())
        cause = raised.value.__cause__
        assert isinstance(cause, Injected)
        operation = getattr(cause, "operation", None)
        assert isinstance(operation, Operation), f"call {number} of {len(calls)}"
        assert not isinstance(operation, ModuleOp)
        text = f"{name} failed at {describe(operation)}: Injected: injected"
        assert str(raised.value) == text


def test_glow_opt_names_the_operation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "graph.mlir"
    source.write_text(GRAPH)
    with failing(3) as calls:
        assert main([str(source), "--lower-nodes"]) == 1
    error = capsys.readouterr().err
    name = calls[-1].results[0].name_hint
    line = next(n for n, text in enumerate(GRAPH.split("\n"), 1) if f"%{name} = " in text)
    assert f"{source}:{line}:" in error
    assert f"glow-lower-nodes: '{calls[-1].name}' op (%{name}): injected" in error
