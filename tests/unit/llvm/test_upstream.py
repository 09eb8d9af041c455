"""
Text in generic form is valid for upstream's own parser and verifiers: `iree-opt` of the package
`iree-base-compiler`, whose MLIR is that of LLVM 24.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from glow.context import make_context
from glow.lowering.threads import module_text
from glow.parsing import parse_text
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages
from glow.tests.support.kernels import generic_text, parse

IREE_OPT = Path(sys.executable).with_name("iree-opt")
pytestmark = pytest.mark.skipif(
    not IREE_OPT.exists(),
    reason="needs upstream's parser: pip install glow-compiler[upstream]",
)

FLOATS = """
func.func @main(%x: tensor<3x37xf32> {glow.name = "x"}, %z: tensor<3x37xf32> {glow.name = "z"})
    -> (tensor<3x37xf32> {glow.name = "y"}) {
  %a = glow.add %x, %z : (tensor<3x37xf32>, tensor<3x37xf32>) -> tensor<3x37xf32>
  %b = glow.exp %a : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %c = glow.softmax %b axis 1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %d = glow.erf %c : (tensor<3x37xf32>) -> tensor<3x37xf32>
  func.return %d : tensor<3x37xf32>
}
"""
ATTENTION = """
!q = tensor<2x7x4xf32>
!k = tensor<2x9x4xf32>
!v = tensor<2x9x3xf32>
!s = tensor<2x7x9xf32>
func.func @main(%q: !q {glow.name = "q"}, %k: !k {glow.name = "k"}, %v: !v {glow.name = "v"},
                %mask: !s {glow.name = "mask"})
    -> (tensor<2x7x3xf32> {glow.name = "y"}, tensor<2x7x1xf32> {glow.name = "far"}) {
  %product = glow.matmul %q, %k transpose_rhs true : (!q, !k) -> !s
  %half = glow.splat value 0.5 : !s
  %scores = glow.mul %product, %half : (!s, !s) -> !s
  %masked = glow.add %scores, %mask : (!s, !s) -> !s
  %shares = glow.softmax %masked axis 2 : (!s) -> !s
  %y = glow.matmul %shares, %v : (!s, !v) -> tensor<2x7x3xf32>
  %column = glow.slice %mask starts [0, 0, 2] sizes [2, 7, 1] : (!s) -> tensor<2x7x1xf32>
  %far = glow.exp %column : (tensor<2x7x1xf32>) -> tensor<2x7x1xf32>
  func.return %y, %far : tensor<2x7x3xf32>, tensor<2x7x1xf32>
}
"""
CONVOLUTION = """
!x = tensor<1x16x10x10xf32>
!y = tensor<1x16x5x5xf32>
func.func @main(%x: !x {glow.name = "x"}) -> (!y {glow.name = "y"}) {
  %w = glow.constant dense<0.5> : tensor<16x16x3x3xf32>
  %b = glow.constant dense<1.0> : tensor<16xf32>
  %c = glow.convolution %x, %w, %b pads [1, 1, 1, 1]
    : (!x, tensor<16x16x3x3xf32>, tensor<16xf32>) -> !x
  %r = glow.relu %c : (!x) -> !x
  %y = glow.max_pool %r kernel [2, 2] strides [2, 2] : (!x) -> !y
  func.return %y : !y
}
"""
INTEGERS = """
!x = tensor<1x8x6x6x!quant.uniform<u8:f32, 0.5:3>>
!q = tensor<1x8x6x6x!quant.uniform<u8:f32, 0.25>>
!k = tensor<8x8x3x3x!quant.uniform<i8:f32, 0.1>>
!m = tensor<288x5x!quant.uniform<i8:f32, 0.1>>
!r = tensor<1x8x6x6xf32>
func.func @main(%f: !r {glow.name = "x"}) -> (tensor<1x5xf32> {glow.name = "y"}) {
  %x = glow.quantize %f : (!r) -> !x
  %r = glow.dequantize %x : (!x) -> !r
  %k = glow.constant dense<3> : tensor<8x8x3x3xi8> : !k
  %w = glow.dequantize %k : (!k) -> tensor<8x8x3x3xf32>
  %b = glow.constant dense<0.5> : tensor<8xf32>
  %c = glow.convolution %r, %w, %b pads [1, 1, 1, 1]
    : (!r, tensor<8x8x3x3xf32>, tensor<8xf32>) -> !r
  %a = glow.relu %c : (!r) -> !r
  %q = glow.quantize %a : (!r) -> !q
  %d = glow.dequantize %q : (!q) -> !r
  %flat = glow.reshape %d : (!r) -> tensor<1x288xf32>
  %m = glow.constant dense<2> : tensor<288x5xi8> : !m
  %n = glow.dequantize %m : (!m) -> tensor<288x5xf32>
  %y = glow.matmul %flat, %n : (tensor<1x288xf32>, tensor<288x5xf32>) -> tensor<1x5xf32>
  func.return %y : tensor<1x5xf32>
}
"""
ARM = "aarch64-unknown-linux-gnu"


@dataclass(frozen=True)
class Case:
    """A network, and what code is generated for."""

    text: str
    cpu: str
    threads: int = 1
    triple: str | None = None
    contains: str = ""
    """A part of the llvm stage that makes the case worth its time."""

    def modules(self) -> dict[str, str]:
        """Returns the stages in dialects of upstream, by name, in generic form."""
        module = parse_text(make_context(), self.text.encode(), "network.mlir")
        algorithm = "winograd" if self.text == CONVOLUTION else "auto"
        backend = CpuBackend(
            threads=self.threads,
            target_cpu=self.cpu,
            target_triple=self.triple,
            conv_algorithm=algorithm,
        )
        stages = Stages(module, backend.stages(), verify=False)
        wanted = ("kernels", "llvm")
        return {name: generic_text(m) for name, m in stages.walk() if name in wanted}


CASES = {
    "f32": Case(FLOATS, "haswell", contains="vector<8xf32>"),
    "f16": Case(FLOATS.replace("f32", "f16"), "haswell", contains="f16"),
    "bf16 on two threads": Case(
        FLOATS.replace("f32", "bf16").replace("3x37", "301x370"),
        "skylake-avx512",
        threads=2,
        contains="glow_barrier",
    ),
    "attention with masked tails": Case(ATTENTION, "haswell", contains="masked.gather"),
    "Winograd convolution": Case(CONVOLUTION, "skylake-avx512", contains="vector<16xf32>"),
    "integers on tiles": Case(INTEGERS, "sapphirerapids", contains="tdpbusd"),
    "integers without dot products": Case(INTEGERS, "x86-64", contains="vector<4xi32>"),
    "integers on ARM": Case(INTEGERS, "neoverse-n1", triple=ARM, contains="dot"),
}


def upstream_says(text: str) -> str:
    """
    Returns the messages of `iree-opt` about a module, which it checks; nothing if it is valid.
    """
    done = subprocess.run(
        [str(IREE_OPT), "--allow-unregistered-dialect", "--split-input-file", "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
    )
    return done.stderr[:2000] if done.returncode else ""


@pytest.mark.parametrize("name", CASES)
def test_stages_in_generic_form(name: str) -> None:
    case = CASES[name]
    modules = case.modules()
    assert case.contains in modules["llvm"]
    assert sorted(modules) == ["kernels", "llvm"]
    assert upstream_says("\n// -----\n".join(modules.values())) == ""


@pytest.mark.parametrize("name", ["ops", "atomics"])
def test_every_operation(name: str, repository: Path) -> None:
    text = (repository / "tests" / "lit" / "llvm" / f"{name}.mlir").read_text()
    parts = [generic_text(parse(part)) for part in text.split("// -----")]
    assert upstream_says("\n// -----\n".join(parts)) == ""


def test_meetings_of_threads() -> None:
    assert upstream_says(generic_text(parse(module_text("x86_64-unknown-linux-gnu")))) == ""


def test_what_is_invalid_is_noticed() -> None:
    wrong = '"builtin.module"() ({ %x = "llvm.mlir.undef"() : () -> index }) : () -> ()'
    assert "error" in upstream_says(wrong)
