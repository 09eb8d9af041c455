"""
The assembly text of programs of the `vta` dialect.

Each line holds the number of an instruction, its two words (the high one first), the mnemonic, and
the fields under the names of the specification. Fields that are 0 are left out, except those that
say what is moved or repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.target import Target

from ...errors import CompileError
from ...glow_dialects.vta import (
    AluOp,
    LoadOp,
    MicroOpsOp,
    RegionOp,
    StoreOp,
    VtaConfig,
    VtaInstruction,
    config_of,
    contents,
    programs,
)
from ...glow_dialects.vta.fields import FLAGS
from .encode import encode_instructions, encode_micro_ops

_IN_MNEMONIC = {"opcode", "memory_type", "alu_opcode", "use_imm", "reset", *FLAGS}
_ALWAYS = {
    *("sram_base", "dram_base", "y_size", "x_size", "x_stride"),
    *("uop_bgn", "uop_end", "iter_out", "iter_in", "dst_factor_out", "dst_factor_in"),
}


def assembly(function: func.FuncOp) -> str:
    """
    Returns the text of a program. Raises CompileError if the function is none, or fields do not
    fit.
    """
    try:
        config = config_of(function)
        regions, instructions = contents(function)
    except VerifyException as e:
        raise CompileError(str(e)) from None
    lines = [f".program {function.sym_name.data}", *_config_lines(config)]
    for region in regions:
        lines += _region_lines(region, config)
    lines.append(".instructions")
    words = encode_instructions(instructions, config)
    for i, (op, (low, high)) in enumerate(zip(instructions, words.tolist(), strict=True)):
        lines.append(f"{i:6}  {high:016x} {low:016x}  {_text(op, config)}")
    return "\n".join(lines) + "\n"


def _config_lines(config: VtaConfig) -> Iterator[str]:
    for name, value in asdict(config).items():
        yield f".config {name} {value}"


def _region_lines(region: RegionOp | MicroOpsOp, config: VtaConfig) -> Iterator[str]:
    name, start = f'"{region.label.data}"', f"0x{region.first_byte:08x}"
    if isinstance(region, RegionOp):
        yield f".region {region.kind.data} {name} {start} {region.num_bytes}"
        return
    yield f".micro_ops {name} {start}"
    words = encode_micro_ops(region, config)
    digits = config.uop_bits // 4
    for i, (word, (dst, src, wgt)) in enumerate(
        zip(words.tolist(), region.micro_ops(), strict=True)
    ):
        yield f"{i:6}  {word:0{digits}x}  dst {dst}, src {src}, wgt {wgt}"


def _mnemonic(op: VtaInstruction) -> str:
    match op:
        case LoadOp() | StoreOp():
            return f"{op.name.removeprefix('vta.')}.{op.memory_type}"
        case AluOp():
            return f"alu.{op.opcode.data}"
        case _:
            return op.name.removeprefix("vta.")


def _text(op: VtaInstruction, config: VtaConfig) -> str:
    fields = op.fields(config)
    shown = [
        f"{name} {value}"
        for name, value in fields.items()
        if name not in _IN_MNEMONIC and (value or name in _ALWAYS or _is_used(name, fields))
    ]
    flags = [name for name in FLAGS if fields[name]]
    reset = ".reset" if fields.get("reset") else ""
    text = f"{_mnemonic(op)}{reset} {', '.join(shown)}".rstrip()
    return f"{text} | {' '.join(flags)}" if flags else text


def _is_used(name: str, fields: dict[str, int]) -> bool:
    return name == "imm" and bool(fields["use_imm"])


@dataclass(frozen=True)
class VtaAssemblyTarget(Target):
    """Prints the programs of a module for VTA as assembly text."""

    name = "glow-vta-asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        found = list(programs(module))
        if not found:
            raise CompileError(
                "expected a func.func with the attribute vta.config: run --lower-to-vta first"
            )
        output.write("\n".join(assembly(function) for function in found))
