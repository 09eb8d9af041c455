"""LLVM IR text: literals, phis, declarations, and modules that stand alone."""

from __future__ import annotations

import io
import math

import llvmlite.binding as binding
import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.llvm_extended import EXTENDED_LLVM
from glow.lowering.llvm.instructions import TRANSLATORS
from glow.lowering.llvm.text import float_text
from glow.lowering.llvm.translate import LLVMIRTarget, translate_functions, translate_module
from glow.tests.support.kernels import CONTEXT, Kernels, generic_text, parse, reparse
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import llvm
from xdsl.dialects.builtin import bf16, f16, f32, f64

# branches and constants are written by the translator itself
WITHOUT_TRANSLATION = {"llvm.func", "llvm.br", "llvm.cond_br", "llvm.mlir.constant"} | {
    *("llvm.mlir.poison", "llvm.mlir.undef", "llvm.mlir.zero"),
    # never made by a conversion
    *("llvm.mlir.global", "llvm.mlir.addressof", "llvm.inline_asm"),
    *("llvm.insertvalue", "llvm.extractvalue", "llvm.ptrtoint", "llvm.inttoptr"),
    *("llvm.intr.stacksave", "llvm.intr.stackrestore", "llvm.unreachable"),
    *("llvm.intr.exp2", "llvm.intr.log2", "llvm.intr.copysign"),
    *("llvm.intr.maxnum", "llvm.intr.minnum"),
}


def test_every_operation_is_translated():
    names = {op.name for op in EXTENDED_LLVM.operations}
    assert names - WITHOUT_TRANSLATION == set(TRANSLATORS)


EVERYTHING = """
llvm.func @f(%p: !llvm.ptr {llvm.noalias, llvm.align = 16 : i64}, %q: !llvm.ptr {llvm.readonly},
             %a: vector<4xf32>, %m: vector<4xi1>, %i: i64, %n: vector<4xi64>, %x: f32, %k: i32,
             %h: vector<4xbf16>, %b: i8) {
  %c1 = llvm.mlir.constant(1) : i64
  %0 = llvm.extractelement %a[%i : i64] : vector<4xf32>
  %1 = llvm.fcmp "olt" %a, %a : vector<4xf32>
  %2 = llvm.fcmp "uno" %0, %x {fastmathFlags = #llvm.fastmath<nsz>} : f32
  %3 = llvm.icmp "slt" %n, %n : vector<4xi64>
  %4 = llvm.select %m, %a, %a : vector<4xi1>, vector<4xf32>
  %5 = llvm.select %2, %a, %a : i1, vector<4xf32>
  %6 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
  %7 = llvm.getelementptr %p[%n] : (!llvm.ptr, vector<4xi64>) -> vector<4x!llvm.ptr>, f32
  %8 = llvm.intr.masked.gather %7, %m, %a {alignment = 4 : i64}
      : (vector<4x!llvm.ptr>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  llvm.intr.masked.store %a, %p, %m {alignment = 4 : i64}
      : vector<4xf32>, vector<4xi1> into !llvm.ptr
  %10 = "llvm.intr.vector.reduce.fadd"(%x, %a) <{fastmathFlags = #llvm.fastmath<reassoc>}>
      : (f32, vector<4xf32>) -> f32
  %11 = llvm.intr.vector.reduce.fmaximum(%a) : (vector<4xf32>) -> f32
  %12 = llvm.intr.maximum(%a, %a) {fastmathFlags = #llvm.fastmath<nsz>}
      : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %13 = llvm.intr.smax(%i, %i) : (i64, i64) -> i64
  "llvm.intr.prefetch"(%p) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
  %15 = llvm.uitofp %n : vector<4xi64> to vector<4xf32>
  %16 = llvm.fptosi %a : vector<4xf32> to vector<4xi32>
  %17 = llvm.fpext %h : vector<4xbf16> to vector<4xf32>
  %18 = llvm.add %i, %i overflow<nsw, nuw> : i64
  %19 = llvm.fadd %a, %17 {fastmathFlags = #llvm.fastmath<contract, reassoc>} : vector<4xf32>
  %20 = llvm.alloca %c1 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %23 = llvm.intr.exp(%x) : (f32) -> f32
  %24 = llvm.intr.exp(%a) : (vector<4xf32>) -> vector<4xf32>
  %25 = llvm.mlir.poison : vector<4xf32>
  %26 = llvm.shufflevector %a, %25 [3, -1, 0, 0, 1] : vector<4xf32>
  %27 = llvm.insertelement %x, %25[%c1 : i64] : vector<4xf32>
  %28 = llvm.call_intrinsic "llvm.sqrt.f32"(%x) {fastmathFlags = #llvm.fastmath<afn>}
      : (f32) -> f32
  %29 = llvm.or %i, %c1 : i64
  %30 = llvm.lshr %i, %c1 : i64
  %31 = llvm.zext %k : i32 to i64
  %34 = llvm.mlir.zero : !llvm.ptr
  llvm.store %34, %p {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr
  llvm.return
}
"""


def test_all_syntax_is_read_back_and_accepted_by_llvm():
    module = reparse(parse(EVERYTHING))
    assert str(parse(generic_text(module))) == str(module)
    text = translate_module(module)
    binding.parse_assembly(text).verify()
    for expected in (
        "ptr noalias align(16) %v0, ptr readonly %v1",
        "add nsw nuw i64",
        "fadd reassoc contract <4 x float>",
        "call reassoc float @llvm.vector.reduce.fadd.v4f32(float",
        "i32 3, i32 poison, i32 0",
        "ptr align 4 %v0, <4 x i1>",
    ):
        assert expected in text


def test_an_intrinsic_is_declared_once_for_each_type():
    text = translate_module(parse(EVERYTHING))
    assert text.count("declare float @llvm.exp.f32(float)") == 1
    assert text.count("declare <4 x float> @llvm.exp.v4f32(<4 x float>)") == 1


def test_a_branch_to_one_block_with_two_sets_of_arguments():
    text = """
    llvm.func @f(%x: !llvm.ptr, %y: !llvm.ptr) {
      %one = llvm.mlir.constant(1.0 : f32) : f32
      %two = llvm.mlir.constant(2.0 : f32) : f32
      %v = llvm.load %x : !llvm.ptr -> f32
      %c = llvm.fcmp "ogt" %v, %one : f32
      llvm.cond_br %c, ^end(%one : f32), ^end(%two : f32)
    ^end(%r: f32):
      llvm.store %r, %y : f32, !llvm.ptr
      llvm.return
    }"""
    kernels = Kernels(text, converted=True)
    for value, expected in ((5, 1), (0, 2)):
        y = np.zeros(1, np.float32)
        kernels.f(np.array([value], np.float32), y)
        assert y[0] == expected


def test_blocks_need_not_be_in_the_order_of_dominance():
    text = """
    llvm.func @f(%x: !llvm.ptr) {
      llvm.br ^first
    ^last:
      llvm.store %v, %x : f32, !llvm.ptr
      llvm.return
    ^first:
      %v = llvm.mlir.constant(3.0 : f32) : f32
      %w = llvm.fadd %v, %v : f32
      llvm.br ^last
    }"""
    x = np.zeros(1, np.float32)
    Kernels(text, converted=True).f(x)
    assert x[0] == 3


def test_text_does_not_depend_on_names():
    text = "llvm.func @f(%x: !llvm.ptr, %y: f32) {{\n {}\n llvm.return\n}}"
    first = text.format("%a = llvm.fadd %y, %y : f32\n llvm.store %a, %x : f32, !llvm.ptr")
    second = text.format("%b = llvm.fadd %y, %y : f32\n llvm.store %b, %x : f32, !llvm.ptr")
    assert translate_module(parse(first)) == translate_module(parse(second))


CALLS = """
llvm.func @callee(%x: f32) -> f32 {
  %y = llvm.intr.sqrt(%x) : (f32) -> f32
  llvm.return %y : f32
}
llvm.func @erff(f32) -> f32
llvm.func @caller(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> f32
  %y = llvm.call @callee(%x) : (f32) -> f32
  %z = llvm.call @erff(%y) : (f32) -> f32
  llvm.store %z, %p : f32, !llvm.ptr
  llvm.return
}
"""


def test_each_function_is_a_module_of_its_own():
    module = parse(CALLS)
    functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, llvm.FuncOp)}
    caller = translate_functions([functions["caller"]])
    binding.parse_assembly(caller).verify()
    assert "declare float @callee(float)" in caller
    assert "define float @callee" not in caller
    assert "sqrt" not in caller
    whole = translate_module(module)
    binding.parse_assembly(whole).verify()
    assert "declare float @callee" not in whole
    assert "declare float @erff(float)" in whole


def test_target_writes_the_module():
    output = io.StringIO()
    module = parse(CALLS)
    LLVMIRTarget().emit(CONTEXT, module, output)
    assert output.getvalue() == translate_module(module)


def test_an_atomic_store():
    # xDSL's custom syntax of llvm.store leaves the ordering out
    ordering = "ordering = 5 : i64, alignment = 4 : i64"
    module = parse(
        "llvm.func @f(%p: !llvm.ptr, %v: i32) {\n"
        f' "llvm.store"(%v, %p) <{{{ordering}}}> : (i32, !llvm.ptr) -> ()\n llvm.return\n}}'
    )
    text = translate_module(module)
    binding.parse_assembly(text).verify()
    assert "store atomic i32 %v1, ptr %v0 release, align 4" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() {\n return\n}", r"'func\.func'.*expected llvm\.func"),
        (
            "llvm.func @f() {\n %r = arith.constant 1 : i32\n llvm.return\n}",
            r"'arith\.constant' in @f",
        ),
        (
            "llvm.func @f(%p: !llvm.ptr) {\n"
            " %r = llvm.ptrtoint %p : !llvm.ptr to i64\n llvm.return\n}",
            r"'llvm\.ptrtoint' in @f.*no translation is known",
        ),
        (
            "llvm.func @f() {\n %r = llvm.mlir.undef : i64\n llvm.return\n}",
            r"'llvm\.mlir\.undef' in @f.*no translation is known",
        ),
        (
            "llvm.func @f(%p: !llvm.ptr) {\n"
            " %r = llvm.load %p atomic monotonic : !llvm.ptr -> i32\n llvm.return\n}",
            "needs an alignment",
        ),
    ],
)
def test_what_cannot_be_translated_is_named(text: str, message: str):
    with pytest.raises(CompileError, match=message):
        translate_module(parse(text))


@pytest.mark.parametrize(
    ("value", "element", "text"),
    [
        (1.0, f32, "0x3FF0000000000000"),
        (0.1, f32, "0x3FB99999A0000000"),
        (0.1, f64, "0x3FB999999999999A"),
        (-0.0, f32, "0x8000000000000000"),
        (math.inf, f32, "0x7FF0000000000000"),
        (1e300, f32, "0x7FF0000000000000"),
        (-1e300, f16, "0xHFC00"),
        (1.5, f16, "0xH3E00"),
        (1.5, bf16, "0xR3FC0"),
        (math.inf, bf16, "0xR7F80"),
    ],
)
def test_literals(value: float, element, text: str):
    assert float_text(value, element) == text


@given(st.floats(width=32, allow_nan=True), st.floats(width=64), st.floats(width=16))
def test_llvm_reads_literals_exactly(single: float, double: float, half: float):
    text = "".join(
        f"@{name} = constant {t} {float_text(value, element)}\n"
        for name, t, value, element in (
            ("a", "float", single, f32),
            ("b", "double", double, f64),
            ("c", "half", half, f16),
            ("d", "bfloat", single, bf16),
        )
    )
    binding.parse_assembly(text).verify()
