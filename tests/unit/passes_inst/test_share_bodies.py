"""Instructions whose bodies differ in numbers share a kernel and compute the same as before."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow_nest.kernel import KernelOp
from glow.passes.instructions.verify_memory import verify_memory
from glow.runtime.interpreter import interpret
from glow.tests.support.native import apply, nests_passes, parse, run_native
from xdsl.dialects.builtin import ModuleOp

ROWS, COLUMNS = 3, 37
WEIGHTS = f"memref<{COLUMNS}x{COLUMNS}xf32>"
BYTES = "!quant.uniform<u8:f32, {:.4f}:{}>"


def _stack(element: str, scale: float, bound: float) -> str:
    """Returns a chain on the activation, in place."""
    t = f"memref<{ROWS}x{COLUMNS}x{element}>"
    return f"""glow_inst.stacked @inout %a : {t} {{
    ^bb0(%0: {element}):
      %1 = glow.splat value {scale} : {element}
      %2 = glow.mul %0, %1 : ({element}, {element}) -> {element}
      %3 = glow.splat value {bound} : {element}
      %4 = glow.minimum %2, %3 : ({element}, {element}) -> {element}
      %5 = glow.gelu %4 : ({element}) -> {element}
      glow_inst.yield %5 : {element}
    }}"""


def _quantized(scale: float, zero: int, i: int) -> str:
    """Returns a quantization of the activation, and its way back."""
    real, t = (
        f"memref<{ROWS}x{COLUMNS}xf32>",
        f"memref<{ROWS}x{COLUMNS}x{BYTES.format(scale, zero)}>",
    )
    return f"""%q{i} = glow_inst.alloc_activation : {t}
      glow_inst.quantize @out %q{i}, @in %a : {t}, {real}
      glow_inst.dequantize @out %a, @in %q{i} : {real}, {t}
      glow_inst.dealloc_activation %q{i} : {t}"""


def _product(scale: float, zero: int, i: int) -> str:
    """Returns a product of the activation, which an epilogue quantizes, and its way back."""
    q = BYTES.format(scale, zero)
    real, t = f"memref<{ROWS}x{COLUMNS}xf32>", f"memref<{ROWS}x{COLUMNS}x{q}>"
    return f"""%q{i} = glow_inst.alloc_activation : {t}
      glow_inst.matmul @out %q{i}, @in %a, @in %w : {t}, {real}, {WEIGHTS} epilogue {{
      ^bb0(%0: f32):
        %1 = glow.leaky_relu %0 alpha {scale / 3} : (f32) -> f32
        %2 = glow.quantize %1 : (f32) -> {q}
        glow_inst.yield %2 : {q}
      }}
      glow_inst.dequantize @out %a, @in %q{i} : {real}, {t}
      glow_inst.dealloc_activation %q{i} : {t}"""


def _program(element: str, steps: list[str]) -> ModuleOp:
    t = f"memref<{ROWS}x{COLUMNS}x{element}>"
    body = "\n".join(steps)
    return parse(f"""
    func.func @main(%x: {t} {{glow.name = "x", glow.qualifier = "in"}},
                    %w: {WEIGHTS} {{glow.name = "w", glow.qualifier = "in"}},
                    %y: {t} {{glow.name = "y", glow.qualifier = "out"}}) {{
      %a = glow_inst.alloc_activation : {t}
      glow_inst.copy @out %a, @in %x : {t}, {t}
      {body}
      glow_inst.copy @out %y, @in %a : {t}, {t}
      glow_inst.dealloc_activation %a : {t}
      func.return
    }}""")


def _kernels(module: ModuleOp) -> int:
    built = apply(module.clone(), nests_passes())
    return sum(isinstance(op, KernelOp) for op in built.ops)


@pytest.mark.parametrize("kind", ["f32", "f16", "quantized", "product"])
def test_one_kernel_for_all_numbers(kind: str, rng: np.random.Generator) -> None:
    # a power of two is divided by in another way
    scales, zeros = rng.uniform(0.065, 0.09, 4).round(4), rng.integers(2, 250, 4)
    steps = {
        "f32": [_stack("f32", 17.3 * s, 2 + s) for s in scales],
        "f16": [_stack("f16", 17.3 * s, 2 + s) for s in scales],
        "quantized": [
            _quantized(s, z, i) for i, (s, z) in enumerate(zip(scales, zeros, strict=True))
        ],
        "product": [_product(s, z, i) for i, (s, z) in enumerate(zip(scales, zeros, strict=True))],
    }[kind]
    element = "f16" if kind == "f16" else "f32"
    module = _program(element, steps)
    inputs = {
        "x": rng.standard_normal((ROWS, COLUMNS)).astype("f2" if kind == "f16" else "f4"),
        "w": rng.standard_normal((COLUMNS, COLUMNS)).astype("f4") / 4,
    }
    before = interpret(module, inputs)["y"]
    assert np.abs(before).max() > 0.1
    separate = apply(module.clone(), "glow-allocate")
    apply(module, "glow-share-bodies")
    verify_memory(module)
    # the nodes of bodies round f16 once, those of the interpreter each
    rounding = 4e-3 * np.abs(before).max() if kind == "f16" else 0
    np.testing.assert_allclose(interpret(module, inputs)["y"], before, rtol=0, atol=rounding)
    apply(module, "glow-allocate")
    assert _kernels(module) == {"f32": 2, "f16": 2}.get(kind, 3) < _kernels(separate)
    found, wanted = (run_native(m, list(inputs.values())) for m in (module, separate))
    np.testing.assert_array_equal(found, wanted)
