"""
The `vta` dialect as words: instructions of two 64-bit words, micro-ops of 32 bits.

The bits are those of the structures in `include/vta/hw_spec.h` of Apache TVM's `tvm-vta`; see
`glow_dialects/vta/fields.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError
from ...glow_dialects.vta import MicroOpsOp, VtaConfig, VtaInstruction, config_of, contents
from ...glow_dialects.vta.config import WORDS
from ...glow_dialects.vta.dram import MICRO_OP_FIELDS
from ...glow_dialects.vta.fields import Layout, micro_op_layout
from .words import first_misfit, pack

_MICRO_OP_DTYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def encode_program(function: func.FuncOp) -> np.ndarray:
    """
    Returns the instructions of a program: uint64[N, 2], the low word first.

    Raises CompileError if the function is no program, or fields do not fit.
    """
    try:
        return encode_instructions(contents(function)[1], config_of(function))
    except VerifyException as e:
        raise CompileError(str(e)) from None


def encode_instructions(instructions: Sequence[VtaInstruction], config: VtaConfig) -> np.ndarray:
    """
    Returns instructions as uint64[N, 2], the low word first.

    Raises CompileError, naming the instruction, for a number that does not fit its field.
    """
    words = np.zeros((len(instructions), WORDS), np.uint64)
    groups: dict[type[VtaInstruction], list[int]] = {}
    for i, op in enumerate(instructions):
        groups.setdefault(type(op), []).append(i)
    for kind, numbers in groups.items():
        layout = _layout(kind, config)
        rows = [instructions[i].fields(config) for i in numbers]
        fields = [layout[name] for name in rows[0]]
        values = np.array([list(row.values()) for row in rows], np.int64)
        misfit = first_misfit(fields, values)
        if misfit is not None:
            row, field, value = misfit
            raise CompileError(
                f"instruction {numbers[row]} ({kind.name}): expected {field.name} from {field.low} "
                f"to {field.high}, found {value}"
            )
        words[numbers] = pack(fields, values, WORDS)
    return words


def _layout(kind: type[VtaInstruction], config: VtaConfig) -> Layout:
    try:
        return kind.layout(config)
    except ValueError as e:
        raise CompileError(str(e)) from None


def micro_op_dtype(config: VtaConfig) -> np.dtype:
    """
    Returns the unsigned integer that holds a micro-op. Raises CompileError for widths that no
    integer has.
    """
    if config.uop_bits not in _MICRO_OP_DTYPES:
        raise CompileError(f"expected micro-ops of 8, 16, 32 or 64 bits, found {config.uop_bits}")
    return np.dtype(_MICRO_OP_DTYPES[config.uop_bits])


def encode_micro_ops(table: MicroOpsOp, config: VtaConfig) -> np.ndarray:
    """
    Returns a table of micro-ops as unsigned integers of `uop_bits` bits, by default uint32[N].

    Raises CompileError for an index that does not fit its field.
    """
    triples = np.array(table.ops.get_values(), np.int64).reshape(-1, len(MICRO_OP_FIELDS))
    return pack_micro_ops(triples, config, f"micro-ops {table.label}")


def pack_micro_ops(triples: np.ndarray, config: VtaConfig, what: str = "micro-ops") -> np.ndarray:
    """Returns the same from indices (dst, src, wgt), int64[N, 3]; messages call them `what`."""
    dtype = micro_op_dtype(config)
    try:
        layout = micro_op_layout(config)
    except ValueError as e:
        raise CompileError(str(e)) from None
    fields = [layout[name] for name in MICRO_OP_FIELDS]
    misfit = first_misfit(fields, triples)
    if misfit is not None:
        row, field, value = misfit
        raise CompileError(
            f"{what}, number {row}: expected {field.name} from {field.low} to {field.high}, "
            f"found {value}"
        )
    return pack(fields, triples, 1)[:, 0].astype(dtype)
