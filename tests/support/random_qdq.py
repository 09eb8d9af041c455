"""Random graphs in QDQ form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.constant import ConstantOp, SplatOp
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from glow.glow_dialects.operator import element_of, shape_of, with_shape
from glow.glow_dialects.quant import QuantizedType
from glow.semantics import evaluate
from glow.semantics.arrays import constant_of
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, f32, i8
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

_U8 = IntegerType(8, Signedness.UNSIGNED)


def values_of(
    block: Block,
    inputs: Sequence[np.ndarray],
    changed: Callable[[np.ndarray], np.ndarray] = lambda array: array,
) -> dict[SSAValue, np.ndarray]:
    """Returns each value of a graph for some inputs; `changed` is applied to computed values."""
    found: dict[SSAValue, np.ndarray] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if isinstance(op, ConstantOp | SplatOp):
            array = constant_of(op.result)
            assert array is not None
            found[op.result] = array
        elif isinstance(op, Node):
            (array,) = evaluate(op.call, [found[o] for o in op.operands])
            found[op.results[0]] = changed(array)
    return found


def quantized_type(values: np.ndarray, constant: bool, rng: np.random.Generator) -> QuantizedType:
    """
    Returns a type for the range of `values`, which contains 0: signed for constants, else any.
    """
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    if constant:
        return QuantizedType(i8, f32, float(np.float32(max(-low, high, 1e-3) / 127)))
    scale = float(np.float32(max(high - low, 1e-3) / 255))
    zero_point = int(np.clip(round(-low / scale), 0, 255))
    if rng.integers(2):
        return QuantizedType(_U8, f32, scale, zero_point)
    return QuantizedType(i8, f32, scale, zero_point - 128)


def insert_quantization(
    module: ModuleOp, inputs: Sequence[np.ndarray], rng: np.random.Generator
) -> None:
    """Quantizes and dequantize most values of type f32, by their ranges for `inputs`."""
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    block = main.body.block
    for value, array in values_of(block, inputs).items():
        numbers = array.size and element_of(value.type) == f32 and np.isfinite(array).all()
        if not numbers or rng.integers(8) == 0:
            continue
        t = quantized_type(array, isinstance(value.owner, ConstantOp | SplatOp), rng)
        result = with_shape(t, shape_of(value.type))
        stored = QuantizeOp.of(value, result_types=[result])
        real = DequantizeOp.of(stored.result)
        first = block.first_op if isinstance(value.owner, Block) else value.owner.next_op
        assert first is not None
        block.insert_ops_before([stored, real], first)
        for use in list(value.uses):
            if use.operation is not stored:
                use.operation.operands[use.index] = real.result
    module.verify()
