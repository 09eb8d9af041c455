"""
Conversion between the `vta` dialect and programs that the machine executes.

A function becomes one `VtaProgram`: its regions and tables of micro-ops are the memory map, its
instructions the words. An input or output without a tensor consists of bytes. An attribute
`vta.layer = "name"` on an instruction marks the beginning of a layer of the network.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i8,
)
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError
from ...glow_dialects.blob import BlobAttr
from ...glow_dialects.vta import (
    LAYER,
    MicroOpsOp,
    RegionKind,
    RegionOp,
    VtaConfig,
    VtaInstruction,
    config_of,
    contents,
)
from ...lowering.vta.decode import decode_micro_ops, decode_program
from ...lowering.vta.encode import encode_instructions, encode_micro_ops, micro_op_dtype
from ...semantics.arrays import element_type, make_constant, numpy_dtype
from .program import LayerRange, Region, RegionRole, VtaProgram


def assemble(function: func.FuncOp) -> VtaProgram:
    """
    Returns the program of a function.

    Raises CompileError if the function is no program for VTA, fields do not fit, or the memory map
    is not possible; OSError and ValueError if a constant cannot be read.
    """
    try:
        config = config_of(function)
        regions, instructions = contents(function)
    except VerifyException as e:
        raise CompileError(str(e)) from None
    return VtaProgram(
        config,
        encode_instructions(instructions, config),
        tuple(_region(op, config) for op in regions),
        _layers(instructions),
    )


def _region(op: RegionOp | MicroOpsOp, config: VtaConfig) -> Region:
    if isinstance(op, MicroOpsOp):
        stored = encode_micro_ops(op, config).view(np.uint8)
        return Region(op.label.data, RegionRole.MICRO_OPS, op.first_byte, stored.size, stored)
    array = op.array
    if array is None and op.kind.data in (RegionKind.INPUT, RegionKind.OUTPUT):
        array = TensorType(i8, [op.num_bytes])
    return Region(
        op.label.data,
        RegionRole(op.kind.data.value),
        op.first_byte,
        op.num_bytes,
        None if op.value is None else _stored(op.value),
        None if array is None else numpy_dtype(array.element_type).newbyteorder("<"),
        () if array is None else array.get_shape(),
        () if op.tiles is None else op.tile(),
    )


def _stored(value: DenseIntOrFPElementsAttr | BlobAttr) -> np.ndarray:
    data = value.data.read() if isinstance(value, BlobAttr) else value.data.data
    return np.frombuffer(data, np.uint8)


def _layers(instructions: Sequence[VtaInstruction]) -> tuple[LayerRange, ...]:
    begins: list[tuple[int, str]] = []
    for i, op in enumerate(instructions):
        name = op.attributes.get(LAYER)
        if isinstance(name, StringAttr):
            begins.append((i, name.data))
    ends = [*(i - 1 for i, _ in begins[1:]), len(instructions) - 1]
    return tuple(
        LayerRange(name, first, last) for (first, name), last in zip(begins, ends, strict=False)
    )


def disassemble(program: VtaProgram) -> ModuleOp:
    """
    Returns the inverse of `assemble`: a module with one function.

    Raises CompileError for words that encode no instruction.
    """
    config = program.config
    regions = [
        _region_op(r, config) for r in program.regions if r.kind is not RegionRole.INSTRUCTIONS
    ]
    function = decode_program(program.instructions, config, regions)
    instructions = contents(function)[1]
    for layer in program.layers:
        instructions[layer.first].attributes[LAYER] = StringAttr(layer.name)
    return ModuleOp([function])


def _region_op(region: Region, config: VtaConfig) -> RegionOp | MicroOpsOp:
    if region.kind is RegionRole.MICRO_OPS:
        assert region.contents is not None
        words = np.ascontiguousarray(region.contents).view(micro_op_dtype(config))
        return MicroOpsOp.of(region.name, region.address, decode_micro_ops(words, config).tolist())
    array = tiles = value = None
    if region.dtype is not None:
        array = TensorType(element_type(region.dtype.newbyteorder("=")), region.shape)
        tiles = region.tile or None
    if region.contents is not None:
        value = make_constant(region.contents.view(np.int8), region.name).value
    kind = RegionKind(region.kind.value)
    return RegionOp.of(kind, region.name, region.address, region.size, value, array, tiles)
